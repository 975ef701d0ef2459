"""The CPU backend for any number of rows: strips over threads, sums in a fixed order.

The strips and the order in which their sums are added follow from the sizes alone
(`plan.py`), so that the result has the same bits for any number of threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel
from mmdbounds.progress import Meter
from mmdbounds.sums import plan
from mmdbounds.sums._engines import make_engine
from mmdbounds.sums._threads import one_blas_thread, thread_count
from mmdbounds.sums.pairs import function_block
from mmdbounds.sums.points import kernel_rows, rounding_error
from mmdbounds.sums.protocol import Float64s, Rows, n_selected, same_rows

S = TypeVar("S")
T = TypeVar("T")


class BlockedSums:
    """Sums over the kernel matrix of the pooled rows `Z`, block by block.

    Parameters
    ----------
    Z
        Pooled rows, X first.
    kernel
        Any kernel but a precomputed one.
    dtype
        Precision of the products; sums are in float64.
    working_memory
        Budget in MiB.
    meter
        Counts kernel values.
    n_threads
        `None` takes all cores.
    block
        Rows and columns of a block; `None` takes what fits the cache.
    """

    device = "cpu"

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
        self.working_memory = working_memory
        self._kernel = kernel
        self._Z = Z
        self._height, self._width = block or plan.block_shape(dtype)
        self._engine, self.backend = make_engine(Z, kernel, dtype, self._width)
        self.dtype = self._engine.dtype
        self._meter = meter or Meter()
        self._n_threads = n_threads or thread_count()
        self.rounding = rounding_error(self._engine.spread, self.dtype)

    def apply(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """See `KernelSums`."""
        weights = np.asarray(W, dtype=np.float64)
        if weights.ndim == 1:
            return self.apply(A, B, weights[:, None])[:, 0]
        cuts = plan.segments(weights)
        result = np.zeros((n_selected(A, self.n_rows), weights.shape[1]))
        if len(result) == 0 or len(weights) == 0:
            return result
        # Weights that are constant over long runs need sums only, which take no room per column.
        n_columns = weights.shape[1] if cuts is None else 1
        symmetric = same_rows(A, B) and plan.symmetric_pays(self.n_rows, n_columns, self.working_memory)
        right = self._engine.right(B)
        if cuts is None:
            self._add_products(result, A, right, np.ascontiguousarray(weights, dtype=self.dtype), symmetric)
        else:
            self._add_sums(result, A, right, weights, cuts, symmetric)
        return result

    def block(self, A: Rows, B: Rows, out: Float64s | None = None) -> Float64s:
        """See `KernelSums`."""
        right = self._engine.right(B)
        result = np.empty((n_selected(A, self.n_rows), len(right))) if out is None else out
        tasks = [
            (i, j) for i in self._strips(len(result)) for j in plan.strips([0, len(right)], 4 * self._width)
        ]

        def work(task: tuple[tuple[int, int], tuple[int, int]]) -> int:
            (i0, i1), (j0, j1) = task
            left = self._engine.left(_part(A, i0, i1))
            self._engine.block(left, right[j0:j1], result[i0:i1, j0:j1])
            return (i1 - i0) * (j1 - j0)

        self._run(tasks, work, lambda _, pairs: self._meter.add(pairs))
        return result

    def diagonal(self, A: Rows) -> Float64s:
        """See `KernelSums`."""
        kernel = self._kernel
        rows = self._Z[A]
        if isinstance(kernel, FunctionKernel):
            pieces = [
                function_block(kernel, rows[i:j], rows[i:j]) for i, j in plan.strips([0, len(rows)], 64)
            ]
            return np.concatenate([piece.diagonal() for piece in pieces]) if pieces else np.empty(0)
        if isinstance(kernel, PairKernel) and kernel.geometry in ("inner", "cosine"):
            z = kernel_rows(self._Z, kernel)[A]
            return np.asarray(kernel.value(np.einsum("ij,ij->i", z, z)))
        return np.ones(len(rows))

    def fold(self, A: Rows, B: Rows, f: Callable[[int, int, Float64s], None]) -> None:
        """See `KernelSums`."""
        right = self._engine.right(B)
        n_left = n_selected(A, self.n_rows)
        tasks = [(i, j) for i in self._strips(n_left) for j in plan.strips([0, len(right)], self._height)]

        def work(task: tuple[tuple[int, int], tuple[int, int]]) -> Float64s:
            (i0, i1), (j0, j1) = task
            values = np.empty((i1 - i0, j1 - j0))
            self._engine.block(self._engine.left(_part(A, i0, i1)), right[j0:j1], values)
            return values

        def consume(task: tuple[tuple[int, int], tuple[int, int]], block: Float64s) -> None:
            f(task[0][0], task[1][0], block)
            self._meter.add(block.size)

        self._run(tasks, work, consume)

    def _add_sums(
        self, result: Float64s, A: Rows, right: Float64s, weights: Float64s, cuts: list[int], symmetric: bool
    ) -> None:
        values = weights[cuts[:-1]]  # the weights of each segment
        strips = plan.strips(cuts if symmetric else [0, len(result)], self._height)

        def work(strip: tuple[int, int]) -> tuple[Float64s, Float64s]:
            i0, i1 = strip
            columns = self._columns(cuts, i0, i1, symmetric)
            left = self._engine.left(_part(A, i0, i1))
            return self._engine.sums(
                left, right[columns.edges[0] :], columns.from_zero(), len(values), symmetric
            )

        def consume(strip: tuple[int, int], found: tuple[Float64s, Float64s]) -> None:
            i0, i1 = strip
            result[i0:i1] += found[0] @ values
            if symmetric:
                mine = values[int(np.searchsorted(cuts, i0, side="right")) - 1]
                result[i0:] += found[1][:, None] * mine
            self._meter.add((i1 - i0) * (len(right) - i0 if symmetric else len(right)))

        self._run(strips, work, consume)

    def _add_products(
        self, result: Float64s, A: Rows, right: Float64s, weights: Float64s, symmetric: bool
    ) -> None:
        def work(strip: tuple[int, int]) -> tuple[Float64s, Float64s]:
            i0, i1 = strip
            start = i0 if symmetric else 0
            columns = self._columns([0, len(right)], i0, i1, symmetric)
            left = self._engine.left(_part(A, i0, i1))
            both = (weights[i0:i1] if symmetric else weights[:0], weights[start:])
            return self._engine.products(left, right[start:], columns.from_zero(), both, symmetric)

        def consume(strip: tuple[int, int], found: tuple[Float64s, Float64s]) -> None:
            i0, i1 = strip
            result[i0:i1] += found[0]
            if symmetric:
                result[i0:] += found[1]
            self._meter.add((i1 - i0) * (len(right) - i0 if symmetric else len(right)))

        self._run(self._strips(len(result)), work, consume)

    def _strips(self, n_rows: int) -> list[tuple[int, int]]:
        return plan.strips([0, n_rows], self._height)

    def _columns(self, cuts: list[int], i0: int, i1: int, symmetric: bool) -> plan.Columns:
        """Cut the columns of one strip; of a symmetric matrix only those from the diagonal on."""
        return (
            plan.columns(cuts, i0, self._width, first=i1 - i0)
            if symmetric
            else plan.columns(cuts, 0, self._width)
        )

    def _run(self, tasks: list[S], work: Callable[[S], T], consume: Callable[[S, T], None]) -> None:
        """Do the work in threads, a little ahead, and hand over the results in the order of the tasks."""
        with one_blas_thread():
            if self._n_threads == 1 or len(tasks) == 1:
                for task in tasks:
                    consume(task, work(task))
                return
            executor = ThreadPoolExecutor(self._n_threads)
            ahead: deque[tuple[S, Future[T]]] = deque()
            try:
                for task in tasks:
                    ahead.append((task, executor.submit(work, task)))
                    if len(ahead) >= max(plan.IN_FLIGHT, self._n_threads + 1):  # results wait in memory
                        done, future = ahead.popleft()
                        consume(done, future.result())
                for done, future in ahead:
                    consume(done, future.result())
            finally:
                executor.shutdown(wait=True, cancel_futures=True)


def _part(rows: Rows, start: int, stop: int) -> Rows:
    """Return the places `start` to `stop` of a selection."""
    if isinstance(rows, slice):
        first = rows.start or 0
        return slice(first + start, first + stop)
    return rows[start:stop]
