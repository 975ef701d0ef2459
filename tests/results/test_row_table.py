"""The rows as a table: who is in it, in which order, and what frames make of it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from made import make_provenance
from mmdbounds.errors import DataError
from mmdbounds.results import Bound, BoundsResult

COLUMNS = ["group", "row", "id", "file_row", "in_lower", "in_upper", "lower_change", "upper_change"]
NAN = float("nan")


def make_table_result(**changes: Any) -> BoundsResult:
    lower = Bound(side="lower", value=0.1, rows=[2], rows_of_x=[], effects=[0.1, 0.3, 0.25, NAN])
    upper = Bound(side="upper", value=0.7, rows=[0], rows_of_x=[], effects=[-0.3, -0.2, -0.5, NAN])
    made: dict[str, Any] = {
        "lower": lower,
        "upper": upper,
        "observed": 0.5,
        "n_samples_X": 3,
        "n_samples_Y": 4,
        "n_moved": 1,
        "epsilon": 0.25,
        "share_of_y": 0.25,
        "name_x": "cases",
        "name_y": "controls",
        "provenance": make_provenance(),
    }
    return BoundsResult(**{**made, **changes})


def plain(table: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the columns as lists that can be compared: NaN equals nothing."""
    return {name: [None if str(v) == "nan" else v for v in column] for name, column in table.items()}


def test_largest_change_of_the_lower_bound_first():
    table = make_table_result().row_table()
    assert plain(table) == {
        "group": ["controls"] * 4,
        "row": [1, 2, 0, 3],  # the upper bound, which changes most for row 2, has no say
        "id": [None] * 4,
        "file_row": [None] * 4,
        "in_lower": [False, True, False, False],
        "in_upper": [False, False, True, False],
        "lower_change": [0.3, 0.25, 0.1, None],
        "upper_change": [-0.2, -0.5, -0.3, None],
    }
    assert list(table) == COLUMNS


@pytest.mark.parametrize("lower", [[0.2] * 5, [NAN] * 5, None])
def test_where_the_lower_bound_does_not_tell_the_upper_one_does(lower: list[float] | None):
    # Moved rows first, the surest on top; then the others, those that were nearest to being moved first.
    sides = {
        "lower": Bound(side="lower", value=0.1, rows=[], rows_of_x=[], effects=lower),
        "upper": Bound(
            side="upper", value=0.7, rows=[1, 3], rows_of_x=[], effects=[-0.3, -0.1, -0.2, -0.4, -0.3]
        ),
    }
    table = make_table_result(**sides, n_samples_Y=5).row_table()
    assert table["row"].tolist() == [3, 1, 2, 0, 4]


def test_rounding_breaks_no_ties():
    effects = [0.2, 0.2 + 3e-17, 0.2 - 3e-17, 0.2 + 3e-16, 0.2 + 1e-9]
    bound = Bound(side="lower", value=0.1, rows=[2], rows_of_x=[], effects=effects)
    for rows, expected in (([], [4, 0, 1, 2, 3]), ([2], [4, 2, 0, 1, 3])):  # moved rows first, if any
        upper = dataclasses.replace(bound, side="upper", rows=rows)
        assert (
            make_table_result(lower=bound, upper=upper, n_samples_Y=5).row_table()["row"].tolist() == expected
        )


def test_names_go_with_their_rows():
    table = make_table_result(ids_of_y=["a", "b", "c", "d"], file_rows_of_y=[2, 4, 6, 8]).row_table()
    assert table["id"].tolist() == ["b", "c", "a", "d"]
    assert table["file_row"].tolist() == [4, 6, 2, 8]


def test_two_way_has_the_rows_of_both_groups():
    one = make_table_result()
    lower = dataclasses.replace(one.lower, rows_of_x=[1], effects_of_x=[0.05, 0.3, 0.6])
    upper = dataclasses.replace(one.upper, rows_of_x=[2], effects_of_x=[-0.04, -0.2, -0.2])
    table = make_table_result(
        lower=lower, upper=upper, n_moved_of_x=1, ids_of_x=["p", "q", "r"], file_rows_of_y=[2, 4, 6, 8]
    ).row_table()
    assert list(zip(table["group"].tolist(), table["row"].tolist(), strict=True)) == [
        ("cases", 2),
        ("controls", 1),
        ("cases", 1),  # tied with the one above, also in the upper bound: rows of Y come first
        ("controls", 2),
        ("controls", 0),
        ("cases", 0),
        ("controls", 3),
    ]
    assert table["in_upper"].tolist() == [True, False, False, False, True, False, False]
    assert table["in_lower"].tolist() == [False, False, True, True, False, False, False]
    assert table["id"] == ["r", None, "q", None, None, "p", None]
    assert table["file_row"] == [None, 4, None, 6, 2, None, 8]


def test_rows_of_x_are_left_out_where_none_can_be_misfiled():
    one = make_table_result()
    assert len(one.row_table()["row"]) == one.n_samples_Y


def test_without_effects_rows_stay_in_order():
    one = make_table_result()
    sides = {s: dataclasses.replace(getattr(one, s), effects=None) for s in ("lower", "upper")}
    table = make_table_result(**sides).row_table()
    assert table["row"].tolist() == [0, 1, 2, 3]
    assert np.isnan(table["upper_change"]).all()
    assert table["in_lower"].tolist() == [False, False, True, False]


