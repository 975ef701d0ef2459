"""One table with a group column becomes X and Y."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, IdentifierWarning, warn
from mmdbounds.tables import frames
from mmdbounds.tables.group import Group
from mmdbounds.tables.identifiers import is_called_identifier, looks_like_identifier
from mmdbounds.tables.matching import GroupColumn, as_text, two_groups
from mmdbounds.tables.phrases import listed, nearest, option, option_names, require_finite, shown
from mmdbounds.tables.scaling import check_scale, standardise, varying_columns

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw


def groups(
    data: Any,
    by: str,
    *,
    hidden: Any,
    among: Any,
    id: str | None = None,
    columns: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    scale: str = "standard",
) -> tuple[Group, Group]:
    """Split a table with a group column into X and Y, ready for `mmd_bounds`.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow DataFrame, a mapping of column names to lists or 1-D arrays,
        or the name of a CSV or Parquet file.
    by
        Name of the group column.
    hidden
        The group whose rows may be hidden in the other one: it becomes X.
    among
        The group that they may be hidden among: it becomes Y.
    id
        Column that names the rows. It is kept as text and never a feature.
        Without it the rows of a pandas DataFrame are named by the index.
    columns
        The features, in this order. Default: all columns but `by`, `id` and `exclude`.
    exclude
        Columns to leave out.
    scale
        ``"standard"``: each column gets mean 0 and standard deviation 1 over the rows of the two
        groups together. ``"none"``: values stay as they are.

    Returns
    -------
    X, Y : Group
        The rows of the two groups, in the order of the table, with the same record of what was done.

    Raises
    ------
    DataError
        If the table cannot be used as it is; the message says why and what to do.

    Warns
    -----
    IdentifierWarning
        If a column of integers looks like an identifier and is not named in `columns`.

    Notes
    -----
    Group values match as printed: ``1``, ``1.0``, ``"1"`` and ``" 1 "`` are the same, and so are ``True``
    and ``"true"``, but the number 1 is not ``True``. Rows of other groups and rows without a group are left
    out and counted in the record. Booleans become 0 and 1. Columns that are constant over the rows of
    both groups are left out and recorded. Nothing depends on which of these rows are X and which are Y.
    """
    scale = check_scale(scale)
    table = _open_table(data, by, id)
    frame, names = table.frame, dict.fromkeys(table.frame.columns)
    by = _known_column(by, names, "`by=` (`--group`)")
    id = None if id is None else _known_column(id, names, option("id"))
    features = _choose_features(names, by, id, columns, exclude)

    column = GroupColumn(frames.cells(frame[by]), by)
    x_key, y_key = two_groups(column, hidden, among)
    x_rows, y_rows = column.rows(x_key), column.rows(y_key)
    rows = np.union1d(x_rows, y_rows)  # in the order of the table, whichever group is which
    kinds = frames.kinds(frame, features)
    _require_numeric(frame, kinds, id)
    values, used, constant = _pooled_values(table, features, rows, scale)
    if columns is None and (found := _suspects(frame, used, kinds)):
        warn(_suspicion(found, id), IdentifierWarning)

    record = {
        "source": table.name,
        "sha256": table.sha256,
        "group_column": by,
        "hidden": as_text(hidden),
        "among": as_text(among),
        "id_column": id,
        "columns": used,
        "dropped_constant_columns": constant,
        "scale": scale,
        "n_rows": len(frame),
        "n_hidden": len(x_rows),
        "n_among": len(y_rows),
        "n_other_groups": len(frame) - len(rows) - column.n_missing,
        "n_missing_group": column.n_missing,
    }
    row_names = _row_names(frame, id)

    def build(name: Any, chosen: NDArray[np.intp]) -> Group:
        return Group(
            values[np.searchsorted(rows, chosen)],
            name=as_text(name),
            ids=None if row_names is None else row_names[chosen],
            file_rows=None if table.name is None else chosen + 1,
            columns=tuple(used),
            record=record,
        )

    return build(hidden, x_rows), build(among, y_rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A DataFrame and, if it came from one, its file."""

    frame: nw.DataFrame[Any]
    name: str | None = None
    sha256: str | None = None


def _open_table(data: Any, by: Any, id_column: Any) -> _Table:
    if isinstance(data, str | os.PathLike):
        from mmdbounds.tables.files import load_file

        text = [str(name) for name in (by, id_column) if name is not None]
        file = load_file(data, text=text)
        return _Table(frames.as_frame(file.frame, "data"), file.name, file.sha256)
    if not (isinstance(data, Mapping) or frames.is_frame(data)):
        msg = (
            "`data` must be a DataFrame or the name of a CSV or Parquet file; "
            f"got {type(data).__name__}. Arrays go to `mmd_bounds(X, Y, ...)` directly."
        )
        raise DataError(msg)
    as_frame = frames.columns_frame if isinstance(data, Mapping) else frames.as_frame
    frame = as_frame(data, "data")
    if not len(frame):
        msg = "`data` has no rows."
        raise DataError(msg)
    return _Table(frame)


