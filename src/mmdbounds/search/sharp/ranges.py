"""Proofs for every count of a range from a few of them (docs/sharp.md, "Many counts").

Floors come from shares solved at two counts and mixed for those between, ceilings from two numbers for each
row. Neither needs another kernel value. The entries to be ranked are a sum of few columns with coefficients
that depend on the count: they are ranked at every so many counts, and chords bound the others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mmdbounds.counts import Counts, Movable
from mmdbounds.objective import GroupSums, Indices, Labelling, Quadratic, lost
from mmdbounds.results import Estimator, Side
from mmdbounds.search.protocol import (
    Part,
    leading,
    limits_left,
    outwards,
    partner_limits,
    strata_of,
    within_limits,
)
from mmdbounds.search.sharp.ceiling import ULPS
from mmdbounds.search.sharp.floor import Floor, raised
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem
from mmdbounds.search.sharp.through_sums import SharedRows
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.sums.plan import strips
from mmdbounds.sums.protocol import Float64s

RANKED = 64  # counts between two solved ones at which the gradient is ranked; the others lie on chords
Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Solved:
    """Shares of the rows of Y at one count, and a labelling near them."""

    n_moved: int
    share: Float64s  # shape (q,), between 0 and 1; their sum is `n_moved`
    shift: Float64s  # K times the shares, on the rows of Y
    labelling: Labelling


class FloorRange:
    """Floors (`floors`) of every one-way count between two ends, and values of labellings (`values`).

    Nothing is known before both ends are solved; each further count makes those of its neighbours better as
    well. With `is_dense` a matrix of the rows of Y is held; else the kernel must be positive definite.
    """

    def __init__(
        self,
        totals: GroupSums,
        estimator: Estimator,
        ends: tuple[int, int],
        *,
        is_dense: bool,
        movable: Movable | None = None,
    ) -> None:
        self._totals, self._estimator, self._is_dense = totals, estimator, is_dense
        self._o = 1 if estimator == "unbiased" else 0
        self._of_y, self._limits = _rows_and_limits(totals, ends[1], movable)
        self.counts = np.arange(ends[0], ends[1] + 1)
        self.floors = np.full(len(self.counts), -np.inf)
        self.values = np.full(len(self.counts), np.inf)
        self.solved: dict[int, Solved] = {}
        self._order: list[int] = []  # of the solved counts
        self._relief: Float64s = np.zeros(self._of_y.stop - totals.p)  # in units of kernel values
        sized = (Counts(k, 0, totals.p + k, totals.q - k) for k in self.counts.tolist())
        self._margins = totals.value_margin * np.array(
            [lost(totals.p, totals.q, counts, self._o) for counts in sized]
        )

    def start(self, counts: Counts) -> Labelling:
        """Return a labelling to start from: S-SD, or the shares of the neighbours, mixed and rounded."""
        f = Quadratic(self._totals, counts, self._estimator)
        if counts.n_moved and (mixed := self._mixed(counts.n_moved)) is not None:
            return Labelling(f, leading(Labelling(f), mixed[0]))
        return StepwiseDominance().from_quadratic(f, "lower")

    def solve(self, start: Labelling, slack: float, effort: Effort) -> Labelling:
        """Solve the count of a labelling to about `slack`; return the labelling, or a better one."""
        f, k = start.quadratic, start.quadratic.counts.n_moved
        if k == 0:
            shares = np.zeros_like(self._relief), np.zeros_like(self._relief)
        else:
            shares = (self._densely if self._is_dense else self._by_sums)(start, slack, effort)
        rounded = Labelling(f, leading(start, shares[0])) if k else start
        self._keep(Solved(k, *shares, min(start, rounded, key=Labelling.value)))
        return self.solved[k].labelling

    def _keep(self, point: Solved) -> None:
        """Add a solved count, and improve what is known of the counts between its neighbours."""
        self.solved[point.n_moved] = point
        self._order = sorted(self.solved)
        place = self._order.index(point.n_moved)
        near = [self.solved[k] for k in self._order[max(0, place - 1) : place + 2]]
        for a, b in pairwise(near) if len(near) > 1 else [(point, point)]:
            here = slice(a.n_moved - self.counts[0], b.n_moved - self.counts[0] + 1)
            floors = self._between(a, b) - self._margins[here]
            self.floors[here] = np.maximum(self.floors[here], floors)
            self.values[here] = np.minimum(self.values[here], reached(a.labelling, b.labelling, "lower"))

    def _mixed(self, n_moved: int) -> tuple[Float64s, Float64s] | None:
        """Return the shares of the neighbours, mixed, and their shift; `None` if there are no two."""
        place = bisect_right(self._order, n_moved)
        if not 0 < place < len(self._order):
            return None
        a, b = (self.solved[self._order[i]] for i in (place - 1, place))
        w = (n_moved - a.n_moved) / (b.n_moved - a.n_moved)
        return (1 - w) * a.share + w * b.share, (1 - w) * a.shift + w * b.shift

    def _by_sums(self, start: Labelling, slack: float, effort: Effort) -> tuple[Float64s, Float64s]:
        shared = SharedRows(start, self._mixed(start.quadratic.counts.n_moved))
        shared.improve(max(slack, self._totals.margin), effort)
        rows = np.flatnonzero(shared.share)
        shift = self._totals.sums.apply(start.active, start.pooled(rows), shared.share[rows])
        return shared.share, shift

    def _densely(self, start: Labelling, slack: float, effort: Effort) -> tuple[Float64s, Float64s]:
        f, own = start.quadratic, self._totals.diagonal[self._of_y]
        problem, diagonal = QuotaProblem.of(Labelling(f), "lower"), f.c * (own - self._relief)
        if not self._order and not self._totals.sums.is_positive_definite:
            diagonal = raised(problem, diagonal)
        floor = Floor(diagonal, np.flatnonzero(start.moved), max(slack, self._totals.margin))
        if self._order:
            mixed = self._mixed(f.counts.n_moved)
            share = start.moved.astype(np.float64) if mixed is None else mixed[0]
            share = floor(problem, 0.0, 0.0, effort, (share, diagonal)).share
        else:  # the first count to be solved decides on the relief
            share, diagonal = floor(problem, -start.value(), slack - start.value(), effort).state
            self._relief = own - diagonal / f.c
        return share, own * share - problem.pairs @ share / f.c

    def _between(self, a: Solved, b: Solved) -> Float64s:
        """Return the floors of the counts from a to b, rounding apart."""
        t, relief = self._totals, self._relief
        ours, theirs = (point.shift - relief * point.share for point in (a, b))
        columns = [each[self._of_y] for each in (t.to_x, t.to_y, t.diagonal)] + [
            relief,
            theirs,
            ours - theirs,
        ]
        k = np.arange(a.n_moved, b.n_moved + 1)
        w = (k - a.n_moved) / max(b.n_moved - a.n_moved, 1)
        fixed, c, value = coefficients(t, self._o, k)
        weights = np.vstack([fixed, 2 * c, 2 * c * (1 - w)])  # one row for each column, one column a count
        own, both, other = (x.share @ y for x, y in ((a, ours), (a, theirs), (b, theirs)))
        value = value - c * ((1 - w) ** 2 * own + 2 * w * (1 - w) * both + w**2 * other)
        return np.asarray(value + least_sums(columns, weights, k, self._limits))


def _rows_and_limits(totals: GroupSums, most: int, movable: Movable | None) -> tuple[slice, list[Part]]:
    """Return the rows of Y that may move, if up to `most` of them do, and their limits."""
    counts = Counts(most, 0, totals.p + most, totals.q - most, movable=movable)
    return counts.may_move(totals.p, totals.q), counts.limits()


def coefficients(totals: GroupSums, o: int, k: Ints) -> tuple[Float64s, Float64s, Float64s]:
    """Return for each count: what K u0, K (1 - u0), d and t'Kt are multiplied by; c, the last; and f(0)."""
    t, p = totals, totals.p
    n_x, n_y, n = p + k.astype(np.float64), t.q - k.astype(np.float64), p + t.q
    slope = 2 * (n - o) / (n_x * n_y)
    c = (n - o) * (n - 2 * o) / (n_x * (n_x - o) * n_y * (n_y - o))
    e = 1 / (n_x * (n_x - 1)) - 1 / (n_y * (n_y - 1)) if o else np.zeros(len(k))
    within_x = t.to_x[:p].sum() - o * t.diagonal[:p].sum()
    within_y = t.to_y[p:].sum() - o * t.diagonal[p:].sum()
    value = within_x / (n_x * (n_x - o)) + within_y / (n_y * (n_y - o))
    value -= 2 * t.to_y[:p].sum() / (n_x * n_y)
    return np.array([slope / (n_x - o), -slope / (n_y - o), -e, c]), c, value


