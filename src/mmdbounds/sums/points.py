"""Rows made ready for a matrix product, and whole blocks of kernel values where there are few or no product.

With z the scaled rows and h = -|z|^2 / 2, the product of [z, h, 1] with [z, 1, h] is -|a - b|^2 / 2: one
matrix product gives what a distance kernel needs, with no second pass over the block. Centring comes first,
because a squared distance taken from a product loses eps |z|^2 / bandwidth^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel
from mmdbounds.sums import rounding
from mmdbounds.sums.plan import strips
from mmdbounds.sums.protocol import Float64s, Rows
from mmdbounds.sums.threads import in_order, threads_for

FAR = 1e3  # largest over typical squared distance from the mean beyond which the median is the better centre
# Products off by no more than the first are as good as differences; up to the second nobody sees it.
EXACT_PRODUCT, GOOD_PRODUCT = 5e-13, 1e-11
QUICK_DIFFERENCES, DIFFERENCES_LIMIT = 5e7, 2e10  # pairs times columns that take no time, or 20 seconds
NEEDS_CLAMP = 1e-3  # rounding of products from which on they are held to distances of at least 0
MANY = 512  # rows from which on it pays to look for columns that do not vary
TILE = 112  # rows and columns of a block where there are few rows: less than memory is fetched anew for

FLOAT32_LOSS = 1e-3  # float32 is refused where eps times the largest squared norm, in bandwidths, exceeds it
MOST_VANISHED = 1e-6  # error of values, from differences that vanish, beyond which rows are refused
SMALLEST_VALUE = {"float64": 1e-280, "float32": 1e-28}  # below, products are no normal numbers
NO_DIAGONAL = 1e-6  # of the largest value: what a distance of a row to itself may be by rounding
LAST_DIGITS = 32  # units of float64 by which the same value may differ in two blocks of a user's function
OF_A_MEAN = 0.25  # error of a mean of float32 values, in units of eps; standard deviation 0.2 on FOREST


@dataclass(frozen=True, eq=False)
class Points:
    """Pooled rows in the form that one matrix product needs."""

    right: NDArray[Any]  # right-hand factors, one row for each pooled row; `left` makes the other ones
    unit: float | None  # squared distance = -2 x product x `unit`; `None` for inner products
    value_error: float  # how far a kernel value can be off (see `rounding`)
    spread: float = 0.0  # largest squared norm over the squared bandwidth; 0 where nothing is a distance
    typical_spread: float = 0.0  # the median one
    is_product: bool = True  # else the rows are as they were handed in, for differences

    def left(self, rows: Rows) -> NDArray[Any]:
        """Return the left-hand factors of `rows`."""
        chosen = np.array(self.right[rows])
        if self.unit is not None:  # [z, 1, h] becomes [z, h, 1]
            chosen[:, -2] = chosen[:, -1]
            chosen[:, -1] = 1.0
        return chosen


def squared_scale(kernel: Kernel) -> float:
    """Return the squared norm of a prepared row at a distance of one bandwidth from the centre."""
    if kernel.squared_scale is None:
        msg = f"the {kernel.name} kernel takes no products of scaled rows"
        raise TypeError(msg)
    return kernel.squared_scale


def takes_differences(kernel: Kernel) -> bool:
    """Return whether distances are taken from differences of raw rows."""
    # A kernel that may be steep anywhere could make anything of the rounding of a product.
    return kernel.geometry == "l1" or (kernel.geometry == "distance2" and kernel.squared_scale is None)


def by_product(kernel: Kernel) -> bool:
    """Return whether a matrix product serves; other kernels are computed in float64 whatever was asked."""
    # A product has other digits in another block; a kernel must say what it makes of that (`sensitivity`).
    if kernel.geometry == "distance2":
        return not takes_differences(kernel)
    return kernel.geometry == "inner" and kernel.sensitivity is not None


def differences_pay(value_error: float, n_rows: int, n_columns: int, dtype: str) -> bool:
    """Return whether distances should come from differences: a product loses digits, and there is time."""
    if dtype != "float64" or value_error <= EXACT_PRODUCT:
        return False
    is_quick = n_rows**2 * n_columns <= QUICK_DIFFERENCES
    return is_quick or (value_error > GOOD_PRODUCT and differences_are_affordable(n_rows, n_columns))


def differences_are_affordable(n_rows: int, n_columns: int) -> bool:
    """Return whether all distances can be computed from differences in seconds."""
    return n_rows**2 * n_columns <= DIFFERENCES_LIMIT


def centred(Z: Float64s, at: Float64s | None = None) -> Float64s:
    """Return the rows less a point, by default their mean."""
    with np.errstate(over="ignore", invalid="ignore"):
        shifted: Float64s = Z - (Z.mean(axis=0) if at is None else at)
    check_finite(shifted, "float64")
    return shifted


def kernel_rows(Z: Float64s, kernel: Kernel, at: Float64s | None = None) -> Float64s:
    """Return the rows that enter the kernel's formula: centred at `at` or the mean, or scaled."""
    # Differences are taken of the rows as they are. Centred they would lose what the centre is off.
    Z = np.asarray(Z)  # rows on a cluster come here, or say why they cannot
    if takes_differences(kernel):
        return Z
    if kernel.shift_invariant:
        return centred(Z, at)
    factor = kernel.row_factor(Z.shape[1])
    return Z if factor == 1.0 else np.asarray(Z * factor)


