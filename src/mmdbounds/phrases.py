"""Numbers, names and lines in print: what the sentences are made of."""

from __future__ import annotations

import decimal
import textwrap
from typing import Any

from numpy.typing import NDArray

from mmdbounds.results import Side

ROWS_NAMED = 8
"""Rows named in a summary; all of them are in the result."""

WIDTH = 100
"""Columns of a line; tables are not wrapped."""

LONGEST_NAME = 60
"""Characters of a group's or row's name that are shown."""


def percent(share: float) -> str:
    """Return a share as people write it: 20 %, 3.5 %, 0.12 %."""
    return f"{100 * share:.3g} %"


def number(value: float) -> str:
    """Return a value with four significant digits."""
    return f"{value:.4g}"


def proved_number(value: float, side: Side) -> str:
    """Return a proved bound with four significant digits, rounded away from the interval: still proved."""
    rounding = decimal.ROUND_FLOOR if side == "lower" else decimal.ROUND_CEILING
    return number(float(decimal.Context(prec=4, rounding=rounding).create_decimal_from_float(value)))


def rows(count: int) -> str:
    """Return ``1 row`` or ``7 rows``."""
    return f"{count:,} row{'' if count == 1 else 's'}"


def wrapped(text: str, indent: str = "") -> str:
    """Return a sentence in lines of at most `WIDTH` columns, all but the first indented further."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  " if indent else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


def shown(name: object) -> str:
    """Return a name from the data on one line, without control characters and of bounded length."""
    text = str(name)
    if len(text) > LONGEST_NAME:
        text = text[: LONGEST_NAME - 3] + "..."
    return text if text.isprintable() else repr(text)


def row_name(letter: str, place: int, name: str | None, file_row: int | None) -> str:
    """Name a row by its id, its row in the file, or its place in X or Y."""
    where = f"{letter}[{place}]" if file_row is None else f"row {file_row}"
    if name is None:
        return where
    return shown(name) if file_row is None else f"{shown(name)} ({where})"


def named_rows(
    letter: str, places: NDArray[Any], ids: NDArray[Any] | None, file_rows: NDArray[Any] | None
) -> str:
    """Name the first few rows that move."""
    names = [
        row_name(letter, place, None if ids is None else ids[i], None if file_rows is None else file_rows[i])
        for i, place in enumerate(places[:ROWS_NAMED])
    ]
    rest = len(places) - len(names)
    return ", ".join(names) + (f" and {rest:,} more" if rest else "")
