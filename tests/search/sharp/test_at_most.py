"""Bounds over many counts against every labelling of each, and their cost beside that of one count."""

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.contamination import Contamination
from mmdbounds.search import sharp
from mmdbounds.search.protocol import Task
from mmdbounds.search.sharp import at_most, leading_rows, quota_problem
from problems import (
    KERNELS,
    SMALL_KERNELS,
    all_labellings,
    naive_values,
    small_matrix,
    small_problem,
    totals_of,
)

METHOD = mb.Sharp(n_starts=2)


def several_counts(seed, kernel):
    """A small one-way problem with more counts than are searched one by one, and them."""
    while True:
        problem = small_problem(seed, two_way=False, kernel=kernel, most=(9, 6))
        if problem.counts.n_moved > at_most.FEW:
            break
        seed += 100_000
    how_much = Contamination(n_moved=problem.counts.n_moved)
    every = how_much.admissible(problem.p, problem.q)
    return problem, every[seed % 2 :]


def extremes(problem, admissible):
    """The smallest and the largest statistic over all labellings of all counts."""
    K = small_matrix(problem)
    every = [
        naive_values(K, all_labellings(problem.p, problem.q, counts), problem.estimator)
        for counts in admissible
    ]
    return min(map(np.min, every)), max(map(np.max, every))


@pytest.mark.parametrize("dense_rows", [2500, 4, 0])
@pytest.mark.parametrize("block", range(10))
def test_no_labelling_of_any_count_lies_outside(block, dense_rows, monkeypatch):
    """390 problems: with a matrix, with one above alone, and without."""
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", dense_rows)
    monkeypatch.setattr("mmdbounds.search.sharp.MORE_ABOVE", 3.0)
    kernels = SMALL_KERNELS if dense_rows == 2500 else KERNELS[:-1]
    reached = 0
    for seed in range(13 * block, 13 * block + 13):
        problem, admissible = several_counts(seed, kernels[seed % len(kernels)])
        lowest, highest = extremes(problem, admissible)
        task = Task(totals_of(problem), admissible, problem.estimator, seed)
        lower, upper = METHOD.both_sides(task)
        assert lower.certified <= lowest
        assert highest <= upper.certified
        assert lower.certified <= lower.value
        assert upper.value <= upper.certified
        slack = 2 * METHOD.gap * (highest - lowest) + 1e-9 * max(abs(highest), abs(lowest))
        reached += lower.value - lowest <= slack and highest - upper.value <= slack
    assert reached >= {2500: 10, 4: 8, 0: 2}[dense_rows]


def test_with_a_gap_of_zero_it_is_solved():
    for seed in range(20):
        problem, admissible = several_counts(seed, "rbf")
        lowest, highest = extremes(problem, admissible)
        task = Task(totals_of(problem), admissible, problem.estimator, seed)
        lower, upper = mb.Sharp(gap=0).both_sides(task)
        for bound, extreme in ((lower, lowest), (upper, highest)):
            assert bound.value == pytest.approx(extreme, rel=0, abs=1e-9)
            assert abs(bound.certified - bound.value) <= 1e-8


def spent_by(call, monkeypatch):
    """What a call costs: the work of its proofs."""
    spent, original = [0.0], quota_problem.Effort.spend

    def spend(self, units):
        spent[0] += units
        original(self, units)

    with monkeypatch.context() as patch:
        patch.setattr(quota_problem.Effort, "spend", spend)
        result = call()
    return spent[0], result


HELD = {"both": 1.0, "upper": 0.8, "none": 0.0}
"""Of which sides the proofs hold a matrix, by the rows up to which they do, as a share of those of Y."""


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("n", [100, 300])
def test_at_most_costs_at_most_twice_exactly(n, held, monkeypatch):
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", HELD[held] * n // 2)
    rng = np.random.default_rng(n)
    X, Y = rng.normal(size=(n // 2, 5)), rng.normal(0.5, 1.2, size=(n // 2, 5))
    for epsilon in (0.1, 0.2):
        of_one, one = spent_by(lambda e=epsilon: mb.mmd_bounds(X, Y, e, exactly=True, rng=0), monkeypatch)
        of_all, every = spent_by(lambda e=epsilon: mb.mmd_bounds(X, Y, e, exactly=False, rng=0), monkeypatch)
        assert of_all <= 2 * of_one + 3 * at_most.LEAST  # which is soon done
        assert every.provenance.n_pairs <= 2 * one.provenance.n_pairs
        width = one.upper.value - one.lower.value
        assert every.lower.certified >= one.lower.certified - 0.01 * width
        assert every.upper.certified <= one.upper.certified + 0.02 * width


@pytest.mark.parametrize("amount", [0.2, Contamination(0.1, y_in_x=0.1)], ids=["one-way", "two-way"])
def test_a_kernel_that_is_not_known_to_be_definite_has_ceilings_from_the_largest_count(amount, monkeypatch):
    """As beyond 2,500 rows that may move: not every count is searched and fitted by itself."""
    fits, fit = [], sharp.LearnedMultipliers.fit
    monkeypatch.setattr(sharp.LearnedMultipliers, "fit", lambda *given: (fits.append(1), fit(*given)))
    monkeypatch.setattr(sharp, "DENSE_ROWS", 0)
    monkeypatch.setattr(leading_rows, "LEADING", 0)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), rng.normal(0.5, 1.0, size=(80, 3))
    result = mb.mmd_bounds(X, Y, amount, kernel=lambda A, B: np.tanh(A @ B.T / 4), rng=0)
    assert len(fits) == 1
    assert result.lower.certified is None
    assert result.upper.value <= result.upper.certified < np.inf
    assert result.lower.value <= result.observed <= result.upper.value
