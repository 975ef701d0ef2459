"""Whole blocks of distances and kernel values for problems that are small, or have no matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel
from mmdbounds.sums.plan import strips
from mmdbounds.sums.points import (
    QUICK_DIFFERENCES,
    Points,
    by_product,
    centred,
    check_finite,
    check_not_vanishing,
    differences_pay,
    is_drawn_away,
    kernel_rows,
    prepare,
    raw,
    takes_differences,
)
from mmdbounds.sums.protocol import Float64s, Rows
from mmdbounds.sums.rounding import inner_error, product_error
from mmdbounds.sums.threads import no_fork, one_blas_thread


def l1_distances(A: NDArray[Any], B: NDArray[Any]) -> Float64s:
    """Return the L1 distances between the rows of `A` and those of `B`."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(A, B, "cityblock"), dtype=np.float64)


def squared_differences(A: NDArray[Any], B: NDArray[Any]) -> Float64s:
    """Return the squared distances between the rows of `A` and those of `B`, from differences."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(A, B, "sqeuclidean"), dtype=np.float64)


def pair_numbers(A: NDArray[Any], B: NDArray[Any], kernel: Kernel) -> Float64s:
    """Return the numbers of all pairs, each of which is the same in every block, whatever else is there."""
    if kernel.geometry == "l1":
        return l1_distances(A, B)
    if kernel.geometry == "distance2":
        return squared_differences(A, B)
    return np.asarray(np.einsum("ik,jk->ij", A, B))


def squared_distances(Z: Float64s) -> Float64s:
    """Return all squared distances between the rows of `Z`, from differences."""
    if len(Z) ** 2 * Z.shape[1] > QUICK_DIFFERENCES:
        from scipy.spatial.distance import pdist, squareform

        return np.asarray(squareform(pdist(Z, "sqeuclidean")))
    squared = np.zeros((len(Z), len(Z)))
    for i in range(1, len(Z)):  # as fast for few rows, and SciPy takes longer to import than that
        gaps = Z[:i] - Z[i]
        squared[i, :i] = squared[:i, i] = np.einsum("ij,ij->i", gaps, gaps)
    return squared


def squared_products(Z: Float64s) -> Float64s:
    """Return all squared distances between the (centred) rows of `Z`, from a product, which is faster."""
    norms = np.einsum("ij,ij->i", Z, Z)
    # Threads would add in another order, and wait for each other on a busy machine.
    with no_fork(), one_blas_thread():
        squared = Z @ Z.T
    squared *= -2.0
    squared += norms[:, None]
    squared += norms[None, :]
    np.maximum(squared, 0.0, out=squared)
    np.fill_diagonal(squared, 0.0)
    return squared


def ready(Z: Float64s, kernel: Kernel, dtype: str) -> Points:
    """Make the pooled rows ready, for products or, where these lose too much in float64, for differences."""
    if not by_product(kernel):
        return raw(kernel_rows(Z, kernel), kernel)
    points = prepare(Z, kernel, dtype)
    if kernel.geometry == "distance2" and differences_pay(points.value_error, len(Z), Z.shape[1], dtype):
        return raw(Z, kernel)
    return points


def kernel_matrix(Z: Float64s, kernel: Kernel) -> tuple[Float64s, float]:
    """Return the whole kernel matrix of the rows `Z`, and how far a value can be off."""
    if isinstance(kernel, FunctionKernel):
        return symmetrised(function_block(kernel, Z, Z)), 0.0
    if not isinstance(kernel, PairKernel):
        msg = f"a {kernel.name} kernel has no formula"
        raise TypeError(msg)
    with np.errstate(over="ignore", invalid="ignore"):
        if kernel.geometry == "distance2":
            squared, error = _squared(Z, kernel)
            return checked_values(kernel, squared), error
        rows = kernel_rows(Z, kernel)
        if not by_product(kernel):
            return checked_values(kernel, pair_numbers(rows, rows, kernel)), raw(rows, kernel).value_error
        error = inner_error(rows.shape[1], kernel, "float64")
        values = _finite(kernel.value(rows @ rows.T))
        check_not_vanishing(float(np.abs(rows).max(initial=0.0)), values.diagonal(), "float64")
        return values, error


def _squared(Z: Float64s, kernel: PairKernel) -> tuple[Float64s, float]:
    """Return all squared distances, and how far a kernel value of one can be off."""
    if takes_differences(kernel):
        return squared_distances(Z), raw(Z, kernel).value_error
    rows, length2 = centred(Z), (kernel.length or 1.0) ** 2
    norms = np.einsum("ij,ij->i", rows, rows) / length2
    check_finite(norms, "float64")
    error = product_error(norms, rows.shape[1], kernel, "float64")
    if differences_pay(error, len(rows), rows.shape[1], "float64"):
        return squared_distances(Z), raw(Z, kernel).value_error
    if is_drawn_away(float(norms.max()), float(np.median(norms)), error):
        rows = centred(Z, np.median(Z, axis=0))
        norms = np.einsum("ij,ij->i", rows, rows) / length2
        error = product_error(norms, rows.shape[1], kernel, "float64")
    return squared_products(rows), error


def kernel_diagonal(Z: Float64s, kernel: Kernel, A: Rows, at: Float64s | None = None) -> Float64s:
    """Return k(a, a) for the rows `A` of `Z`, centred at `at` or at their mean if the kernel centres."""
    rows = Z[A]
    if isinstance(kernel, FunctionKernel):
        pieces = [function_block(kernel, rows[i:j], rows[i:j]) for i, j in strips([0, len(rows)], 64)]
        return np.concatenate([piece.diagonal() for piece in pieces]) if pieces else np.empty(0)
    if isinstance(kernel, PairKernel) and kernel.geometry in ("inner", "cosine"):
        z = kernel_rows(Z, kernel, at)[A]
        return np.asarray(kernel.value(np.einsum("ij,ij->i", z, z)))
    return own_value(kernel, len(rows))


def own_value(kernel: Kernel, n_rows: int) -> Float64s:
    """Return k(z, z) of rows for a kernel of their distance, which is 0."""
    return np.asarray(kernel.value(np.zeros(n_rows))) if isinstance(kernel, PairKernel) else np.ones(n_rows)


def checked_values(kernel: PairKernel, t: NDArray[Any]) -> Float64s:
    """Return the kernel values of pair numbers; a formula of somebody's own may give anything."""
    values = np.asarray(kernel.value(t))
    if values.shape != t.shape or values.dtype.kind not in "fiu":
        msg = (
            f"`value` of the kernel {kernel.name!r} must return real numbers of shape {t.shape}, "
            f"one for each number it is given; got {values.dtype} of shape {values.shape}."
        )
        raise MmdBoundsError(msg)
    return _finite(values)


