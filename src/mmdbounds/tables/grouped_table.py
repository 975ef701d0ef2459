"""One table with a group column becomes X and Y."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import check_option
from mmdbounds.errors import DataError, did_you_mean, quoted, quoted_list
from mmdbounds.tables import frames
from mmdbounds.tables.columns import MISSING, Column, Complete, read_columns
from mmdbounds.tables.files import open_table
from mmdbounds.tables.group import Group
from mmdbounds.tables.group_column import GroupColumn, as_text, group_name, two_groups
from mmdbounds.tables.reading import Reading
from mmdbounds.tables.row_columns import RowColumns, read_facts
from mmdbounds.tables.scaling import TABLE_SCALES, features, varying_columns, without_quartiles
from mmdbounds.tables.survey import completed
from mmdbounds.tables.suspicious_columns import group_columns, warn_of_group_columns, warn_of_identifiers


def groups(
    data: Any,
    group: str,
    *,
    hidden: Any,
    among: Any,
    id: str | None = None,
    verified: str | None = None,
    may_move: str | None = None,
    strata: str | None = None,
    columns: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    scale: str = "standard",
    missing: str = "refuse",
    na: str | Iterable[str] | None = None,
    dates: str = "refuse",
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> tuple[Group, Group]:
    """Split a table with a group column into X and Y, ready for `mmd_bounds`.

    Parameters
    ----------
    data
        A DataFrame of pandas, polars, pyarrow or another library that narwhals knows; a dict of column names
        and lists or 1-D arrays; the name of a CSV, Excel, Parquet, Arrow or JSON lines file, or one open for
        bytes.
    group
        Name of the group column.
    hidden, among
        The two groups: `hidden` becomes X, its rows may be hidden among those of `among`, which becomes Y.
    id
        Column that names the rows, never a feature. Without it the index of a pandas DataFrame names them.
    verified
        Column with the true group of rows that were looked up, blank in all others. Rows that belong to the
        other group are refiled, and verified rows cannot be misfiled. Instead it may hold yes and no (true
        and false, 1 and 0): yes if the row was looked up and belongs where it is filed.
    may_move
        Column with yes or no for each row of Y: whether it could be misfiled at all.
    strata
        Column with the stratum of each row (a site, a year), for ``limits`` of `Contamination`.
    columns
        The features, in this order: a list, or text with commas between the names. Default: all columns but
        `exclude` and those named above.
    exclude
        Columns to leave out, written like `columns`.
    scale
        Scaling of numeric columns, computed over the rows of both groups. ``"standard"``: mean 0
        and standard deviation 1. ``"robust"``: median 0 and the quartiles as far apart as those of a
        standard normal distribution. ``"rank"``: their ranks, with mean 0 and standard deviation 1.
        ``"none"``: values stay as they are.
    missing
        Treatment of missing cells. ``"refuse"``: an error with a count for each column. ``"drop"``:
        rows with a missing cell are left out. ``"impute"``: numbers are filled with the median, booleans and
        categories with the most frequent value, over the rows of both groups.
    na
        Text or numbers that stand for a missing cell of a feature, such as ``"unknown"`` or ``"-99"``, beside
        empty cells, NA, N/A, NaN, null and a single point.
    dates
        Treatment of columns of dates. ``"refuse"``: an error that names them. ``"days"``: they become numbers
        of days since 2000-01-01, and durations numbers of days. ``"day-first"``, ``"month-first"``: the same,
        and this is how 3/4/2020 is read. ``"drop"``: they are left out.
    decimal
        How decimals are written in a CSV or Excel file, ``"point"`` or ``"comma"``; the other one then
        separates thousands. Needed only where the cells leave it open, as 1,234 does.
    encoding
        Encoding of a text file, by default UTF-8 with or without byte-order mark.
    sheet
        Name of the sheet of an Excel file, by default the first one.

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
    GroupColumnWarning
        If a single column determines the group of nearly every row: one split of its values separates the
        groups with a balanced accuracy of at least 0.99, and not by chance. Such a column is often recorded
        together with the group (a code, a date of treatment), and then the groups differ whatever the truth
        is. Leave it out with `exclude`, or name the features in `columns` if this is intended.
    VerifiedWarning
        If the column `verified` is blank, or confirms every row of Y: it may be a copy of the group column.

    Notes
    -----
    Group values match as they are printed: ``1``, ``1.0``, ``"1"`` and ``" 1 "`` are the same, and so are
    ``True`` and ``"true"``, but the number 1 is not ``True``. Rows of other groups and rows without a group
    are left out; the record counts them. Booleans become 0 and 1. Text with at most 50 different values
    becomes one 0-1 column for each, with weights that give them variance 1 together, like a column of
    numbers. Columns that are constant over the rows of both groups are left out and recorded. Nothing
    depends on which of these rows are X and which are Y, nor on their order.
    """
    split = split_table(
        data,
        group,
        hidden=hidden,
        among=among,
        about=RowColumns(id=id, verified=verified, may_move=may_move, strata=strata),
        columns=columns,
        exclude=exclude,
        scale=scale,
        missing=missing,
        reading=Reading(names_given(na, "na"), encoding, decimal, dates, sheet),
    )
    return split.X, split.Y


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The two groups, and the units of their rows where a column of units was named."""

    X: Group
    Y: Group
    units: tuple[list[str], list[str]] | None = None


