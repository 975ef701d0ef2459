"""Floors for a range of counts against every labelling, and what they cost."""

import numpy as np
import pytest

from mmdbounds.contamination import Counts
from mmdbounds.search.sharp import ranges
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
