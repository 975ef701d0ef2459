"""The verbs that every backend provides; nothing above this room sees a pair of rows.

Rows are addressed by their place in the pooled sample, X first: a slice or an array of places, each at most
once. No verb needs an N x N matrix; sums are in float64 (in float32 work, those of a block are in float32).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypedDict

import numpy as np
from numpy.typing import NDArray

from mmdbounds.progress import Meter
from mmdbounds.sums.plan import BLOCK_ROWS, strips

Rows = slice | NDArray[np.intp]
Float64s = NDArray[np.float64]


class Options(TypedDict, total=False):
    """What sums are told beside rows and kernel."""

    dtype: str  # of products; "float64" by default
    working_memory: float  # budget in MiB of this process, of the device or of each task; 1024 by default
    meter: Meter | None


def excess_of(
    values: Float64s, left: Float64s, right: Float64s, thresholds: Float64s, sign: float
) -> Float64s:
    """Return by how much sign k_ij + left_i . right_j exceeds each of row i's thresholds, added up over j.

    `values` (n, m) are kernel values, `left` (n, r) and `right` (m, r) factors; `thresholds` (n, L) has L for
    each row, and so has the sum.
    """
    x = left @ right.T
    x += sign * values
    above = [np.maximum(x - threshold[:, None], 0.0).sum(axis=1) for threshold in thresholds.T]
    return np.stack(above, axis=1)


class KernelSums(ABC):
    """Sums over a kernel matrix K of the pooled rows that is never written down.

    A backend derives from it, sets the attributes without a default, and defines `fold` and `diagonal`.
    Everything else has a default that a backend may do faster.
    """

    n_rows: int  # N, the number of pooled rows
    rounding: float  # bound on the error of any kernel value, relative to the largest one, for proofs
    tie_width: float  # means that differ by less are tied: from the typical row, `rounding` from the farthest
    reach: float | None = None  # see `Kernel.reach`
    is_nonnegative: bool = False  # whether no kernel value is below 0, as far as is known
    working_memory: float = 1024  # budget in MiB
    backend: str  # what computes the kernel values, where, and in which precision, for the record of a result
    device: str = "cpu"
    dtype: str = "float64"
    holds_matrix: ClassVar[bool] = False  # whether all of K is in memory: asking for values costs nothing
    halves_quadratics: ClassVar[bool] = False  # whether `quadratic` takes half of what `apply` takes
    is_compiled: bool = False  # whether compiled loops (numba) may be used beside these sums
    _meter: Meter

    def _set_options(self, n_rows: int, reach: float | None, options: Options) -> None:
        self.n_rows, self.reach = n_rows, reach
        self.dtype = options.get("dtype", "float64")
        self.working_memory = options.get("working_memory", 1024)
        self._meter = options.get("meter") or Meter()

    @property
    def is_positive_definite(self) -> bool:
        """Whether w'Kw >= 0 is known for weights that add up to 0, all that proofs by convexity need."""
        return self.reach is not None

    def apply(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """Return K[A, B] @ W; `W` has one row for each row of `B`, and one or many columns."""
        weights = np.asarray(W, dtype=np.float64)
        columns = weights[:, None] if weights.ndim == 1 else weights
        n = n_selected(plain_rows(A, self.n_rows))
        sums = self.weighted(A, B, columns) if n and columns.size else np.zeros((n, columns.shape[1]))
        return sums[:, 0] if weights.ndim == 1 else sums

    def weighted(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """Return K[A, B] @ W for a matrix `W` with at least one row and one column, and rows `A`."""
        sums = np.zeros((n_selected(plain_rows(A, self.n_rows)), W.shape[1]))

        def add(i: int, j: int, values: Float64s) -> None:
            sums[i : i + len(values)] += values @ W[j : j + values.shape[1]]

        self.fold(A, B, add)
        return sums

    def excess(
        self, A: Rows, B: Rows, left: Float64s, right: Float64s, thresholds: Float64s, sign: float = 1.0
    ) -> Float64s:
        """Return the sums over B of max(x_ij - t, 0) for each threshold t of each row of A, shape (n, L).

        x_ij is sign k_ij + left_i . right_j, with factors `left` of the rows of A and `right` of those of B.
        A row that is in both A and B is counted with itself.
        """
        sums = np.zeros(thresholds.shape)

        def add(i: int, j: int, values: Float64s) -> None:
            rows, columns = slice(i, i + len(values)), slice(j, j + values.shape[1])
            sums[rows] += excess_of(values, left[rows], right[columns], thresholds[rows], sign)

        self.fold(A, B, add)
        return sums

    def quadratic(self, W: Float64s) -> Float64s:
        """Return w'Kw for each column w of `W`, which has one row for each pooled row."""
        everyone = slice(0, self.n_rows)
        return np.asarray(np.einsum("ij,ij->j", W, self.apply(everyone, everyone, W)))

    def block(self, A: Rows, B: Rows, out: Float64s | None = None) -> Float64s:
        """Return K[A, B] outright, in `out` where it is given; the caller answers for its size."""
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        result = np.empty((n_selected(A), n_selected(B))) if out is None else out

        def write(i: int, j: int, values: Float64s) -> None:
            result[i : i + len(values), j : j + values.shape[1]] = values

        self.fold(A, B, write)
        return result

    def earlier(self, rows: NDArray[np.intp]) -> Float64s:
        """Return for each of `rows` the sum of its kernel values with those before it in `rows`."""
        result = np.empty(len(rows))
        for start, stop in strips([0, len(rows)], BLOCK_ROWS):
            here = rows[start:stop]
            result[start:stop] = np.tril(self.block(here, here), -1).sum(axis=1)
            if start:
                result[start:stop] += self.apply(here, rows[:start], np.ones(start))
        return result

    @abstractmethod
    def diagonal(self, A: Rows) -> Float64s:
        """Return k(a, a) for the rows of `A`."""

    @abstractmethod
    def fold(self, A: Rows, B: Rows, f: Callable[[int, int, Float64s], None]) -> None:
        """Hand K[A, B] block by block to ``f(i, j, block)``, block[0, 0] being K[A[i], B[j]].

        Blocks come in a fixed order, one at a time, in the calling thread, and are only lent: `f` copies.
        """

    @property
    def rough(self) -> KernelSums:
        """The same sums as fast as the backend can, where only the way is to be found."""
        return self

    @property
    def precise(self) -> KernelSums:
        """The same sums in float64, of which proofs are made."""
        return self


class RemoteRows(ABC):
    """Pooled rows that are not in this process's memory, in the place of an array of them."""

    ndim = 2
    shape: tuple[int, int]

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, rows: Rows) -> Float64s:
        """Fetch some rows."""

    @abstractmethod
    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call ``function(rows, *arguments)`` for each block of rows; return the answers in order."""


PooledRows = Float64s | RemoteRows


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
