r"""All labellings of the pooled rows, where they are few: p-values are then exact, and no seed plays a part.

Equal rows are interchangeable: labellings that take the same number of each distinct row into X have the same
statistic. One of them stands for all,

.. math::
    \prod_d \binom{c_d}{k_d} \text{ labellings, where } k_d \text{ of the } c_d \text{ rows with value } d
    \text{ are in X.}

So two groups of 500 rows with a single binary column have at most 501 labellings that differ. If all rows
differ, every labelling stands for itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.kernels import Precomputed
from mmdbounds.objective import Indices
from mmdbounds.problem import Problem

EXACT = 10  # times as many labellings of a size as would be drawn: then all are counted
MOST_COUNTED = 200_000  # but no more than this


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
