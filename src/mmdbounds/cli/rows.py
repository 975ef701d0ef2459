"""The rows of a result as a CSV file: names and numbers of rows, no values of their columns."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmdbounds.results import BoundsResult

# A cell that begins so is a formula to a spreadsheet, after blanks too, and in full width to some. Text can
# begin a cell of its own where a spreadsheet takes another character than our comma for the separator.
_FORMULA = re.compile("(^|[;\t\r\n])(?=[\t\r\n]|\\s*[=+@\uff1d\uff0b\uff0d\uff20-])")
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def rows_csv(result: BoundsResult) -> str:
    """Return `BoundsResult.row_table` as CSV; rows go by their names and numbers in the file.

    Places in the group are given only where the data know nothing else.
    """
    table = result.row_table()
    named = [name for name in ("id", "file_row") if any(cell is not None for cell in table[name])]
    who = ["group", *(named or ["row"])]
    what = ["in_lower", "in_upper", "lower_change", "upper_change"]
    return as_csv({name: table[name] for name in who + what})


def as_csv(columns: Mapping[str, Iterable[Any]]) -> str:
    """Return columns of equal length as CSV, in cells that no spreadsheet runs."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(_cell, row) for row in zip(*columns.values(), strict=True))
    return written.getvalue()


def _cell(value: Any) -> str:
    """Return a value as text: true and false, numbers that lose nothing, nothing for a missing one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return no_formula(value)
    plain = value.item() if hasattr(value, "item") else value
    return str(plain).lower() if isinstance(plain, bool) else repr(plain)


def no_formula(text: str) -> str:
    """Return text with an apostrophe wherever a spreadsheet would start to run it as a formula."""
    return text if _PLAIN_NUMBER.fullmatch(text) else _FORMULA.sub(r"\1'", text)
