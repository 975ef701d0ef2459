"""Single rows on a page: by number, unless their names and cells were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.report.charts import LOWER, UPPER, Values, row_changes
from mmdbounds.report.contents import Columns, Figure, Table
from mmdbounds.results import AuditResult, BoundsResult, SweepResult
from mmdbounds.words.phrases import number, row_name, shown, statistic

ROWS_SHOWN = 30  # rows shown at most, those to be checked first: a page must not grow with the data
MOST_COLUMNS = 30  # columns whose cells are shown; more are not read
SIDES = {"lower": LOWER, "upper": UPPER}

CAPTION = (
    "Filled: the row is among those moved to reach this bound; hollow: it is not. Change: how much, at most, "
    "the bound changes once this row's true group is known."
)
ORDER = (
    "Rows are in the order of the change of the lower bound: the first are worth checking first. They need "
    "not be misfiled."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNames:
    """How rows are named: by name if `is_open`, with their cells, by number in the file, in `columns`."""

    is_open: bool = False
    columns: Sequence[str] = ()
    cells: Mapping[int, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """A row that is shown: its label, and for each side whether it moves and what it changes."""

    label: str
    group: str  # that it is filed under, where rows of both may be misfiled
    moved: Mapping[str, bool]
    change: Mapping[str, float | None]
    cells: Sequence[str]  # in the file, one for each of `RowNames.columns`, if they may be shown


# The table of rows; each cell is a function of a `ShownRow`. The cells of the file follow.
ROW_COLUMNS: Columns = (
    ("row", lambda row: row.label),
    ("filed under", lambda row: row.group),
    ("moved for lower bound", lambda row: "yes" * row.moved["lower"]),
    ("moved for upper bound", lambda row: "yes" * row.moved["upper"]),
    ("change of lower bound", lambda row: _digits(row.change["lower"])),
    ("change of upper bound", lambda row: _digits(row.change["upper"])),
)


def row_names(results: Sequence[Any], *, include_rows: bool, data: Any) -> RowNames:
    """Return how the rows of results are named on their page."""
    if data is not None and not include_rows:
        msg = "`data` needs `include_rows=True`, which lets the page show cells; got include_rows=False."
        raise MmdBoundsError(msg)
    shown_by = [result for result in results if isinstance(result, BoundsResult | SweepResult)]
    if include_rows and not (shown_by or any(isinstance(result, AuditResult) for result in results)):
        msg = "`include_rows` must be False for a test, whose page shows no rows; got True."
        raise MmdBoundsError(msg)
    if data is None or not shown_by:
        return RowNames(is_open=include_rows)
    record = shown_by[0].provenance.data
    columns = list(record.get("columns", ()))[:MOST_COLUMNS]
    tables = [table for result in shown_by for table in row_tables(result)]
    first = [row for table in tables for row in table.get("file_row", ())[:ROWS_SHOWN]]
    wanted = sorted({int(row) for row in first if row is not None})
    return RowNames(is_open=True, columns=columns, cells=_cells_in_file(record, columns, wanted, data))


def row_tables(result: BoundsResult | SweepResult) -> Sequence[Mapping[str, Any]]:
    """Return the tables of rows of a result, one for each share; empty where nothing is known of rows."""
    if isinstance(result, SweepResult):
        return [point.rows for point in result.points]
    moved = result.n_moved or result.n_moved_of_x
    return [result.row_table() if moved and (result.lower.has_rows or result.upper.has_rows) else {}]


def _cells_in_file(record: Any, columns: list[str], wanted: list[int], data: Any) -> dict[int, list[str]]:
    """Return the cells of these rows as text."""
    from mmdbounds.tables.files import load_file
    from mmdbounds.tables.reading import Reading

    file = load_file(data, text=columns, reading=Reading.of_record(record))
    if file.sha256 != record.get("sha256"):
        got = f"a different file, {shown(file.name)}"
        msg = f"`data` must be the file the result was computed from; got {got}."
        raise DataError(msg)
    places = np.array(wanted, dtype=np.intp) - 1
    chosen = [file.texts(name, places) for name in columns]
    return {row: [texts[i] for texts in chosen] for i, row in enumerate(wanted)}


def _shown_rows(table: Mapping[str, Any], name_y: str, names: RowNames) -> list[ShownRow]:
    """Return the rows of a `BoundsResult.row_table` to be checked first; without ``group`` all are of Y."""
    first = range(min(ROWS_SHOWN, len(table.get("row", ()))))
    none = [""] * len(names.columns)
    is_two_way = len(set(table.get("group", ()))) > 1
    return [
        ShownRow(
            label=label,
            group=shown(_at(table, "group", i)) if is_two_way else "",
            moved={side: bool(table[f"in_{side}"][i]) for side in SIDES},
            change={side: _known(table[f"{side}_change"][i]) for side in SIDES},
            cells=[shown(cell) for cell in names.cells.get(_at(table, "file_row", i), none)],
        )
        for i, label in enumerate(_labels(table, first, name_y, names))
    ]


def _labels(table: Mapping[str, Any], first: range, name_y: str, names: RowNames) -> list[str]:
    """Return the labels of the first rows; one that several rows have is followed by their places."""
    letters = ["Y" if _at(table, "group", i) in (None, name_y) else "X" for i in first]
    places = [int(table["row"][i]) for i in first]
    ids = [_at(table, "id", i) if names.is_open else None for i in first]
    labels = [row_name(letters[i], places[i], ids[i], _at(table, "file_row", i)) for i in first]
    return [
        f"{label}, {letters[i]}[{places[i]}]" if labels.count(label) > 1 else label
        for i, label in enumerate(labels)
    ]


class SingleRows(NamedTuple):
    """What a page says of single rows: the body of their table at each share, the table, and its chart."""

    bodies: list[list[list[str]]]
    table: Table | None
    figures: list[Figure]


def single_rows(
    result: BoundsResult | SweepResult, names: RowNames, *, n_rows: int, title: str, caption: str
) -> SingleRows:
    """Return what a page says of the `n_rows` that may be misfiled, with titles of chart and table."""
    by_share = [_shown_rows(table, result.name_y, names) for table in row_tables(result)]
    every = [row for rows in by_share for row in rows]
    kept = [each for each in ROW_COLUMNS if any(map(each[1], every))]
    bodies = [[[*(cell(row) for _, cell in kept), *row.cells] for row in rows] for rows in by_share]
    n_shown = max(map(len, by_share))
    if not n_shown:
        return SingleRows(bodies, None, [])
    part = f"Shown: the {n_shown:,} of {n_rows:,} rows that are worth checking first."
    note = part if n_shown < n_rows else f"All {n_rows:,} rows are shown."
    head = [*(heading for heading, _ in kept), *map(shown, names.columns)]
    known = any(change is not None for row in every for change in row.change.values())
    table = Table(name="single", caption=caption, head=head, body=[], notes=[f"{note} {ORDER}"])
    figures = [_row_figure(title, side, statistic(result), by_share) for side in SIDES] if known else []
    return SingleRows(bodies, table, figures)


def _row_figure(title: str, side: str, name: str, by_share: Sequence[Sequence[ShownRow]]) -> Figure:
    """Return the chart of what single rows do to one bound, at each share that the slider can be at."""
    values: Values = [
        {
            "f0": place,
            "f1": rank,
            "f2": row.label,
            "f3": row.change[side],
            "f4": row.moved[side],
            "f5": _digits(row.change[side]),
            "f6": "yes" if row.moved[side] else "no",
        }
        for place, shown_here in enumerate(by_share)
        for rank, row in enumerate(shown_here)
    ]
    words = f"How single rows change the {SIDES[side]}. The same numbers are in the table of rows."
    spec = row_changes(values, SIDES[side], name, words)
    title = f"{title}: {SIDES[side]}"
    return Figure(name=f"rows-{side}", title=title, caption=CAPTION, spec=spec, of_rows=True)


def _at(table: Mapping[str, Any], name: str, i: int) -> Any:
    """Return a cell, `None` where the column or the cell is not known."""
    return table[name][i] if name in table else None


def _known(change: Any) -> float | None:
    return None if change is None or change != change else float(change)  # noqa: PLR0124 -- NaN


def _digits(change: float | None) -> str:
    return "" if change is None else number(change)
