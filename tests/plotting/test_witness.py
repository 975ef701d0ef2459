"""The witness in pictures: right by its definition, at the right places, with the right rows marked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.plotting.witness_values import RowsShown, rows_shown, thinned
from tolerances import of_a_mean

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(9, 3)), RNG.normal(0.7, 1.0, size=(11, 3))
BOUNDS = mb.mmd_bounds(X, Y, mb.Contamination(n_moved=3, n_moved_of_x=1, exactly=True), rng=0)


CLOSE = 2 * of_a_mean(20)
"""Two computations of a difference of two means of at most 20 kernel values up to 1."""


def look(result: Any = BOUNDS, x: Any = X, y: Any = Y, **options: Any) -> RowsShown:
    chosen = {"features": None, "side": None, "kernel": None, "max_rows": 2000, **options}
    return rows_shown(result, x, y, **chosen)


def naive_witness(z: Any, x: Any, y: Any, bandwidth: float) -> float:
    def k(a: Any, b: Any) -> float:
        return math.exp(-sum((s - t) ** 2 for s, t in zip(a, b, strict=True)) / (2 * bandwidth**2))

    return sum(k(z, a) for a in x) / len(x) - sum(k(z, b) for b in y) / len(y)


@pytest.mark.parametrize("side", [None, "lower", "upper"])
def test_the_witness_by_its_definition(side: str | None):
    x, y = list(X), list(Y)
    if side is not None:
        bound = getattr(BOUNDS, side)
        moved, back = set(bound.rows.tolist()), set(bound.rows_of_x.tolist())
        assert (len(moved), len(back)) == (3, 1)
        x = [r for i, r in enumerate(X) if i not in back] + [Y[i] for i in moved]
        y = [r for i, r in enumerate(Y) if i not in moved] + [X[i] for i in back]
    found = look(side=side)
    wanted = [naive_witness(z, x, y, BOUNDS.provenance.bandwidth) for z in [*X, *Y]]
    np.testing.assert_allclose(found.witness, wanted, rtol=0, atol=CLOSE)


@pytest.mark.parametrize(
    "kernel",
    [
        mb.kernels.Polynomial(degree=2, coef0=0.5),
        mb.kernels.Laplacian(1.5),
        mb.kernels.Matern52(2.0),
    ],
)
def test_the_kernel_of_the_result_is_used(kernel: Any):
    result = mb.mmd_bounds(X, Y, 0.2, kernel=kernel, method="s-sd")
    np.testing.assert_allclose(
        look(result).witness, look(result, kernel=kernel).witness, rtol=0, atol=100 * CLOSE
    )
    other = look(result, kernel=mb.kernels.RBF(0.5)).witness
    assert np.abs(other - look(result).witness).max() > 1e-3


def test_a_function_has_to_be_given_again():
    def product(A: Any, B: Any) -> Any:
        return A @ B.T

    result = mb.mmd_bounds(X, Y, 0.2, kernel=product, method="s-sd")
    with pytest.raises(
        MmdBoundsError, match=r"^the kernel of this result \('function'\) is not stored\. Pass"
    ):
        look(result)
    pooled = np.concatenate([X, Y])
    np.testing.assert_allclose(
        look(result, kernel=product).witness,
        pooled @ (X.mean(axis=0) - Y.mean(axis=0)),
        rtol=0,
        atol=10 * CLOSE,
    )
    K = pooled @ pooled.T
    matrix = mb.mmd_bounds(K[:9], K[9:], 0.2, kernel="precomputed", method="s-sd")
    with pytest.raises(MmdBoundsError, match=r"\('precomputed'\) is a matrix, which has no rows to draw"):
        look(matrix, K[:9], K[9:])
    with pytest.raises(MmdBoundsError, match=r"^`kernel` must be a kernel object or a function.*got str\.$"):
        look(kernel="rbf")


def test_places_are_columns_or_principal_components():
    pd_columns = ("age", "dose $", "x")
    gx, gy = mb.Group(X, columns=pd_columns), mb.Group(Y, name="Y", columns=pd_columns)
    pooled = np.concatenate([X, Y])
    one = look(x=gx, y=gy, features="dose $")
    assert one.names == [r"dose \$"]
    np.testing.assert_array_equal(one.places, pooled[:, [1]])
    two = look(features=(2, 0))
    assert two.names == ["column 2", "column 0"]
    np.testing.assert_array_equal(two.places, pooled[:, [2, 0]])
    both = look()
    centred = pooled - pooled.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    np.testing.assert_allclose(np.abs(both.places), np.abs(centred @ vectors[:, [2, 1]]), rtol=0, atol=1e-12)
    share = 100 * values[2] / values.sum()
    assert both.names[0] == f"principal component 1 ({share:.3g} % of variance)"
    assert not both.is_whole


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (3, r"^`features` must be names, or whole numbers from 0 to 2; got 3\.$"),
        (-1, "got -1"),
        (True, "got True"),
        (1.5, "`features`"),
        ((0, 1, 2), r"^`features` must be one or two columns; got 3\.$"),
        ((), "got 0"),
        ("age", r"got 'age': `X` has no column names\.$"),
        ((0, None), "got None"),
    ],
)
def test_columns_that_are_not_there(features: Any, message: str):
    with pytest.raises(MmdBoundsError, match=message):
        look(features=features)


def test_a_name_that_is_nearly_right():
    gx, gy = (mb.Group(values, columns=("age", "dose", "x")) for values in (X, Y))
    with pytest.raises(MmdBoundsError, match=r"got 'dosis': there is no such column\..*'dose'"):
        look(x=gx, y=gy, features="dosis")


def test_the_groups_must_be_those_of_the_result():
    with pytest.raises(DataError, match=r"groups of the result, 9 and 11 rows; got 11 and 9\.$"):
        look(x=Y, y=X)
    with pytest.raises(DataError, match="must have the same columns; got 2 and 3"):
        look(x=X[:, :2])


def test_many_rows_are_thinned_the_same_way_every_time():
    rows = thinned(60_000, 2000)
    assert len(np.unique(rows)) == 2000
    np.testing.assert_array_equal(rows, thinned(60_000, 2000))
    assert (np.diff(rows) > 0).all()
    assert 900 < (rows < 30_000).sum() < 1100  # both halves in their proportion
    np.testing.assert_array_equal(thinned(5, 5), np.arange(5))
    few = look(max_rows=6)
    np.testing.assert_allclose(few.witness, look().witness[few.rows], rtol=0, atol=CLOSE)


@pytest.mark.parametrize("columns", [(0, 1), (1, 0)])
def test_the_function_between_the_rows(columns: tuple[int, int]):
    x, y = X[:, :2], Y[:, :2]
    result = mb.mmd_bounds(x, y, 0.2, method="s-sd")
    found = look(result, x, y, features=columns)
    assert found.is_whole
    point = np.array([0.3, -0.4])
    wanted = naive_witness(point[list(columns)], x, y, result.provenance.bandwidth)
    np.testing.assert_allclose(found.function(point[None]), [wanted], rtol=0, atol=CLOSE)


def test_columns_of_a_table_are_in_their_units():
    rng = np.random.default_rng(1)
    table = {"age": rng.integers(20, 90, 30), "dose": rng.gamma(2, 50, 30), "case": [1] * 12 + [0] * 18}
    values = np.c_[table["age"], table["dose"]].astype(float)
    for scale in ("standard", "robust", "none"):
        gx, gy = mb.groups(table, "case", hidden=1, among=0, scale=scale)
        found = look(mb.mmd_bounds(gx, gy, 0.1, method="s-sd"), gx, gy)
        assert found.names == ["age", "dose"]
        # Scaled and scaled back: a few roundings of numbers up to the largest.
        np.testing.assert_allclose(found.places, values, rtol=0, atol=8 * np.spacing(values.max()))
        # Kernel values change by less than the scaled columns, which are far below 1,000.
        np.testing.assert_allclose(found.function(values), found.witness, rtol=0, atol=8 * np.spacing(1e3))
    ranked = mb.groups(table, "case", hidden=1, among=0, scale="rank")
    found = look(mb.mmd_bounds(*ranked, 0.1, method="s-sd"), *ranked, features="dose")
    assert found.names == ["dose (as scaled)"]


@pytest.fixture
def axes():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    return Figure().subplots()


def markers(ax: Any) -> dict[str, Any]:
    return {
        each.get_label(): each.get_offsets().data for each in ax.collections if each.get_label()[0] != "_"
    }


@pytest.mark.full
def test_one_column_against_the_witness(axes: Any):
    x, y = X[:, :1], Y[:, :1]
    result = mb.mmd_bounds(x, y, 0.2, rng=0)
    drawn = markers(mb.plotting.plot_witness(result, x, y, axes))
    found = look(result, x, y)
    np.testing.assert_allclose(drawn["X: filed under X"], np.c_[x, found.witness[:9]], rtol=1e-15)
    np.testing.assert_allclose(drawn["Y: filed under Y"], np.c_[y, found.witness[9:]], rtol=1e-15)
    for bound in (result.lower, result.upper):
        wanted = np.c_[y, found.witness[9:]][bound.rows]
        np.testing.assert_allclose(
            drawn[f"moved for the {bound.side} bound (2)"], wanted[np.argsort(bound.rows)], rtol=1e-15
        )
    (curve,) = [line for line in axes.lines if line.get_label() == "witness function"]
    np.testing.assert_allclose(
        curve.get_ydata()[[0, -1]],
        [naive_witness([end], x, y, result.provenance.bandwidth) for end in curve.get_xdata()[[0, -1]]],
        rtol=0,
        atol=CLOSE,
    )
    assert axes.get_title() == "groups as filed"
    assert axes.get_ylabel() == "witness (above 0: like X; below 0: like Y)"


@pytest.mark.full
def test_two_axes_with_shades(axes: Any):
    mb.plotting.plot_witness(BOUNDS, X, Y, axes, side="lower", max_rows=15)
    drawn, found = markers(axes), look(side="lower", max_rows=15)
    is_x = found.rows < 9
    np.testing.assert_allclose(drawn["X: filed under X"], found.places[is_x], rtol=1e-15)
    shades = {each.get_label(): each for each in axes.collections}
    for label, here in (("X: filed under X", is_x), ("Y: filed under Y", ~is_x)):
        np.testing.assert_array_equal(shades[label].get_array(), found.witness[here])
        low, high = shades[label].get_clim()
        assert low == -high == -np.abs(found.witness).max()
    assert "moved for the lower bound (4)" in drawn
    assert not any("upper" in label for label in drawn)
    assert axes.get_title() == "rows moved for the lower bound; 15 of 20 rows shown"
    assert len(axes.figure.axes) == 2  # the scale of the shades


@pytest.mark.full
def test_options_of_the_witness_are_checked(axes: Any):
    with pytest.raises(MmdBoundsError, match="`side` must be one of 'lower', 'upper'; got 'both'"):
        mb.plotting.plot_witness(BOUNDS, X, Y, axes, side="both")
    with pytest.raises(MmdBoundsError, match="`max_rows` must be a whole number from 2; got 1"):
        mb.plotting.plot_witness(BOUNDS, X, Y, axes, max_rows=1)
