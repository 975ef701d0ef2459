"""Searches among rows that may move, within limits: against greedy choices and enumerations by definition."""

import itertools
import math
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from limited_problems import (
    admissible_labellings,
    admissible_values,
    is_admissible,
    limited_problem,
    pooled_rows,
    random_movable,
    random_strata,
    strata_by_row,
)
from mmdbounds.contamination import Contamination
from mmdbounds.counts import Counts, Movable, check_sizes, limited
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.search.exchanges import effects_by_group, refine
from mmdbounds.search.exhaustive import Exhaustive
from mmdbounds.search.protocol import Task, largest, leading, outwards, top_places, top_sum, within_limits
from mmdbounds.search.stepwise import StepwiseDominance
from problems import (
    naive_extension,
    naive_extreme,
    naive_gradient,
    naive_matrix,
    random_problem,
    small_matrix,
    tie_width,
    totals_of,
)

seeds = st.integers(0, 2**32 - 1)
SIDES = ("lower", "upper")


def greedy(scores, count, stratum, limits, taken=()):
    """Rows in the order of their scores, full strata skipped; `taken` rows have their places already."""
    used = [sum(stratum[i] == h for i in taken) for h in range(len(limits))]
    chosen = []
    for i in np.argsort(-scores, kind="stable").tolist():
        h = stratum[i]
        if len(chosen) < count and h >= 0 and i not in taken and used[h] < limits[h]:
            chosen.append(i)
            used[h] += 1
    return chosen


def drawn_limits(seed, most=9):
    """Strata of one group with their limits, as slices and row by row, and how many rows to choose."""
    rng = np.random.default_rng(seed)
    strata = ()
    while not sum(map(min, strata)):
        n = int(rng.integers(1, most + 1))
        strata = random_strata(n, rng)
    edges = np.cumsum([0, *(size for size, _ in strata)])
    spans = zip(itertools.pairwise(edges), strata, strict=True)
    limits = [(slice(a, b), min(b - a, limit)) for (a, b), (_, limit) in spans]
    stratum = np.repeat(np.arange(len(strata)), [size for size, _ in strata])
    return limits, stratum, int(rng.integers(0, sum(most for _, most in limits) + 1)), rng


@given(seeds)
def test_the_best_admissible_set_is_the_greedy_one_and_the_best_of_all(seed):
    limits, stratum, count, rng = drawn_limits(seed)
    n, most = len(stratum), [limit for _, limit in limits]
    scores = rng.permutation(n) + 0.5 * (rng.random() < 0.5)  # no ties
    expected = greedy(scores, count, stratum, most)
    assert largest(scores, count, np.ones(n, dtype=bool), 0.1, limits).tolist() == sorted(expected)
    whole = rng.integers(-3, 4, size=n).astype(float)  # many ties; sums are exact
    every = [
        whole[list(rows)].sum()
        for rows in itertools.combinations(range(n), count)
        if all(sum(stratum[i] == h for i in rows) <= limit for h, limit in enumerate(most))
    ]
    parts = [(slice(0, n), count)]
    places = top_places(whole, parts, limits)
    assert top_sum(whole, parts, limits) == whole[places].sum() == max(every)
    rows = largest(whole, count, np.ones(n, dtype=bool), 0.0, limits)
    assert whole[rows].sum() == max(every)
    assert len(set(rows.tolist())) == len(set(places.tolist())) == count


@given(seeds)
def test_rows_that_are_not_eligible_take_no_place(seed):
    limits, stratum, _, rng = drawn_limits(seed)
    n, most = len(stratum), [limit for _, limit in limits]
    scores, eligible = rng.permutation(n).astype(float), rng.random(n) < 0.6
    possible = sum(min(limit, int(eligible[rows].sum())) for rows, limit in limits)
    count = int(rng.integers(0, possible + 1))
    expected = greedy(np.where(eligible, scores, -np.inf), count, np.where(eligible, stratum, -1), most)
    assert largest(scores, count, eligible, 0.0, limits).tolist() == sorted(expected)


def test_tied_rows_are_taken_by_their_number_whatever_rounding_says():
    limits = [(slice(0, 3), 1), (slice(3, 6), 2)]
    for noise in itertools.product([0.0, 1e-13], repeat=6):
        scores = 1.0 + np.array(noise)
        assert largest(scores, 2, np.ones(6, dtype=bool), 1e-12, limits).tolist() == [0, 3]
        assert largest(scores, 3, np.ones(6, dtype=bool), 1e-12, limits).tolist() == [0, 3, 4]


