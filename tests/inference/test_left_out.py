"""Columns left out: the bounds are those of a table without the column; a benchmark is a plain comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import DataError
from mmdbounds.inference import left_out
from mmdbounds.inference.left_out import benchmark, column_effects, features_by_column
from mmdbounds.words.columns import benchmark_sentence, by_effect, effects_note

rng = np.random.default_rng(2)
N = 40
TABLE: dict[str, Any] = {
    "group": ["A"] * 18 + ["B"] * 22,
    "sex": rng.choice(["f", "m"], N).tolist(),
    "site": rng.choice(["x", "y", "z"], N).tolist(),
    "age": (50 + 5 * rng.normal(size=N) + np.repeat([9, 0], [18, 22])).tolist(),
    "old": rng.choice([3.0, 7.0], N).tolist(),
    "ill": rng.choice([0.0, 1.0], N).tolist(),
    "flag": rng.choice([True, False], N).tolist(),
}
ASKED = {"hidden": "A", "among": "B"}
AMOUNT = mb.Contamination(0.1)


@pytest.fixture(scope="module")
def groups() -> tuple[mb.Group, mb.Group]:
    return mb.groups(TABLE, "group", **ASKED)


def without(column: str) -> tuple[mb.Group, mb.Group]:
    return mb.groups({name: cells for name, cells in TABLE.items() if name != column}, "group", **ASKED)


def test_each_column_is_left_out_with_all_its_features(groups: Any):
    effects = column_effects(*groups, AMOUNT)
    assert effects is not None
    assert {column.name for column in effects.columns} == set(TABLE) - {"group"}
    assert (effects.n_columns, effects.n_used, effects.is_certified) == (6, N, True)
    whole = mb.mmd_bounds(*groups, AMOUNT, method="exhaustive").lower.value
    gap = left_out.METHOD.gap  # of the width, which is below 1
    np.testing.assert_allclose(effects.lower, whole, rtol=0, atol=gap)
    assert effects.lower <= whole
    for column in effects.columns:
        exact = mb.mmd_bounds(*without(column.name), AMOUNT, method="exhaustive").lower.value
        assert exact - gap <= column.lower <= exact + 1e-12  # rounding
    assert by_effect(effects)[0].name == "age"  # the only one in which the groups differ
    assert "if each column is left out, of all rows" in effects_note(effects)
    again = mb.results.ColumnEffects.from_dict(effects.to_dict())
    assert again.to_dict() == effects.to_dict()
    assert "age" in again.summary()


def test_of_many_rows_a_sample_is_compared(groups: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(left_out, "MOST_ROWS", 24)
    monkeypatch.setattr(left_out, "MOST_COLUMNS", 2)
    first, again, other = (column_effects(*groups, AMOUNT, rng=seed) for seed in (0, 0, 1))
    assert first is not None
    assert again is not None
    assert other is not None
    assert (first.n_used, len(first.columns), first.columns[0].name) == (24, 2, "age")
    assert first.to_dict() == again.to_dict()
    assert first.lower != other.lower
    note = "the 2 surest of 6 columns is left out, of a random sample of 24 of the 40 rows (seed 0)"
    assert note in effects_note(first)
    # A number of rows means something else in a sample.
    assert column_effects(*groups, mb.Contamination(n_moved=2)) is None


def test_one_column_says_nothing(groups: Any):
    X, Y = (group.values[:, :1] for group in groups)
    assert column_effects(X, Y, AMOUNT) is None
    assert features_by_column(mb.Group(np.zeros((2, 2)))) == {"column 0": [0], "column 1": [1]}


@pytest.mark.parametrize(
    ("column", "values"),
    [("sex", ["f", "m"]), ("old", ["3", "7"]), ("ill", ["0", "1"]), ("flag", ["false", "true"])],
)
def test_a_benchmark_is_the_comparison_of_the_halves(column: str, values: list[str], groups: Any):
    found = benchmark(*groups, column, AMOUNT)
    halves = mb.groups(
        {**without_group(), column: TABLE[column]},
        column,
        hidden=TABLE[column][0],
        among=next(cell for cell in TABLE[column] if cell != TABLE[column][0]),
    )
    np.testing.assert_allclose(found.value, mb.mmd2(*halves), rtol=1e-9)
    bounds = mb.mmd_bounds(*without(column), AMOUNT, rng=0)
    assert (found.lower, found.upper) == bounds.interval
    assert [found.name_first, found.name_second] == values
    cells = [f"{cell:g}" if isinstance(cell, float) else str(cell).lower() for cell in TABLE[column]]
    assert [found.n_first, found.n_second] == [cells.count(value) for value in values]
    assert benchmark_sentence(found) in found.summary()
    assert mb.results.Benchmark.from_dict(found.to_dict()).to_dict() == found.to_dict()


def without_group() -> dict[str, Any]:
    return {name: cells for name, cells in TABLE.items() if name != "group"}


MORE = (
    "A and B are at least as different as rows with sex = f and sex = m: their squared MMD is at least 0.2 "
    "(proved), and that between rows with sex = f and sex = m (9 and 8) is 0.1."
)


@pytest.mark.parametrize(
    ("value", "certified", "expected"),
    [
        (0.1, True, MORE),
        (0.4, True, "less different than rows"),
        (0.25, True, "Whether A and B differ more than rows with"),
        (0.1, False, "which is not proved"),
    ],
)
def test_a_benchmark_in_words(value: float, certified: bool, expected: str):
    sides = {"lower": 0.2, "upper": 0.3, "is_certified": certified, "value": value, "kernel": "rbf"}
    halves = {"column": "sex", "name_first": "f", "name_second": "m", "n_first": 9, "n_second": 8}
    made = mb.results.Benchmark(**sides, **halves, n_samples_X=8, n_samples_Y=9, name_x="A", name_y="B")
    assert expected in benchmark_sentence(made)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            "sexx",
            r"^`benchmark=` must be one of the columns .*; got 'sexx'\. Did you mean 'sex'",
        ),
        ("age", r"^`benchmark=` must be a column with two values; got 'age' with 40\.$"),
        ("site", r"^`benchmark=` must be a column with two values; got 'site' with 3\.$"),
    ],
)
def test_other_columns_are_refused(column: str, message: str, groups: Any):
    with pytest.raises(DataError, match=message):
        benchmark(*groups, column, AMOUNT)


def test_a_benchmark_needs_other_columns():
    X, Y = mb.groups(TABLE, "group", **ASKED, columns=["sex"])
    with pytest.raises(DataError, match=r"^`benchmark=` needs other columns to compare; got 'sex'"):
        benchmark(X, Y, "sex", AMOUNT)
