"""Limited odds: the polytope, both ends against naive solutions, and the value of simulated populations."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import MmdBoundsError
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.search.hidden_weights import Weights
from mmdbounds.search.odds import Ranges

ESTIMATORS = ("unbiased", "biased")
ROUNDING = 1e-12  # values are sums of a few hundred kernel values of at most 1


def naive_kernel(A: np.ndarray, B: np.ndarray, bandwidth: float) -> np.ndarray:
    return np.array([[math.exp(-((a - b) ** 2).sum() / (2 * bandwidth**2)) for b in B] for a in A])


class Naive:
    """The definition: embeddings A mu_X - B mu_Y + C sum w k(x, .) / p, as weights of rows, squared."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, m: int, estimator: str, bandwidth: float = 1.0) -> None:
        self.p, self.q, self.o = len(X), len(Y), int(estimator == "unbiased")
        self.xx, self.xy, self.yy = (naive_kernel(*pair, bandwidth) for pair in ((X, X), (X, Y), (Y, Y)))
        epsilon, eta = m / (self.p + m), m / self.q
        self.A, self.B = 1 - epsilon, 1 / (1 - eta)
        self.C = epsilon + eta / (1 - eta)

    def value(self, w: np.ndarray) -> float:
        of_x, of_y = (self.A + self.C * w) / self.p, self.B / self.q
        pairs = [(i, j) for i in range(self.p) for j in range(self.p) if not (self.o and i == j)]
        within_x = sum(of_x[i] * of_x[j] * self.xx[i, j] for i, j in pairs) * self.p / (self.p - self.o)
        pairs = [(i, j) for i in range(self.q) for j in range(self.q) if not (self.o and i == j)]
        within_y = sum(of_y**2 * self.yy[i, j] for i, j in pairs) * self.q / (self.q - self.o)
        return within_x + within_y - 2 * of_y * sum(of_x[i] * self.xy[i].sum() for i in range(self.p))

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """For many weights at once, one row each."""
        of_x, scale = (self.A + self.C * w) / self.p, self.p / (self.p - self.o)
        own = self.o * np.diag(self.xx) * of_x
        return 2 * self.C / self.p * (scale * (of_x @ self.xx - own) - self.B / self.q * self.xy.sum(axis=1))


def projected(w: np.ndarray, levels: np.ndarray, ratio: float) -> np.ndarray:
    """For each level the nearest weights of mean 1 between it and `ratio` times it: shifted and cut off."""
    low, high = levels - w.max(axis=1), ratio * levels - w.min(axis=1)
    for _ in range(40):
        shift = (low + high) / 2
        cut = np.clip(w + shift[:, None], levels[:, None], ratio * levels[:, None])
        is_low = cut.mean(axis=1) < 1
        low, high = np.where(is_low, shift, low), np.where(is_low, high, shift)
    return cut


def smallest_by_projected_gradient(naive: Naive, ratio: float) -> float:
    """Projected gradient steps at each of many levels, as long as the curvature allows; their smallest."""
    levels = np.linspace(1 / ratio, 1, 301)
    step = naive.p * (naive.p - naive.o) / (2 * naive.C**2 * np.linalg.eigvalsh(naive.xx)[-1])
    w = np.ones((len(levels), naive.p))
    for _ in range(200):
        w = projected(w - step * naive.gradient(w), levels, ratio)
    return min(map(naive.value, w))


def vertices(p: int, ratio: float) -> list[np.ndarray]:
    """All weights of mean 1 with some rows at `ratio` times the weight of the others."""
    marks = [np.array(each) for each in itertools.product([1.0, ratio], repeat=p)]
    return [mark / mark.mean() for mark in marks]


def groups(seed: int, p: int = 9, q: int = 12, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(p, d)), rng.normal(0.8, 1, size=(q, d))


def bounds(X: np.ndarray, Y: np.ndarray, m: int, odds: float, estimator: str, **options: Any) -> Any:
    made = {"exactly": True, "bandwidth": 1.0, **options}
    return mb.mmd_bounds(X, Y, mb.Contamination(n_moved=m, odds=odds), estimator=estimator, **made)


# The polytope


