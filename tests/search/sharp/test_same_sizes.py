"""Floors of all pairs of counts against every labelling of each."""

from dataclasses import replace

import numpy as np
import pytest

from mmdbounds.contamination import Contamination
from mmdbounds.counts import Counts
from mmdbounds.search.sharp import same_sizes
from mmdbounds.search.sharp.quota_problem import Effort
from mmdbounds.search.sharp.same_sizes import FloorsBySize, by_sizes
from problems import KERNELS, all_labellings, naive_values, small_matrix, small_problem, totals_of

NO_END = 1e15
BLOCKS = [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 12))]


def pairs_of(problem):
    """All pairs of counts up to those of a problem that leave enough rows in both groups."""
    most, least = problem.counts, 2 if problem.estimator == "unbiased" else 1
    every = Contamination(n_moved=most.n_moved, n_moved_of_x=most.n_moved_of_x)
    pairs = every.admissible(problem.p, problem.q)
    return [counts for counts in pairs if min(counts.n_x, counts.n_y) >= least]


def test_pairs_of_the_same_sizes_are_those_with_the_same_difference():
    pairs = Contamination(n_moved=3, n_moved_of_x=2).admissible(5, 6)
    found = {
        (size.difference, m, m - size.difference) for size in by_sizes(pairs) for m in size.moved.tolist()
    }
    assert found == {(m - m_d, m, m_d) for m in range(4) for m_d in range(3)}
    assert [size.most.n_x for size in by_sizes(pairs)] == [3, 4, 5, 6, 7, 8]
    assert by_sizes(pairs)[2].pair(1) == Counts(1, 1, 5, 6)


@pytest.mark.parametrize("is_dense", [True, False])
@pytest.mark.parametrize("ranked", [1, 64])
@pytest.mark.parametrize("block", BLOCKS)
def test_no_labelling_of_any_pair_is_below_its_floor(block, ranked, is_dense, monkeypatch):
    """480 problems: chords over all sizes and over none; solved well, and hardly at all."""
    monkeypatch.setattr(same_sizes, "RANKED", ranked)
    for seed in range(10 * block, 10 * block + 10):
        kernel = None if is_dense else KERNELS[seed % (len(KERNELS) - 1)]
        problem = small_problem(seed + 300, two_way=True, kernel=kernel, most=(9, 6))
        K, sizes = small_matrix(problem), by_sizes(pairs_of(problem))
        found = FloorsBySize(totals_of(problem), problem.estimator, sizes, is_dense=is_dense)
        slack = 0.1 * np.abs(K).max() * (seed % 3)
        for place in dict.fromkeys((found.corner, 0, len(sizes) - 1, seed % len(sizes))):
            start = found.start(sizes[place].most)
            found.solve(place, start, slack, Effort(NO_END))
        for size, floors in zip(sizes, found.floors, strict=True):
            for n_moved, floor in zip(size.moved.tolist(), floors.tolist(), strict=True):
                marks = all_labellings(problem.p, problem.q, size.pair(n_moved))
                assert floor <= naive_values(K, marks, problem.estimator).min()


@pytest.mark.parametrize("rows", [0, 1500])
def test_kernels_that_are_not_definite_are_repaired(rows, monkeypatch):
    """Whether a tighter diagonal is sought or not."""
    monkeypatch.setattr(same_sizes, "EIGENVALUE_ROWS", rows)
    for seed in range(12):
        kernel = ("sigmoid", "minus distance", "indefinite matrix")[seed % 3]
        problem = small_problem(seed + 600, two_way=True, kernel=kernel, most=(9, 6))
        K, sizes = small_matrix(problem), by_sizes(pairs_of(problem))
        found = FloorsBySize(totals_of(problem), problem.estimator, sizes, is_dense=True)
        size = sizes[found.corner]
        found.solve(found.corner, found.start(size.most), 0.0, Effort(1.0))
        for n_moved, floor in zip(size.moved.tolist(), found.floors[found.corner].tolist(), strict=True):
            marks = all_labellings(problem.p, problem.q, size.pair(n_moved))
            assert floor <= naive_values(K, marks, problem.estimator).min()


def test_a_kernel_that_is_negative_just_between_the_groups_is_repaired():
    """Its quadratic bends down where rows of both groups move together, and nowhere else."""
    for seed in range(6):
        problem = small_problem(seed, two_way=True, kernel="definite matrix", most=(9, 6))
        sign = np.where(np.arange(len(problem.Z)) < problem.p, -1.0, 1.0)
        K = problem.Z - 2.0 * np.outer(sign, sign)
        problem = replace(problem, X=K[: problem.p], Y=K[problem.p :])
        sizes = by_sizes(pairs_of(problem))
        found = FloorsBySize(totals_of(problem), problem.estimator, sizes, is_dense=True)
        for place in dict.fromkeys((found.corner, 0, len(sizes) - 1)):
            found.solve(place, found.start(sizes[place].most), 0.0, Effort(1.0))
        for size, floors in zip(sizes, found.floors, strict=True):
            for n_moved, floor in zip(size.moved.tolist(), floors.tolist(), strict=True):
                marks = all_labellings(problem.p, problem.q, size.pair(n_moved))
                assert floor <= naive_values(K, marks, problem.estimator).min()


def test_the_floor_of_a_size_is_near_what_its_labellings_reach():
    """With many rows shares are nearly whole rows: the relaxation of a whole size costs next to nothing."""
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(60, 2)), rng.normal(0.8, 1.0, size=(60, 2))
    problem = small_problem(0, two_way=True, kernel="rbf", estimator="biased")
    problem = type(problem)(X, Y, type(problem.kernel)(1.0), "biased", Counts(9, 6, 63, 57))
    sizes = by_sizes(pairs_of(problem))
    found = FloorsBySize(totals_of(problem), "biased", sizes, is_dense=True)
    for place in (found.corner, 0, len(sizes) - 1):
        best = found.solve(place, found.start(sizes[place].most), 1e-5, Effort(1.0))
        assert found.least()[place] <= best.value() <= 1.1 * found.least()[place]
    assert (found.least() > 0).all()  # every size between has a floor that says something