def symmetrised(K: Float64s) -> Float64s:
    """Return the mean of a matrix and its transpose: the two halves must not differ by rounding."""
    return np.asarray((K + K.T) / 2)


def function_block(kernel: FunctionKernel, A: NDArray[Any], B: NDArray[Any]) -> Float64s:
    """Call a user's kernel for one block and check what comes back."""
    values = np.asarray(kernel.function(A, B))
    if values.shape != (len(A), len(B)):
        msg = (
            f"`kernel` must return a block of shape {(len(A), len(B))} for {len(A)} and {len(B)} rows; "
            f"got shape {values.shape}. It is called as k(A, B) with two 2-D arrays."
        )
        raise MmdBoundsError(msg)
    if not (np.issubdtype(values.dtype, np.floating) or np.issubdtype(values.dtype, np.integer)):
        msg = f"`kernel` must return real numbers; got dtype {values.dtype}."
        raise MmdBoundsError(msg)
    return _finite(values.astype(np.float64))


def check_function(kernel: FunctionKernel, Z: Float64s) -> None:
    """Try a user's kernel on a few rows: right shape, numbers, symmetric, the same row by row."""
    few = Z[np.unique(np.linspace(0, len(Z) - 1, num=min(len(Z), 7)).astype(np.intp))]
    values = function_block(kernel, few, few)
    tolerance = 1e-9 * max(float(np.abs(values).max()), 1e-300)
    asymmetry = float(np.abs(values - values.T).max())
    if asymmetry > tolerance:
        msg = f"`kernel` must be symmetric, k(A, B) = k(B, A).T; two rows differ by {asymmetry:.3g}."
        raise MmdBoundsError(msg)
    alone = function_block(kernel, few[:1], few)
    if float(np.abs(alone - values[:1]).max()) > tolerance:
        msg = (
            "`kernel` must give each pair the same value in every block; it does not. "
            "Fix whatever it computes from the block itself (a bandwidth, a mean) beforehand."
        )
        raise MmdBoundsError(msg)


def _finite(values: NDArray[Any]) -> Float64s:
    if not np.isfinite(values).all():
        msg = "the kernel gives values that are not finite. Rescale the columns, or choose another `kernel`."
        raise DataError(msg)
    return np.asarray(values, dtype=np.float64)
