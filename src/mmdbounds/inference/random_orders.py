"""Random orders of the pooled rows: the same ones for whoever asks, kept if they fit, else drawn again."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from mmdbounds.objective import Indices
from mmdbounds.sums import plan

DRAWN_AT_ONCE = 1 << 15  # places of rows that are drawn before the first is used: one by one takes longer
KEPT = 16  # orders that take no more than this part of the budget are kept


class RandomOrders:
    """So many random orders of the pooled rows, each a permutation of `order`."""

    def __init__(self, order: Indices, count: int, rng: np.random.Generator, working_memory: float) -> None:
        self._order, self._count, self._rng = order, count, copy.deepcopy(rng)
        self._at_once, self._n_drawn = max(DRAWN_AT_ONCE // len(order), 16), 0
        self.is_kept = order.itemsize * len(order) * count <= working_memory * plan.MIB / KEPT
        self._kept = np.empty((count if self.is_kept else 0, len(order)), dtype=np.intp)

    def __iter__(self) -> Iterator[Indices]:
        if self.is_kept:
            for k in range(self._count):
                yield self._first(k + 1)[k]
            return
        rng = copy.deepcopy(self._rng)
        for start, stop in plan.strips([0, self._count], self._at_once):
            yield from self._drawn(rng, np.empty((stop - start, len(self._order)), dtype=np.intp))

    def parts(self, widths: Iterable[int]) -> Iterator[Indices]:
        """Yield the orders one after the other, so many at a time, a row each."""
        every, start = iter(self), 0
        for width in widths:
            stop = start + width
            yield self._first(stop)[start:stop] if self.is_kept else np.array(list(islice(every, width)))
            start = stop

    def _first(self, count: int) -> Indices:
        """Return an array in which so many orders have been drawn."""
        while self._n_drawn < count:
            self._n_drawn += len(self._drawn(self._rng, self._kept[self._n_drawn :][: self._at_once]))
        return self._kept

    def _drawn(self, rng: np.random.Generator, out: Indices) -> Indices:
        out[:] = self._order
        return rng.permuted(out, axis=1, out=out)
