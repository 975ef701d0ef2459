"""The ceiling against its formula as loops, with any multipliers; and valid at every step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmdbounds.objective import Labelling
from mmdbounds.search.protocol import outwards
from mmdbounds.search.sharp.ceiling import _Walk, ceiling
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem
from problems import (
    naive_extension,
    naive_gradient,
    quadratic_of,
    random_problem,
    small_choice,
    small_matrix,
    small_problem,
)

seeds = st.integers(0, 2**32 - 1)
NO_END = 1e15


def naive_scores(K, problem, multipliers, side="upper"):
    """r_i of section 5 of the notes for every row that may move, row by row, and f(u0)."""
    counts, p, n = problem.counts, problem.p, len(K)
    out = outwards(side)
    u0 = (np.arange(n) < p).astype(float)
    g = naive_gradient(K, u0, counts, problem.estimator)
    c = sum(curvature(counts, problem.estimator))
    first = 0 if counts.n_moved_of_x else p
    quotas = {"X": counts.n_moved_of_x, "Y": counts.n_moved}
    r = []
    for i in range(first, n):
        sign_i, group_i = (-1, "X") if i < p else (1, "Y")
        a_i = out * (sign_i * g[i] + c * K[i, i])
        for group, rows in (("X", range(first, p)), ("Y", range(p, n))):
            w = [
                out * c * sign_i * (-1 if j < p else 1) * K[i, j] + multipliers[i - first, j - first]
                for j in rows
                if j != i
            ]
            k = quotas[group] - (group == group_i)
            a_i += sum(sorted(w)[len(w) - k :])
        r.append(a_i)
    return np.array(r), out * naive_extension(K, u0, counts, problem.estimator)


def curvature(counts, estimator):
    """The three parts of c: what the three means of the definition say of u'Ku."""
    o = 1 if estimator == "unbiased" else 0
    n_x, n_y = counts.n_x, counts.n_y
    return 1 / (n_x * (n_x - o)), 1 / (n_y * (n_y - o)), 2 / (n_x * n_y)


def naive_ceiling(K, problem, multipliers, side="upper"):
    r, filed = naive_scores(K, problem, multipliers, side)
    n_x = len(r) - problem.q
    of_x, of_y = sorted(r[:n_x]), sorted(r[n_x:])
    counts = problem.counts
    return filed + sum(of_y[len(of_y) - counts.n_moved :]) + sum(of_x[len(of_x) - counts.n_moved_of_x :])


def antisymmetric(n, scale, seed):
    matrix = scale * np.random.default_rng(seed).normal(size=(n, n))
    return matrix - matrix.T


def drawn(seed, **how):
    """A small problem in which every group has something to choose."""
    problem = small_problem(seed, most=(9, 6), **how)
    if problem.counts.n_moved == 0:
        problem = small_problem(seed, most=(9, 6), two_way=False)
    return problem


@given(seeds, st.floats(0.0, 2.0))
def test_any_multipliers_give_the_bound_of_the_formula(seed, size):
    problem, side = drawn(seed), ["upper", "lower"][seed % 2]
    K = small_matrix(problem)
    choice, ways, values = small_choice(problem, side)
    scale = np.abs(choice.pairs).max()
    multipliers = antisymmetric(len(choice.rows), size * scale, seed)
    found = ceiling(choice, -np.inf, np.inf, Effort(NO_END), (multipliers,))
    tolerance = 1e-11 * max(np.abs(K).max(), len(ways[0]) ** 2 * np.abs(multipliers).max())
    r, _ = naive_scores(K, problem, multipliers, side)
    np.testing.assert_allclose(found.scores, r, rtol=0, atol=tolerance)
    np.testing.assert_allclose(
        found.bound, naive_ceiling(K, problem, multipliers, side), rtol=0, atol=tolerance
    )
    gains = outwards(side) * values
    for way, gain in zip(ways, gains, strict=True):  # every choice's gain is at most the sum of its scores
        assert gain <= found.base + found.scores[way].sum() + tolerance
    np.testing.assert_array_equal(found.state[0], multipliers)


def rounding_of(problem):
    """How far rounding can move a ceiling: sums of some hundred terms of the size of kernel values."""
    return 1e-12 * np.abs(small_matrix(problem)).max()


def antisymmetry(multipliers):
    return np.abs(multipliers + multipliers.T).max()


def test_multipliers_stay_antisymmetric_to_the_last_bit():
    moved = 0
    for seed in range(40):
        choice, _, values = small_choice(drawn(seed), "upper")
        found = ceiling(choice, values.max(), -np.inf, Effort(NO_END))
        assert antisymmetry(found.state[0]) == 0.0, seed
        moved += found.state[0].any()
    assert moved > 20