@pytest.mark.parametrize("seed", range(6))
def test_linear_functions_are_largest_where_a_linear_programme_says(seed: int):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    p, ratio, scores = 12, float(rng.uniform(1, 9)), rng.normal(size=12)
    # Over weights and their level: level <= w <= ratio * level, mean 1.
    above = np.hstack([np.eye(p), -ratio * np.ones((p, 1))])
    below = np.hstack([-np.eye(p), np.ones((p, 1))])
    found = linprog(
        np.append(-scores, 0.0),
        A_ub=np.vstack([above, below]),
        b_ub=np.zeros(2 * p),
        A_eq=[np.append(np.full(p, 1 / p), 0.0)],
        b_eq=[1.0],
    )
    w = 1 + Weights(p, ratio).extreme(scores)
    np.testing.assert_allclose(scores @ w, -found.fun, rtol=0, atol=1e-9)
    np.testing.assert_allclose(w.mean(), 1, rtol=0, atol=ROUNDING)
    assert w.max() <= ratio * w.min() * (1 + ROUNDING)


@pytest.mark.parametrize("of_square", [-0.3, 0.0, 0.2, 5.0])
def test_vertices_against_all_of_them(of_square: float):
    scores, ratio = np.random.default_rng(1).normal(size=8), 5.0
    weights = Weights(8, ratio)
    t = weights.extreme(scores, of_square)
    every = [w - 1 for w in vertices(8, ratio)]
    np.testing.assert_allclose(
        scores @ t + of_square * t @ t,
        max(scores @ each + of_square * each @ each for each in every),
        rtol=0,
        atol=ROUNDING,
    )
    assert max(each @ each for each in every) <= 8 * weights.most_variance * (1 + ROUNDING)


def test_no_variance_is_larger():
    rng = np.random.default_rng(0)
    for ratio in (1.5, 4.0, 1e6):
        limit = Weights(30, ratio).most_variance
        for _ in range(200):
            w = rng.choice([1.0, ratio, rng.uniform(1, ratio)], size=30)
            assert (w / w.mean()).var() <= limit * (1 + ROUNDING)