def prepare(Z: Float64s, kernel: Kernel, dtype: str) -> Points:
    """Make the pooled rows `Z` ready for products in `dtype`."""
    if kernel.geometry != "distance2":
        return _prepare_inner(kernel_rows(Z, kernel), kernel, dtype)
    points = prepare_distances(Z, kernel, dtype)
    check_float32(points.spread, dtype)
    return points


def prepare_distances(Z: Float64s, kernel: Kernel, dtype: str) -> Points:
    """Make the pooled rows ready for a distance kernel, centred where most of them are."""
    if len(Z) > MANY:  # FOREST has five columns that tell no two rows apart, a tenth of the work
        varies = Z.max(axis=0) > Z.min(axis=0)
        Z = Z if varies.all() else Z[:, varies]
    points = _prepare_distances(centred(Z), kernel, dtype)
    if is_drawn_away(points.spread, points.typical_spread, points.value_error):
        points = _prepare_distances(centred(Z, np.median(Z, axis=0)), kernel, dtype)
    return points


def is_drawn_away(spread: float, typical_spread: float, value_error: float) -> bool:
    """Return whether a few rows far out may have drawn the mean away; the median stays with all others."""
    return spread > FAR * (1.0 + typical_spread) or (spread > FAR and value_error > GOOD_PRODUCT)


def prepare_part(Z: Float64s, kernel: Kernel, dtype: str, centre: Float64s | None) -> Points:
    """Make some of the pooled rows ready; `centre` is that of all of them, if the kernel centres."""
    if kernel.geometry == "distance2" and not takes_differences(kernel):
        return _prepare_distances(centred(Z, centre), kernel, dtype)
    rows = kernel_rows(Z, kernel, centre)
    return _prepare_inner(rows, kernel, dtype) if by_product(kernel) else raw(rows, kernel)


def raw(rows: Float64s, kernel: Kernel) -> Points:
    """Return rows for kernels that are no formula of a product."""
    # What a function returns is what is meant.
    error = rounding.pair_error(rows.shape[1], kernel) if isinstance(kernel, PairKernel) else 0.0
    return Points(rows, None, error, is_product=False)


