"""DataFrames of any library become columns of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.tables.group import Group
from mmdbounds.tables.libraries import import_narwhals, import_polars
from mmdbounds.tables.phrases import EXACT_UP_TO, counted, listed, refuse_rounded, require_finite, shown

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw

NOT_NUMBERS = ("text", "date", "other")
"""Kinds of columns that are no numbers."""


def read_table(source: Any, *, encoding: str | None = None) -> nw.DataFrame[Any]:
    """Read a CSV, Parquet, Arrow or JSON lines file.

    Parameters
    ----------
    source
        Name of a local file, always taken literally: no patterns, no ``~``, no addresses. Or a file
        that is open for reading bytes. CSV is separated by commas, semicolons or tabs. All may be gzipped.
    encoding
        Encoding of a text file, by default UTF-8.

    Returns
    -------
    narwhals.DataFrame
        An eager DataFrame (polars underneath). Types are inferred from the whole file.

    Raises
    ------
    DataError
        If the file is missing, empty, damaged or of another format.
    """
    from mmdbounds.tables.files import is_file, load_file

    if not is_file(source):
        msg = f"`source` must be a file name; got {type(source).__name__}."
        raise DataError(msg)
    return as_frame(load_file(source, encoding=encoding).frame, "source")


def is_frame(data: Any) -> bool:
    """Tell DataFrames, also lazy ones, from everything else without importing anything."""
    if isinstance(data, np.ndarray | list | tuple | dict):
        return False
    # Asked of the class: a lazy frame computes, and warns, when asked itself.
    return any(hasattr(type(data), name) for name in ("columns", "column_names", "collect_schema"))


def as_frame(data: Any, argument: str) -> nw.DataFrame[Any]:
    """Return a DataFrame of any library as narwhals' with text for column names.

    Parameters
    ----------
    data
        A pandas, polars, pyarrow or narwhals DataFrame.
    argument
        Name of the argument, for the messages.
    """
    narwhals = import_narwhals()
    try:
        frame = narwhals.from_native(data, eager_only=True)
    except (TypeError, ValueError) as error:
        if "Duplicate" in type(error).__name__:
            names = Counter(str(name) for name in getattr(data, "columns", ()) if isinstance(name, str))
            twice = [shown(name) for name, n in names.items() if n > 1]
            which = f" called {listed(twice)}" if twice else " of the same name"
            msg = f"`{argument}` has more than one column{which}. Give each its own name."
        elif hasattr(data, "collect") or hasattr(data, "compute"):
            msg = f"`{argument}` is a lazy {type(data).__name__}. Call `.collect()` or `.compute()` first."
        else:
            msg = f"`{argument}` must be a pandas, polars or pyarrow DataFrame; got {type(data).__name__}."
        raise DataError(msg) from None
    return _with_text_names(frame, argument)


def columns_frame(data: Mapping[Any, Any], argument: str) -> nw.DataFrame[Any]:
    """Return columns given by name as a DataFrame.

    Parameters
    ----------
    data
        Name of each column and its cells: a 1-D array or a list.
    argument
        Name of the argument, for the messages.
    """
    narwhals = import_narwhals()
    import_polars()
    columns = {str(name): _column(str(name), cells, argument) for name, cells in data.items()}
    lengths = [f"{shown(name)} has {len(column)}" for name, column in columns.items()]
    if len(columns) < len(data):
        msg = f"`{argument}` has more than one column of the same name. Give each its own name."
        raise DataError(msg)
    if len({len(column) for column in columns.values()}) > 1:
        msg = f"the columns of `{argument}` must have the same number of rows; {listed(lengths)}."
        raise DataError(msg)
    if not columns:  # narwhals may refuse to make a table of nothing
        msg = f"`{argument}` has no rows."
        raise DataError(msg)
    return cast("nw.DataFrame[Any]", narwhals.from_dict(columns, backend="polars"))


def _column(name: str, cells: Any, argument: str) -> nw.Series[Any]:
    """Return one column; whole numbers and decimals in one list are all numbers."""
    import narwhals.stable.v1 as nw

    if not (isinstance(cells, list | tuple) or (isinstance(cells, np.ndarray) and cells.ndim == 1)):
        came = f"shape {cells.shape}" if isinstance(cells, np.ndarray) else type(cells).__name__
        msg = f"column {shown(name)} of `{argument}` must be a list or a 1-D array; got {came}."
        raise DataError(msg)
    if not isinstance(cells, np.ndarray) and all(isinstance(cell, int | float) for cell in cells):
        cells = np.asarray(cells)
    try:
        return nw.new_series(name, cells, backend="polars")
    except MemoryError:
        raise
    except Exception:
        # polars quotes cells in its messages.
        msg = f"column {shown(name)} of `{argument}` mixes values of different types. Give it one type."
        raise DataError(msg) from None


def _with_text_names(frame: nw.DataFrame[Any], argument: str) -> nw.DataFrame[Any]:
    """Give columns that are called 0, 1, 2 the names '0', '1', '2'."""
    names: list[Any] = list(frame.columns)
    if any(isinstance(name, tuple) for name in names):
        msg = f"`{argument}` has column names of several levels. Give each column one name."
        raise DataError(msg)
    twice = [shown(name) for name, n in Counter(map(str, names)).items() if n > 1]
    if twice:
        msg = f"`{argument}` has more than one column called {listed(twice)}. Give each its own name."
        raise DataError(msg)
    renamed = {name: str(name) for name in names if not isinstance(name, str)}
    return frame.rename(renamed) if renamed else frame


def frame_group(data: Any, argument: str) -> Group:
    """Return a DataFrame of numbers and booleans as a `Group`, nothing scaled."""
    frame = as_frame(data, argument)
    names = tuple(frame.columns)
    if not len(frame) or not names:
        msg = f"`{argument}` has no {'rows' if names else 'columns'}; got shape {tuple(frame.shape)}."
        raise DataError(msg)
    wrong = [name for name, kind in kinds(frame, names).items() if kind in NOT_NUMBERS]
    if wrong:
        parts = [f"{shown(name)} ({type_name(frame[name])})" for name in wrong]
        msg = (
            f"`{argument}` has {counted(len(wrong), 'column')} that are not numbers: {listed(parts)}. "
            "Drop or encode them first, or use `mmdbounds.groups`."
        )
        raise DataError(msg.replace("1 column that are", "1 column that is"))
    values = numbers(frame, names, argument)
    require_finite(values, names, f"`{argument}`")
    return Group(values, name=argument, ids=index_labels(frame), columns=names)


def kinds(frame: nw.DataFrame[Any], names: Sequence[str]) -> dict[str, str]:
    """Return what columns hold.

    One of ``"number"``, ``"integer"``, ``"boolean"``, ``"text"``, ``"date"`` and ``"other"``;
    a column with nothing in it counts as numbers, all of them missing.
    """
    schema = frame.schema
    found = {name: _kind(schema[name]) for name in names}
    for name in [name for name, kind in found.items() if kind in NOT_NUMBERS]:
        if frame.get_column(name).null_count() == len(frame):
            found[name] = "number"
    return found


def _kind(dtype: Any) -> str:
    import narwhals.stable.v1 as nw

    if dtype == nw.Boolean:
        return "boolean"
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    if dtype.is_temporal():
        return "date"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    return "other"


def is_category(series: nw.Series[Any]) -> bool:
    """Tell whether a column's type, not only its cells, says that it is a category."""
    import narwhals.stable.v1 as nw

    return series.dtype in (nw.Categorical, nw.Enum)


