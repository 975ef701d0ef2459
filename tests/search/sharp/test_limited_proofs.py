"""The parts of proofs within limits, each against its definition: steps, thresholds, settled rows, ranges."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import mmdbounds as mb
from limited_problems import admissible_labellings, admissible_values, is_admissible, limited_problem
from mmdbounds.counts import Counts, Movable
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.search.protocol import Task, leading, outwards, within_limits
from mmdbounds.search.sharp import multiplier_steps as steps
from mmdbounds.search.sharp import ranges
from mmdbounds.search.sharp.ceiling import ULPS, proved
from mmdbounds.search.sharp.floor import Floor, filled, rooms
from mmdbounds.search.sharp.pairwise_steps import limited_steps
from mmdbounds.search.sharp.quota_problem import BranchAndBound, Effort, QuotaProblem
from mmdbounds.search.sharp.ranges import FloorRange
from mmdbounds.search.sharp.through_sums import SharedRows
from problems import KERNELS, naive_values, small_matrix, totals_of
from tolerances import UNIT, of_mmd2

NO_END = 1e15
CAPPED = {"compiled": steps._compiled_capped, "NumPy": steps._numpy_capped}


def posed(seed, side, **how):
    """A problem within limits, every choice as places among its rows, and the gain of each."""
    problem, [counts] = limited_problem(seed, at_most=False, **how)
    if counts.n_moved == 0:  # something is to be chosen in every group
        return posed(seed + 100_000, side, **how)
    f = Quadratic(totals_of(problem), counts, problem.estimator)
    labelling = Labelling(f)
    marks = admissible_labellings(problem.p, problem.q, counts)
    moved = marks != (np.arange(problem.p + problem.q) < problem.p)
    ways = [np.flatnonzero(row) for row in moved[:, labelling.active]]
    values = naive_values(small_matrix(problem), marks, problem.estimator)
    gains = values if side == "upper" else -values
    return QuotaProblem.of(labelling, side), ways, gains, 1e-11 * np.abs(small_matrix(problem)).max(), f


def test_the_best_rows_and_their_sum_are_those_of_all_choices():
    for seed in range(40):
        choice, ways, _, _, _ = posed(seed, "upper")
        scores = np.random.default_rng(seed).integers(-4, 5, size=len(choice.rows)).astype(float)
        best = max(scores[way].sum() for way in ways)
        assert choice.top_sum(scores) == best
        assert scores[choice.best_rows(scores)].sum() == best


@pytest.mark.parametrize("seed", range(60))
def test_smaller_problems_hold_the_choices_that_are_left(seed):
    choice, ways, gains, near, _ = posed(seed, "upper")
    rng = np.random.default_rng(seed)
    chosen, rejected = np.zeros((2, len(choice.rows)), dtype=bool)
    for row in rng.permutation(len(choice.rows))[: seed % 5]:
        (chosen if rng.random() < 0.5 else rejected)[row] = True
    rest, _ = choice.fixed(chosen, rejected)
    left = {
        frozenset(way.tolist()): gain
        for way, gain in zip(ways, gains, strict=True)
        if np.isin(np.flatnonzero(chosen), way).all() and not rejected[way].any()
    }
    assert rest.is_possible() == bool(left)
    if not left:
        return
    for smaller in (rest, rest.forced()[0]):
        settled, found = frozenset(smaller.settled.tolist()), {}
        n, n_x = len(smaller.rows), smaller.n_x
        for of_x in itertools.combinations(range(n_x), smaller.quotas[0]):
            for of_y in itertools.combinations(range(n_x, n), smaller.quotas[1]):
                rows = np.array(of_x + of_y, dtype=int)
                if all(((rows >= s.start) & (rows < s.stop)).sum() <= most for s, most in smaller.limits):
                    found[settled | set(smaller.rows[rows].tolist())] = smaller.gain(rows)
        assert found.keys() == left.keys()
        for way, gain in found.items():
            assert abs(gain - left[way]) <= 10 * near


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_a_row_is_settled_if_and_only_if_no_better_choice_says_otherwise(quantile):
    compared = 0
    for seed in range(60):
        choice, ways, _, _, _ = posed(seed, "upper")
        if len(choice.forced()[1]) < len(choice.rows):
            continue  # the relaxations are asked once nothing is forced
        scores = np.random.default_rng(seed).normal(size=len(choice.rows))
        sums = np.array([scores[way].sum() for way in ways])
        proof = choice.score_bound(0.0, scores, np.zeros(len(scores)))
        enough = float(np.quantile(sums, quantile)) + 1e-9
        search = BranchAndBound(None, enough, 0.0, Effort(NO_END))
        chosen, rejected = search._settled(choice, proof)
        put_aside = [-np.inf]
        for row in range(len(scores)):
            has = np.array([row in way for way in ways])
            with_row, without = sums[has].max(initial=-np.inf), sums[~has].max(initial=-np.inf)
            assert chosen[row] == (without <= enough)
            assert rejected[row] == (with_row <= enough and not chosen[row])
            put_aside += [best for best in (with_row, without) if best <= enough]
            compared += 1
        assert search._closed == pytest.approx(max(put_aside), rel=1e-12)
    assert compared > 100


@pytest.mark.parametrize("size", [0.0, 1.0])
def test_ceilings_hold_for_every_choice_and_are_those_of_the_definition(size):
    for seed in range(40):
        choice, ways, gains, near, _ = posed(seed, "upper")
        n, rng = len(choice.rows), np.random.default_rng(seed)
        upper = np.triu(rng.normal(size=(n, n)) * size * np.abs(choice.pairs).max(), 1)
        proof = proved(choice, upper - upper.T, np.zeros(n))
        values = choice.pairs + upper - upper.T
        for row in range(n):
            partners = [values[row, [j for j in way if j != row]].sum() for way in ways if row in way]
            if partners:
                expected = choice.linear[row] + max(partners)
                assert proof.scores[row] >= expected - 10 * near - 1e-12 * np.abs(values).max()
                # The best partners are those of some choice, because any partners within limits are.
                assert proof.scores[row] <= expected + 10 * near + 1e-12 * np.abs(values).max()
        for way, gain in zip(ways, gains, strict=True):
            assert gain <= proof.base + proof.scores[way].sum() + near
        assert max(gains) <= proof.bound + near


def capped_problem(seed):
    """Values without a diagonal; strata, groups, how many partners each row has, and no more of a stratum."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, size=rng.integers(2, 6))
    edges = np.cumsum([0, *sizes])
    groups = np.array([0, len(sizes)]) if seed % 2 else np.array([0, 1, len(sizes)])
    n, stratum = int(edges[-1]), np.repeat(np.arange(len(sizes)), sizes)
    values = rng.choice([rng.normal(size=(n, n)), rng.integers(0, 3, size=(n, n)).astype(float)])
    np.fill_diagonal(values, -np.inf)
    caps = np.repeat([rng.integers(0, sizes + 1)], n, axis=0)
    caps[np.arange(n), stratum] -= 1
    caps = np.clip(caps, 0, np.where(stratum[:, None] == np.arange(len(sizes)), sizes - 1, sizes))
    room = np.array([caps[:, a:b].sum(axis=1) for a, b in itertools.pairwise(groups)]).T
    return values, edges, groups, rng.integers(0, room + 1), caps, rng