def _prepare_distances(rows: Float64s, kernel: Kernel, dtype: str) -> Points:
    length = kernel.length or 1.0
    scale = squared_scale(kernel)
    with np.errstate(over="ignore", invalid="ignore"):
        z = (rows * (math.sqrt(scale) / length)).astype(dtype)
        norms = np.einsum("ij,ij->i", z, z, dtype=np.float64)
        right = np.empty((len(z), z.shape[1] + 2), dtype)
        right[:, :-2], right[:, -2], right[:, -1] = z, 1.0, -0.5 * norms
    check_finite(right, dtype)
    norms /= scale
    norms.sort()
    error = rounding.product_error(norms, rows.shape[1], kernel, dtype)
    typical = float(norms[(len(norms) - 1) // 2] + norms[len(norms) // 2]) / 2
    return Points(right, length**2 / scale, error, float(norms[-1]), typical)


def _prepare_inner(rows: Float64s, kernel: Kernel, dtype: str) -> Points:
    with np.errstate(over="ignore", invalid="ignore"):
        right = np.ascontiguousarray(rows, dtype=dtype)
        largest = np.einsum("ij,ij->i", right, right).max(keepdims=True)
        if isinstance(kernel, PairKernel):
            check_finite(kernel.value(largest), dtype)
            check_not_vanishing(float(np.abs(rows).max(initial=0.0)), kernel.value(largest), dtype)
    return Points(right, None, rounding.inner_error(rows.shape[1], kernel, dtype))


def tie_error(typical_spread: float, dtype: str) -> float:
    """Return by how much means of kernel values must differ, relative to the largest one, not to be tied."""
    # A mean of many values is off by far less than a value is. In float32 that matters: of half a million
    # ranked rows, hundreds lie within the error of one value.
    if dtype == "float32":
        return OF_A_MEAN * float(np.finfo(dtype).eps) * (1.0 + typical_spread)
    return max(rounding.ARITHMETIC, 8.0 * float(np.finfo(dtype).eps) * (1.0 + typical_spread))


def check_finite(rows: NDArray[Any], dtype: str) -> None:
    """Refuse rows, norms or values that have become infinite."""
    if not np.isfinite(rows).all():
        msg = f"the squared norms of the rows overflow {dtype}: the values are too large. {_cure(dtype)}"
        raise DataError(msg)


def check_not_vanishing(largest: float, value: NDArray[Any], dtype: str) -> None:
    """Refuse rows that are not 0, but whose kernel values are, or nearly."""
    if largest > 0 and 0 <= float(np.abs(value).max(initial=0.0)) < SMALLEST_VALUE[dtype]:
        msg = f"the inner products of the rows vanish in {dtype}: the values are too small. {_cure(dtype)}"
        raise DataError(msg)


def checked_gap(largest_gap: float, n_columns: int, kernel: Kernel) -> float:
    """Return the error of values where differences vanish (see `rounding`); refuse rows that nearly do."""
    error = rounding.vanishing_error(largest_gap, n_columns, kernel)
    if error > MOST_VANISHED:
        msg = (
            f"the squares of differences of rows vanish: all are below {largest_gap:.2g}. {_cure('float64')}"
        )
        raise DataError(msg)
    return error


def _cure(dtype: str) -> str:
    return "Rescale the columns." if dtype == "float64" else 'Use dtype="float64", or rescale the columns.'


def check_float32(spread: float, dtype: str) -> None:
    """Refuse float32 where products would lose too much."""
    if dtype == "float32" and np.finfo(np.float32).eps * spread > FLOAT32_LOSS:
        most = FLOAT32_LOSS / np.finfo(np.float32).eps
        msg = (
            f"float32 is too coarse here: the largest squared distance from the centre is {spread:.3g} "
            f"squared bandwidths (at most {most:.3g}). "
            'Use dtype="float64", a larger `bandwidth`, or scaled columns.'
        )
        raise DataError(msg)


def pair_numbers(A: NDArray[Any], B: NDArray[Any], geometry: str) -> Float64s:
    """Return the numbers of all pairs, each of which is the same in every block, whatever else is there."""
    if geometry not in ("l1", "distance2"):
        return np.asarray(np.einsum("ik,jk->ij", A, B))
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(A, B, "cityblock" if geometry == "l1" else "sqeuclidean"), dtype=np.float64)


def pair_numbers_of_few(A: NDArray[Any], B: NDArray[Any], geometry: str) -> Float64s:
    """Return the same column by column: slower, but SciPy takes longer to import than few rows take."""
    if geometry not in ("l1", "distance2"):
        return pair_numbers(A, B, geometry)
    gaps, total = np.empty((len(A), len(B))), np.zeros((len(A), len(B)))
    for of_a, of_b in zip(A.T, np.ascontiguousarray(B.T), strict=True):
        np.subtract(of_a[:, None], of_b, out=gaps)
        total += np.abs(gaps, out=gaps) if geometry == "l1" else np.multiply(gaps, gaps, out=gaps)
    return total


def product_values(points: Points, kernel: PairKernel, x: NDArray[Any]) -> NDArray[Any]:
    """Turn products of prepared rows into kernel values, in place where the kernel knows how."""
    if points.unit is None:
        return kernel.value(x)
    if kernel.forms is not None and kernel.forms.array is not None:
        if points.value_error > NEEDS_CLAMP:
            np.minimum(x, 0.0, out=x)
        return kernel.forms.array(x)
    x = x.astype(np.float64, copy=False)  # the square of the kernel's length may lie outside float32
    x *= -2.0 * points.unit
    return kernel.value(np.maximum(x, 0.0, out=x))


def ready(Z: Float64s, kernel: Kernel, dtype: str) -> Points:
    """Make the pooled rows ready, for products or, where these lose too much in float64, for differences."""
    if not by_product(kernel):
        with np.errstate(over="ignore"):
            gap = float(np.ptp(Z, axis=0).max())
        points = raw(kernel_rows(Z, kernel), kernel)
        return replace(points, value_error=points.value_error + checked_gap(gap, Z.shape[1], kernel))
    points = prepare(Z, kernel, dtype)
    if kernel.geometry == "distance2" and differences_pay(points.value_error, len(Z), Z.shape[1], dtype):
        return raw(Z, kernel)
    return points


def kernel_matrix(Z: Float64s, kernel: Kernel) -> tuple[Float64s, float]:
    """Return the whole kernel matrix of the rows `Z`, and how far a value can be off."""
    if isinstance(kernel, FunctionKernel):
        K = function_block(kernel, Z, Z)
        return symmetrised(K), asymmetry_of(K)
    kernel = with_formula(kernel)
    points = ready(Z, kernel, "float64")
    if points.is_product:
        return product_matrix(points, kernel), points.value_error
    return checked_values(kernel, pair_matrix(points.right, kernel.geometry)), points.value_error


def product_matrix(points: Points, kernel: PairKernel) -> Float64s:
    """Return the whole kernel matrix of rows made ready for products."""
    return _mirrored(len(points.right), lambda i, j, out: _product_block(points, kernel, i, j, out))


def product_sums(points: Points, kernel: PairKernel, W: Float64s) -> Float64s:
    """Return K @ W for the same matrix, half of which is computed and none of it kept."""
    spans = [slice(*span) for span in strips([0, len(W)], TILE)]
    result = np.zeros(W.shape)

    def work(rows: slice) -> tuple[Float64s, Float64s]:
        mine, theirs = np.zeros(W[rows].shape), np.zeros(W[: rows.start].shape)
        buffer = np.empty((TILE, TILE))
        with np.errstate(over="ignore", invalid="ignore"):  # of this thread
            for columns in spans[: rows.start // TILE + 1]:
                block = buffer[: rows.stop - rows.start, : columns.stop - columns.start]
                _product_block(points, kernel, rows, columns, block)
                mine += block @ W[columns]
                if columns is not rows:
                    theirs[columns] = block.T @ W[rows]
        return mine, theirs

    for rows, (mine, theirs) in in_order(spans[::-1], work, threads_for(len(W) ** 2)):
        result[rows] += mine
        result[: rows.start] += theirs
    return result


def _product_block(points: Points, kernel: PairKernel, i: slice, j: slice, out: Float64s) -> None:
    np.matmul(points.left(i), points.right[j].T, out=out)
    if i == j and points.unit is not None:  # the distance of a row to itself is 0 exactly
        np.fill_diagonal(out, 0.0)
    values = product_values(points, kernel, out)
    if values is not out:
        out[:] = checked(kernel, values, out.shape)


def pair_matrix(Z: Float64s, geometry: str) -> Float64s:
    """Return the numbers of all pairs of the rows `Z`, taken one by one."""
    is_quick = len(Z) ** 2 * Z.shape[1] <= QUICK_DIFFERENCES
    numbers = pair_numbers_of_few if is_quick else pair_numbers

    def block(i: slice, j: slice, out: Float64s) -> None:
        out[:] = numbers(Z[i], Z[j], geometry)

    return _mirrored(len(Z), block)


def _mirrored(n: int, block: Callable[[slice, slice, Float64s], None]) -> Float64s:
    """Return a symmetric matrix; ``block(rows, columns, out)`` writes its blocks up to the diagonal."""
    matrix = np.empty((n, n))
    spans = [slice(*span) for span in strips([0, n], TILE)]

    def work(k: int) -> None:
        rows = spans[k]
        with np.errstate(over="ignore", invalid="ignore"):  # of this thread
            for columns in spans[: k + 1]:
                here = matrix[rows, columns]
                block(rows, columns, here)
                # On the diagonal too the two halves must not differ by rounding.
                matrix[columns, rows] = np.minimum(here, here.T) if columns is rows else here.T

    # The longest strips first: threads then end together.
    for _ in in_order(range(len(spans) - 1, -1, -1), work, threads_for(n * n)):
        pass
    return matrix


def with_formula(kernel: Kernel) -> PairKernel:
    """Return a kernel that has a formula of a pair's number; no other one comes here."""
    if isinstance(kernel, PairKernel):
        return kernel
    msg = f"a {kernel.name} kernel has no formula"
    raise TypeError(msg)


def kernel_diagonal(
    Z: Float64s, kernel: Kernel, A: Rows = slice(None), at: Float64s | None = None
) -> Float64s:
    """Return k(a, a) for the rows `A` of `Z`, centred at `at` or at their mean if the kernel centres."""
    rows = Z[A]
    if isinstance(kernel, FunctionKernel):
        pieces = [function_block(kernel, rows[i:j], rows[i:j]) for i, j in strips([0, len(rows)], 64)]
        return np.concatenate([piece.diagonal() for piece in pieces]) if pieces else np.empty(0)
    if isinstance(kernel, PairKernel) and kernel.geometry == "inner":
        z = kernel_rows(Z, kernel, at)[A]
        return np.asarray(kernel.value(np.einsum("ij,ij->i", z, z)))
    return own_value(kernel, len(rows))


def own_value(kernel: Kernel, n_rows: int) -> Float64s:
    """Return k(z, z) of rows for a kernel of their distance, which is 0."""
    return np.asarray(kernel.value(np.zeros(n_rows))) if isinstance(kernel, PairKernel) else np.ones(n_rows)


def checked_values(kernel: PairKernel, t: NDArray[Any]) -> Float64s:
    """Return the kernel values of pair numbers."""
    with np.errstate(over="ignore", invalid="ignore"):  # what does not become a number is refused
        return checked(kernel, kernel.value(t), t.shape)


def checked(kernel: PairKernel, values: Any, shape: tuple[int, ...]) -> Float64s:
    """Return kernel values, if that is what they are; a formula of somebody's own may give anything."""
    values = np.asarray(values)
    if values.shape != shape or values.dtype.kind not in "fiu":
        msg = (
            f"`value` of the kernel {kernel.name!r} must return real numbers of shape {shape}, "
            f"one for each number it is given; got {values.dtype} of shape {values.shape}."
        )
        raise MmdBoundsError(msg)
    return _finite(values)


def symmetrised(K: Float64s) -> Float64s:
    """Return the mean of a matrix and its transpose: the two halves must not differ by rounding."""
    return np.asarray((K + K.T) / 2)


def asymmetry_of(K: Float64s) -> float:
    """Return how far the mean of the two values of a pair is from either, relative to the largest value."""
    return float(np.abs(K - K.T).max(initial=0.0)) / 2 / max(float(np.abs(K).max(initial=0.0)), 1e-300)


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


def check_function(kernel: FunctionKernel, Z: Float64s) -> float:
    """Try a user's kernel on a few rows: right shape, numbers, symmetric, the same row by row.

    Returns how far a value may differ from block to block, relative to the largest: 0 where values agree to
    the last digits of float64.
    """
    few = Z[np.unique(np.linspace(0, len(Z) - 1, num=min(len(Z), 7)).astype(np.intp))]
    values = function_block(kernel, few, few)
    largest = max(float(np.abs(values).max()), 1e-300)
    unit = rounding.precision(np.asarray(kernel.function(few, few)))
    tolerance = rounding.handed_in(unit)
    asymmetry = float(np.abs(values - values.T).max()) / largest
    if asymmetry > tolerance:
        msg = (
            f"`kernel` must be symmetric, k(A, B) = k(B, A).T; two rows differ by {asymmetry * largest:.3g}."
        )
        raise MmdBoundsError(msg)
    alone = function_block(kernel, few[:1], few)
    apart = float(np.abs(alone - values[:1]).max()) / largest
    if apart > tolerance:
        msg = (
            "`kernel` must give each pair the same value in every block; it does not. "
            "Fix whatever it computes from the block itself (a bandwidth, a mean) beforehand."
        )
        raise MmdBoundsError(msg)
    refuse_distances(symmetrised(values), "`kernel` gives")
    least = float(np.linalg.eigvalsh(symmetrised(values))[0])
    if kernel.is_positive_definite and least < -largest * max(tolerance, len(few) * LAST_DIGITS * unit):
        what = "the kernel values of a few rows already have a negative eigenvalue"
        msg = f"`kernel` is not positive definite: {what}. Leave `is_positive_definite` out."
        raise MmdBoundsError(msg)
    agrees = max(asymmetry, apart) <= LAST_DIGITS * rounding.unit_roundoff("float64")
    return 0.0 if agrees and unit == rounding.unit_roundoff("float64") else tolerance


def refuse_distances(K: Float64s, what: str) -> None:
    """Refuse a matrix of distances: 0 on the diagonal, positive elsewhere.

    No value of a positive definite kernel exceeds the largest one on the diagonal. A negative distance is
    conditionally definite, and a kernel of the MMD.
    """
    if (
        K.size
        and float(np.abs(K.diagonal()).max()) < NO_DIAGONAL * float(K.max())
        and K.min() >= -K.max() * NO_DIAGONAL
    ):
        to_do = "Hand in kernel values such as `np.exp(-D**2 / (2 * s**2))`, or `-D` for the energy distance"
        msg = f"{what} distances D: 0 on the diagonal and positive elsewhere. {to_do}."
        raise MmdBoundsError(msg)


def _finite(values: NDArray[Any]) -> Float64s:
    if not np.isfinite(values).all():
        msg = "the kernel gives values that are not finite. Rescale the columns, or choose another `kernel`."
        raise DataError(msg)
    return np.asarray(values, dtype=np.float64)
