"""`epsilon=(low, high)`: the union over the counts in between, against every labelling of each of them."""

import numpy as np
import pytest

import mmdbounds as mb
from inference import reference
from mmdbounds.contamination import Contamination
from mmdbounds.inference import worst_case
from mmdbounds.objective import lost
from problems import all_labellings, naive_values, small_matrix, small_problem

pytestmark = pytest.mark.usefixtures("drawn")

N_PERMUTATIONS = 39


def ranged(seed):
    """A small problem, a range of shares, and the counts whose shares are in it by definition."""
    problem = small_problem(seed + 600, two_way=False, most=(10, 6))
    rng = np.random.default_rng([seed, 4])
    p, most = problem.p, problem.q - 2
    first = int(rng.integers(0, most))
    last = int(rng.integers(first + 1, most + 1))
    # The ends lie between the shares of two counts, so that rounding has no say.
    low = 0.0 if first == 0 else ((first - 0.5) / (p + first - 0.5))
    high = (last + 0.5) / (p + last + 0.5)
    inside = [m for m in range(most + 1) if low <= m / (p + m) <= high]
    assert inside == list(range(first, last + 1))
    return problem, (low, high), [Contamination(n_moved=m).counts(p, problem.q) for m in inside]


@pytest.mark.parametrize("seed", range(12))
def test_the_pvalue_is_the_largest_over_the_range(seed, monkeypatch):
    monkeypatch.setattr(worst_case, "NEARLY", 0.0)  # tight is equal
    problem, shares, counts = ranged(seed)
    result = mb.robust_test(
        problem.X,
        problem.Y,
        shares,
        n_permutations=N_PERMUTATIONS,
        null="labellings",
        rng=seed,
        **reference.options(problem),
    )
    permutations = reference.drawn(problem, N_PERMUTATIONS, seed)
    largest = max(max(reference.every_pvalue(problem, each, permutations)) for each in counts)
    assert [count.n_moved for count in result.counts] == [each.n_moved for each in counts]
    assert result.is_valid
    assert result.pvalue == largest


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("method", ["sharp", "exhaustive"])
def test_the_bounds_are_the_union_over_the_range(seed, method):
    problem, shares, counts = ranged(seed)
    result = mb.mmd_bounds(
        problem.X, problem.Y, shares, method=method, rng=seed, **reference.options(problem)
    )
    K = small_matrix(problem)
    values = np.concatenate(
        [naive_values(K, all_labellings(problem.p, problem.q, each), problem.estimator) for each in counts]
    )
    tie = max(reference.tolerance(K, each) for each in counts)
    assert result.n_moved_range == (counts[0].n_moved, counts[-1].n_moved)
    assert result.lower.certified - tie <= values.min() <= result.lower.value + tie
    assert result.upper.value - tie <= values.max() <= result.upper.certified + tie
    if method == "exhaustive":
        attained = result.lower.value, result.upper.value
        np.testing.assert_allclose(attained, (values.min(), values.max()), rtol=0, atol=tie)
        o = int(problem.estimator == "unbiased")
        margin = 1.3e-12 * np.abs(K).max() * max(lost(problem.p, problem.q, each, o) for each in counts)
        np.testing.assert_allclose(result.interval, attained, rtol=0, atol=margin)
