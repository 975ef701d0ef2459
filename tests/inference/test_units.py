"""One row per unit: exactly one, uniformly, whatever the filing and the order; and what is refused."""

import collections
import json
import re

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.inference.units import one_row_each
from mmdbounds.kernels import Precomputed
from mmdbounds.tables import as_group

N_DRAWS = 3000


def made(seed=0, n_units=12, most=4):
    """Groups whose rows are all different, with one to `most` rows a unit."""
    rng = np.random.default_rng(seed)
    units = np.repeat([f"P{i:02d}" for i in range(n_units)], rng.integers(1, most + 1, size=n_units))
    Z = rng.normal(size=(len(units), 2))
    of_x = np.isin(units, [f"P{i:02d}" for i in range(0, n_units, 2)])
    return Z[of_x], Z[~of_x], units[of_x], units[~of_x]


def rows_of(group):
    return {tuple(row) for row in group.values.tolist()}


@pytest.mark.parametrize("seed", range(5))
def test_every_unit_gives_one_of_its_rows(seed):
    X, Y, units_x, units_y = made(seed)
    drawn = one_row_each(X, Y, units_x, units_y, rng=seed)
    for rows, group, Z, units in (
        (drawn.rows_of_x, drawn.X, X, units_x),
        (drawn.rows_of_y, drawn.Y, Y, units_y),
    ):
        assert sorted(units[rows]) == sorted(set(units))
        assert (np.diff(rows) > 0).all()
        np.testing.assert_array_equal(group.values, Z[rows])
    assert drawn.n_left_out_of_x == len(X) - len(set(units_x))
    assert drawn.n_left_out_of_y == len(Y) - len(set(units_y))
    assert drawn.n_left_out == drawn.n_left_out_of_x + drawn.n_left_out_of_y > 0


def test_each_row_of_a_unit_is_as_likely_as_any_other():
    X, Y = [[0.0], [1.0], [2.0], [5.0], [6.0]], [[9.0]]
    kept = collections.Counter(
        tuple(one_row_each(X, Y, list("aaabb"), ["c"], rng=seed).rows_of_x.tolist())
        for seed in range(N_DRAWS)
    )
    assert len(kept) == 6  # three rows of one times two of the other: independent
    for count in kept.values():
        assert abs(count - N_DRAWS / 6) < 5 * np.sqrt(N_DRAWS * (1 / 6) * (5 / 6))


def test_neither_the_order_of_the_rows_nor_their_groups_matter():
    X, Y, units_x, units_y = made()
    rng = np.random.default_rng(1)
    first = one_row_each(X, Y, units_x, units_y, rng=7)
    places_x, places_y = rng.permutation(len(X)), rng.permutation(len(Y))
    again = one_row_each(X[places_x], Y[places_y], units_x[places_x], units_y[places_y], rng=7)
    swapped = one_row_each(Y, X, units_y, units_x, rng=7)
    assert rows_of(first.X) == rows_of(again.X) == rows_of(swapped.Y)
    assert rows_of(first.Y) == rows_of(again.Y) == rows_of(swapped.X)
    # A unit that is filed elsewhere gives the same row as before.
    moved = np.isin(units_x, ["P00"])
    filed = one_row_each(
        X[~moved], np.concatenate([Y, X[moved]]), units_x[~moved], [*units_y, *units_x[moved]], rng=7
    )
    assert rows_of(filed.X) | rows_of(filed.Y) == rows_of(first.X) | rows_of(first.Y)
    assert rows_of(one_row_each(X, Y, units_x, units_y, rng=8).X) != rows_of(first.X)


def test_units_with_one_row_each_lose_nothing():
    X, Y = np.arange(4.0)[:, None], np.arange(10.0, 13.0)[:, None]
    drawn = one_row_each(X, Y, range(4), range(4, 7), rng=0)
    np.testing.assert_array_equal(drawn.X.values, X)
    np.testing.assert_array_equal(drawn.Y.values, Y)
    assert drawn.n_left_out == 0
    assert drawn.note() == "Every unit has one row; none was left out."


