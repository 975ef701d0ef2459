"""Quota problems against the definition, and branch and bound against every choice of rows."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmdbounds.objective import Labelling
from mmdbounds.progress import Meter, Stopped
from mmdbounds.search.protocol import outwards
from mmdbounds.search.sharp.ceiling import ceiling
from mmdbounds.search.sharp.floor import Floor, raised
from mmdbounds.search.sharp.quota_problem import (
    BranchAndBound,
    Effort,
    QuotaProblem,
    _size,
    exchanged,
    restricted,
)
from problems import naive_values, quadratic_of, small_choice, small_matrix, small_problem
from tolerances import of_a_sum

seeds = st.integers(0, 2**32 - 1)
NO_END = 1e15


def close(gain, value, problem):
    """Gains add up other numbers than the definition; both are sums of a few hundred kernel values."""
    scale = np.abs(small_matrix(problem)).max()
    np.testing.assert_allclose(gain, value, rtol=0, atol=1e-11 * scale)


def posed(seed, **how):
    problem = small_problem(seed, most=(9, 6), **how)
    side = ["lower", "upper"][seed % 2]
    choice, ways, values = small_choice(problem, side)
    return problem, choice, ways, values * outwards(side)


def test_outwards_makes_either_side_a_maximum():
    assert (outwards("upper"), outwards("lower")) == (1.0, -1.0)


@given(seeds)
def test_the_gain_is_the_value_of_the_labelling(seed):
    problem, choice, ways, gains = posed(seed)
    close([choice.gain(way) for way in ways], gains, problem)
    assert choice.quotas == (problem.counts.n_moved_of_x, problem.counts.n_moved)
    assert choice.n_x == (problem.p if problem.counts.n_moved_of_x else 0)
    np.testing.assert_allclose(
        choice.pairs, choice.pairs.T, rtol=1e-12, atol=1e-15 * np.abs(choice.pairs).max()
    )
    assert not choice.pairs.diagonal().any()


@given(seeds, st.data())
def test_settled_rows_keep_the_gain_of_every_completion(seed, data):
    problem, choice, ways, gains = posed(seed)
    n = len(choice.rows)
    status = np.array(
        data.draw(st.lists(st.sampled_from(["open", "chosen", "rejected"]), min_size=n, max_size=n))
    )
    chosen, rejected = status == "chosen", status == "rejected"
    rest, left = choice.fixed(chosen, rejected)
    assert left.tolist() == np.flatnonzero(status == "open").tolist()
    assert rest.rows.tolist() == choice.rows[left].tolist()
    assert sorted(rest.settled.tolist()) == np.flatnonzero(chosen).tolist()
    assert rest.n_x == np.count_nonzero(left < choice.n_x)
    completions = 0
    for way, gain in zip(ways, gains, strict=True):
        mark = np.isin(np.arange(n), way)
        if mark[chosen].all() and not mark[rejected].any():
            completions += 1
            close(rest.gain(np.flatnonzero(mark[left])), gain, problem)
            here = mark[left]
            assert rest.quotas == (here[: rest.n_x].sum(), here[rest.n_x :].sum())
    assert rest.is_possible() == (completions > 0)


@given(seeds)
def test_settling_twice_is_settling_at_once(seed):
    problem, choice, ways, gains = posed(seed)
    rng = np.random.default_rng(seed)
    place = rng.integers(len(ways))
    way, gain = ways[place], gains[place]
    nobody = np.zeros(len(choice.rows), dtype=bool)
    for row in rng.permutation(choice.rows):
        here = choice.rows == row
        taken = row in way
        choice, _ = choice.fixed(
            here if taken else nobody[: len(here)], nobody[: len(here)] if taken else here
        )
        assert choice.is_possible()
    assert len(choice.rows) == 0
    assert sorted(choice.settled.tolist()) == way.tolist()
    close(choice.constant, gain, problem)


@pytest.mark.parametrize("quota", [0, 5])
@pytest.mark.parametrize("two_way", [True, False])
def test_groups_without_a_choice_are_settled(quota, two_way):
    rng = np.random.default_rng(3)
    n_x, n = (3, 8) if two_way else (0, 5)
    pairs = rng.normal(size=(n, n))
    pairs += pairs.T
    np.fill_diagonal(pairs, 0.0)
    nobody = np.empty(0, dtype=np.intp)
    choice = QuotaProblem(
        1.0, rng.normal(size=n), pairs, np.arange(n), nobody, n_x, (2 if two_way else 0, quota)
    )
    rest, places = choice.forced()
    assert places.tolist() == ([0, 1, 2] if two_way else [])
    assert rest.quotas == (2 if two_way else 0, 0)
    assert rest.settled.tolist() == (list(range(n_x, n)) if quota else [])
    way = [0, 2] if two_way else []
    everyone = np.array(way + (list(range(n_x, n)) if quota else []), dtype=np.intp)
    np.testing.assert_allclose(
        rest.gain(np.array(way, dtype=np.intp)),
        choice.gain(everyone),
        rtol=0,
        atol=of_a_sum(n * n, 1 + np.abs(choice.linear).sum() + np.abs(pairs).sum()),
    )


def test_a_group_with_a_choice_is_left_alone():
    _, choice, _, _ = posed(0, two_way=True)
    rest, places = choice.forced()
    assert rest is choice
    assert places.tolist() == list(range(len(choice.rows)))


def test_quotas_that_cannot_be_met_are_noticed():
    _, choice, _, _ = posed(4, two_way=True)
    n, n_x = len(choice.rows), choice.n_x
    everyone = np.ones(n, dtype=bool)
    of_x = np.arange(n) < n_x
    assert choice.is_possible()
    for chosen, rejected in (
        (of_x, ~everyone),  # too many of X
        (~everyone, of_x),  # too few of X
        (~of_x, ~everyone),
        (~everyone, ~of_x),
    ):
        assert not choice.fixed(chosen, rejected)[0].is_possible()


@given(seeds)
def test_the_best_rows_are_those_of_the_best_sum(seed):
    _, choice, ways, _ = posed(seed)
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=len(choice.rows)), rng.integers(0, 4))  # ties among them
    best = max(scores[way].sum() for way in ways)
    close = of_a_sum(len(scores) + 1, 2.5 + np.abs(scores).sum())
    np.testing.assert_allclose(choice.top_sum(scores), best, rtol=0, atol=close)
    rows = np.sort(choice.best_rows(scores))
    assert any(rows.tolist() == way.tolist() for way in ways)
    np.testing.assert_allclose(scores[rows].sum(), best, rtol=0, atol=close)
    proof = choice.score_bound(2.5, scores, np.zeros(len(scores)), scores)
    np.testing.assert_allclose(proof.bound, 2.5 + best, rtol=0, atol=close)


def test_states_are_cut_to_the_rows_that_are_left():
    vector, matrix = np.arange(4.0), np.arange(16.0).reshape(4, 4)
    one, two = restricted((vector, matrix), np.array([0, 3]))
    assert one.tolist() == [0.0, 3.0]
    assert two.tolist() == [[0.0, 3.0], [12.0, 15.0]]


def test_the_values_used_here_are_those_of_the_definition():
    # `naive_values` is the yardstick of all these tests; one labelling by hand.
    K = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 1.0]])
    marks = np.array([[1.0, 1.0, 0.0]])
    np.testing.assert_allclose(naive_values(K, marks, "biased"), [7 / 4 + 1 - 0.75], rtol=1e-15, atol=0)


def drawn(seed, most=(9, 6), **how):
    """A choice, its ways, their gains by the choice's own account, and what rounding may do."""
    problem = small_problem(seed, most=most, **how)
    side = ["upper", "lower"][seed % 2]
    choice, ways, values = small_choice(problem, side)
    gains = np.array([choice.gain(way) for way in ways])
    rounding = 1e-11 * np.abs(small_matrix(problem)).max()
    np.testing.assert_allclose(gains, outwards(side) * values, rtol=0, atol=rounding)
    return side, choice, ways, gains, rounding


