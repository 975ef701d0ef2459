"""Results in a notebook: all their words, tables as tables, a bar that is true, nothing that runs."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import mmdbounds as mb
from made import make_result
from mmdbounds.tables import Group
from notebooks import Page, page_of

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 2)), rng.normal(size=(15, 2)) + 1


def test_nothing_of_the_data_is_run():
    result = make_result(name_y=EVIL, name_x="a & b")
    page = page_of(result)
    assert "onerror=alert(1)>" in " ".join(page.words)
    assert "<img" not in result._repr_html_()
    group = Group(np.ones((2, 1)), name=EVIL, columns=(EVIL,), record={"source": EVIL})
    assert "<img" not in group._repr_html_()
    assert " ".join(Page(group._repr_html_()).words).count("onerror") == 3


def test_the_bar_is_true(rows: tuple[np.ndarray, np.ndarray]):
    result = mb.mmd_bounds(*rows, 0.2, rng=0)
    page = page_of(result)
    html = result._repr_html_()
    low, high = result.interval
    start, width = (float(re.search(r'<rect x="([0-9.]+)".*? width="([0-9.]+)"', html)[i]) for i in (1, 2))
    ticks = [float(x) for x in re.findall(r'x1="([0-9.]+)" x2="\1"', html)]  # at 0, and as filed
    pixel = width / (high - low)
    # Places are rounded to a tenth of a pixel: twice that between two of them.
    assert (ticks[0] - start) / pixel == pytest.approx(-low, abs=0.2 / pixel)
    assert (ticks[1] - start) / pixel == pytest.approx(result.observed - low, abs=0.2 / pixel)
    first = [row[0] for row in page.tables[0] if len(row) > 1]
    assert first == re.findall(r"(?m)^  (at least|smallest|as filed|at most|largest)", result.summary())
    assert {len(row) for row in page.tables[0] if len(row) > 1} == {3}


def test_a_curve_is_a_table(rows: tuple[np.ndarray, np.ndarray]):
    result = mb.sweep(*rows, epsilons=[0, 0.1, 0.3], n_permutations=19, rng=0)
    table = next(table for table in page_of(result).tables if table[0][0] == "misfiled")
    assert table[0] == ["misfiled", "rows", "at least", "at most", "null 95 %", "worst p"]
    body = [row for row in table[1:] if len(row) > 1]
    assert [row[1] for row in body] == [str(point.n_moved) for point in result.points]
    assert all(len(row) == len(table[0]) for row in body)


def test_columns_are_a_table(rows: tuple[np.ndarray, np.ndarray]):
    table = page_of(mb.column_table(*rows, 0.1)).tables[0]
    assert table[0] == ["", "X", "Y", "difference", "in deviations", "exceeds", "sign lost at"]
    assert sorted(row[0] for row in table[1:]) == ["column 0", "column 1"]


def test_rows_to_look_up_stand_below_each_other(rows: tuple[np.ndarray, np.ndarray]):
    result = mb.audit(*rows, n_permutations=19, n_next=4, rng=0)
    [table] = [table for table in page_of(result).tables if "Y[" in table[0][0]]
    assert table == [[f"Y[{row}]"] for row in result.next_rows]


def test_a_sentence_in_a_table_goes_on_in_its_line():
    long = replace(make_result().lower, ids=["a" * 50, "b" * 50])  # longer than a line together
    sentences = [row for table in page_of(make_result(lower=long)).tables for row in table if len(row) == 1]
    assert [text.split()[0] for [text] in sentences] == ["moves", "moves"]
    assert sentences[0][0].endswith(f"{'b' * 50} (row 7)")


def test_settings_and_record_are_folded(rows: tuple[np.ndarray, np.ndarray]):
    html = mb.mmd_bounds(*rows, 0.1, method="s-sd", rng=0)._repr_html_()
    shown, folded = html.split("<details>")
    assert "Method s-sd" in folded
    assert "Method s-sd" not in shown
    table = {"g": ["A", "B"] * 4, "x": [1.0, 2, 3, 4, 5, 9, 7, 8], "y": list("abababab")}
    X, _ = mb.groups(table, "g", hidden="A", among="B", columns=["x", "y"])
    cells = dict(row for table in Page(X._repr_html_()).tables for row in table)
    assert cells["Group"] == "A"
    assert cells["Columns"] == "3: x, y=a, y=b"
    assert cells["group column"] == "g"
    assert "9.0" not in X._repr_html_()  # no cells


KINDS = {
    "FrontierResult": lambda X, Y: mb.sweep(X, Y, epsilons=[0, 0.1], y_in_x=0.1, n_permutations=19, rng=0),
    "AuditResult": lambda X, Y: mb.audit(X, Y, n_permutations=19, rng=0),
    "OddsSweepResult": lambda X, Y: mb.odds_sweep(X, Y, epsilons=[0.1], n_permutations=19, rng=0),
    "PairwiseTable": lambda X, Y: mb.pairwise_bounds(np.vstack([X, Y]), np.repeat(list("abc"), 9), 0.1),
    "HsicResult": lambda X, Y: mb.hsic_bounds(
        np.vstack([X, Y]), np.repeat(list("abc"), 9), epsilon=0.05, transitions="any"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_shown_with_all_its_words(kind: str, rows: tuple[np.ndarray, np.ndarray]):
    result = KINDS[kind](*rows)
    assert type(result).__name__ == kind
    page_of(result)