# Both ends


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("m", [0, 1, 4])
def test_equal_odds_are_the_closed_form(m: int, estimator: str):
    X, Y = groups(0)
    result = bounds(X, Y, m, 1, estimator)
    expected = mb.mmd2(X, Y, bandwidth=1.0, estimator=estimator) / (1 - m / len(Y)) ** 2
    for value in (result.lower.value, result.upper.value, result.if_random):
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(result.lower.weights, np.ones(len(X)))
    low, high = result.interval
    assert low <= expected <= high
    assert high - low < 1e-9


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_their_weights(seed: int, estimator: str):
    X, Y = groups(seed)
    m, odds = 1 + seed, 1.5 + seed
    result, naive = bounds(X, Y, m, odds, estimator), Naive(X, Y, m, estimator)
    for end in (result.lower, result.upper):
        expected = np.clip(naive.value(end.weights), 0, 2)  # as no populations are less or further apart
        np.testing.assert_allclose(end.value, expected, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(end.weights.mean(), 1, rtol=0, atol=ROUNDING)
        assert end.weights.max() <= odds**2 * end.weights.min() * (1 + 1e-9)
    assert result.lower.certified <= result.lower.value <= result.if_random
    assert result.if_random <= result.upper.value <= result.upper.certified


@pytest.mark.parametrize("seed", range(4))
def test_lower_end_against_projected_gradient(seed: int):
    X, Y = groups(seed)
    m, odds = 2 + seed, (1.3, 2.0, 4.0, 2.0)[seed]
    result = bounds(X, Y, m, odds, "biased")
    expected = smallest_by_projected_gradient(Naive(X, Y, m, "biased"), odds**2)
    # The naive solution is at one of 301 levels, so the end may lie a little below it, but no proof above it.
    assert result.lower.certified <= expected + ROUNDING
    np.testing.assert_allclose(
        result.lower.value, expected, rtol=0, atol=2e-3 * (result.if_random - expected)
    )
    # Proofs end where they are within 1e-4 of the change.
    assert (
        result.lower.value - result.lower.certified <= 2e-4 * (result.if_random - result.lower.value) + 1e-9
    )


@pytest.mark.parametrize("seed", range(4))
def test_unbiased_lower_end_lies_below_all_weights(seed: int):
    X, Y = groups(seed)
    m, odds = 2 + seed, (1.3, 2.0, 4.0, 2.0)[seed]
    naive = Naive(X, Y, m, "unbiased")
    certified = bounds(X, Y, m, odds, "unbiased").lower.certified
    expected = max(smallest_by_projected_gradient(naive, odds**2), 0.0)
    assert certified <= expected + ROUNDING
    # What the proof gives away is at most the last term of the quadratic at its largest.
    lost = naive.C**2 / (naive.p - 1) * Weights(naive.p, odds**2).most_variance
    assert certified >= expected - lost - 2e-3 * abs(expected)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("seed", range(4))
def test_upper_end_against_all_vertices(seed: int, estimator: str):
    X, Y = groups(seed, p=8)
    m, odds = 2 + seed, (1.3, 2.0, 4.0, 2.0)[seed]
    naive, result = Naive(X, Y, m, estimator), bounds(X, Y, m, odds, estimator)
    largest = max(naive.value(w) for w in vertices(8, odds**2))
    assert largest <= result.upper.certified + ROUNDING
    if estimator == "biased":  # a convex function: nothing lies above its vertices
        assert result.upper.value <= largest + ROUNDING
    # Searched, not proved: but on problems as small as these nothing better is overlooked.
    assert result.upper.value >= largest - 1e-9


@pytest.mark.parametrize("d", [1, 12])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_weights_lie_outside(estimator: str, d: int):
    # More rows than directions are looked at closely, or fewer; random weights, and mixtures of vertices.
    X, Y = groups(3, p=100, q=60, d=d)
    naive, rng = Naive(X, Y, 12, estimator, bandwidth=2.0), np.random.default_rng(0)
    result = bounds(X, Y, 12, 3, estimator, bandwidth=2.0)
    low, high = result.interval
    for part in range(4):
        w = 9.0 ** rng.random(100) if part % 2 else np.where(X[:, 0] > rng.normal(), 1.0, 9.0) ** 0.9
        assert low <= naive.value(w / w.mean()) <= high


def test_more_than_can_be_proved(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mmdbounds.search.hidden_weights.MOST_PROVED", 8)
    result = bounds(*groups(0), 2, 2, "unbiased")
    assert result.upper.certified is None
    assert result.lower.certified is not None
    assert not result.is_certified
    assert result.interval == (result.lower.value, result.upper.value)
    assert "is not proved" in result.summary()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_ranges_grow_with_the_odds(estimator: str):
    X, Y = groups(5, p=20, q=25)
    found = [bounds(X, Y, 4, odds, estimator) for odds in (1, 1.2, 2, 5, 20)]
    # Where the ends are only near each other, they may be out of order by what the proofs leave.
    slack = 2e-3 * (found[-1].upper.value - found[-1].lower.value)
    for one, more in itertools.pairwise(found):
        assert more.interval[0] <= one.interval[0] + slack
        assert more.interval[1] >= one.interval[1] - slack
        assert more.lower.value <= one.lower.value + slack
        assert more.upper.value >= one.upper.value - slack


@pytest.mark.parametrize("odds", [1, 1.15, 1.5, 4])
@pytest.mark.parametrize("seed", [5, 6])
def test_at_most_is_the_range_over_all_numbers(odds: float, seed: int):
    X, Y = groups(seed, p=20, q=25)
    every = [bounds(X, Y, m, odds, "unbiased") for m in range(8)]
    whole = bounds(X, Y, 7, odds, "unbiased", exactly=False)
    lows, highs = zip(*(each.interval for each in every), strict=True)
    slack = 2e-3 * (whole.upper.value - whole.lower.value) + 1e-9
    assert whole.lower.certified <= min(lows) + 1e-9
    assert whole.lower.certified >= min(lows) - slack
    assert whole.upper.certified >= max(highs) - 1e-9
    np.testing.assert_allclose(whole.lower.value, min(each.lower.value for each in every), rtol=0, atol=slack)
    np.testing.assert_allclose(whole.upper.value, max(each.upper.value for each in every), rtol=0, atol=slack)
    assert (whole.n_moved, whole.exactly) == (7, False)


@pytest.mark.parametrize("odds", [1.9, 2.0])
def test_the_lower_end_can_be_at_a_number_in_between(odds: float):
    X, Y = groups(5, p=30, q=40)
    problem = pose(X, Y, Comparison(bandwidth=1.0))
    ranges = Ranges(problem.one_pass(Meter()), "unbiased", (-np.inf, np.inf))
    every = [ranges.ends(range(m, m + 1), odds)[0] for m in range(20)]
    whole = ranges.ends(range(20), odds)[0]
    smallest = min(end.certified for end in every)
    assert smallest < min(every[0].certified, every[-1].certified) - 1e-3
    assert smallest - 1e-3 <= whole.certified <= smallest + ROUNDING
    assert 0 < whole.n_moved < 19


def test_groups_that_do_not_differ():
    # All values are negative: more misfiled rows make them more so.
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    whole = bounds(X, X + 0.01, 2, 1.01, "unbiased", exactly=False)
    assert whole.observed < 0
    every = [bounds(X, X + 0.01, m, 1.01, "unbiased") for m in range(3)]
    assert whole.upper.certified >= max(each.upper.certified for each in every) - 1e-12
    assert whole.lower.certified <= min(each.lower.certified for each in every) + 1e-12
    assert whole.upper.value == max(each.upper.value for each in every)


# Sweeps


def test_sweep_is_one_range_at_a_time():
    X, Y = groups(0, p=30, q=40)
    curve = mb.odds_sweep(X, Y, [0.2, 0.1], [2, 1], bandwidth=1.0, n_permutations=99, rng=0)
    assert curve.odds == (1.0, 2.0)
    assert [(point.n_moved, point.odds) for point in curve.points] == [(3, 1), (3, 2), (7, 1), (7, 2)]
    for point in curve.points:
        one = bounds(X, Y, point.n_moved, point.odds, "unbiased", exactly=False)
        found = (point.lower, point.lower_certified, point.upper, point.upper_certified, point.point)
        ends = (one.lower.value, one.lower.certified, one.upper.value, one.upper.certified, one.if_random)
        np.testing.assert_allclose(found, ends, rtol=0, atol=ROUNDING)
    assert len(mb.odds_sweep(X, Y, [0.1, 0.101], [2], n_permutations=19, rng=0).breakdown) == 1


def test_breakdown_is_where_the_lower_end_meets_chance():
    X, Y = groups(0, p=30, q=40)
    curve = mb.odds_sweep(X, Y, [0.05, 0.3], [1, 2], bandwidth=1.0, n_permutations=199, rng=0)
    few, many = curve.breakdown
    assert [(each.n_moved, each.epsilon) for each in curve.breakdown] == [(1, 1 / 31), (12, 12 / 42)]
    assert few.odds is None or few.odds > many.odds
    for odds, is_above in ((many.odds / 1.02, True), (many.odds, False)):
        one = bounds(X, Y, many.n_moved, odds, "unbiased")
        as_filed = one.lower.certified * (1 - one.share_of_y) ** 2
        assert (as_filed > curve.chance) == is_above
    assert "stands" in curve.summary()


def test_chance_is_the_quantile_of_random_labellings():
    X, Y = groups(0, p=20, q=30)
    curve = mb.odds_sweep(X, Y, [0.1], [1], bandwidth=1.0, n_permutations=1999, rng=0)
    rng, pooled = np.random.default_rng(1), np.concatenate([X, Y])
    K = naive_kernel(pooled, pooled, 1.0)
    np.fill_diagonal(K, 0.0)
    drawn = []
    for _ in range(2000):
        x, y = np.split(rng.permutation(50), [20])
        within = K[np.ix_(x, x)].sum() / (20 * 19) + K[np.ix_(y, y)].sum() / (30 * 29)
        drawn.append(within - 2 * K[np.ix_(x, y)].mean())
    # The share of 2,000 draws below a 95 % quantile of 2,000 others has standard error 0.7 %: five of them.
    assert abs(np.mean(np.array(drawn) <= curve.chance) - 0.95) < 0.035


def test_nothing_to_break_down():
    X, _ = groups(0, p=20)
    curve = mb.odds_sweep(X, X + 0.001, [0.1], [1, 2], n_permutations=99, rng=0)
    assert curve.breakdown[0].odds == 1
    assert curve.summary().startswith("Even as filed")


# Populations


def population_mmd2(shift: float, bandwidth: float) -> float:
    """Squared MMD of N(0, 1) and N(shift, 1): means of a Gaussian kernel over normal differences."""
    spread = bandwidth**2 + 2
    return 2 * bandwidth / math.sqrt(spread) * (1 - math.exp(-(shift**2) / (2 * spread)))


def is_inside(seed: int, n: int, odds: float) -> bool:
    """Misfile by odds that depend on x, within the factor; is the population's value in the range?

    In the populations it is, by construction: what puts it outside is the sample.
    """
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, 1)), rng.normal(1, 1, size=(n, 1))
    wave = np.sin(rng.uniform(0.5, 3) * X[:, 0] + rng.uniform(0, 2 * np.pi))
    tilt = 0.25 * odds ** (wave if seed % 2 else np.sign(wave))
    hidden = rng.random(n) < tilt / (1 + tilt)
    filed = X[~hidden], np.concatenate([Y, X[hidden]])
    amount = mb.Contamination(n_moved=int(hidden.sum()), odds=odds)
    low, high = mb.mmd_bounds(*filed, amount, exactly=True, bandwidth=1.0).interval
    return bool(low <= population_mmd2(1.0, 1.0) <= high)


