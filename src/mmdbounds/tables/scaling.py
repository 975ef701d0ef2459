"""Pooled scaling: looks at all rows together, never at the groups nor at the order of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.tables.phrases import nearest, option, shown

Column = NDArray[np.float64]

SCALES = ("standard", "none")
"""Scales of arrays."""

TABLE_SCALES = ("standard", "robust", "rank", "none")
"""Scales of the columns of a table."""

NORMAL_IQR = 1.3489795003921634
"""Distance between the quartiles of a normal distribution with deviation 1."""


def check_scale(scale: object, known: Sequence[str] = SCALES) -> str:
    """Return `scale` if it is one of those known."""
    if not isinstance(scale, str) or scale not in known:
        hint = nearest(str(scale), known)
        *others, last = map(repr, known)
        msg = f"{option('scale')} must be {', '.join(others)} or {last}; got {shown(scale)}.{hint}"
        raise DataError(msg)
    return scale


def varying_columns(pooled: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which columns hold more than one value."""
    return np.asarray(pooled.min(axis=0) != pooled.max(axis=0))


def standardise(pooled: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtract each column's mean and divide by its population standard deviation.

    Parameters
    ----------
    pooled
        Rows of both groups, finite, no column constant.

    Notes
    -----
    The sums run over the sorted column, so that not even the last bit depends on the order of the
    rows, and over the column divided by a power of two, so that 1e300 does not overflow nor
    1e-300 vanish.
    """
    scaled = np.empty_like(pooled)
    for j in range(pooled.shape[1]):
        scaled[:, j] = by_deviation(pooled[:, j])
    return scaled


def by_deviation(column: Column) -> Column:
    """Return a column with mean 0 and standard deviation 1."""
    column = _of_size_one(column)
    ordered = np.sort(column)
    mean = ordered.mean()
    scaled: Column = (column - mean) / np.sqrt(np.square(ordered - mean).mean())
    return scaled


def by_quartiles(column: Column) -> Column:
    """Return a column with median 0 and the quartiles of a standard normal distribution apart.

    A column whose quartiles are equal, such as one that is mostly 0, is scaled by its deviation.
    """
    if not has_quartiles(column):
        return by_deviation(column)
    column = _of_size_one(column)
    low, middle, high = np.quantile(column, (0.25, 0.5, 0.75))
    scaled: Column = (column - middle) / ((high - low) / NORMAL_IQR)
    return scaled


def has_quartiles(column: Column) -> bool:
    """Tell whether the quartiles of a column differ."""
    low, high = np.quantile(_of_size_one(column), (0.25, 0.75))
    return bool(low < high)


def by_rank(column: Column) -> Column:
    """Return the ranks of a column, mean ranks where values are equal, with mean 0 and deviation 1."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return by_deviation((last - (counts - 1) / 2)[place])


def unscaled(column: Column) -> Column:
    """Return a column as it is."""
    return column


SCALERS: dict[str, Callable[[Column], Column]] = {
    "standard": by_deviation,
    "robust": by_quartiles,
    "rank": by_rank,
    "none": unscaled,
}
"""What each scale does to a column of numbers."""


def category_weight(counts: NDArray[np.intp]) -> float:
    """Return the weight of the 0-1 columns of a category, one for each value, from the rows of each value.

    With it they have variance 1 together, as a column of numbers has alone: over random pairs of rows either
    differs by a mean square of 2. A category of two values then counts exactly as much as
    the same column written as 0 and 1.
    """
    n = int(counts.sum())
    # Integers, so that nothing depends on the order of the categories.
    differing = n * n - sum(int(count) ** 2 for count in counts)
    return n / math.sqrt(differing)


def _of_size_one(column: Column) -> Column:
    """Return a column divided by the power of two that brings its largest value below 1."""
    _, exponent = np.frexp(np.abs(column).max())
    return np.ldexp(column, -int(exponent))
