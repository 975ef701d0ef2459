"""The test over all pairs of counts, by their true sizes, against every labelling of each pair."""

from dataclasses import replace

import numpy as np
import pytest

import mmdbounds as mb
from inference import reference
from limited_problems import random_movable, stated
from mmdbounds.counts import limited
from mmdbounds.inference import size_range, worst_case
from problems import KERNELS, Counts, small_problem

pytestmark = pytest.mark.usefixtures("drawn")

N_PERMUTATIONS = 59


def few_of(n):
    """Seeds, of which most are for studies."""
    return [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, n))]


@pytest.fixture(autouse=True)
def by_their_sizes(monkeypatch):
    """However few pairs there are."""
    monkeypatch.setattr(size_range, "FEW_PAIRS", 1)


def result_of(problem, seed, which=None, **more):
    numbers = {"n_moved": problem.counts.n_moved, "n_moved_of_x": problem.counts.n_moved_of_x}
    counts = mb.Contamination(**numbers, **(which or {}))
    how = {"n_permutations": N_PERMUTATIONS, "rng": seed, **reference.options(problem), **more}
    return mb.robust_test(problem.X, problem.Y, counts, **how)


def every(problem, seed, movable=None):
    """For each pair the p-values of all its labellings."""
    permutations = reference.drawn(problem, N_PERMUTATIONS, seed)
    pairs = reference.admissible(problem, exactly=False)
    if movable is not None:
        pairs = limited(pairs, movable)
    least = 2 if problem.estimator == "unbiased" else 1
    return {
        pair: reference.every_pvalue(problem, pair, permutations)
        for pair in pairs
        if min(pair.n_x, pair.n_y) >= least
    }


@pytest.mark.parametrize("seed", few_of(15))
def test_is_the_largest_over_every_labelling_of_every_pair(seed, monkeypatch):
    monkeypatch.setattr(worst_case, "NEARLY", 0.0)  # tight is equal
    monkeypatch.setattr(size_range, "MOST_SEARCHED", 200)
    problem = small_problem(seed, two_way=True, most=(10, 6))
    result, pvalues = result_of(problem, seed), every(problem, seed)
    assert result.is_valid
    assert result.is_tight
    assert result.pvalue == max(map(max, pvalues.values()))
    assert result.n_admissible == len(pvalues)
    assert len(result.counts) == len({pair.n_x for pair in pvalues})  # one test for each size
    for count in result.counts:
        n_x = problem.p + count.n_moved - count.n_moved_of_x
        assert count.pvalue >= max(max(each) for pair, each in pvalues.items() if pair.n_x == n_x)


@pytest.mark.parametrize("seed", few_of(60))
def test_rows_that_cannot_move_do_not_and_limits_are_kept(seed, monkeypatch):
    monkeypatch.setattr(worst_case, "NEARLY", 0.0)
    monkeypatch.setattr(size_range, "MOST_SEARCHED", 200)
    problem = small_problem(seed, two_way=True, most=(10, 6))
    movable = random_movable(problem.p, problem.q, np.random.default_rng(seed))
    if not (movable.most_of_x and movable.most_of_y):
        return  # one way, or none
    pvalues = every(problem, seed, movable)
    result = result_of(problem, seed, stated(movable, problem.p, problem.q))
    assert result.is_valid
    assert result.n_admissible == len(pvalues)
    largest = max(map(max, pvalues.values()))
    assert result.pvalue == largest if result.is_tight else result.pvalue >= largest


def test_a_pair_between_can_be_the_worst():
    """If nearly all rows may change places, groups that have done so look as filed; half of them do not."""
    seed, rng = 3, np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 1)), rng.normal(9.0, 1.0, size=(6, 1))
    problem = small_problem(0, two_way=True, kernel="rbf")
    problem = replace(problem, X=X, Y=Y, kernel=type(problem.kernel)(3.0), counts=Counts(6, 6, 6, 6))
    result, pvalues = result_of(problem, seed), every(problem, seed)
    assert pvalues[problem.counts] == [min(map(min, pvalues.values()))]  # all have changed places
    for count in result.counts:
        n_x = problem.p + count.n_moved - count.n_moved_of_x
        assert count.pvalue >= max(max(each) for pair, each in pvalues.items() if pair.n_x == n_x)
    assert result.pvalue == max(map(max, pvalues.values()))


@pytest.mark.parametrize("seed", few_of(8))
def test_nothing_is_larger_where_no_matrix_is_held(seed, monkeypatch):
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", 0)
    problem = small_problem(seed + 60, two_way=True, kernel=KERNELS[seed % len(KERNELS)], most=(10, 6))
    result, pvalues = result_of(problem, seed), every(problem, seed)
    assert result.is_valid
    assert result.pvalue >= max(map(max, pvalues.values()))


def test_hundreds_of_pairs_are_all_proved_from_few(monkeypatch):
    monkeypatch.undo()
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(120, 3)), rng.normal(1.0, 1.0, size=(120, 3))
    result = mb.robust_test(X, Y, mb.Contamination(0.1, y_in_x=0.05), n_permutations=99, rng=0)
    sizes = {c.n_moved - c.n_moved_of_x for c in result.counts}
    assert result.is_valid
    assert result.pvalue <= 0.05
    assert result.n_admissible > 80
    assert sizes == set(range(-6, 14))
    assert "(proved)" in result.summary()


def test_pairs_that_do_not_fit_are_dropped():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(3, 1, size=(6, 2))
    two_way = mb.Contamination(n_moved=5, n_moved_of_x=2)
    result = mb.robust_test(X, Y, two_way, n_permutations=19, rng=0)
    assert result.is_valid
    assert result.n_admissible == 6 * 3 - 1  # not (5, 0), which leaves one row of Y
    assert mb.mmd_bounds(X, Y, two_way, rng=0).is_certified
    shares = mb.Contamination(0.4, y_in_x=0.3)  # these two shares together are those of no groups
    verified = None, [*["Y"], *[""] * 5]
    for known in (None, verified):
        assert mb.robust_test(X, Y, shares, verified=known, n_permutations=19, rng=0).is_valid
        assert mb.mmd_bounds(X, Y, shares, verified=known, rng=0).is_certified
    with pytest.raises(mb.MmdBoundsError, match=r"^shares of 0\.4 and 0\.3 do not fit groups of 30 and 6"):
        mb.mmd_bounds(X, Y, shares, exactly=True)
