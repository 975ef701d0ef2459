r"""What a labelling's statistic cannot stay above, whichever of its rows an adversary hides.

Filing hides m rows A of X(u), and the floor is the smallest statistic over all labellings v that contain the
others. So what is observed as a floor never exceeds

.. math::
    M(u) = \max_{A \subset X(u),\, |A| = m}\ \min_{v \supset X(u) \setminus A}\ T(v) \le T(u),

a number of the labelling alone: random labellings may be compared by M in place of T. Any upper bound of M
will do (docs/inference.md, "The minimax null"). Here k rows D of Y(u), those with the smallest gradient g,
replace the k rows of A with the largest scores. With K(D) the sums of kernel values to D, and r the sum of a
row's k - 1 largest kernel values to others, which the rows that leave cannot exceed among themselves,

.. math::
    M \le T + g'D + c D'KD - \sum_{i = m - k + 1}^{m} s_{(i)}, \qquad s = g + 2c K(D) - c (d + r),

where the scores of the rows of X(u) ascend: no m rows have k larger ones that add up to less. One row alone
(k = 1) is exchanged for whichever of some rows of Y(u) is best for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress, islice

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.inference.null import Null
from mmdbounds.objective import GroupSums, Indices, Mask, Quadratic
from mmdbounds.results import Estimator, NullRule
from mmdbounds.search.sharp.same_sizes import SameSizes
from mmdbounds.sums import plan
from mmdbounds.sums.protocol import Float64s

STEPS = (2, 3, 4, 6, 8, 12, 16)  # rows that are exchanged at once, beside one alone
MOST_NEAREST = 4000  # pooled rows whose nearest ones are looked for; beyond, the largest value there is
SUMMED = 5  # numbers for each labelling and pooled row where sums are made: of many at once, they take a pass
HELD = 12  # arrays of a number for each labelling and pooled row, beside the columns of `STEPS`


class Minimax:
    """Upper bounds of M for labellings of one problem."""

    def __init__(self, totals: GroupSums, estimator: Estimator, mean_error: float) -> None:
        self._totals, self._estimator = totals, estimator
        self._mean_error = mean_error  # how far rounding can move a mean of kernel values

    def lowered(self, orders: Iterable[Indices], hidden: Sequence[Counts]) -> Float64s:
        """Return bounds of M - T, a row for each order of the pooled rows, a column for each size of X.

        The first rows of an order are X; `hidden` says how many, ascending, and how many of them are hidden.
        """
        n_rows, orders = self._totals.sums.n_rows, iter(orders)
        eighth = int(self._totals.sums.working_memory * plan.MIB / 8)
        width, at_once = (max(1, eighth // (8 * n_rows * n)) for n in (SUMMED, HELD + 3 * STEPS[-1]))
        result = [np.empty((0, len(hidden)))]
        while some := list(islice(orders, width)):
            every, size = np.array(some), 0
            to_x, is_x = np.zeros(every.shape), np.zeros(every.shape, dtype=np.bool_)
            result.append(np.empty((len(every), len(hidden))))
            for place, counts in enumerate(hidden):
                more, size = every[:, size : counts.n_x], counts.n_x
                to_x += self._sums_to(more)
                np.put_along_axis(is_x, more, True, axis=1)
                for i, j in plan.strips([0, len(every)], at_once):
                    result[-1][i:j, place] = self.gains(is_x[i:j], to_x[i:j], counts)
        return np.concatenate(result)

    def gains(self, is_x: Mask, to_x: Float64s, hidden: Counts) -> Float64s:
        """Return a bound of M - T for each labelling, at most 0.

        A row of `is_x` marks the pooled rows of X, of `to_x` has the sum of each pooled row's kernel values
        to these. Two-way, n_moved rows of X and n_moved_of_x rows of Y are hidden, or fewer of both.
        """
        f, t = Quadratic(self._totals, hidden, self._estimator), self._totals
        slope = 2 * (t.sums.n_rows - f.o) / (hidden.n_x * hidden.n_y)
        means = to_x / (hidden.n_x - f.o) - (t.to_x + t.to_y - to_x) / (hidden.n_y - f.o)
        gradient = slope * means - f.e * t.diagonal
        of_x = self._gains(f, gradient, is_x, hidden.n_moved)
        of_y = self._gains(f, -gradient, ~is_x, hidden.n_moved_of_x)
        return np.minimum(of_x, of_y)

    def _gains(self, f: Quadratic, gradient: Float64s, hides: Mask, m: int) -> Float64s:
        """Return how far m rows of the group that `hides` marks cannot keep the statistic from falling."""
        best, d = np.zeros(len(hides)), self._totals.diagonal
        if m == 0:
            return best
        own, other = (np.nonzero(rows)[1].reshape(len(hides), -1) for rows in (hides, ~hides))
        enters = gradient + f.c * d
        entering = _lowest(enters, other, min(STEPS[-1], other.shape[1]))
        columns = self._columns(entering)
        partners = 2 * f.c * columns - np.take_along_axis(enters, entering, 1)[:, :, None]
        alone = np.take_along_axis(gradient - f.c * d + partners.max(axis=1), own, 1)
        np.minimum(best, self._rounding(f, 1) - np.partition(alone, m - 1, axis=1)[:, m - 1], out=best)
        np.cumsum(columns, axis=1, out=columns)
        for k in (k for k in STEPS if k <= min(m, len(self._near), other.shape[1])):
            column, first = columns[:, k - 1], entering[:, :k]
            scores = gradient + f.c * (2 * column - d - self._near[k - 1])
            leaving = np.partition(np.take_along_axis(scores, own, 1), (m - k, m - 1), axis=1)[:, m - k : m]
            joined = np.take_along_axis(gradient + f.c * column, first, 1)
            found = joined.sum(axis=1) - leaving.sum(axis=1) + self._rounding(f, k)
            np.minimum(best, found, out=best)
        return best

    def _rounding(self, f: Quadratic, k: int) -> float:
        """Return how far rounding can move an exchange of k rows: 2k gradients, and 4 k^2 kernel values."""
        n_x, n_y, n = f.counts.n_x, f.counts.n_y, f.totals.sums.n_rows
        means = n_x / (n_x - f.o) + (n + n_x) / (n_y - f.o)
        gradients = 2 * k * 2 * (n - f.o) / (n_x * n_y) * means * self._mean_error
        return float(gradients + 4 * k**2 * f.c * self._totals.value_margin)

    def _sums_to(self, rows: Indices) -> Float64s:
        """Return each pooled row's sums of kernel values to some rows, those in each row of `rows`."""
        sums = self._totals.sums
        some, place = np.unique(rows, return_inverse=True)
        marks = np.zeros((len(some), len(rows)))
        marks[place.reshape(rows.shape), np.arange(len(rows))[:, None]] = 1.0
        everyone = slice(0, sums.n_rows)
        return sums.apply(everyone, everyone if len(some) == sums.n_rows else some, marks).T

    def _columns(self, rows: Indices) -> Float64s:
        """Return for each labelling the kernel values of its rows, one row each, to all pooled rows."""
        sums = self._totals.sums
        some, place = np.unique(rows, return_inverse=True)
        return sums.block(some, slice(0, sums.n_rows))[place.reshape(rows.shape)]

    @cached_property
    def _near(self) -> Float64s:
        """What the kernel values of a row to 0, 1, 2, ... other rows add up to at the most, one row each.

        Kernel values are no larger than the largest on the diagonal if K is positive semidefinite, even if
        only on vectors that add up to 0.
        """
        sums, n = self._totals.sums, self._totals.sums.n_rows
        if n > MOST_NEAREST:
            n_others = np.arange(STEPS[-1] if sums.is_positive_definite else 1)
            return np.outer(n_others, np.full(n, self._totals.diagonal.max()))
        width = min(n, STEPS[-1]) - 1
        largest = np.full((n, width), -np.inf)

        def keep(i: int, j: int, values: Float64s) -> None:
            rows = slice(i, i + len(values))
            is_itself = np.arange(i, rows.stop)[:, None] == np.arange(j, j + values.shape[1])
            every = np.concatenate([largest[rows], np.where(is_itself, -np.inf, values)], axis=1)
            largest[rows] = np.partition(every, -width, axis=1)[:, -width:]

        sums.fold(slice(0, n), slice(0, n), keep)
        descending = -np.sort(-largest, axis=1)
        return np.cumsum(np.concatenate([np.zeros((n, 1)), descending], axis=1), axis=1).T