@pytest.mark.full
def test_names_and_record_stay_with_the_rows():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "id": [f"r{i}" for i in range(8)],
            "g": list("aaaabbbb"),
            "u": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        }
    )
    X, Y = mb.groups(frame, "g", hidden="a", among="b", id="id")
    drawn = one_row_each(X, Y, [1, 1, 2, 2], [3, 3, 4, 5], rng=3)
    assert drawn.X.ids.tolist() == [f"r{i}" for i in drawn.rows_of_x]
    assert drawn.Y.ids.tolist() == [f"r{i + 4}" for i in drawn.rows_of_y]
    assert (drawn.X.name, drawn.X.columns) == (X.name, X.columns)
    assert drawn.X.record["units"] == {
        "one row each of": 5,
        "rows left out of X, of Y": [2, 1],
        "seed": 3,
    }
    assert {k: v for k, v in drawn.X.record.items() if k != "units"} == dict(X.record)
    assert drawn.note() == (
        "One row per unit was drawn at random (seed 3); left out: 2 of the 4 rows of a, 1 of the 4 rows of b."
    )
    assert repr(drawn) == "OneRowEach(2 and 3 units, 2 and 1 rows left out, seed 3)"
    result = mb.robust_test(drawn.X, drawn.Y, 0.0, n_permutations=19, rng=0)
    assert result.provenance.data["units"]["seed"] == 3


def test_a_seed_is_drawn_and_told():
    X, Y, units_x, units_y = made()
    drawn = one_row_each(X, Y, units_x, units_y)
    again = one_row_each(X, Y, units_x, units_y, rng=drawn.seed)
    np.testing.assert_array_equal(drawn.rows_of_x, again.rows_of_x)
    with pytest.raises(ValueError, match="read-only"):
        drawn.rows_of_x[0] = 3


X3, Y2 = np.arange(3.0)[:, None], np.arange(2.0)[:, None]


@pytest.mark.parametrize(
    ("units_x", "units_y", "message"),
    [
        ("abc", "ca", "`units_x` must name the unit of each row; got 'abc'."),
        ([1, 2], [4, 5], "`units_x` must have one entry for each of the 3 rows of `X`; got 2."),
        ([1, 2, 3], [[4], [5]], "`units_y` must name the unit of each row; got list of shape (2, 1)."),
        ([1, 2, 3], [[4], [5, 6]], "`units_y` must name the unit of each row; got list that cannot be read"),
        (["a", None, "b"], ["c", "d"], "of `X`; got none for row 1. Name a unit"),
        ([1.0, 2.0, np.nan], [4, 5], "of `X`; got none for row 2."),
        (["a", "b", "c"], ["d", ""], "of `Y`; got none for row 1."),
        (np.ma.array([1, 2, 3], mask=[0, 0, 1]), [4, 5], "of `X`; got none for row 2."),
        (["a", "b", "a"], ["c", "a"], "under one group; got rows under both X and Y for a. Decide on one"),
        ([7, 8, 9], ["x", "7"], "got rows under both X and Y for 7."),
        ([7.0, 8.0, 9.5], [9, 7], "got rows under both X and Y for 7."),
        (["d", "c", "b"], ["b", "d"], "got rows under both X and Y for b, d."),
    ],
)
def test_refusals(units_x, units_y, message):
    with pytest.raises(DataError, match=re.escape(message)):
        one_row_each(X3, Y2, units_x, units_y, rng=0)


def test_no_more_than_three_units_are_named():
    units = [f"P{i}" for i in range(6)]
    Z = np.arange(6.0)[:, None]
    with pytest.raises(DataError, match=r"for P0, P1, P2 and 3 more\. Decide") as caught:
        one_row_each(Z, Z, units, units, rng=0)
    assert "\n" not in str(caught.value)


def test_other_columns_are_refused():
    with pytest.raises(DataError, match=r"must have the same columns; got 1 and 2"):
        one_row_each(X3, np.zeros((2, 2)), [1, 2, 3], [4, 5], rng=0)


@pytest.mark.full
def test_missing_units_of_pandas_are_refused():
    pandas = pytest.importorskip("pandas")
    units = pandas.Series([1, None, 2], dtype="Int64")
    with pytest.raises(DataError, match=r"got none for row 1"):
        one_row_each(X3, Y2, units, [4, 5], rng=0)
    assert one_row_each(X3, Y2, pandas.Series([1, 1, 2]), [4, 5], rng=0).n_left_out == 1