def test_what_the_limits_leave_of_several_rows_at_once():
    values = np.array([[1.0, 5.0, 3.0, 2.0], [4.0, 0.0, 1.0, 6.0]])
    left = within_limits(values, [(slice(0, 3), 2), (slice(3, 4), 0)])
    expected = [[-np.inf, 5.0, 3.0, -np.inf], [4.0, -np.inf, 1.0, -np.inf]]
    np.testing.assert_array_equal(left, expected)
    assert within_limits(values, []) is values


def larger_problem(seed, **how):
    """A problem too large to enumerate, with random rows that may move and limits, both random."""
    problem, rng = random_problem(seed, **how), np.random.default_rng([seed, 22])
    counts = problem.counts
    for _ in range(1000):
        movable = random_movable(problem.p, problem.q, rng)
        if movable.most_of_y >= counts.n_moved and movable.most_of_x >= counts.n_moved_of_x:
            return replace(problem, counts=replace(counts, movable=movable))
    return larger_problem(seed + 100_000, **how)


def naive_limited_stepwise(K, problem, n_steps, side, choose):
    """S-SD within limits: everything anew in every step. Returns the rows of Y and of X that move."""
    counts, p, pooled = problem.counts, problem.p, np.arange(len(K))
    stratum, limits = strata_by_row(counts, p, problem.q)
    u, moved = (pooled < p).astype(float), []
    sign = np.where(pooled < p, -1.0, 1.0) * outwards(side)
    for s in range(1, n_steps + 1):
        scores = sign * naive_gradient(K, u, counts, problem.estimator)
        batch = []
        for m, group in ((counts.n_moved, pooled >= p), (counts.n_moved_of_x, pooled < p)):
            quota = m * s // n_steps - m * (s - 1) // n_steps
            batch += choose(scores, quota, np.where(group, stratum, -1), limits, moved)
        u[batch] = 1 - u[batch]
        moved += batch
    return sorted(i - p for i in moved if i >= p), sorted(i for i in moved if i < p)


class TiedError(Exception):
    """Two scores are the same but for rounding, so that "greedy" says too little."""


def untied_greedy(width):
    """The greedy choice of scores that no rounding could swap."""

    def choose(scores, *rest):
        if np.diff(np.sort(scores)).min() < max(1e-9 * np.abs(scores).max(), width):
            raise TiedError
        return greedy(scores, *rest)

    return choose


def greedy_by_stratum(width):
    """The same with ties: the best of each stratum that has places left, and the best of these."""

    def choose(scores, count, stratum, limits, taken):
        left = []
        for h, limit in enumerate(limits):
            free = {i for i in np.flatnonzero(stratum == h).tolist() if i not in taken}
            places = min(limit - sum(stratum[i] == h for i in taken), len(free))
            left += naive_extreme(scores, places, free, width)
        return naive_extreme(scores, count, left, width)

    return choose


@pytest.mark.parametrize(
    ("start", "n"),
    [(0, 8), (8, 8), (16, 8), *(pytest.param(i, 40, marks=pytest.mark.slow) for i in range(24, 2024, 40))],
)
def test_stepwise_dominance_is_the_greedy_of_the_definition(start, n):
    n_greedy = n_unclear = 0
    for seed in range(start, start + n):
        problem = larger_problem(seed)
        K, counts = naive_matrix(problem), problem.counts
        most, asked = max(counts.n_moved, counts.n_moved_of_x), [None, 1, 3, 1000][seed % 4]
        steps = min(most, 10 if asked is None else asked)
        for side in SIDES:
            found = StepwiseDominance(asked).search(totals_of(problem), counts, problem.estimator, side)
            both = found.rows.tolist(), found.rows_of_x.tolist()
            wide = tie_width(K, counts, problem.estimator) * np.array([0.25, 1.0, 4.0])
            every = [naive_limited_stepwise(K, problem, steps, side, greedy_by_stratum(w)) for w in wide]
            n_unclear += not every[0] == every[1] == every[2]  # scores that are noise: which are tied?
            assert both in every or every[0] != every[2], seed
            assert is_admissible(pooled_rows(found, problem.p), counts, problem.p, problem.q)
            with suppress(TiedError):
                assert both == naive_limited_stepwise(K, problem, steps, side, untied_greedy(wide[2])), seed
                n_greedy += 1
    assert n_greedy >= n / 2
    assert n_unclear <= n / 4