def _lowest(values: Float64s, among: Indices, count: int) -> Indices:
    """Return, for each row, the places (of those `among`) of so many of the lowest values, ascending."""
    some = np.take_along_axis(values, among, 1)
    places = np.argpartition(some, count - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(some, places, 1), axis=1, kind="stable")
    return np.take_along_axis(among, np.take_along_axis(places, order, 1), 1)


class ComparedNull:
    """What floors are compared with: statistics on random labellings, lowered to `Minimax` where asked."""

    def __init__(self, null: Null, sizes: Sequence[int], hidden: Mapping[int, Counts]) -> None:
        self._null = null
        if hidden:
            null.compared = null.statistics.copy()
        self._column = {size: place for place, size in enumerate(sizes)}
        self._hidden, self._is_lowered = hidden, set[int]()

    @property
    def rule(self) -> NullRule:
        """Whether anything may be lowered."""
        return "minimax" if self._hidden else "labellings"

    def can_lower(self, n_x: int) -> bool:
        """Return whether the labellings of a size have not been lowered yet."""
        return n_x in self._hidden and n_x not in self._is_lowered

    def lower(
        self, bounds: Minimax, orders: Iterable[Indices], which: Mask, hidden: Iterable[int | Counts]
    ) -> None:
        """Lower the statistics of those labellings `which` matter, for some sizes, or some counts."""
        every = (self._hidden[each] if isinstance(each, int) else each for each in hidden)
        counts = sorted(every, key=lambda each: each.n_x)
        places = np.array([self._column[each.n_x] for each in counts], dtype=np.intp)
        lowered = bounds.lowered(compress(orders, which), counts)
        some = np.ix_(np.flatnonzero(which)[: len(lowered)], places)
        self._null.compared[some] = self._null.statistics[some] + lowered
        self._is_lowered.update(each.n_x for each in counts)

    def forget(self) -> None:
        """Take no size for lowered, since more labellings were drawn."""
        self._is_lowered.clear()


def hidden_rows(sizes: Iterable[SameSizes]) -> dict[int, Counts]:
    """Return for each true size of X how many rows can be hidden, where the argument for the null holds.

    Two-way it needs all pairs of counts of one size up to the largest. Where single rows are known not to be
    misfiled it fails: which ones they are may depend on the labels.
    """
    every = [size for size in sizes if size.most.movable is None and size.fewest == max(size.difference, 0)]
    return {size.most.n_x: size.most for size in every if size.most.n_moved or size.most.n_moved_of_x}


def valid_rule(null: NullRule, admissible: Iterable[Counts], beta: float) -> NullRule:
    """Return the null that is valid where limits hold but for a probability: they may depend on the labels.

    One-way, the null of the true count does not depend on them; both ways that of its true sizes does.
    """
    return "labellings" if beta and any(counts.n_moved_of_x for counts in admissible) else null