def joining(start: Labelling, end: Labelling, side: Side) -> Indices:
    """Return the rows that a labelling moves and another one does not, best first.

    Those that would exceed a limit are left out. Enough are left: of two admissible sets, the larger one has
    rows with which the smaller one can be filled up to its size.
    """
    rows = np.flatnonzero(end.moved & ~start.moved)
    rows = np.asarray(rows[np.argsort(-outwards(side) * end.gradient()[rows], kind="stable")])
    if not (limits := end.limits()):
        return rows
    stratum, kept = strata_of(limits)[rows], np.zeros(len(rows), dtype=np.bool_)
    for h, (_, most) in enumerate(limits_left(limits, start.moved)):
        kept[np.flatnonzero(stratum == h)[:most]] = True
    return rows[kept]


def reached(start: Labelling, end: Labelling, side: Side) -> Float64s:
    """Return the values of one-way labellings from one to another, as `joining` rows join."""
    t, o = start.quadratic.totals, start.quadratic.o
    first, last = (each.quadratic.counts.n_moved for each in (start, end))
    rows_that_join = joining(start, end, side)[: last - first]
    pooled, rows = start.pooled(rows_that_join), start.pooled(np.flatnonzero(start.moved))
    more = 2 * (start.shift[rows_that_join] + t.sums.earlier(pooled)) + t.diagonal[pooled]
    columns = [(float(each[rows].sum()), each[pooled]) for each in (t.to_x, t.to_y, t.diagonal)]
    columns.append((float(start.shift[start.moved].sum()), more))
    weights, _, value = coefficients(t, o, np.arange(first, last + 1))
    for weight, (before, rest) in zip(weights, columns, strict=True):
        value += weight * (before + np.append(0.0, np.cumsum(rest)))
    best = max if side == "upper" else min
    value[-1] = best(float(value[-1]), end.value())
    return value


