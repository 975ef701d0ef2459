"""Text that stands for numbers or for nothing: decimal commas, words for missing cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "."})
"""Text that stands for a missing cell, in any case of its letters."""

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
DECIMAL_COMMA = r"[+-]?(?:[0-9]+,?[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?"
THOUSANDS = r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+"
"""Numbers as most programs write them, with a comma for the point, and with a comma after thousands."""

_UNSURE = rf"{THOUSANDS}|[+-]?[0-9]+"

_NUMERIC = re.compile(f"{NUMBER}|{DECIMAL_COMMA}|{THOUSANDS}|[+-]?(?:inf|infinity|nan)", re.IGNORECASE)


def is_missing(text: str, na: Collection[str]) -> bool:
    """Tell whether a cell, blanks around it removed, stands for a missing one."""
    return text.lower() in MISSING_WORDS or text in na


def is_numeral(text: str) -> bool:
    """Tell whether a cell looks like a number, with a point or with commas."""
    return _NUMERIC.fullmatch(text) is not None


def numbers_from_text(
    frame: pl.DataFrame, names: Sequence[str], na: Collection[str]
) -> tuple[pl.DataFrame, list[str]]:
    """Turn text columns into numbers where every cell is a number or a word for a missing one.

    Parameters
    ----------
    frame
        A table as it was read from CSV.
    names
        Columns to look at.
    na
        Words for missing cells, beside the usual ones.

    Returns
    -------
    frame, commas
        The table, and the columns in which decimals are written with a comma. ``1,234`` can be one
        thousand or one; it is a decimal if another column leaves no doubt that commas are, and stays
        text otherwise.
    """
    text = {
        name: frame.get_column(name).str.strip_chars()
        for name in names
        if str(frame.schema[name]) == "String"
    }
    gone = {name: _missing(cells, na) for name, cells in text.items()}
    numbers = [number for name, cells in text.items() if (number := _numbers(cells, gone[name])) is not None]
    done = {number.name for number in numbers}
    commas = {
        name: cells
        for name, cells in text.items()
        if name not in done and _all_match(cells, gone[name], DECIMAL_COMMA)
    }
    if all(_all_match(cells, gone[name], _UNSURE) for name, cells in commas.items()):
        commas = {}
    for name, cells in commas.items():
        number = _numbers(cells.str.replace(",", "."), gone[name])
        numbers += [] if number is None else [number]
    return frame.with_columns(numbers), list(commas)


def _missing(cells: pl.Series, na: Collection[str]) -> pl.Series:
    words = cells.str.to_lowercase().is_in([*MISSING_WORDS, "none"])
    return cells.is_null() | words | cells.is_in(list(na))


def _numbers(cells: pl.Series, missing: pl.Series) -> pl.Series | None:
    """Return cells as numbers, `None` if one of them is neither a number nor missing."""
    number = cells.set(missing, None).cast(float, strict=False)
    return number if bool((missing | number.is_not_null()).all()) else None


def _all_match(cells: pl.Series, missing: pl.Series, pattern: str) -> bool:
    return bool((missing | cells.str.contains(f"^(?:{pattern})$")).all())
