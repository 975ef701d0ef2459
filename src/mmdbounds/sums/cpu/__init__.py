"""Sums on this machine's processor: a matrix that is kept, or blocks as they are needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from mmdbounds import compiled
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel, Precomputed
from mmdbounds.sums import plan, points
from mmdbounds.sums.cpu.blocked import BlockedSums, Span
from mmdbounds.sums.protocol import Float64s, KernelSums, Options, PooledRows, Rows
from mmdbounds.sums.registry import IN_MEMORY, Backend, Status, measured, processor, timed_kernel, version_of
from mmdbounds.sums.rounding import ARITHMETIC, LEAST_TOLERANCE, claimed, handed_in, precision, sum_error
from mmdbounds.sums.threads import in_order, thread_count, threads_for

T = TypeVar("T")
PER_PAIR = 64  # products of two numbers that take as long as a kernel value


class ProcessorBackend(Backend):
    """The backend that is always there; it takes what no other one wants."""

    name, package = IN_MEMORY, "NumPy"

    def wants(self, rows: PooledRows, kernel: Kernel, backend: str, working_memory: float) -> bool:
        """Return true: it is asked last."""
        return True

    def make(self, rows: PooledRows, kernel: Kernel, **options: Unpack[Options]) -> KernelSums:
        """Return sums over a matrix if it is small or given, else over blocks."""
        Z = np.asarray(rows)
        if isinstance(kernel, Precomputed):
            K, error = checked_matrix(Z)
            return MatrixSums(K, value_error=error, **options)
        varies = 0.0
        if isinstance(kernel, FunctionKernel):
            varies = points.check_function(kernel, Z)
        elif not isinstance(kernel, PairKernel):
            msg = (
                f"the kernel {type(kernel).__name__} has no formula. Derive it from PairKernel and define "
                "`value`, or hand in a function k(A, B)."
            )
            raise MmdBoundsError(msg)
        if not plan.matrix_fits(len(Z), options["working_memory"]):
            return BlockedSums(
                Z, kernel, few_rows=len(Z) <= plan.FEW * plan.SMALL_ROWS, varies=varies, **options
            )
        if options["dtype"] == "float32" and points.by_product(kernel):
            points.prepare(Z, kernel, "float32")  # the same refusals for few rows as for many
        if isinstance(kernel, PairKernel) and (ready := points.ready(Z, kernel, "float64")).is_product:
            return KeptSums(Z, kernel, ready, **options)
        K, error = points.kernel_matrix(Z, kernel)
        return MatrixSums(K, value_error=error, reach=kernel.reach, **options)

    def status(self) -> Status:
        """Return the rates of blocks, compiled or not."""
        is_compiled = compiled.numba_is_there()
        kernel = timed_kernel()
        rates, notes = measured(lambda Z, dtype, meter: BlockedSums(Z, kernel, dtype=dtype, meter=meter))
        if not is_compiled:
            notes += ("numba is missing: `pip install numba` makes the sums several times faster.",)
        elif not rates:
            way_out = "`pip install --upgrade numba`, or do without: pip uninstall numba."
            notes += (f"If numba is to blame, {way_out}",)
        return Status(
            self.name,
            is_available=bool(rates),
            version=np.__version__,
            device=processor(),
            n_threads=thread_count(),
            how=f"compiled by numba {version_of('numba')}" if is_compiled else "not compiled",
            rates=rates,
            notes=notes,
        )

    def automatic(self, status: Status) -> tuple[bool, str]:
        """Return that it is taken if no other one is."""
        return True, ""


def checked_matrix(K: Float64s) -> tuple[Float64s, float]:
    """Return a kernel matrix that the user gave, symmetric to the last bit, and its error; or refuse it."""
    if K.shape[0] != K.shape[1]:
        msg = (
            f"with kernel='precomputed', `X` and `Y` must be the rows of one pooled N x N matrix (X first), "
            f"{K.shape[0]} x {K.shape[0]} in all; got {K.shape[1]} columns."
        )
        raise MmdBoundsError(msg)
    error = points.asymmetry_of(K)
    if 2 * error > LEAST_TOLERANCE and 2 * error > handed_in(precision(K)):
        asymmetry = float(np.abs(K - K.T).max(initial=0.0))
        msg = f"the precomputed kernel matrix must be symmetric; two entries differ by {asymmetry:.3g}."
        raise MmdBoundsError(msg)
    points.refuse_distances(K, "the precomputed matrix holds")
    return points.symmetrised(K), error


class MatrixSums(KernelSums):
    """Sums over a kernel matrix `K` that is there, given or small enough to keep: in float64 always."""

    backend = "matrix"
    holds_matrix = halves_quadratics = True

    def __init__(
        self,
        K: Float64s,
        *,
        value_error: float = 0.0,
        reach: float | None = None,
        **options: Unpack[Options],
    ) -> None:
        self._prepare(len(K), value_error, reach, options)
        self.is_nonnegative = bool(K.min(initial=0.0) >= 0)
        self._K = K
        self._meter.add(K.size)

    def _prepare(self, n_rows: int, value_error: float, reach: float | None, options: Options) -> None:
        self._set_options(n_rows, reach, {**options, "dtype": "float64"})
        self.rounding = claimed(value_error, sum_error(n_rows, n_rows, self.dtype))
        self.tie_width = max(ARITHMETIC, value_error)

    def apply(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """See `KernelSums`."""
        selected, weights = self._view(A, B), np.asarray(W, dtype=np.float64)
        result = np.empty((len(selected), *weights.shape[1:]))

        def work(span: Span) -> None:
            here = slice(*span)
            np.matmul(selected[here], weights, out=result[here])

        self._run(work, len(selected), selected.shape[0] * weights.size)
        return result

    def quadratic(self, W: Float64s) -> Float64s:
        """See `KernelSums`; half of K is enough."""

        def work(span: Span) -> Float64s:
            i0, i1 = span
            sums = self._K[i0:i1, i0:i1] @ W[i0:i1]
            if i1 < self.n_rows:
                sums += 2.0 * (self._K[i0:i1, i1:] @ W[i1:])
            return np.asarray(np.einsum("ij,ij->j", W[i0:i1], sums))

        parts = self._run(work, self.n_rows, self.n_rows * W.size, plan.half_rows(self.n_rows))
        return np.asarray(np.sum(parts, axis=0))

    def _run(
        self,
        work: Callable[[tuple[int, int]], T],
        n_rows: int,
        n_products: int,
        height: int = plan.BLOCK_ROWS,
    ) -> list[T]:
        """Do the work for strips of rows, in threads where they pay: the strips are the same without."""
        spans = plan.strips([0, n_rows], height)
        return [found for _, found in in_order(spans, work, threads_for(n_products // PER_PAIR))]

    def block(self, A: Rows, B: Rows, out: Float64s | None = None) -> Float64s:
        """See `KernelSums`."""
        if out is None:
            return np.array(self._view(A, B))
        out[:] = self._view(A, B)
        return out

    def diagonal(self, A: Rows) -> Float64s:
        """See `KernelSums`."""
        return np.array(self._K.diagonal()[A])

    def fold(self, A: Rows, B: Rows, f: Callable[[int, int, Float64s], None]) -> None:
        """See `KernelSums`."""
        selected = self._view(A, B)
        for i0, i1 in plan.strips([0, selected.shape[0]], plan.BLOCK_ROWS):
            for j0, j1 in plan.strips([0, selected.shape[1]], plan.BLOCK_ROWS):
                f(i0, j0, selected[i0:i1, j0:j1])

    def _view(self, A: Rows, B: Rows) -> NDArray[Any]:
        if isinstance(A, slice) or isinstance(B, slice):
            return self._K[A, B]
        return self._K[np.ix_(A, B)]


class KeptSums(MatrixSums):
    """The same over the kernel matrix of rows, which is computed when it is first needed.

    Sums over the groups, which is all that the squared MMD needs, are added up block by block: that takes a
    third of the time.
    """

    def __init__(
        self, Z: Float64s, kernel: PairKernel, ready: points.Points, **options: Unpack[Options]
    ) -> None:
        self._Z, self._kernel, self._ready = Z, kernel, ready
        self._half = len(Z) * (len(Z) + 1) // 2  # kernel values, which is all that is computed
        self._prepare(len(Z), ready.value_error, kernel.reach, options)
        self.is_nonnegative = kernel.is_nonnegative

    def apply(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """See `KernelSums`."""
        are_all = isinstance(A, slice) and isinstance(B, slice) and A == B == slice(0, self.n_rows)
        if "_K" in vars(self) or not are_all or np.shape(W)[1:] != (2,):
            return super().apply(A, B, W)
        self._meter.add(self._half)
        return points.product_sums(self._ready, self._kernel, W)

    def diagonal(self, A: Rows) -> Float64s:
        """See `KernelSums`."""
        return points.kernel_diagonal(self._Z, self._kernel, A)

    @cached_property
    def _K(self) -> Float64s:  # type: ignore[override]
        self._meter.add(self._half)
        return points.product_matrix(self._ready, self._kernel)
