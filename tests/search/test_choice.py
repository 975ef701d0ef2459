"""The choice of movers against the definition: its gain is the squared MMD, whatever is settled first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmdbounds.search.choice import Choice, kept, largest_places, largest_sums, outwards, relaxed
from problems import naive_values, small_choice, small_matrix, small_problem
from tolerances import of_a_sum

seeds = st.integers(0, 2**32 - 1)


def close(gain, value, problem):
    """Gains add up other numbers than the definition; both are sums of a few hundred kernel values."""
    scale = np.abs(small_matrix(problem)).max()
    np.testing.assert_allclose(gain, value, rtol=0, atol=1e-11 * scale)


def drawn(seed, **how):
    problem = small_problem(seed, most=(9, 6), **how)
    side = ["lower", "upper"][seed % 2]
    choice, ways, values = small_choice(problem, side)
    return problem, choice, ways, values * outwards(side)


def test_outwards_makes_either_side_a_maximum():
    assert (outwards("upper"), outwards("lower")) == (1.0, -1.0)


@given(seeds)
def test_the_gain_is_the_value_of_the_labelling(seed):
    problem, choice, ways, gains = drawn(seed)
    close([choice.gain(way) for way in ways], gains, problem)
    assert choice.quotas == (problem.counts.n_moved_of_x, problem.counts.n_moved)
    assert choice.n_x == (problem.p if problem.counts.n_moved_of_x else 0)
    np.testing.assert_allclose(
        choice.pairs, choice.pairs.T, rtol=1e-12, atol=1e-15 * np.abs(choice.pairs).max()
    )
    assert not choice.pairs.diagonal().any()


@given(seeds, st.data())
def test_settled_rows_keep_the_gain_of_every_completion(seed, data):
    problem, choice, ways, gains = drawn(seed)
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
    problem, choice, ways, gains = drawn(seed)
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
    choice = Choice(1.0, rng.normal(size=n), pairs, np.arange(n), nobody, n_x, (2 if two_way else 0, quota))
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
    _, choice, _, _ = drawn(0, two_way=True)
    rest, places = choice.forced()
    assert rest is choice
    assert places.tolist() == list(range(len(choice.rows)))


def test_quotas_that_cannot_be_met_are_noticed():
    _, choice, _, _ = drawn(4, two_way=True)
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
    _, choice, ways, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=len(choice.rows)), rng.integers(0, 4))  # ties among them
    best = max(scores[way].sum() for way in ways)
    close = of_a_sum(len(scores) + 1, 2.5 + np.abs(scores).sum())
    np.testing.assert_allclose(choice.top_sum(scores), best, rtol=0, atol=close)
    rows = np.sort(choice.best_rows(scores))
    assert any(rows.tolist() == way.tolist() for way in ways)
    np.testing.assert_allclose(scores[rows].sum(), best, rtol=0, atol=close)
    proof = relaxed(choice, 2.5, scores, np.zeros(len(scores)), scores)
    np.testing.assert_allclose(proof.bound, 2.5 + best, rtol=0, atol=close)


@given(st.integers(1, 6), st.integers(1, 7), st.data())
def test_largest_entries_of_each_row(n_rows, n_columns, data):
    count = data.draw(st.integers(0, n_columns))
    values = np.random.default_rng(n_rows).integers(-3, 4, size=(n_rows, n_columns)).astype(float)
    sums, places = largest_sums(values, count), largest_places(values, count)
    assert places.shape == (n_rows, count)
    for row, total, where in zip(values, sums, places, strict=True):
        assert total == sum(sorted(row)[n_columns - count :])
        assert len(set(where.tolist())) == count
        assert row[where].sum() == total


def test_states_are_cut_to_the_rows_that_are_left():
    vector, matrix = np.arange(4.0), np.arange(16.0).reshape(4, 4)
    one, two = kept((vector, matrix), np.array([0, 3]))
    assert one.tolist() == [0.0, 3.0]
    assert two.tolist() == [[0.0, 3.0], [12.0, 15.0]]


def test_the_values_used_here_are_those_of_the_definition():
    # `naive_values` is the yardstick of all these tests; one labelling by hand.
    K = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 1.0]])
    marks = np.array([[1.0, 1.0, 0.0]])
    np.testing.assert_allclose(naive_values(K, marks, "biased"), [7 / 4 + 1 - 0.75], rtol=1e-15, atol=0)