@pytest.mark.parametrize("how", CAPPED)
@pytest.mark.parametrize("width", [1e-3, 0.1, 3.0])
@pytest.mark.parametrize("seed", range(12))
def test_capped_shares_add_up_to_the_count_and_sums_are_no_less_than_the_best(how, seed, width):
    values, edges, groups, counts, caps, rng = capped_problem(seed)
    n = len(values)
    thresholds, sums = rng.normal(size=(n, len(edges) - 1)), np.empty(n)
    CAPPED[how](values, edges, groups, counts, caps, width, thresholds, sums)
    for i in range(n):
        limits = [
            (slice(a, b), int(cap)) for (a, b), cap in zip(itertools.pairwise(edges), caps[i], strict=True)
        ]
        left, best, near = (
            within_limits(values[[i]], limits)[0],
            0.0,
            steps.NEARLY + 1e-9 + 40 * n * UNIT / width,
        )
        for g, (a, b) in enumerate(itertools.pairwise(groups)):
            total = 0.0
            for h in range(a, b):
                row = values[i, edges[h] : edges[h + 1]]
                own = sum(min(max((x - thresholds[i, h]) / width + 0.5, 0.0), 1.0) for x in row)
                assert own <= caps[i, h] + near
                total += own
            assert abs(total - counts[i, g]) <= len(edges) * near
            here = np.sort(left[edges[a] : edges[b]])[::-1]
            best += here[: counts[i, g]].sum()
        size = n * (3 * np.abs(values[i][np.isfinite(values[i])]).max(initial=1.0) + width)
        assert best - 40 * n * UNIT * size - near * size <= sums[i] <= best + n * width + near * size


def random_room(choice, rng):
    """Shares within limits that add up to the quotas: a mixture of choices."""
    best = [choice.best_rows(rng.normal(size=len(choice.rows))) for _ in range(3)]
    return rng.dirichlet(np.ones(3)) @ np.array([np.isin(np.arange(len(choice.rows)), rows) for rows in best])