def test_a_computed_result():
    rng = np.random.default_rng(0)
    Y = mb.Group(rng.normal(1, 1, size=(15, 2)), ids=np.array([f"P{i}" for i in range(15)]))
    result = mb.mmd_bounds(rng.normal(size=(12, 2)), Y, 0.2, rng=0)
    table = result.row_table()
    assert sorted(table["row"].tolist()) == list(range(15))
    assert table["id"].tolist() == [f"P{i}" for i in table["row"]]
    assert sorted(table["row"][table["in_upper"]].tolist()) == result.upper.rows.tolist()
    np.testing.assert_array_equal(table["lower_change"], result.lower.effects[table["row"]])
    np.testing.assert_array_equal(table["upper_change"], result.upper.effects[table["row"]])
    assert result.ids_of_x is None


@pytest.mark.parametrize("seed", range(5))
def test_order_by_the_definition(seed: int):
    # How much the lower bound's labelling loses if a row changes sides and the best other row replaces it.
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(8, 2)), rng.normal(0.7, 1, size=(9, 2))
    result = mb.mmd_bounds(X, Y, mb.Contamination(n_moved=3), bandwidth=1.5, rng=0)

    def value(moved: set[int]) -> float:
        rows = sorted(moved)
        return mb.mmd2(np.concatenate([X, Y[rows]]), np.delete(Y, rows, axis=0), bandwidth=1.5)

    moved = set(result.lower.rows.tolist())
    rises = [
        min(value(moved ^ {row, other}) for other in range(9) if (other in moved) != (row in moved))
        for row in range(9)
    ]
    # Two rows that are each other's best partner are tied; the upper bound tells which looks more like X.
    aside = np.where(np.isin(np.arange(9), result.upper.rows), -1.0, 1.0) * np.abs(result.upper.effects)
    expected = sorted(range(9), key=lambda row: (-round(rises[row], 10), aside[row]))
    assert result.row_table()["row"].tolist() == expected


def test_misfiled_rows_are_found_where_they_look_like_the_other_group():
    # X around 0, Y around 4, and five rows from the middle of X under Y: the upper bound depends most on the
    # rows at the far end of Y.
    X = np.linspace(-1.5, 1.5, 25)[:, None]
    misfiled = list(range(10, 15))
    Y = np.concatenate([X[misfiled], np.linspace(2.5, 5.5, 30)[:, None]])
    result = mb.mmd_bounds(
        np.delete(X, misfiled, axis=0), Y, mb.Contamination(n_moved=5), bandwidth=1.0, rng=0
    )
    table = result.row_table()
    assert set(table["row"][:5].tolist()) == set(range(5))
    by_either = np.fmax(np.abs(result.lower.effects), np.abs(result.upper.effects))
    assert not set(np.argsort(-by_either)[:5].tolist()) & set(range(5))


@pytest.mark.full
def test_polars_takes_it():
    import polars as pl

    frame = pl.DataFrame(make_table_result(ids_of_y=["a", "b", "c", "d"]).row_table())
    assert frame.columns == COLUMNS
    assert frame["id"].to_list() == ["b", "c", "a", "d"]
    assert frame.schema["in_upper"] == pl.Boolean
    assert frame.schema["upper_change"] == pl.Float64
    assert frame["file_row"].is_null().all()


@pytest.mark.full
def test_pandas_takes_it():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(make_table_result(file_rows_of_y=[2, 4, 6, 8]).row_table())
    assert list(frame.columns) == COLUMNS
    assert frame["file_row"].tolist() == [4, 6, 2, 8]
    assert frame["upper_change"].isna().tolist() == [False, False, False, True]
    assert frame["id"].isna().all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids_of_y": ["a"]}, r"^`id` must have one entry for each of the 4 rows of controls; got 1\.$"),
        ({"file_rows_of_y": [1, 2, 3]}, r"^`file_row` must have .* 4 rows of controls; got 3\.$"),
        (
            {"n_samples_Y": 5},
            r"^`lower_change` must have one entry for each of the 5 rows of controls; got 4",
        ),
    ],
)
def test_a_table_with_holes_is_refused(changes: dict[str, Any], message: str):
    with pytest.raises(DataError, match=message):
        make_table_result(**changes).row_table()


def test_json_has_null_for_a_number_that_there_is_not():
    result = make_table_result(ids_of_y=["a", "b", "c", "é"], file_rows_of_y=[2, 4, 6, 8])
    saved = json.loads(result.to_json())
    assert saved["lower"]["effects"] == [0.1, 0.3, 0.25, None]
    assert saved["lower"]["effects_of_x"] is None
    assert saved["ids_of_y"] == ["a", "b", "c", "é"]
    back = BoundsResult.from_dict(saved)
    assert back.to_json() == result.to_json()
    assert plain(back.row_table()) == plain(result.row_table())
    nothing_known = dataclasses.replace(result.lower, effects=[NAN] * 4)
    again = BoundsResult.from_dict(json.loads(make_table_result(lower=nothing_known).to_json()))
    assert np.isnan(again.lower.effects).all()
    assert again.lower.effects.dtype == np.float64
