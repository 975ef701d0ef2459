"""One table with a group column becomes X and Y, or the rows of all groups and their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmdbounds.errors import DataError, quoted
from mmdbounds.tables.columns import Rows
from mmdbounds.tables.group import Group
from mmdbounds.tables.group_column import as_text, group_name, two_groups
from mmdbounds.tables.reading import Reading
from mmdbounds.tables.row_columns import RowColumns, read_facts
from mmdbounds.tables.table_rows import TableRows, names_given

MOST_WARNED = 10  # groups, the first ones, that are compared with all others to find columns that tell them


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
    order: str | None = None,
    columns: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    scale: str = "standard",
    missing: str = "refuse",
    na: str | Iterable[str] | None = None,
    dates: str = "refuse",
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    fold_labels: bool = False,
) -> tuple[Group, Group]:
    """Split a table with a group column into X and Y, ready for `mmd_bounds`.

    Parameters
    ----------
    data
        A DataFrame of pandas, polars, pyarrow or another library that narwhals knows; a dict of column names
        and lists or 1-D arrays; the name of a CSV or JSON lines file or, with the extra ``files``, of an
        Excel, Parquet or Arrow file; or one open for bytes.
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
    order
        Column with a number for each row of Y, such as a label-quality score: `audit` names the rows in this
        order, the smallest first.
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
        categories with the most frequent value, over the rows of both groups; a column of which more
        than half is missing is refused.
    na
        Text or numbers that stand for a missing cell of a feature, such as ``"unknown"`` or ``"-99"``, beside
        empty cells, NA, N/A, NaN, null and a single point.
    dates
        Treatment of columns of dates. ``"refuse"``: an error that names them. ``"days"``: they become numbers
        of days since 2000-01-01, and durations numbers of days. ``"day-first"``, ``"month-first"``: the same,
        and this is how 3/4/2020 is read. ``"drop"``: they are left out.
    decimal
        How decimals are written in cells of text, ``"point"`` or ``"comma"``; the other one then separates
        thousands. Needed only where the cells leave it open, as 1,234 does.
    encoding
        Encoding of a text file, by default UTF-8 with or without byte-order mark.
    sheet
        Name of the sheet of an Excel file, by default the first one.
    header_row
        Row of a CSV or Excel file with the names of the columns, if titles stand above it: 1 is the first row
        that is not blank.
    fold_labels
        Whether labels that differ only in case or blanks, such as "MI" and "mi", are one group. By default
        they are refused where a row would be left out because of it.

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
    MissingCodeWarning
        If numbers such as -9, -99 or 999 lie far from all other cells of their column, which is not named in
        `columns`: they may stand for missing cells.
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
        about=RowColumns(id=id, verified=verified, may_move=may_move, strata=strata, order=order),
        columns=columns,
        exclude=exclude,
        scale=scale,
        missing=missing,
        reading=Reading(names_given(na, "na"), encoding, decimal, dates, sheet, fold_labels, header_row),
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
    part = TableRows(data, group, about, columns, exclude, scale, missing, reading)
    table, column, about = part.table, part.column, part.roles.about
    keys = two_groups(column, hidden, among)
    placed = [column.rows(key) for key in keys]
    rows = np.sort(np.concatenate(placed))  # in the order of the table, whichever group is which
    counts = {
        "n_hidden": len(placed[0]),
        "n_among": len(placed[1]),
        "n_other_groups": table.n_rows - sum(map(len, placed)) - column.n_missing,
        "other_groups": column.others(keys),
    }
    names = {"hidden": as_text(hidden), "among": as_text(among)}
    part.read(rows, [np.isin(rows, placed[0])], names, counts)
    left = [each[np.isin(each, part.rows)] for each in placed]
    _require_rows(left, (hidden, among))
    part.leave_out_constant()
    facts = read_facts(table, about, column, keys, left, reading.na)
    part.record |= {
        "n_dropped_rows": [len(before) - len(each) for before, each in zip(placed, left, strict=True)],
        "n_hidden": len(facts.rows[0]),
        "n_among": len(facts.rows[1]),
        **facts.record,
    }
    units = None if about.unit is None else table.texts(about.unit)
    del table
    part.scale()
    X, Y = (
        part.group(group_name(name, part.roles.group), which, **known)
        for name, which, known in zip((hidden, among), facts.rows, facts.of_rows, strict=True)
    )
    of_x, of_y = ([] if units is None else [units[i] for i in each] for each in facts.rows)
    return Split(X, Y, None if units is None else (of_x, of_y))


def _require_rows(rows: Sequence[Rows], names: Sequence[Any]) -> None:
    """Refuse a group of which no row is left."""
    for name, each in zip(names, rows, strict=True):
        if not len(each):
            to_do = "Set `missing=` to 'impute', or leave columns out with `exclude=`"
            msg = f"every row of {quoted(as_text(name))} has a missing cell, so no row is left. {to_do}."
            raise DataError(msg)


def labelled_table(
    data: Any,
    group: str,
    *,
    id: str | None = None,
    columns: Any = None,
    exclude: Any = None,
    scale: str = "standard",
    missing: str = "refuse",
    reading: Reading | None = None,
) -> tuple[Group, list[str]]:
    """Return the rows of all groups, encoded and scaled as `groups` does, and the label of each row."""
    about, reading = RowColumns(id=id), reading or Reading()
    part = TableRows(data, group, about, columns, exclude, scale, missing, reading)
    column = part.column
    if not column.labels:
        msg = f"column {quoted(part.roles.group)} holds no group: all its values are missing."
        raise DataError(msg)
    column.require_apart()
    named = np.full(part.table.n_rows, "", dtype=object)
    for key, label in column.labels.items():
        named[column.rows(key)] = label
    rows = np.flatnonzero(named != "")
    labels = list(column.labels.values())
    compared = labels[:MOST_WARNED] if len(labels) > 1 else []
    part.read(rows, (np.asarray(named[rows] == label, dtype=np.bool_) for label in compared))
    part.leave_out_constant()
    of_rows = named[part.rows].tolist()
    part.record |= {"n_dropped_rows": len(rows) - len(part.rows), "n_of_groups": dict(Counter(of_rows))}
    part.scale()
    return part.group("Z", part.rows), of_rows