@pytest.mark.parametrize("seed", range(40))
def test_shares_are_brought_to_quotas_and_limits(seed):
    choice, _, _, _, _ = posed(seed, "lower")
    rng = np.random.default_rng(seed)
    share = np.clip(rng.normal(0.5, 0.6, size=len(choice.rows)), 0, 1)
    full = filled(choice, share, rng.normal(size=len(share)))
    assert full.min() >= 0.0
    assert full.max() <= 1.0
    for part, quota in choice.parts():
        assert abs(full[part].sum() - quota) <= 1e-12 * len(share)
    for stratum, most in choice.limits:
        assert full[stratum].sum() <= most + 1e-12 * len(share)


@pytest.mark.parametrize("seed", range(20))
def test_pairwise_steps_end_at_the_best_shares_within_limits(seed):
    rng = np.random.default_rng(seed)
    rows, n = rng.normal(size=(30, 2)), 30
    pairs = -np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    np.fill_diagonal(pairs, 0.0)
    diagonal, linear = np.ones(n), rng.normal(size=n) + np.repeat([0.0, 3.0, 1.0, 0.0], [10, 6, 8, 6])
    limits = ((slice(0, 10), 3), (slice(10, 16), 2), (slice(16, 24), 4), (slice(24, 30), 6))
    nobody = np.empty(0, dtype=np.intp)
    choice = QuotaProblem(
        0.0, linear - 1.0, pairs, np.arange(n), nobody, 10 * (seed % 2), (2 * (seed % 2), 7), limits
    )
    share = random_room(choice, rng)
    gradient = linear + 2 * (pairs @ share - share)
    groups, room = rooms(choice.parts(), choice.limits, share)
    edges, tolerance = np.array([0, 10, 16, 24, 30]), 1e-9
    n_steps = limited_steps(pairs, diagonal, gradient, share, edges, groups, room, tolerance, 100_000)
    assert 0 < n_steps < 100_000
    near = 1e-15 * n_steps * n
    for part, quota in choice.parts():
        assert abs(share[part].sum() - quota) <= near
    for (stratum, most), left in zip(limits, room, strict=True):
        assert left >= 0
        assert abs(share[stratum].sum() + left - most) <= near
    # Nothing admissible lies uphill, and the problem is concave: there are no better shares.
    fresh = linear + 2 * (pairs @ share - share)
    np.testing.assert_allclose(gradient, fresh, rtol=0, atol=10 * near)
    assert choice.top_sum(fresh) - fresh @ share <= 2 * sum(choice.quotas) * tolerance + 100 * near


def test_the_floor_of_a_matrix_is_the_floor_through_sums():
    for seed in range(30):
        choice, _, gains, near, f = posed(seed, "lower", kernel=KERNELS[seed % 5])
        start = Labelling(f, choice.best_rows(choice.linear))
        diagonal = f.c * f.totals.diagonal[start.active]
        proof = Floor(diagonal, np.flatnonzero(start.moved), near).plain(choice, Effort(NO_END))
        shared = SharedRows(start)
        shared.improve(near, Effort(NO_END))
        floor = shared.floor(f)
        assert abs(floor + proof.bound) <= 20 * near
        assert floor <= -max(gains) + near


def one_way(seed, **how):
    """A one-way problem within limits, its largest count, and the values of each count."""
    problem, admissible = limited_problem(seed, at_most=True, two_way=False, **how)
    values = {counts.n_moved: admissible_values(problem, counts) for counts in admissible}
    return problem, admissible[-1], values


@pytest.mark.parametrize("is_dense", [True, False])
@pytest.mark.parametrize("ranked", [1, 64])
def test_no_admissible_labelling_of_any_count_is_below_its_floor(ranked, is_dense, monkeypatch):
    monkeypatch.setattr(ranges, "RANKED", ranked)
    for seed in range(30):
        kernel = None if is_dense else KERNELS[seed % (len(KERNELS) - 1)]
        problem, last, values = one_way(seed, kernel=kernel)
        totals, most = totals_of(problem), last.n_moved
        first = seed % min(2, most + 1)
        found = FloorRange(totals, problem.estimator, (first, most), is_dense=is_dense, movable=last.movable)
        size = np.abs(small_matrix(problem)).max()
        for m in (most, first, *range(first + 2, most, 3)):
            sized = Counts(m, 0, problem.p + m, problem.q - m, movable=last.movable)
            found.solve(found.start(sized), 0.1 * size * (seed % 3), Effort(NO_END))
        near = of_mmd2(problem.p + problem.q, size, smallest=1)
        for m, floor, value in zip(found.counts.tolist(), found.floors, found.values, strict=True):
            assert -np.inf < floor <= values[m].min(), seed
            assert np.abs(values[m] - value).min() <= near, seed  # some admissible labelling has it