def test_the_exhaustive_search_tries_the_admissible_labellings_and_no_others():
    for seed in range(40):
        problem, admissible = limited_problem(seed, at_most=False, most=(9, 6))
        [counts], near = admissible, 1e-11 * np.abs(small_matrix(problem)).max()
        values = admissible_values(problem, counts)
        Exhaustive().check(counts, problem.p, problem.q)
        for side, extreme in zip(SIDES, (values.min(), values.max()), strict=True):
            found = Exhaustive().search(totals_of(problem), counts, problem.estimator, side)
            assert f"all {len(values):,} labelling" in found.status
            assert abs(found.value - extreme) <= near
            assert outwards(side) * (found.certified - extreme) >= 0
            assert is_admissible(pooled_rows(found, problem.p), counts, problem.p, problem.q)


def test_the_exhaustive_search_counts_what_the_limits_leave():
    # 30 rows of 100 may move, 10 of each of three strata, and of these 5 but no more than 2 of each.
    movable = Movable(0, 30, (), ((10, 2), (10, 2), (10, 2)))
    counts = Counts(5, 0, 55, 95, movable=movable)
    ways = 3 * math.comb(10, 2) ** 2 * 10  # 2 + 2 + 1
    Exhaustive().check(counts, 50, 100)
    with pytest.raises(MmdBoundsError, match="here there are 75,287,520"):
        Exhaustive().check(replace(counts, movable=None), 50, 100)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 1)), rng.normal(size=(100, 1))
    totals = mb.objective.group_sums(mb.sums.make_sums(np.concatenate([X, Y]), mb.kernels.RBF(1.0)), 50, 100)
    assert f"all {ways:,} " in Exhaustive().search(totals, counts, "biased", "lower").status


def random_admissible(f, rng):
    """A labelling of random rows that may move."""
    return Labelling(f, leading(Labelling(f), rng.random(len(Labelling(f).sign))))


def exchanged(u, counts, p, q):
    """For every pair of rows that may change places: the pair, and the marks after it."""
    filed = np.arange(p + q) < p
    for i, j in itertools.combinations(range(p + q), 2):
        v = u.copy()
        v[[i, j]] = v[[j, i]]
        moved = np.flatnonzero(v != filed)
        if filed[i] == filed[j] and u[i] != u[j] and is_admissible(moved, counts, p, q):
            yield i, j, v


@pytest.mark.parametrize("side", SIDES)
def test_what_was_refined_is_admissible_and_no_admissible_exchange_improves_it(side):
    for seed in range(25):
        problem, [counts] = limited_problem(seed, at_most=False)
        p, q, K, rng = problem.p, problem.q, small_matrix(problem), np.random.default_rng(seed)
        labelling = random_admissible(Quadratic(totals_of(problem), counts, problem.estimator), rng)
        before = labelling.value()
        refine(labelling, side)
        near = 1e-11 * np.abs(K).max()
        assert outwards(side) * (labelling.value() - before) >= -near
        u = (np.arange(p + q) < p).astype(float)
        u[labelling.active] += labelling.sign * labelling.moved
        assert is_admissible(np.flatnonzero(u != (np.arange(p + q) < p)), counts, p, q)
        value = naive_extension(K, u, counts, problem.estimator)
        for _, _, v in exchanged(u, counts, p, q):
            gain = naive_extension(K, v, counts, problem.estimator) - value
            assert outwards(side) * gain <= 10 * near, seed


def test_effects_are_those_of_admissible_exchanges_and_unknown_where_there_is_none():
    unknown = 0
    for seed in range(25):
        problem, [counts] = limited_problem(seed, at_most=False)
        p, q, K, rng = problem.p, problem.q, small_matrix(problem), np.random.default_rng(seed)
        labelling = random_admissible(Quadratic(totals_of(problem), counts, problem.estimator), rng)
        u = (np.arange(p + q) < p).astype(float)
        u[labelling.active] += labelling.sign * labelling.moved
        value = naive_extension(K, u, counts, problem.estimator)
        for side in SIDES:
            expected = np.full(p + q, np.nan)
            for i, j, v in exchanged(u, counts, p, q):
                change = naive_extension(K, v, counts, problem.estimator) - value
                best = np.fmax if side == "upper" else np.fmin
                expected[i], expected[j] = best(expected[i], change), best(expected[j], change)
            of_y, of_x = effects_by_group(labelling, side)
            np.testing.assert_allclose(
                np.concatenate([of_x, of_y]), expected, rtol=0, atol=1e-11 * np.abs(K).max()
            )
            unknown += np.isnan(of_y).sum()
    assert unknown


