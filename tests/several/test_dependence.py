"""HSIC and its changes against the definition, and against the squared MMD of two groups."""

from __future__ import annotations

import numpy as np
import pytest

import mmdbounds as mb
from labelled_problems import naive_hsic, random_labelled
from mmdbounds import kernels
from mmdbounds.several.dependence import Arrangement, Dependence
from mmdbounds.sums import make_sums
from tolerances import of_a_mean

# Two computations of a mean of kernel values, lifted by centring (4 of them) and by N / (N - 3) of few rows.
WITHIN = 40 * of_a_mean(12)


def dependence(problem):
    sums = make_sums(problem.Z, kernels.RBF(problem.bandwidth))
    return Dependence(sums, problem.labels, int(problem.labels.max()) + 1, problem.estimator)


@pytest.mark.parametrize("seed", range(20))
def test_value_is_that_of_the_definition(seed):
    p = random_labelled(seed)
    value = mb.hsic(p.Z, p.labels, estimator=p.estimator, bandwidth=p.bandwidth)
    np.testing.assert_allclose(value, naive_hsic(p.K, p.labels, p.estimator), rtol=0, atol=WITHIN)


@pytest.mark.parametrize("seed", range(20))
def test_changes_are_differences_of_values(seed):
    p = random_labelled(seed)
    found = Arrangement.filed(dependence(p))
    found.move(np.array([0, 3]), np.array([1, 0]))  # not only at the labels as recorded
    changes, before = found.changes(), naive_hsic(p.K, found.codes, p.estimator)
    for i, g in np.ndindex(changes.shape):
        labels = found.codes.copy()
        labels[i] = g
        wanted = naive_hsic(p.K, labels, p.estimator) - before
        np.testing.assert_allclose(changes[i, g], wanted, rtol=0, atol=2 * WITHIN)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("sizes", [(7, 5), (2, 9), (20, 31)])
def test_two_groups_are_the_squared_mmd_times_a_factor(estimator, sizes):
    rng = np.random.default_rng(sum(sizes))
    p, q, n = *sizes, sum(sizes)
    Z = rng.normal(size=(n, 3))
    factor = 2 * (p * q) ** 2 / n**4
    if estimator == "unbiased":
        factor = 2 * p * (p - 1) * q * (q - 1) / (n * (n - 1) * (n - 2) * (n - 3))
    labels = np.repeat(["x", "y"], sizes)
    wanted = factor * mb.mmd2(Z[:p], Z[p:], estimator=estimator)
    np.testing.assert_allclose(mb.hsic(Z, labels, estimator=estimator), wanted, rtol=0, atol=1e-12)


def test_order_of_rows_and_names_of_groups_do_not_matter():
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(15, 2)), rng.integers(0, 3, 15)
    order, names = rng.permutation(15), np.array(["z", "a", "m"])
    values = [mb.hsic(Z, labels), mb.hsic(Z[order], labels[order]), mb.hsic(Z, names[labels])]
    np.testing.assert_allclose(values, values[0], rtol=0, atol=WITHIN)


def test_a_raised_diagonal_makes_the_matrix_definite():
    for seed in range(30):
        p = random_labelled(seed)
        of = dependence(p)
        rows = np.arange(len(p.Z))
        smallest = np.linalg.eigvalsh(of.values(rows, rows) + of.relief * np.eye(len(rows)))[0]
        assert smallest >= -100 * np.finfo(float).eps * len(rows)  # eigenvalues are of size up to N


def test_a_precomputed_kernel_does_not_matter():
    p = random_labelled(3)
    value = mb.hsic(p.Z, p.labels, bandwidth=p.bandwidth)
    given = mb.hsic(p.K, p.labels, kernel="precomputed")
    np.testing.assert_allclose(given, value, rtol=0, atol=WITHIN)


@pytest.mark.parametrize("n_groups", [3, 11])
def test_sums_to_the_groups_where_no_matrix_is_kept(n_groups):
    rng = np.random.default_rng(n_groups)
    Z, labels = rng.normal(size=(1500, 2)), rng.permutation(np.arange(1500) % n_groups)
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2) / 2)
    sums = make_sums(Z, kernels.RBF(1.0), working_memory=8)
    found = Dependence(sums, labels, n_groups, "biased").filed / 1500
    assert not sums.holds_matrix
    np.testing.assert_allclose(found, K @ np.eye(n_groups)[labels] / 1500, rtol=0, atol=of_a_mean(1500))
