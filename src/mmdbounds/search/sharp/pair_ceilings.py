"""Ceilings for every pair of counts of a two-way range from one set of multipliers.

A row that moves has so many partners in each group, and what it adds with them is at most the sum of its
largest entries (docs/sharp.md, "Pairs of counts"). Along the pairs of one size this is concave in the number
of rows, so a tangent bounds it; the sum of the largest scores is convex in the scores, so chords bound that.
Where the chord of many pairs leaves room for a larger value they are split, in the end into single pairs.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.objective import GroupSums, Labelling, Quadratic, lost
from mmdbounds.results import Estimator
from mmdbounds.search.protocol import RowBounds
from mmdbounds.search.sharp.ceiling import EPS, ULPS
from mmdbounds.search.sharp.learned import lost_by_sums
from mmdbounds.search.sharp.quota_problem import QuotaProblem, ScoreBound
from mmdbounds.search.sharp.ranges import coefficients
from mmdbounds.search.sharp.same_sizes import Ranked, SameSizes, widest
from mmdbounds.sums import plan
from mmdbounds.sums.protocol import Float64s

STRIP = 256  # rows whose partners are ranked at a time: matrices have taken most of the budget
MOST_SPLIT = 4000  # pieces that are split at the most


class Partners(Protocol):
    """What partners in each group can add to each of the n rows that may move, in units of c."""

    def scores(self, m: int, m_d: int, n_x: int) -> tuple[Float64s, Float64s]:
        """Return what partners add to each row with these counts, and a slope.

        For m + j rows of Y and m_d + j rows of X they add no more than the first and j times the second.
        """
        ...

    def margin(self, ceilings: Float64s, c: float, n_chosen: int) -> Float64s:
        """Return what rounding can do to ceilings, beyond what it does to any proof."""
        ...


@dataclass(frozen=True, eq=False)
class ThresholdsOfPartners:
    """Any j partners in a group add at most j times a row's threshold there, and its excess."""

    bounds: RowBounds

    def scores(self, m: int, m_d: int, n_x: int) -> tuple[Float64s, Float64s]:
        """See `Partners`; a group of which no row moves, in the only pair of its piece, adds nothing."""
        (of_x, of_y), (above_x, above_y), alone, _ = self.bounds
        is_x = np.arange(len(alone)) < n_x
        total = alone + (m_d > 0) * above_x + (m > 0) * above_y
        return total + (m_d - is_x) * of_x + (m - ~is_x) * of_y, of_x + of_y

    def margin(self, ceilings: Float64s, c: float, n_chosen: int) -> Float64s:
        """See `Partners`; sums lose a share of what they add up, whatever is left of it."""
        thresholds, excess, alone, of_pair = self.bounds
        most_alone = float((alone + excess.sum(axis=0)).max())
        added_up = n_chosen * (n_chosen * np.abs(thresholds).max() + most_alone)
        return np.full_like(ceilings, c * (n_chosen**2 * of_pair + lost_by_sums(len(alone)) * added_up))


@dataclass(frozen=True, eq=False)
class PartnerSums:
    """The sums of the largest entries of each row, from a matrix."""

    of_x: Float64s  # shape (n_x + 1, n): row j has the sums of the j largest entries in X...
    of_y: Float64s  # ... shape (n_y + 1, n): and in Y
    alone: Float64s  # shape (n,): what squares add to each row whoever its partners are
    largest: float  # of the sums
    rounding: float  # what it can do to a chosen pair

    @classmethod
    def of(cls, problem: QuotaProblem, proof: ScoreBound, c: float) -> PartnerSums:
        """Return them from a problem and a proof of `ceiling`: its multipliers, and the squares it added."""
        n_chosen, raised, multipliers = sum(problem.quotas), proof.problem, proof.state[0]
        n, n_x = len(problem.rows), problem.n_x
        sums, largest = (np.zeros((n_x + 1, n)), np.zeros((n - n_x + 1, n))), 0.0
        for i, j in plan.strips([0, n], STRIP):
            values = (raised.pairs[i:j] + multipliers[i:j]) / c
            values[np.arange(j - i), np.arange(i, j)] = -np.inf  # no row is its own partner
            for total, part in zip(sums, np.split(values, [n_x], axis=1), strict=True):
                added = np.cumsum(-np.sort(-part, axis=1).T, axis=0, out=total[1:, i:j])
                largest = max(largest, np.abs(added).max(initial=0.0, where=np.isfinite(added)))
        squares = max(raised.constant - problem.constant, 0.0) / n_chosen**2
        rounding = (squares + ULPS * float(multipliers.max(initial=0.0))) / c
        alone = (raised.linear - problem.linear) / c
        return cls(sums[0], sums[1], alone, largest, rounding)

    def scores(self, m: int, m_d: int, n_x: int) -> tuple[Float64s, Float64s]:
        """See `Partners`."""
        total, slope = np.empty((2, self.of_x.shape[1]))
        for rows, j, k in ((slice(0, n_x), m_d - 1, m), (slice(n_x, None), m_d, m - 1)):
            of_x, more_x = _tangent(self.of_x, j, rows)
            of_y, more_y = _tangent(self.of_y, k, rows)
            total[rows], slope[rows] = of_x + of_y, more_x + more_y
        return total + self.alone, slope

    def margin(self, ceilings: Float64s, c: float, n_chosen: int) -> Float64s:
        """See `Partners`: multipliers cancel up to rounding, and sums were added up one by one."""
        summed = EPS * self.of_x.shape[1] * n_chosen * self.largest
        return np.full_like(ceilings, c * (n_chosen**2 * self.rounding + summed))


