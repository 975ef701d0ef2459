"""Pooled scaling: looks at all rows together, never at the groups nor at the order of the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.tables.phrases import nearest, option, shown

SCALES = ("standard", "none")


def check_scale(scale: object) -> str:
    """Return `scale` if it is one of `SCALES`."""
    if not isinstance(scale, str) or scale not in SCALES:
        hint = nearest(str(scale), SCALES)
        msg = f"{option('scale')} must be 'standard' or 'none'; got {shown(scale)}.{hint}"
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
        column = pooled[:, j]
        _, exponent = np.frexp(np.abs(column).max())
        column = np.ldexp(column, -int(exponent))
        ordered = np.sort(column)
        mean = ordered.mean()
        scaled[:, j] = (column - mean) / np.sqrt(np.square(ordered - mean).mean())
    return scaled
