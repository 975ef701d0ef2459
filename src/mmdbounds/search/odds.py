"""Between misfiled at random and misfiled at worst: a limit on how much the odds of being misfiled differ.

The misfiled rows are distributed like the rows filed under X but for weights, and nothing ties them to single
rows of Y (docs/odds.md). So the range is an estimate for the populations, and no labelling reaches its ends.

One pass over the pairs gives both ends for any number of misfiled rows and any factor. More misfiled rows do
two things to the quadratic of `hidden_weights`. They let t count for more (kappa), so on the scale of the
groups as filed its smallest value falls and its largest rises. And they enlarge the scale itself. So over a
range of numbers the upper end is that of the largest, and the lower end is searched: between two numbers it
is at least the smallest value at the larger one, on the scale of the smaller one.

What is estimated, the squared MMD of two populations, is not negative, and bounded where the kernel is. Both
ends are cut off there (`possible_values`): an estimate beyond is further off, and so is a proof about it.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import Kernel
from mmdbounds.objective import GroupSums
from mmdbounds.problem import Problem
from mmdbounds.results import Estimator, Side
from mmdbounds.search import as_method
from mmdbounds.search.hidden_weights import Extreme, HiddenWeights
from mmdbounds.search.protocol import Found, Method, Task
from mmdbounds.sums.protocol import Float64s

MOST_NUMBERS = 24  # of misfiled rows at which the lower end is computed
CLOSE = 1e-3  # how near its proof comes for the numbers in between, as a share of the width
NON_NEGATIVE = (0.0, math.inf)
SAME = 0.01  # factors that differ by less, relative to each other, are one


@dataclass(frozen=True)
class Amount:
    """What a number of misfiled rows does: `kappa`, and `scale` from the groups as filed to the true ones."""

    kappa: float
    scale: float


class End(NamedTuple):
    """One end of a range: the value that weights of the rows of X reach with a number of misfiled rows."""

    value: float
    certified: float | None  # no admissible weights go beyond
    n_moved: int
    weights: Float64s  # shape (p,), their mean is 1
    cut_off: float | None = None  # where, if what was found lies beyond all that is possible

    def within(self, possible: tuple[float, float]) -> End:
        """Return the end, cut off where no population has a value beyond."""
        least, most = possible
        value = min(max(self.value, least), most)
        certified = None if self.certified is None else min(max(self.certified, least), most)
        cut_off = None if value == self.value else value
        return self._replace(value=value, certified=certified, cut_off=cut_off)


class Ranges:
    """Both ends for any number of misfiled rows and any factor."""

    def __init__(self, totals: GroupSums, estimator: Estimator, possible: tuple[float, float]) -> None:
        self._p, self._q, self._possible = totals.p, totals.q, possible
        self.hidden = HiddenWeights(totals, estimator)

    def amount(self, m: int) -> Amount:
        """Return what m misfiled rows do."""
        epsilon, eta = m / (self._p + m), m / self._q
        return Amount(epsilon + eta - epsilon * eta, 1 / (1 - eta) ** 2)

    def point(self, m: int) -> float:
        """Return the estimate if m rows are misfiled at random."""
        least, most = self._possible
        return min(max(self.amount(m).scale * self.hidden.observed, least), most)

    def ends(self, numbers: range, factor: float) -> tuple[End, End]:
        """Return both ends over these numbers of misfiled rows."""
        upper = self._upper(numbers, factor)
        lower = self._lower(numbers, factor, upper.value)
        return lower.within(self._possible), upper.within(self._possible)

    def _upper(self, numbers: range, factor: float) -> End:
        """Return the upper end: at the largest number, unless all values are negative."""
        first, last = numbers[0], numbers[-1]
        found = self.hidden.upper(self.amount(last).kappa, factor**2)
        if found.certified is not None and found.certified < 0:
            scale = self.amount(first).scale
            end = self.hidden.upper(self.amount(first).kappa, factor**2)
            return End(float(scale * end.value), float(scale * found.certified), first, 1 + end.t)
        return self._end(last, found)

    def _lower(self, numbers: range, factor: float, above: float) -> End:
        """Return the lower end: at the number where it is smallest."""
        solved = {m: self._solved(m, factor) for m in {numbers[0], numbers[-1]}}
        best = min(solved.values(), key=lambda end: end.value)
        between = [self._between(numbers[0], numbers[-1], solved[numbers[-1]])]
        while len(solved) < MOST_NUMBERS and between[0][0] < best.value - CLOSE * (above - best.value):
            _, low, high = heapq.heappop(between)
            middle = (low + high) // 2
            solved[middle] = self._solved(middle, factor)
            best = min(best, solved[middle], key=lambda end: end.value)
            heapq.heappush(between, self._between(low, middle, solved[middle]))
            heapq.heappush(between, self._between(middle, high, solved[high]))
        proofs = [end.certified for end in solved.values() if end.certified is not None]
        return best._replace(certified=float(min([*proofs, between[0][0]])))

    def _solved(self, m: int, factor: float) -> End:
        return self._end(m, self.hidden.lower(self.amount(m).kappa, factor**2))

    def _end(self, m: int, found: Extreme) -> End:
        """Return an end on the scale of the true groups."""
        scale = self.amount(m).scale
        certified = None if found.certified is None else float(scale * found.certified)
        return End(float(scale * found.value), certified, m, 1 + found.t)

    def _between(self, low: int, high: int, at_high: End) -> tuple[float, int, int]:
        """Return a floor for the numbers between two; infinite if there are none."""
        if high - low < 2 or at_high.certified is None:
            return float("inf"), low, high
        as_filed = at_high.certified / self.amount(high).scale
        return as_filed * self.amount(low + 1 if as_filed >= 0 else high - 1).scale, low, high

    def breakdown(self, m: int, chance: float, most: float) -> float | None:
        """Return the smallest factor, up to `most`, at which the lower end as filed is not above chance."""

        def is_above(factor: float) -> bool:
            floor = self.hidden.lower(self.amount(m).kappa, factor**2).certified
            return floor is not None and floor > chance

        if self.hidden.observed <= chance:
            return 1.0
        if is_above(most):
            return None
        holds, breaks = 1.0, most
        while breaks > (1 + SAME) * holds:
            middle = (holds * breaks) ** 0.5
            holds, breaks = (middle, breaks) if is_above(middle) else (holds, middle)
        return breaks


@dataclass(frozen=True)
class LimitedOdds(Method):
    """The range if the odds of being misfiled lie within a factor `odds` of one value."""

    odds: float
    possible: tuple[float, float] = NON_NEGATIVE
    name: ClassVar[str] = "odds"

    @classmethod
    def instead_of(cls, method: str | Method, odds: float) -> LimitedOdds:
        """Return the method that limited odds need; refuse another that was asked for by name."""
        if (asked := as_method(method)) != as_method("sharp"):
            came = f"method={asked.name!r}" if asked.name != "sharp" else "options of 'sharp'"
            msg = f"`odds` has a method of its own; got {came} too. Leave one of them out."
            raise MmdBoundsError(msg)
        return cls(odds)

    @classmethod
    def of(cls, problem: Problem, odds: float) -> LimitedOdds:
        """Return the method for a problem, whose kernel says what is possible."""
        check_kernel(problem)
        return cls(odds, possible_values(problem.kernel))

    def options(self) -> dict[str, Any]:
        """Return the factor: what is possible follows from the kernel."""
        return {"odds": self.odds}

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse rows that are known: the range says nothing of single rows of Y."""
        if counts.movable is not None:
            msg = "`odds` cannot be combined with verified rows or limits: it says nothing of single rows."
            raise MmdBoundsError(msg)

    def both_sides(self, task: Task) -> tuple[Found, Found]:
        """Return both ends over all admissible counts."""
        numbers = range(task.admissible[0].n_moved, task.admissible[-1].n_moved + 1)
        lower, upper = Ranges(task.totals, task.estimator, self.possible).ends(numbers, self.odds)
        return _found(lower, "lower"), _found(upper, "upper")


