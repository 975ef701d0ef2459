"""Few rows: the same numbers as from the definition, whichever short cut was taken."""

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds import kernels
from mmdbounds.sums import bandwidth, make_sums, plan, points
from mmdbounds.sums.bandwidth import median_distance
from mmdbounds.sums.cpu import KeptSums, MatrixSums
from mmdbounds.sums.cpu.blocked import WIDE, BlockedSums
from tolerances import of_a_mean, of_a_sum

N, D = 300, 4  # three tiles, the last one narrower
EVERYONE = slice(0, N)
KERNELS = [
    kernels.RBF(2.0),
    kernels.Laplacian(2.0),
    kernels.Polynomial(2, 0.1),
]


def rows(seed=0, n=N, d=D):
    return np.random.default_rng(seed).normal(size=(n, d)) + 3.0


def naive(Z, kernel):
    number = {
        "distance2": lambda a, b: ((a - b) ** 2).sum(),
        "l1": lambda a, b: np.abs(a - b).sum(),
        "inner": lambda a, b: 0.1 * (a @ b),  # with the gamma above
    }[kernel.geometry]
    return np.array([[float(kernel.value(np.array(number(a, b)))) for b in Z] for a in Z])


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_sums_of_groups_and_the_matrix_follow_the_definition(kernel):
    Z = rows()
    sums, K = make_sums(Z, kernel), naive(Z, kernel)
    size, groups = np.abs(K).max(), np.repeat(np.eye(2), [100, N - 100], axis=0)
    near = N * size * of_a_mean(N, columns=D)
    np.testing.assert_allclose(sums.apply(EVERYONE, EVERYONE, groups), K @ groups, rtol=0, atol=near)
    matrix = sums.block(EVERYONE, EVERYONE)
    np.testing.assert_allclose(matrix, K, rtol=0, atol=size * of_a_mean(1, columns=D))
    assert np.array_equal(matrix, matrix.T)
    np.testing.assert_allclose(sums.apply(EVERYONE, EVERYONE, groups), K @ groups, rtol=0, atol=near)


def test_the_matrix_is_not_computed_for_the_squared_mmd(monkeypatch):
    monkeypatch.setattr(points, "product_matrix", None)
    Z = rows()
    assert isinstance(make_sums(Z, kernels.RBF(2.0)), KeptSums)
    assert mb.mmd2(Z[:100], Z[100:], bandwidth=2.0) == mb.mmd2(Z[:100], Z[100:], kernel=kernels.RBF(2.0))


def test_places_in_another_order_are_not_taken_for_all_rows():
    Z, order = rows(), np.random.default_rng(1).permutation(N)
    groups = np.repeat(np.eye(2), [100, N - 100], axis=0)
    shuffled = make_sums(Z, kernels.RBF(2.0)).apply(order, order, groups)
    expected = naive(Z, kernels.RBF(2.0))[np.ix_(order, order)] @ groups
    np.testing.assert_allclose(shuffled, expected, rtol=0, atol=N * of_a_mean(N, columns=D))


@pytest.mark.parametrize("n_columns", [1, WIDE + 1])
@pytest.mark.parametrize("which", ["matrix", "kept", "blocks", "few rows"])
def test_quadratic_forms_follow_the_definition(which, n_columns):
    Z, kernel = rows(n=600), kernels.RBF(2.0)
    K = np.exp(-((Z[:, None] - Z) ** 2).sum(axis=-1) / 8)
    sums = {
        "matrix": lambda: MatrixSums(K),
        "kept": lambda: make_sums(Z, kernel),
        "blocks": lambda: BlockedSums(Z, kernel, block=(64, 32)),
        "few rows": lambda: BlockedSums(Z, kernel, few_rows=True),
    }[which]()
    W = (np.random.default_rng(2).random((n_columns, 600)) < 0.5).astype(float).T
    expected = np.array([w @ K @ w for w in W.T])
    np.testing.assert_allclose(sums.quadratic(W), expected, rtol=0, atol=600**2 * of_a_mean(600, columns=D))


@pytest.mark.parametrize("n_columns", [2, WIDE + 1])
def test_numpy_and_numba_give_the_same_sums(n_columns):
    Z, kernel = rows(), kernels.Matern52(2.0)
    W = np.repeat(np.random.default_rng(3).normal(size=(2, n_columns)), [100, N - 100], axis=0)
    one, other = (
        BlockedSums(Z, kernel, few_rows=few, block=(64, 32)).apply(EVERYONE, EVERYONE, W) for few in (0, 1)
    )
    size = float(np.abs(W).max())
    np.testing.assert_allclose(one, other, rtol=0, atol=N * size * of_a_mean(N, columns=D))


def test_numpy_takes_the_rows_next_to_those_whose_matrix_is_kept(monkeypatch):
    monkeypatch.setattr(plan, "SMALL_ROWS", 100)
    assert make_sums(rows(n=150), kernels.RBF(1.0))._few_rows
    assert not make_sums(rows(n=151), kernels.RBF(1.0))._few_rows


@pytest.mark.parametrize("geometry", ["l1", "distance2"])
def test_numbers_of_few_pairs_are_those_of_many(geometry):
    A, B = rows(4, 30, 7), 1e9 * rows(5, 20, 7)
    few, many = points.pair_numbers_of_few(A, B, geometry), points.pair_numbers(A, B, geometry)
    np.testing.assert_allclose(few, many, rtol=of_a_sum(7 + 3), atol=0)


def naive_median(Z):
    squared = ((Z[:, None] - Z) ** 2).sum(axis=-1)
    return np.median(np.sqrt(squared[np.triu_indices(len(Z), 1)]))


MADE = {
    "normal": lambda rng: rng.normal(size=(400, 6)),
    "two clusters": lambda rng: rng.normal(size=(400, 6)) + 50 * (np.arange(400) < 150)[:, None],
    "offset": lambda rng: rng.normal(size=(401, 2)) + 1e6,
    "whole numbers": lambda rng: rng.integers(0, 3, size=(400, 3)).astype(float),
    "far rows": lambda rng: rng.normal(size=(400, 3)) * np.where(np.arange(400) < 5, 1e12, 1.0)[:, None],
    "equal but a few": lambda rng: np.where(np.arange(400) < 300, 1.0, rng.normal(size=400))[:, None],
}


@pytest.mark.parametrize("bracket", ["as tried", "too low", "too high", "too narrow"])
@pytest.mark.parametrize("made", MADE)
@pytest.mark.filterwarnings("ignore:more than half of the pairs")
def test_the_median_of_all_pairs_does_not_depend_on_where_it_was_looked_for(made, bracket, monkeypatch):
    rng = np.random.default_rng(6)
    Z = MADE[made](rng)
    wrong = {"too low": (0.0, 1e-9), "too high": (1e9, 1e99), "too narrow": (8.0, 8.0)}
    if bracket in wrong:
        monkeypatch.setattr(bandwidth, "_about_the_median", lambda Z, n_pairs: wrong[bracket])
    found = median_distance(Z)
    if made != "equal but a few":
        np.testing.assert_allclose(found, naive_median(Z), rtol=of_a_sum(6 + 3), atol=0)
    assert found == median_distance(Z[rng.permutation(len(Z))])  # to the last bit
