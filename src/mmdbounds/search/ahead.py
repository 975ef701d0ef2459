"""Columns of the kernel matrix computed ahead, for searches that move a few rows at a time.

One column at a time is a matrix-vector product, bound by memory; the columns of many leading
candidates at once run at the speed of the pass over the pairs. Columns that were not needed yet
are kept: most of them belong to rows that still lead.
"""

from __future__ import annotations

import numpy as np

from mmdbounds.objective import Indices, Labelling
from mmdbounds.search.ranking import largest
from mmdbounds.sums.protocol import Float64s


class ColumnsAhead:
    """A ring of columns, filled with those of the rows that are likely to move next.

    Parameters
    ----------
    labelling
        The labelling whose active rows are the entries of a column.
    capacity
        How many columns are kept; a third as many rows are looked ahead.

    Attributes
    ----------
    columns
        Kernel values of the stored rows to all active rows, one row each.
    place
        For each active row where its column stands, -1 if it is not there.
    """

    def __init__(self, labelling: Labelling, capacity: int) -> None:
        n = len(labelling.sign)
        self._labelling = labelling
        self._owner = np.full(capacity, -1, dtype=np.intp)
        self._head = 0
        self.columns: Float64s = np.empty((capacity, n))
        self.place: Indices = np.full(n, -1, dtype=np.intp)

    def columns_of(self, rows: Indices, scores: Float64s) -> Float64s:
        """Return the columns of `rows`, one row each; at most half the capacity."""
        if (self.place[rows] < 0).any():
            self.fetch(rows, scores)
        return np.asarray(self.columns[self.place[rows]])

    def fetch(self, rows: Indices, scores: Float64s) -> None:
        """Compute the columns of `rows`, and of the rows with the largest scores that are not there."""
        free = ~self._labelling.moved
        count = min(len(self._owner) // 3, int(np.count_nonzero(free)))
        leading = largest(scores, count, free, 0.0)
        # The oldest columns make room; `rows` are computed anew, so that they cannot be among these.
        wanted = np.union1d(rows, leading[self.place[leading] < 0])
        if self._head + len(wanted) > len(self._owner):
            self._head = 0
        slots = slice(self._head, self._head + len(wanted))
        gone = self._owner[slots]
        self.place[gone[gone >= 0]] = -1
        self._owner[slots] = wanted
        self.place[wanted] = np.arange(slots.start, slots.stop)
        self._labelling.columns(wanted, self.columns[slots])
        self._head = slots.stop
