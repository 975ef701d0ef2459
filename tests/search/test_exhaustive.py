"""The exhaustive search against every labelling written out."""

from itertools import combinations

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.contamination import Contamination
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import group_sums
from mmdbounds.search.exhaustive import Exhaustive
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.sums import make_sums
from problems import naive_matrix, naive_mmd2, random_problem


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
            Exhaustive().search(totals, problem.counts, problem.estimator, side, 1024)
            for side in ("lower", "upper")
        )
        np.testing.assert_allclose(
            [low.value, high.value], [min(values), max(values)], rtol=0, atol=1e-11 * scale
        )
        assert f"all {len(values):,} labellings" in low.status
        assert len(low.rows) == problem.counts.n_moved
        assert len(low.rows_of_x) == problem.counts.n_moved_of_x


def test_stepwise_never_goes_beyond_the_extremes():
    for problem in small_problems(60):
        totals = group_sums(make_sums(problem.Z, problem.kernel), problem.p, problem.q)
        args = (totals, problem.counts, problem.estimator)
        slack = 1e-11 * totals.largest_diagonal
        assert StepwiseDominance().search(*args, "lower", 1024).value >= (
            Exhaustive().search(*args, "lower", 1024).value - slack
        )
        assert StepwiseDominance().search(*args, "upper", 1024).value <= (
            Exhaustive().search(*args, "upper", 1024).value + slack
        )


def test_many_chunks_find_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, 2)), rng.normal(size=(9, 2))
    whole = mb.mmd_bounds(X, Y, Contamination(n_moved=4), method="exhaustive")
    monkeypatch.setattr("mmdbounds.search.exhaustive.CHUNK", 7)
    pieces = mb.mmd_bounds(X, Y, Contamination(n_moved=4), method="exhaustive")
    assert whole.upper.rows.tolist() == pieces.upper.rows.tolist()
    assert whole.lower.rows.tolist() == pieces.lower.rows.tolist()


def test_too_many_labellings_are_refused_before_the_work():
    rng = np.random.default_rng(0)
    with pytest.raises(
        MmdBoundsError, match=r"at most 2,000,000; here there are 5,586,853,480\. Use method='s-sd'"
    ):
        mb.mmd_bounds(
            rng.normal(size=(20, 2)), rng.normal(size=(40, 2)), Contamination(n_moved=12), method="exhaustive"
        )
