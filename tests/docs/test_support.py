"""The page on what works with what says what comes out."""

import random
import sys
from pathlib import Path

import pytest

from mmdbounds.search import method_names

DOCS = Path(__file__).parents[2] / "docs"
sys.path.append(str(DOCS / "_tools"))
import support  # noqa: E402 -- a program of the documentation

PAGE = (DOCS / support.PAGE).read_text()
CELLS = [
    [cell.strip() for cell in line.strip("| ").split("|")] for line in PAGE.splitlines() if line[:3] == "| `"
]


def test_every_method_is_there():
    assert list(dict.fromkeys(cells[0].strip("`") for cells in CELLS)) == list(method_names())


@pytest.mark.parametrize("line", range(len(CELLS)))
def test_the_first_column_is_what_a_call_gives(line):
    method, misfiling, estimator, cell, *_ = CELLS[line]
    ways = [way for way in support.MISFILING if way.startswith(misfiling.split(",")[0])]
    ways = ways if misfiling.endswith("exactly or at most") else [misfiling]
    each = "unbiased" if estimator == "both" else estimator
    assert {support.answer(method.strip("`"), way, "matrix", each) for way in ways} == {cell}


@pytest.mark.full
@pytest.mark.parametrize("line", random.Random(0).sample(range(len(CELLS)), 5))
def test_a_cell_is_what_a_call_gives(line):
    method, misfiling, estimator, *cells = CELLS[line]
    way = misfiling.replace("exactly or at most", "exactly")
    estimators = support.ESTIMATORS if estimator == "both" else [estimator]
    for each in estimators:
        found = [support.answer(method.strip("`"), way, computed, each) for computed in support.COMPUTED]
        assert found == cells
