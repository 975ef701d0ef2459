"""Squares leave a bound a bound: on all choices of small problems, and in exact arithmetic."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmdbounds.search.sharp import ceiling as ceilings
from mmdbounds.search.sharp.ceiling import ceiling, most_negative, with_squares
from mmdbounds.search.sharp.quota_problem import BranchAndBound, Effort
from problems import small_choice, small_matrix, small_problem
from tolerances import UNIT

seeds = st.integers(0, 2**32 - 1)
NO_END = 1e15


@pytest.fixture
def always(monkeypatch):
    """Squares however few the rows are."""
    monkeypatch.setattr(ceilings, "SQUARED_ROWS", 0)


def posed(seed, **how):
    problem = small_problem(seed, most=(9, 6), **how)
    return problem if problem.counts.n_moved else small_problem(seed, most=(9, 6), two_way=False)


def drawn(seed, **how):
    return small_choice(posed(seed, **how), "upper")


def exact_gain(choice, way):
    pairs = sum(Fraction(choice.pairs[i, j]) for i in way for j in way if i != j)
    return Fraction(choice.constant) + sum(Fraction(choice.linear[i]) for i in way) + pairs


@given(seeds)
def test_every_choice_gains_the_squares_and_rounding_takes_nothing_away(seed):
    choice, ways, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    way = ways[rng.integers(len(ways))]
    vectors = rng.normal(size=(len(choice.rows), 3)) * np.sqrt(np.abs(choice.pairs).max())
    vectors[way] -= vectors[way].mean(axis=0)  # the squares of one choice vanish: there rounding is all
    raised = with_squares(choice, vectors)
    for other in (way, *ways[:20]):
        gained = exact_gain(raised, other) - exact_gain(choice, other)
        squares = sum(sum(Fraction(vectors[i, k]) for i in other) ** 2 for k in range(3))
        size = np.abs(raised.pairs).max() + np.abs(raised.linear).max() + abs(choice.constant)
        assert 0 <= gained - squares <= 1e3 * UNIT * size * len(other) ** 2
    assert not raised.pairs.diagonal().any()


@pytest.mark.parametrize("n", [5, 40, 300])
def test_vectors_lie_below_zero_and_reach_nearly_the_lowest_eigenvalue(n):
    rng = np.random.default_rng(n)
    matrix = rng.normal(size=(n, n))
    matrix = matrix + matrix.T
    values, vectors = most_negative(matrix)
    tolerance = 100 * n * UNIT * np.abs(matrix).sum(axis=1).max()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), rtol=0, atol=100 * n * UNIT)
    np.testing.assert_allclose(np.diag(vectors.T @ matrix @ vectors), values, rtol=0, atol=tolerance)
    assert (values < 0).all()
    lowest = np.linalg.eigvalsh(matrix)[0]
    assert lowest - tolerance <= values[0] <= 0.7 * lowest
    assert len(most_negative(matrix @ matrix + np.eye(n))[0]) == 0


@pytest.mark.parametrize("two_way", [False, True])
@pytest.mark.usefixtures("always")
def test_with_squares_the_bound_holds_and_is_tighter(monkeypatch, two_way):
    plain, squared = [], []
    for seed in range(25):
        choice, ways, values = drawn(seed, two_way=two_way)
        tolerance = 1e-12 * np.abs(small_matrix(posed(seed, two_way=two_way))).max()
        found = ceiling(choice, values.max(), values.max(), Effort(NO_END))
        assert found.bound >= values.max() - tolerance
        for way, gain in zip(ways, values, strict=True):
            assert gain <= found.base + found.scores[way].sum() + tolerance
        squared.append(found.bound - values.max())
        with monkeypatch.context() as without:
            without.setattr(ceilings, "SQUARED_ROWS", 100)
            plain.append(ceiling(choice, values.max(), values.max(), Effort(NO_END)).bound - values.max())
    assert sum(squared) < 0.8 * sum(plain)


@pytest.mark.usefixtures("always")
def test_squares_of_the_wrong_sign_would_give_a_wrong_bound(monkeypatch):
    def lowered(problem, vectors):
        raised = with_squares(problem, vectors)
        return replace(
            raised, linear=2 * problem.linear - raised.linear, pairs=2 * problem.pairs - raised.pairs
        )

    monkeypatch.setattr(ceilings, "with_squares", lowered)
    wrong = 0
    for seed in range(25):
        choice, _, values = drawn(seed)
        found = ceiling(choice, values.max() - np.ptp(values), -np.inf, Effort(1e9))
        wrong += found.bound < values.max() - 1e-9 * np.abs(values).max()
    assert wrong > 0


@given(seeds)
def test_branches_of_a_problem_with_squares_find_the_extreme(seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ceilings, "SQUARED_ROWS", 0)
        choice, _, values = drawn(seed)
        start = values.min()  # as if nothing good were known
        proof = BranchAndBound(ceiling, start, 0.0, Effort(NO_END), climbs=bool(seed % 2)).run(choice)
    tolerance = 1e-11 * np.abs(small_matrix(posed(seed))).max()
    np.testing.assert_allclose([proof.bound, proof.gain], values.max(), rtol=0, atol=tolerance)
    if proof.rows is not None:
        np.testing.assert_allclose(choice.gain(proof.rows), proof.gain, rtol=0, atol=tolerance)
