"""The cells of single rows, from the file that a result was computed from."""

from __future__ import annotations

from typing import Any

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.report.rows import ROWS_SHOWN, RowNames
from mmdbounds.results import BoundsResult
from mmdbounds.results.curve import SweepResult
from mmdbounds.results.testing import RobustTestResult
from mmdbounds.words.phrases import shown

MOST_COLUMNS = 30
"""Columns whose cells are shown; more are not read."""


def row_names(result: Any, *, include_rows: bool, data: Any) -> RowNames:
    """Return how the rows of a result are named on its page."""
    if data is not None and not include_rows:
        msg = "`data` goes with `include_rows=True`, which lets the page hold cells; got include_rows=False."
        raise MmdBoundsError(msg)
    if include_rows and isinstance(result, RobustTestResult):
        msg = "`include_rows` goes with bounds and sweeps; the page of a test shows no rows."
        raise MmdBoundsError(msg)
    if data is None:
        return RowNames(is_open=include_rows)
    record = result.provenance.data
    columns = list(record.get("columns", ()))[:MOST_COLUMNS]
    return RowNames(is_open=True, columns=columns, cells=_cells(record, columns, _wanted(result), data))


def _wanted(result: Any) -> list[int]:
    """Return the numbers in the file of the rows that the page shows."""
    if isinstance(result, SweepResult):
        tables = [point.rows for point in result.points]
    elif isinstance(result, BoundsResult) and result.file_rows_of_y is not None:
        tables = [result.row_table()]
    else:
        tables = []
    return sorted({int(row) for table in tables for row in table.get("file_row", ())[:ROWS_SHOWN]})


def _cells(record: Any, columns: list[str], wanted: list[int], data: Any) -> dict[int, list[str]]:
    """Return the cells of these rows as text."""
    from mmdbounds.tables.files import load_file
    from mmdbounds.tables.matching import as_text

    file = load_file(data, text=columns, na=record.get("na", ()), encoding=record.get("encoding"))
    if file.sha256 != record.get("sha256"):
        msg = (
            f"`data` must be the file that the result was computed from; got another one, {shown(file.name)}."
        )
        raise DataError(msg)
    chosen = file.frame[[row - 1 for row in wanted], columns]
    return {row: [as_text(cell) for cell in cells] for row, cells in zip(wanted, chosen.rows(), strict=True)}
