"""Columns that say something of the rows and are not compared: what was looked up, who can be misfiled."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from mmdbounds.checks import is_number
from mmdbounds.errors import DataError, counted, quoted
from mmdbounds.tables.group import NOT_LOOKED_UP, OF_ROWS
from mmdbounds.tables.group_column import GroupColumn, Key, as_text, match_key
from mmdbounds.tables.text_numbers import is_missing
from mmdbounds.tables.verified import (
    BLANK,
    OF_X,
    OF_Y,
    Rows,
    TwoNames,
    flags,
    keys_of,
    refile,
    require_filed,
    true_groups,
    warn_of_verified,
)

if TYPE_CHECKING:
    from mmdbounds.tables.files import Table

Facts = dict[str, Any]  # fields of `Group` with an entry for each row


@dataclass(frozen=True)
class RowColumns:
    """The names of the columns that say something of the rows, `None` where there is none."""

    id: str | None = None
    unit: str | None = None
    verified: str | None = None
    may_move: str | None = None
    strata: str | None = None
    order: str | None = None

    def named(self) -> dict[str, str]:
        """Return the names that were given, by what they are for."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: column for name, column in given.items() if column is not None}


@dataclass(frozen=True, eq=False)
class RowFacts:
    """The rows of X and of Y after refiling, and what the columns say of each."""

    rows: tuple[Rows, Rows]
    of_rows: tuple[Facts, Facts] = field(default_factory=lambda: ({}, {}))
    record: dict[str, Any] = field(default_factory=dict)


def read_facts(
    table: Table,
    about: RowColumns,
    column: GroupColumn,
    keys: tuple[Key, Key],
    left: Sequence[Rows],
    na: Collection[str],
) -> RowFacts:
    """Return where the rows belong and what is known of them.

    `left` are the rows of both groups as filed, less those that were dropped.
    """
    rows: tuple[Rows, Rows] = (left[0], left[1])
    if not (known := {name: each for name, each in about.named().items() if name in OF_ROWS}):
        return RowFacts(rows)
    facts: tuple[Facts, Facts] = ({}, {})
    record: dict[str, Any] = {f"{name}_column": each for name, each in known.items()}
    x, y = (column.labels[key] for key in keys)
    names = TwoNames(x, y, {key: code for code, name in ((OF_X, x), (OF_Y, y)) if (key := match_key(name))})
    if about.verified is not None:
        truth = _truth(table, about.verified, column, names, rows, na)
        refiled = refile(rows, truth)
        require_filed(refiled, names, f"column {quoted(about.verified)}")
        rows, record["n_refiled"] = refiled.rows, refiled.n_refiled
        for own, status in zip(facts, refiled.verified, strict=True):
            own["verified"] = status
    for own, each in zip(facts, rows, strict=True):
        if about.may_move is not None:
            own["may_move"] = _may_move(table, about.may_move, each, own.get("verified"), na)
        if about.strata is not None:
            texts = table.texts(about.strata, each)
            own["strata"] = np.array(["" if is_missing(text, na) else text for text in texts], dtype=np.str_)
    if about.order is not None:
        facts[OF_Y]["order"] = _order(table, about.order, rows[OF_Y], facts[OF_Y].get("verified"), names.y)
    if about.may_move is not None and facts[OF_Y]["may_move"] is None:
        named = f"column {quoted(about.may_move)}, named in `may_move=`"
        msg = f"{named}, is blank in every row of {quoted(names.y)}."
        raise DataError(msg)
    return RowFacts(rows, facts, record)


def _row(places: Rows) -> Any:
    """Return what messages call the row of a cell: rows are numbered from 1, as in the file."""
    return lambda i: f"row {int(places[i]) + 1}"


def _truth(
    table: Table, name: str, column: GroupColumn, names: TwoNames, filed: Sequence[Rows], na: Collection[str]
) -> Rows:
    """Return what the column says of each row of the table; `BLANK` for rows of other groups."""
    cells, subject = column.spelled(table.columns[name].given()), f"column {quoted(name)}"
    _refuse_outside(cells, column, names, subject)
    inside = np.concatenate(filed)
    truth = np.full(len(cells), BLANK, dtype=np.intp)
    truth[inside] = true_groups([cells[i] for i in inside], names, subject, _row(inside), na)
    warn_of_verified(truth, filed, names, subject)
    return truth


def _refuse_outside(cells: Sequence[Any], column: GroupColumn, names: TwoNames, subject: str) -> None:
    """Refuse rows that are filed under neither group and verified as one of them."""
    inside = np.isin(np.arange(len(cells)), np.concatenate([column.rows(key) for key in names.codes]))
    keys = keys_of(cells)
    wrong = [i for i in np.flatnonzero(~inside).tolist() if keys[i] is not None and keys[i] in names.codes]
    if wrong:
        more = f" (and {counted(len(wrong) - 1, 'row')} more)" if len(wrong) > 1 else ""
        what = f"verifies row {wrong[0] + 1}{more} as {quoted(as_text(cells[wrong[0]]))}"
        to_do = "File such rows under one of the two first, or leave the cell blank"
        msg = f"{subject} {what}, but it is filed under neither group. {to_do}."
        raise DataError(msg)


def _may_move(table: Table, name: str, rows: Rows, verified: Any, na: Collection[str]) -> Any:
    """Return which rows could be misfiled; what the column says of verified rows is not needed."""
    cells = table.columns[name].given()
    asked = rows if verified is None else rows[verified == NOT_LOOKED_UP]
    answers = flags([cells[i] for i in asked], f"column {quoted(name)}", _row(asked), na)
    return None if answers is None else np.isin(rows, asked[answers])


def _order(table: Table, name: str, rows: Rows, verified: Any, of: str) -> Any:
    """Return the number of each row of Y by which an audit takes it; verified rows need none."""
    asked = rows if verified is None else rows[verified == NOT_LOOKED_UP]
    given = table.columns[name].given(asked)
    wrong = [i for i, cell in enumerate(given) if not is_number(cell) or not math.isfinite(cell)]
    if wrong:
        got = "nothing" if given[wrong[0]] is None else quoted(as_text(given[wrong[0]]))
        more = f" (and {counted(len(wrong) - 1, 'row')} more)" if len(wrong) > 1 else ""
        named = f"column {quoted(name)}, named in `order=`"
        must = f"must have a number in each row of {quoted(of)} that was not looked up"
        msg = f"{named}, {must}; got {got} in {_row(asked)(wrong[0])}{more}."
        raise DataError(msg)
    numbers = np.full(len(rows), np.nan)
    numbers[np.isin(rows, asked)] = given
    return numbers
