"""Rows made ready for a matrix product: centred, scaled, their norms folded in.

With z the scaled rows and h = -|z|^2 / 2, the product of [z, h, 1] with [z, 1, h] is
-|a - b|^2 / 2: one matrix product gives what a distance kernel needs, with no second pass
over the block. Centring comes first, because a squared distance taken from a product loses
eps |z|^2 / bandwidth^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.kernels import Kernel, PairKernel
from mmdbounds.sums import rounding
from mmdbounds.sums.protocol import Float64s, Rows

FAR = 1e3  # largest over typical squared distance from the mean beyond which the median is the better centre
# Products off by no more than the first are as good as differences; up to the second nobody sees a difference.
EXACT_PRODUCT, GOOD_PRODUCT = 5e-13, 1e-11
QUICK_DIFFERENCES, DIFFERENCES_LIMIT = 5e7, 2e10  # pairs times columns that take no time, or 20 seconds

FLOAT32_LOSS = (
    1e-3  # float32 is refused where eps times the largest squared norm, in bandwidths, exceeds it
)
SMALLEST_VALUE = {"float64": 1e-280, "float32": 1e-28}  # below, products are no normal numbers
OF_A_MEAN = (
    0.25  # error of a mean of float32 values, in units of eps; standard deviation 0.2 on FOREST
)


@dataclass(frozen=True, eq=False)
class Points:
    """Pooled rows in the form that one matrix product needs.

    Attributes
    ----------
    right
        Right-hand factors, one row for each pooled row; `left` makes the other ones.
    unit
        Squared distance = -2 x product x `unit`; `None` where the product is an inner product.
    value_error
        How far a kernel value can be off (see `rounding`).
    is_product
        Whether products are to be taken; else the rows are as they were handed in, for differences.
    spread, typical_spread
        Largest and median squared norm over the squared bandwidth; 0 where nothing is a distance.
    """

    right: NDArray[Any]
    unit: float | None
    value_error: float
    spread: float = 0.0
    typical_spread: float = 0.0
    is_product: bool = True

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
    """Return whether distances are taken from differences of raw rows: those that a product does not give.

    A kernel may be steep anywhere. Unless it says that it is not, nobody knows what it makes of the rounding
    of a product.
    """
    return kernel.geometry == "l1" or (kernel.geometry == "distance2" and kernel.squared_scale is None)


def by_product(kernel: Kernel) -> bool:
    """Return whether a matrix product serves; other kernels are computed in float64 whatever was asked.

    A product has other digits in another block. A kernel that does not say what it makes of that gets the
    same number for a pair wherever it is computed.
    """
    if kernel.geometry == "distance2":
        return not takes_differences(kernel)
    return kernel.geometry in ("inner", "cosine") and kernel.sensitivity is not None


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
    """Return the rows that enter the kernel's formula: centred at `at` or the mean, scaled or of length 1.

    Differences are taken of the rows as they are. Centred they would lose what the centre is off.
    """
    Z = np.asarray(Z)  # rows on a cluster come here, or say why they cannot
    if takes_differences(kernel):
        return Z
    if kernel.geometry == "cosine":
        return unit_rows(Z)
    if kernel.shift_invariant:
        return centred(Z, at)
    factor = kernel.row_factor(Z.shape[1])
    return Z if factor == 1.0 else np.asarray(Z * factor)


def unit_rows(Z: Float64s) -> Float64s:
    """Return the rows scaled to length 1; rows of zeros stay."""
    largest = np.abs(Z).max(axis=1, keepdims=True, initial=0.0)
    safe = Z / np.where(largest > 0, largest, 1.0)  # squares of the rest neither overflow nor vanish
    norms = np.linalg.norm(safe, axis=1, keepdims=True)
    return np.asarray(safe / np.where(norms > 0, norms, 1.0), dtype=np.float64)


def prepare(Z: Float64s, kernel: Kernel, dtype: str) -> Points:
    """Make the pooled rows `Z` ready for products in `dtype`."""
    if kernel.geometry != "distance2":
        return _prepare_inner(kernel_rows(Z, kernel), kernel, dtype)
    points = prepare_distances(Z, kernel, dtype)
    check_float32(points.spread, dtype)
    return points


def prepare_distances(Z: Float64s, kernel: Kernel, dtype: str) -> Points:
    """Make the pooled rows ready for a distance kernel, centred where most of them are."""
    varies = Z.max(axis=0) > Z.min(axis=0)
    if not varies.all():  # FOREST has five columns that tell no two rows apart, a tenth of the work
        Z = Z[:, varies]
    points = _prepare_distances(centred(Z), kernel, dtype)
    if is_drawn_away(points.spread, points.typical_spread, points.value_error):
        points = _prepare_distances(centred(Z, np.median(Z, axis=0)), kernel, dtype)
    return points


def is_drawn_away(spread: float, typical_spread: float, value_error: float) -> bool:
    """Return whether a few rows far out may have drawn the mean away from all others.

    The median stays with these. `spread` and `typical_spread` are the largest and the median squared distance
    from the mean.
    """
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
        columns = [z, np.ones(len(z), dtype), (-0.5 * norms).astype(dtype)]
        right = np.ascontiguousarray(np.column_stack(columns))
    check_finite(right, dtype)
    norms /= scale
    error = rounding.product_error(norms, rows.shape[1], kernel, dtype)
    return Points(right, length**2 / scale, error, float(norms.max()), float(np.median(norms)))


def _prepare_inner(rows: Float64s, kernel: Kernel, dtype: str) -> Points:
    with np.errstate(over="ignore", invalid="ignore"):
        right = np.ascontiguousarray(rows, dtype=dtype)
        largest = np.einsum("ij,ij->i", right, right).max(keepdims=True)
        if isinstance(kernel, PairKernel):
            check_finite(kernel.value(largest), dtype)
            check_not_vanishing(float(np.abs(rows).max(initial=0.0)), kernel.value(largest), dtype)
    return Points(right, None, rounding.inner_error(rows.shape[1], kernel, dtype))


def tie_error(typical_spread: float, dtype: str) -> float:
    """Return by how much means of kernel values must differ, relative to the largest value, not to be tied.

    A mean of many values is off by far less than a value is. In float32 that matters: of half a million
    ranked rows, hundreds lie within the error of one value.
    """
    if dtype == "float32":
        return OF_A_MEAN * float(np.finfo(dtype).eps) * (1.0 + typical_spread)
    return max(rounding.ARITHMETIC, 8.0 * float(np.finfo(dtype).eps) * (1.0 + typical_spread))


def check_finite(rows: NDArray[Any], dtype: str) -> None:
    """Refuse rows, norms or values that have become infinite."""
    if not np.isfinite(rows).all():
        cure = (
            'Use dtype="float64", or rescale the columns.' if dtype == "float32" else "Rescale the columns."
        )
        msg = f"the squared norms of the rows overflow {dtype}: the values are too large. {cure}"
        raise DataError(msg)


def check_not_vanishing(largest: float, value: NDArray[Any], dtype: str) -> None:
    """Refuse rows that are not 0, but whose kernel values are, or nearly."""
    if largest > 0 and 0 <= float(np.abs(value).max(initial=0.0)) < SMALLEST_VALUE[dtype]:
        cure = 'Use dtype="float64", or rescale' if dtype == "float32" else "Rescale"
        msg = (
            f"the inner products of the rows vanish in {dtype}: the values are too small. {cure} the columns."
        )
        raise DataError(msg)


def check_float32(spread: float, dtype: str) -> None:
    """Refuse float32 where products would lose too much."""
    if dtype == "float32" and np.finfo(np.float32).eps * spread > FLOAT32_LOSS:
        msg = (
            "float32 is too coarse here: the largest squared distance from the centre is "
            f"{spread:.3g} squared bandwidths (at most {FLOAT32_LOSS / np.finfo(np.float32).eps:.3g}). "
            'Use dtype="float64", a larger `bandwidth`, or scaled columns.'
        )
        raise DataError(msg)