def _tangent(sums: Float64s, j: int, rows: slice) -> tuple[Float64s, Float64s]:
    """Return sums of j entries and the last of these: entries fall, so sums lie below that tangent.

    Rows of a group of which none is chosen (j = -1) add to no bound; their pair is a piece of its own.
    """
    step = max(j, 1)
    last = sums[step, rows] - sums[step - 1, rows] if step < len(sums) else np.zeros_like(sums[0, rows])
    last = np.where(np.isfinite(last), last, 0.0)  # the only row of its group has no partner there
    return sums[max(j, 0), rows], last


class PairCeilings:
    """Ceilings of all pairs (`ceilings`, one array for each of the `sizes`)."""

    def __init__(self, totals: GroupSums, estimator: Estimator, sizes: list[SameSizes]) -> None:
        self._totals, self._o, self.sizes = totals, 1 if estimator == "unbiased" else 0, sizes
        filed = Labelling(Quadratic(totals, max((s.most for s in sizes), key=_of_both), estimator))
        self._active, self._n_x, self._sign = filed.active, filed.n_active_x, filed.sign
        self._limits = widest(sizes).limits()
        self.ceilings = [np.full(len(size.moved), totals.ceiling) for size in sizes]

    def lower(self, partners: Partners, enough: float) -> None:
        """Lower the ceilings by what partners can add; those below `enough` need not be tight."""
        t, sizes = self._totals, self.sizes
        fixed, c, value = coefficients(t, self._o, np.array([size.difference for size in sizes]))

        def bounded(i: int, piece: tuple[int, int]) -> tuple[float, int, tuple[int, int]]:
            size, most = sizes[i], sizes[i].most
            found = value[i] + self._of_piece(size, piece, self._alone(fixed[:, i], c[i]), c[i], partners)
            found += partners.margin(found, c[i], most.n_moved + most.n_moved_of_x)
            found += t.value_margin * lost(t.p, t.q, most, self._o, by_gradient=False)
            here = self.ceilings[i][piece[0] - size.fewest : piece[1] - size.fewest + 1]
            np.minimum(here, found, out=here)
            return -float(here.max()), i, piece

        pieces = [bounded(i, (size.fewest, size.most.n_moved)) for i, size in enumerate(sizes)]
        heapq.heapify(pieces)
        for _ in range(MOST_SPLIT):
            highest, i, (first, last) = heapq.heappop(pieces)
            if -highest <= enough or first == last:  # a single pair is as tight as it gets
                break
            middle = (first + last) // 2
            for piece in ((first, middle), (middle + 1, last)):
                heapq.heappush(pieces, bounded(i, piece))

    def _alone(self, weights: Float64s, c: float) -> Float64s:
        """Return what each row adds alone."""
        t = self._totals
        to_x, to_y, own = (each[self._active] for each in (t.to_x, t.to_y, t.diagonal))
        return np.asarray(self._sign * (weights[0] * to_x + weights[1] * to_y + weights[2] * own) + c * own)

    def _of_piece(
        self, size: SameSizes, piece: tuple[int, int], alone: Float64s, c: float, partners: Partners
    ) -> Float64s:
        """Return ceilings of the pairs from the first to the last number of a piece."""
        first, last = piece
        # Rounded up: only a piece of one pair has its tangent where no row of a group moves.
        middle, here = (first + last + 1) // 2, SameSizes(first, size.pair(last))
        total, slope = partners.scores(middle, middle - size.difference, self._n_x)
        low, high = (
            -Ranked(-(alone + c * (total + (m - middle) * slope)), self._n_x, self._limits).sums(here)
            for m in piece
        )
        w = (here.moved - first) / max(last - first, 1)
        return np.asarray((1 - w) * low + w * high)


def _of_both(counts: Counts) -> bool:
    return counts.n_moved_of_x > 0
