"""The CPU backend for any number of rows: strips over threads, sums in a fixed order.

Strips and order follow from the sizes alone (`plan`): the same bits for any number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TypeVar, Unpack

import numpy as np

from mmdbounds.kernels import Kernel
from mmdbounds.sums import plan
from mmdbounds.sums.cpu.engines import Factors, PlainEngine, Strips, is_compiled, make_engine
from mmdbounds.sums.points import kernel_diagonal, ready, tie_error
from mmdbounds.sums.protocol import Float64s, KernelSums, Options, Rows, places_in, plain_rows, same_rows
from mmdbounds.sums.rounding import claimed, sum_error
from mmdbounds.sums.threads import in_order, thread_count

S = TypeVar("S")
T = TypeVar("T")
Span = tuple[int, int]
Adding = tuple[Callable[[Span], tuple[Float64s, Float64s]], Callable[[Span, tuple[Float64s, Float64s]], None]]

LONGEST = 1 << 34  # products of two numbers in a strip: a second or two on a core, for which Ctrl-C waits ...
HALF_ROWS = 256  # rows of a strip where half of K is multiplied: fewer waste less on the diagonal
WIDE = 64  # columns from which on a product takes longer than its kernel values
LEAST_ROWS = 64  # ... but no fewer rows than this, and a multiple of it


class BlockedSums(KernelSums):
    """Sums over the kernel matrix of the pooled rows `Z`, block by block; any kernel but a precomputed one.

    By default all cores are taken, and blocks (of so many rows and columns) that fit the cache. With
    `few_rows` NumPy adds up groups and multiplies by many columns, and numba is loaded only for the rest: to
    import it would take longer than the sums.
    """

    halves_quadratics = True

    def __init__(
        self,
        Z: Float64s,
        kernel: Kernel,
        *,
        n_threads: int | None = None,
        block: tuple[int, int] | None = None,
        few_rows: bool = False,
        varies: float = 0.0,
        **options: Unpack[Options],
    ) -> None:
        self._set_options(len(Z), kernel.reach, options)
        self.is_nonnegative = kernel.is_nonnegative
        self._Z, self._kernel, self._few_rows = Z, kernel, few_rows
        self._points = ready(Z, kernel, self.dtype)
        if varies:  # values of a user's function differ from block to block
            self._points = replace(self._points, value_error=self._points.value_error + varies)
        self._plain = PlainEngine(self._points, kernel, self.dtype)
        self.is_compiled, self.dtype = is_compiled(self._points, kernel), self._plain.dtype
        self.backend = "numba" if self.is_compiled else "numpy"
        self._height, self._width = block or plan.block_shape(self.dtype)
        self._n_threads = n_threads or thread_count()
        in_one_go = max(self._height, self._width)
        self.rounding = claimed(self._points.value_error, sum_error(self.n_rows, in_one_go, self.dtype))
        self.tie_width = max(varies, tie_error(self._points.typical_spread, self.dtype))

    @cached_property
    def _engine(self) -> PlainEngine:
        return make_engine(self._points, self._kernel, self.dtype)

    @cached_property
    def precise(self) -> KernelSums:
        """The same in float64."""
        if self.dtype == "float64":
            return self
        return BlockedSums(
            self._Z,
            self._kernel,
            few_rows=self._few_rows,
            working_memory=self.working_memory,
            meter=self._meter,
        )

    def weighted(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """See `KernelSums`."""
        cuts = plan.segments(W)
        # Weights that are constant over long runs need sums only, which take no room per column.
        n_columns = W.shape[1] if cuts is None else 1
        symmetric = same_rows(A, B) and plan.symmetric_pays(self.n_rows, n_columns, self.working_memory)
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        use_numpy = self._few_rows and (cuts is not None or W.shape[1] >= WIDE)
        strips = self._strips(A, B, mirrored=symmetric, use_numpy=use_numpy)
        # Fewer rows than those of a block where a strip would take too long.
        most = LONGEST // (strips.n_columns * int(self._Z.shape[1]))
        height = min(self._height, max(LEAST_ROWS, most // LEAST_ROWS * LEAST_ROWS))
        spans = plan.strips(cuts if cuts is not None and symmetric else [0, strips.n_rows], height)
        result = np.zeros((strips.n_rows, W.shape[1]))
        if cuts is None:
            work, add = self._products(result, strips, np.ascontiguousarray(W, dtype=self.dtype))
        else:
            work, add = self._sums(result, strips, W, cuts)
        for span, found in self._run(spans, work, strips.n_rows * strips.n_columns):
            add(span, found)
            self._meter.add(strips.n_pairs(*span))
        return result

    def excess(
        self, A: Rows, B: Rows, left: Float64s, right: Float64s, thresholds: Float64s, sign: float = 1.0
    ) -> Float64s:
        """See `KernelSums`."""
        strips, result = self._strips(A, B), np.zeros(thresholds.shape)

        def work(task: tuple[Span, Span]) -> Float64s:
            (i0, i1), (j0, j1) = task
            patch = strips.patch(i0, i1, j0, j1)
            return self._engine.excess(patch, left[i0:i1], right[j0:j1], thresholds[i0:i1], sign)

        # Patches as wide as allows to stop in between.
        tasks = self._patches(strips, max(self._width, LONGEST // (self._height * left.shape[1])))
        for ((i0, i1), (j0, j1)), found in self._run(tasks, work, strips.n_rows * strips.n_columns):
            result[i0:i1] += found
            self._meter.add((i1 - i0) * (j1 - j0))
        return result

    def quadratic(self, W: Float64s) -> Float64s:
        """See `KernelSums`; half of K is enough."""
        weights = np.ascontiguousarray(W, dtype=self.dtype)
        everyone = slice(0, self.n_rows)
        strips = self._strips(everyone, everyone, use_numpy=self._few_rows and W.shape[1] >= WIDE)

        def work(span: Span) -> Float64s:
            i0, i1 = span
            mine = weights[i0:i1]
            sums, _ = strips.engine.products(strips.patch(i0, i1, i0, i1), mine[:0], mine)
            if i1 < self.n_rows:
                beyond = strips.patch(i0, i1, i1, self.n_rows)
                sums += 2.0 * strips.engine.products(beyond, mine[:0], weights[i1:])[0]
            return np.asarray(np.einsum("ij,ij->j", mine, sums))

        result, spans = np.zeros(W.shape[1]), plan.strips([0, self.n_rows], HALF_ROWS)
        for (i0, i1), found in self._run(spans, work, self.n_rows**2):
            result += found
            self._meter.add((i1 - i0) * (self.n_rows - i0))
        return result

    def block(self, A: Rows, B: Rows, out: Float64s | None = None) -> Float64s:
        """See `KernelSums`."""
        strips = self._strips(A, B)
        result = np.empty((strips.n_rows, strips.n_columns)) if out is None else out

        def work(task: tuple[Span, Span]) -> int:
            (i0, i1), (j0, j1) = task
            strips.engine.block(strips.patch(i0, i1, j0, j1), result[i0:i1, j0:j1])
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
        strips = self._strips(A, B)

        def work(task: tuple[Span, Span]) -> Float64s:
            (i0, i1), (j0, j1) = task
            values = np.empty((i1 - i0, j1 - j0))
            strips.engine.block(strips.patch(i0, i1, j0, j1), values)
            return values

        tasks = self._patches(strips, self._height)
        for ((i, _), (j, _)), block in self._run(tasks, work, strips.n_rows * strips.n_columns):
            f(i, j, block)
            self._meter.add(block.size)

    def _strips(self, A: Rows, B: Rows, *, mirrored: bool = False, use_numpy: bool = False) -> Strips:
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        engine = self._plain if use_numpy else self._engine
        right = engine.right(B)
        column = np.full(self.n_rows, -1, dtype=np.intp)  # of each pooled row
        column[B] = np.arange(len(right))
        return Strips(engine, A, right, column[places_in(A)], self._width, mirrored=mirrored)

    def _sums(self, result: Float64s, strips: Strips, weights: Float64s, cuts: list[int]) -> Adding:
        """Return how a strip is computed, and added to `result`, where runs of weights are equal."""
        values = weights[cuts[:-1]]  # the weights of each segment

        def work(span: Span) -> tuple[Float64s, Float64s]:
            return strips.engine.sums(strips.strip(*span, cuts), len(values))

        def add(span: Span, found: tuple[Float64s, Float64s]) -> None:
            i0, i1 = span
            with np.errstate(over="ignore", invalid="ignore"):  # who asks refuses what is not finite
                result[i0:i1] += found[0] @ values
            if strips.mirrored:
                mine = values[int(np.searchsorted(cuts, i0, side="right")) - 1]
                for column in np.flatnonzero(mine):  # one of two, for the sums of the groups
                    result[i0:, column] += mine[column] * found[1]

        return work, add

    def _products(self, result: Float64s, strips: Strips, weights: Factors) -> Adding:
        """Return how a strip is computed, and added to `result`, for any weights."""

        def work(span: Span) -> tuple[Float64s, Float64s]:
            i0, i1 = span
            mine = weights[i0:i1] if strips.mirrored else weights[:0]
            strip = strips.strip(i0, i1, [0, strips.n_columns])
            return strips.engine.products(strip, mine, weights[strips.first(i0) :])

        def add(span: Span, found: tuple[Float64s, Float64s]) -> None:
            i0, i1 = span
            result[i0:i1] += found[0]
            if strips.mirrored:
                result[i0:] += found[1]

        return work, add

    def _patches(self, strips: Strips, width: int) -> list[tuple[Span, Span]]:
        rows = plan.strips([0, strips.n_rows], self._height)
        return list(itertools.product(rows, plan.strips([0, strips.n_columns], width)))

    def _run(self, tasks: list[S], work: Callable[[S], T], n_pairs: int) -> Iterator[tuple[S, T]]:
        """Do the work, in threads where it pays, and yield the results in the order of the tasks."""
        threads_pay = n_pairs >= plan.THREADS_PAY and len(tasks) > 1
        return in_order(tasks, work, self._n_threads if threads_pay else 1)
