"""Refinement against every exchange tried: it ends where none helps, and never loses on the way."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from mmdbounds.contamination import Counts
from mmdbounds.objective import Labelling
from mmdbounds.search.choice import outwards
from mmdbounds.search.found import Task
from mmdbounds.search.refine import labelled, leading, parts_of, refine
from mmdbounds.search.starts import starts
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.sums.cpu.blocked import BlockedSums
from problems import Problem, naive_mmd2, naive_values, quadratic_of, small_matrix, small_problem, totals_of

seeds = st.integers(0, 2**32 - 1)
SIDES = ("lower", "upper")


def marks_of(labelling, problem):
    """Which pooled rows belong to X, from the rows that the labelling says have moved."""
    in_x = np.arange(problem.p + problem.q) < problem.p
    in_x[labelling.rows_of_x()] = False
    in_x[labelling.rows_of_y() + problem.p] = True
    return in_x


def random_labelling(problem, rng, sums=None):
    labelling = Labelling(quadratic_of(problem, sums))
    drawn = [
        part.start + rng.choice(part.stop - part.start, quota, replace=False)
        for part, quota in parts_of(labelling)
    ]
    labelling.move(np.sort(np.concatenate(drawn)))
    return labelling


def all_swaps(in_x, problem):
    """Every labelling that differs by an exchange of two rows filed in the same group."""
    swapped = []
    for rows in (range(problem.p), range(problem.p, len(in_x))):
        for i in rows:
            for j in rows:
                if in_x[i] and not in_x[j]:
                    other = in_x.copy()
                    other[i], other[j] = False, True
                    swapped.append(other)
    return np.array(swapped, dtype=float)


def check_counts(labelling, problem):
    assert len(labelling.rows_of_y()) == problem.counts.n_moved
    assert len(labelling.rows_of_x()) == problem.counts.n_moved_of_x


@given(seeds)
def test_no_exchange_improves_what_was_refined(seed):
    problem = small_problem(seed)
    K = small_matrix(problem)
    rounding = 1e-11 * np.abs(K).max()
    for side in SIDES:
        out = outwards(side)
        labelling = random_labelling(problem, np.random.default_rng(seed))
        before = labelling.value()
        refine(labelling, side)
        in_x = marks_of(labelling, problem)
        value = naive_mmd2(K, in_x, problem.estimator)
        check_counts(labelling, problem)
        np.testing.assert_allclose(labelling.value(), value, rtol=0, atol=rounding)
        assert out * value >= out * before - rounding
        swaps = all_swaps(in_x, problem)
        if len(swaps):
            assert (out * naive_values(K, swaps, problem.estimator)).max() <= out * value + rounding


def larger(seed, *, q=80, of_x=0, duplicates=False, estimator="unbiased"):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(50 + q, 2))
    Z[50:] += 0.8
    if duplicates:
        Z = np.round(Z)
    return Problem(Z[:50], Z[50:], mb.kernels.RBF(1.0), estimator, Counts(20, of_x, 70 - of_x, q - 20 + of_x))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("of_x", [0, 10])
def test_few_candidates_still_improve_and_end(monkeypatch, side, of_x):
    monkeypatch.setattr("mmdbounds.search.refine.CANDIDATES", 3)
    improved = 0
    for seed in range(8):
        problem = larger(seed, of_x=of_x)
        labelling = random_labelling(problem, np.random.default_rng(seed))
        monkeypatch.setattr("mmdbounds.search.refine.MOST_ROUNDS", 0)
        refine(labelling, side)  # the ascent alone
        ascended = labelling.value()
        monkeypatch.setattr("mmdbounds.search.refine.MOST_ROUNDS", 1000)
        refine(labelling, side)
        check_counts(labelling, problem)
        gain = outwards(side) * (labelling.value() - ascended)
        assert gain >= -1e-12
        improved += gain > 1e-9
        # Among the few that look most promising no exchange is left.
        scores = outwards(side) * labelling.sign * labelling.gradient()
        for part, _ in parts_of(labelling):
            places = np.arange(part.start, part.stop)
            inside, outside = places[labelling.moved[part]], places[~labelling.moved[part]]
            worst = inside[np.argsort(scores[inside])[:3]]
            best = outside[np.argsort(-scores[outside])[:3]]
            leaving, entering = (worst, best) if part.start >= labelling.n_active_x else (best, worst)
            assert (outwards(side) * labelling.swap_gain(leaving, entering)).max() <= 1e-11
    assert improved >= (2 if side == "upper" else 8)  # the ascent leaves little to the exchanges


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("of_x", [0, 10])
def test_the_ascent_never_loses_and_moves(monkeypatch, estimator, of_x):
    monkeypatch.setattr("mmdbounds.search.refine.MOST_ROUNDS", 0)
    risen = 0
    for seed in range(12):
        problem = larger(seed, of_x=of_x, estimator=estimator)
        labelling = random_labelling(problem, np.random.default_rng(seed))
        before = labelling.value()
        refine(labelling, "upper")
        check_counts(labelling, problem)
        assert labelling.value() >= before
        risen += labelling.value() > before + 1e-6
        # It has ended: choosing anew by the gradient gains nothing.
        again = labelled(labelling.quadratic, leading(labelling, labelling.sign * labelling.gradient()))
        assert again.value() <= labelling.value() + 1e-11
    assert risen == 12


@pytest.mark.parametrize("side", SIDES)
def test_duplicates_come_to_an_end(side):
    for seed in range(4):
        problem = larger(seed, duplicates=True, of_x=[0, 10][seed % 2])
        labelling = random_labelling(problem, np.random.default_rng(seed))
        refine(labelling, side)
        check_counts(labelling, problem)
        value = labelling.value()
        refine(labelling, side)  # nothing is left to do
        assert labelling.value() == value
    same = np.ones((30, 2))
    problem = Problem(same[:10], same[10:], mb.kernels.RBF(1.0), "unbiased", Counts(5, 2, 13, 17))
    labelling = random_labelling(problem, np.random.default_rng(0))
    moved = labelling.moved.copy()
    refine(labelling, side)
    assert labelling.moved.tolist() == moved.tolist()


def test_an_indefinite_kernel_ends_too():
    for seed in range(20):
        problem = small_problem(seed, kernel="indefinite matrix")
        for side in SIDES:
            labelling = random_labelling(problem, np.random.default_rng(seed))
            before = labelling.value()
            refine(labelling, side)
            assert outwards(side) * (labelling.value() - before) >= -1e-11 * np.abs(problem.Z).max()


def test_blocks_refine_to_an_optimum_of_the_matrix():
    problem = larger(3, of_x=10)
    for side in SIDES:
        labelling = random_labelling(
            problem, np.random.default_rng(1), BlockedSums(problem.Z, problem.kernel, block=(16, 8))
        )
        refine(labelling, side)
        K = np.exp(-((problem.Z[:, None] - problem.Z[None]) ** 2).sum(axis=2) / 2)
        in_x = marks_of(labelling, problem)
        value = naive_values(K, in_x[None].astype(float), "unbiased")[0]
        np.testing.assert_allclose(labelling.value(), value, rtol=0, atol=1e-12)
        swaps = naive_values(K, all_swaps(in_x, problem), "unbiased")
        assert (outwards(side) * swaps).max() <= outwards(side) * value + 1e-11


def test_refined_is_never_worse_than_stepwise_dominance():
    strictly = 0
    for seed in range(40):
        problem = small_problem(seed) if seed % 2 else larger(seed, q=40)
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
    quadratic = quadratic_of(larger(0, of_x=of_x))
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


def test_the_leading_rows_are_those_of_each_group():
    labelling = Labelling(quadratic_of(larger(0, of_x=10)))
    scores = np.random.default_rng(0).normal(size=len(labelling.sign))
    rows = leading(labelling, scores)
    of_x, of_y = np.argsort(-scores[:50])[:10], 50 + np.argsort(-scores[50:])[:20]
    assert rows.tolist() == sorted([*of_x.tolist(), *of_y.tolist()])


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
