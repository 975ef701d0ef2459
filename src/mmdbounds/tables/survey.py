"""All that is in the way of a comparison, not only the first thing: for messages and for ``--dry-run``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mmdbounds.errors import DataError
from mmdbounds.tables import frames
from mmdbounds.tables.columns import Complete, ReadColumns, complete, refusal, remedies
from mmdbounds.tables.group_column import as_text
from mmdbounds.tables.text_numbers import is_missing

if TYPE_CHECKING:
    from mmdbounds.tables.columns import Rows
    from mmdbounds.tables.files import Table


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
    if not problems:
        return whole
    known = {
        **record,
        "kinds": {each.name: each.described for each in read.columns},
        "refused_columns": {name: trouble.words for name, trouble in read.refused.items()},
    }
    known["n_missing_cells"] |= {name: _n_missing(table, name, rows, record["na"]) for name in read.refused}
    raise TableError(Survey(problems, found, known)) from None


def _n_missing(table: Table, name: str, rows: Rows, na: list[str]) -> int:
    cells = frames.cells(table.frame[name])
    return sum(is_missing(as_text(cells[i]), na) for i in rows)
