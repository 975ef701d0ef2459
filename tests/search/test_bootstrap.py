"""Bootstrap against a loop that draws the same rows and takes the statistic by its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.contamination import Contamination
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import group_sums
from mmdbounds.search.baselines import STREAM, Bootstrap, resampled_values
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
        found = Bootstrap(n_resamples=9).both_sides(
            Task(totals_of(problem), [problem.counts], estimator, seed=seed)
        )
        values = naive_values(small_matrix(problem), problem.p, estimator, 9, seed)
        alpha = share / (1 + share)
        expected = [quantile(values, alpha), quantile(values, 1 - alpha)]
        np.testing.assert_allclose([side.value for side in found], expected, rtol=0, atol=1e-12)
        assert all(side.kind == "resampling" and side.labelling is None for side in found)


def test_resampled_rows_handed_in_give_the_same_values():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 3)), rng.normal(0.5, 1, size=(9, 3))
    result = mb.mmd_bounds(X, Y, 0.1, method=Bootstrap(n_resamples=30, alpha=0), rng=5, exactly=True)
    draws = np.random.default_rng([5, STREAM])
    values = [
        mb.mmd2(
            X[draws.integers(12, size=12)], Y[draws.integers(9, size=9)], kernel=mb.kernels.RBF(bandwidth)
        )
        for bandwidth in [result.provenance.bandwidth] * 30  # that of the rows as filed
    ]
    assert result.interval == pytest.approx((min(values), max(values)), rel=0, abs=of_mmd2(21, smallest=9))


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


def bounds(how_much, method=None, **options):
    X, Y = groups()
    return mb.mmd_bounds(
        X, Y, how_much, method=method or Bootstrap(n_resamples=13), rng=0, **options, exactly=True
    )


def order_statistics():
    """Return the thirteen resampled values of `bounds` in their order."""
    halves = [bounds(0.2, Bootstrap(n_resamples=13, alpha=k / 12)) for k in range(7)]
    return [r.lower.value for r in halves] + [r.upper.value for r in reversed(halves[:-1])]


def test_the_share_as_stated_says_which_quantiles():
    values = order_statistics()
    assert values == sorted(values)
    # Twelve steps between thirteen values: epsilon 0.2 is one sixth, two steps; 0.5 a third, four.
    for epsilon, step in ((0.2, 2), (0.5, 4)):
        assert bounds(epsilon).interval == pytest.approx((values[step], values[-1 - step]), rel=1e-12)
    assert bounds(0.2).n_moved == 10
    assert bounds(0.2).lower.status == bounds(0.2).upper.status == "13 resamples, alpha 0.1667"
    # As a count: 10 of 53, and 10/63 of 12 steps.
    counted = bounds(Contamination(n_moved=10))
    assert counted.lower.status == "13 resamples, alpha 0.1587"
    between = values[1] + (120 / 63 - 1) * (values[2] - values[1])
    assert counted.lower.value == pytest.approx(between, rel=1e-12)


def test_the_more_is_misfiled_the_narrower():
    widths = [bounds(epsilon).width for epsilon in (0.0, 0.1, 0.2, 0.4)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0]


def test_nothing_misfiled_gives_the_smallest_and_the_largest():
    values = order_statistics()
    none = bounds(0.0)
    assert none.interval == (values[0], values[-1])
    assert none.lower.status == "13 resamples, alpha 0"
    assert none.observed not in none.interval


def test_the_seed_is_recorded_and_repeats_the_draws():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    one, same, other = (
        mb.mmd_bounds(X, Y, 0.2, method=Bootstrap(n_resamples=50), rng=s, exactly=True) for s in (1, 1, 2)
    )
    assert one.interval == same.interval != other.interval
    assert (one.provenance.seed, one.provenance.method) == (1, "bootstrap")
    assert one.provenance.options == {"n_resamples": 50, "alpha": None}
    assert Bootstrap().n_resamples == 1000


def test_no_rows_and_no_proof():
    result = bounds(0.2)
    for side in (result.lower, result.upper):
        assert (side.kind, side.n_moved, side.certified, side.effects) == ("resampling", 0, None, None)
    assert not result.is_certified


def test_two_way_needs_a_share():
    how_much = Contamination(n_moved=5, n_moved_of_x=2)
    with pytest.raises(
        MmdBoundsError, match=r"one-way misfiling only\. For two-way, give Bootstrap\(alpha=\.\.\.\)\.$"
    ):
        bounds(how_much)
    assert bounds(how_much, Bootstrap(n_resamples=13, alpha=0.0)).interval == bounds(0.0).interval


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
