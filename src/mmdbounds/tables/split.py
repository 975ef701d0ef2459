"""One table with a group column becomes X and Y."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.tables import frames
from mmdbounds.tables.choose import choose_features, excluded, known_column
from mmdbounds.tables.columns import Column, features, read_columns, without_quartiles
from mmdbounds.tables.group import Group
from mmdbounds.tables.identifiers import warn_of_identifiers
from mmdbounds.tables.matching import GroupColumn, as_text, two_groups
from mmdbounds.tables.missing import Complete, check_missing, complete
from mmdbounds.tables.opened import Table, open_table
from mmdbounds.tables.phrases import listed, option, option_names, shown
from mmdbounds.tables.scaling import TABLE_SCALES, check_scale, varying_columns
from mmdbounds.tables.telling import telling_columns, warn_of_telling_columns


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
    missing: str = "refuse",
    na: str | Iterable[str] | None = None,
    encoding: str | None = None,
) -> tuple[Group, Group]:
    """Split a table with a group column into X and Y, ready for `mmd_bounds`.

    Parameters
    ----------
    data
        A DataFrame of pandas, polars, pyarrow or another library that narwhals knows; a mapping of column
        names to lists or 1-D arrays; the name of a CSV, Parquet, Arrow or JSON lines file, or
        such a file opened for reading bytes.
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
        What is done to columns of numbers, by the rows of the two groups together. ``"standard"``: mean 0
        and standard deviation 1. ``"robust"``: median 0 and the quartiles as far apart as those of a
        standard normal distribution. ``"rank"``: their ranks, with mean 0 and standard deviation 1.
        ``"none"``: values stay as they are.
    missing
        What is done about missing cells. ``"refuse"``: an error with a count for each column. ``"drop"``:
        rows with a missing cell are left out. ``"impute"``: numbers are filled with the median, booleans and
        categories with the most frequent value, over the rows of the two groups together.
    na
        Text or numbers that stand for a missing cell, such as ``"unknown"`` or ``"-99"``, beside empty cells
        and NA, N/A, NaN, null and a single point. Features only.
    encoding
        Encoding of a text file, by default UTF-8 with or without byte-order mark.

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
        If a single column tells nearly every row's group: one split of its values separates the groups with
        a balanced accuracy of at least 0.99, and not by chance. Such a column is often recorded together with
        the group (a code, a date of treatment), and then the groups differ whatever the truth is. Leave it
        out with `exclude`, or name the features in `columns` if this is intended.

    Notes
    -----
    Group values match as printed: ``1``, ``1.0``, ``"1"`` and ``" 1 "`` are the same, and so are ``True``
    and ``"true"``, but the number 1 is not ``True``. Rows of other groups and rows without a group are left
    out and counted in the record. Booleans become 0 and 1. Text with at most 50 different values becomes one
    0-1 column for each, with weights that give them the variance 1 together, like a column of numbers.
    Columns that are constant over the rows of both groups are left out and recorded. Nothing depends
    on which of these rows are X and which are Y, nor on their order.
    """
    split = split_table(
        data,
        by,
        hidden=hidden,
        among=among,
        id_=id,
        columns=columns,
        exclude=exclude,
        scale=scale,
        missing=missing,
        na=na,
        encoding=encoding,
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
    by: str,
    *,
    hidden: Any,
    among: Any,
    id_: str | None,
    columns: Any,
    exclude: Any,
    scale: str,
    missing: str,
    na: Any,
    encoding: str | None,
    unit: str | None = None,
) -> Split:
    """Do what `groups` does, and read the column `unit` in the same go; it is no feature."""
    scale, missing = check_scale(scale, TABLE_SCALES), check_missing(missing)
    words = option_names(na, "na")
    table = open_table(data, [by, id_, unit], words, encoding)
    roles = _roles(table.frame.columns, by, id_, unit, columns, exclude)
    column = GroupColumn(frames.cells(table.frame[roles.by]), roles.by)
    placed = [column.rows(key) for key in two_groups(column, hidden, among)]
    rows = np.sort(np.concatenate(placed))  # in the order of the table, whichever group is which
    read = read_columns(table.frame, roles.features, rows, words, roles.id, scale)
    # Before missing cells are filled: that a cell is missing can tell the group as well.
    telling = [] if columns is not None else telling_columns(*read, np.isin(rows, placed[0]))
    whole = complete(*read, missing, table.subject)
    left = [each[whole.kept[np.searchsorted(rows, each)]] for each in placed]
    rows = rows[whole.kept]
    for name, each in zip((hidden, among), left, strict=True):
        if not len(each):
            msg = f"every row of {shown(as_text(name))} has a missing cell, so that none is left."
            raise DataError(msg)
    values, used, constant = _varying(whole)
    if columns is None:
        warn_of_identifiers(table.frame, used, roles.id)
        warn_of_telling_columns(telling)
    record = {
        **_what_was_read(table, roles, (hidden, among)),
        "columns": [each.name for each in used],
        "kinds": {each.name: each.described for each in used},
        "dropped_constant_columns": constant,
        "dropped_empty_columns": whole.empty,
        "scale": scale,
        "scaled_by_deviation": without_quartiles(values, used) if scale == "robust" else [],
        "missing": missing,
        "na": list(words),
        "encoding": encoding,
        "n_filled_cells": whole.n_filled,
        "n_dropped_rows": [len(before) - len(each) for before, each in zip(placed, left, strict=True)],
        "n_rows": len(table.frame),
        "n_hidden": len(left[0]),
        "n_among": len(left[1]),
        "n_other_groups": len(table.frame) - sum(map(len, placed)) - column.n_missing,
        "n_missing_group": column.n_missing,
    }
    ids, from_file = table.row_names(roles.id), table.name is not None
    units = None if roles.unit is None else table.texts(roles.unit)
    del table, read, whole  # of a large table there shall not be more copies than needed
    values, names, record["scaling"] = features(values, used, scale)

    def build(name: Any, which: NDArray[np.intp]) -> Group:
        return Group(
            values[np.searchsorted(rows, which)],
            name=as_text(name),
            ids=None if ids is None else ids[which],
            file_rows=which + 1 if from_file else None,
            columns=tuple(names),
            record=record,
        )

    of_x, of_y = ([] if units is None else [units[i] for i in each] for each in left)
    return Split(build(hidden, left[0]), build(among, left[1]), None if units is None else (of_x, of_y))


@dataclass(frozen=True, slots=True)
class _Roles:
    """Which column is what."""

    by: str
    id: str | None
    unit: str | None
    features: list[str]
    left_out: list[str]


def _roles(names: Sequence[str], by: Any, id_: Any, unit: Any, columns: Any, exclude: Any) -> _Roles:
    """Return which column is what, or say which name is wrong."""
    by = known_column(by, names, "`by=` (`--group`)")
    id_ = None if id_ is None else known_column(id_, names, option("id"))
    unit = None if unit is None else known_column(unit, names, "`--unit`")
    if by == id_:
        msg = f"the group column and {option('id')} must be different columns; got {shown(by)} for both."
        raise DataError(msg)
    left_out = excluded(exclude, names)
    taken = {unit: "the unit column", id_: "the id column", by: "the group column"}
    taken.pop(None, None)
    return _Roles(by, id_, unit, choose_features(names, taken, columns, left_out), left_out)


def _what_was_read(table: Table, roles: _Roles, groups: tuple[Any, Any]) -> dict[str, Any]:
    """Return the part of the record that says where the rows come from."""
    return {
        "source": table.name,
        "sha256": table.sha256,
        "read_as": table.read_as,
        "group_column": roles.by,
        "hidden": as_text(groups[0]),
        "among": as_text(groups[1]),
        "id_column": roles.id,
        "excluded_columns": roles.left_out,
    }


def _varying(whole: Complete) -> tuple[NDArray[np.float64], list[Column], list[str]]:
    """Return the values and columns without those that are constant, and the names of these."""
    varying = varying_columns(whole.values)
    used = [column for column, varies in zip(whole.columns, varying, strict=True) if varies]
    constant = [column.name for column, varies in zip(whole.columns, varying, strict=True) if not varies]
    if not used:
        parts = listed([shown(name) for name in constant])
        msg = f"every feature column is constant over the rows of the two groups: {parts}."
        raise DataError(msg)
    return (whole.values[:, varying] if constant else whole.values), used, constant