def type_name(series: nw.Series[Any]) -> str:
    """Return the name of a column's type, as its own library calls it where narwhals has none."""
    name = str(series.dtype).split("(")[0]
    return str(getattr(series.to_native(), "dtype", name))[:40] if name == "Unknown" else name


def numbers(frame: nw.DataFrame[Any], names: Sequence[str], argument: str) -> NDArray[np.float64]:
    """Return columns as float64, missing cells as NaN; refuse those of which float64 would lose digits."""
    values, rounded = np.empty((len(frame), len(names))), {}
    for j, name in enumerate(names):
        series = frame.get_column(name)
        values[:, j] = column_numbers(series)
        if may_lose_digits(series, values[:, j]) and (n := n_rounded(cells(series), values[:, j])):
            rounded[shown(name)] = n
    if rounded:
        refuse_rounded(rounded, len(names), f"`{argument}`")
    return values


def column_numbers(series: nw.Series[Any]) -> NDArray[np.float64]:
    """Return a column of numbers or booleans as float64, missing cells as NaN."""
    import narwhals.stable.v1 as nw

    # Arrow refuses to cast integers that float64 cannot hold exactly; NumPy rounds them.
    if series.dtype.is_integer() and series.dtype not in (nw.Int128, nw.UInt128):
        return np.asarray(series.to_numpy(), dtype=np.float64)
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def may_lose_digits(series: nw.Series[Any], values: NDArray[np.float64]) -> bool:
    """Tell whether a column's type has digits that float64 has not, and its values are that large."""
    import narwhals.stable.v1 as nw

    if np.fmax.reduce(np.abs(values), initial=0.0) < EXACT_UP_TO:
        return False
    return bool(series.dtype.is_integer() or series.dtype == nw.Decimal)


def n_rounded(given: Sequence[Any], values: NDArray[np.float64]) -> int:
    """Return how many whole numbers or decimals are others as float64, missing cells (`None`) left out."""
    pairs = zip(given, values.tolist(), strict=True)
    return sum(type(cell)(value) != cell for cell, value in pairs if cell is not None)


def column_integers(series: nw.Series[Any]) -> NDArray[Any]:
    """Return the cells of an integer column that are there, as integers."""
    import narwhals.stable.v1 as nw

    if series.dtype in (nw.Int128, nw.UInt128):
        return np.array(series.drop_nulls().to_list(), dtype=object)
    cells = np.asarray(series.to_numpy())
    return cells if cells.dtype.kind in "iu" else np.asarray(series.drop_nulls().to_numpy())


def cells(series: nw.Series[Any]) -> list[Any]:
    """Return the cells of a column as Python values, `None` where one is missing."""
    missing = series.is_null().to_list()
    return [None if gone else cell for gone, cell in zip(missing, series.to_list(), strict=True)]


def index_labels(frame: nw.DataFrame[Any]) -> NDArray[np.str_] | None:
    """Return the index labels of a pandas DataFrame as text, `None` for other libraries."""
    import narwhals.stable.v1 as nw

    index = nw.maybe_get_index(frame)
    return None if index is None else np.array([str(label) for label in index], dtype=np.str_)
