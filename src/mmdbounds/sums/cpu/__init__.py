"""Sums on this machine's processor: a matrix that is kept, or blocks as they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel, Precomputed
from mmdbounds.progress import Meter
from mmdbounds.sums import plan
from mmdbounds.sums.protocol import Float64s, KernelSums, PooledRows
from mmdbounds.sums.registry import IN_MEMORY, Backend

if TYPE_CHECKING:
    from mmdbounds.sums.listing import Status


class ProcessorBackend(Backend):
    """The backend that is always there; it takes what no other one wants."""

    name, package = IN_MEMORY, "NumPy"

    def wants(self, rows: PooledRows, kernel: Kernel, backend: str, working_memory: float) -> bool:
        """Return true: it is asked last."""
        return True

    def make(
        self, rows: PooledRows, kernel: Kernel, *, dtype: str, working_memory: float, meter: Meter | None
    ) -> KernelSums:
        """Return sums over a matrix if it is small or given, else over blocks."""
        from mmdbounds.sums.cpu.blocked import BlockedSums
        from mmdbounds.sums.cpu.matrix import MatrixSums
        from mmdbounds.sums.features.kernels import ApproximateKernel
        from mmdbounds.sums.features.sums import feature_sums
        from mmdbounds.sums.pairs import check_function, kernel_matrix
        from mmdbounds.sums.points import by_product, prepare

        Z = np.asarray(rows)
        if isinstance(kernel, ApproximateKernel):
            return feature_sums(Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter)
        if isinstance(kernel, Precomputed):
            return MatrixSums(checked_matrix(Z), working_memory=working_memory, meter=meter)
        if isinstance(kernel, FunctionKernel):
            check_function(kernel, Z)
        elif not isinstance(kernel, PairKernel):
            msg = (
                f"the kernel {type(kernel).__name__} has no formula. Derive it from PairKernel and define "
                "`value`, or hand in a function k(A, B)."
            )
            raise MmdBoundsError(msg)
        if not plan.matrix_fits(len(Z), working_memory):
            return BlockedSums(Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter)
        if dtype == "float32" and by_product(kernel):
            prepare(Z, kernel, dtype)  # the same refusals for few rows as for many
        K, error = kernel_matrix(Z, kernel)
        definite = kernel.is_positive_definite is True
        return MatrixSums(
            K, value_error=error, is_positive_definite=definite, working_memory=working_memory, meter=meter
        )

    def status(self) -> Status:
        """Return the rates of blocks, compiled or not."""
        from mmdbounds import compiled
        from mmdbounds.sums import listing
        from mmdbounds.sums.cpu import blocked
        from mmdbounds.sums.threads import thread_count

        is_compiled = compiled.numba_is_there()
        rates, notes = listing.measured(
            lambda Z, dtype, meter: blocked.BlockedSums(Z, listing.kernel(), dtype=dtype, meter=meter)
        )
        if not is_compiled:
            notes += ("numba is missing: `pip install numba` makes the sums several times faster.",)
        elif not rates:
            notes += (
                "If numba is to blame, `pip install --upgrade numba`, or do without: pip uninstall numba.",
            )
        return listing.Status(
            self.name,
            is_available=bool(rates),
            version=np.__version__,
            device=listing.processor(),
            n_threads=thread_count(),
            how=f"compiled by numba {listing.version_of('numba')}" if is_compiled else "not compiled",
            rates=rates,
            notes=notes,
        )

    def automatic(self, status: Status) -> tuple[bool, str]:
        """Return that it is taken if no other one is."""
        return True, ""


def checked_matrix(K: Float64s) -> Float64s:
    """Return a kernel matrix that the user gave, symmetric to the last bit, or refuse it."""
    if K.shape[0] != K.shape[1]:
        msg = (
            f"with kernel='precomputed', `X` and `Y` must be the rows of one pooled N x N matrix (X first), "
            f"{K.shape[0]} x {K.shape[0]} in all; got {K.shape[1]} columns."
        )
        raise MmdBoundsError(msg)
    asymmetry = float(np.abs(K - K.T).max(initial=0.0))
    if asymmetry > 1e-9 * max(float(np.abs(K).max(initial=0.0)), 1e-300):
        msg = f"the precomputed kernel matrix must be symmetric; two entries differ by {asymmetry:.3g}."
        raise MmdBoundsError(msg)
    return np.asarray((K + K.T) / 2)
