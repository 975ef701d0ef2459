"""DataFrames of any library, through narwhals, and dicts of columns become plain columns."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, listed, quoted, repeated
from mmdbounds.tables.cells import Cells, of_array, of_values

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw


def require_polars(label: str, which: str) -> None:
    """Say how to get polars if it is missing; `label` is the file that needs it, and `which` its format."""
    try:
        is_there = importlib.util.find_spec("polars") is not None
    except ImportError:
        is_there = False
    if not is_there:
        article = "an" if which[0] in "AE" else "a"
        to_do = "Install it with: pip install 'mmdbounds[files]', or save the file as CSV"
        msg = f"{label} is {article} {which} file, which needs polars. {to_do}."
        raise DataError(msg)


def import_polars() -> Any:
    """Return polars, after another process has read the file: loading it takes memory, too."""
    import polars

    return polars


def import_narwhals() -> Any:
    """Return narwhals, or say how to get it."""
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        msg = "DataFrames need narwhals: pip install narwhals. Arrays, dicts and files work without it."
        raise DataError(msg) from None
    return nw


def is_frame(data: Any) -> bool:
    """Tell DataFrames, also lazy ones, from everything else without importing anything."""
    if isinstance(data, np.ndarray | list | tuple | dict):
        return False
    # The class is asked: a lazy frame itself would compute, and warn.
    return any(hasattr(type(data), name) for name in ("columns", "column_names", "collect_schema"))


def as_frame(data: Any, argument: str) -> nw.DataFrame[Any]:
    """Return a DataFrame of any library as narwhals' with text for column names."""
    narwhals = import_narwhals()
    try:
        frame: nw.DataFrame[Any] = narwhals.from_native(data, eager_only=True)
    except (TypeError, ValueError) as error:
        if "Duplicate" in type(error).__name__:
            given = [name for name in getattr(data, "columns", ()) if isinstance(name, str)]
            require_unique_names(given, f"`{argument}`")
            msg = f"`{argument}` has more than one column of the same name. Give each its own name."
        elif hasattr(data, "collect") or hasattr(data, "compute"):
            msg = f"`{argument}` is a lazy {type(data).__name__}. Call `.collect()` or `.compute()` first."
        else:
            msg = f"`{argument}` must be a pandas, polars or pyarrow DataFrame; got {type(data).__name__}."
        raise DataError(msg) from None
    names: list[Any] = list(frame.columns)
    if any(isinstance(name, tuple) for name in names):
        msg = f"`{argument}` has column names of several levels. Give each column one name."
        raise DataError(msg)
    require_unique_names(map(str, names), f"`{argument}`")
    renamed = {name: str(name) for name in names if not isinstance(name, str)}
    return frame.rename(renamed) if renamed else frame


def require_unique_names(names: Iterable[str], subject: str) -> None:
    """Refuse columns that share a name."""
    if twice := repeated(names):
        msg = f"{subject} has more than one column called {twice}. Give each its own name."
        raise DataError(msg) from None


def columns_of(data: Mapping[Any, Any], argument: str) -> dict[str, Cells]:
    """Return columns given by name, each a list or a 1-D array."""
    require_unique_names(map(str, data), f"`{argument}`")
    columns = {str(name): _column(str(name), cells, argument) for name, cells in data.items()}
    if len({len(column) for column in columns.values()}) > 1:
        lengths = listed([f"{quoted(name)} has {len(column)}" for name, column in columns.items()])
        msg = f"the columns of `{argument}` must have the same number of rows; {lengths}."
        raise DataError(msg)
    return columns


def _column(name: str, cells: Any, argument: str) -> Cells:
    """Return one column; one that mixes whole numbers and decimals becomes numbers."""
    if isinstance(cells, list | tuple):
        found = of_values(cells)
    elif isinstance(cells, np.ndarray) and cells.ndim == 1:
        found = of_array(cells)
    else:
        given = f"shape {cells.shape}" if isinstance(cells, np.ndarray) else type(cells).__name__
        msg = f"column {quoted(name)} of `{argument}` must be a list or a 1-D array; got {given}."
        raise DataError(msg)
    if found is None:
        msg = f"column {quoted(name)} of `{argument}` mixes values of different types. Give it one type."
        raise DataError(msg)
    return found


def as_columns(frame: nw.DataFrame[Any]) -> dict[str, Cells]:
    """Return the columns of a DataFrame by their names."""
    return {name: as_cells(frame.get_column(name)) for name in frame.columns}


def as_cells(series: nw.Series[Any]) -> Cells:
    """Return one column of a DataFrame."""
    narwhals = import_narwhals()
    dtype, missing = series.dtype, np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
    if missing.all():
        return Cells("number", np.zeros(len(missing)), missing)
    kind = _kind(dtype)
    if kind in ("number", "integer", "boolean"):
        if dtype == narwhals.Decimal or dtype in (narwhals.Int128, narwhals.UInt128):
            return Cells(kind, _objects(series.to_list()), missing)
        present = np.asarray((series.drop_nulls() if missing.any() else series).to_numpy())
        if present.dtype.kind not in "biuf":  # objects, as of nullable types
            present = present.astype({"boolean": np.bool_, "number": np.float64}.get(kind, np.int64))
        values = present
        if missing.any():
            values = np.zeros(len(missing), dtype=present.dtype)
            values[~missing] = present
        if values.dtype.kind == "f":
            missing = missing | np.isnan(values)
        return Cells(kind, values, missing)
    is_category = dtype in (narwhals.Categorical, narwhals.Enum)
    try:
        values = _objects(series.to_list())
    except (ValueError, OverflowError):  # a time that Python's calendar does not reach
        values, kind = _objects(series.cast(narwhals.String).to_list()), "other"
        return Cells(kind, values, missing, type_name="dates outside the years 1 to 9999")
    return Cells(kind, values, missing, is_category, type_name(series))


def _objects(values: list[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def _kind(dtype: Any) -> str:
    narwhals = import_narwhals()
    if dtype == narwhals.Boolean:
        return "boolean"
    if dtype.is_numeric():
        return "integer" if dtype.is_integer() else "number"
    if dtype.is_temporal():
        return "date"
    return "text" if dtype in (narwhals.String, narwhals.Categorical, narwhals.Enum) else "other"


def type_name(series: nw.Series[Any]) -> str:
    """Return the name of a column's type, that of its own library where narwhals has none."""
    name = str(series.dtype).split("(")[0]
    return str(getattr(series.to_native(), "dtype", name))[:40] if name == "Unknown" else name


def index_labels(frame: nw.DataFrame[Any]) -> NDArray[np.str_] | None:
    """Return the index labels of a pandas DataFrame as text, `None` for other libraries."""
    index = import_narwhals().maybe_get_index(frame)
    return None if index is None else np.array([str(label) for label in index], dtype=np.str_)
