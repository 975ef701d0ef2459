"""Single rows on a page: by their numbers, unless their names and cells were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmdbounds.report.charts import ROW_SIDES, Values
from mmdbounds.words.phrases import number, row_name, shown

ROWS_SHOWN = 30
"""Rows shown at the most, those that matter most first: a page must not grow with the data."""

HEAD = ("row", "moves: smallest", "moves: largest", "change: smallest", "change: largest")
SIDES = ("lower", "upper")

CHANGE = (
    "Change: by so much the smallest (largest) possible value changes if the row is on the other side of the "
    "filing than there, and the row that suits best takes its place."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNames:
    """How rows are named.

    Attributes
    ----------
    is_open
        Whether their names may be shown.
    columns, cells
        Columns whose cells are shown, and the cells by the row's number in the file.
    """

    is_open: bool = False
    columns: Sequence[str] = ()
    cells: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def name(self, letter: str, place: int, name: str | None, file_row: int | None) -> str:
        """Return what a row is called on the page."""
        return row_name(letter, place, name if self.is_open else None, file_row)

    def shown_cells(self, file_row: int | None) -> list[str]:
        """Return the cells of a row, as many as there are columns."""
        if file_row is None or file_row not in self.cells:
            return [""] * len(self.columns)
        return [shown(cell) for cell in self.cells[file_row]]


def head(names: RowNames) -> tuple[str, ...]:
    """Return the heading of the table of rows."""
    return (*HEAD, *map(shown, names.columns))


def table_body(table: Mapping[str, Any], letters: Sequence[str], names: RowNames) -> list[list[str]]:
    """Return the rows that matter most as cells of a table.

    Parameters
    ----------
    table
        Columns as those of `BoundsResult.row_table`; a column that is not known may be left out.
    letters
        X or Y for each row.
    names
        How rows are named.
    """
    body = []
    for i, label in enumerate(_labels(table, letters, names)):
        moved = ["yes" if table[f"in_{side}"][i] else "" for side in SIDES]
        changes = [_digits(table[f"{side}_change"][i]) for side in SIDES]
        body.append([label, *moved, *changes, *names.shown_cells(_at(table, "file_row", i))])
    return body


def chart_values(table: Mapping[str, Any], letters: Sequence[str], names: RowNames, place: int = 0) -> Values:
    """Return the rows that matter most as values of `charts.row_changes`; `place` is that of the share."""
    return [
        {
            "f0": place,
            "f1": i,
            "f2": label,
            "f3": _known(table[f"{side}_change"][i]),
            "f4": of,
            "f5": bool(table[f"in_{side}"][i]),
            "f6": _digits(table[f"{side}_change"][i]),
            "f7": "yes" if table[f"in_{side}"][i] else "no",
        }
        for i, label in enumerate(_labels(table, letters, names))
        for side, of in zip(SIDES, ROW_SIDES, strict=True)
    ]


def any_known(table: Mapping[str, Any]) -> bool:
    """Return whether what a row does is known of any row; a labelling that was resized says nothing."""
    return any(_known(change) is not None for side in SIDES for change in table[f"{side}_change"])


def how_many(n_rows: int, n_shown: int) -> str:
    """Say that only some rows are shown, where that is so."""
    if n_shown >= n_rows:
        return f"All {n_rows:,} rows are shown."
    return f"Shown: the {n_shown:,} rows that matter most of {n_rows:,}."


def _labels(table: Mapping[str, Any], letters: Sequence[str], names: RowNames) -> list[str]:
    """Return the names of the first rows; one that several rows have is followed by their places."""
    first = range(min(ROWS_SHOWN, len(letters)))
    where = [(letters[i], int(table["row"][i])) for i in first]
    labels = [names.name(*where[i], _at(table, "id", i), _at(table, "file_row", i)) for i in first]
    return [
        f"{label}, {letter}[{place}]" if labels.count(label) > 1 else label
        for label, (letter, place) in zip(labels, where, strict=True)
    ]


def _at(table: Mapping[str, Any], name: str, i: int) -> Any:
    """Return a cell, `None` where the column or the cell is not known."""
    return table[name][i] if name in table else None


def _known(change: Any) -> float | None:
    return None if change is None or change != change else float(change)  # noqa: PLR0124 -- NaN


def _digits(change: Any) -> str:
    return "" if (known := _known(change)) is None else number(known)
