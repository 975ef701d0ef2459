"""Rows whose true group was looked up: refiled or confirmed, and every slip gets one line."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmdbounds.errors import DataError, VerifiedWarning
from mmdbounds.tables import groups
from mmdbounds.tables.group import CONFIRMED, NOT_LOOKED_UP, REFILED

DX = ["MI", "MI", "MI", "no", "no", "no", "no", "stroke"]


def table(review: list[Any], dx: list[Any] | None = None, **more: list[Any]) -> dict[str, list[Any]]:
    dx = DX if dx is None else dx
    ages = [float((7 * i) % 11) for i in range(len(dx))]
    return {"who": [f"p{i}" for i in range(len(dx))], "dx": dx, "age": ages, "review": review, **more}


def split(data: Any, **options: Any):
    named = {"hidden": "MI", "among": "no", "id": "who", "verified": "review", "scale": "none", **options}
    return groups(data, "dx", **named)


def test_rows_are_refiled_and_confirmed():
    X, Y = split(table(["", None, "no", "MI", "", "no", "", ""]))
    assert X.ids.tolist() == ["p0", "p1", "p3"]
    assert Y.ids.tolist() == ["p2", "p4", "p5", "p6"]
    assert X.verified.tolist() == [NOT_LOOKED_UP, NOT_LOOKED_UP, REFILED]
    assert Y.verified.tolist() == [REFILED, NOT_LOOKED_UP, CONFIRMED, NOT_LOOKED_UP]
    assert X.columns == ("age",)
    np.testing.assert_array_equal(X.values[:, 0], [0.0, 7.0, 10.0])
    assert X.record["verified_column"] == "review"
    assert X.record["n_refiled"] == [1, 1]
    assert (X.record["n_hidden"], X.record["n_among"]) == (3, 4)


@settings(max_examples=40)
@given(
    st.lists(
        st.sampled_from([("MI", ""), ("MI", "no"), ("MI", "MI"), ("no", "MI"), ("no", ""), ("no", "no")])
    )
)
def test_every_row_is_where_it_belongs(rows: list[tuple[str, str]]):
    rows = [("MI", ""), ("no", ""), *rows]
    data = table([review for _, review in rows], [dx for dx, _ in rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerifiedWarning)
        X, Y = split(data)
    for name, group in (("MI", X), ("no", Y)):
        wanted = [f"p{i}" for i, (dx, review) in enumerate(rows) if (review or dx) == name]
        assert group.ids.tolist() == wanted
        for who, status in zip(group.ids, group.verified, strict=True):
            dx, review = rows[int(who[1:])]
            assert status == ("" if not review else CONFIRMED if review == dx else REFILED)


@pytest.mark.parametrize(
    "words",
    [
        (True, False),
        ("true", "FALSE"),
        ("yes", "no"),
        ("Yes", "No"),
        (1, 0),
        ("1", "0"),
        (1.0, None),
        ("true", "NA"),
    ],
    ids=str,
)
def test_yes_is_confirmed_as_filed_and_no_is_not_looked_up(words: tuple[Any, Any]):
    yes, no = words
    data = table([yes, no, no, no, yes, no, yes, no], ["MI" if dx == "MI" else "control" for dx in DX])
    X, Y = split(data, among="control")
    assert X.verified.tolist() == [CONFIRMED, "", ""]
    assert Y.verified.tolist() == ["", CONFIRMED, "", CONFIRMED, ""]
    assert X.record["n_refiled"] == [0, 0]


@pytest.mark.parametrize("names", [(1, 0), ("true", "false"), ("yes", "no")], ids=str)
def test_groups_called_yes_and_no_are_groups(names: tuple[Any, Any]):
    case, control = names
    X, Y = split(
        table([None, control, None, case], [case, case, control, control]), hidden=case, among=control
    )
    assert X.ids.tolist() == ["p0", "p3"]
    assert Y.ids.tolist() == ["p1", "p2"]


def test_a_group_called_na_is_a_group():
    X, Y = split(table(["NA", None, "MI", None], ["MI", "MI", "NA", "NA"]), among="NA")
    assert (X.ids.tolist(), Y.ids.tolist()) == (["p1", "p2"], ["p0", "p3"])


def test_words_for_missing_cells_are_blank():
    _, Y = split(table(["", "N/A", ".", "no", "?", "nan", "", ""]), na="?")
    assert Y.verified.tolist() == [CONFIRMED, "", "", ""]


def test_rows_of_other_groups_may_be_confirmed_there():
    _, Y = split(table(["", "", "", "no", "", "", "", "stroke"]))
    assert Y.verified.tolist() == [CONFIRMED, "", "", ""]


def test_rows_that_are_dropped_are_not_refiled():
    data = table(["", "", "", "MI", "MI", "", "", ""], size=[1.0, 2.0, 3.0, None, 5.0, 6.0, 7.0, 8.0])
    X, Y = split(data, missing="drop")
    assert X.ids.tolist() == ["p0", "p1", "p2", "p4"]
    assert X.record["n_dropped_rows"] == [0, 1]
    assert X.record["n_refiled"] == [1, 0]
    assert len(Y) == 2


@pytest.mark.parametrize(
    ("review", "message"),
    [
        (
            ["", "", "", "mi", "", "", "", ""],
            "says 'mi' in row 4, which is neither 'MI' nor 'no'. Did you mean 'MI'. Leave rows of",
        ),
        (
            ["", "", "stroke", "", "", "stroke", "", ""],
            r"column 'review' says 'stroke' in row 3 \(and 1 row more\), which is neither 'MI' nor 'no'",
        ),
        (["", "", "", "MI", "true", "", "", ""], "column 'review' says 'true' in row 5, which is neither"),
        (
            ["", "", "", "", "", "", "", "MI"],
            "column 'review' verifies row 8 as 'MI', but it is filed under neither group. File such rows",
        ),
        (["no", "no", "no", "", "", "", "", ""], "verifies every row of 'MI' as the other group, so no row"),
    ],
)
def test_contradictions_are_refused(review: list[str], message: str):
    with pytest.raises(DataError, match=message):
        split(table(review))


def test_a_column_that_agrees_with_every_label_is_suspicious():
    with pytest.warns(VerifiedWarning, match=r"confirms all 4 rows of 'no' as filed.*from the group column"):
        split(table(DX))


def test_few_rows_that_are_all_confirmed_are_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split(table(["", "", "", "no", "no", "no", "", ""]))


def test_a_blank_column_says_nothing():
    with pytest.warns(VerifiedWarning, match="column 'review' verifies no row: it is blank everywhere"):
        X, Y = split(table([""] * 8))
    assert (len(X), len(Y)) == (3, 4)


def test_who_may_be_misfiled_and_where():
    tested = ["", "", "", "yes", "no", "no", "yes", ""]
    site = ["A", "A", "", "A", "B ", "NA", 7, ""]
    site = [None if each in ("", "NA") else str(each) for each in site]
    X, Y = split(
        table([""] * 8, tested=tested, site=site),
        verified=None,
        may_move="tested",
        strata="site",
        exclude="review",
    )
    assert Y.may_move.tolist() == [True, False, False, True]
    assert X.may_move is None
    assert Y.strata.tolist() == ["A", "B", "", "7"]
    assert X.columns == ("age",)
    assert X.record["may_move_column"] == "tested"
    assert X.record["strata_column"] == "site"


@pytest.mark.parametrize(
    ("tested", "message"),
    [
        (
            ["", "", "", "yes", "", "no", "no", ""],
            "must say true or false, yes or no, 1 or 0 for each row",
        ),
        (["", "", "", "yes", "maybe", "no", "no", ""], "for each row; got 'maybe' in row 5"),
        (["yes", "", "yes", "no", "no", "no", "no", ""], "for each row; got nothing in row 2"),
        (
            ["yes", "no", "no", "", "", "", "", ""],
            "named in `may_move=`, is blank in every row of 'no'",
        ),
    ],
)
def test_who_may_be_misfiled_must_be_clear(tested: list[str], message: str):
    with pytest.raises(DataError, match=message):
        split(table([""] * 8, tested=tested), verified=None, exclude="review", may_move="tested")


def test_an_order_is_a_number_for_each_row_of_y_that_was_not_looked_up():
    scores = [None, 1.0, None, 0.5, None, 0.25, 2.0, None]
    review = ["", "", "no", "", "no", "", "", ""]
    data = {**table(review), "score": scores}
    X, Y = split(data, order="score")
    assert X.order is None
    assert Y.ids.tolist() == ["p2", "p3", "p4", "p5", "p6"]
    np.testing.assert_array_equal(Y.order, [np.nan, 0.5, np.nan, 0.25, 2.0])
    assert (X.columns, X.record["order_column"]) == (("age",), "score")
    assert Y[1:4].order.tolist()[::2] == [0.5, 0.25]
    refused = (
        "^column 'score', named in `order=`, must have a number in each row of 'no' that was not looked up"
    )
    with pytest.raises(DataError, match=rf"{refused}; got nothing in row 4 \(and 1 row more\)\.$"):
        split({**data, "score": [*scores[:3], None, 1.0, None, 2.0, 1.0]}, order="score")
    with pytest.raises(DataError, match=rf"{refused}; got 'b' in row 4 \(and 2 rows more\)\.$"):
        split({**data, "score": list("abbbbbbb")}, order="score")


@pytest.mark.parametrize("role", ["verified", "may_move", "strata", "order"])
def test_columns_must_be_other_ones(role: str):
    with pytest.raises(DataError, match=f"`group` and `{role}` must be different columns; got 'dx' for both"):
        split(table([""] * 8), **{"verified": None, role: "dx"})
    with pytest.raises(
        DataError, match=f"there is no column 'reviews', named in `{role}=`. Did you mean 'review'"
    ):
        split(table([""] * 8), **{"verified": None, role: "reviews"})
    with pytest.raises(DataError, match=f"`columns` names 'review', which is the {role} column"):
        split(table([""] * 8), **{"verified": None, role: "review"}, columns=["age", "review"])
