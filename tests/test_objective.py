"""The quadratic against the definition, over random problems of every kind."""

import numpy as np
import pytest

from mmdbounds.counts import Counts
from mmdbounds.errors import DataError
from mmdbounds.kernels import RBF, Linear
from mmdbounds.objective import Labelling, Quadratic, group_sums, observed_mmd2
from mmdbounds.sums import make_sums
from mmdbounds.sums.cpu.blocked import BlockedSums
from problems import (
    KERNELS,
    naive_extension,
    naive_gradient,
    naive_matrix,
    naive_mmd2,
    random_problem,
)
from tolerances import of_mmd2

PROBLEMS = 500
CHUNK = 25


def sums_of(problem, backend):
    if backend == "matrix":
        return make_sums(problem.Z, problem.kernel)
    return BlockedSums(problem.Z, problem.kernel, block=(7, 5), n_threads=2)


def check_problem(seed, backend):
    problem = random_problem(seed)
    rng = np.random.default_rng(seed + 10**6)
    K = naive_matrix(problem)
    sums = sums_of(problem, backend)
    scale = np.abs(np.diag(K)).max()
    # A product of far-away rows loses what `rounding` says; small problems take differences and do not.
    tolerance = max(1e-10, 0.0 if backend == "matrix" else sums.rounding) * scale
    totals = group_sums(sums, problem.p, problem.q)
    f = Quadratic(totals, problem.counts, problem.estimator)
    u = (np.arange(len(K)) < problem.p).astype(float)

    as_filed = naive_extension(K, u, problem.counts, problem.estimator)
    np.testing.assert_allclose(f.value_as_filed, as_filed, rtol=0, atol=tolerance)
    g = naive_gradient(K, u, problem.counts, problem.estimator)
    np.testing.assert_allclose(f.gradient_as_filed, g, rtol=0, atol=tolerance)

    labelling, moved = moved_at_random(f, rng)
    u[moved] = 1 - u[moved]
    value = naive_mmd2(K, u == 1, problem.estimator)
    np.testing.assert_allclose(labelling.value(), value, rtol=0, atol=tolerance)
    g = naive_gradient(K, u, problem.counts, problem.estimator)
    np.testing.assert_allclose(labelling.gradient(), g[labelling.active], rtol=0, atol=tolerance)


def moved_at_random(f, rng):
    """Move random rows in two batches, one of them with its shift handed over."""
    labelling = Labelling(f)
    n_x = labelling.n_active_x
    movers = np.concatenate(
        [
            rng.permutation(n_x)[: f.counts.n_moved_of_x],
            n_x + rng.permutation(f.totals.q)[: f.counts.n_moved],
        ]
    ).astype(np.intp)
    rng.shuffle(movers)
    half = len(movers) // 2
    labelling.move(movers[:half])
    rest = movers[half:]
    labelling.move(rest, labelling.sign[rest] @ labelling.columns(rest))
    return labelling, labelling.pooled(movers)


@pytest.mark.parametrize("start", range(0, PROBLEMS, CHUNK))
def test_value_and_gradient_follow_the_definition(start):
    for seed in range(start, start + CHUNK):
        check_problem(seed, "matrix")


@pytest.mark.parametrize("start", range(PROBLEMS, PROBLEMS + 100, CHUNK))
def test_blocked_sums_follow_the_definition_too(start):
    for seed in range(start, start + CHUNK):
        check_problem(seed, "blocked")


def test_the_random_problems_cover_what_they_should():
    drawn = [random_problem(seed) for seed in range(PROBLEMS)]
    assert {d.kernel.name for d in drawn} == set(KERNELS)
    assert {d.estimator for d in drawn} == {"unbiased", "biased"}
    assert sum(d.counts.n_moved_of_x > 0 for d in drawn) > 100
    assert sum(d.counts.n_moved > 0 for d in drawn) > 400
    assert {min(d.p for d in drawn), max(d.p for d in drawn)} == {2, 40}
    assert {min(d.Z.shape[1] for d in drawn), max(d.Z.shape[1] for d in drawn)} == {1, 200}
    assert sum(len(np.unique(d.Z, axis=0)) < len(d.Z) for d in drawn) > 50


def test_moving_back_restores_the_labelling():
    problem = random_problem(3, two_way=True, kernel="rbf")
    f = Quadratic(
        group_sums(make_sums(problem.Z, problem.kernel), problem.p, problem.q), problem.counts, "biased"
    )
    labelling = Labelling(f)
    before = labelling.gradient()
    rows = np.array([0, len(labelling.sign) - 1])
    labelling.move(rows)
    assert np.abs(labelling.gradient() - before).max() > 1e-6
    labelling.move(rows)
    np.testing.assert_allclose(labelling.gradient(), before, rtol=0, atol=of_mmd2(len(problem.Z)))
    assert not labelling.moved.any()


def test_equal_sizes_and_constant_diagonal_make_u_an_affine_function_of_v():
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(24, 3))
    totals = group_sums(make_sums(Z, random_problem(0, kernel="rbf").kernel), 10, 14)
    counts = Counts(2, 0, 12, 12)
    u, v = (Quadratic(totals, counts, estimator) for estimator in ("unbiased", "biased"))
    np.testing.assert_allclose(u.gradient_as_filed * (11 / 12) * (24 / 23), v.gradient_as_filed, rtol=1e-12)


def test_observed_value_is_that_of_the_groups_as_filed():
    problem = random_problem(11, kernel="matern52")
    totals = group_sums(make_sums(problem.Z, problem.kernel), problem.p, problem.q)
    K = naive_matrix(problem)
    for estimator in ("unbiased", "biased"):
        expected = naive_mmd2(K, np.arange(len(K)) < problem.p, estimator)
        np.testing.assert_allclose(observed_mmd2(totals, estimator), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_a_margin_is_that_of_three_means_with_weights_1_1_and_2(name):
    Z = np.random.default_rng(0).normal(size=(9, 2))
    kernel = {"rbf": RBF(0.7), "linear": Linear()}[name]
    sums = make_sums(Z, kernel)
    totals = group_sums(sums, 4, 5)
    largest = 1.0 if name == "rbf" else ((Z - Z.mean(axis=0)) ** 2).sum(axis=1).max()
    np.testing.assert_allclose(totals.scale, largest, rtol=1e-12)
    np.testing.assert_allclose(totals.margin, (1 + 1 + 2) * sums.rounding * largest, rtol=1e-12)


def test_sums_that_are_no_numbers_are_refused():
    """Python's `max` overlooks a NaN that is not the first."""
    sums = make_sums(np.arange(12.0).reshape(6, 2), RBF(1.0))
    sums.apply = lambda rows, columns, weights: np.full((6, 2), np.nan)
    with pytest.raises(DataError, match="the sums of kernel values are not finite"):
        group_sums(sums, 3, 3)