def possible_values(kernel: Kernel) -> tuple[float, float]:
    """Return the smallest and the largest squared MMD that two populations can have with this kernel."""
    return 0.0, (2 if kernel.is_nonnegative else 4) * kernel.upper_bound


def check_kernel(problem: Problem) -> None:
    """Refuse kernels for which the lower end is not proved, or the range depends on where 0 is."""
    kernel = problem.kernel
    if problem.estimator == "unbiased" and kernel.geometry == "inner" and kernel.shift_invariant:
        what = f"`odds` with kernel={kernel.name!r} and the unbiased estimator would depend on where 0 is"
        msg = f"{what}, because k(x, x) does. Use estimator='biased', which does not."
        raise MmdBoundsError(msg)
    if not problem.kernel.is_conditionally_definite:
        came = problem.kernel.name
        msg = f"`odds` needs a kernel that is known to be positive definite; got kernel={came!r}."
        raise MmdBoundsError(msg)


def _found(end: End, side: Side) -> Found:
    rows = f"with {end.n_moved:,} misfiled row{'' if end.n_moved == 1 else 's'}"
    if end.cut_off is not None:
        beyond = "below" if side == "lower" or not end.cut_off else "above"
        rows += f"; cut off at {end.cut_off:g}, as no squared MMD of populations is {beyond} that"
    found = Found(end.value, None, kind="weights", status=rows, weights=end.weights)
    return found.proved(end.certified, side)
