"""Sums over pairs of rows: the only numerics that see pairs.

`make_sums` chooses how K is represented; everything above asks the four verbs of
`KernelSums` only.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel, Precomputed, is_built_in
from mmdbounds.progress import Meter
from mmdbounds.sums import plan
from mmdbounds.sums.cpu.blocked import BlockedSums
from mmdbounds.sums.cpu.matrix import MatrixSums
from mmdbounds.sums.dask.client import require_client
from mmdbounds.sums.dask.rows import DaskRows
from mmdbounds.sums.dask.sums import DaskFeatureSums, DaskSums
from mmdbounds.sums.features.kernels import ApproximateKernel
from mmdbounds.sums.features.sums import feature_sums
from mmdbounds.sums.pairs import check_function, kernel_matrix, symmetrised
from mmdbounds.sums.points import by_product, prepare
from mmdbounds.sums.protocol import Float64s, KernelSums
from mmdbounds.sums.torch.features import torch_feature_sums
from mmdbounds.sums.torch.sums import TorchSums, best_device, torch_is_there

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
    where it is asked for, and by itself where it has a GPU and either is imported already or saves minutes; a
    cluster where it is asked for and the matrix is not kept, and by itself where the rows lie there.
    """
    if isinstance(Z, DaskRows) or (backend == "dask" and not plan.matrix_fits(len(Z), working_memory)):
        return _dask_sums(Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter)
    if backend == "torch" or (backend == "auto" and torch_pays(len(Z), kernel)):
        return _torch_sums(Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter)
    if isinstance(kernel, ApproximateKernel):
        return feature_sums(Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter)
    if isinstance(kernel, Precomputed):
        return MatrixSums(_checked_matrix(Z), working_memory=working_memory, meter=meter)
    if isinstance(kernel, FunctionKernel):
        check_function(kernel, Z)
    elif not isinstance(kernel, PairKernel):
        msg = (
            f"the kernel {type(kernel).__name__} has no formula. Derive it from PairKernel and define "
            "`value`, or hand in a function k(A, B)."
        )
        raise MmdBoundsError(msg)
    if plan.matrix_fits(len(Z), working_memory):
        if dtype == "float32" and by_product(kernel):
            prepare(Z, kernel, dtype)  # the same refusals for few rows as for many
        K, error = kernel_matrix(Z, kernel)
        definite = kernel.is_positive_definite is True
        return MatrixSums(
            K, value_error=error, is_positive_definite=definite, working_memory=working_memory, meter=meter
        )
    return BlockedSums(Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter)


def torch_pays(n_rows: int, kernel: Kernel) -> bool:
    """Return whether the work is done on a GPU without being asked for."""
    if not _has_tensors(kernel) or n_rows <= plan.SMALL_ROWS:
        return False
    n_values = n_rows * (kernel.size if isinstance(kernel, ApproximateKernel) else n_rows)
    if "torch" not in sys.modules and (n_values < plan.TORCH_PAYS or not torch_is_there()):
        return False
    try:
        return best_device() != "cpu"
    except MmdBoundsError:  # it is there but cannot be imported; nobody asked for it
        return False


def _has_tensors(kernel: Kernel) -> bool:
    """Return whether PyTorch has the kernel's formula."""
    return isinstance(kernel, ApproximateKernel) or (
        is_built_in(kernel) and not isinstance(kernel, Precomputed)
    )


def _torch_sums(Z: Float64s, kernel: Kernel, **options: Any) -> KernelSums:
    if not _has_tensors(kernel):
        what = "a matrix that is there" if isinstance(kernel, Precomputed) else "a kernel of your own"
        msg = f"backend='torch' computes kernel values itself; it cannot take {what}. Use backend='numpy'."
        raise MmdBoundsError(msg)
    if isinstance(kernel, ApproximateKernel):
        return torch_feature_sums(np.asarray(Z), kernel, **options)
    return TorchSums(Z, kernel, **options)


def _dask_sums(
    Z: Float64s | DaskRows, kernel: Kernel, *, working_memory: float, **options: Any
) -> KernelSums:
    if isinstance(kernel, Precomputed):
        msg = "backend='dask' computes kernel values itself; it cannot take a matrix. Use backend='numpy'."
        raise MmdBoundsError(msg)
    rows = Z if isinstance(Z, DaskRows) else DaskRows.from_array(require_client(), Z, working_memory)
    if isinstance(kernel, ApproximateKernel):
        return DaskFeatureSums(rows, kernel, working_memory=working_memory, **options)
    return DaskSums(rows, kernel, working_memory=working_memory, **options)


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
