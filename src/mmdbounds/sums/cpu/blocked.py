"""The CPU backend for any number of rows: strips over threads, sums in a fixed order.

The strips and the order in which their sums are added follow from the sizes alone
(`plan.py`), so that the result has the same bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mmdbounds.kernels import Kernel
from mmdbounds.progress import Meter
from mmdbounds.sums import plan
from mmdbounds.sums.checkpoint import Checkpoint, PartialSum, fingerprint
from mmdbounds.sums.cpu.engines import Factors, PlainEngine, Strip, make_engine
from mmdbounds.sums.pairs import kernel_diagonal
from mmdbounds.sums.points import tie_error
from mmdbounds.sums.protocol import (
    Float64s,
    KernelSums,
    Rows,
    n_selected,
    part_of,
    places_in,
    plain_rows,
    same_rows,
)
from mmdbounds.sums.rounding import claimed, sum_error
from mmdbounds.sums.threads import in_order, thread_count

S = TypeVar("S")
T = TypeVar("T")
Span = tuple[int, int]
Adding = tuple[Callable[[Span], tuple[Float64s, Float64s]], Callable[[Span, tuple[Float64s, Float64s]], None]]

LONGEST = (
    1 << 34
)  # products of two numbers in a strip: a second or two on a core, for which Ctrl-C waits ...
LEAST_ROWS = 64  # ... but no fewer rows than this, and a multiple of it


class BlockedSums(KernelSums):
    """Sums over the kernel matrix of the pooled rows `Z`, block by block.

    Parameters
    ----------
    Z, kernel, dtype, working_memory, meter
        As in `make_sums`; any kernel but a precomputed one.
    n_threads
        `None` takes all cores.
    block
        Rows and columns of a block; `None` takes what fits the cache.

    Attributes
    ----------
    checkpoint
        Where long sums are kept while they grow (see `keep_in`).
    """

    def __init__(
        self,
        Z: Float64s,
        kernel: Kernel,
        *,
        dtype: str = "float64",
        working_memory: float = 1024,
        meter: Meter | None = None,
        n_threads: int | None = None,
        block: tuple[int, int] | None = None,
    ) -> None:
        self.n_rows = len(Z)
        self.is_positive_definite = kernel.is_positive_definite is True
        self.working_memory = working_memory
        self._kernel = kernel
        self._Z = Z
        self._engine, self.backend = make_engine(Z, kernel, dtype)
        self.is_compiled = self._engine.is_compiled
        self.dtype = self._engine.dtype
        self._height, self._width = block or plan.block_shape(self.dtype)
        self._meter = meter or Meter()
        self._n_threads = n_threads or thread_count()
        self.checkpoint: Checkpoint | None = None
        in_one_go = max(self._height, self._width)
        self.rounding = claimed(self._engine.value_error, sum_error(self.n_rows, in_one_go, self.dtype))
        self.tie_width = tie_error(self._engine.typical_spread, self.dtype)

    @cached_property
    def precise(self) -> KernelSums:
        """The same in float64."""
        if self.dtype == "float64":
            return self
        sums = BlockedSums(self._Z, self._kernel, working_memory=self.working_memory, meter=self._meter)
        sums.checkpoint = self.checkpoint
        return sums

    def keep_in(self, checkpoint: Checkpoint) -> bool:
        """See `KernelSums`; sums grow strip by strip."""
        checkpoint.attach(fingerprint(self._Z, self._kernel, self.dtype), self.working_memory)
        self.checkpoint = checkpoint
        return True

    def weighted(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """See `KernelSums`."""
        cuts = plan.segments(W)
        # Weights that are constant over long runs need sums only, which take no room per column.
        n_columns = W.shape[1] if cuts is None else 1
        symmetric = same_rows(A, B) and plan.symmetric_pays(self.n_rows, n_columns, self.working_memory)
        strips = _Strips(self._engine, A, B, self.n_rows, self._width, symmetric=symmetric)
        height = self._strip_height(strips.n_columns)
        spans = plan.strips(cuts if cuts is not None and symmetric else [0, strips.n_rows], height)
        order = (self.backend, self.dtype, height, self._width, symmetric)
        kept = self._kept(strips, W, spans, order)
        result = np.zeros((strips.n_rows, W.shape[1])) if kept is None else kept.values
        if cuts is None:
            work, add = self._products(result, strips, np.ascontiguousarray(W, dtype=self.dtype))
        else:
            work, add = self._sums(result, strips, W, cuts)
        done = 0 if kept is None else kept.done
        self._meter.skip(sum(strips.n_pairs(*span) for span in spans[:done]))
        for span, found in self._run(spans[done:], work, strips.n_rows * strips.n_columns):
            with nullcontext() if kept is None or self.checkpoint is None else self.checkpoint.adding(kept):
                add(span, found)
            self._meter.add(strips.n_pairs(*span))  # here a thread may be stopped, not in the middle of a sum
        return result if kept is None else result.copy()  # whoever asked may change it

    def block(self, A: Rows, B: Rows, out: Float64s | None = None) -> Float64s:
        """See `KernelSums`."""
        strips = _Strips(self._engine, A, B, self.n_rows, self._width)
        result = np.empty((strips.n_rows, strips.n_columns)) if out is None else out

        def work(task: tuple[Span, Span]) -> int:
            (i0, i1), (j0, j1) = task
            self._engine.block(strips.patch(i0, i1, j0, j1), result[i0:i1, j0:j1])
            return (i1 - i0) * (j1 - j0)

        tasks = self._patches(strips, plan.patch_width(strips.n_rows, strips.n_columns, self._width))
        for _, n_pairs in self._run(tasks, work, result.size):
            self._meter.add(n_pairs)
        return result

    def diagonal(self, A: Rows) -> Float64s:
        """See `KernelSums`."""
        return kernel_diagonal(self._Z, self._kernel, A)

    def fold(self, A: Rows, B: Rows, f: Callable[[int, int, Float64s], None]) -> None:
        """See `KernelSums`."""
        strips = _Strips(self._engine, A, B, self.n_rows, self._width)

        def work(task: tuple[Span, Span]) -> Float64s:
            (i0, i1), (j0, j1) = task
            values = np.empty((i1 - i0, j1 - j0))
            self._engine.block(strips.patch(i0, i1, j0, j1), values)
            return values

        tasks = self._patches(strips, self._height)
        for ((i, _), (j, _)), block in self._run(tasks, work, strips.n_rows * strips.n_columns):
            f(i, j, block)
            self._meter.add(block.size)

    def _strip_height(self, n_columns: int) -> int:
        """Return the rows of a strip, fewer than those of a block where it would take too long."""
        most = LONGEST // (n_columns * int(self._Z.shape[1]))
        return min(self._height, max(LEAST_ROWS, most // LEAST_ROWS * LEAST_ROWS))

    def _kept(
        self, strips: _Strips, weights: Float64s, spans: list[Span], order: tuple[Any, ...]
    ) -> PartialSum | None:
        """Return the sum as far as it came in an earlier run, `None` if it is not to be kept."""
        if self.checkpoint is None:
            return None
        n_pairs = sum(strips.n_pairs(*span) for span in spans)
        return self.checkpoint.sums(strips.rows, strips.columns, weights, order, len(spans), n_pairs)

    def _sums(self, result: Float64s, strips: _Strips, weights: Float64s, cuts: list[int]) -> Adding:
        """Return how a strip is computed, and added to `result`, where runs of weights are equal."""
        values = weights[cuts[:-1]]  # the weights of each segment

        def work(span: Span) -> tuple[Float64s, Float64s]:
            return self._engine.sums(strips.strip(*span, cuts), len(values))

        def add(span: Span, found: tuple[Float64s, Float64s]) -> None:
            i0, i1 = span
            result[i0:i1] += found[0] @ values
            if strips.symmetric:
                mine = values[int(np.searchsorted(cuts, i0, side="right")) - 1]
                for column in np.flatnonzero(mine):  # one of two, for the sums of the groups
                    result[i0:, column] += mine[column] * found[1]

        return work, add

    def _products(self, result: Float64s, strips: _Strips, weights: Factors) -> Adding:
        """Return how a strip is computed, and added to `result`, for any weights."""
        whole = [0, strips.n_columns]

        def work(span: Span) -> tuple[Float64s, Float64s]:
            i0, i1 = span
            mine = weights[i0:i1] if strips.symmetric else weights[:0]
            return self._engine.products(strips.strip(i0, i1, whole), mine, weights[strips.first(i0) :])

        def add(span: Span, found: tuple[Float64s, Float64s]) -> None:
            i0, i1 = span
            result[i0:i1] += found[0]
            if strips.symmetric:
                result[i0:] += found[1]

        return work, add

    def _patches(self, strips: _Strips, width: int) -> list[tuple[Span, Span]]:
        rows, columns = (
            plan.strips([0, n], size)
            for n, size in ((strips.n_rows, self._height), (strips.n_columns, width))
        )
        return [(i, j) for i in rows for j in columns]

    def _run(self, tasks: list[S], work: Callable[[S], T], n_pairs: int) -> Iterator[tuple[S, T]]:
        """Do the work, in threads where it pays, and yield the results in the order of the tasks."""
        threads_pay = n_pairs >= plan.THREADS_PAY and len(tasks) > 1
        return in_order(tasks, work, self._n_threads if threads_pay else 1)


class _Strips:
    """The rows A against the columns B, from which strips are cut.

    With `symmetric` A and B are the same rows, and a strip begins on the diagonal.
    """

    def __init__(
        self, engine: PlainEngine, A: Rows, B: Rows, n_pooled: int, width: int, *, symmetric: bool = False
    ) -> None:
        self._engine = engine
        self._width = width
        self.rows, self.columns = plain_rows(A, n_pooled), plain_rows(B, n_pooled)
        self.n_rows, self.n_columns = n_selected(self.rows), n_selected(self.columns)
        self.symmetric = symmetric
        self._right = engine.right(self.columns)
        self._column = np.full(n_pooled, -1, dtype=np.intp)  # of each pooled row
        self._column[self.columns] = np.arange(self.n_columns)

    def first(self, i0: int) -> int:
        """Return the first column of the strip that begins at row `i0`."""
        return i0 if self.symmetric else 0

    def n_pairs(self, i0: int, i1: int) -> int:
        """Return how many kernel values a strip has."""
        return (i1 - i0) * (self.n_columns - self.first(i0))

    def strip(self, i0: int, i1: int, cuts: list[int]) -> Strip:
        """Return the rows `i0` to `i1`, their columns cut at `cuts`."""
        start = self.first(i0)
        columns = plan.columns(cuts, start, self._width, first=i1 - i0 if self.symmetric else None)
        return self._cut(i0, i1, start, self.n_columns, columns.from_zero())

    def patch(self, i0: int, i1: int, j0: int, j1: int) -> Strip:
        """Return the rows `i0` to `i1` and the columns `j0` to `j1`."""
        return self._cut(i0, i1, j0, j1, plan.columns([0, j1 - j0], 0, self._width))

    def _cut(self, i0: int, i1: int, j0: int, j1: int, columns: plan.Columns) -> Strip:
        rows = part_of(self.rows, i0, i1)
        same = self._column[places_in(rows)] - j0
        return Strip(self._engine.left(rows), self._right[j0:j1], same, columns, self.symmetric)
