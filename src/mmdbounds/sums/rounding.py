r"""The rounding model: how far a computed kernel value, or a sum of them, can be from the exact one.

Rows are exact, as handed in. Let u be half the distance from 1 to the next number (2^-53 in float64, 2^-24 in
float32), d the number of columns, and all errors relative to the largest kernel value. To first order in u:

- *Differences* of raw rows, never centred: a squared or L1 distance is off by a share of (d + 3) u, whatever
  the size of the rows. A kernel moves by at most its `sensitivity` (0.37 for ours) times the share by which
  its distance moves. One that states none is taken as computed: a pair has one value wherever it is needed.
  Squares of differences vanish, or lose digits, below 1e-154: a distance is then off by up to 2e-162 for each
  of d columns. That matters for the energy kernel alone, whose slope at 0 is infinite: its values move by the
  share of the largest distance that this is, to the power of the exponent.
- *Products* of centred rows: with z = (a - centre) / bandwidth, the squared distance in squared bandwidths is
  off by up to :math:`(3d + 14)\,u\,(|z_a|^2 + |z_b|^2)`: d + 2 products, the norms that went into two of
  them, and the centring itself. A kernel moves by the steepest slope it has from there on. Since the distance
  is at least the difference of the norms, a row that lies far out *alone* costs nothing; rows that lie far
  out together cost what this says. Float32 has twice that, for the halves of `torch.triton`.
- *Inner products*: k (2 d + 8) u with k the `sensitivity` (the degree), since no value exceeds the largest
  one of a row with itself.
- *Formulas* (exponentials, roots, scaling): 16 u.
- *Sums*: (terms added in one go + pieces put together) u.

These are bounds, not estimates: another processor adds in another order and stays within. They are compared
with exact arithmetic in ``tests/sums/test_rounding.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.kernels import Kernel

ARITHMETIC = 1e-12  # the least that is ever claimed. A fifth of it is for the arithmetic of proofs.
PROOFS = 1.25  # factor by which a proof allows for more than values and sums can lose
FORMULA = 16  # operations of a formula, counted generously
VANISHING = 2.0**-537  # the root of the smallest number there is
# A product of rows with thousands of columns, of which a BLAS adds the terms in another order each time.
MANY_TERMS, LEAST_TOLERANCE, MOST_TOLERANCE = 2000, 1e-9, 0.01
PIECE = 128  # sums of at least so many values are put together in float64, twice for a symmetric matrix
HALVES = 2.0  # what rows in two halves of fp16 (22 bits) lose beside float32 (24), accumulator included


def unit_roundoff(dtype: str) -> float:
    """Return u, the largest relative error of one operation."""
    return float(np.finfo(dtype).eps) / 2


def precision(values: NDArray[Any]) -> float:
    """Return u of what a user has computed: by its type, or by its digits where it was converted since.

    Whole numbers, halves and the like, which few digits hold, are exact in any precision.
    """
    if values.dtype.kind == "f" and values.dtype.itemsize < 8:
        return float(np.finfo(values.dtype).eps) / 2
    for short in (np.float16, np.float32):
        with np.errstate(over="ignore"):
            if np.array_equal(values, values.astype(short)):
                return unit_roundoff("float64" if short is np.float16 else "float32")
    return unit_roundoff("float64")


def handed_in(unit: float) -> float:
    """Return by how much two computations of the same kernel value may differ, relative to the largest."""
    return max(LEAST_TOLERANCE, min(MANY_TERMS * unit, MOST_TOLERANCE))


def pair_error(n_columns: int, kernel: Kernel) -> float:
    """Return the error of a kernel value from differences of raw rows, or of pairs one by one, in float64."""
    if kernel.sensitivity is None:  # the values as computed are what is meant
        return FORMULA * unit_roundoff("float64")
    return (n_columns + FORMULA) * unit_roundoff("float64") * max(1.0, kernel.sensitivity)


def vanishing_error(largest_gap: float, n_columns: int, kernel: Kernel) -> float:
    """Return the error of a kernel value where squares of differences are no normal numbers.

    `largest_gap` is the largest difference of two entries of a column: no more than the largest distance.
    """
    return kernel.jump(VANISHING * n_columns / largest_gap) if 0 < largest_gap < math.inf else 0.0


def inner_error(n_columns: int, kernel: Kernel, dtype: str) -> float:
    """Return the error of a kernel value from an inner product."""
    if kernel.sensitivity is None:
        return pair_error(n_columns, kernel)
    coarse = 1.0 if dtype == "float64" else HALVES
    return float(kernel.sensitivity * (2 * n_columns + 8) * coarse + FORMULA) * unit_roundoff(dtype)


def lost_by_product(n_columns: int, dtype: str = "float64") -> float:
    """Return the error of a squared distance from a product, relative to the squared norms of both rows."""
    return (3 * n_columns + 14) * (1.0 if dtype == "float64" else HALVES) * unit_roundoff(dtype)


def product_error(norms: NDArray[Any], n_columns: int, kernel: Kernel, dtype: str) -> float:
    """Return the error of a distance kernel's values from products, in `dtype`, of centred rows.

    `norms` are their squared norms, in squared bandwidths. The kernel's slope falls as the distance grows.
    """
    lost = lost_by_product(n_columns, dtype)
    squared = np.sort(np.asarray(norms, dtype=np.float64))[::-1]
    # Of all partners of a row the next smaller one is the worst: more is lost, and it may be nearest.
    partner = np.append(squared[1:], squared[-1:])
    error = lost * (squared + partner)
    nearest = np.maximum(0.99 * (np.sqrt(squared) - np.sqrt(partner)) ** 2 - error, 0.0)
    length2 = (kernel.length or 1.0) ** 2
    with np.errstate(over="ignore", under="ignore"):
        moved = error * (length2 * np.abs(kernel.slope(nearest * length2)))
    # No value is outside of 0 to 1: a product that claims a distance below 0 is held to 0.
    return min(float(moved.max(initial=0.0)), 1.0) + FORMULA * unit_roundoff(dtype)


def sum_error(n_rows: int, in_one_go: int, dtype: str) -> float:
    """Return the error of a sum of up to `n_rows` kernel values, relative to the sum of their sizes.

    So many `in_one_go` are added up in `dtype`, in any order; these sums are added in float64.
    """
    pieces = 2 * -(-n_rows // PIECE) + 64
    return min(in_one_go, n_rows) * unit_roundoff(dtype) + pieces * unit_roundoff("float64")


def claimed(value_error: float, sum_error: float) -> float:
    """Return what a proof allows for: values, sums and its own arithmetic."""
    return max(ARITHMETIC, PROOFS * (value_error + sum_error))
