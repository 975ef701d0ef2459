"""The four verbs that every backend provides; nothing above this room sees a pair of rows.

Rows are addressed by their place in the pooled sample, X first: a slice or an array of
places. No verb needs an N x N matrix, and every sum is accumulated in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Rows = slice | NDArray[np.intp]
Float64s = NDArray[np.float64]


class KernelSums(Protocol):
    """Sums over a kernel matrix K of the pooled rows that is never written down.

    Attributes
    ----------
    n_rows
        N, the number of pooled rows.
    rounding
        Bound on the error of one kernel value, relative to the largest entry of the diagonal.
        Differences below it mean nothing: ties are ties within it.
    """

    n_rows: int
    rounding: float
    backend: str
    device: str
    dtype: str

    def apply(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """Return K[A, B] @ W; `W` has one row for each row of `B`, and one or many columns."""
        ...

    def block(self, A: Rows, B: Rows, out: Float64s | None = None) -> Float64s:
        """Return K[A, B] outright, in `out` where it is given; the caller answers for its size."""
        ...

    def diagonal(self, A: Rows) -> Float64s:
        """Return k(a, a) for the rows of `A`."""
        ...

    def fold(self, A: Rows, B: Rows, f: Callable[[int, int, Float64s], None]) -> None:
        """Hand K[A, B] block by block to ``f(i, j, block)``, block[0, 0] being K[A[i], B[j]].

        Blocks come in a fixed order, one at a time, in the calling thread; each is only
        lent: whatever `f` keeps of it must be a copy.
        """
        ...


def n_selected(rows: Rows, n_rows: int) -> int:
    """Return how many rows a selection holds."""
    return len(range(*rows.indices(n_rows))) if isinstance(rows, slice) else len(rows)


def same_rows(A: Rows, B: Rows) -> bool:
    """Return whether two selections are obviously the same, so that half of K[A, B] is enough."""
    return A is B or (isinstance(A, slice) and isinstance(B, slice) and A == B)
