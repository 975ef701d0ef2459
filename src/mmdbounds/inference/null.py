r"""The statistic on labellings of the true sizes, and the p-values that follow from it.

Two kinds, each valid for the reason given:

- All labellings were counted. The true one is among them, each with the same probability:
  :math:`p = \#\{T_u \ge T\} / \#\{u\}`.
- :math:`B` of them were drawn. With the true one these are :math:`1 + B` draws of the same kind:
  :math:`p = (1 + \#\{T_b \ge T\}) / (1 + B)`.

Both fall as :math:`T` grows, so that a proved floor of it has no smaller p-value. And which kind it is
depends on the pooled rows and the size of X alone, so that all who ask about a size compare with the same.

All are counted where they are few. Equal rows are interchangeable: labellings that take the same number of
each distinct row into X have the same statistic. One of them stands for all,

.. math::
    \prod_d \binom{c_d}{k_d} \text{ labellings, where } k_d \text{ of the } c_d \text{ rows with value } d
    \text{ are in X.}

So two groups of 500 rows with a single binary column have at most 501 labellings that differ. If all rows
differ, every labelling stands for itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.kernels import Precomputed
from mmdbounds.objective import Indices
from mmdbounds.problem import Problem
from mmdbounds.sums.protocol import Float64s

EXACT = 10  # times as many labellings of a size as would be drawn: then all are counted
MOST_COUNTED = 200_000  # but no more than this
EXACT_FLOAT = 2**53  # up to here whole numbers are floats

Column = tuple[Float64s, NDArray[Any]]  # the statistic on all labellings of a size that differ, and weights


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The pooled rows in an order in which equal ones are neighbours, and how many there are of each."""

    order: Indices
    counts: NDArray[np.intp]

    def n_labellings(self, sizes: list[int], n_permutations: int) -> list[int | None]:
        """Return how many labellings of each size differ, if they are counted where so many would be drawn.

        `None` for a size with too many.
        """
        most = min(EXACT * n_permutations, MOST_COUNTED)
        n, d = int(self.counts.sum()), len(self.counts)
        smaller = [min(size, n - size) for size in sizes]  # the other group tells as much
        # Numbers grow up to half of the rows, and taking at most one of each value gives a part of them.
        too_many = next((k for k in range(1, d // 2 + 1) if math.comb(d, k) > most), n)
        largest = max((size for size in smaller if size < too_many), default=0)
        ways = np.eye(1, largest + 1, dtype=np.int64)[0]  # to take 0, 1, ... rows of the values so far
        for count in self.counts.tolist() if largest else ():
            below = np.cumsum(ways)
            below[count + 1 :] -= below[: -count - 1].copy()
            ways = np.minimum(below, most + 1)
        return [int(ways[s]) if s <= largest and 0 < ways[s] <= most else None for s in smaller]

    def labellings(self, size: int) -> tuple[Indices, NDArray[Any]]:
        """Return an order of the rows, X first, for each labelling that differs, and what it stands for."""
        taken = _compositions(self.counts, size)
        value = np.repeat(np.arange(len(self.counts)), self.counts)
        place = np.arange(len(value)) - (np.cumsum(self.counts) - self.counts)[value]  # among equal rows
        orders = self.order[np.argsort(taken[:, value] <= place, axis=1, kind="stable")]
        # Whole numbers, so that a share of exactly 1/20 is not above 0.05; Python's, since they are large.
        weights = np.ones(len(taken), dtype=object)
        for which in np.flatnonzero(self.counts > 1):
            chosen = taken[:, which]
            weights *= _binomials(int(self.counts[which]), chosen.min(), chosen.max())[chosen - chosen.min()]
        return orders, weights


def _binomials(n: int, first: int, last: int) -> NDArray[Any]:
    """Return in how many ways so many of `n` can be chosen, each from the one before."""
    ways = [math.comb(n, int(first))]
    for k in range(int(first), int(last)):
        ways.append(ways[-1] * (n - k) // (k + 1))
    return np.array(ways, dtype=object)


def _compositions(counts: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Return every way to take `size` rows: a line each, with how many there are of each value."""
    taken, left = np.empty((1, 0), dtype=np.intp), np.array([size])
    later = int(counts.sum())
    for count in counts.tolist():
        later -= count
        fewest, most = np.maximum(left - later, 0), np.minimum(left, count)
        n_choices = most - fewest + 1
        lines = np.repeat(np.arange(len(left)), n_choices)
        first = np.cumsum(n_choices) - n_choices
        chosen = fewest[lines] + np.arange(len(lines)) - first[lines]
        taken, left = np.column_stack([taken[lines], chosen]), left[lines] - chosen
    return taken


def distinct_rows(problem: Problem, order: Indices) -> DistinctRows:
    """Return the distinct pooled rows; in `order` equal rows are neighbours."""
    starts = np.ones(len(order), dtype=bool)
    if not isinstance(problem.kernel, Precomputed):  # of whose rows only the kernel values are known
        rows = problem.pooled[order]
        starts[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return DistinctRows(order, np.diff(np.append(np.flatnonzero(starts), len(order))))


class Null:
    """The statistic on labellings, a line each.

    There is a column for each size of X. Those in `counted` have all labellings of their size, and weights:
    how many labellings each stands for. All others have random ones: the columns of `drawn`.
    Lines with a weight of 0 fill up the columns.
    """

    def __init__(
        self,
        n_sizes: int,
        counted: Mapping[int, Column],
        drawn: Float64s,
    ) -> None:
        places = [place for place in range(n_sizes) if place not in counted]
        self.n_drawn, self._is_drawn = len(drawn) if places else 0, np.isin(np.arange(n_sizes), places)
        longest = max([self.n_drawn, *(len(each) for each, _ in counted.values())])
        self.statistics = np.zeros((longest, n_sizes))
        is_small = all(int(weights.sum()) < EXACT_FLOAT for _, weights in counted.values())
        kind: Any = object if not is_small else np.int64 if counted else np.bool_
        self._weights = np.zeros((longest, n_sizes), dtype=kind)
        for place, (values, weights) in counted.items():
            self.statistics[: len(values), place], self._weights[: len(values), place] = values, weights
        if places:
            self.statistics[: self.n_drawn, places], self._weights[: self.n_drawn, places] = drawn, 1

    def is_counted(self, place: int) -> bool:
        """Return whether all labellings of a size were counted."""
        return not self._is_drawn[place]

    @property
    def is_exact(self) -> bool:
        """Whether all labellings were counted, whatever the size."""
        return not self._is_drawn.any()

    @property
    def n_labellings(self) -> int:
        """How many labellings were drawn or, if all were counted, how many differ."""
        return self.n_drawn or int(np.count_nonzero(self._weights))

    def column(self, place: int) -> Float64s:
        """Return the statistic on the labellings of one size."""
        return np.asarray(self.statistics[self._weights[:, place] != 0, place])

    def shares(self, place: int) -> Float64s | None:
        """Return the share of all labellings that each of `column` stands for, `None` if they were drawn."""
        if self._is_drawn[place]:
            return None
        weights = self._weights[:, place]
        return np.asarray((weights / weights.sum())[weights != 0], dtype=np.float64)

    @cached_property
    def _moments(self) -> tuple[Float64s, Float64s]:
        if self._is_drawn.all():  # as below, sooner
            drawn = self.statistics[: self.n_drawn]
            return drawn.mean(axis=0), drawn.std(axis=0)
        shares = np.asarray(self._weights / self._weights.sum(axis=0), dtype=np.float64)
        means = (shares * self.statistics).sum(axis=0)
        return means, np.sqrt((shares * (self.statistics - means) ** 2).sum(axis=0))

    @property
    def means(self) -> Float64s:
        """The mean for each size."""
        return self._moments[0]

    @property
    def deviations(self) -> Float64s:
        """The standard deviation for each size."""
        return self._moments[1]

    def pvalue(self, threshold: float, place: int, values: Float64s | None = None) -> float:
        """Return the p-value at a threshold for one size, or that of another statistic (`values`)."""
        if values is not None:
            lines = np.full((len(self.statistics), 1), -np.inf)
            lines[self._weights[:, place] != 0, 0] = values
            return float(self._pvalues(lines >= threshold, [place])[0])
        return float(self.pvalues(np.array([threshold]), [place])[0])

    def pvalues(self, thresholds: Float64s, places: list[int]) -> Float64s:
        """Return the p-values at thresholds, one for each of some sizes."""
        return self._pvalues(self.statistics[:, _neighbours(places)] >= thresholds, places)

    def _pvalues(self, no_smaller: NDArray[np.bool_], places: list[int]) -> Float64s:
        some = _neighbours(places)
        weights, is_drawn = self._weights[:, some], self._is_drawn[some]
        if is_drawn.all():  # as below, sooner
            return np.asarray((1 + np.count_nonzero(no_smaller[: self.n_drawn], axis=0)) / (1 + self.n_drawn))
        true_one = is_drawn.astype(weights.dtype)  # is among those that were counted
        n_counted = np.where(no_smaller, weights, 0).sum(axis=0)
        return np.asarray((true_one + n_counted) / (true_one + weights.sum(axis=0)), dtype=np.float64)

    def critical(self, level: float, place: int, values: Float64s) -> float:
        """Return what must be exceeded for a p-value of at most `level`; infinite if nothing would do."""
        weights = self._weights[:, place]
        weights = weights[weights != 0]
        descending, true_one = np.argsort(-values, kind="stable"), int(self._is_drawn[place])
        counted = np.append(true_one or weights[descending[0]], true_one + np.cumsum(weights[descending]))
        pvalues = np.asarray(counted / (true_one + weights.sum()), dtype=np.float64)
        above = np.flatnonzero(pvalues > level)
        if not len(above):
            return -np.inf
        return np.inf if above[0] == 0 else float(values[descending[above[0] - 1]])


def _neighbours(places: list[int]) -> Any:
    """Return places as a slice, which copies nothing, where they are neighbours."""
    span = range(places[0], places[-1] + 1)
    return slice(span.start, span.stop) if places == list(span) else places