def ceilings(
    totals: GroupSums,
    estimator: Estimator,
    k: Ints,
    threshold: Float64s,
    excess: Float64s,
    of_pair: float = 0.0,
    of_sums: float = 0.0,
    movable: Movable | None = None,
) -> Float64s:
    """Return values that no labelling of consecutive one-way counts exceeds, from bounds of the rows of Y.

    With multipliers that cancel over pairs added to the kernel values, any j of row i's values must have a
    sum of at most ``j * threshold[i] + excess[i]``, if their rows can move with row i. For j values of the
    row itself, sums of the largest are reached by the j-th as threshold and, as excess, what larger ones
    exceed it by. Rounding does no more than `of_pair` to a pair, beyond what it does to its kernel value, and
    sums lose no more than a share `of_sums` of the sizes that they add up, also where these cancel.
    """
    o, (of_y, limits) = 1 if estimator == "unbiased" else 0, _rows_and_limits(totals, int(k[-1]), movable)
    (to_x, to_y, own, c), _, value = coefficients(totals, o, k)
    columns = [*(each[of_y] for each in (totals.to_x, totals.to_y, totals.diagonal)), threshold, excess]
    weights = np.array([to_x, to_y, own + c, c * (k - 1), c])
    margin = _margins(totals, o, k, movable) + of_pair * c * k.astype(np.float64) ** 2
    if of_sums:
        # A row's own value counts twice: alone, and in the excess before it was taken away.
        sizes, of_sizes = np.abs(columns), np.abs([to_x, to_y, np.abs(own + c) + c, c * k, c])
        margin -= of_sums * least_sums(list(sizes), -of_sizes, k, limits)
    return np.asarray(value - least_sums(columns, -weights, k, limits) + margin)


