"""The page of a pair of bounds: one share, no slider."""

from __future__ import annotations

from typing import Any

from mmdbounds.report import charts
from mmdbounds.report.contents import Contents, Figure, Moment, Table
from mmdbounds.report.rows import (
    CHANGE,
    ROWS_SHOWN,
    RowNames,
    any_known,
    chart_values,
    head,
    how_many,
    table_body,
)
from mmdbounds.results import Bound, BoundsResult
from mmdbounds.words.bounds import UNPROVED, about_approximation, finding
from mmdbounds.words.phrases import assumption, number, percent, proved_number, rows, shown
from mmdbounds.words.testing import RELABELLED

PROVED, FOUND = "proved limit", "value found"
HEAD = (FOUND, PROVED, "rows that move", "how it was found")
COUNTED = "as many rows are misfiled as assumed;"


def bounds_contents(result: BoundsResult, names: RowNames) -> Contents:
    """Return what the page of a pair of bounds says."""
    x, y = shown(result.name_x), shown(result.name_y)
    table = _rows(result)
    letters = [] if table is None else _letters(result, table)
    figures = [_range_figure(result)]
    if table is not None and any_known(table):
        figures.append(_row_figure(result, table, letters, names))
    return Contents(
        title=f"{x} and {y}: how different are they if rows were misfiled?",
        answer=" ".join(said for said in _said(result) if said),
        moments=[
            Moment(
                label=f"{percent(result.epsilon)} ({rows(result.n_moved)})",
                said=[],
                rows=[] if table is None else table_body(table, letters, names),
            )
        ],
        figures=figures,
        table=_table(result),
        rows=_row_table(len(letters), names) if letters else None,
        assumptions=[COUNTED, RELABELLED.replace(";", ".")],
    )


def _said(result: BoundsResult) -> tuple[str, ...]:
    return assumption(result), finding(result), about_approximation(result)


def _rows(result: BoundsResult) -> dict[str, Any] | None:
    """Return the table of rows, `None` where no row is known to do anything."""
    if not (result.lower.has_rows or result.upper.has_rows) or not (result.n_moved or result.n_moved_of_x):
        return None
    return result.row_table()


def _letters(result: BoundsResult, table: dict[str, Any]) -> list[str]:
    return ["Y" if group == result.name_y else "X" for group in table["group"]]


def _table(result: BoundsResult) -> Table:
    filed = [number(result.observed), "", "", ""]
    ends = {"smallest": _cells(result.lower), "as filed": filed, "largest": _cells(result.upper)}
    # A search that ended as usual has nothing to say of itself.
    columns = [i for i in range(len(HEAD)) if i == 0 or any(cells[i] for cells in ends.values())]
    return Table(
        caption="Squared MMD of the true groups",
        head=("", *(HEAD[i] for i in columns)),
        body=[[name, *(cells[i] for i in columns)] for name, cells in ends.items()],
    )


def _cells(bound: Bound) -> list[str]:
    """Return what is known of one end, in the order of `HEAD`."""
    proved = "" if bound.certified is None else proved_number(bound.certified, bound.side)
    moved = f"{bound.n_moved + bound.n_moved_of_x:,}" if bound.has_rows else ""
    how = "; ".join(part for part in (bound.status, UNPROVED[bound.kind] * (not proved)) if part)
    return [number(bound.value), proved, moved, how]


def _range_figure(result: BoundsResult) -> Figure:
    both = (result.lower, result.upper)
    values = [{"f0": result.observed, "f1": charts.FILED, "f2": number(result.observed)}]
    values += [{"f0": b.value, "f1": FOUND, "f2": number(b.value)} for b in both]
    values += [
        {"f0": b.certified, "f1": PROVED, "f2": proved_number(b.certified, b.side)}
        for b in both
        if b.certified is not None
    ]
    low, high = result.interval
    title = "Squared MMD of the true groups"
    spec = charts.interval(
        low, high, values, (PROVED, FOUND, charts.FILED), f"{title}. The same numbers are in the table below."
    )
    return Figure(name="bounds", title=title, caption="The range that the misfiling allows.", spec=spec)


def _row_figure(result: BoundsResult, table: dict[str, Any], letters: list[str], names: RowNames) -> Figure:
    spec = charts.row_changes(
        chart_values(table, letters, names),
        "What single rows do to the two bounds. The same numbers are in the table of rows.",
    )
    caption = f"Filled: the row is among those that move there; hollow: it is not. {CHANGE}"
    return Figure(name="rows", title="Rows that matter most", caption=caption, spec=spec, of_rows=True)


def _row_table(n_rows: int, names: RowNames) -> Table:
    return Table(
        caption="Rows that may be misfiled, those that matter most first",
        head=head(names),
        body=[],
        notes=[how_many(n_rows, ROWS_SHOWN)],
    )