def test_population_value_is_inside_but_for_sampling_error():
    # With 300 rows 6 of 40 such runs lie outside: 9 or more of 20 are less likely than 0.2 %.
    assert np.mean([is_inside(seed, 300, 2.0) for seed in range(20)]) >= 0.6


@pytest.mark.slow
def test_population_value_is_inside_with_many_rows():
    # docs/odds.md states the share that sampling error alone puts outside.
    assert np.mean([is_inside(seed, 2000, 2.0) for seed in range(200)]) >= 0.9


def test_population_value_by_numerical_integration():
    # Two draws differ by a normal number of variance 2.
    apart = np.linspace(-12, 12, 4001)
    kernel = np.exp(-(apart**2) / (2 * 1.5**2))
    means = [
        np.trapezoid(kernel * np.exp(-((apart - s) ** 2) / 4) / math.sqrt(4 * math.pi), apart)
        for s in (0, 0.7)
    ]
    np.testing.assert_allclose(population_mmd2(0.7, 1.5), 2 * (means[0] - means[1]), rtol=0, atol=1e-10)


# What is refused, and what is said


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"kernel": lambda A, B: A @ B.T}, "`odds` needs a kernel that is known to be positive definite;"),
        ({"method": "s-sd"}, "`odds` has a method of its own; got method='s-sd' too. Leave one of them out."),
        ({"method": mb.Sharp(gap=0)}, "`odds` has a method of its own; got options of 'sharp' too."),
        ({"verified": (None, [True] + [False] * 4)}, "`odds` cannot be combined with verified rows"),
    ],
)
def test_calls_that_are_refused(asked: dict[str, Any], message: str):
    with pytest.raises(MmdBoundsError, match=f"^{re.escape(message)}"):
        mb.mmd_bounds(*groups(0, p=4, q=5), mb.Contamination(0.2, odds=2), **asked)


