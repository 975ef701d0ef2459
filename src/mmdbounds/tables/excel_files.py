"""Excel and OpenDocument workbooks into polars DataFrames, by calamine; one sheet is the table."""

from __future__ import annotations

import io
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from mmdbounds.errors import DataError, did_you_mean, quoted, quoted_list
from mmdbounds.tables import file_formats, frames
from mmdbounds.tables.cells import Cells
from mmdbounds.tables.frames import require_unique_names
from mmdbounds.tables.reading import Reading

if TYPE_CHECKING:
    import polars as pl


def read_excel(
    data: bytes, text: Collection[str], reading: Reading, label: str
) -> tuple[dict[str, Cells], str]:
    """Return the columns of a sheet, and in words how it was read; for options see `load_file`."""
    polars = frames.import_polars(label, "Excel")
    try:
        import fastexcel
    except ImportError:
        to_do = "Install it with: pip install 'mmdbounds[files]', or save the file as CSV"
        msg = f"{label} is an Excel file, which needs fastexcel. {to_do}."
        raise DataError(msg) from None
    failure = file_formats.failure_elsewhere(data, "read_excel", label, ("NoDataError",))
    try:
        if failure is None:
            sheets = fastexcel.read_excel(data).sheet_names
            sheet = _sheet(sheets, reading.sheet, label)
            columns = frames.as_columns(frames.as_frame(_frame(polars, data, sheet, text, label), "data"))
            return columns, f"Excel (sheet {quoted(sheet)}{f' of {len(sheets)}' if len(sheets) > 1 else ''})"
    except (DataError, MemoryError):
        raise
    except polars.exceptions.NoDataError:
        msg = f"{label} has an empty sheet {quoted(sheet)}. Name another one with `sheet=`."
        raise DataError(msg) from None
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


def _frame(polars: Any, data: bytes, sheet: str, text: Collection[str], label: str) -> pl.DataFrame:
    """Return a sheet with the names in its first row, which calamine would make different from each other."""

    def read(**options: Any) -> pl.DataFrame:
        frame: pl.DataFrame = polars.read_excel(
            io.BytesIO(data), sheet_name=sheet, engine="calamine", infer_schema_length=None, **options
        )
        return frame

    header = read(read_options={"header_row": None, "n_rows": 1}).row(0)
    names = ["" if name is None else str(name).strip() for name in header]
    require_unique_names(names, label)
    frame = read()
    kept = {raw: polars.String for raw, name in zip(frame.columns, names, strict=True) if name in text}
    if kept:
        frame = read(schema_overrides=kept)
    frame.columns = names
    return frame
