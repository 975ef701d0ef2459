"""Bootstrap against a loop that draws the same rows and takes the statistic by its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.baselines.simple import STREAM, Bootstrap, resampled_values
from mmdbounds.contamination import Contamination
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import group_sums
from mmdbounds.search.protocol import Task
from mmdbounds.sums.cpu.blocked import BlockedSums
from problems import naive_mmd2, small_matrix, small_problem, totals_of
from tolerances import of_mmd2


def naive_values(K, p, estimator, n_resamples, seed):
    """Draw the rows of X, then those of Y, again and again; a row drawn twice is two rows."""
    rng = np.random.default_rng([seed, STREAM])
    q = len(K) - p
    values = []
    for _ in range(n_resamples):
        rows = [*rng.integers(p, size=p).tolist(), *(p + rng.integers(q, size=q)).tolist()]
        values.append(naive_mmd2(K[np.ix_(rows, rows)], np.arange(p + q) < p, estimator))
    return np.array(values)


def quantile(values, level):
    """The quantile between order statistics: level 0 is the smallest, 1 the largest, evenly in between."""
    ordered, place = sorted(values), level * (len(values) - 1)
    below = min(math.floor(place + 1e-9), len(values) - 1)
    above = min(below + 1, len(values) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


@pytest.mark.parametrize("make", [None, lambda p: BlockedSums(p.Z, p.kernel, block=(4, 3))])
def test_values_are_those_of_the_definition(make):
    for seed in range(24):
        problem = small_problem(seed, two_way=False)
        if make is not None and problem.kernel.name == "precomputed":
            continue
        K = small_matrix(problem)
        totals = totals_of(problem, make and make(problem))
        drawn = resampled_values(totals, problem.estimator, 5, np.random.default_rng([seed, STREAM]))
        expected = naive_values(K, problem.p, problem.estimator, 5, seed)
        atol = max(1e-12, 10 * totals.sums.rounding) * np.abs(K).max()
        np.testing.assert_allclose(drawn, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_both_sides_are_the_quantiles_of_the_definition(estimator):
    for seed in range(20):
        problem = small_problem(seed, two_way=False, kernel="rbf", estimator=estimator)
        share = float(problem.counts.epsilon)
        task = Task(totals_of(problem), [problem.counts], estimator, seed=seed)
        found = Bootstrap(n_resamples=9).ends(task, None)
        values = naive_values(small_matrix(problem), problem.p, estimator, 9, seed)
        alpha = share / (1 + share)
        expected = [quantile(values, alpha), quantile(values, 1 - alpha)]
        np.testing.assert_allclose([found.lower, found.upper], expected, rtol=0, atol=1e-12)


def test_resampled_rows_handed_in_give_the_same_values():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 3)), rng.normal(0.5, 1, size=(9, 3))
    bandwidth = 1.5
    result = Bootstrap(n_resamples=30, alpha=0).interval(X, Y, 0.1, bandwidth=bandwidth, rng=5)
    draws = np.random.default_rng([5, STREAM])
    values = [
        mb.mmd2(
            X[draws.integers(12, size=12)], Y[draws.integers(9, size=9)], kernel=mb.kernels.RBF(bandwidth)
        )
        for _ in range(30)
    ]
    assert (result.lower, result.upper) == pytest.approx(
        (min(values), max(values)), rel=0, abs=of_mmd2(21, smallest=9)
    )


def test_repeated_rows_lift_the_unbiased_estimator():
    # Two rows drawn are independent and may be the same: on average each pair counts as in the biased one.
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(10, 2)), rng.normal(size=(15, 2))
    problem = small_problem(0, two_way=False, kernel="rbf")
    totals = totals_of(type(problem)(X, Y, mb.kernels.RBF(1.0), "unbiased", problem.counts))
    values = resampled_values(totals, "unbiased", 4000, np.random.default_rng(2))
    error = values.std() / math.sqrt(len(values))
    assert abs(values.mean() - mb.mmd2(X, Y, kernel=mb.kernels.RBF(1.0), estimator="biased")) < 4 * error
    assert values.mean() - mb.mmd2(X, Y, kernel=mb.kernels.RBF(1.0)) > 20 * error


def test_little_memory_draws_the_same_rows(monkeypatch):
    rng = np.random.default_rng(0)
    Z, widths = rng.normal(size=(300, 2)), []
    plenty, little = (
        group_sums(BlockedSums(Z, mb.kernels.RBF(1.0), working_memory=memory), 100, 200)
        for memory in (1024, 1)
    )
    at_once = resampled_values(plenty, "unbiased", 130, np.random.default_rng(0))
    apply = little.sums.apply

    def counted(A, B, W):
        widths.append(W.shape[1])
        return apply(A, B, W)

    monkeypatch.setattr(little.sums, "apply", counted)
    in_turn = resampled_values(little, "unbiased", 130, np.random.default_rng(0))
    np.testing.assert_allclose(in_turn, at_once, rtol=0, atol=of_mmd2(300, smallest=100))
    # Four numbers of eight bytes for each of 300 rows, in half of a MiB.
    assert widths == [54] * 6 + [22] * 3


def groups():
    rng = np.random.default_rng(7)
    return rng.normal(size=(43, 2)), rng.normal(0.5, 1, size=(67, 2))


def ends(how_much, **options):
    found = Bootstrap(n_resamples=13, **options).interval(*groups(), how_much, rng=0)
    return found.lower, found.upper


def order_statistics():
    """Return the thirteen resampled values of `ends` in their order."""
    halves = [ends(0.2, alpha=k / 12) for k in range(7)]
    return [low for low, _ in halves] + [high for _, high in reversed(halves[:-1])]


def test_the_share_as_stated_says_which_quantiles():
    values = order_statistics()
    assert values == sorted(values)
    # Twelve steps between thirteen values: epsilon 0.2 is one sixth, two steps; 0.5 a third, four.
    for epsilon, step in ((0.2, 2), (0.5, 4)):
        assert ends(epsilon) == pytest.approx((values[step], values[-1 - step]), rel=1e-12)
    # As a count: 10 of 53, and 10/63 of 12 steps.
    between = values[1] + (120 / 63 - 1) * (values[2] - values[1])
    assert ends(Contamination(n_moved=10))[0] == pytest.approx(between, rel=1e-12)
    assert ends(0.2, alpha=0.25) == pytest.approx((values[3], values[9]), rel=1e-12)


def test_the_more_is_mislabelled_the_narrower():
    widths = [high - low for low, high in map(ends, (0.0, 0.1, 0.2, 0.4))]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0]


def test_nothing_mislabelled_gives_the_smallest_and_the_largest():
    values = order_statistics()
    assert ends(0.0) == (values[0], values[-1])


def test_the_seed_repeats_the_draws():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    one, same, other = (Bootstrap(n_resamples=50).interval(X, Y, 0.2, rng=seed) for seed in (1, 1, 2))
    assert one.lower == same.lower != other.lower
    assert one.observed == mb.mmd2(X, Y)
    assert one.points is None
    assert Bootstrap(n_resamples=50).options() == {"n_resamples": 50, "alpha": None}
    assert Bootstrap().n_resamples == 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 0}, r"^`n_resamples` must be a whole number from 1; got 0\.$"),
        ({"n_resamples": 10.0}, r"^`n_resamples` must be a whole number from 1; got 10\.0\.$"),
        ({"alpha": 0.6}, r"^`alpha` must be a number in \[0, 0\.5\] or None; got 0\.6\.$"),
        ({"alpha": -0.1}, r"^`alpha` must be a number in \[0, 0\.5\] or None; got -0\.1\.$"),
        ({"alpha": "0.1"}, r"^`alpha` must be a number in \[0, 0\.5\] or None; got '0\.1'\.$"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(MmdBoundsError, match=message):
        Bootstrap(**options)
