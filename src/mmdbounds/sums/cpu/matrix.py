"""Sums over a kernel matrix that is there: given by the user, or small enough to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.progress import Meter
from mmdbounds.sums import plan
from mmdbounds.sums.protocol import Float64s, KernelSums, Rows
from mmdbounds.sums.rounding import ARITHMETIC, claimed, sum_error
from mmdbounds.sums.threads import no_fork, one_blas_thread


class MatrixSums(KernelSums):
    """Sums over the kernel matrix `K` of the pooled rows, X first."""

    backend = "matrix"
    holds_matrix = True

    def __init__(
        self,
        K: Float64s,
        *,
        value_error: float = 0.0,
        is_positive_definite: bool = False,
        working_memory: float = 1024,
        meter: Meter | None = None,
    ) -> None:
        self.n_rows = len(K)
        self.rounding = claimed(value_error, sum_error(self.n_rows, self.n_rows, self.dtype))
        self.tie_width = max(ARITHMETIC, value_error)
        self.is_positive_definite = is_positive_definite
        self.working_memory = working_memory
        self._K = K
        (meter or Meter()).add(K.size)

    def apply(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """See `KernelSums`."""
        # Two threads would add in another order than one.
        with no_fork(), one_blas_thread():
            return np.asarray(self._view(A, B) @ np.asarray(W, dtype=np.float64))

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