@pytest.mark.parametrize("function", [mb.robust_test, mb.column_table, mb.confidence_interval])
def test_other_functions_do_not_ignore_odds(function: Any):
    with pytest.raises(MmdBoundsError, match=r"^`odds` is for `mmd_bounds`; got 2 here\."):
        function(*groups(0), mb.Contamination(0.2, odds=2))


@pytest.mark.parametrize("name", ["epsilons", "odds"])
def test_an_empty_sweep_is_refused(name: str):
    with pytest.raises(MmdBoundsError, match=rf"^`{name}` must have at least one entry; got none\.$"):
        mb.odds_sweep(*groups(0), **{name: []})


# What is possible


@pytest.mark.parametrize("seed", range(4))
def test_a_range_is_cut_off_at_what_populations_can_be(seed: int):
    X, Y = groups(seed, p=5, q=8)
    wide = bounds(X, Y, 6, 8, "unbiased")  # values go from -5.1 to 7.3
    low, high = wide.interval
    assert 0 <= low <= wide.if_random <= high == 2
    naive = Naive(X, Y, 6, "unbiased")
    for end, where, beyond in ((wide.lower, 0, -1), (wide.upper, 2, 1)):
        found = naive.value(end.weights)
        np.testing.assert_allclose(end.value, np.clip(found, 0, 2), rtol=0, atol=ROUNDING)
        assert (f"cut off at {where}, as no squared MMD" in end.status) == (beyond * (found - where) > 0)
    text = " ".join(wide.summary().split())
    assert "cut off at 2, as no" in text
    assert "(proved for all such odds, and cut off where no two populations have a value beyond)" in text
    curve = mb.odds_sweep(X, Y, mb.Contamination(n_moved=6), 8, bandwidth=1.0, n_permutations=19, rng=0)
    point = curve.points[0]
    assert 0 <= point.lower <= point.point <= point.upper == 2


def test_nothing_is_cut_off_in_between():
    wide = bounds(*groups(0), 2, 2, "biased")
    assert "cut off" not in wide.lower.status + wide.upper.status


def test_the_range_of_the_linear_kernel_does_not_depend_on_where_0_is():
    X, Y = groups(1)
    how = {"kernel": "linear", "rng": 0}
    amount = mb.Contamination(n_moved=3, odds=3)
    here, there = (
        mb.mmd_bounds(X + shift, Y + shift, amount, estimator="biased", **how) for shift in (0.0, 3.0)
    )
    np.testing.assert_allclose(here.interval, there.interval, rtol=0, atol=1e-9)
    message = r"^`odds` with kernel='linear' and the unbiased estimator would depend on where 0 is.*='biased'"
    with pytest.raises(MmdBoundsError, match=message):
        mb.mmd_bounds(X, Y, amount, **how)
    with pytest.raises(MmdBoundsError, match=message):
        mb.odds_sweep(X, Y, [0.1], [2], n_permutations=19, **how)
