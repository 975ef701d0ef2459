from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pytest

from mmdbounds.errors import DataError
from mmdbounds.tables.group_column import GroupColumn, as_text, match_key, two_groups

SAME = [
    [1, 1.0, "1", "1.0", " 1 ", "01", "+1", "1e0", Decimal("1.00"), np.int8(1), np.float32(1), "\u00a01"],
    [True, "True", "true", " TRUE ", np.True_],
    [False, "False", "false"],
    [0, 0.0, -0.0, "0", "-0"],
    [0.1, "0.1", ".1", "0.10"],
    [2**53, str(2**53), float(2**53)],
    [2**53 + 1, str(2**53 + 1)],
    ["MI", " MI", "MI\n"],
    ["mi"],
    ["1 a"],
    ["1,0"],
    ["caf\u00e9", "cafe\u0301"],
    [datetime.date(2020, 1, 2), "2020-01-02", datetime.datetime(2020, 1, 2)],
    [datetime.datetime(2020, 1, 2, 3)],
    ["inf", float("inf")],
]


@pytest.mark.parametrize("values", SAME, ids=lambda values: str(values[0]))
def test_values_match_as_printed(values: list):
    keys = {match_key(value) for value in values}
    assert len(keys) == 1
    others = {match_key(value) for other in SAME if other is not values for value in other}
    assert keys.isdisjoint(others)


@pytest.mark.parametrize("value", [None, "", "  ", float("nan"), np.nan])
def test_missing_values_have_no_key(value: object):
    assert match_key(value) is None


def test_whole_numbers_are_printed_without_a_point():
    assert [as_text(value) for value in (7.0, 7.5, "007 ", None, np.float64(3), 1e300)] == [
        *("7", "7.5", "007", "", "3", "1e+300")
    ]


def test_groups_of_a_column():
    column = GroupColumn([" 1", 1, 1.0, True, "x", None, "", "2"], "g")
    assert column.rows(match_key(1)).tolist() == [0, 1, 2]
    assert column.rows(match_key("true")).tolist() == [3]
    assert column.n_missing == 2
    assert column.described() == "'1' (3 rows), 'True' (1 row), 'x' (1 row), '2' (1 row)"


def test_many_groups_are_counted():
    column = GroupColumn([f"g{i:02d}" for i in range(15)] + ["g07"], "g")
    with pytest.raises(
        DataError, match=r"The groups are 'g07' \(2 rows\), 'g00' \(1 row\), .* and 5 more\.$"
    ) as caught:
        two_groups(column, "nothing like it", "g01")
    assert str(caught.value).count("row") == 10


@pytest.mark.parametrize(
    ("hidden", "among", "message"),
    [
        ("MI", "healthy ", None),
        (
            "mi",
            "healthy",
            r"^column 'g' has no group 'mi', given as `hidden=`\. Did you mean 'MI'",
        ),
        (
            "MI",
            "helthy",
            r"no group 'helthy', given as `among=`\. Did you mean 'healthy'\? The gr",
        ),
        ("?", "MI", r"`hidden=`\. The groups are 'healthy' \(2 rows\), 'MI' \(1 row\)\.$"),
        ("MI", " MI ", r"`hidden` and `among` must differ; got 'MI' for both\."),
        (None, "MI", r"`hidden` must be a value of column 'g'; got a missing value"),
        ("MI", "", r"`among` must be a value of column 'g'; got a missing value"),
    ],
)
def test_groups_that_are_asked_for(hidden: object, among: object, message: str | None):
    column = GroupColumn(["healthy", "MI", "healthy"], "g")
    if message is None:
        assert two_groups(column, hidden, among) == (("text", "MI"), ("text", "healthy"))
        return
    with pytest.raises(DataError, match=message):
        two_groups(column, hidden, among)


def test_a_boolean_column_is_not_asked_for_by_number():
    column = GroupColumn([True, False, True], "ill")
    assert two_groups(column, "true", "False") == (("truth", True), ("truth", False))
    with pytest.raises(
        DataError, match=r"column 'ill' has no group '1'.*The groups are 'True' \(2 rows\), 'False'"
    ):
        two_groups(column, 1, 0)


def test_too_few_groups():
    with pytest.raises(DataError, match=r"^column 'g' has only one group, 'a' \(2 rows\); two are needed\.$"):
        two_groups(GroupColumn(["a", "a "], "g"), "a", "b")
    with pytest.raises(DataError, match=r"^column 'g' holds no group: all its values are missing\.$"):
        two_groups(GroupColumn([None, ""], "g"), "a", "b")


SPELT = ["MI", " mi ", "Healthy", "HEALTHY", "he althy", "healthy\u00a0", "Diabetes", "diabetes", None]


def test_labels_that_differ_only_in_case_or_blanks_are_refused():
    column = GroupColumn(SPELT, "dx")
    with pytest.raises(DataError) as caught:
        two_groups(column, "MI", "Healthy")
    assert str(caught.value) == (
        "column 'dx' has 'MI' (1 row), 'mi' (1 row); and 'Healthy' (1 row), 'HEALTHY' (1 row), "
        "'he althy' (1 row), 'healthy' (1 row): these differ only in case or blanks. "
        "Set `fold_labels=True` to read such labels as one group, or rename them."
    )


def test_labels_of_other_groups_may_differ_in_case():
    column = GroupColumn(["MI", "ok", "Diabetes", "diabetes", "other", "other"], "dx")
    keys = two_groups(column, "MI", "ok")
    assert column.others(keys) == {"other": 2, "Diabetes": 1, "diabetes": 1}


def test_who_names_two_such_labels_means_two_groups():
    assert two_groups(GroupColumn(["A", "a"], "strain"), "A", "a") == (("text", "A"), ("text", "a"))


def test_folded_labels_are_one_group():
    column = GroupColumn(SPELT, "dx", fold=True)
    of_mi, of_healthy = two_groups(column, "mi", "HEALTHY")
    assert (column.rows(of_mi).tolist(), column.rows(of_healthy).tolist()) == ([0, 1], [2, 3, 4, 5])
    assert column.others((of_mi, of_healthy)) == {"Diabetes": 2}
    assert column.spelled(["mI", None, "no"]) == ["MI", None, "no"]
    with pytest.raises(DataError, match="`hidden` and `among` must differ; got 'MI' and 'mi'"):
        two_groups(column, "MI", "mi")