def relaxation(side, choice):
    """The relaxation of a side, made concave for any kernel."""
    if side == "upper":
        return ceiling
    return Floor(raised(choice, np.zeros(len(choice.rows))), np.empty(0, dtype=np.intp), 1e-10)


def weak(choice, gain, enough, effort, state=(), *, is_root=True):
    """The weakest relaxation that is a proof: each row with the best partners, as if for itself alone."""
    scores = choice.linear.copy()
    for i in range(len(scores)):
        for part, quota in choice.parts():
            inside = part.start <= i < part.stop
            others = np.delete(choice.pairs[i, part], i - part.start) if inside else choice.pairs[i, part]
            scores[i] += np.sort(others)[len(others) - (quota - inside) :].sum()
    return choice.score_bound(choice.constant, scores, np.full(len(scores), 0.5))


@settings(max_examples=40)
@given(seeds)
def test_with_no_end_of_work_the_best_choice_is_proved(seed):
    side, choice, ways, gains, rounding = drawn(seed)
    known = float(np.random.default_rng(seed).choice(gains))
    for relax in (relaxation(side, choice), weak):
        proof = BranchAndBound(relax, known, 0.0, Effort(NO_END)).run(choice)
        assert abs(proof.gain - gains.max()) <= rounding
        assert gains.max() <= proof.bound + rounding
        assert proof.bound <= gains.max() + rounding
        if known < gains.max() - rounding:
            assert any(sorted(proof.rows.tolist()) == way.tolist() for way in ways)
            assert abs(choice.gain(np.sort(proof.rows)) - gains.max()) <= rounding


