"""What a notebook shows of a result: read by the standard library's parser, beside the result's own words."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any

TAGS = {
    *("div", "p", "ul", "li", "table", "tr", "th", "td", "details", "summary"),
    *("svg", "line", "rect", "text"),
}
ALONE = {"line", "rect"}  # closed where they are opened
DRAWN = {"svg", "text"}


class Page(HTMLParser):
    """The words of a page, its tables as cells, and whether every tag is known and closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALONE

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not DRAWN.intersection(self.open):
            self.words += data.split()
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


def page_of(result: Any) -> Page:
    """Return what a notebook shows, once all words of `summary()` were found in it."""
    html = result._repr_html_()
    page = Page(html)
    points = re.sub(r"(?m)^( *)- ", r"\1", result.summary())
    missing = Counter(points.split()) - Counter(page.words)
    assert not missing, missing
    assert page.attributes <= {
        "style",
        "colspan",
        "role",
        "aria-label",
        "width",
        "height",
        "stroke",
        "fill",
    } | {*("x", "y", "x1", "x2", "y1", "y2", "stroke-width", "stroke-opacity", "font-size", "text-anchor")}
    assert "url(" not in html  # nothing is fetched
    return page