def test_limits_that_do_not_bind_change_nothing():
    for seed in range(4):
        problem, _ = limited_problem(seed, two_way=False)
        p, q, counts = problem.p, problem.q, problem.counts
        free = replace(counts, movable=Movable(p, q, (), ((1, 1), (q - 1, q - 1))))
        assert free.limits() == []
        for method in (mb.Sharp(), StepwiseDominance()):
            tasks = [Task(totals_of(problem), [each], problem.estimator) for each in (counts, free)]
            for one, other in zip(*map(method.both_sides, tasks), strict=True):
                assert (one.value, one.certified, one.rows.tolist()) == (
                    other.value,
                    other.certified,
                    other.rows.tolist(),
                )


def test_the_printed_schedule_knows_no_limits_and_says_so():
    counts = Counts(1, 0, 6, 9, movable=Movable(0, 9))
    with pytest.raises(MmdBoundsError, match="`schedule='paper'` does not know which rows may move"):
        StepwiseDominance(schedule="paper").check(counts, 5, 10)
    for knows in (mb.Sharp(), StepwiseDominance(), Exhaustive()):
        knows.check(counts, 5, 10)


def test_rows_that_may_move_lie_around_the_border():
    movable = Movable(2, 3, ((1, 1), (1, 0)), ((2, 1), (1, 4)))
    one_way, two_way = (Counts(2, m_d, 7 - m_d, 8 + m_d, movable=movable) for m_d in (0, 1))
    assert (movable.most_of_x, movable.most_of_y) == (1, 2)
    assert one_way.may_move(5, 10) == slice(5, 8)
    assert two_way.may_move(5, 10) == slice(3, 8)
    assert one_way.limits() == [(slice(0, 2), 1), (slice(2, 3), 1)]
    assert two_way.limits() == [(slice(0, 1), 1), (slice(1, 2), 0), (slice(2, 4), 1), (slice(4, 5), 1)]
    assert Counts(2, 1, 6, 9).may_move(5, 10) == slice(0, 15)
    assert Counts(2, 1, 6, 9, movable=Movable(2, 3)).limits() == []


def test_counts_are_cut_down_to_what_is_possible():
    movable = Movable(0, 6, (), ((3, 1), (3, 1)))
    every = Contamination(n_moved=4).admissible(5, 10)
    assert [counts.n_moved for counts in limited(every, movable)] == [0, 1, 2]
    assert all(counts.movable == movable for counts in limited(every, movable))
    refused = r"of `Y` at most 2 rows can be misfiled, given what is verified and limited; 4 were asked for\."
    with pytest.raises(MmdBoundsError, match=refused):
        limited(every[-1:], movable)
    with pytest.raises(MmdBoundsError, match=refused):
        check_sizes(replace(every[-1], movable=movable), 5, 10, unbiased=True)
    two_way = Contamination(n_moved=1, n_moved_of_x=1).admissible(5, 10)
    with pytest.raises(
        MmdBoundsError, match=r"of `X` at most 0 rows can be misfiled, .*; 1 were asked for\."
    ):
        limited(two_way[-1:], movable)


def test_strata_hold_all_rows_that_may_move():
    with pytest.raises(MmdBoundsError, match=r"strata of 5 rows do not hold the 6 rows that may move\."):
        Movable(0, 6, (), ((2, 1), (3, 1)))


@given(seeds)
def test_the_enumeration_of_the_tests_is_that_of_the_definition(seed):
    # One stratum without a limit: all labellings of the rows that may move.
    rng = np.random.default_rng(seed)
    p, q = rng.integers(2, 6, size=2).tolist()
    of_x, of_y = int(rng.integers(1, p + 1)), int(rng.integers(1, q + 1))
    m, m_d = int(rng.integers(0, of_y + 1)), int(rng.integers(0, of_x + 1))
    counts = Counts(m, m_d, p + m - m_d, q - m + m_d, movable=Movable(of_x, of_y))
    assert len(admissible_labellings(p, q, counts)) == math.comb(of_y, m) * math.comb(of_x, m_d)
