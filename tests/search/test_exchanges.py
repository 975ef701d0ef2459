"""Refinement against every exchange tried: it ends where none helps, and never loses on the way."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from mmdbounds.counts import Counts
from mmdbounds.objective import Labelling
from mmdbounds.search.exchanges import refine
from mmdbounds.search.protocol import leading, outwards
from mmdbounds.sums.cpu.blocked import BlockedSums
from problems import Problem, naive_mmd2, naive_values, quadratic_of, small_matrix, small_problem, two_clouds

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
        for part, quota in labelling.parts()
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


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("of_x", [0, 10])
def test_few_candidates_still_improve_and_end(monkeypatch, side, of_x):
    monkeypatch.setattr("mmdbounds.search.exchanges.CANDIDATES", 3)
    improved = 0
    for seed in range(8):
        problem = two_clouds(seed, of_x=of_x)
        labelling = random_labelling(problem, np.random.default_rng(seed))
        monkeypatch.setattr("mmdbounds.search.exchanges.MOST_ROUNDS", 0)
        refine(labelling, side)  # the ascent alone
        ascended = labelling.value()
        monkeypatch.setattr("mmdbounds.search.exchanges.MOST_ROUNDS", 1000)
        refine(labelling, side)
        check_counts(labelling, problem)
        gain = outwards(side) * (labelling.value() - ascended)
        assert gain >= -1e-12
        improved += gain > 1e-9
        # Among the few that look most promising no exchange is left.
        scores = outwards(side) * labelling.sign * labelling.gradient()
        for part, _ in labelling.parts():
            places = np.arange(part.start, part.stop)
            inside, outside = places[labelling.moved[part]], places[~labelling.moved[part]]
            worst = inside[np.argsort(scores[inside])[:3]]
            best = outside[np.argsort(-scores[outside])[:3]]
            reached = labelling.value()
            for pair in itertools.product(worst, best):
                labelling.move(np.array(pair))
                assert outwards(side) * (labelling.value() - reached) <= 1e-11
                labelling.move(np.array(pair))
    assert improved >= (2 if side == "upper" else 8)  # the ascent leaves little to the exchanges


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("of_x", [0, 10])
def test_the_ascent_never_loses_and_moves(monkeypatch, estimator, of_x):
    monkeypatch.setattr("mmdbounds.search.exchanges.MOST_ROUNDS", 0)
    risen = 0
    for seed in range(12):
        problem = two_clouds(seed, of_x=of_x, estimator=estimator)
        labelling = random_labelling(problem, np.random.default_rng(seed))
        before = labelling.value()
        refine(labelling, "upper")
        check_counts(labelling, problem)
        assert labelling.value() >= before
        risen += labelling.value() > before + 1e-6
        # It has ended: choosing anew by the gradient gains nothing.
        again = Labelling(labelling.quadratic, leading(labelling, labelling.sign * labelling.gradient()))
        assert again.value() <= labelling.value() + 1e-11
    assert risen == 12


@pytest.mark.parametrize("side", SIDES)
def test_duplicates_come_to_an_end(side):
    for seed in range(4):
        problem = two_clouds(seed, duplicates=True, of_x=[0, 10][seed % 2])
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
    problem = two_clouds(3, of_x=10)
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
