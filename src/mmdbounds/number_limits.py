"""Limits on how many rows of Y are misfiled: from rows that were looked up, or from a prevalence.

*An audit.* Of the q rows of Y, m belong to X; n_checked are drawn without replacement, and n_found of them
belong to X. That number is hypergeometric, whatever the rows are like and however they were misfiled.

- One sample, its size fixed in advance: the upper limit is the largest m for which so few found are not too
  surprising, P(J <= n_found | m) > alpha. The lower limit is the smallest with P(J >= n_found | m) > alpha.
- Looked at after every row: m stays possible while P(J = n_found | m) > alpha / (t + 1) after t rows, for
  every t so far. The chance of what was seen, averaged over all m alike, over that for the true m is a
  martingale with mean 1 (prior-posterior ratio; Waudby-Smith and Ramdas, 2020). So it reaches 1 / alpha with
  a probability of at most alpha at any time, and one may stop whenever one likes.

*A prevalence.* If the N rows of both groups are independent draws from a population in which a share pi
belongs to X, the number of true rows of X is binomial.

No limit is too small through rounding: a number is ruled out only where that is certain in spite of it, or by
whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import check_chance, check_count
from mmdbounds.errors import MmdBoundsError

Limits = tuple[int, int]
"""The smallest and the largest possible number of misfiled rows."""

Ints = NDArray[np.int64]

MOST_ROWS = 10_000_000  # products of two numbers of rows are exact in float64, with room to spare
MOST_WORK = 100_000  # terms times factors up to which ties are decided by whole numbers, in milliseconds
UNIT = 2.0**-53
LOG_ERROR = 2e-14  # beyond the error of nine logarithms of factorials, in units of the largest
TAIL_ERROR = 1e-9  # beyond the relative error of an incomplete beta function


def allowed_error(level: Any, name: str = "level") -> Fraction:
    """Return one minus a confidence, in decimals: 0.95 leaves a twentieth, not the nearest binary number."""
    return 1 - Fraction(repr(check_chance(level, name)))


def check_audit(n_checked: Any, n_found: Any, *, n_rows: int | None = None) -> tuple[int, int]:
    """Return how many rows were checked and found; refuse more found than checked, or checked than exist."""
    checked = check_count(n_checked, "n_checked", least=1)
    found = check_count(n_found, "n_found")
    if found > checked:
        msg = f"`n_found` must be at most `n_checked`; got {found:,} found among {checked:,} checked rows."
        raise MmdBoundsError(msg)
    if n_rows is not None and checked > n_rows:
        msg = f"`n_checked` must be at most the {n_rows:,} rows of `Y`; got {checked:,}."
        raise MmdBoundsError(msg)
    return checked, found


def fixed_limits(q: int, n_checked: int, n_found: int, alpha: Fraction) -> Limits:
    """Return the limits from one sample whose size was fixed in advance; each errs with at most `alpha`.

    Only one of them may be used at that error: both together err with up to twice `alpha`.
    """
    check_count(q, "rows of Y", most=MOST_ROWS)
    most = q - (n_checked - n_found)
    high = last_number(n_found, most, lambda m: exceeds(q, m, n_checked, n_found, alpha))
    low = most - last_number(
        0, most - n_found, lambda k: exceeds(q, most - k, n_checked, n_found, alpha, or_more=True)
    )
    return low, high


def anytime_limits(q: int, n_checked: Any, n_found: Any, alpha: Fraction) -> Limits:
    """Return limits that may be looked at after every row; both together err with at most `alpha`.

    `n_checked` and `n_found` are two numbers, or arrays with the numbers at each time that was looked at: the
    limits at all of these times then hold together. If they exclude each other, which happens with a
    probability of at most `alpha`, those at the last time are returned.
    """
    check_count(q, "rows of Y", most=MOST_ROWS)
    t, j = np.atleast_1d(np.asarray(n_checked, np.int64)), np.atleast_1d(np.asarray(n_found, np.int64))
    likeliest = np.minimum(j * (q + 1) // t, q)  # the chance of what was seen falls on both sides of it
    high = last_number(-1, q, lambda m: not (ruled_out(q, m, t, j, alpha) & (m > likeliest)).any())
    low = q - last_number(-1, q, lambda k: not (ruled_out(q, q - k, t, j, alpha) & (q - k < likeliest)).any())
    return (low, high) if low <= high else anytime_limits(q, t[-1:], j[-1:], alpha)


def last_number(first: int, last: int, holds: Callable[[int], bool]) -> int:
    """Return the last number for which something holds, which it does from `first` up to some number."""
    while first < last:
        middle = first + (last - first + 1) // 2
        first, last = (middle, last) if holds(middle) else (first, middle - 1)
    return first


def exceeds(q: int, m: int, n_checked: int, n_found: int, alpha: Fraction, *, or_more: bool = False) -> bool:
    """Return whether `n_found` rows or fewer (`or_more`: or more) are found with a chance above `alpha`.

    A tie that rounding leaves open, and that is too long for whole numbers, counts as above.
    """
    fewest, weights = _weights(q, m, n_checked)
    at = min(max(n_found - fewest, -1), len(weights))
    part = weights[max(at, 0) :] if or_more else weights[: at + 1]
    chance = float(part.sum() / weights.sum())
    # Each weight is off by 2 units a step from the likeliest one, and sums add one for each term.
    error = 8 * (len(weights) + 1) * UNIT
    if abs(chance - float(alpha)) > error * max(chance, float(alpha)):
        return chance > alpha
    counts = range(n_found, min(m, n_checked) + 1) if or_more else range(fewest, n_found + 1)
    if len(counts) * min(n_checked, q - n_checked) > MOST_WORK:
        return True
    ways = sum(math.comb(m, i) * math.comb(q - m, n_checked - i) for i in counts)
    return ways * alpha.denominator > alpha.numerator * math.comb(q, n_checked)


def chances(q: int, m: int, n_checked: int) -> tuple[int, NDArray[np.float64]]:
    """Return the fewest rows that can be found, and the chances of finding these, one more, two more, ..."""
    fewest, weights = _weights(q, m, n_checked)
    return fewest, weights / weights.sum()


def _weights(q: int, m: int, n_checked: int) -> tuple[int, NDArray[np.float64]]:
    """Return the same up to a factor: 1 for the likeliest number, the others by the ratios of neighbours."""
    fewest, most = max(0, n_checked + m - q), min(n_checked, m)
    mode = min(max((n_checked + 1) * (m + 1) // (q + 2), fewest), most)
    up, down = np.arange(mode, most, dtype=np.float64), np.arange(mode, fewest, -1, dtype=np.float64)
    rest = q - m - n_checked
    more = np.cumprod((m - up) * (n_checked - up) / ((up + 1) * (rest + up + 1)))
    fewer = np.cumprod(down * (rest + down) / ((m - down + 1) * (n_checked - down + 1)))
    return fewest, np.concatenate([fewer[::-1], [1.0], more])


def ruled_out(q: int, m: int, t: Ints, j: Ints, alpha: Fraction) -> NDArray[np.bool_]:
    """Return for each time whether `j` found among `t` rule out that `m` rows are misfiled: surely so."""
    from scipy.special import gammaln

    def log_choose(n: Any, k: Any) -> Any:
        return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)

    possible = (j <= m) & (t - j <= q - m)
    t_, j_ = np.where(possible, t, 0), np.where(possible, j, 0)  # nothing is drawn: no negative factorials
    log_chance = log_choose(m, j_) + log_choose(q - m, t_ - j_) - log_choose(q, t_)
    beyond = log_chance + np.log(t + 1.0) - math.log(alpha)
    error = LOG_ERROR * (1 + float(gammaln(q + 2.0)))
    result = np.asarray(~possible | (beyond < -error))
    for i in np.flatnonzero(possible & (np.abs(beyond) <= error)):
        result[i] = _is_ruled_out(q, m, int(t[i]), int(j[i]), alpha)
    return result


def _is_ruled_out(q: int, m: int, t: int, j: int, alpha: Fraction) -> bool:
    """Return the same for one time by whole numbers; false where that would take too long."""
    if min(t, q - t) > MOST_WORK:
        return False
    ways = math.comb(m, j) * math.comb(q - m, t - j) * (t + 1)
    return ways * alpha.denominator <= alpha.numerator * math.comb(q, t)


def prevalence_limit(
    n_rows: int, prevalence: float | tuple[float, float], standard_error: float, alpha: Fraction
) -> int:
    """Return how many of `n_rows` independent draws belong to X at most; errs with at most `alpha`.

    Half of `alpha` goes to the prevalence itself if it has a standard error, which is then taken as that of a
    normal estimate. A pair is an interval that is taken to hold for certain.
    """
    from scipy.special import betainc

    share = prevalence[1] if isinstance(prevalence, tuple) else prevalence
    if standard_error:
        alpha /= 2
        share = min(1.0, share + NormalDist().inv_cdf(float(1 - alpha)) * standard_error)

    def may_be_more(k: int) -> bool:  # P(more than k rows), an incomplete beta function, is above alpha
        return bool(betainc(k + 1.0, n_rows - k, share) > float(alpha) * (1 - TAIL_ERROR))

    return 0 if not may_be_more(0) else 1 + last_number(0, n_rows - 1, may_be_more)
