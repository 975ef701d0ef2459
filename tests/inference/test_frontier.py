"""The frontier of misfiling both ways against every pair of counts and every labelling of each."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import mmdbounds as mb
from inference import reference
from limited_problems import random_movable, stated
from problems import Counts, small_problem

from .test_size_range import few_of

pytestmark = pytest.mark.usefixtures("drawn")

N_PERMUTATIONS, LEVEL = 39, 0.2
SHARES, MOST = [0.0, 0.15, 0.3, 0.45], 0.5  # tried both ways
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(40, 2)), rng.normal(1.2, 1.0, size=(50, 2))


def swept(problem, seed, shares, y_in_x, **more):
    return mb.sweep(
        problem.X,
        problem.Y,
        epsilons=shares,
        y_in_x=y_in_x,
        level=LEVEL,
        n_permutations=N_PERMUTATIONS,
        rng=seed,
        **reference.options(problem),
        **more,
    )


def broken_pairs(problem, seed, movable=None):
    """The shares of all pairs of counts with a labelling whose p-value exceeds the level."""
    p, q, least = problem.p, problem.q, 2 if problem.estimator == "unbiased" else 1
    most = (q, p) if movable is None else (movable.most_of_y, movable.most_of_x)
    permutations = reference.drawn(problem, N_PERMUTATIONS, seed)
    for m, m_d in itertools.product(range(most[0] + 1), range(most[1] + 1)):
        n_x, n_y = p + m - m_d, q - m + m_d
        if min(n_x, n_y) >= least and Fraction(m, n_x) + Fraction(m_d, n_y) < 1:
            counts = Counts(m, m_d, n_x, n_y, movable=movable)
            if max(reference.every_pvalue(problem, counts, permutations)) > LEVEL:
                yield Fraction(m, n_x), Fraction(m_d, n_y)


def made(seed):
    """A small problem; every other one has a difference that survives something."""
    problem = small_problem(seed + 30, two_way=True, most=(9, 6))
    if seed % 2 == 0:
        return problem
    apart = np.repeat([[0.0], [3.0]], [problem.p, problem.q], axis=0)
    groups = np.split(problem.Z[:, :1] * 0.1 + apart, [problem.p])
    return type(problem)(*groups, mb.kernels.RBF(1.0), problem.estimator, problem.counts)


@pytest.mark.parametrize("seed", few_of(30))
def test_is_the_first_share_with_which_some_pair_breaks(seed):
    problem = made(seed)
    check(swept(problem, seed, SHARES, MOST), broken_pairs(problem, seed))


@pytest.mark.parametrize("seed", few_of(60))
def test_rows_that_cannot_move_do_not_and_limits_are_kept(seed):
    problem = made(seed)
    movable = random_movable(problem.p, problem.q, np.random.default_rng(seed))
    which = mb.Contamination(**stated(movable, problem.p, problem.q))
    check(swept(problem, seed, SHARES, MOST, which=which), broken_pairs(problem, seed, movable))


def check(result, broken):
    """No point beyond what is true, and exactly there where the proof is tight."""
    broken, y_in_x = list(broken), MOST
    for point in result.points:
        first = min((y for x, y in broken if x <= Fraction(str(point.epsilon))), default=1)
        expected = None if first > y_in_x else float(first)
        if point.breakdown_y_in_x is None:  # none is known up to what was asked for
            assert first > y_in_x
        else:
            assert point.breakdown_y_in_x <= float(first) + 1e-9  # never beyond what is true
        if point.is_tight:
            assert point.breakdown_y_in_x == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_robust_test_agrees_on_both_sides(epsilon):
    [point] = mb.sweep(X, Y, epsilons=[epsilon], y_in_x=0.4, n_permutations=199, rng=0).points
    assert point.is_tight
    for y_in_x, survives in ((point.y_in_x, True), (point.breakdown_y_in_x, False)):
        both_ways = mb.Contamination(epsilon, y_in_x=y_in_x)
        tested = mb.robust_test(X, Y, both_ways, n_permutations=199, rng=0)
        assert tested.is_valid
        assert (tested.pvalue <= 0.05) == survives


def test_it_falls_and_ends_with_the_one_way_breakdown():
    result = mb.sweep(X, Y, y_in_x=0.4, n_permutations=199, rng=0)
    one_way = mb.sweep(X, Y, epsilons=[0.5], n_permutations=199, rng=0)
    shares = [point.y_in_x for point in result.points]
    assert shares[-1] is None
    assert result.points[-1].epsilon == pytest.approx(one_way.breakdown_epsilon)
    assert all(a >= b for a, b in itertools.pairwise(shares[:-1]))


def test_more_than_half_can_be_tried_both_ways_and_one_way():
    far = np.concatenate([np.zeros((30, 1)), np.linspace(0, 0.1, 30)[:, None]])
    A, B = far[:30], 100 + far[30:]
    [point] = mb.sweep(A, B, epsilons=[0.3], y_in_x=0.55, n_permutations=19, level=0.2, rng=0).points
    assert point.y_in_x <= 0.55
    assert mb.sweep(X[:20], Y, epsilons=[0.54], n_permutations=19, rng=0).most_moved == 23


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y_in_x": 1.0}, r"^`y_in_x` must be in \[0, 1\); got 1\."),
        (
            {"y_in_x": 0.6, "epsilons": [0.1, 0.4]},
            r"^the largest of `epsilons` and `y_in_x` must add up to less than 1, .* got 0\.4 and 0\.6\.$",
        ),
        (
            {"y_in_x": 0.1, "value": 0.2},
            r"^`value` is for the one-way curve; got 0\.2 with a `y_in_x` of 0\.1",
        ),
        ({"y_in_x": 0.1, "exactly": True}, r"^`exactly` is for the one-way curve; got True with"),
        ({"epsilons": [mb.Contamination(0.1, y_in_x=0.1)]}, r"give `y_in_x` too\.$"),
        (
            {"exactly": True, "which": mb.Contamination(may_move=np.arange(50) > 9, exactly=False)},
            r"^`exactly` must not contradict `which`; got True and False\.",
        ),
    ],
)
def test_refusals(options, message):
    with pytest.raises(mb.MmdBoundsError, match=message):
        mb.sweep(X, Y, **options)


def test_without_a_proof_there_is_no_frontier(monkeypatch):
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", 0)
    with pytest.raises(
        mb.MmdBoundsError, match=r"^`y_in_x` needs a positive definite kernel with 90 rows; got"
    ):
        mb.sweep(X, Y, y_in_x=0.1, kernel=lambda A, B: A @ B.T, rng=0)


def test_sentences_and_what_is_saved():
    result = mb.sweep(X, Y, epsilons=[0.0, 0.1], y_in_x=0.4, n_permutations=99, rng=0)
    text, (first, last) = " ".join(result.summary().split()), result.points
    assert text.startswith(
        "Tried: up to 10 % of the true X rows filed under Y and, at the same time, up to 40 %"
    )
    assert "At the 5 % level the groups differ even if none of the true X rows and up to" in text
    assert "Beyond the shares below, the difference could be an artefact of the filing." in text
    assert f" {last.n_moved} " in text
    assert repr(result).startswith(f"FrontierResult(2 points from 0 and {first.y_in_x:.4g} to 0.1 and ")
    again = mb.results.FrontierResult.from_dict(result.to_dict())
    assert again.to_json() == result.to_json()
    nothing = mb.sweep(X, X + 1e-9, epsilons=[0.1], y_in_x=0.1, n_permutations=19, rng=0)
    assert "no difference is shown even with 10 % misfiled one way" in " ".join(nothing.summary().split())
    assert nothing.points[0].y_in_x is None
