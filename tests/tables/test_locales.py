"""Numbers of several countries, in every container: found as they were written, or refused."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest

from mmdbounds.errors import DataError, MmdBoundsWarning
from mmdbounds.tables import groups
from tables import locales


def outcome(made: locales.Made) -> str:
    """Read a table and compare every number; say whether it was read or refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MmdBoundsWarning)
            X, Y = groups(
                made.data, "g", hidden="A", among="B", scale="none", missing="impute", **made.options
            )
    except DataError:
        return "refused"
    values = np.empty((len(X) + len(Y), len(X.columns)))
    values[::2], values[1::2] = X.values, Y.values
    for name in X.record["columns"]:
        wanted = made.columns[name].numbers
        assert "numbers" in X.record["kinds"][name], (made, name)  # not a category
        for i, number in enumerate(wanted):
            if number is not None:
                assert values[i, X.columns.index(name)] == float(number), (made, name, i)
    for name in X.record["dropped_constant_columns"]:
        assert len(set(made.columns[name].numbers) - {None}) <= 1, (made, name)
    return "read"


def check(n: int, containers: tuple[str, ...], first: int = 0) -> None:
    seen = Counter(outcome(locales.table(seed, containers)) for seed in range(first, first + n))
    assert seen["read"] > 0.4 * n  # refusing everything would be no art


def test_numbers_of_several_countries():
    check(150, locales.PLAIN)


@pytest.mark.full
@pytest.mark.long
def test_numbers_of_several_countries_in_files_and_frames():
    check(100, locales.WITH_POLARS)


@pytest.mark.full
@pytest.mark.slow
def test_three_thousand_tables():
    check(3000, (*locales.PLAIN, *locales.WITH_POLARS), 10_000)


def test_the_comparison_can_fail():
    made = locales.table(0, ("dict",))
    name = next(iter(made.columns))
    made.options["decimal"] = None
    made.data = {"g": ["A", "B", "A", "B"], name: ["1", "2", "3", "4"]}
    made.columns = {name: locales.Column([1, 2, 3, 5], [])}
    with pytest.raises(AssertionError):
        outcome(made)
