r"""The statistic on labellings of the true sizes, and the p-values that follow from it.

Three kinds, each valid for the reason given:

- All labellings were counted. The true one is among them, each with the same probability:
  :math:`p = \#\{T_u \ge T\} / \#\{u\}`.
- :math:`B` of them were drawn. With the true one these are :math:`1 + B` draws of the same kind:
  :math:`p = (1 + \#\{T_b \ge T\}) / (1 + B)`.
- Drawing stopped once :math:`h` of them were no smaller (Besag and Clifford, 1991): :math:`p = h / n` if the
  h-th of these is the n-th drawn. Then :math:`p \le a` says that fewer than h of the first k are no smaller,
  where k + 1 is the first whole number from h / a: among 1 + k draws of the same kind the true one is one of
  the h largest, which has a probability of at most :math:`h / (1 + k) \le a`. A value that has fewer than h
  when drawing stops for another one, after n of B, would have got no more than h / (n + 1).

All of them fall as :math:`T` grows, so that a proved floor of it has no smaller p-value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.sums.protocol import Float64s

EXACT_FLOAT = 2**53  # up to here whole numbers are floats


@dataclass(frozen=True, eq=False)
class Null:
    """The statistic on labellings: a column for each size of X.

    Attributes
    ----------
    values
        A line for each labelling, in the order in which they were drawn.
    weights
        How many labellings each stands for, if all were counted; 0 fills up shorter columns.
    n_permutations
        How many are drawn if nothing stops that.
    stop_after
        Drawing stops after so many that are no smaller; `None` for never.
    """

    values: Float64s
    weights: NDArray[Any] | None = None
    n_permutations: int = 0
    stop_after: int | None = None

    @property
    def is_exact(self) -> bool:
        """Whether all labellings were counted."""
        return self.weights is not None

    @property
    def is_complete(self) -> bool:
        """Whether all labellings were counted, or as many drawn as may be."""
        return self.stop_after is None or len(self.values) == self.n_permutations

    @property
    def n_labellings(self) -> int:
        """How many labellings have a statistic here: drawn, or different ones of all sizes."""
        return len(self.values) if self.weights is None else int(np.count_nonzero(self.weights))

    def column(self, place: int) -> Float64s:
        """Return the statistic on the labellings of one size."""
        values = self.values[:, place]
        return values if self.weights is None else values[self.weights[:, place] != 0]

    def shares(self, place: int) -> Float64s | None:
        """Return the share of all labellings that each of `column` stands for, `None` if they were drawn."""
        if self.weights is None:
            return None
        weights = self.weights[:, place]
        return np.asarray((weights / weights.sum())[weights != 0], dtype=np.float64)

    def with_values(self, values: Float64s, place: int) -> Null:
        """Return the labellings of one size with another statistic."""
        if self.weights is None:
            return replace(self, values=values[:, None])
        weights = self.weights[:, place]
        return replace(self, values=values[:, None], weights=weights[weights != 0][:, None])

    @cached_property
    def _moments(self) -> tuple[Float64s, Float64s]:
        if self.weights is None:
            return self.values.mean(axis=0), self.values.std(axis=0)
        shares = np.asarray(self.weights / self.weights.sum(axis=0), dtype=np.float64)
        means = (shares * self.values).sum(axis=0)
        return means, np.sqrt((shares * (self.values - means) ** 2).sum(axis=0))

    @property
    def means(self) -> Float64s:
        """The mean for each size."""
        return self._moments[0]

    @property
    def deviations(self) -> Float64s:
        """The standard deviation for each size."""
        return self._moments[1]

    def pvalue(self, threshold: float, place: int) -> float:
        """Return the p-value of a statistic of one size."""
        return float(self.pvalues(np.array([threshold]), [place])[0])

    def pvalues(self, thresholds: Float64s, places: list[int]) -> Float64s:
        """Return the p-values of statistics, one for each of some sizes."""
        neighbours = places == list(range(places[0], places[-1] + 1))
        some: Any = slice(places[0], places[-1] + 1) if neighbours else places  # a slice copies nothing
        no_smaller = self.values[:, some] >= thresholds
        if self.weights is not None:
            weights = self.weights[:, some]
            n_counted = np.where(no_smaller, weights, 0).sum(axis=0)
            return np.asarray(n_counted / weights.sum(axis=0), dtype=np.float64)
        n_larger, n_drawn = np.count_nonzero(no_smaller, axis=0), len(self.values)
        plain = (1 + n_larger) / (1 + n_drawn)
        if self.stop_after is None:
            return np.asarray(plain)
        h = self.stop_after
        last = 1 + np.argmax(np.cumsum(no_smaller, axis=0) >= h, axis=0)  # the draw that brought the h-th
        unstopped = plain if self.is_complete else min(1.0, h / (1 + n_drawn))
        return np.asarray(np.where(n_larger >= h, h / last, unstopped))

    def is_stopped(self, threshold: float, place: int) -> bool:
        """Return whether no more labellings are needed for the p-value of a statistic of one size."""
        if self.is_complete:
            return True
        return int(np.count_nonzero(self.values[:, place] >= threshold)) >= (self.stop_after or 0)

    def critical(self, level: float, place: int) -> float:
        """Return what a statistic must exceed for a p-value of at most `level`; infinite if none can."""
        values = self.column(place)
        descending = np.argsort(-values, kind="stable")
        if self.weights is None:
            pvalues = (1 + np.arange(1 + len(values))) / (1 + len(values))
        else:
            weights = self.weights[:, place]
            weights = weights[weights != 0]
            pvalues = np.append(weights[descending[0]], np.cumsum(weights[descending])) / weights.sum()
        above = np.flatnonzero(np.asarray(pvalues, dtype=np.float64) > level)
        if not len(above):
            return -np.inf
        return np.inf if above[0] == 0 else float(values[descending[above[0] - 1]])


def counted_null(columns: list[tuple[Float64s, NDArray[Any]]]) -> Null:
    """Return the statistic on all labellings from values and weights for each size."""
    longest = max(len(values) for values, _ in columns)
    values, weights = np.zeros((longest, len(columns))), np.zeros((longest, len(columns)), dtype=object)
    for place, (own, ways) in enumerate(columns):
        values[: len(own), place], weights[: len(own), place] = own, ways
    is_small = max(int(ways.sum()) for _, ways in columns) < EXACT_FLOAT
    return Null(values, weights.astype(np.int64) if is_small else weights)