@given(seeds, st.floats(0.0, 0.5), st.sampled_from([1.0, 1e5, 1e6, NO_END]), st.sampled_from([1.0, np.inf]))
def test_with_little_work_room_or_care_the_bound_still_holds(seed, share, limit, room):
    side, choice, _, gains, rounding = drawn(seed)
    known, slack = float(np.median(gains)), share * np.ptp(gains)
    for relax in (relaxation(side, choice), weak):
        proof = BranchAndBound(relax, known, slack, Effort(limit), most_bytes=room).run(choice)
        assert gains.max() <= proof.bound + rounding
        assert known <= proof.gain <= gains.max() + rounding
        if limit == NO_END and room == np.inf:
            assert proof.bound <= proof.gain + slack + rounding


def test_the_choice_known_to_be_best_needs_no_rows():
    _, choice, _, gains, _ = drawn(6)
    proof = BranchAndBound(weak, float(gains.max()) + 1.0, 0.0, Effort(NO_END)).run(choice)
    assert proof.rows is None
    assert proof.gain == gains.max() + 1.0  # of another count, say
    assert proof.bound == proof.gain


@given(seeds, st.floats(0.0, 1.0))
def test_no_better_choice_is_lost_when_rows_are_settled(seed, quantile):
    side, choice, ways, gains, rounding = drawn(seed)
    choice, places = choice.forced()
    if len(choice.rows) < len(places) or len(choice.rows) == 0:
        return
    for relax in (relaxation(side, choice), weak):
        search = BranchAndBound(relax, float(np.quantile(gains, quantile)), 0.0, Effort(NO_END))
        proof = relax(choice, search._gain, search._enough, Effort(NO_END), (), is_root=False)
        chosen, rejected = search._settled(choice, proof)
        assert not (chosen & rejected).any()
        for way, gain in zip(ways, gains, strict=True):
            mark = np.isin(np.arange(len(choice.rows)), way)
            kept = mark[chosen].all() and not mark[rejected].any()
            if gain > search._enough + rounding:
                assert kept
            if not kept:  # what was put aside is accounted for
                assert gain <= search._closed + rounding


def four_rows(*scores):
    """Two of four rows are to be chosen, and each adds its score; the proof says just that."""
    rows, nobody = np.arange(4), np.empty(0, dtype=np.intp)
    choice = QuotaProblem(0.0, np.array(scores), np.zeros((4, 4)), rows, nobody, 0, (0, 2))
    return choice, choice.score_bound(0.0, choice.linear, np.zeros(4))


@pytest.mark.parametrize(
    ("scores", "gain", "chosen", "rejected", "closed"),
    [
        # The bound is 5. A choice with the last row has at most 3 + 0, one without the first at most 2 + 1.
        ((3.0, 2.0, 1.0, 0.0), 2.9, [], [], -np.inf),
        ((3.0, 2.0, 1.0, 0.0), 3.0, [0], [3], 3.0),
        ((3.0, 2.0, 1.0, 0.0), 3.9, [0], [3], 3.0),
        ((3.0, 2.0, 1.0, 0.0), 4.0, [0, 1], [2, 3], 4.0),
        # With the last row at most 3 - 1: what is put aside is at most 3, what lacks the first row.
        ((3.0, 2.0, 1.0, -1.0), 3.0, [0], [3], 3.0),
        # Without the first at most 2 + 1, with the last at most 3.5.
        ((3.5, 2.0, 1.0, 0.0), 3.5, [0], [3], 3.5),
    ],
)
def test_rows_are_settled_as_soon_as_they_may_be(scores, gain, chosen, rejected, closed):
    for slack in (0.0, 1.0):
        search = BranchAndBound(weak, gain - slack, slack, Effort(NO_END))
        marks = search._settled(*four_rows(*scores))
        assert [np.flatnonzero(mark).tolist() for mark in marks] == [chosen, rejected]
        assert search._closed == closed