def split_table(
    data: Any,
    group: str,
    *,
    hidden: Any,
    among: Any,
    about: RowColumns,
    columns: Any,
    exclude: Any,
    scale: str,
    missing: str,
    reading: Reading,
) -> Split:
    """Do what `groups` does, and read the column of units at the same time."""
    check_option(scale, "scale", TABLE_SCALES)
    check_option(missing, "missing", MISSING)
    table = open_table(data, [group, *about.named().values()], reading)
    roles = find_roles(table.frame.columns, group, about, columns, exclude)
    about = roles.about
    column = GroupColumn(frames.cells(table.frame[roles.group]), roles.group)
    keys = two_groups(column, hidden, among)
    placed = [column.rows(key) for key in keys]
    rows = np.sort(np.concatenate(placed))  # in the order of the table, whichever group is which
    read = read_columns(table, roles.features, rows, reading, scale)
    record: dict[str, Any] = {
        "source": table.name,
        "sha256": table.sha256,
        "read_as": table.read_as,
        "group_column": roles.group,
        "hidden": as_text(hidden),
        "among": as_text(among),
        "id_column": about.id,
        "excluded_columns": roles.excluded,
        "scale": scale,
        "missing": missing,
        **asdict(reading),
        "na": list(reading.na),
        "removed_signs": {name: table.removed[name] for name in roles.features if name in table.removed},
        "n_missing_cells": read.n_missing(),
        "dropped_date_columns": read.dates,
        "n_rows": len(table.frame),
        "n_hidden": len(placed[0]),
        "n_among": len(placed[1]),
        "n_other_groups": len(table.frame) - sum(map(len, placed)) - column.n_missing,
        "n_missing_group": column.n_missing,
    }
    # Before missing cells are filled: that a cell is missing can determine the group as well.
    suspicious = (
        [] if columns is not None else group_columns(read.values, read.columns, np.isin(rows, placed[0]))
    )
    record["columns_like_group"] = suspicious
    whole = completed(table, read, rows, record)
    left = [each[whole.kept[np.searchsorted(rows, each)]] for each in placed]
    rows = rows[whole.kept]
    _require_rows(left, (hidden, among))
    values, used, constant = without_constant(whole)
    if columns is None:
        warn_of_identifiers(table.frame, used, about.id)
        warn_of_group_columns(suspicious)
    facts = read_facts(table, about, column, keys, left, reading.na)
    record |= {
        "columns": [each.name for each in used],
        "kinds": {each.name: each.described for each in used},
        "dropped_constant_columns": constant,
        "dropped_empty_columns": whole.empty,
        "scaled_by_deviation": without_quartiles(values, used) if scale == "robust" else [],
        "n_filled_cells": whole.n_filled,
        "n_dropped_rows": [len(before) - len(each) for before, each in zip(placed, left, strict=True)],
        "n_hidden": len(facts.rows[0]),
        "n_among": len(facts.rows[1]),
        **facts.record,
    }
    ids, from_file = table.row_names(about.id), table.name is not None
    units = None if about.unit is None else table.texts(about.unit)
    del table, read, whole  # a large table must not be in memory more often than needed
    values, names, record["scaling"] = features(values, used, scale)

    def build(name: Any, which: NDArray[np.intp], known: dict[str, Any]) -> Group:
        return Group(
            values[np.searchsorted(rows, which)],
            name=group_name(name, roles.group),
            ids=None if ids is None else ids[which],
            file_rows=which + 1 if from_file else None,
            columns=tuple(names),
            record=record,
            **known,
        )

    of_x, of_y = ([] if units is None else [units[i] for i in each] for each in facts.rows)
    X, Y = map(build, (hidden, among), facts.rows, facts.of_rows)
    return Split(X, Y, None if units is None else (of_x, of_y))


