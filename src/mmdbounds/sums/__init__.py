"""Sums over pairs of rows: the only numerics that see pairs.

`make_sums` chooses how K is represented; everything above asks the four verbs of
`KernelSums` only.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import FunctionKernel, Kernel, Precomputed
from mmdbounds.progress import Meter
from mmdbounds.sums import plan
from mmdbounds.sums._engines import BY_PRODUCT
from mmdbounds.sums._torch import TorchSums, best_device, torch_is_there
from mmdbounds.sums.blocked import BlockedSums
from mmdbounds.sums.matrix import MatrixSums
from mmdbounds.sums.pairs import check_function, kernel_matrix, symmetrised
from mmdbounds.sums.points import prepare
from mmdbounds.sums.protocol import Float64s, KernelSums

__all__ = ["KernelSums", "make_sums"]


def make_sums(
    Z: Float64s,
    kernel: Kernel,
    *,
    backend: str = "auto",
    dtype: str = "float64",
    working_memory: float = 1024,
    meter: Meter | None = None,
) -> KernelSums:
    """Return the sums over the kernel matrix of the pooled rows `Z`, X first.

    Up to 4,096 rows the matrix is kept, in float64 whatever `dtype` is; beyond that blocks
    are computed as they are needed, in `dtype`. With a precomputed kernel `Z` is the matrix. PyTorch is taken
    where it is asked for, and by itself where it has a GPU and either is imported already or saves minutes.
    """
    if backend == "torch" or (backend == "auto" and torch_pays(len(Z), kernel)):
        return _torch_sums(Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter)
    if isinstance(kernel, Precomputed):
        return MatrixSums(_checked_matrix(Z), working_memory=working_memory, meter=meter)
    if isinstance(kernel, FunctionKernel):
        check_function(kernel, Z)
    if plan.matrix_fits(len(Z), working_memory):
        if dtype == "float32" and kernel.geometry in BY_PRODUCT:
            prepare(Z, kernel, dtype)  # the same refusals for few rows as for many
        K, rounding = kernel_matrix(Z, kernel)
        definite = kernel.is_positive_definite is True
        return MatrixSums(
            K, rounding=rounding, is_positive_definite=definite, working_memory=working_memory, meter=meter
        )
    return BlockedSums(Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter)


def torch_pays(n_rows: int, kernel: Kernel) -> bool:
    """Return whether the work is done on a GPU without being asked for."""
    if isinstance(kernel, Precomputed | FunctionKernel) or n_rows <= plan.SMALL_ROWS:
        return False
    if "torch" not in sys.modules and (n_rows**2 < plan.TORCH_PAYS or not torch_is_there()):
        return False
    return best_device() != "cpu"


def _torch_sums(Z: Float64s, kernel: Kernel, **options: Any) -> KernelSums:
    if isinstance(kernel, Precomputed | FunctionKernel):
        what = "a matrix that is there" if isinstance(kernel, Precomputed) else "a kernel that is a function"
        msg = f"backend='torch' computes kernel values itself; it cannot take {what}. Use backend='numpy'."
        raise MmdBoundsError(msg)
    return TorchSums(Z, kernel, **options)


def _checked_matrix(K: Float64s) -> Float64s:
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
    return symmetrised(K)
