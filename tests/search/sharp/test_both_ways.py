"""Bounds over all pairs of counts against every labelling of each, and their cost beside that of one pair."""

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.search.protocol import Task
from mmdbounds.search.sharp import at_most
from problems import (
    KERNELS,
    SMALL_KERNELS,
    small_problem,
    totals_of,
)

from .test_at_most import extremes, spent_by
from .test_same_sizes import pairs_of

METHOD = mb.Sharp(n_starts=2)


def several_pairs(seed, kernel):
    """A small two-way problem with more pairs than are searched one by one, and them."""
    while True:
        problem = small_problem(seed, two_way=True, kernel=kernel, most=(9, 6))
        pairs = pairs_of(problem)
        if len(pairs) > at_most.FEW:
            return problem, pairs
        seed += 100_000


def check(seeds, kernels):
    """Assert that nothing lies outside; return how many problems are solved."""
    solved = 0
    for seed in seeds:
        problem, pairs = several_pairs(seed, kernels[seed % len(kernels)])
        lowest, highest = extremes(problem, pairs)
        lower, upper = METHOD.both_sides(Task(totals_of(problem), pairs, problem.estimator, seed))
        assert lower.certified <= lowest
        assert highest <= upper.certified
        assert lower.certified <= lower.value
        assert upper.value <= upper.certified
        for found in (lower, upper):  # what is reached is reached by one of the labellings that may be
            counts = found.labelling.quadratic.counts
            assert counts in pairs
            assert (len(found.rows), len(found.rows_of_x)) == (counts.n_moved, counts.n_moved_of_x)
        slack = 2 * METHOD.gap * (highest - lowest) + 1e-9 * max(abs(highest), abs(lowest))
        solved += lower.value - lowest <= slack and highest - upper.value <= slack
    return solved


@pytest.mark.parametrize("dense_rows", [2500, 4, 0])
def test_no_labelling_of_any_pair_lies_outside(dense_rows, monkeypatch):
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", dense_rows)
    monkeypatch.setattr("mmdbounds.search.sharp.MORE_ABOVE", 3.0)
    kernels = SMALL_KERNELS if dense_rows == 2500 else KERNELS[:-1]
    assert check(range(13), kernels) >= {2500: 10, 4: 8, 0: 0}[dense_rows]


@pytest.mark.slow
@pytest.mark.parametrize("dense_rows", [2500, 4, 0])
@pytest.mark.parametrize("block", range(20))
def test_no_labelling_of_any_pair_lies_outside_in_780_problems(block, dense_rows, monkeypatch):
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", dense_rows)
    monkeypatch.setattr("mmdbounds.search.sharp.MORE_ABOVE", 3.0)
    kernels = SMALL_KERNELS if dense_rows == 2500 else KERNELS[:-1]
    first = {2500: 100, 4: 500, 0: 900}[dense_rows] + 13 * block
    assert check(range(first, first + 13), kernels) >= {2500: 10, 4: 8, 0: 0}[dense_rows]


def test_with_a_gap_of_zero_it_is_solved():
    for seed in range(4):
        problem, pairs = several_pairs(seed, "rbf")
        lowest, highest = extremes(problem, pairs)
        lower, upper = mb.Sharp(gap=0).both_sides(Task(totals_of(problem), pairs, problem.estimator, seed))
        for bound, extreme in ((lower, lowest), (upper, highest)):
            assert bound.value == pytest.approx(extreme, rel=0, abs=1e-9)
            assert abs(bound.certified - bound.value) <= 1e-8


def test_all_pairs_cost_little_more_than_the_largest(monkeypatch):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(150, 5)), rng.normal(0.5, 1.2, size=(150, 5))
    both_ways = mb.Contamination(0.15, y_in_x=0.05)
    of_one, one = spent_by(lambda: mb.mmd_bounds(X, Y, both_ways, exactly=True, rng=0), monkeypatch)
    of_all, every = spent_by(lambda: mb.mmd_bounds(X, Y, both_ways, rng=0), monkeypatch)
    assert of_all <= 2 * of_one + 3e8  # two seconds, and what was begun
    width = one.upper.value - one.lower.value
    assert every.lower.certified >= one.lower.certified - 0.01 * width
    assert every.upper.certified <= one.upper.certified + 0.02 * width
    # More labellings: no smaller interval.
    assert every.lower.value <= one.lower.value + 1e-12
    assert every.upper.value >= one.upper.value - 1e-12


def test_where_only_ceilings_hold_a_matrix_all_pairs_are_nearly_as_tight_as_the_largest(monkeypatch):
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", 120)  # of 150 rows, and above up to 174
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(75, 5)), rng.normal(0.5, 1.2, size=(75, 5))
    both_ways = mb.Contamination(0.15, y_in_x=0.05)
    one, every = (mb.mmd_bounds(X, Y, both_ways, exactly=exactly, rng=0) for exactly in (True, False))
    assert every.is_certified
    width = one.upper.value - one.lower.value
    assert every.upper.certified <= one.upper.certified + 0.05 * width


def test_without_a_proof_few_pairs_are_searched():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(60, 3)), rng.normal(0.7, 1.2, size=(60, 3))
    both_ways = mb.Contamination(0.2, y_in_x=0.1)
    found = mb.mmd_bounds(X, Y, both_ways, method=mb.Sharp(certify=False, n_starts=2), rng=0)
    proved = mb.mmd_bounds(X, Y, both_ways, rng=0)
    width = proved.upper.value - proved.lower.value
    assert found.lower.certified is None
    assert proved.lower.certified <= found.lower.value <= proved.lower.value + 0.02 * width
    assert proved.upper.value - 0.02 * width <= found.upper.value <= proved.upper.certified