class _Roles(NamedTuple):
    group: str
    about: RowColumns
    features: list[str]
    excluded: list[str]


def find_roles(names: Sequence[str], group: Any, about: RowColumns, columns: Any, exclude: Any) -> _Roles:
    """Return which column is what, or say which name is wrong."""
    group = _known_column(group, names, "group")
    known = {role: _known_column(each, names, role) for role, each in about.named().items()}
    for role, each in known.items():
        if each == group and role != "unit":
            msg = f"`group` and `{role}` must be different columns; got {quoted(group)} for both."
            raise DataError(msg)
    excluded = list(dict.fromkeys(_known_columns(exclude, names, "exclude")))
    other_roles = {each: f"the {role} column" for role, each in reversed(known.items())}
    other_roles[group] = "the group column"
    features = _feature_columns(names, other_roles, columns, excluded)
    return _Roles(group, RowColumns(**known), features, excluded)


def _feature_columns(
    names: Sequence[str], other_roles: Mapping[str, str], columns: Any, excluded: Sequence[str]
) -> list[str]:
    """Return the names of the features: those in `columns`, or all that are left if it is `None`."""
    if columns is None:
        unused = {*other_roles, *excluded}
        features = [name for name in names if name not in unused]
    else:
        features = _known_columns(columns, names, "columns")
        twice = [name for name, n in Counter(features).items() if n > 1]
        refused = {**other_roles, **dict.fromkeys(excluded, "also in `exclude=`")}
        refused |= dict.fromkeys(twice, "listed twice")
        if wrong := [name for name in features if name in refused]:
            msg = f"`columns` names {quoted(wrong[0])}, which is {refused[wrong[0]]}."
            raise DataError(msg)
    if not features:
        msg = "no feature columns are left. Check `columns=` and `exclude=`."
        raise DataError(msg)
    return features


def _known_column(given: Any, names: Collection[str], argument: str) -> str:
    """Return the name if there is such a column, or suggest the nearest."""
    name = str(given)
    if name not in names:
        hint = f"{did_you_mean(name, names)} The columns are {quoted_list(names, 10)}."
        msg = f"there is no column {quoted(name)}, named in `{argument}=`.{hint}"
        raise DataError(msg)
    return name


def _known_columns(given: Any, names: Collection[str], argument: str) -> list[str]:
    """Return the names of columns: texts, in each of which several may stand with commas between them."""
    parts = [
        part.strip() if each not in names else each
        for each in names_given(given, argument)
        for part in ([each] if each in names else each.split(","))
    ]
    return [_known_column(part, names, argument) for part in parts]


def names_given(given: Any, argument: str) -> tuple[str, ...]:
    """Return the names given for an argument: one text or several."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        msg = f"`{argument}` must be a text or a list of texts; got {type(given).__name__}."
        raise DataError(msg)
    return tuple(str(each) for each in given)


def _require_rows(rows: Sequence[NDArray[np.intp]], names: Sequence[Any]) -> None:
    """Refuse a group of which no row is left."""
    for name, each in zip(names, rows, strict=True):
        if not len(each):
            to_do = "Set `missing=` to 'impute', or leave columns out with `exclude=`"
            msg = f"every row of {quoted(as_text(name))} has a missing cell, so no row is left. {to_do}."
            raise DataError(msg)


def without_constant(whole: Complete) -> tuple[NDArray[np.float64], list[Column], list[str]]:
    """Return the values and columns without those that are constant, and the names of these."""
    varying = varying_columns(whole.values)
    used = [column for column, varies in zip(whole.columns, varying, strict=True) if varies]
    constant = [column.name for column, varies in zip(whole.columns, varying, strict=True) if not varies]
    if not used:
        msg = f"every feature column is constant over the rows of the two groups: {quoted_list(constant)}."
        raise DataError(msg)
    return (whole.values[:, varying] if constant else whole.values), used, constant
