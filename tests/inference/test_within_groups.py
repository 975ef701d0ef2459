"""The variance within the true groups: no labelling has more than is allowed for."""

import numpy as np
import pytest

from mmdbounds import kernels
from mmdbounds.counts import Counts
from mmdbounds.inference.confidence import largest_variance
from mmdbounds.objective import group_sums
from mmdbounds.sums import make_sums
from problems import all_labellings, small_problem
from tolerances import of_a_mean

BOUNDED = ("rbf", "laplacian", "matern52")


def variance_of(K, u):
    """V_X / n_X + V_Y / n_Y of a labelling, from the mean squared distance of distinct rows."""
    total = 0.0
    for rows in (np.flatnonzero(u), np.flatnonzero(~u)):
        n, squared = len(rows), 0.0
        for i in rows:
            for j in rows:
                squared += (K[i, i] + K[j, j] - 2 * K[i, j]) / 2
        total += squared / (n * (n - 1)) / n
    return total


@pytest.mark.parametrize("seed", range(12))
def test_no_labelling_has_more_variance_than_is_allowed_for(seed):
    problem = small_problem(seed, kernel=BOUNDED[seed % len(BOUNDED)], estimator="unbiased", most=(9, 6))
    counts, p = problem.counts, problem.p
    if min(counts.n_x, counts.n_y) < 2:
        pytest.skip("no variance of a single row")
    sums, everyone = make_sums(problem.Z, problem.kernel), slice(0, p + problem.q)
    K = sums.block(everyone, everyone)
    every = [variance_of(K, u) for u in all_labellings(p, problem.q, counts).astype(bool)]
    allowed = largest_variance(group_sums(sums, p, problem.q), [counts], 1.0)
    assert max(every) <= allowed <= 1 / counts.n_x + 1 / counts.n_y


@pytest.mark.parametrize(("p", "q"), [(2, 2), (20, 30)])
def test_with_nothing_misfiled_it_is_the_variance_of_the_groups(p, q):
    Z = np.random.default_rng(p).normal(size=(p + q, 2))
    sums, everyone = make_sums(Z, kernels.RBF(2.0)), slice(0, p + q)
    totals = group_sums(sums, p, q)
    counts = Counts(0, 0, p, q)
    expected = variance_of(sums.block(everyone, everyone), np.arange(p + q) < p)
    found = largest_variance(totals, [counts], 1.0)
    assert expected <= found
    np.testing.assert_allclose(found, expected, rtol=0, atol=of_a_mean(p + q) + 4 * totals.margin)


def test_of_several_pairs_of_one_size_the_largest_is_allowed_for():
    Z = np.random.default_rng(0).normal(size=(30, 2))
    totals = group_sums(make_sums(Z, kernels.RBF(1.0)), 12, 18)
    pairs = [Counts(m, m - 1, 13, 17) for m in (1, 2, 4)]
    alone = [largest_variance(totals, [pair], 1.0) for pair in pairs]
    assert alone[0] < alone[1] < alone[2] == largest_variance(totals, pairs, 1.0)
