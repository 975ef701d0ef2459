"""Pooled scaling: looks at all rows together, never at the groups nor at the order of the rows."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.tables.phrases import nearest, option, shown

Column = NDArray[np.float64]

SCALES = ("standard", "none")
"""Scales of arrays."""

TABLE_SCALES = ("standard", "robust", "rank", "none")
"""Scales of the columns of a table."""

Rule = list[Any]
"""What was done to a column, ready for JSON: two columns on the same scale have the same."""


class Scaled(NamedTuple):
    """A column on its scale, and the rule that brought it there."""

    values: Column
    rule: Rule


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
    1e-300 vanish. The middle value is subtracted first, which keeps the digits of values that are
    large but close to each other.
    """
    scaled = np.empty_like(pooled)
    for j in range(pooled.shape[1]):
        scaled[:, j] = by_deviation(pooled[:, j]).values
    return scaled


def by_deviation(column: Column) -> Scaled:
    """Return a column with mean 0 and standard deviation 1."""
    column, middle, exponent = _near_zero(column)
    ordered = np.sort(column)
    mean = float(ordered.mean())
    spread = float(np.sqrt(np.square(ordered - mean).mean()))
    return Scaled((column - mean) / spread, _rule(middle + mean, spread, exponent))


def by_quartiles(column: Column) -> Scaled:
    """Return a column with median 0 and the quartiles of a standard normal distribution apart.

    A column whose quartiles are equal, such as one that is mostly 0, is scaled by its deviation.
    """
    if not has_quartiles(column):
        return by_deviation(column)
    column, middle, exponent = _near_zero(column)
    low, centre, high = map(float, np.quantile(column, (0.25, 0.5, 0.75)))
    spread = (high - low) / NORMAL_IQR
    return Scaled((column - centre) / spread, _rule(middle + centre, spread, exponent))


def has_quartiles(column: Column) -> bool:
    """Tell whether the quartiles of a column differ."""
    low, high = np.quantile(_near_zero(column)[0], (0.25, 0.75))
    return bool(low < high)


def by_rank(column: Column) -> Scaled:
    """Return the ranks of a column, mean ranks where values are equal, with mean 0 and deviation 1."""
    found, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    digest = hashlib.sha256(found.tobytes() + counts.tobytes()).hexdigest()[:16]
    return Scaled(by_deviation((last - (counts - 1) / 2)[place]).values, [digest])


def unscaled(column: Column) -> Scaled:
    """Return a column as it is."""
    return Scaled(column, [])


SCALERS: dict[str, Callable[[Column], Scaled]] = {
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


def _near_zero(column: Column) -> tuple[Column, float, int]:
    """Return a column divided by a power of two, less its middle value; that value; and the power's exponent.

    The power brings the largest value below 1. A difference of two values is rounded by no more than the
    last bit of the difference itself, so that values near 2^53 that differ by one keep that difference.
    """
    _, power = np.frexp(np.abs(column).max())
    exponent = int(power)
    small = np.ldexp(column, -exponent)
    middle = float(np.partition(small, len(small) // 2)[len(small) // 2])
    return small - middle, middle, exponent


def _rule(centre: float, spread: float, exponent: int) -> Rule:
    """Return what is subtracted from a column, and what it is then divided by."""
    return [math.ldexp(centre, exponent), math.ldexp(spread, exponent)]
