"""What a user passes as `X` and `Y` becomes two groups with the same columns, on the same scale."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, counted, listed, quoted, quoted_list
from mmdbounds.tables import frames
from mmdbounds.tables.group import Group, refuse_rounded, require_exact, require_finite

Order = NDArray[np.intp]


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
    if frames.is_frame(data):
        return _frame_group(data, argument)
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
        # An array-like can fail in any way. Its message may quote cells, so only its type is shown.
        msg = (
            f"`{argument}` must be a 2-D array of numbers; got {type(data).__name__} that NumPy cannot turn "
            f"into an array ({type(error).__name__}). Are all rows of the same length?"
        )
        raise DataError(msg) from None


def _check_shape(array: NDArray[Any], argument: str) -> None:
    """Refuse what has no rows, no columns, or is not 2-D."""
    if array.ndim >= 1 and array.shape[0] == 0:
        msg = f"`{argument}` has no rows; got shape {array.shape}."
    elif array.ndim != 2:
        name = argument if argument.isidentifier() else "x"
        hint = f" For one column use `{name}.reshape(-1, 1)`." if array.ndim == 1 else ""
        msg = f"`{argument}` must be 2-D, rows by columns; got shape {array.shape}.{hint}"
    elif array.shape[1] == 0:
        msg = f"`{argument}` has no columns; got shape {array.shape}."
    else:
        return
    raise DataError(msg)


def _as_floats(array: NDArray[Any], argument: str) -> NDArray[np.float64]:
    """Return numbers and booleans as float64, masked cells as NaN."""
    if array.dtype.kind not in "biuf":
        hint = " Use a DataFrame, or convert it with `.astype(float)`." if array.dtype.kind in "OUSTV" else ""
        msg = f"`{argument}` must hold real numbers; got dtype {str(array.dtype)[:40]}.{hint}"
        raise DataError(msg)
    with np.errstate(over="ignore"):  # what is beyond float64 becomes infinite, and is refused as that
        floats = array.astype(np.float64, copy=False)
    if isinstance(floats, np.ma.MaskedArray):
        return np.asarray(floats.filled(np.nan), dtype=np.float64)
    return np.asarray(floats)


def _frame_group(data: Any, argument: str) -> Group:
    """Return a DataFrame of numbers and booleans as a `Group`, nothing scaled."""
    frame = frames.as_frame(data, argument)
    names = tuple(frame.columns)
    if not len(frame) or not names:
        msg = f"`{argument}` has no {'rows' if names else 'columns'}; got shape {tuple(frame.shape)}."
        raise DataError(msg)
    wrong = [name for name, kind in frames.kinds(frame, names).items() if kind in frames.NOT_NUMBERS]
    if wrong:
        parts = listed([f"{quoted(name)} ({frames.type_name(frame[name])})" for name in wrong])
        msg = (
            f"`{argument}` has {counted(len(wrong), 'column')} that {'is' if len(wrong) == 1 else 'are'} not "
            f"numeric: {parts}. Drop or encode such columns first, or use `mmdbounds.groups`."
        )
        raise DataError(msg)
    values, rounded = np.empty((len(frame), len(names))), {}
    for j, name in enumerate(names):
        series = frame.get_column(name)
        column = values[:, j] = frames.column_numbers(series)
        if frames.may_lose_digits(series, column) and (n := frames.n_rounded(frames.cells(series), column)):
            rounded[quoted(name)] = n
    if rounded:
        refuse_rounded(rounded, len(names), f"`{argument}`")
    require_finite(values, names, f"`{argument}`")
    return Group(values, name=argument, ids=frames.index_labels(frame), columns=names)


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """Which columns a group has."""

    n_columns: int
    columns: tuple[str, ...] | None = None  # their names, `None` for arrays
    scaling: Mapping[str, Any] = field(default_factory=dict)  # what `groups` did to each, if anything

    @classmethod
    def of(cls, group: Group) -> Identity:
        """Return the identity of a group's columns."""
        return cls(group.shape[1], group.columns, group.record.get("scaling", {}))


def as_groups(X: Any, Y: Any, arguments: tuple[str, str] = ("X", "Y")) -> tuple[Group, Group]:
    """Return `X` and `Y` as groups with the same columns in the same order, that of `X`.

    Parameters
    ----------
    X, Y
        What `as_group` takes. Columns with names on both sides are matched by name; if one side is an
        array, by position.
    arguments
        Names of the two arguments, for the messages.

    Raises
    ------
    DataError
        If one is not a group of rows, if their columns differ, or if `groups` scaled them differently.
    """
    x, y = as_group(X, arguments[0]), as_group(Y, arguments[1])
    order = column_order(Identity.of(x), Identity.of(y), arguments)
    if order is not None:
        y = dataclasses.replace(y, values=y.values[:, order], columns=x.columns)
    return x, y


def column_order(x: Identity, y: Identity, arguments: tuple[str, str] = ("X", "Y")) -> Order | None:
    """Return where in Y the columns of X are, `None` if they are in their places; refuse other columns.

    This is the one place that decides whether two groups have the same columns.
    """
    both = " and ".join(f"`{name}`" for name in arguments)
    if x.columns is None or y.columns is None:
        if x.n_columns != y.n_columns:
            msg = (
                f"{both} must have the same columns; got {x.n_columns} and {y.n_columns}. "
                "Each must be an array of shape (rows, columns)."
            )
            raise DataError(msg)
        return None
    if x.columns != y.columns and (differences := _differences(x.columns, y.columns, arguments)):
        msg = (
            f"{both} must have the same columns; {differences}. Rename them or leave them out. "
            "To match columns by position, pass arrays."
        )
        raise DataError(msg)
    _check_scaling(x, y, arguments)
    if x.columns == y.columns:
        return None
    place = {name: j for j, name in enumerate(y.columns)}
    return np.array([place[name] for name in x.columns], dtype=np.intp)


def _differences(of_x: Sequence[str], of_y: Sequence[str], arguments: tuple[str, str]) -> str:
    """Say which columns only one side has; nothing if both have the same ones."""
    in_x, in_y = set(of_x), set(of_y)
    only = [[name for name in of_x if name not in in_y], [name for name in of_y if name not in in_x]]
    pairs = zip(arguments, only, strict=True)
    return " and ".join(f"only `{argument}` has {quoted_list(names)}" for argument, names in pairs if names)


def _check_scaling(x: Identity, y: Identity, arguments: tuple[str, str]) -> None:
    """Refuse columns that `groups` scaled in one call for X and in another one for Y."""
    differing = [name for name in x.columns or () if x.scaling.get(name) != y.scaling.get(name)]
    if not differing:
        return
    which = f"{counted(len(differing), 'column')}: {quoted_list(differing)}"
    if x.scaling and y.scaling:
        how = f"`{arguments[0]}` and `{arguments[1]}` were scaled over different rows in {which}"
    else:
        scaled, plain = arguments if x.scaling else arguments[::-1]
        how = f"`{scaled}` was scaled by `groups` and `{plain}` was not, in {which}"
    msg = f"{how}. Call `groups` once, on one table with all rows, or use scale='none' in both calls."
    raise DataError(msg)