def test_rows_of_one_unit_make_an_ordinary_test_reject_too_often_and_one_row_each_does_not():
    n_trials, n_units, n_each = 60, 10, 6
    rejected = np.zeros(2)
    for trial in range(n_trials):
        rng = np.random.default_rng([trial, 5])
        centres = np.repeat(rng.normal(0, 1, size=(2 * n_units, 1)), n_each, axis=0)
        Z, units = centres + rng.normal(0, 0.1, size=centres.shape), np.repeat(np.arange(2 * n_units), n_each)
        half = n_units * n_each
        drawn = one_row_each(Z[:half], Z[half:], units[:half], units[half:], rng=trial)
        for place, (X, Y) in enumerate(
            ((as_group(Z[:half], "X"), as_group(Z[half:], "Y")), (drawn.X, drawn.Y))
        ):
            rejected[place] += mb.robust_test(X, Y, 0.0, n_permutations=39, rng=trial).pvalue <= 0.05
    assert rejected[0] > n_trials / 3
    assert rejected[1] <= 8  # binomial(60, 0.05): 9 or more in one of 400


TESTS = {
    "robust_test": (mb.robust_test, {"epsilon": 0.2}),
    "several bandwidths": (mb.robust_test, {"epsilon": 0.2, "bandwidth": [1.0, 2.0]}),
    "sweep": (mb.sweep, {"epsilons": [0, 0.2]}),
}


def same_but_for_time(result):
    plain = result.to_dict()
    plain["provenance"]["seconds"] = 0.0
    return plain


@pytest.mark.parametrize("name", TESTS)
def test_a_test_of_units_is_the_test_of_one_row_each(name):
    function, options = TESTS[name]
    X, Y, units_x, units_y = made(3, n_units=24)
    result = function(X, Y, unit=(units_x, units_y), n_permutations=39, rng=5, **options)
    drawn = one_row_each(X, Y, units_x, units_y, rng=5)
    by_hand = function(drawn.X, drawn.Y, n_permutations=39, rng=5, **options)
    both = same_but_for_time(result), same_but_for_time(by_hand)
    assert [plain.pop("units_note") for plain in both] == [
        f"{drawn.note()} Each row stands for one unit: epsilon and all counts refer to units.",
        "",
    ]
    of_units, of_rows = (plain.pop("conditions") for plain in both)
    assert both[0] == both[1]
    assert [a == b for a, b in zip(of_units, of_rows, strict=True)] == [True, False, True, True]
    assert of_units[1].startswith("if the groups do not differ, their units are exchangeable: no pairs or")
    assert (result.n_samples_X, result.n_samples_Y) == (12, 12)
    assert result.provenance.data["units"]["one row each of"] == 24
    words = " ".join(result.summary().split())
    assert f"{drawn.note()} Each row stands for one unit" in words
    assert "their units are exchangeable" in words
    assert "units" not in by_hand.summary()


@pytest.mark.parametrize("name", TESTS)
def test_the_note_is_saved(name):
    function, options = TESTS[name]
    X, Y, units_x, units_y = made()
    result = function(X, Y, unit=(units_x, units_y), n_permutations=19, rng=0, **options)
    saved = json.loads(result.to_json())
    back = type(result).from_dict(saved)
    assert back.units_note == result.units_note != ""
    assert back.summary() == result.summary()
    del saved["units_note"]  # saved before there was one
    assert type(result).from_dict(saved).units_note == ""


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize(
    ("unit", "message"),
    [
        ("ab", r"^`unit` must be a pair: the units of the rows of `X`, and those of `Y`; got str\.$"),
        ((list("aab"),), r"^`unit` must be a pair: .*; got tuple of length 1\.$"),
        (np.zeros((2, 3)), r"^`unit` must be a pair: .*; got ndarray\.$"),
        (
            (list("aa"), list("cd")),
            r"^`unit\[0\]` must have one entry for each of the 3 rows of `X`; got 2\.$",
        ),
        ((list("aab"), ["c", None]), r"^`unit\[1\]` must name .* of `Y`; got none for row 1\. Name a unit"),
        ((list("aab"), list("ca")), r"got rows under both X and Y for a\. Decide on one group for each"),
    ],
)
def test_what_is_no_unit_of_each_row_is_refused(name, unit, message):
    function, options = TESTS[name]
    with pytest.raises(MmdBoundsError, match=message):
        function(X3, Y2, unit=unit, n_permutations=9, rng=0, **options)


@pytest.mark.parametrize("name", ["robust_test", "sweep"])
@pytest.mark.parametrize("kernel", ["precomputed", Precomputed()])
def test_a_matrix_has_no_rows_to_draw_from(name, kernel):
    function, options = TESTS[name]
    K = np.eye(5)
    message = r"^`unit` must go with rows to draw from; got kernel='precomputed'\. Keep one row and one"
    with pytest.raises(MmdBoundsError, match=message):
        function(K[:3], K[3:], unit=(list("aab"), list("cd")), kernel=kernel, rng=0, **options)
