"""The exhaustive search against every labelling written out."""

from itertools import combinations

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.contamination import Contamination
from mmdbounds.counts import Counts
from mmdbounds.kernels import FunctionKernel
from mmdbounds.objective import group_sums
from mmdbounds.search.exhaustive import Exhaustive
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.sums import make_sums
from problems import Problem, naive_matrix, naive_mmd2, random_problem


def all_values(problem):
    K = naive_matrix(problem)
    counts, p = problem.counts, problem.p
    for of_x in combinations(range(p), counts.n_moved_of_x):
        for of_y in combinations(range(p, len(K)), counts.n_moved):
            in_x = np.arange(len(K)) < p
            in_x[list(of_x)] = False
            in_x[list(of_y)] = True
            yield naive_mmd2(K, in_x, problem.estimator)


def small_problems(n):
    seed = 0
    while n:
        problem = random_problem(seed)
        seed += 1
        if problem.p <= 9 and problem.q <= 9:
            n -= 1
            yield problem


def test_extremes_are_those_of_all_labellings():
    for problem in small_problems(25):
        values = list(all_values(problem))
        scale = np.abs(np.diag(naive_matrix(problem))).max()
        totals = group_sums(make_sums(problem.Z, problem.kernel), problem.p, problem.q)
        low, high = (
            Exhaustive().search(totals, problem.counts, problem.estimator, side)
            for side in ("lower", "upper")
        )
        np.testing.assert_allclose(
            [low.value, high.value], [min(values), max(values)], rtol=0, atol=1e-11 * scale
        )
        assert low.certified <= min(values)
        assert high.certified >= max(values)
        assert f"all {len(values):,} labelling" in low.status
        assert len(low.rows) == problem.counts.n_moved
        assert len(low.rows_of_x) == problem.counts.n_moved_of_x


def test_stepwise_never_goes_beyond_the_extremes():
    for problem in small_problems(60):
        totals = group_sums(make_sums(problem.Z, problem.kernel), problem.p, problem.q)
        args = (totals, problem.counts, problem.estimator)
        slack = 1e-11 * totals.scale
        assert StepwiseDominance().search(*args, "lower").value >= (
            Exhaustive().search(*args, "lower").value - slack
        )
        assert StepwiseDominance().search(*args, "upper").value <= (
            Exhaustive().search(*args, "upper").value + slack
        )


def test_many_chunks_find_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, 2)), rng.normal(size=(9, 2))
    whole = mb.mmd_bounds(X, Y, Contamination(n_moved=4), method="exhaustive")
    monkeypatch.setattr("mmdbounds.search.exhaustive.CHUNK", 7)
    pieces = mb.mmd_bounds(X, Y, Contamination(n_moved=4), method="exhaustive")
    assert whole.upper.rows.tolist() == pieces.upper.rows.tolist()
    assert whole.lower.rows.tolist() == pieces.lower.rows.tolist()


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_certificates_hold_for_near_ties_and_kernels_that_vanish_on_the_diagonal(estimator):
    def minus_distance(A, B):
        return -np.abs(A[:, None] - B[None]).sum(axis=2)

    rng = np.random.default_rng(3)
    for trial in range(150):
        p, q = rng.integers(2, 5), rng.integers(3, 6)
        Z = np.round(rng.normal(size=(p + q, 2)), 1) + 1e-13 * rng.normal(size=(p + q, 2))
        kernel = FunctionKernel(minus_distance)
        m = int(rng.integers(1, q - 1))
        problem = Problem(Z[:p], Z[p:], kernel, estimator, Counts(m, 0, int(p + m), int(q - m)))
        values = list(all_values(problem))
        totals = group_sums(make_sums(Z, kernel), int(p), int(q))
        low, high = (Exhaustive().search(totals, problem.counts, estimator, s) for s in ("lower", "upper"))
        assert low.certified <= min(values), trial
        assert high.certified >= max(values), trial


def test_a_near_tie_is_not_certified_away():
    # Moving row 2 beats row 1 by less than a tie is wide: the first is returned, the better one certified.
    K = np.eye(3)
    K[0, 1] = K[1, 0] = 0.5
    K[0, 2] = K[2, 0] = 0.5 + 2.0**-39
    K[1, 2] = K[2, 1] = 0.25
    how_much = mb.Contamination(n_moved=1)
    result = mb.mmd_bounds(
        K[:1], K[1:], how_much, kernel="precomputed", estimator="biased", method="exhaustive"
    )
    values = [
        naive_mmd2(K, np.array(marks), "biased") for marks in ([True, True, False], [True, False, True])
    ]
    assert result.upper.certified >= max(values)
    assert result.lower.certified <= min(values)


def test_matrices_that_are_symmetric_but_for_rounding_are_made_so():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(9, 2))
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    crooked = K + np.triu(np.full((9, 9), 5e-10), 1)
    how_much = mb.Contamination(n_moved=2)
    result = mb.mmd_bounds(crooked[:4], crooked[4:], how_much, kernel="precomputed", method="exhaustive")
    even = (crooked + crooked.T) / 2
    expected = mb.mmd_bounds(even[:4], even[4:], how_much, kernel="precomputed", method="exhaustive")
    for side in ("lower", "upper"):
        found, of_even = getattr(result, side), getattr(expected, side)
        assert found.value == of_even.value
        assert found.gap >= of_even.gap  # each pair may have either of its two values
