"""Blocks from sizes and budgets: pure integers, the same on every backend and for any number of threads."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 512
HALF_ROWS = 32, 128  # rows of a strip where half of a matrix is multiplied: fewer waste less on the diagonal
BLOCK_BYTES = 1 << 20  # stays in a second-level cache: 512 x 256 values in float64, 512 x 512 in float32
IN_FLIGHT = 8  # strips computed ahead at the least; the plan counts on it, whatever the number of threads
SMALL_ROWS = 4096  # up to so many pooled rows the kernel matrix is kept (128 MiB), if the budget allows
FEW = 1.5  # times so many rows NumPy adds up before numba would be imported
THREADS_PAY = 2_000_000  # kernel values from which on threads are worth their start
TORCH_PAYS = 1_000_000_000  # kernel values from which on importing PyTorch (seconds) to look for a GPU pays
MAX_SEGMENTS = 8  # weights with at most so many runs of equal rows need no product (see `segments`) ...
RUN_ROWS = 128  # ... or with as many as columns, if they have so many rows on average
MIB = 1 << 20


@dataclass(frozen=True)
class Columns:
    """How the columns of a strip are cut."""

    edges: NDArray[np.intp]  # block k covers the columns edges[k] to edges[k + 1]
    segment: NDArray[np.intp]  # for each block the run of equal weights that it lies in

    def block(self, k: int) -> slice:
        """Return the columns of block `k`."""
        return slice(int(self.edges[k]), int(self.edges[k + 1]))

    @property
    def widest(self) -> int:
        """Columns of the widest block."""
        return int(np.diff(self.edges).max(initial=0))

    def from_zero(self) -> Columns:
        """Return the same cuts, counted from the first column."""
        return Columns(self.edges - self.edges[0], self.segment)


def block_shape(dtype: str) -> tuple[int, int]:
    """Return the rows and columns of a block."""
    return BLOCK_ROWS, BLOCK_BYTES // (BLOCK_ROWS * np.dtype(dtype).itemsize)


def strips(cuts: list[int], size: int) -> list[tuple[int, int]]:
    """Cut the range ``cuts[0]`` to ``cuts[-1]`` into pieces of at most `size` that cross no cut."""
    return [
        (i, min(i + size, stop)) for start, stop in itertools.pairwise(cuts) for i in range(start, stop, size)
    ]


def columns(cuts: list[int], start: int, width: int, first: int | None = None) -> Columns:
    """Cut the columns from `start` to ``cuts[-1]`` into blocks of at most `width` that cross no cut.

    The first block has `first` columns (by default `width`): with a strip's own height it is
    the square on the diagonal when half of a symmetric matrix is computed.
    """
    pieces: list[tuple[int, int]] = []
    segment: list[int] = []
    for s, (low, high) in enumerate(itertools.pairwise(cuts)):
        begin = max(low, start)
        if begin >= high:
            continue
        head = min(begin + (width if first is None or pieces else first), high)
        here = [(begin, head), *strips([head, high], width)]
        pieces += here
        segment += [s] * len(here)
    edges = [start, *(stop for _, stop in pieces)]
    return Columns(np.array(edges, dtype=np.intp), np.array(segment, dtype=np.intp))


def patch_width(n_rows: int, n_columns: int, width: int) -> int:
    """Return the columns of a patch: all of them where threads do not pay, else whole blocks for them."""
    # A patch costs a tenth of a millisecond whatever its size.
    if n_rows * n_columns < THREADS_PAY:
        return max(n_columns, 1)
    return width * min(max(math.ceil(n_columns / (4 * width)), 4), 64)


def half_rows(n_rows: int) -> int:
    """Return the rows of a strip where half of a matrix is multiplied."""
    return int(np.clip(n_rows // 8, *HALF_ROWS))


def segments(W: NDArray[np.float64]) -> list[int] | None:
    """Return the places where the rows of `W` change, both ends included; `None` if there are many.

    Inside a run of equal weights, such as a group, the kernel values only need to be added up, once.
    """
    changes = np.flatnonzero(np.any(W[1:] != W[:-1], axis=1)) + 1 if len(W) > 1 else np.empty(0, np.intp)
    if len(changes) >= max(MAX_SEGMENTS, min(W.shape[1], len(W) // RUN_ROWS)):
        return None
    return [0, *(int(i) for i in changes), len(W)]


def matrix_fits(n_rows: int, working_memory: float) -> bool:
    """Return whether the whole kernel matrix is small, and small for the budget (in MiB) too."""
    # A formula keeps up to six matrices of its size for a moment; the budget holds eight.
    return n_rows <= SMALL_ROWS and 8 * 8 * n_rows**2 <= working_memory * MIB


def symmetric_pays(n_rows: int, n_columns: int, working_memory: float) -> bool:
    """Return whether half of K is enough for K @ W: each strip in flight then holds N x `n_columns` sums."""
    # The number of threads must not matter here, or the result would have other bits.
    return n_columns <= 8 and 8 * n_rows * n_columns * IN_FLIGHT <= working_memory * MIB / 2


def kept_columns(n_rows: int, working_memory: float) -> int:
    """Return how many whole columns of `n_rows` float64 values are kept at once: a quarter of the budget."""
    return int(np.clip(working_memory * MIB / 4 // (8 * max(n_rows, 1)), 64, 512))