def ceilings_by_those_that_stay(
    totals: GroupSums,
    estimator: Estimator,
    k: Ints,
    threshold: Float64s,
    excess: Float64s,
    of_pair: float = 0.0,
    of_sums: float = 0.0,
    movable: Movable | None = None,
) -> Float64s:
    """Return the same from bounds of the rows that stay: any j of them are partners of each. No limits."""
    o, of_y = 1 if estimator == "unbiased" else 0, _rows_and_limits(totals, int(k[-1]), movable)[0]
    (to_x, to_y, own, c), _, value = coefficients(totals, o, k)
    among = totals.to_y[of_y]
    if of_y.stop < totals.p + totals.q:
        among = totals.sums.apply(of_y, of_y, np.ones(len(threshold)))
    columns = [*(each[of_y] for each in (totals.to_x, totals.to_y, totals.diagonal)), among]
    # A row's own value is in the sum over all, and no pair.
    alone = np.array([to_x, to_y, own - c, 2 * c])
    all_moved = np.array([to_x, to_y, own, c]).T @ np.array([column.sum() for column in columns])
    stay, columns = (len(threshold) - k)[::-1], [*columns, threshold, excess]
    weights = np.vstack([-alone, c * (len(threshold) - k - 1), c])[:, ::-1]
    margin = _margins(totals, o, k, movable, by_those_that_stay=True)
    margin += of_pair * c * (len(threshold) - k.astype(np.float64)) ** 2
    if of_sums:
        own_again = np.array([[0.0], [0.0], [2.0], [0.0], [0.0], [0.0]]) * c[::-1]
        margin -= of_sums * least_sums(list(np.abs(columns)), -np.abs(weights) - own_again, stay)[::-1]
    return np.asarray(value + all_moved - least_sums(columns, -weights, stay)[::-1] + margin)


def _margins(
    totals: GroupSums, o: int, k: Ints, movable: Movable | None, *, by_those_that_stay: bool = False
) -> Float64s:
    """Return what rounding can do to a ceiling of each count."""
    sized = (Counts(m, 0, totals.p + m, totals.q - m, movable=movable) for m in k.tolist())
    how = {"by_gradient": False, "by_those_that_stay": by_those_that_stay}
    return totals.value_margin * np.array([lost(totals.p, totals.q, counts, o, **how) for counts in sized])


