"""Floors for a range of counts against every labelling, and what they cost."""

import numpy as np
import pytest

from mmdbounds.counts import Counts
from mmdbounds.objective import Quadratic
from mmdbounds.search.sharp import ranges
from mmdbounds.search.sharp.ceiling import ULPS
from mmdbounds.search.sharp.quota_problem import Effort
from mmdbounds.search.sharp.ranges import FloorRange
from problems import KERNELS, all_labellings, naive_values, small_matrix, small_problem, totals_of
from tolerances import of_mmd2

NO_END = 1e15


def range_of(problem, ends, *, is_dense):
    return FloorRange(totals_of(problem), problem.estimator, ends, is_dense=is_dense)


def all_values(problem, K, n_moved):
    """The statistic of every labelling that moves so many rows of Y."""
    counts = Counts(n_moved, 0, problem.p + n_moved, problem.q - n_moved)
    return naive_values(K, all_labellings(problem.p, problem.q, counts), problem.estimator)


@pytest.mark.parametrize("is_dense", [True, False])
@pytest.mark.parametrize("ranked", [1, 2, 64])
@pytest.mark.parametrize("block", range(10))
def test_no_labelling_of_any_count_is_below_its_floor(block, ranked, is_dense, monkeypatch):
    """1,200 problems: chords over all counts, over half of them, and none."""
    monkeypatch.setattr(ranges, "RANKED", ranked)
    for seed in range(20 * block, 20 * block + 20):
        kernel = None if is_dense else KERNELS[seed % (len(KERNELS) - 1)]
        problem = small_problem(seed, two_way=False, kernel=kernel, most=(9, 6))
        K, (first, last) = small_matrix(problem), sorted((seed % 2, problem.counts.n_moved))
        found = range_of(problem, (first, last), is_dense=is_dense)
        slack = 0.1 * np.abs(K).max() * (seed % 3)  # solved well, and hardly at all
        for n_moved in (last, first, *range(first + 2, last, 3)):
            sized = Counts(n_moved, 0, problem.p + n_moved, problem.q - n_moved)
            found.solve(found.start(sized), slack, Effort(NO_END))
        near = of_mmd2(len(K), np.abs(K).max(), smallest=1)
        for n_moved, floor, value in zip(found.counts.tolist(), found.floors, found.values, strict=True):
            values = all_values(problem, K, n_moved)
            assert floor <= values.min()
            assert np.abs(values - value).min() <= near  # some labelling has it


def antisymmetric(n, size, rng):
    upper = np.triu(rng.normal(size=(n, n)) * size, 1)
    return upper - upper.T


@pytest.mark.parametrize("ranked", [1, 2, 64])
@pytest.mark.parametrize("block", range(10))
def test_no_labelling_of_any_count_is_above_its_ceiling(block, ranked, monkeypatch):
    """Any multipliers, any thresholds: 600 problems, every kernel."""
    monkeypatch.setattr(ranges, "RANKED", ranked)
    for seed in range(20 * block, 20 * block + 20):
        problem, rng = small_problem(seed, two_way=False, most=(9, 6)), np.random.default_rng(seed)
        K, totals = small_matrix(problem), totals_of(problem)
        pairs, most = (
            totals.sums.block(*[slice(problem.p, problem.p + problem.q)] * 2),
            problem.counts.n_moved,
        )
        multipliers = antisymmetric(problem.q, np.abs(K).max() * (seed % 3), rng)
        k = np.arange(seed % 2, most + 1)
        threshold = rng.normal(size=problem.q) * np.abs(K).max()
        excess = np.maximum(pairs + multipliers - threshold[:, None], 0.0)
        np.fill_diagonal(excess, 0.0)
        above = ranges.ceilings(
            totals, problem.estimator, k, threshold, excess.sum(axis=1), ULPS * np.abs(multipliers).max()
        )
        dense = ranges.dense_ceilings(totals, problem.estimator, k, pairs, multipliers)
        for n_moved, first, second in zip(k.tolist(), above, dense, strict=True):
            assert all_values(problem, K, n_moved).max() <= min(first, second)


@pytest.mark.parametrize("ranked", [1, 64])
def test_what_sums_lose_is_a_share_of_all_that_they_add_up(ranked, monkeypatch):
    """Thresholds below 0 and what exceeds them cancel in a ceiling; what rounding does to them does not."""
    monkeypatch.setattr(ranges, "RANKED", ranked)
    share = 1e-3
    for seed in range(20):
        problem, rng = small_problem(seed, two_way=False, most=(9, 6)), np.random.default_rng(seed)
        totals, k = totals_of(problem), np.arange(problem.counts.n_moved + 1)
        threshold, excess = -rng.exponential(size=problem.q), problem.q * rng.exponential(size=problem.q)
        rows = totals, problem.estimator, k, threshold, excess
        lost = ranges.ceilings(*rows, of_sums=share) - ranges.ceilings(*rows)
        for n_moved in k.tolist():
            counts = Counts(n_moved, 0, problem.p + n_moved, problem.q - n_moved)
            added_up = np.sort(n_moved * np.abs(threshold) + excess)[problem.q - n_moved :].sum()
            c = Quadratic(totals, counts, problem.estimator).c
            assert lost[n_moved] >= share * c * added_up * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_fewer_moved_rows_from_more(seed):
    """The largest value of fewer rows is at most that of more, times a known factor."""
    problem = small_problem(seed, two_way=False, kernel=KERNELS[seed % len(KERNELS)], most=(9, 6))
    K, totals, most = small_matrix(problem), totals_of(problem), problem.counts.n_moved
    largest = all_values(problem, K, most).max()
    k = np.arange(most + 1)
    above = ranges.from_more(largest, totals, problem.estimator, k)
    near = of_mmd2(len(K), np.abs(K).max(), smallest=1)
    for n_moved, ceiling in zip(k.tolist(), above, strict=True):
        assert all_values(problem, K, n_moved).max() <= ceiling + near


def test_a_random_row_more_shrinks_the_unbiased_statistic_by_a_known_factor():
    """The mean over all rows that may join, by enumeration: the identity behind `from_more`."""
    for seed in range(20):
        problem = small_problem(seed, two_way=False, estimator="unbiased", most=(9, 6))
        K = small_matrix(problem)
        u = np.arange(problem.p + problem.q) < problem.p
        more = np.array([u | (np.arange(len(u)) == j) for j in range(problem.p, len(u))], dtype=float)
        factor = (problem.p - 1) / (problem.p + 1)
        filed = float(naive_values(K, u[None].astype(float), "unbiased")[0])
        near = of_mmd2(len(K), np.abs(K).max(), smallest=1)
        assert np.mean(naive_values(K, more, "unbiased")) == pytest.approx(factor * filed, rel=0, abs=near)
