"""The four verbs that every backend provides; nothing above this room sees a pair of rows.

Rows are addressed by their place in the pooled sample, X first: a slice or an array of
places, each at most once. No verb needs an N x N matrix; sums are in float64 (in float32 work, the sums of
a block are in float32 and added up in float64).
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
        Bound on the error of any kernel value, relative to the largest one; what a proof must allow for.
    tie_width
        Means of kernel values that differ by less, relative to the largest one, are tied. It follows
        from the typical row, where `rounding` follows from the farthest.
    is_positive_definite
        Whether K is known to be positive semidefinite, which proofs by convexity need.
    working_memory
        Budget in MiB.
    """

    n_rows: int
    rounding: float
    tie_width: float
    is_positive_definite: bool
    working_memory: float
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


def rough_sums(sums: KernelSums) -> KernelSums:
    """Return the same sums as fast as the backend can, where only the way is to be found."""
    found: KernelSums = getattr(sums, "rough", sums)
    return found


def precise_sums(sums: KernelSums) -> KernelSums:
    """Return the same sums in float64, of which proofs are made."""
    found: KernelSums = getattr(sums, "precise", sums)
    return found


def price_of_pair(sums: KernelSums) -> float:
    """Return what a kernel value costs, in units of one that is computed from its two rows."""
    return float(getattr(sums, "pair_price", 1.0))


def plain_rows(rows: Rows, n_rows: int) -> Rows:
    """Return a selection as a slice with start, stop and step 1, or as an array of places."""
    if not isinstance(rows, slice):
        return np.asarray(rows, dtype=np.intp)
    start, stop, step = rows.indices(n_rows)
    return slice(start, max(start, stop)) if step == 1 else np.arange(start, stop, step)


def n_selected(rows: Rows) -> int:
    """Return how many rows a plain selection holds."""
    return int(rows.stop - rows.start) if isinstance(rows, slice) else len(rows)


def part_of(rows: Rows, start: int, stop: int) -> Rows:
    """Return the places `start` to `stop` of a plain selection."""
    return slice(rows.start + start, rows.start + stop) if isinstance(rows, slice) else rows[start:stop]


def places_in(rows: Rows) -> NDArray[np.intp]:
    """Return a plain selection as an array of places in the pooled sample."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def same_rows(A: Rows, B: Rows) -> bool:
    """Return whether two selections are obviously the same, so that half of K[A, B] is enough."""
    return A is B or (isinstance(A, slice) and isinstance(B, slice) and A == B)
