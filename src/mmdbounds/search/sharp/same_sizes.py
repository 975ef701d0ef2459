"""Floors for every pair of counts of a two-way range from few of them (docs/sharp.md, "Pairs of counts").

The true sizes depend on m - m_D alone. So all pairs with the same difference have the same quadratic, and the
gradient at one point bounds every labelling of all of them. As for one-way counts (`ranges`), shares solved
at two differences are mixed for those between.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.objective import GroupSums, Labelling, Quadratic, lost
from mmdbounds.results import Estimator
from mmdbounds.search.protocol import Part, leading, within_limits
from mmdbounds.search.sharp.floor import EIGENVALUE_ROWS, EXTRA, ROUNDING, Floor
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem
from mmdbounds.search.sharp.ranges import RANKED, Ints, coefficients
from mmdbounds.search.sharp.through_sums import SharedRows
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.sums.protocol import Float64s

TRIES = 3  # pairs of the same sizes that are solved at most, until the largest of them is not too large


@dataclass(frozen=True)
class SameSizes:
    """The pairs of counts with one difference m - m_D: from `fewest` rows of Y to the pair `most`."""

    fewest: int
    most: Counts

    @property
    def difference(self) -> int:
        """Rows of Y that move, less rows of X that move."""
        return self.most.n_moved - self.most.n_moved_of_x

    @property
    def moved(self) -> Ints:
        """Rows of Y that move, one number for each pair."""
        return np.arange(self.fewest, self.most.n_moved + 1)

    def pair(self, n_moved: int) -> Counts:
        """Return the pair with so many rows of Y."""
        return replace(self.most, n_moved=n_moved, n_moved_of_x=n_moved - self.difference)


def by_sizes(admissible: Iterable[Counts]) -> list[SameSizes]:
    """Return the pairs by their true sizes, the smallest X first; those of one size must be consecutive."""
    least: dict[int, int] = {}
    most: dict[int, Counts] = {}
    for counts in admissible:
        least[counts.n_x] = min(counts.n_moved, least.get(counts.n_x, counts.n_moved))
        if counts.n_x not in most or counts.n_moved > most[counts.n_x].n_moved:
            most[counts.n_x] = counts
    return [SameSizes(least[n_x], most[n_x]) for n_x in sorted(most)]


def widest(sizes: Sequence[SameSizes]) -> Counts:
    """Return counts that move as many rows of each group as any pair does: with the rows and limits of all.

    They need not be a pair.
    """
    every = [size.most for size in sizes]
    n_moved, n_moved_of_x = (
        max(getattr(each, name) for each in every) for name in ("n_moved", "n_moved_of_x")
    )
    return replace(every[0], n_moved=n_moved, n_moved_of_x=n_moved_of_x)


def most_moves(counts: Counts) -> tuple[bool, bool, int]:
    """Return the key by which a pair is the largest: rows of both groups move, and as many as possible.

    Where no pair moves rows of both, it moves some of X: those of Y are active beside them.
    """
    m, m_d = counts.n_moved, counts.n_moved_of_x
    return min(m, m_d) > 0, m_d > 0, m + m_d


@dataclass(frozen=True, eq=False)
class SolvedSizes:
    """Shares of the rows that may move at one difference, and a labelling near them."""

    difference: int
    share: Float64s  # shape (n,), between 0 and 1; those of Y less those of X add up to the difference
    shift: Float64s  # K times the shares with their signs, on these rows
    labelling: Labelling


class Ranked:
    """Sums of the smallest scores of each group, within limits."""

    def __init__(self, scores: Float64s, n_x: int, limits: Sequence[Part] = ()) -> None:
        left = -within_limits(-scores[None], limits)[0]  # infinite where a stratum is full
        self._of_x, self._of_y = (_first_sums(part) for part in (left[:n_x], left[n_x:]))

    def sums(self, size: SameSizes) -> Float64s:
        """Return, for each pair of one size, the least sum of as many scores of each group."""
        m = size.moved
        return np.asarray(self._of_y[m] + self._of_x[m - size.difference])


def _first_sums(scores: Float64s) -> Float64s:
    """Return the sums of the 0, 1, 2, ... smallest scores."""
    total = np.zeros(len(scores) + 1, dtype=np.longdouble)  # rounding must not grow with the rows
    np.cumsum(np.sort(scores), out=total[1:], dtype=np.longdouble)
    return total.astype(np.float64)


class FloorsBySize:
    """Floors of all pairs (`floors`, one array for each of the `sizes`).

    Nothing is known before two sizes are solved, but for those; each further one improves its neighbours as
    well. With `is_dense` a matrix of the rows that may move is held; else the kernel must be positive
    definite.
    """

    def __init__(
        self, totals: GroupSums, estimator: Estimator, sizes: list[SameSizes], *, is_dense: bool
    ) -> None:
        self._totals, self._estimator, self._is_dense = totals, estimator, is_dense
        self._o, self.sizes = 1 if estimator == "unbiased" else 0, sizes
        self.differences = np.array([size.difference for size in sizes])
        self.floors = [np.full(len(size.moved), -np.inf) for size in sizes]
        self.solved: dict[int, SolvedSizes] = {}
        self._order: list[int] = []  # of the solved differences
        self.corner = max(range(len(sizes)), key=lambda i: most_moves(sizes[i].most))
        filed, self._limits = Labelling(self.quadratic(sizes[self.corner].most)), widest(sizes).limits()
        self._active, self._sign, self._n_x = filed.active, filed.sign, filed.n_active_x
        self._relief: Float64s = np.zeros(len(self._sign))  # in units of kernel values
        self._pairs: Float64s | None = None  # kernel values of the rows that may move
        self._margins = [totals.value_margin * lost(totals.p, totals.q, size.most, self._o) for size in sizes]

    def least(self) -> Float64s:
        """Return for each size a value that no labelling of any of its pairs undercuts."""
        return np.array([floors.min() for floors in self.floors])

    def quadratic(self, counts: Counts) -> Quadratic:
        """Return the quadratic of a pair."""
        return Quadratic(self._totals, counts, self._estimator)

    def start(self, pair: Counts) -> Labelling:
        """Return a labelling to start from: S-SD, or the shares of the neighbours, mixed and rounded."""
        f = self.quadratic(pair)
        mixed, filed = self._mixed(pair.n_moved - pair.n_moved_of_x), Labelling(f)
        if mixed is not None and filed.parts():
            return Labelling(f, leading(filed, mixed[0][self._places(filed)]))
        return StepwiseDominance().from_quadratic(f, "lower")

    def solve(self, place: int, start: Labelling, slack: float, effort: Effort) -> Labelling:
        """Solve one size to about `slack`, from a labelling; return that labelling, or a better one.

        At first the largest pair is solved. If a smaller one may have less, so is one between.
        """
        size, best, floors = self.sizes[place], start, self.floors[place]
        low, high, n_moved = size.fewest, size.most.n_moved, start.quadratic.counts.n_moved
        for _ in range(TRIES):
            point = self.solve_pair(start, slack, effort)
            best, floors = min(best, point.labelling, key=Labelling.value), self.floors[place]
            low, high = (n_moved, high) if np.argmin(floors) > n_moved - size.fewest else (low, n_moved)
            again = (low + high) // 2
            if floors[n_moved - size.fewest] - floors.min() <= slack or again in (n_moved, low):
                break
            n_moved, f = again, self.quadratic(size.pair(again))
            start = Labelling(f, leading(Labelling(f), point.share[self._places(Labelling(f))]))
        return best

    def solve_pair(self, start: Labelling, slack: float, effort: Effort) -> SolvedSizes:
        """Solve the pair of a labelling to about `slack`: floors of its size, and of those near, improve."""
        f, here = start.quadratic, self._places(start)
        share = np.zeros(len(self._sign))
        if start.parts():
            share[here] = (self._densely if self._is_dense else self._by_sums)(start, slack, effort)
        rounded = Labelling(f, leading(start, share[here])) if start.parts() else start
        best = min(start, rounded, key=Labelling.value)
        point = SolvedSizes(f.counts.n_moved - f.counts.n_moved_of_x, share, self._shift(share), best)
        self._keep(point)
        return point

    def _places(self, labelling: Labelling) -> slice:
        """Return where the active rows of a labelling are among the rows that may move."""
        first = labelling.active.start - self._active.start
        return slice(first, first + len(labelling.sign))

    def _shift(self, share: Float64s) -> Float64s:
        """Return K times shares with their signs."""
        rows = np.flatnonzero(share)
        signed = self._sign[rows] * share[rows]
        if self._is_dense:
            if self._pairs is None:
                self._pairs = self._totals.sums.block(self._active, self._active)
            return np.asarray(self._pairs[:, rows] @ signed)
        return self._totals.sums.apply(self._active, rows + self._active.start, signed)

    def _keep(self, point: SolvedSizes) -> None:
        """Add a solved size, and improve what is known of those between its neighbours."""
        self.solved[point.difference] = point
        self._order = sorted(self.solved)
        at = self._order.index(point.difference)
        near = [self.solved[k] for k in self._order[max(0, at - 1) : at + 2]]
        for a, b in [(point, point), *pairwise(near)]:
            first, last = np.searchsorted(self.differences, [a.difference, b.difference])
            for i, found in enumerate(self._between(a, b, first, last + 1), start=first):
                self.floors[i] = np.maximum(self.floors[i], found - self._margins[i])

    def _mixed(self, difference: int) -> tuple[Float64s, Float64s] | None:
        """Return the shares of the neighbours, mixed, and their shift; `None` if there are no two."""
        at = bisect_right(self._order, difference)
        if not 0 < at < len(self._order):
            return None
        a, b = (self.solved[self._order[i]] for i in (at - 1, at))
        w = (difference - a.difference) / (b.difference - a.difference)
        return (1 - w) * a.share + w * b.share, (1 - w) * a.shift + w * b.shift

    def _by_sums(self, start: Labelling, slack: float, effort: Effort) -> Float64s:
        counts = start.quadratic.counts
        mixed = self._mixed(counts.n_moved - counts.n_moved_of_x)
        shared = SharedRows(start, mixed if start.active == self._active else None)
        shared.improve(max(slack, self._totals.margin), effort)
        return shared.share

    def _densely(self, start: Labelling, slack: float, effort: Effort) -> Float64s:
        f, here = start.quadratic, self._places(start)
        problem, own = QuotaProblem.of(Labelling(f), "lower"), self._totals.diagonal[start.active]
        if not self._order and start.active == self._active:  # the first size to be solved decides
            self._relief = self._found_relief(start, problem, slack, effort)
        diagonal = f.c * (own - self._relief[here])
        floor = Floor(diagonal, np.flatnonzero(start.moved), max(slack, self._totals.margin))
        mixed = self._mixed(f.counts.n_moved - f.counts.n_moved_of_x)
        share = start.moved.astype(np.float64) if mixed is None else mixed[0][here]
        return floor(problem, 0.0, 0.0, effort, (share, diagonal)).share

    def _found_relief(
        self, start: Labelling, problem: QuotaProblem, slack: float, effort: Effort
    ) -> Float64s:
        """Return what may be taken off the diagonal of K; less than 0 where K is not definite."""
        f, own = start.quadratic, self._totals.diagonal[start.active]
        diagonal = f.c * own
        if not self._totals.sums.is_positive_definite:
            diagonal = raised(problem, diagonal, start.sign)
        floor = Floor(diagonal, np.flatnonzero(start.moved), max(slack, self._totals.margin))
        found = floor(problem, -start.value(), slack - start.value(), effort).state[1]
        if len(own) <= EIGENVALUE_ROWS:
            diagonal = raised(problem, found, start.sign)
        return np.asarray(own - diagonal / f.c)

    def _between(self, a: SolvedSizes, b: SolvedSizes, first: int, stop: int) -> list[Float64s]:
        """Return the floors of the pairs of all sizes from a to b, rounding apart."""
        t, relief, sign = self._totals, self._relief, self._sign
        ours, theirs = (sign * point.shift - relief * point.share for point in (a, b))
        signed = [sign * each[self._active] for each in (t.to_x, t.to_y, t.diagonal)]
        columns = [*signed, relief, theirs, ours - theirs]
        k = self.differences[first:stop]
        w = (k - a.difference) / max(b.difference - a.difference, 1)
        fixed, c, value = coefficients(t, self._o, k)
        weights = np.vstack([fixed, 2 * c, 2 * c * (1 - w)])  # one row for each column, one column a size
        own, both, other = (x.share @ y for x, y in ((a, ours), (a, theirs), (b, theirs)))
        value = value - c * ((1 - w) ** 2 * own + 2 * w * (1 - w) * both + w**2 * other)
        sums = least_sums(columns, weights, self.sizes[first:stop], self._n_x, self._limits)
        return [base + rest for base, rest in zip(value.tolist(), sums, strict=True)]


def least_sums(
    columns: list[Float64s],
    weights: Float64s,
    sizes: list[SameSizes],
    n_x: int,
    limits: Sequence[Part] = (),
) -> list[Float64s]:
    """Return, for each pair, no more than the least sum of the weighted columns over its labellings.

    As `ranges.least_sums`: the entries are ranked at every so many sizes, and chords bound the others.
    """
    step = -(-len(sizes) // RANKED)
    places = [*range(0, len(sizes) - 1, step), len(sizes) - 1]
    ends = [Ranked(_weighted(columns, weights[:, place]), n_x, limits) for place in places]
    result = [ends[0].sums(sizes[0])]
    extremes = (
        [(Ranked(column, n_x, limits), Ranked(-column, n_x, limits)) for column in columns]
        if step > 1
        else []
    )
    for left, right, low, high in zip(places, places[1:], ends, ends[1:], strict=False):
        for i in range(left + 1, right + 1):
            w = (sizes[i].difference - sizes[left].difference) / (
                sizes[right].difference - sizes[left].difference
            )
            total = (1 - w) * low.sums(sizes[i]) + w * high.sums(sizes[i])
            rests = weights[:, i] - (1 - w) * weights[:, left] - w * weights[:, right]
            if right - left > 1:
                for rest, (least, most) in zip(rests.tolist(), extremes, strict=True):
                    total += abs(rest) * (least if rest >= 0 else most).sums(sizes[i])
            result.append(total)
    return result


def _weighted(columns: list[Float64s], weights: Float64s) -> Float64s:
    return np.asarray(sum(weight * column for weight, column in zip(weights.tolist(), columns, strict=True)))


def raised(problem: QuotaProblem, diagonal: Float64s, sign: Float64s) -> Float64s:
    """Raise (or lower) `diagonal` by one number on every row until the problem is just concave.

    Unlike `floor.raised` on all vectors whose entries, with their signs, add up to zero: between pairs of
    the same sizes the sums of the groups change.
    """
    matrix = np.diag(diagonal) - problem.pairs
    matrix += EXTRA * float(np.abs(problem.pairs).max(initial=0.0)) * np.outer(sign, sign)
    values = np.linalg.eigvalsh(matrix)
    allowance = ROUNDING * len(values) * max(values[-1], -values[0])
    return np.asarray(diagonal - values[0] + allowance)
