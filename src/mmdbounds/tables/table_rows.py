"""A table on its way to groups: some of its rows become numbers, complete and scaled.

Where that fails, `TableError` has all that is in the way, not only the first thing: for messages and
``--dry-run``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import check_option, is_list
from mmdbounds.errors import DataError, counted, did_you_mean, listed, quoted, quoted_list
from mmdbounds.tables.columns import (
    MISSING,
    Column,
    Complete,
    ReadColumns,
    Rows,
    complete,
    read_columns,
    refusal,
    remedies,
)
from mmdbounds.tables.files import open_table
from mmdbounds.tables.group import Group
from mmdbounds.tables.group_column import GroupColumn, match_key
from mmdbounds.tables.reading import FURTHER_DOWN, Reading
from mmdbounds.tables.row_columns import RowColumns
from mmdbounds.tables.scaling import TABLE_SCALES, features, varying_columns, without_quartiles
from mmdbounds.tables.suspicious_columns import (
    group_columns,
    missing_codes,
    warn_of_group_columns,
    warn_of_identifiers,
    warn_of_missing_codes,
)
from mmdbounds.tables.text_numbers import is_missing

if TYPE_CHECKING:
    from mmdbounds.tables.columns import Rows
    from mmdbounds.tables.files import Table


class TableRows:
    """The rows of a table step by step: `read`, `leave_out_constant`, `scale`, then `group`."""

    def __init__(
        self,
        data: Any,
        group: str,
        about: RowColumns,
        columns: Any,
        exclude: Any,
        scale: str,
        missing: str,
        reading: Reading,
    ) -> None:
        check_option(scale, "scale", TABLE_SCALES)
        check_option(missing, "missing", MISSING)
        names = [name for role, name in about.named().items() if role != "order"]  # which holds numbers
        self.table = open_table(data, [group, *names], reading)
        self.roles = find_roles(list(self.table.columns), group, about, columns, exclude)
        cells = self.table.columns[self.roles.group].given()
        self.column = GroupColumn(cells, self.roles.group, fold=reading.fold_labels)
        self._scale, self._missing, self._reading, self._warns = scale, missing, reading, columns is None

    def read(
        self,
        rows: Rows,
        told_apart: Iterable[NDArray[np.bool_]],
        names: Mapping[str, str] = MappingProxyType({}),
        counts: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Read the features of some rows; `self.rows` are those that are left of them.

        `told_apart` are groups, each as a mask of the rows: columns that tell one of them from all others
        are suspicious. `names` and `counts` are what the record says of the groups.
        """
        table, roles, reading = self.table, self.roles, self._reading
        read = read_columns(table, roles.features, rows, reading, self._scale)
        # Before missing cells are filled: that a cell is missing can determine the group as well.
        masks = told_apart if self._warns else ()
        suspicious = [name for mask in masks for name in group_columns(read.values, read.columns, mask)]
        self.record: dict[str, Any] = {
            "source": table.name,
            "sha256": table.sha256,
            "read_as": table.read_as,
            "group_column": roles.group,
            **names,
            "id_column": roles.about.id,
            "excluded_columns": roles.excluded,
            "scale": self._scale,
            "missing": self._missing,
            **asdict(reading),
            "na": list(reading.na),
            "removed_signs": {name: table.removed[name] for name in roles.features if name in table.removed},
            "n_missing_cells": read.n_missing(),
            "dropped_date_columns": read.dates,
            "n_rows": table.n_rows,
            **counts,
            "n_missing_group": self.column.n_missing,
            "columns_like_group": list(dict.fromkeys(suspicious)),
        }
        if self._warns:
            warn_of_missing_codes(missing_codes(read.values, read.columns))
        self._whole = completed(table, read, rows, self.record)
        self.rows = rows[self._whole.kept]

    def leave_out_constant(self) -> None:
        """Leave constant columns out, and warn of those that should hardly be features."""
        self._values, self._used, constant = _without_constant(self._whole)
        if self._warns:
            warn_of_identifiers(self.table.columns, self._used, self.roles.about.id)
            warn_of_group_columns(self.record["columns_like_group"])
        by_deviation = without_quartiles(self._values, self._used) if self._scale == "robust" else []
        self.record |= {
            "columns": [each.name for each in self._used],
            "kinds": {each.name: each.described for each in self._used},
            "dropped_constant_columns": constant,
            "dropped_empty_columns": self._whole.empty,
            "scaled_by_deviation": by_deviation,
            "n_filled_cells": self._whole.n_filled,
        }

    def scale(self) -> None:
        """Encode and scale the columns; the table is given up."""
        self._ids, self._from_file = self.table.row_names(self.roles.about.id), self.table.name is not None
        del self.table, self._whole  # a large table must not be in memory more often than needed
        self._values, names, self.record["scaling"] = features(self._values, self._used, self._scale)
        self._names = tuple(names)

    def group(self, name: str, rows: Rows, **known: Any) -> Group:
        """Return some of the rows, with what else is known of them."""
        return Group(
            self._values if rows is self.rows else self._values[np.searchsorted(self.rows, rows)],
            name=name,
            ids=None if self._ids is None else self._ids[rows],
            file_rows=rows + 1 if self._from_file else None,
            columns=self._names,
            record=self.record,
            **known,
        )


