"""Text that stands for numbers or for nothing: decimal commas, words for missing cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from mmdbounds.tables.libraries import import_polars
from mmdbounds.tables.phrases import EXACT_UP_TO

if TYPE_CHECKING:
    import polars as pl

MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "."})
"""Text that stands for a missing cell, in any case of its letters."""

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
WHOLE = r"[+-]?[0-9]+"
DECIMAL_COMMA = r"[+-]?(?:[0-9]+,?[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?"
THOUSANDS = r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+"
"""Numbers as most programs write them; whole; with a comma for the point; with a comma after thousands."""

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
    polars = import_polars()
    schema = frame.schema  # made anew each time that it is asked for
    text = _without_missing(frame.select([name for name in names if str(schema[name]) == "String"]), na)
    numbers, whole = _numbers(text)
    done = {*numbers.columns, *whole.columns}
    unsure = [name for name in text.columns if name not in done]
    commas = _matching(text.select(unsure), DECIMAL_COMMA)
    if len(_matching(text.select(commas), _UNSURE)) == len(commas):
        commas = []
    points, _ = _numbers(text.select(polars.col(commas).str.replace(",", ".", literal=True)))
    return frame.with_columns(numbers).with_columns(whole).with_columns(points), commas


def _without_missing(text: pl.DataFrame, na: Collection[str]) -> pl.DataFrame:
    """Return cells without blanks around them, and nothing where they stand for a missing one.

    All columns in one go: a call of polars for each of ten thousand takes seconds.
    """
    polars = import_polars()
    cells = polars.all().str.strip_chars()
    words = cells.str.to_lowercase().is_in([*MISSING_WORDS, "none"]) | cells.is_in([str(word) for word in na])
    return text.select(polars.when(~words).then(cells).name.keep())


def _numbers(text: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the columns that are numbers, and those of whole numbers too large for float64.

    Of these float64 would lose digits. They become integers, or stay text where no integer type has them.
    """
    polars = import_polars()
    numbers = _all_cast(text, polars.Float64)
    sizes = numbers.select(polars.all().abs().max()).rows()  # one row, or none of no columns
    pairs = zip(numbers.columns, sizes[0] if sizes else (), strict=True)
    large = [name for name, size in pairs if size is not None and size >= EXACT_UP_TO]
    large = _matching(text.select(large), WHOLE)
    whole = _all_cast(text.select(polars.col(large).str.strip_prefix("+")), polars.Int128)
    return numbers.drop(large), whole


def _all_cast(text: pl.DataFrame, dtype: Any) -> pl.DataFrame:
    """Return the columns of which every cell that is there can be cast."""
    polars = import_polars()
    if not text.width:
        return text
    cast = text.select(polars.all().cast(dtype, strict=False))
    before, after = text.null_count().row(0), cast.null_count().row(0)
    return cast.select([name for name, n, m in zip(text.columns, before, after, strict=True) if n == m])


def _matching(text: pl.DataFrame, pattern: str) -> list[str]:
    """Return the columns of which every cell that is there matches a pattern."""
    polars = import_polars()
    if not text.width:
        return []
    answers = text.select(polars.all().str.contains(f"^(?:{pattern})$").fill_null(True).all()).row(0)
    return [name for name, matches in zip(text.columns, answers, strict=True) if matches]
