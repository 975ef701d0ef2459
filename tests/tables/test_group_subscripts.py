"""Rows of a group: whatever belongs to a row travels along with it."""

from __future__ import annotations

import numpy as np
import pytest

from mmdbounds.errors import DataError
from mmdbounds.tables import Group
from mmdbounds.tables.group import OF_ROWS, joined


def group(n: int = 6, name: str = "MI", first: int = 0) -> Group:
    places = np.arange(first, first + n)
    return Group(
        np.column_stack([places, places**2]).astype(float),
        name=name,
        ids=[f"p{i}" for i in places],
        file_rows=places + 1,
        columns=("age", "size"),
        record={"source": "patients.csv"},
        verified=["confirmed" if i % 3 == 0 else "" for i in places],
        may_move=places % 2 == 0,
        strata=[f"site {i % 2}" for i in places],
        order=10.0 - places,
    )


@pytest.mark.parametrize(
    "rows",
    [slice(1, 4), slice(None, None, -1), [4, 0, 0], np.array([-1, 2]), np.arange(6) > 2, slice(0)],
    ids=str,
)
def test_everything_that_belongs_to_a_row_is_taken(rows: object):
    whole = group()
    part = whole[rows]
    # The naive definition: NumPy's own subscripts.
    places = np.arange(6)[rows]
    np.testing.assert_array_equal(part.values, whole.values[places])
    for name in OF_ROWS:
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[places])
    assert (part.name, part.columns, part.record) == (whole.name, whole.columns, whole.record)
    assert not part.values.flags.writeable


def test_what_there_is_not_stays_so():
    part = Group([[1.0], [2.0], [3.0]])[[2, 0]]
    assert part.values.tolist() == [[3.0], [1.0]]
    assert all(getattr(part, name) is None for name in OF_ROWS)


def test_a_group_is_its_rows_one_by_one():
    assert [row.tolist() for row in Group([[1.0, 2.0], [3.0, 4.0]])] == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (2, "chosen by a mask, a slice or a list of row numbers; got 2"),
        ("ids", "chosen by a mask, a slice or a list of row numbers; got 'ids'"),
        ([0.5], "chosen by a mask, a slice or a list of row numbers"),
        ([[0, 1]], "chosen by a mask, a slice or a list of row numbers"),
        ([True, False], "one entry for each of the 6 rows of the group; got 2"),
        ([0, 6], "6 rows, numbered from 0; got row number 6"),
        ([-7], "6 rows, numbered from 0; got row number -7"),
    ],
)
def test_other_subscripts_are_refused(rows: object, message: str):
    with pytest.raises(DataError, match=message):
        group()[rows]


@pytest.mark.parametrize("name", ["verified", "may_move", "strata", "order"])
def test_knowledge_must_be_as_long_as_the_rows(name: str):
    with pytest.raises(
        DataError, match=f"`{name}` must have one entry for each of the 2 rows of `values`; got 3"
    ):
        Group([[1.0], [2.0]], **{name: np.array([1, 0, 1]).astype(OF_ROWS[name])})


def test_two_groups_one_below_the_other():
    first, second = group(4), group(3, "healthy", first=4)
    both = joined(first, second)
    whole = group(7)
    np.testing.assert_array_equal(both.values, whole.values)
    for name in OF_ROWS:
        np.testing.assert_array_equal(getattr(both, name), getattr(whole, name))
    assert both.name == "MI"


def test_rows_of_which_nothing_is_said():
    both = joined(group(2), Group([[1.0, 2.0]], columns=("age", "size")))
    assert both.ids is None
    assert both.file_rows is None
    assert both.verified.tolist() == ["confirmed", "", ""]
    assert both.may_move.tolist() == [True, False, True]
    assert both.strata.tolist() == ["site 0", "site 1", ""]


def test_an_empty_list_is_no_rows():
    assert group()[[]].shape == (0, 2)
