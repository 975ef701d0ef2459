"""Excel and OpenDocument workbooks into plain columns, by calamine; one sheet is the table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from mmdbounds.errors import DataError, did_you_mean, quoted, quoted_list
from mmdbounds.tables import file_formats, frames
from mmdbounds.tables.cells import EXACT_UP_TO, Cells, of_floats
from mmdbounds.tables.frames import require_unique_names
from mmdbounds.tables.reading import Reading, refuse_unnamed


def read_excel(
    data: bytes, text: Collection[str], reading: Reading, label: str
) -> tuple[dict[str, Cells], str]:
    """Return the columns of a sheet, and in words how it was read; for options see `load_file`."""
    frames.require_polars(label, "Excel")
    try:
        import fastexcel
    except ImportError:
        to_do = "Install it with: pip install 'mmdbounds[files]', or save the file as CSV"
        msg = f"{label} is an Excel file, which needs fastexcel. {to_do}."
        raise DataError(msg) from None
    failure = file_formats.failure_elsewhere(data, "read_excel", label)
    polars = frames.import_polars()
    try:
        if failure is None:
            book = fastexcel.read_excel(data)
            sheet = _sheet(book.sheet_names, reading.sheet, label)
            among = f" of {len(book.sheet_names)}" if len(book.sheet_names) > 1 else ""
            return _columns(book, sheet, text, reading, label), f"Excel (sheet {quoted(sheet)}{among})"
    except (DataError, MemoryError):
        raise
    except (Exception, polars.exceptions.PanicException) as error:
        failure = type(error).__name__
    msg = f"{label} is a damaged Excel file, or one that calamine cannot read ({failure})."
    raise DataError(msg) from None


def _sheet(sheets: list[str], wanted: str | None, label: str) -> str:
    """Return the sheet that was asked for, by default the first one."""
    if wanted is None:
        return sheets[0]
    if wanted not in sheets:
        hint = f"{did_you_mean(wanted, sheets)} The sheets are {quoted_list(sheets, 10)}."
        msg = f"{label} has no sheet {quoted(wanted)}, named in `sheet=`.{hint}"
        raise DataError(msg)
    return wanted


def _columns(book: Any, sheet: str, text: Collection[str], reading: Reading, label: str) -> dict[str, Cells]:
    """Return the columns of a sheet that have a name or a cell, and their names in the row of the header."""
    # As text first: types are then asked of columns that have cells, or fastexcel writes about the others.
    typed = book.load_sheet(sheet, header_row=None, dtypes="string").to_polars()
    while typed.height and not any(typed.row(-1)):  # rows that have a format and nothing else
        typed = typed.head(-1)
    if not typed.height:
        msg = f"{label} has an empty sheet {quoted(sheet)}. Name another one with `sheet=`."
        raise DataError(msg)
    at = (reading.header_row or 1) - 1
    if at >= typed.height:
        msg = f"{label} has {typed.height} rows; `header_row` must be one of them, got {at + 1}."
        raise DataError(msg)
    header = ["" if name is None else name.strip() for name in typed.row(at)]
    n_rows = typed.height - at - 1
    filled = [j for j in range(len(header)) if typed.to_series(j).tail(n_rows).null_count() < n_rows]
    used = [j for j, name in enumerate(header) if name or j in filled]  # no empty columns between others
    names = [header[j] for j in used]
    refuse_unnamed(names, reading.header_row, label)
    require_unique_names(names, label)
    missing = np.ones(n_rows, dtype=np.bool_)
    columns = {name: Cells("number", np.zeros(n_rows), missing) for name in names}
    if filled:
        kept = {j: "string" for j in filled if header[j] in text}
        read = book.load_sheet(
            sheet, header_row=at, use_columns=filled, dtypes=kept or None, schema_sample_rows=None
        )
        frame = read.to_polars().head(n_rows)
        for j, cells in zip(filled, frames.as_columns(frames.as_frame(frame, "data")).values(), strict=True):
            columns[header[j]] = _whole(cells)
    return columns


def _whole(cells: Cells) -> Cells:
    """Return numbers that are all whole as whole ones: Excel itself knows numbers with decimals only."""
    if cells.kind != "number":
        return cells
    floats = cells.floats()
    present = floats[~cells.missing]
    is_whole = len(present) and np.array_equal(present, np.round(present))
    return of_floats(floats, "integer") if is_whole and np.abs(present).max() < EXACT_UP_TO else cells
