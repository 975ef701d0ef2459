"""X meets Y: columns are matched by name, and other columns or scales are refused, in every function."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest

import mmdbounds as mb
from mmdbounds.errors import DataError
from mmdbounds.tables import Group, as_groups, groups

RNG = np.random.default_rng(5)
X = RNG.normal(size=(12, 2)) * (1, 9) + (50, 20)
Y = RNG.normal(size=(16, 2)) * (1, 9) + (50, 20)
NAMES = ["age", "bmi"]
FIXED = {"kernel": mb.kernels.RBF(3.0)}


def of_both(made: Any) -> float:
    return mb.mmd2(made.X, made.Y, **FIXED)


CALLS = {
    "mmd2": lambda x, y: mb.mmd2(x, y, **FIXED),
    "mmd_bounds": lambda x, y: mb.mmd_bounds(x, y, 0.1, method="s-sd", **FIXED).interval,
    "robust_test": lambda x, y: tuple(mb.robust_test(x, y, 0.1, n_permutations=19, rng=0, **FIXED)),
    "aggregated_test": lambda x, y: (
        mb.aggregated_test(x, y, 0.1, kernels=[mb.kernels.RBF(3.0)], n_permutations=19, rng=0).statistic
    ),
    "sweep": lambda x, y: mb.sweep(x, y, n_permutations=19, rng=0, **FIXED).observed,
    "confidence_interval": lambda x, y: [
        (part.lower, part.upper)
        for part in mb.confidence_interval(x, y, 0.1, fixed_kernel=True, rng=0, **FIXED).parts
    ],
    "resampling_interval": lambda x, y: mb.resampling_interval(x, y, 0.1, n_resamples=9, rng=0, **FIXED).high,
    "mixture_ceiling": lambda x, y: mb.mixture_ceiling(x, y, rng=0, **FIXED).distance,
    "evaluate": lambda x, y: (
        mb.evaluate(x, y, 0.1, methods=["s-sd"], n_trials=2, rng=0, n_processes=1, progress=False, **FIXED)
        .methods[0]
        .mean_interval_width
    ),
    "simulate": lambda x, y: of_both(mb.simulate(x, y, 0.2, rng=0, **FIXED)),
    "one_row_each": lambda x, y: of_both(mb.one_row_each(x, y, range(12), range(20, 36), rng=0)),
}
WITH_A_FIGURE = {"plot_witness"}


def frame(values: np.ndarray, names: list[str] = NAMES) -> pl.DataFrame:
    return pl.DataFrame({name: values[:, j] for j, name in enumerate(names)})


def test_every_public_function_of_two_groups_is_here():
    takes_two = {
        name
        for name in mb.__all__
        if inspect.isfunction(getattr(mb, name))
        and set(inspect.signature(getattr(mb, name)).parameters) & {"Y", "Y_clean"}
    }
    assert takes_two == set(CALLS) | WITH_A_FIGURE


@pytest.mark.parametrize("name", CALLS)
def test_columns_in_another_order_are_put_in_order(name: str):
    call = CALLS[name]
    expected = call(X, Y)
    swapped = frame(Y)[["bmi", "age"]]
    assert call(frame(X), swapped) == expected
    by_position = call(X, np.ascontiguousarray(Y[:, ::-1]))
    assert by_position != expected  # the order matters, so the test can fail
    with pytest.raises(
        DataError, match=r"must have the same columns; only `X\w*` has 'bmi' and only `Y\w*` has 'BMI'"
    ):
        call(frame(X), frame(Y, ["age", "BMI"]))


@pytest.mark.full
def test_a_picture_of_the_witness_matches_names():
    from mmdbounds.plotting.witness_values import seen

    options = {"features": None, "side": None, "kernel": None, "max_rows": 99}
    result = mb.mmd_bounds(X, Y, 0.1, method="s-sd", **FIXED)
    expected = seen(result, X, Y, **options).witness
    np.testing.assert_array_equal(
        seen(result, frame(X), frame(Y)[["bmi", "age"]], **options).witness, expected
    )
    with pytest.raises(DataError, match=r"only `Y` has 'sex'"):
        seen(result, frame(X), frame(Y, ["age", "sex"]), **options)


@pytest.mark.full
def test_frames_of_all_libraries():
    import narwhals.stable.v1 as nw

    made = [
        lambda f: f,
        lambda f: f.to_pandas(),
        lambda f: f.to_arrow(),
        nw.from_native,
        lambda f: Group(f.to_numpy(), columns=tuple(f.columns)),
    ]
    expected = mb.mmd2(X, Y)
    for of_x, of_y in itertools.product(made, made):
        assert mb.mmd2(of_x(frame(X)), of_y(frame(Y)[["bmi", "age"]])) == expected


def test_an_array_meets_a_frame_by_position():
    assert mb.mmd2(frame(X), Y) == mb.mmd2(X, frame(Y)) == mb.mmd2(X, Y)
    with pytest.raises(DataError, match=r"must have the same columns; got 2 and 1\. Each must be an array"):
        mb.mmd2(frame(X), Y[:, :1])


def test_names_that_differ_are_listed():
    many = RNG.normal(size=(5, 9))
    names = [f"c{j}" for j in range(9)]
    with pytest.raises(
        DataError, match=r"; only `X` has 'c8'\. Rename them or leave them out\. To match columns"
    ):
        as_groups(frame(many, names), frame(many[:, :8], names[:8]))
    with pytest.raises(
        DataError, match=r"only `X` has 'c0', 'c1', 'c2', 'c3', 'c4' and 4 more and only `Y` has 'd0'"
    ):
        as_groups(frame(many, names), frame(many, [f"d{j}" for j in range(9)]))


def test_a_name_that_comes_twice_is_refused():
    with pytest.raises(
        DataError, match=r"^columns must have different names; got more than one 'age'\. Rename"
    ):
        Group(X, columns=("age", "age"))
    table = {"g": ["a", "a", "b", "b"], "s": ["u", "v", "u", "v"], "s=u": [1.0, 2.0, 3.0, 5.0]}
    with pytest.raises(DataError, match=r"more than one 's=u'"):
        groups(table, "g", hidden="a", among="b")


TABLE = {
    "g": ["a"] * 12 + ["b"] * 16,
    "age": np.concatenate([X, Y])[:, 0],
    "bmi": np.concatenate([X, Y])[:, 1],
    "site": ["n", "s"] * 14,
    "old": [True, False, False, True] * 7,
}


@pytest.mark.parametrize("scale", ["standard", "robust", "rank"])
def test_groups_of_two_calls_are_compared_only_if_scaled_alike(scale: str):
    asked = {"by": "g", "hidden": "a", "among": "b", "scale": scale}
    x, y = groups(TABLE, **asked)
    again_y, again_x = groups(TABLE, **{**asked, "hidden": "b", "among": "a"})
    assert mb.mmd2(x, again_y) == mb.mmd2(again_x, y) == mb.mmd2(x, y)
    other = {**TABLE, "bmi": TABLE["bmi"] * np.linspace(1, 1.01, 28)}
    _, other_y = groups(other, **asked)
    with pytest.raises(
        DataError,
        match=r"^`X` and `Y` were scaled over different rows in 1 column: 'bmi'\. Call `groups` once, on",
    ):
        mb.mmd2(x, other_y)
    _, plain_y = groups(TABLE, **{**asked, "scale": "none"})
    with pytest.raises(
        DataError, match=r"^`X` was scaled by `groups` and `Y` was not, in 5 columns: 'age', 'bmi'"
    ):
        mb.mmd2(x, plain_y)
    with pytest.raises(
        DataError, match=r"^`Y` was scaled by `groups` and `X` was not, in 5 columns: 'age', 'bmi'"
    ):
        mb.mmd2(plain_y, x)
    assert mb.mmd2(x, y.values) == mb.mmd2(x, y)  # an array has no record to compare


def test_a_category_with_other_shares_has_another_scale():
    asked = {"by": "g", "hidden": "a", "among": "b", "columns": "site"}
    x, _ = groups(TABLE, **asked)
    _, y = groups({**TABLE, "site": ["n", "n", "n", "s"] * 7}, **asked)
    with pytest.raises(DataError, match=r"scaled over different rows in 2 columns: 'site=n', 'site=s'"):
        mb.mmd2(x, y)
    _, y = groups({**TABLE, "site": ["n", "s", "n", "west"] * 7}, **asked)
    with pytest.raises(DataError, match=r"only `Y` has 'site=west'"):
        mb.mmd2(x, y)


def test_groups_that_were_not_scaled_come_from_any_table():
    asked = {"by": "g", "hidden": "a", "among": "b", "scale": "none"}
    x, y = groups(TABLE, **asked)
    turned = dict(reversed(TABLE.items()))
    assert mb.mmd2(x, groups(turned, **asked)[1]) == mb.mmd2(x, y)


def test_the_record_says_what_was_subtracted_and_divided_by():
    x, y = groups(TABLE, "g", hidden="a", among="b")
    for j, name in enumerate(("age", "bmi")):
        centre, spread = x.record["scaling"][name]
        again = np.concatenate([x.values[:, j], y.values[:, j]]) * spread + centre
        np.testing.assert_allclose(again, TABLE[name], rtol=1e-14)