def _known_column(name: Any, names: Collection[str], asked_by: str) -> str:
    """Return the name if there is such a column, or suggest the nearest."""
    text = str(name)
    if text not in names:
        there = listed([shown(each) for each in names], 10)
        msg = (
            f"there is no column {shown(text)}, asked for with {asked_by}."
            f"{nearest(text, names)} The columns are {there}."
        )
        raise DataError(msg)
    return text


def _choose_features(
    names: Collection[str], by: str, id_column: str | None, columns: Any, exclude: Any
) -> list[str]:
    """Return the names of the feature columns."""
    if by == id_column:
        msg = f"the group column and {option('id')} must be different columns; got {shown(by)} for both."
        raise DataError(msg)
    left_out = {_known_column(name, names, option("exclude")) for name in option_names(exclude, "exclude")}
    kept_out = {name: what for name, what in ((by, "the group column"), (id_column, "the id column")) if name}
    if columns is None:
        features = [name for name in names if name not in left_out and name not in kept_out]
    else:
        features = [
            _known_column(name, names, option("columns")) for name in option_names(columns, "columns")
        ]
        kept_out.update(dict.fromkeys(left_out, f"also in {option('exclude')}"))
        kept_out.update(dict.fromkeys((n for n, k in Counter(features).items() if k > 1), "there twice"))
    for name in features:
        if name in kept_out:
            msg = f"{option('columns')} names {shown(name)}, which is {kept_out[name]}."
            raise DataError(msg)
    if not features:
        msg = f"no feature columns are left. Check {option('columns')} and {option('exclude')}."
        raise DataError(msg)
    return features


def _require_numeric(frame: nw.DataFrame[Any], kinds: Mapping[str, str], id_column: str | None) -> None:
    """Refuse columns that are not numbers, and say what to do with each sort."""
    what = {name: _described(frame[name], kind) for name, kind in kinds.items() if kind in frames.NOT_NUMBERS}
    if not what:
        return
    naming = next((name for name, words in what.items() if "every row" in words), None)
    advice = f"Leave columns out with {option('exclude')}"
    if naming is not None and id_column is None:
        advice = f"If {shown(naming)} names the rows, pass {option('id')}; l{advice[1:]}"
    if any("dates" in words for words in what.values()):
        advice += ", or turn dates into numbers of days first"
    if any("commas" in words for words in what.values()):
        advice += ", or write decimals with a point"
    start = "1 column is not numbers" if len(what) == 1 else f"{len(what)} columns are not numbers"
    msg = f"{start}: {listed([f'{shown(name)} ({words})' for name, words in what.items()])}. {advice}."
    raise DataError(msg)


def _described(series: nw.Series[Any], kind: str) -> str:
    """Say in words what a column that is no numbers holds."""
    if kind == "date":
        return "dates or times"
    if kind == "other":
        return f"type {frames.type_name(series)}"
    more = frames.text_kind(series)
    return f"text, {more}" if more else "text"


def _pooled_values(
    table: _Table, features: Sequence[str], rows: NDArray[np.intp], scale: str
) -> tuple[NDArray[np.float64], list[str], list[str]]:
    """Return the rows of both groups, checked and scaled, the columns used and the constant ones left out."""
    values = frames.numbers(table.frame, features, rows)
    subject = "`data`" if table.name is None else shown(table.name)
    require_finite(values, features, subject, f", or leave columns out with {option('exclude')}")
    varying = varying_columns(values)
    used, constant = (
        [name for name, chosen in zip(features, which, strict=True) if chosen]
        for which in (varying, ~varying)
    )
    if not used:
        parts = listed([shown(name) for name in features])
        msg = f"every feature column is constant over the rows of the two groups: {parts}."
        raise DataError(msg)
    values = values[:, varying]
    return (standardise(values) if scale == "standard" else values), used, constant


def _suspects(frame: nw.DataFrame[Any], used: Sequence[str], kinds: Mapping[str, str]) -> list[str]:
    """Return the columns of whole numbers that look like identifiers, judged by the whole table."""
    found = []
    for name in used:
        if kinds[name] == "integer":
            if looks_like_identifier(name, frames.column_integers(frame.get_column(name))):
                found.append(name)
        elif kinds[name] == "number" and is_called_identifier(name):
            # Integers with a gap are floats in pandas.
            cells = frames.column_numbers(frame[name])
            cells = cells[np.isfinite(cells)]
            if np.array_equal(cells, np.round(cells)) and looks_like_identifier(name, cells):
                found.append(name)
    return found


def _suspicion(found: Sequence[str], id_column: str | None) -> str:
    """Return the warning about columns that look like identifiers."""
    names = listed([shown(name) for name in found])
    start = (
        f"column {names} looks like an identifier"
        if len(found) == 1
        else f"columns {names} look like identifiers"
    )
    use = f"Pass {option('id')} to name the rows by it, or leave" if id_column is None else "Leave"
    return (
        f"{start} and {'is' if len(found) == 1 else 'are'} used as a feature. {use} it out with "
        f"{option('exclude')}; naming the features with {option('columns')} silences this."
    )


def _row_names(frame: nw.DataFrame[Any], id_column: str | None) -> NDArray[np.str_] | None:
    """Return the names of all rows as text: the id column, else the index of a pandas DataFrame."""
    if id_column is None:
        return frames.index_labels(frame)
    return np.array([as_text(cell) for cell in frames.cells(frame[id_column])], dtype=np.str_)
