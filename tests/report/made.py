"""A table whose names and cells are hostile, and pages taken apart."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import numpy as np

from made import make_provenance
from mmdbounds.results import Bound, BoundsResult

COLUMN = "<img src=x onerror=alert(1)>"
GROUP = "</script><script>alert(2)</script>"
CELL = "<script>alert(3)</script>"
HIDDEN = "MI & <b>more</b>"
NAMES = {"group": "where", "hidden": HIDDEN, "among": GROUP, "id": "id"}


def table_text(n_x: int = 14, n_y: int = 18) -> str:
    """A CSV file: every name in it, and the id of a row, tries to become markup."""
    rng = np.random.default_rng(3)
    lines = [f'id,where,"{COLUMN}",age,sex']
    for i in range(n_x + n_y):
        of_x = i % 2 == 0 and i < 2 * n_x
        name = CELL if i == 1 else f"patient-{i + 1:03d}"
        value = rng.normal(2.0 * of_x)
        lines.append(f'"{name}","{HIDDEN if of_x else GROUP}",{value:.4f},{50 + i % 7},{rng.integers(2)}')
    return "\n".join(lines) + "\n"


def many_rows(n: int) -> BoundsResult:
    """Bounds of which no row that is shown moves."""
    rng = np.random.default_rng(0)
    sides: Any = {
        side: Bound(side=side, value=value, certified=value, rows=np.arange(9), rows_of_x=[], effects=effects)
        for side, value, effects in (("lower", 0.1, rng.random(n)), ("upper", 0.2, -rng.random(n)))
    }
    return BoundsResult(
        **sides,
        observed=0.15,
        n_samples_X=50,
        n_samples_Y=n,
        n_moved=9,
        epsilon=9 / 59,
        share_of_y=9 / n,
        file_rows_of_y=np.arange(1, n + 1),
        provenance=make_provenance(),
    )


class Parsed(HTMLParser):
    """The elements of a page as a browser sees them: start tags, text by element, code of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append((self.tags[-1][0] if self.tags else "", data))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def under(self, *tags: str) -> list[str]:
        return [text for name, text in self.texts if name in tags]

    @property
    def words(self) -> str:
        return " ".join(text for name, text in self.texts if name not in ("script", "style"))


def page_data(page: str) -> dict[str, Any]:
    """The data that the page's program reads."""
    start = page.index('id="page-data">') + len('id="page-data">')
    return dict(json.loads(page[start : page.index("</script>", start)]))
