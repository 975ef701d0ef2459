"""Starts and their refinement: never worse than S-SD, never worse with more starts."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.counts import Counts
from mmdbounds.search.protocol import Task, outwards
from mmdbounds.search.sharp.starting_points import starts
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.sums.cpu.blocked import BlockedSums
from problems import Problem, quadratic_of, small_problem, totals_of, two_clouds

SIDES = ("lower", "upper")


def test_refined_is_never_worse_than_stepwise_dominance():
    strictly = 0
    for seed in range(40):
        problem = small_problem(seed) if seed % 2 else two_clouds(seed, q=40)
        totals = totals_of(problem)
        task = Task(totals, [problem.counts], problem.estimator, seed)
        found = mb.Sharp(n_starts=1, certify=False).both_sides(task)
        for side, refined in zip(SIDES, found, strict=True):
            plain = StepwiseDominance().search(totals, problem.counts, problem.estimator, side)
            gain = outwards(side) * (refined.value - plain.value)
            assert gain >= -1e-12 * totals.scale, (seed, side)
            strictly += gain > 1e-9 * totals.scale
            assert refined.certified is None
            assert refined.status.startswith("refined")
    assert strictly > 10


def test_more_starts_are_never_worse():
    better = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)  # six clusters, each of which may be the best to move
        Z = 0.3 * rng.normal(size=(90, 2)) + 4 * rng.normal(size=(6, 2))[rng.integers(0, 6, size=90)]
        problem = Problem(Z[:30], Z[30:], mb.kernels.RBF(1.0), "unbiased", Counts(12, 0, 42, 48))
        task = Task(totals_of(problem), [problem.counts], "unbiased", seed)
        few, many = (mb.Sharp(n_starts=n, certify=False).both_sides(task) for n in (1, 12))
        assert many[0].value <= few[0].value
        assert many[1].value >= few[1].value
        better += many[1].value > few[1].value + 1e-9
    assert better >= 3


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("of_x", [0, 10])
def test_starts_are_labellings_and_follow_the_seed(side, of_x):
    quadratic = quadratic_of(two_clouds(0, of_x=of_x))
    sets = [
        [frozenset(np.flatnonzero(one.moved).tolist()) for one in islice(starts(quadratic, side, rng), 12)]
        for rng in map(np.random.default_rng, (1, 1, 2))
    ]
    assert sets[0] == sets[1]
    assert sets[0] != sets[2]
    n_x = 50 if of_x else 0
    for rows in sets[0]:
        assert sum(row >= n_x for row in rows) == 20
        assert sum(row < n_x for row in rows) == of_x
    assert len(set(sets[0])) >= 6  # not the same start again and again
    first = [StepwiseDominance(n).from_quadratic(quadratic, side) for n in (None, 20, 1)]
    expected = [frozenset(np.flatnonzero(one.moved).tolist()) for one in first]
    n_fixed = 3 if side == "lower" else 1
    assert sets[0][:n_fixed] == expected[:n_fixed]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_starts": 0}, r"`n_starts` must be a whole number from 1; got 0\."),
        ({"n_starts": 1.5}, r"`n_starts` must be a whole number from 1; got 1\.5\."),
        ({"certify": "yes"}, r"`certify` must be 'auto', True or False; got 'yes'\."),
        ({"gap": 1.0}, r"`gap` must be in \[0, 1\); got 1\."),
        ({"gap": -0.1}, r"`gap` must be in \[0, 1\); got -0\.1\."),
        ({"gap": "small"}, r"`gap` must be a number in \[0, 1\); got 'small'\."),
        ({"gap": float("nan")}, r"`gap` must be in \[0, 1\); got nan\."),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(mb.MmdBoundsError, match=message):
        mb.Sharp(**options)


def test_float32_finds_the_rows_and_float64_proves():
    """Also where a matrix of few active rows is held: certificates are those of float64, and as tight."""
    problem = two_clouds(0, q=24)
    problem = replace(problem, counts=Counts(4, 0, 54, 20))
    sums = [BlockedSums(problem.Z, problem.kernel, dtype=dtype) for dtype in ("float32", "float64")]
    coarse, fine = (
        mb.Sharp(gap=0).both_sides(Task(totals_of(problem, each), [problem.counts], "unbiased"))
        for each in sums
    )
    for found, expected in zip(coarse, fine, strict=True):
        assert found.certified == pytest.approx(expected.certified, rel=0, abs=1e-10)
        assert found.value == pytest.approx(expected.value, rel=0, abs=1e-12)