def dense_ceilings(
    totals: GroupSums,
    estimator: Estimator,
    k: Ints,
    pairs: Float64s,
    multipliers: Float64s,
    movable: Movable | None = None,
) -> Float64s:
    """Return `ceilings` from all kernel values of the rows that may move, and antisymmetric multipliers."""
    ranked = pairs + multipliers
    np.fill_diagonal(ranked, -np.inf)
    limits = _rows_and_limits(totals, int(k[-1]), movable)[1]
    for stratum, _ in limits:
        ranked[stratum] = within_limits(ranked[stratum], partner_limits(limits, stratum))
    np.negative(ranked, out=ranked)
    ranked.sort(axis=1)
    np.negative(ranked, out=ranked)
    of_pair, result = ULPS * float(multipliers.max(initial=0.0)), np.empty(len(k))
    half = len(k)  # of the counts: those that follow move more than half, and have no limits
    if not limits:
        half = int(np.searchsorted(2 * k, len(pairs), side="right"))
    for start, stop in strips(sorted({0, half, len(k)}), -(-len(k) // RANKED)):
        here = k[start:stop]
        moved = int(k[(start + stop) // 2])
        middle = max((moved if start < half else len(pairs) - moved) - 1, 1)
        threshold = ranked[:, middle - 1]
        excess = (ranked[:, :middle] - threshold[:, None]).sum(axis=1)
        bound = ceilings if start < half else ceilings_by_those_that_stay
        result[start:stop] = bound(totals, estimator, here, threshold, excess, of_pair, movable=movable)
    return result


def from_more(certified: float, totals: GroupSums, estimator: Estimator, k: Ints) -> Float64s:
    """Return proofs for counts `k` from that of the last of them (docs/sharp.md, "Many counts").

    One more row of Y, drawn at random, multiplies the unbiased squared MMD by (n_X - 1) / (n_X + 1) on
    average: floors and ceilings. The biased one, with a definite kernel, is multiplied by no less than the
    square of n_X / (n_X + 1): ceilings only. Either way the row is any of Y: where some rows cannot move, or
    strata have limits, nothing follows.
    """
    few, many = totals.p + k.astype(np.float64), float(totals.p + k[-1])
    if estimator == "unbiased":
        return np.asarray(certified * (many * (many - 1) / (few * (few - 1))))
    return np.asarray(certified * (many / few) ** 2)


def least_sums(columns: list[Float64s], weights: Float64s, k: Ints, limits: Sequence[Part] = ()) -> Float64s:
    """Return, for each count, no more than the sum of the k smallest entries of the weighted columns.

    With `limits` these are the smallest k of which no stratum has more than its limit.

    `weights` has a row for each column and a column for each of the counts `k`, which are consecutive. At
    every so many counts the entries are ranked and the sum is exact; see the module's docstring.
    """
    step = -(-len(k) // RANKED)
    places = [*range(0, len(k) - 1, step), len(k) - 1]
    until = [int(k[min(place + step, len(k) - 1)]) for place in places]
    ends = [_lowest(columns, weights[:, i], n, limits) for i, n in zip(places, until, strict=True)]
    result = np.empty(len(k))
    result[0] = ends[0][: k[0]].sum()
    ranked = [_sums_of_first(column, int(k[-1]), limits) for column in columns] if step > 1 else []
    for left, right, low, high in zip(places, places[1:], ends, ends[1:], strict=False):
        here = slice(left, right + 1)
        w = (k[here] - k[left]) / (k[right] - k[left])
        result[here] = (1 - w) * _partial_sums(low, k[here]) + w * _partial_sums(high, k[here])
        if right - left > 1:
            chord = weights[:, [left]] * (1 - w) + weights[:, [right]] * w
            for rest, (least, most) in zip(weights[:, here] - chord, ranked, strict=True):
                result[here] += np.where(rest >= 0, rest * least[k[here]], rest * most[k[here]])
    return result


def _lowest(columns: list[Float64s], weights: Float64s, count: int, limits: Sequence[Part]) -> Float64s:
    """Return the smallest entries of the weighted columns, in ascending order."""
    total = sum(weight * column for weight, column in zip(weights.tolist(), columns, strict=True))
    if limits:
        total = -within_limits(-np.asarray(total)[None], limits)[0]
    return np.sort(np.partition(total, count - 1)[:count]) if count else np.empty(0)


def _partial_sums(ascending: Float64s, k: Ints) -> Float64s:
    """Return the sums of the first k entries, for consecutive k; in pairs where they are many."""
    first = ascending[: k[0]].sum()
    return np.asarray(first + np.concatenate([[0.0], np.cumsum(ascending[k[0] : k[-1]])]))


def _sums_of_first(column: Float64s, count: int, limits: Sequence[Part]) -> tuple[Float64s, Float64s]:
    """Return the sums of the 0 to `count` smallest entries, and of the largest."""
    smallest = np.sort(-within_limits(-column[None], limits)[0])[:count]
    largest = -np.sort(-within_limits(column[None], limits)[0])[:count]
    low, high = (np.concatenate([[0.0], np.cumsum(end)]) for end in (smallest, largest))
    return low, high
