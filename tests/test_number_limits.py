"""Limits on the number misfiled: never below their confidence, whatever it is and whenever one looks."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import betabinom, binom, hypergeom, norm

from mmdbounds import number_limits
from mmdbounds.errors import MmdBoundsError
from mmdbounds.number_limits import (
    allowed_error,
    anytime_limits,
    chances,
    check_audit,
    exceeds,
    fixed_limits,
    prevalence_limit,
)

TWENTIETH = Fraction(1, 20)


def ways(q, m, n, j):
    """Return how many of the samples of n rows hold j of the m that are misfiled, exactly."""
    return math.comb(m, j) * math.comb(q - m, n - j)


def naive_fixed(q, n, j, alpha):
    """Return the limits by trying every number, in fractions."""
    every = math.comb(q, n)
    few = [m for m in range(q + 1) if sum(ways(q, m, n, i) for i in range(j + 1)) > alpha * every]
    many = [m for m in range(q + 1) if sum(ways(q, m, n, i) for i in range(j, n + 1)) > alpha * every]
    return min(many), max(few)


def naive_anytime(q, n, j, alpha):
    """Return the limits by trying every number, in fractions."""
    possible = [m for m in range(q + 1) if ways(q, m, n, j) * (n + 1) > alpha * math.comb(q, n)]
    return min(possible), max(possible)


def test_the_worked_example():
    assert fixed_limits(357, 60, 2, TWENTIETH)[1] == 34
    assert anytime_limits(357, 60, 2, TWENTIETH)[1] == 57


@pytest.mark.parametrize("alpha", [TWENTIETH, Fraction(1, 4), Fraction(1, 1000)])
@pytest.mark.parametrize("q", [1, 2, 9, 14])
def test_limits_equal_trying_every_number(q, alpha):
    for n in range(1, q + 1):
        for j in range(n + 1):
            assert fixed_limits(q, n, j, alpha) == naive_fixed(q, n, j, alpha)
            assert anytime_limits(q, n, j, alpha) == naive_anytime(q, n, j, alpha)


@pytest.mark.parametrize(("q", "n", "j"), [(357, 60, 2), (1000, 400, 0), (1000, 400, 399), (5000, 37, 20)])
def test_limits_equal_those_of_scipy(q, n, j):
    m = np.arange(q + 1)
    low, high = fixed_limits(q, n, j, TWENTIETH)
    assert high == m[hypergeom.cdf(j, q, m, n) > 0.05].max()
    assert low == m[hypergeom.sf(j - 1, q, m, n) > 0.05].min()
    possible = m[hypergeom.pmf(j, q, m, n) > 0.05 * betabinom.pmf(j, n, 1, 1)]
    assert anytime_limits(q, n, j, TWENTIETH) == (possible.min(), possible.max())


def fixed_errors(q, n, alpha):
    """Return for every number misfiled the chances that the upper and that the lower limit is wrong."""
    limits = [fixed_limits(q, n, j, alpha) for j in range(n + 1)]
    for m in range(q + 1):
        every = math.comb(q, n)
        too_low = sum(ways(q, m, n, j) for j, (_, high) in enumerate(limits) if high < m)
        too_high = sum(ways(q, m, n, j) for j, (low, _) in enumerate(limits) if low > m)
        yield Fraction(too_low, every), Fraction(too_high, every)


def anytime_error(q, m, limits):
    """Return the chance that the limits are wrong after any row, over all orders in which rows are drawn.

    `limits` holds them by (rows checked, rows found). Counted are the orders in which they never were wrong.
    """
    right, orders = {0: 1}, 1
    for t in range(1, q + 1):
        after: dict[int, int] = {}
        for j, count in right.items():
            for found, choices in ((j + 1, m - j), (j, q - m - (t - 1 - j))):
                if choices > 0 and limits[t, found][0] <= m <= limits[t, found][1]:
                    after[found] = after.get(found, 0) + count * choices
        right, orders = after, orders * (q - t + 1)
    return 1 - Fraction(sum(right.values()), orders)


def all_anytime_limits(q, alpha):
    return {(t, j): anytime_limits(q, t, j, alpha) for t in range(1, q + 1) for j in range(t + 1)}


@pytest.mark.parametrize("alpha", [TWENTIETH, Fraction(1, 4)])
@pytest.mark.parametrize("q", [5, 13, 18])
def test_fixed_limits_err_no_more_often_than_stated(q, alpha):
    for n in range(1, q + 1):
        assert max(itertools.chain(*fixed_errors(q, n, alpha))) <= alpha


@pytest.mark.parametrize("alpha", [TWENTIETH, Fraction(1, 4)])
@pytest.mark.parametrize("q", [5, 13, 18])
def test_anytime_limits_err_no_more_often_than_stated_whenever_one_stops(q, alpha):
    limits = all_anytime_limits(q, alpha)
    assert max(anytime_error(q, m, limits) for m in range(q + 1)) <= alpha


@pytest.mark.slow
@pytest.mark.parametrize("q", range(1, 61))
def test_every_limit_of_up_to_sixty_rows(q):
    for n in range(1, q + 1):
        assert max(itertools.chain(*fixed_errors(q, n, TWENTIETH))) <= TWENTIETH
    limits = all_anytime_limits(q, TWENTIETH)
    assert max(anytime_error(q, m, limits) for m in range(q + 1)) <= TWENTIETH


def test_limits_after_every_row_hold_together():
    rng = np.random.default_rng(0)
    for _ in range(40):
        q = int(rng.integers(2, 60))
        found = np.cumsum(rng.random(int(rng.integers(1, q + 1))) < rng.random())
        checked = np.arange(1, len(found) + 1)
        each = [naive_anytime(q, int(n), int(j), Fraction(1, 5)) for n, j in zip(checked, found, strict=True)]
        low, high = max(low for low, _ in each), min(high for _, high in each)
        expected = (low, high) if low <= high else each[-1]
        assert anytime_limits(q, checked, found, Fraction(1, 5)) == expected


def test_limits_that_exclude_each_other_are_those_at_the_last_time():
    found = np.concatenate([np.arange(1, 31), np.full(70, 30)])  # thirty of thirty, then none of seventy
    at_last = naive_anytime(200, 100, 30, TWENTIETH)
    assert naive_anytime(200, 30, 30, TWENTIETH)[0] > at_last[1]
    assert anytime_limits(200, np.arange(1, 101), found, TWENTIETH) == at_last


def test_a_tie_is_decided_by_whole_numbers_or_else_to_the_safe_side(monkeypatch):
    # One of 20 rows checked, none found: with 19 misfiled the chance is 1/20, which is not above 1/20.
    assert fixed_limits(20, 1, 0, TWENTIETH)[1] == 18
    # After one row, none found, the chance is (20 - m) / 20, and the threshold is 1/40.
    assert anytime_limits(20, 1, 0, TWENTIETH)[1] == 19
    assert anytime_limits(40, 1, 0, TWENTIETH)[1] == 38  # 1/40 is not above 1/40
    monkeypatch.setattr(number_limits, "MOST_WORK", 0)
    assert fixed_limits(20, 1, 0, TWENTIETH)[1] == 19
    assert anytime_limits(40, 1, 0, TWENTIETH)[1] == 39


def test_chances_and_tails_of_many_rows_equal_whole_numbers():
    q, m, n = 1500, 300, 200
    fewest, each = chances(q, m, n)
    whole = [Fraction(ways(q, m, n, fewest + i), math.comb(q, n)) for i in range(len(each))]
    # Up to 200 steps of two units each, the sum of as many, and a division.
    np.testing.assert_allclose(
        each, [float(chance) for chance in whole], rtol=8 * 201 * 2.0**-53, atol=1e-300
    )
    for j in (fewest, 30, 40, 55, n):
        for alpha in (TWENTIETH, sum(whole[: j - fewest + 1]), sum(whole[j - fewest :])):
            if alpha < 1:
                assert exceeds(q, m, n, j, alpha) is (sum(whole[: j - fewest + 1]) > alpha)
                assert exceeds(q, m, n, j, alpha, or_more=True) is (sum(whole[j - fewest :]) > alpha)


def test_a_million_rows():
    low, high = fixed_limits(1_000_000, 1000, 20, TWENTIETH)
    few, many = hypergeom.cdf(20, 1_000_000, [high, high + 1], 1000)
    assert few > 0.05 >= many
    few, many = hypergeom.sf(19, 1_000_000, [low - 1, low], 1000)
    assert few <= 0.05 < many
    low, high = anytime_limits(1_000_000, 1000, 20, TWENTIETH)
    inside, outside = hypergeom.pmf(20, 1_000_000, [[low, high], [low - 1, high + 1]], 1000)
    assert (inside > 0.05 / 1001).all()
    assert (outside <= 0.05 / 1001).all()


@pytest.mark.parametrize("share", [0.001, 0.2, 0.5, 0.999])
@pytest.mark.parametrize("n_rows", [1, 2, 17, 569])
def test_a_prevalence_gives_the_quantile_of_a_binomial(n_rows, share):
    assert prevalence_limit(n_rows, share, 0.0, TWENTIETH) == binom.ppf(0.95, n_rows, share)
    assert prevalence_limit(n_rows, (share / 2, share), 0.0, TWENTIETH) == binom.ppf(0.95, n_rows, share)
    highest = min(1.0, share + norm.ppf(0.975) * 0.01)  # half of the error each
    assert prevalence_limit(n_rows, share, 0.01, TWENTIETH) == binom.ppf(0.975, n_rows, highest)


def test_the_error_is_meant_in_decimals():
    assert allowed_error(0.95) == TWENTIETH
    assert allowed_error(0.999) == Fraction(1, 1000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: allowed_error(95), r"`level` must be a number between 0 and 1; got 95. Did you mean 0.95\?"),
        (lambda: allowed_error(1.0), "`level` must be a number between 0 and 1; got 1"),
        (lambda: check_audit(5, 6), "at most `n_checked`; got 6 found among 5 checked rows"),
        (lambda: check_audit(0, 0), "`n_checked` must be a whole number from 1; got 0"),
        (lambda: check_audit(10, 2.5), "`n_found` must be a whole number from 0; got 2.5"),
        (lambda: check_audit(10, 2, n_rows=9), "`n_checked` must be at most the 9 rows of `Y`; got 10"),
        (lambda: fixed_limits(10**8, 5, 0, TWENTIETH), "must be at most 10,000,000"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(MmdBoundsError, match=message):
        call()
