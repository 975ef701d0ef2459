"""Both ends for any number of misfiled rows and any factor of the odds, from one pass over the pairs.

More misfiled rows do two things to the quadratic of `hidden_weights`. They let t count for more (kappa), so
on the scale of the groups as filed its smallest value falls and its largest rises. And they enlarge the scale
itself. So over a range of numbers the upper end is that of the largest, and the lower end is searched:
between two numbers it is at least the smallest value at the larger one, on the scale of the smaller one.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple

from mmdbounds.objective import GroupSums
from mmdbounds.results import Estimator
from mmdbounds.search.odds.hidden_weights import Extreme, HiddenWeights
from mmdbounds.sums.protocol import Float64s

MOST_NUMBERS = 24  # of misfiled rows at which the lower end is computed
CLOSE = 1e-3  # how near its proof comes for the numbers in between, as a share of the width
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


class Ranges:
    """Both ends for any number of misfiled rows and any factor."""

    def __init__(self, totals: GroupSums, estimator: Estimator) -> None:
        self._p, self._q = totals.p, totals.q
        self.hidden = HiddenWeights(totals, estimator)

    def amount(self, m: int) -> Amount:
        """Return what m misfiled rows do."""
        epsilon, eta = m / (self._p + m), m / self._q
        return Amount(epsilon + eta - epsilon * eta, 1 / (1 - eta) ** 2)

    def point(self, m: int) -> float:
        """Return the estimate if m rows are misfiled at random."""
        return self.amount(m).scale * self.hidden.observed

    def ends(self, numbers: range, factor: float) -> tuple[End, End]:
        """Return both ends over these numbers of misfiled rows."""
        upper = self._upper(numbers, factor)
        return self._lower(numbers, factor, upper.value), upper

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
