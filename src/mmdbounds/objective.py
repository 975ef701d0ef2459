"""The squared MMD as a function of the labelling: one quadratic (docs/method.md, "One quadratic").

f(u) = c u'Ku - 2b (K1)'u - e d'u + const, where u marks with 1 the pooled rows that belong to X after the
move, u0 those filed under X, d is the diagonal of K, and o = 1 for the unbiased estimator, 0 for the biased.
One pass over the pairs (`GroupSums`) gives f and its gradient at u0; after that only the columns of the rows
that move are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mmdbounds.counts import Counts
from mmdbounds.errors import DataError
from mmdbounds.results import Estimator
from mmdbounds.sums.protocol import Float64s, KernelSums

LARGEST = 1e140  # largest size of kernel values: searches and tests square them, and add up their squares
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class GroupSums:
    """The sums that one pass over the N = p + q pooled rows gives; the arrays have shape (N,)."""

    sums: KernelSums  # the sums they come from
    p: int  # rows filed under X, which comes first in the pooled sample...
    q: int  # ... and under Y
    to_x: Float64s  # for each pooled row the sum of k to the rows of X, K u0...
    to_y: Float64s  # ... and to those of Y, K (1 - u0)
    diagonal: Float64s  # k(z, z) for each pooled row

    @cached_property
    def scale(self) -> float:
        """The size of kernel values: the largest, or a bound of a few times that (see `Kernel.reach`)."""
        largest = [float(np.abs(self.diagonal).max())]
        if self.sums.reach and not self.sums.holds_matrix:
            return float(self.sums.reach * np.abs(self.to_x + self.to_y).max() / (self.p + self.q))
        if self.sums.reach != 0:
            everyone = slice(0, self.p + self.q)
            self.sums.fold(everyone, everyone, lambda i, j, block: largest.append(float(np.abs(block).max())))
        return max(largest)

    @property
    def ceiling(self) -> float:
        """A value that no statistic exceeds, whatever the labels: four means of kernel values.

        Two of them are subtracted: where no kernel value is below 0, the other two are all that there is.
        """
        return (2 if self.sums.is_nonnegative else 4) * (self.scale + self.value_margin)

    @property
    def tie_width(self) -> float:
        """Mean kernel values that differ by less are tied."""
        return self.sums.tie_width * self.scale

    @property
    def value_margin(self) -> float:
        """How far rounding can move a kernel value, or a mean of them."""
        return self.sums.rounding * self.scale

    @property
    def margin(self) -> float:
        """How far rounding can move a squared MMD, which is three means with weights 1, 1 and 2."""
        return 4 * self.value_margin

    @cached_property
    def precise(self) -> GroupSums:
        """The same pass in float64, from which proofs are made."""
        sums = self.sums.precise
        return self if sums is self.sums else group_sums(sums, self.p, self.q)


def group_sums(sums: KernelSums, p: int, q: int) -> GroupSums:
    """Make the one pass over the pairs."""
    everyone = slice(0, p + q)
    totals = sums.apply(everyone, everyone, np.repeat(np.eye(2), [p, q], axis=0))
    diagonal = sums.diagonal(everyone)
    check_sums(totals, diagonal)
    return GroupSums(sums, p, q, totals[:, 0].copy(), totals[:, 1].copy(), diagonal)


def check_sums(totals: Float64s, diagonal: Float64s) -> None:
    """Refuse kernel values that are not finite, or whose squares are not."""
    largest = float(np.max([np.abs(diagonal).max(), np.abs(totals).max()]))  # `max` would overlook a NaN
    if not np.isfinite(largest):
        msg = "the sums of kernel values are not finite. Rescale the columns, or choose another `kernel`."
        raise DataError(msg)
    if largest != 0 and not 1 / LARGEST <= largest <= LARGEST:
        msg = (
            f"kernel values must be between {1 / LARGEST:.0e} and {LARGEST:.0e} in size, or their squares "
            f"overflow or vanish; got sums up to {largest:.3g}. Rescale the columns, or change the `kernel`."
        )
        raise DataError(msg)


def lost(
    p: int, q: int, counts: Counts, o: int, *, by_gradient: bool = True, by_those_that_stay: bool = False
) -> float:
    """Return how far rounding can move a proof about all labellings (docs/rounding.md, "One proof").

    The unit is the error of a mean of kernel values. A proof `by_gradient` is at a point between labellings,
    one `by_those_that_stay` begins with all active rows moved.
    """
    moves = counts.n_moved + counts.n_moved_of_x
    if by_those_that_stay:
        active = counts.may_move(p, q)
        moves = active.stop - active.start
    filed = p / (counts.n_x - o) + q / (counts.n_y - o)
    moved = moves / (counts.n_x - o) + moves / (counts.n_y - o)
    return (filed + moved) * (filed + (5 if by_gradient else 1) * moved)


class Quadratic:
    """The quadratic f of the module's docstring, with its coefficients, for one pair of true sizes.

    `value_as_filed` and `gradient_as_filed` are f and its gradient at u0. With rows to move, f(u0) is *not*
    the observed statistic: the sizes are those after the move. `margin` and `margin_by_gradient` are how far
    rounding can move a proof about all labellings with these counts: one that adds up what each of them is
    made of, or one by the gradient at a point between them (see `lost`); `margin_of_those_that_stay` is that
    of a proof that adds up all active rows first.
    """

    def __init__(self, totals: GroupSums, counts: Counts, estimator: Estimator) -> None:
        o = 1 if estimator == "unbiased" else 0
        n_x, n_y, n = counts.n_x, counts.n_y, counts.n_x + counts.n_y
        self.totals, self.counts, self.o = totals, counts, o
        self.c = (n - o) * (n - 2 * o) / (n_x * (n_x - o) * n_y * (n_y - o))
        self.b = (n - o) / (n_x * n_y * (n_y - o))
        self.e = o * (1 / (n_x * (n_x - 1)) - 1 / (n_y * (n_y - 1))) if o else 0.0
        self.sign = np.repeat([-1.0, 1.0], [totals.p, totals.q])  # rows of Y enter X when they move
        # Differences of means rather than 2cKu - 2bK1: the two large terms would cancel.
        slope = 2 * (n - o) / (n_x * n_y)
        means = totals.to_x / (n_x - o) - totals.to_y / (n_y - o)
        self.gradient_as_filed: Float64s = slope * means - self.e * totals.diagonal
        self.value_as_filed = three_means(totals, counts, o)
        self.tie_width = slope * totals.tie_width  # entries of the gradient that differ by less are tied
        self.margin, self.margin_by_gradient = (
            totals.value_margin * lost(totals.p, totals.q, counts, o, by_gradient=by) for by in (False, True)
        )
        all_moved = lost(totals.p, totals.q, counts, o, by_gradient=False, by_those_that_stay=True)
        self.margin_of_those_that_stay = totals.value_margin * all_moved


def three_means(t: GroupSums, counts: Counts, o: int) -> float:
    """Return the squared MMD of the groups as filed, at the sizes of `counts`."""
    p, n_x, n_y = t.p, counts.n_x, counts.n_y
    within_x = t.to_x[:p].sum() - o * t.diagonal[:p].sum()
    within_y = t.to_y[p:].sum() - o * t.diagonal[p:].sum()
    between = t.to_y[:p].sum()
    return float(within_x / (n_x * (n_x - o)) + within_y / (n_y * (n_y - o)) - 2 * between / (n_x * n_y))


class Labelling:
    """A labelling in progress: which rows have moved; `rows` (places among the active ones) move at once."""

    def __init__(self, quadratic: Quadratic, rows: Indices | None = None) -> None:
        t, self.quadratic = quadratic.totals, quadratic
        # The pooled rows that may move: those of Y, and with two-way counts those of X before them.
        self.active = quadratic.counts.may_move(t.p, t.q)
        self.sign = quadratic.sign[self.active]  # +1 for the active rows of Y, -1 for those of X
        self.moved: Mask = np.zeros(len(self.sign), dtype=np.bool_)
        self.shift: Float64s = np.zeros(len(self.sign))  # K (u - u0) on the active rows
        if rows is not None:
            self.move(rows)

    def parts(self) -> list[tuple[slice, int]]:
        """Return the active rows of each group from which rows are to move, with their number."""
        counts, n_x = self.quadratic.counts, self.n_active_x
        both = ((slice(0, n_x), counts.n_moved_of_x), (slice(n_x, len(self.sign)), counts.n_moved))
        return [(part, quota) for part, quota in both if quota]

    def stays(self) -> list[tuple[slice, int]]:
        """Return the groups of which more than half of the active rows move, with how many of them stay.

        Within limits those that stay have other limits: then there are none.
        """
        if self.limits():
            return []
        sizes = [(part, part.stop - part.start, quota) for part, quota in self.parts()]
        return [(part, size - quota) for part, size, quota in sizes if 2 * quota > size]

    def chosen_alone(self) -> tuple[float, Float64s, list[tuple[slice, int]]]:
        """Return a constant, what each active row that is chosen adds alone to f, and how many are chosen.

        Beside it each pair of them adds twice c k_ij, with the signs of both. Rows that move are chosen;
        one-way, where more than half does, those that stay (docs/sharp.md, "More than half moves").
        """
        f, own = self.quadratic, self.quadratic.totals.diagonal[self.active]
        alone = self.sign * f.gradient_as_filed[self.active] + f.c * own
        parts, stays = self.parts(), self.stays()
        if self.n_active_x or not stays:
            return f.value_as_filed, alone, parts
        among = f.totals.to_y[self.active] - own
        if len(own) < f.totals.q:
            among = f.totals.sums.apply(self.active, self.active, np.ones(len(own))) - own
        constant = f.value_as_filed + float((alone + f.c * among).sum())
        return constant, -(alone + 2 * f.c * among), stays

    def limits(self) -> list[tuple[slice, int]]:
        """Return the strata, and how many of their rows may move; see `Counts.limits`."""
        return self.quadratic.counts.limits()

    def gradient(self) -> Float64s:
        """Return the gradient of f at this labelling, on the active rows."""
        return self.quadratic.gradient_as_filed[self.active] + 2 * self.quadratic.c * self.shift

    def value(self) -> float:
        """Return f at this labelling: the squared MMD once all rows that should move have moved."""
        f, moved, step = self.quadratic, self.moved, self.sign[self.moved]
        slope = f.gradient_as_filed[self.active][moved]
        return float(f.value_as_filed + step @ slope + f.c * (step @ self.shift[moved]))

    def move(self, rows: Indices, shift: Float64s | None = None) -> None:
        """Move rows (places among the active ones) to the other group, or back.

        `shift` is the change of K u on the active rows, if known: the rows' columns, with signs, added up.
        """
        if shift is None:
            direction = self.sign[rows] * np.where(self.moved[rows], -1.0, 1.0)
            shift = self.quadratic.totals.sums.apply(self.active, self.pooled(rows), direction)
        self.shift += shift
        self.moved[rows] ^= True

    def columns(self, rows: Indices, out: Float64s | None = None) -> Float64s:
        """Return the kernel values of `rows` to all active rows, one row each."""
        return self.quadratic.totals.sums.block(self.pooled(rows), self.active, out)

    def pooled(self, rows: Indices) -> Indices:
        """Return places among the active rows as places in the pooled sample."""
        return np.asarray(rows + self.active.start)

    @property
    def n_active_x(self) -> int:
        """How many of the active rows are filed under X; they come first."""
        return int(self.quadratic.totals.p - self.active.start)

    def rows_of_y(self) -> Indices:
        """Return the rows of Y that have moved, as places in Y."""
        return np.flatnonzero(self.moved[self.n_active_x :])

    def rows_of_x(self) -> Indices:
        """Return the rows of X that have moved, as places in X."""
        return self.pooled(np.flatnonzero(self.moved[: self.n_active_x]))


def observed_mmd2(totals: GroupSums, estimator: Estimator) -> float:
    """Return the squared MMD of the groups as filed."""
    return three_means(totals, Counts(0, 0, totals.p, totals.q), 1 if estimator == "unbiased" else 0)
