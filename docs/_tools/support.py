"""What works with what: each cell of the table is a real call on a few rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

import numpy as np

import mmdbounds as mb
from mmdbounds.search import method_names
from mmdbounds.sums import plan

PAGE = "support.md"
MARK = "<!-- generated from real calls by docs/_tools/support.py -->\n"
ROWS = 9
ESTIMATORS = ("unbiased", "biased")
MISFILING = {
    "one-way, exactly": mb.Contamination(n_moved=2, exactly=True),
    "one-way, at most": mb.Contamination(n_moved=2),
    "two-way, exactly": mb.Contamination(n_moved=2, n_moved_of_x=1, exactly=True),
    "two-way, at most": mb.Contamination(n_moved=2, n_moved_of_x=1),
}
COMPUTED = {
    "matrix": {"backend": "numpy"},
    "blocks": {"backend": "numpy"},
    "torch": {"backend": "torch"},
}
"""How kernel values are computed: up to 4,096 rows, beyond, on a GPU."""


@contextmanager
def _no_matrix() -> Iterator[None]:
    with mock.patch.object(plan, "SMALL_ROWS", 2):
        yield


def answer(method: str, misfiling: str, computed: str, estimator: str) -> str:
    """Return what a call gives: ``proved``, ``attained``, ``not a bound`` or ``refused``."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(ROWS, 2)), rng.normal(1, 1, size=(ROWS + 2, 2))
    amount = MISFILING[misfiling]
    options: dict[str, Any] = {"method": method, "estimator": estimator, "rng": 0, **COMPUTED[computed]}
    with _no_matrix() if computed != "matrix" else nullcontext():
        try:
            result = mb.mmd_bounds(X, Y, amount, **options)
        except mb.MmdBoundsError:
            return "refused"
    if result.is_certified:
        return "proved"
    return "attained" if result.lower.kind == "labelling" else "not a bound"


def rows() -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield method, misfiling, estimator and cells; what makes no difference is named together."""
    for method in method_names():
        cells = {
            (way, estimator): [answer(method, way, each, estimator) for each in COMPUTED]
            for way, estimator in itertools.product(MISFILING, ESTIMATORS)
        }
        for way in ("one-way", "two-way"):
            ways = (f"{way}, exactly", f"{way}, at most")
            found = [cells[each, estimator] for each in ways for estimator in ESTIMATORS]
            if all(each == found[0] for each in found):
                yield method, f"{way}, exactly or at most", "both", found[0]
                continue
            for each in ways:
                own = {estimator: cells[each, estimator] for estimator in ESTIMATORS}
                if own["unbiased"] == own["biased"]:
                    yield method, each, "both", own["biased"]
                    continue
                for estimator, line in own.items():
                    yield method, each, estimator, line


def table() -> str:
    """Return the table of methods, estimators, misfiling and ways of computing."""
    head = ["method", "misfiling", "estimator", *COMPUTED]
    lines = [head, ["---"] * len(head)]
    lines += [[f"`{method}`", way, estimator, *cells] for method, way, estimator, cells in rows()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def with_support(text: str) -> str:
    """Return the page with its table written anew."""
    before, _, after = text.split(MARK)
    return f"{before}{MARK}{table()}{MARK}{after}"