def test_rows_join_only_as_far_as_limits_allow():
    left_out = 0
    for seed in range(60):
        problem, last, values = one_way(seed)
        rng, few = np.random.default_rng(seed), max(last.n_moved - 2, 0)
        fewer = Counts(few, 0, problem.p + few, problem.q - few, movable=last.movable)
        totals, side = totals_of(problem), ("lower", "upper")[seed % 2]
        start, end = (
            Labelling(f, leading(Labelling(f), rng.random(len(Labelling(f).sign))))
            for f in (Quadratic(totals, each, problem.estimator) for each in (fewer, last))
        )
        rows = ranges.joining(start, end, side)
        left_out += len(rows) < np.count_nonzero(end.moved & ~start.moved)
        assert len(rows) >= last.n_moved - few
        near = of_mmd2(problem.p + problem.q, np.abs(small_matrix(problem)).max(), smallest=1)
        for m, value in enumerate(ranges.reached(start, end, side), start=few):
            together = np.flatnonzero(start.moved).tolist() + rows[: m - few].tolist()
            sized = Counts(m, 0, problem.p + m, problem.q - m, movable=last.movable)
            assert is_admissible([problem.p + row for row in together], sized, problem.p, problem.q)
            assert np.abs(values[m] - value).min() <= near
    assert left_out > 2


@pytest.mark.parametrize("ranked", [1, 64])
def test_no_admissible_labelling_of_any_count_is_above_its_ceiling(ranked, monkeypatch):
    monkeypatch.setattr(ranges, "RANKED", ranked)
    compared = 0
    for seed in range(40):
        problem, last, values = one_way(seed)
        if last.n_moved < 2:
            continue
        totals, rng, active = (
            totals_of(problem),
            np.random.default_rng(seed),
            last.may_move(problem.p, problem.q),
        )
        pairs = totals.sums.block(active, active)
        multipliers = np.triu(rng.normal(size=pairs.shape) * np.abs(pairs).max() * (seed % 3), 1)
        multipliers -= multipliers.T
        k = np.arange(seed % 2, last.n_moved + 1)
        threshold = rng.normal(size=len(pairs)) * np.abs(pairs).max()
        excess = np.maximum(pairs + multipliers - threshold[:, None], 0.0)
        np.fill_diagonal(excess, 0.0)
        of_pair = ULPS * np.abs(multipliers).max()
        rows = threshold, excess.sum(axis=1), of_pair
        above = ranges.ceilings(totals, problem.estimator, k, *rows, movable=last.movable)
        dense = ranges.dense_ceilings(totals, problem.estimator, k, pairs, multipliers, last.movable)
        for m, one, other in zip(k.tolist(), above, dense, strict=True):
            assert values[m].max() <= min(one, other)
            compared += 1
    assert compared > 60


WRONG = {"lower": (106, 126, 154, 160, 184), "upper": (6, 39, 81, 106, 157)}
"""Problems in which bounds of the largest count, carried over to fewer as if all could move, are wrong."""


@pytest.mark.parametrize("side", WRONG)
def test_one_more_row_at_random_proves_nothing_where_rows_cannot_move(side):
    for seed in WRONG[side]:
        problem, last, values = one_way(seed, estimator="unbiased")
        totals, k, out = totals_of(problem), np.arange(last.n_moved + 1), outwards(side)
        extremes = np.array([out * max(out * values[m]) for m in k.tolist()])
        carried = ranges.from_more(float(extremes[-1]), totals, "unbiased", k)
        assert (out * (extremes - carried) > 1e-6 * np.abs(extremes).max()).any()
        counts = [Counts(m, 0, problem.p + m, problem.q - m, movable=last.movable) for m in k.tolist()]
        found = mb.Sharp(gap=0).both_sides(Task(totals, counts, "unbiased"))[side == "upper"]
        assert out * found.certified >= max(out * extremes)
        assert (
            out * (found.certified - max(out * extremes) * out) <= 1e-9 * np.abs(small_matrix(problem)).max()
        )


def test_limits_are_part_of_what_is_searched():
    movable = Movable(0, 3)
    assert Counts(1, 0, 2, 3, movable=movable) != Counts(1, 0, 2, 3)
    assert replace(Counts(1, 0, 2, 3), movable=movable) == Counts(1, 0, 2, 3, movable=movable)
