r"""What learned multipliers add to a pair of rows: a product of factors, one of each row.

A row's multipliers are :math:`[e, h, \psi, v]`; to the pair (i, j) they add
:math:`e_i \cdot h_j - h_i \cdot e_j + \psi_i - \psi_j` and the square :math:`v_i \cdot v_j`. Rows may be too
many for the multipliers of all of them to be in memory: they are then made again wherever they are needed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mmdbounds.objective import Indices
from mmdbounds.sums import plan
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.threads import in_order, threads_for

RANK, SQUARES = 24, 16  # length of e and h, and of v
LENGTH = 2 * RANK + 1 + SQUARES  # of the multipliers of a row...
FACTORS = LENGTH + 1  # ... and of its factors
STRIP = 1024  # rows whose multipliers are made at a time
ROW_WORK = 256  # what those of a row take, in pairs: more than this


class PairFactors:
    """The factors of n rows.

    `known_of` returns what multipliers of some rows are made of, and `make` the multipliers, in threads;
    shapes (., `LENGTH`). With small `working_memory` (MiB) both are called for the same rows again.
    """

    def __init__(
        self,
        known_of: Callable[[Indices], Float64s],
        make: Callable[[Indices, Float64s], Float64s],
        n_rows: int,
        working_memory: float,
    ) -> None:
        self._known_of, self._make = known_of, make
        half = working_memory * plan.MIB / 2  # one for multipliers, the other for the factors of two parts
        self._part_rows = max(int(half // (2 * 8 * FACTORS)), STRIP)
        self._kept = self._made(np.arange(n_rows)) if 8 * LENGTH * n_rows <= half else None
        self.squares = np.empty(n_rows)  # what the squares add to each row alone
        longest, level = np.zeros(2), 0.0
        for span in self.parts(slice(0, n_rows)):
            e, h, psi, v = parted(self.multipliers(np.arange(*span)))
            self.squares[slice(*span)] = (v**2).sum(axis=1)
            longest = np.maximum(longest, [np.linalg.norm(each, axis=1).max() for each in (e, h)])
            level = max(level, float(np.abs(psi).max()))
        self.largest = float(
            2 * longest.prod() + 2 * level + self.squares.max()
        )  # of what is added to a pair

    def parts(self, rows: slice) -> list[tuple[int, int]]:
        """Return the parts of some rows, two of which may have their factors in memory."""
        return plan.strips([rows.start, rows.stop], self._part_rows)

    def multipliers(self, rows: Indices) -> Float64s:
        """Return the multipliers of some rows."""
        return self._made(rows) if self._kept is None else self._kept[rows]

    def left(self, rows: Indices) -> Float64s:
        """Return factors of rows whose products with those on the right are added to the pairs."""
        return factors(self.multipliers(rows))[0]

    def right(self, rows: Indices) -> Float64s:
        """Return factors of the partners of rows on the left."""
        return factors(self.multipliers(rows))[1]

    def _made(self, rows: Indices) -> Float64s:
        strips = (rows[slice(*span)] for span in plan.strips([0, len(rows)], STRIP))
        blocks = ((some, self._known_of(some)) for some in strips)
        n_threads = threads_for(len(rows) * ROW_WORK)
        return np.vstack([found for _, found in in_order(blocks, lambda b: self._make(*b), n_threads)])


def parted(multipliers: Float64s) -> list[Float64s]:
    """Return e, h, psi and v, each with a row for each row."""
    return np.split(multipliers, [RANK, 2 * RANK, 2 * RANK + 1], axis=1)


def factors(multipliers: Float64s) -> tuple[Float64s, Float64s]:
    """Return factors whose products, of rows on the left with rows on the right, are added to the pairs."""
    e, h, level, v = parted(multipliers)
    one = np.ones_like(level)
    return np.hstack([e, -h, level, one, v]), np.hstack([h, e, one, -level, v])