class Roles(NamedTuple):
    """Which column is what."""

    group: str
    about: RowColumns
    features: list[str]
    excluded: list[str]


def find_roles(names: Sequence[str], group: Any, about: RowColumns, columns: Any, exclude: Any) -> Roles:
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
    return Roles(group, RowColumns(**known), features, excluded)


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
        hint += f" {FURTHER_DOWN}" if len(names) == 1 else ""
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
    if not is_list(given):
        msg = f"`{argument}` must be a text or a list of texts; got {type(given).__name__}."
        raise DataError(msg)
    return tuple(str(each) for each in given)


def _without_constant(whole: Complete) -> tuple[NDArray[np.float64], list[Column], list[str]]:
    """Return the values and columns without those that are constant, and the names of these."""
    varying = varying_columns(whole.values)
    used = [column for column, varies in zip(whole.columns, varying, strict=True) if varies]
    constant = [column.name for column, varies in zip(whole.columns, varying, strict=True) if not varies]
    if not used:
        msg = f"every feature column is constant over the rows of the two groups: {quoted_list(constant)}."
        raise DataError(msg)
    return (whole.values[:, varying] if constant else whole.values), used, constant


@dataclass(frozen=True)
class Survey:
    """What is known of a table that cannot be compared."""

    problems: list[str]
    remedies: list[tuple[str, str]]  # options with which it can be compared, each with its value
    record: Mapping[str, Any]  # as far as it goes, with the columns that are refused


class TableError(DataError):
    """The columns of a table cannot be compared as they are; the message is the first of the problems."""

    def __init__(self, survey: Survey) -> None:
        super().__init__(survey.problems[0])
        self.survey = survey


def completed(table: Table, read: ReadColumns, rows: Rows, record: Mapping[str, Any]) -> Complete:
    """Return rows in which nothing is missing, or raise `TableError` with all that is wrong.

    `record` is what is known of the table so far.
    """
    id_, missing = record["id_column"], record["missing"]
    problems = [refusal(read.refused, id_)] if read.refused else []
    found = remedies(read.refused, id_)
    found = [each for each in found if missing == "refuse" or each[0] != "missing"]
    sparse = {} if missing == "drop" else _mostly_missing(read, record)
    try:
        if read.columns:
            whole = complete(read.values, read.columns, missing, table.subject)
        elif not problems:
            problems.append("no feature columns are left. Check `columns=`, `exclude=` and `dates=`.")
    except DataError as error:
        problems.append(str(error))
        infinite = [bool(np.isinf(cells).any()) for cells in read.values.T]
        found += [("exclude", column.name) for column, bad in zip(read.columns, infinite, strict=True) if bad]
        found += [("missing", "impute")] if np.isnan(read.values).any() and missing == "refuse" else []
    if sparse:
        parts = listed(list(sparse.values()))
        to_do = "Leave such columns out with `exclude=`: most of what is compared would be filled in"
        problems.append(f"too many cells are missing to fill them in: {parts}. {to_do}.")
        found += [("exclude", name) for name in sparse]
    if not problems:
        return whole
    known = {
        **record,
        "kinds": {each.name: each.described for each in read.columns},
        "refused_columns": {name: trouble.words for name, trouble in read.refused.items()},
    }
    known["n_missing_cells"] |= {name: _n_missing(table, name, rows, record["na"]) for name in read.refused}
    raise TableError(Survey(problems, found, known)) from None


def _mostly_missing(read: ReadColumns, record: Mapping[str, Any]) -> dict[str, str]:
    """Return what to know of columns more than half of whose cells are missing, but not all."""
    groups_named = {match_key(record.get(name)) for name in ("hidden", "among")} - {None}
    n_rows, found = len(read.values), {}
    n_missing = read.n_missing()
    for column in read.columns:
        if not n_rows < 2 * (n := n_missing.get(column.name, 0)) < 2 * n_rows:
            continue
        words = f"{quoted(column.name)} ({n:,} of {counted(n_rows, 'row')}"
        words += (
            ", determines the group of nearly every row"
            if column.name in record["columns_like_group"]
            else ""
        )
        if column.categories and {match_key(each) for each in column.categories} <= groups_named:
            words += "; it holds names of the groups: if of rows that were looked up, set `verified=` to it"
        found[column.name] = f"{words})"
    return found


def _n_missing(table: Table, name: str, rows: Rows, na: list[str]) -> int:
    return sum(is_missing(text, na) for text in table.texts(name, rows))