@pytest.mark.parametrize("two_way", [False, True])
def test_the_bound_holds_after_every_step_and_falls(monkeypatch, two_way):
    left = []
    for seed in range(60):
        problem = drawn(seed, two_way=two_way)
        choice, _, values = small_choice(problem, "upper")
        tolerance = rounding_of(problem)
        bounds = []
        for steps in (0, 1, 2, 3, 5, 10, 30, 100):
            monkeypatch.setattr("mmdbounds.search.sharp.ceiling.ROOT_STEPS", steps)
            found = ceiling(choice, values.max(), values.max(), Effort(NO_END))
            assert found.bound >= values.max() - tolerance
            bounds.append(found.bound)
            assert antisymmetry(found.state[0]) <= 1e-12 * np.abs(choice.pairs).max()
            again = ceiling(choice, -np.inf, np.inf, Effort(NO_END), found.state)  # the state proves it
            np.testing.assert_allclose(again.bound, found.bound, rtol=0, atol=tolerance)
        assert max(bounds) == bounds[0]
        if bounds[0] - values.max() > tolerance:
            left.append((bounds[-1] - values.max()) / (bounds[0] - values.max()))
    assert len(left) > 20
    assert np.median(left) < 0.2  # of what the first bound leaves, half of the problems keep less


@pytest.mark.parametrize("two_way", [False, True])
def test_without_antisymmetry_the_bound_would_be_wrong(monkeypatch, two_way):
    # What the test above would notice: multipliers that are lowered and not raised in return.
    found = _Walk.found

    def one_sided(walk, bound):
        made = found(walk, bound)
        return made._replace(multipliers=made.multipliers - np.abs(walk._problem.pairs).max())

    wrong = 0
    for seed in range(60):
        problem = drawn(seed, two_way=two_way)
        choice, _, values = small_choice(problem, "upper")
        tolerance = rounding_of(problem)
        assert ceiling(choice, values.max(), -np.inf, Effort(NO_END)).bound >= values.max() - tolerance
        with monkeypatch.context() as broken:
            broken.setattr(_Walk, "found", one_sided)
            wrong += ceiling(choice, values.max(), -np.inf, Effort(NO_END)).bound < values.max() - tolerance
    assert wrong > 20


def test_a_bound_that_is_enough_or_an_effort_that_is_spent_ends_the_steps():
    choice, _, values = small_choice(drawn(3), "upper")
    at_once = ceiling(choice, values.max(), np.inf, Effort(NO_END))
    assert not at_once.state[0].any()
    effort = Effort(1.0)
    spent = ceiling(choice, values.max(), -np.inf, effort)
    assert effort.is_spent
    assert spent.bound == at_once.bound


def test_threads_do_not_change_a_bit(monkeypatch):
    problem = random_problem(3, kernel="rbf", two_way=True)
    choice = QuotaProblem.of(Labelling(quadratic_of(problem)), "upper")
    alone = ceiling(choice, 0.0, -np.inf, Effort(NO_END))
    monkeypatch.setattr("mmdbounds.search.sharp.ceiling.THREADED_ROWS", 0)
    monkeypatch.setattr("mmdbounds.search.sharp.ceiling.STRIP", 3)
    monkeypatch.setenv("MMDBOUNDS_NUM_THREADS", "3")
    shared = ceiling(choice, 0.0, -np.inf, Effort(NO_END))
    np.testing.assert_array_equal(shared.state[0], alone.state[0])
    assert shared.bound == alone.bound


def test_nodes_take_fewer_steps(monkeypatch):
    monkeypatch.setattr("mmdbounds.search.sharp.ceiling.NODE_STEPS", 0)
    choice, _, values = small_choice(drawn(3), "upper")
    found = ceiling(choice, values.max(), -np.inf, Effort(NO_END), is_root=False)
    assert not found.state[0].any()


def test_the_state_given_is_not_changed():
    choice, _, values = small_choice(drawn(3), "upper")
    multipliers = antisymmetric(len(choice.rows), np.abs(choice.pairs).max(), 0)
    before = multipliers.copy()
    first = ceiling(choice, values.max(), -np.inf, Effort(NO_END), (multipliers,))
    kept = first.state[0].copy()
    ceiling(choice, values.max(), -np.inf, Effort(NO_END), first.state)
    np.testing.assert_array_equal(multipliers, before)
    np.testing.assert_array_equal(first.state[0], kept)


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_one_row_to_move_is_bounded_exactly(side):
    for seed in range(40):
        problem = small_problem(seed, two_way=False)
        if problem.counts.n_moved != 1:
            continue
        choice, _, values = small_choice(problem, side)
        found = ceiling(choice, -np.inf, np.inf, Effort(NO_END))
        best = (outwards(side) * values).max()
        np.testing.assert_allclose(
            found.bound, best, rtol=0, atol=1e-12 * np.abs(small_matrix(problem)).max()
        )
        assert choice.gain(choice.best_rows(found.scores)) == pytest.approx(best, rel=1e-9, abs=1e-12)


def test_two_way_with_all_of_y_moved():
    # Every row of Y moves, so that the choice is among the rows of X alone.
    problem = small_problem(11, two_way=True, kernel="rbf", estimator="biased")
    p, q = problem.p, problem.q
    counts = type(problem.counts)(q, 2, p + q - 2, 2)
    problem = type(problem)(problem.X, problem.Y, problem.kernel, "biased", counts)
    _, _, values = small_choice(problem, "upper")
    choice, _ = QuotaProblem.of(Labelling(quadratic_of(problem)), "upper").forced()
    assert choice.quotas == (2, 0)
    assert ceiling(choice, values.max(), values.max(), Effort(NO_END)).bound >= values.max() - 1e-12
