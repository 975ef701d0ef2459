"""Whatever a user hands in as `X` or `Y` becomes a `Group`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.tables.frames import frame_group, is_frame
from mmdbounds.tables.group import Group
from mmdbounds.tables.phrases import require_exact, require_finite


def as_group(data: Any, argument: str) -> Group:
    """Return `data` as a `Group`; nothing is scaled, encoded or dropped.

    Parameters
    ----------
    data
        A `Group` (returned as it is), a NumPy array or nested list, a torch tensor, or a pandas,
        polars or pyarrow DataFrame whose columns are all numbers or booleans. Dask collections are computed.
    argument
        Name of the argument, ``"X"`` or ``"Y"``, for the messages and the group's name.

    Returns
    -------
    Group
        pandas index labels become `ids`; other data have none.

    Raises
    ------
    DataError
        If `data` has no rows, is not 2-D, is not numeric or holds missing or infinite values.
    """
    if isinstance(data, Group):
        return data
    if hasattr(type(data), "__dask_graph__"):
        data = data.compute()
    if is_frame(data):
        return frame_group(data, argument)
    array = _as_array(data, argument)
    _check_shape(array, argument)
    values = _as_floats(array, argument)
    require_exact(array, f"`{argument}`")
    require_finite(values, None, f"`{argument}`")
    return Group(values, name=argument)


def _as_array(data: Any, argument: str) -> NDArray[Any]:
    """Return `data` as an array of whatever type and shape it has."""
    if isinstance(data, str | bytes) or data is None or hasattr(data, "__fspath__"):
        msg = (
            f"`{argument}` must be an array or a DataFrame; got {type(data).__name__}. "
            "For a file use `mmdbounds.groups`."
        )
        raise DataError(msg)
    if hasattr(data, "toarray") and not hasattr(data, "__array__"):
        msg = f"`{argument}` must be dense; got {type(data).__name__}. Call `.toarray()` first."
        raise DataError(msg)
    try:
        if hasattr(data, "detach"):  # torch: NumPy takes no tensor of a GPU, with a gradient or in bfloat16
            tensor = data.detach().cpu()
            data = tensor.double() if tensor.is_floating_point() else tensor
        return data if np.ma.isMaskedArray(data) else np.asarray(data)
    except MemoryError:
        raise
    except Exception as error:
        # Whatever an array-like does wrong; its message may quote cells, so only its type is told.
        msg = (
            f"`{argument}` must be a 2-D array of numbers; got {type(data).__name__} that NumPy cannot turn "
            f"into an array ({type(error).__name__}). Are all rows of the same length?"
        )
        raise DataError(msg) from None


def _check_shape(array: NDArray[Any], argument: str) -> None:
    """Refuse what has no rows, no columns, or is not 2-D."""
    if array.ndim >= 1 and array.shape[0] == 0:
        msg = f"`{argument}` has no rows; got shape {array.shape}."
        raise DataError(msg)
    if array.ndim != 2:
        name = argument if argument.isidentifier() else "x"
        hint = f" For one column use `{name}.reshape(-1, 1)`." if array.ndim == 1 else ""
        msg = f"`{argument}` must be 2-D, rows by columns; got shape {array.shape}.{hint}"
        raise DataError(msg)
    if array.shape[1] == 0:
        msg = f"`{argument}` has no columns; got shape {array.shape}."
        raise DataError(msg)


def _as_floats(array: NDArray[Any], argument: str) -> NDArray[np.float64]:
    """Return numbers and booleans as float64, masked cells as NaN."""
    if array.dtype.kind not in "biuf":
        hint = " Use a DataFrame, or convert it with `.astype(float)`." if array.dtype.kind in "OUSTV" else ""
        msg = f"`{argument}` must hold real numbers; got dtype {str(array.dtype)[:40]}.{hint}"
        raise DataError(msg)
    with np.errstate(over="ignore"):  # beyond float64 is infinite, and refused as that
        floats = array.astype(np.float64, copy=False)
    if isinstance(floats, np.ma.MaskedArray):
        return np.asarray(floats.filled(np.nan), dtype=np.float64)
    return np.asarray(floats)
