"""How many rows an audit has to check until the breakdown is ruled out.

The breakdown is ruled out by c rows found once n rows are checked, for each c from some n on. So the plan is
a staircase: `Stairs.size(c)` is that n. A sample of fixed size needs one stair, the first on which the number
found is likely enough to be low; looked at after every row, an audit ends on the first stair that it meets.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from mmdbounds.checks import check_chance, check_count, check_flag, is_list
from mmdbounds.errors import MmdBoundsError
from mmdbounds.number_limits import (
    MOST_ROWS,
    allowed_error,
    chances,
    exceeds,
    last_number,
    ruled_out,
)
from mmdbounds.results.audit import AuditPlan, PlanPoint
from mmdbounds.sums.protocol import Float64s

POINTS = 10  # numbers of misfiled rows in a plan, from none towards the breakdown
ONE_BY_ONE = (
    1000  # so many stairs are tried one by one; beyond, the power is taken to grow from stair to stair
)
ROUNDING = 1e-12  # by so much, relatively, a probability may be short of what is asked for


def plan_audit(
    n_rows: int,
    breakdown: int,
    *,
    n_misfiled: Any = None,
    audit_level: float = 0.95,
    power: float = 0.9,
    anytime: bool = False,
) -> AuditPlan:
    """How many rows of Y must be drawn at random and looked up to rule out that the finding breaks down.

    Parameters
    ----------
    n_rows : int
        Rows filed under Y.
    breakdown : int
        The number of misfiled rows to be ruled out, and with it all larger ones: `breakdown_n_moved` of a
        sweep.
    n_misfiled : int or sequence of int, optional
        How many rows may really be misfiled; below `breakdown`. By default ten numbers from 0.
    audit_level : float, default=0.95
        Confidence of the limit on the number misfiled.
    power : float, default=0.9
        Probability with which the breakdown is to be ruled out.
    anytime : bool, default=False
        Whether the limit is looked at after every row, so that the audit can end early or go on; else once,
        after as many rows as were fixed in advance. The numbers are then those by which it has ended with
        probability `power`; in many audits it ends sooner.

    Returns
    -------
    AuditPlan
        The smallest number of rows to check for each number of misfiled rows, by exact probabilities.

    Examples
    --------
    >>> import mmdbounds as mb
    >>> [point.n_checked for point in mb.plan_audit(357, 34, n_misfiled=[0, 5, 10]).points]
    [29, 61, 87]
    """
    q = check_count(n_rows, "n_rows", least=1, most=MOST_ROWS)
    b = check_count(breakdown, "breakdown", least=1, most=q)
    stairs = Stairs(q, b, allowed_error(audit_level, "audit_level"), check_flag(anytime, "anytime"))
    power = check_chance(power, "power")
    return AuditPlan(
        points=tuple(_point(stairs, m, power) for m in _numbers(n_misfiled, b)),
        n_samples_Y=q,
        breakdown_n_moved=b,
        audit_level=float(audit_level),
        power=power,
        anytime=stairs.anytime,
    )


def _numbers(n_misfiled: Any, breakdown: int) -> list[int]:
    """Return the numbers of misfiled rows of a plan, ascending."""
    if n_misfiled is None:
        return sorted({breakdown * i // POINTS for i in range(POINTS)})
    given = list(n_misfiled) if is_list(n_misfiled) else [n_misfiled]
    numbers = sorted({check_count(m, "n_misfiled") for m in given})
    if not numbers or numbers[-1] >= breakdown:
        got = f"got {numbers[-1]:,}" if numbers else "got none"
        msg = f"`n_misfiled` must be below `breakdown`, {breakdown:,}, which is to be ruled out; {got}."
        raise MmdBoundsError(msg)
    return numbers


def _point(stairs: Stairs, m: int, power: float) -> PlanPoint:
    if stairs.anytime:
        n_checked, reached = rows_until_ruled_out(stairs, m, power)
        return PlanPoint(n_misfiled=m, n_checked=n_checked, most_found=stairs.stair(n_checked), power=reached)

    def reached_on(c: int) -> float:
        fewest, each = chances(stairs.q, m, stairs.size(c))
        return min(1.0, float(each[: max(c - fewest + 1, 0)].sum()))

    def is_short(c: int) -> bool:
        return reached_on(c) < power * (1 - ROUNDING)

    c = 0  # with m found or fewer, which is certain, some sample rules the breakdown out
    while c < min(m, ONE_BY_ONE) and is_short(c):
        c += 1
    if is_short(c):
        c = last_number(c, m - 1, is_short) + 1
    return PlanPoint(n_misfiled=m, n_checked=stairs.size(c), most_found=c, power=reached_on(c))


class Stairs:
    """From how many checked rows on c found ones rule out that `breakdown` rows of `q` are misfiled."""

    def __init__(self, q: int, breakdown: int, alpha: Fraction, anytime: bool) -> None:
        self.q, self.breakdown, self.anytime = q, breakdown, anytime
        self._alpha = alpha
        self._sizes: list[int] = []

    def size(self, c: int) -> int:
        """Return that number of rows; `c` is below the breakdown, and all rows are always enough."""
        while len(self._sizes) <= c:
            self._sizes.append(self._next(len(self._sizes)))
        return self._sizes[c]

    def stair(self, n_checked: int) -> int:
        """Return the largest number found that rules the breakdown out, -1 if none does."""
        c = -1
        while c + 1 < self.breakdown and self.size(c + 1) <= n_checked:
            c += 1
        return c

    def _next(self, c: int) -> int:
        """Return the size for the next number found, looked for in steps like the last one."""
        before, last = [0, 0, *self._sizes[-2:]][-2:]
        step, low = max(1, last - before), max(last - 1, 0)
        high = min(low + 2 * step, self.q)
        while high < self.q and self._is_open(high, c):
            low, high, step = high, min(high + 2 * step, self.q), 2 * step
        return 1 + last_number(low, high - 1, lambda n: self._is_open(n, c))

    def _is_open(self, n: int, c: int) -> bool:
        """Return whether the breakdown is still possible with `c` of `n` rows found."""
        if n <= c or not self.anytime:
            return n <= c or exceeds(self.q, self.breakdown, n, c, self._alpha)
        is_above = self.breakdown * n > c * (self.q + 1)  # of the likeliest number
        return not (is_above and bool(ruled_out(self.q, self.breakdown, _one(n), _one(c), self._alpha)[0]))


def _one(number: int) -> Any:
    return np.array([number], np.int64)


def rows_until_ruled_out(
    stairs: Stairs, m: int, power: float, start: tuple[int, int] = (0, 0)
) -> tuple[int, float]:
    """Return by how many checked rows the breakdown is ruled out with probability `power`, and how surely.

    `m` rows are misfiled; `start` is how many rows have been checked and found already. Looked at after every
    row: over all orders in which the others are drawn.
    """
    t, found = start
    open_: Float64s = np.zeros(m + 1)  # chances of the numbers found, where it is not ruled out yet
    open_[found] = 1.0
    j, ended, c = np.arange(m + 1), 0.0, stairs.stair(t)
    while t < stairs.q:
        open_ = _one_more(open_, j, t, m, stairs.q)
        t += 1
        if c + 1 < stairs.breakdown and stairs.size(c + 1) <= t:
            c = stairs.stair(t)
        ended += float(open_[: c + 1].sum())
        open_[: c + 1] = 0.0
        if ended >= power * (1 - ROUNDING):
            break
    return t, min(1.0, ended)


def _one_more(open_: Float64s, j: Any, t: int, m: int, q: int) -> Float64s:
    """Return the chances of the numbers found once one more row is checked."""
    to_find = open_ * (m - j) / (q - t)
    after = open_ - to_find
    after[1:] += to_find[:-1]
    return np.asarray(np.maximum(after, 0.0))
