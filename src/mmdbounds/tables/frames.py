"""DataFrames of any library: one way in, through narwhals, and what their columns hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, listed, quoted, repeated

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw

EXACT_UP_TO = 2.0**53  # up to here float64 holds every whole number
NOT_NUMBERS = ("text", "date", "other")  # kinds of columns that are not numbers


def import_polars() -> Any:
    """Return polars, or say how to get it."""
    try:
        import polars
    except ImportError:
        msg = "files and dicts of columns need polars: pip install polars. Other DataFrames work without it."
        raise DataError(msg) from None
    return polars


def import_narwhals() -> Any:
    """Return narwhals, or say how to get it."""
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        msg = "DataFrames and files need narwhals: pip install narwhals. Arrays work without it."
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


def columns_frame(data: Mapping[Any, Any], argument: str) -> nw.DataFrame[Any]:
    """Return columns given by name, each a list or a 1-D array, as a DataFrame."""
    narwhals = import_narwhals()
    import_polars()
    require_unique_names(map(str, data), f"`{argument}`")
    columns = {str(name): _column(str(name), cells, argument) for name, cells in data.items()}
    if len({len(column) for column in columns.values()}) > 1:
        lengths = listed([f"{quoted(name)} has {len(column)}" for name, column in columns.items()])
        msg = f"the columns of `{argument}` must have the same number of rows; {lengths}."
        raise DataError(msg)
    if not columns:  # narwhals may refuse to make a table of nothing
        msg = f"`{argument}` has no rows."
        raise DataError(msg)
    return cast("nw.DataFrame[Any]", narwhals.from_dict(columns, backend="polars"))


def _column(name: str, cells: Any, argument: str) -> nw.Series[Any]:
    """Return one column; a list that mixes whole numbers and decimals becomes numbers."""
    if not (isinstance(cells, list | tuple) or (isinstance(cells, np.ndarray) and cells.ndim == 1)):
        given = f"shape {cells.shape}" if isinstance(cells, np.ndarray) else type(cells).__name__
        msg = f"column {quoted(name)} of `{argument}` must be a list or a 1-D array; got {given}."
        raise DataError(msg)
    if not isinstance(cells, np.ndarray) and all(isinstance(cell, int | float) for cell in cells):
        cells = np.asarray(cells)
    try:
        return cast("nw.Series[Any]", import_narwhals().new_series(name, cells, backend="polars"))
    except MemoryError:
        raise
    except Exception:
        # The messages of polars quote cells.
        msg = f"column {quoted(name)} of `{argument}` mixes values of different types. Give it one type."
        raise DataError(msg) from None


def kinds(frame: nw.DataFrame[Any], names: Sequence[str]) -> dict[str, str]:
    """Return what columns hold: "number" (also without a value), "integer", "boolean" or `NOT_NUMBERS`."""
    schema = frame.schema
    kind_of = {name: _kind(schema[name]) for name in names}
    others = [name for name, kind in kind_of.items() if kind in NOT_NUMBERS]
    empty = [name for name in others if frame.get_column(name).null_count() == len(frame)]
    return kind_of | dict.fromkeys(empty, "number")


def _kind(dtype: Any) -> str:
    narwhals = import_narwhals()
    if dtype == narwhals.Boolean:
        return "boolean"
    if dtype.is_numeric():
        return "integer" if dtype.is_integer() else "number"
    if dtype.is_temporal():
        return "date"
    return "text" if dtype in (narwhals.String, narwhals.Categorical, narwhals.Enum) else "other"


def is_category(series: nw.Series[Any]) -> bool:
    """Tell whether the type of a column, not only its cells, says that it is a category."""
    narwhals = import_narwhals()
    return series.dtype in (narwhals.Categorical, narwhals.Enum)


def type_name(series: nw.Series[Any]) -> str:
    """Return the name of a column's type, that of its own library where narwhals has none."""
    name = str(series.dtype).split("(")[0]
    return str(getattr(series.to_native(), "dtype", name))[:40] if name == "Unknown" else name


def column_numbers(series: nw.Series[Any]) -> NDArray[np.float64]:
    """Return a column of numbers or booleans as float64, missing cells as NaN."""
    narwhals = import_narwhals()
    # Arrow refuses to cast integers that float64 cannot hold exactly; NumPy rounds them.
    if series.dtype.is_integer() and series.dtype not in (narwhals.Int128, narwhals.UInt128):
        return np.asarray(series.to_numpy(), dtype=np.float64)
    return np.asarray(series.cast(narwhals.Float64).to_numpy(), dtype=np.float64)


def column_integers(series: nw.Series[Any]) -> NDArray[Any]:
    """Return the cells of an integer column as integers, without the missing ones."""
    narwhals = import_narwhals()
    if series.dtype in (narwhals.Int128, narwhals.UInt128):
        return np.array(series.drop_nulls().to_list(), dtype=object)
    integers = np.asarray(series.to_numpy())
    return integers if integers.dtype.kind in "iu" else np.asarray(series.drop_nulls().to_numpy())


def may_lose_digits(series: nw.Series[Any], values: NDArray[np.float64]) -> bool:
    """Tell whether a column's type has more digits than float64, and its values are that large."""
    if np.fmax.reduce(np.abs(values), initial=0.0) < EXACT_UP_TO:
        return False
    return bool(series.dtype.is_integer() or series.dtype == import_narwhals().Decimal)


def n_rounded(given: Sequence[Any], values: NDArray[np.float64]) -> int:
    """Return how many whole numbers or decimals float64 rounds; missing cells (`None`) do not count."""
    pairs = zip(given, values.tolist(), strict=True)
    return sum(type(cell)(value) != cell for cell, value in pairs if cell is not None)


def cells(series: nw.Series[Any]) -> list[Any]:
    """Return the cells of a column as Python values, `None` where one is missing."""
    missing = series.is_null().to_list()
    return [None if gone else cell for gone, cell in zip(missing, series.to_list(), strict=True)]


def index_labels(frame: nw.DataFrame[Any]) -> NDArray[np.str_] | None:
    """Return the index labels of a pandas DataFrame as text, `None` for other libraries."""
    index = import_narwhals().maybe_get_index(frame)
    return None if index is None else np.array([str(label) for label in index], dtype=np.str_)