def test_the_search_ends_where_its_room_or_work_does():
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=(14, 14))
    pairs += pairs.T
    np.fill_diagonal(pairs, 0.0)
    nobody = np.empty(0, dtype=np.intp)
    choice = QuotaProblem(0.0, np.zeros(14), pairs, np.arange(14), nobody, 0, (0, 7))
    best = max(choice.gain(np.array(way)) for way in combinations(range(14), 7))

    def run(limit, room):
        return BranchAndBound(weak, -np.inf, 0.0, Effort(limit), most_bytes=room).run(choice)

    whole, spent, narrow = run(NO_END, np.inf), run(1.0, np.inf), run(NO_END, 1.0)
    some = run(2e5, np.inf)
    assert whole.n_nodes > 10
    assert whole.bound == pytest.approx(best, rel=1e-12)
    assert spent.n_nodes == narrow.n_nodes == 0
    assert 0 < some.n_nodes < whole.n_nodes
    assert best < some.bound <= spent.bound == narrow.bound
    search = BranchAndBound(weak, -np.inf, 0.0, Effort(2e5), most_bytes=1e9)
    assert search.run(choice).n_nodes == some.n_nodes
    held = sum(_size(left, proof) for *_, left, proof in search._open)
    assert 1e9 - search._bytes_left == held > 0  # what was looked at is not held any more


def test_what_the_relaxation_suggests_is_improved_and_used():
    called = 0
    for seed in range(30):
        side, choice, ways, gains, rounding = drawn(seed)
        best, calls = ways[int(np.argmax(gains))], []

        def improve(rows, choice=choice, ways=ways, best=best, calls=calls):
            assert any(sorted(rows.tolist()) == way.tolist() for way in ways)
            calls.append(rows)
            return choice.gain(best), best

        # No work beyond the first relaxation: whatever is better has been suggested.
        proof = BranchAndBound(
            relaxation(side, choice), float(gains.min()), 0.0, Effort(1.0), improve, most_bytes=1.0
        ).run(choice)
        called += len(calls)
        if calls:
            assert abs(proof.gain - gains.max()) <= rounding
            if proof.rows is not None:
                assert abs(choice.gain(np.sort(proof.rows)) - gains.max()) <= rounding
    assert called > 20


def test_bounds_of_parents_hold_for_their_parts():
    # A relaxation that forgets all it knew below the root must not loosen what is proved there.
    side, choice, _, gains, rounding = drawn(12)
    sharp = relaxation(side, choice)

    def forgetful(part, gain, enough, effort, state=(), *, is_root):
        proof = sharp(part, gain, enough, effort, (), is_root=is_root)
        return (
            proof
            if is_root
            else part.score_bound(part.constant + 1e3, proof.scores, proof.share, *proof.state)
        )

    root = sharp(choice, float(gains.min()), -np.inf, Effort(NO_END), (), is_root=True)
    proof = BranchAndBound(forgetful, float(gains.min()), 0.0, Effort(3e6)).run(choice)
    assert gains.max() <= proof.bound + rounding
    assert proof.bound <= root.bound + rounding


def test_ties_everywhere_come_to_an_end():
    side, choice, _, gains, rounding = drawn(1, most=(8, 5), kernel="rbf", two_way=False)
    n = len(choice.rows)
    even = QuotaProblem(
        0.0, np.ones(n), np.ones((n, n)) - np.eye(n), choice.rows, choice.settled, 0, choice.quotas
    )
    for relax in (ceiling, weak, relaxation("lower", even)):
        m = choice.quotas[1]
        proof = BranchAndBound(relax, 0.0, 0.0, Effort(NO_END)).run(even)
        assert proof.gain == m * m
        assert proof.bound == pytest.approx(m * m, rel=1e-9)
    assert side
    assert rounding < np.ptp(gains)


def test_work_is_counted_and_a_stopped_meter_ends_it():
    effort = Effort(100.0)
    effort.spend(40.0)
    assert effort.left == 60.0
    assert not effort.is_spent
    effort.spend(60.0)
    assert effort.is_spent
    meter = Meter()
    watched = Effort(10.0, meter)
    meter.stop()
    with pytest.raises(Stopped, match=r"^$"):
        watched.spend(1.0)


@pytest.mark.parametrize("two_way", [False, True])
def test_the_gain_is_the_same_by_those_that_stay(two_way):
    n_flipped = 0
    for seed in range(40):
        problem = small_problem(seed, two_way=two_way)
        of_movers = QuotaProblem.of(Labelling(quadratic_of(problem)), "upper")
        of_others, flipped = of_movers.by_those_that_stay()
        n_flipped += flipped.any()
        for part, quota in of_others.parts():
            assert 2 * quota <= part.stop - part.start
        rng = np.random.default_rng(seed)
        moved = of_movers.best_rows(rng.random(len(flipped)))
        chosen = exchanged(moved, flipped)
        np.testing.assert_array_equal(np.sort(moved), exchanged(chosen, flipped))
        size = np.abs(of_movers.pairs).sum() + np.abs(of_movers.linear).sum() + abs(of_movers.constant)
        assert of_others.gain(chosen) == pytest.approx(of_movers.gain(moved), rel=0, abs=1e-14 * size)
    assert n_flipped >= 10
