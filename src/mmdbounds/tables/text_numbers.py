"""Numbers as people type them: decimal commas, thousands separators, percent and currency signs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mmdbounds.errors import DataError, quoted
from mmdbounds.tables.frames import EXACT_UP_TO, import_polars

if TYPE_CHECKING:
    import polars as pl

DECIMALS = ("point", "comma")  # what decimals can be written with
MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "."})  # in upper or lower case
NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"  # as most programs write it
WHOLE = r"[+-]?[0-9]+"
DECIMAL_COMMA = r"[+-]?(?:[0-9]+,?[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?"
_GROUPED = r"[1-9][0-9]{0,2}(?:,[0-9]{3})"  # and as many more groups as there are
# The thousands of a column are separated by commas if every cell fits the first pattern, and no decimal comma
# is in it if a cell fits the second. With points for commas they are those of 1.234.567,89.
THOUSANDS = rf"[+-]?(?:{_GROUPED}+|[0-9]+)(?:\.[0-9]+)?"
IN_NO_DOUBT = rf"[+-]?{_GROUPED}(?:(?:,[0-9]{{3}})+(?:\.[0-9]+)?|\.[0-9]+)"
_GAPS = " '\u00a0\u2019\u202f"  # blanks and apostrophes between thousands
_WITH_GAPS = rf"[+-]?(?:[1-9][0-9]{{0,2}}(?:[{_GAPS}][0-9]{{3}})+|[0-9]+)(?:[.,][0-9]+)?"
_SIGN = r"%|[$\u00a3\u00a5\u20ac\u20b9]|CHF|EUR|GBP|JPY|USD"
_PREFIX, _SUFFIX = rf"^([+-]?)\s*({_SIGN})\s*", rf"\s*({_SIGN})$"


def _swapped(pattern: str) -> str:
    """Return a pattern with points for commas and commas for points."""
    return pattern.replace(r"\.", "\0").replace(",[", r"\.[").replace("\0", ",")


_NUMERIC = re.compile(
    "|".join(
        [NUMBER, DECIMAL_COMMA, THOUSANDS, _swapped(THOUSANDS), _WITH_GAPS, "[+-]?(?:inf|infinity|nan)"]
    ),
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Understood:
    """A table whose text that is numbers has become numbers, and what it took."""

    frame: pl.DataFrame
    commas: list[str] = field(default_factory=list)  # columns that write decimals with a comma
    points: list[str] = field(default_factory=list)  # columns that separate thousands by commas
    removed: dict[str, str] = field(default_factory=dict)  # what was taken off the cells of columns, in words
    as_typed: pl.DataFrame | None = None  # cells of text columns in which a point was taken for a decimal's


def is_missing(text: str, na: Collection[str]) -> bool:
    """Tell whether a cell, without blanks around it, stands for a missing one."""
    return text.lower() in MISSING_WORDS or text in na


def sign_of(text: str) -> str:
    """Return the percent or currency sign of a cell, an empty text if it has none."""
    found = re.match(_PREFIX, text) or re.search(_SUFFIX, text)
    return found[found.lastindex or 0] if found else ""


def is_numeral(text: str) -> bool:
    """Tell whether a cell looks like a number: with a point or commas, thousands separators or a sign."""
    bare = re.sub(_SUFFIX, "", re.sub(_PREFIX, r"\1", text))
    return _NUMERIC.fullmatch(bare) is not None


def possible_decimals(texts: Collection[str]) -> list[str]:
    """Return what the decimals of numbers with commas can be written with, so that all of them are read."""
    patterns = {"point": [THOUSANDS], "comma": [DECIMAL_COMMA, _swapped(THOUSANDS)]}
    return [
        decimal
        for decimal, styles in patterns.items()
        if any(all(re.fullmatch(style, text) for text in texts) for style in styles)
    ]


def numbers_from_text(
    frame: pl.DataFrame,
    names: Sequence[str],
    na: Collection[str],
    decimal: str | None = None,
    has_points: Callable[[], bool] = lambda: False,
) -> Understood:
    """Turn text columns into numbers where every cell is a number or a word for a missing one.

    ``1,234`` can be one thousand or one. It is what `decimal` says; else what a cell of the column or another
    column settles: ``1,234.5``, ``1,5``, or decimal points in columns that are numbers already, which
    `has_points` looks for. It stays text otherwise.
    """
    polars = import_polars()
    schema = frame.schema  # polars makes it anew each time
    text = _without_missing(frame.select([name for name in names if str(schema[name]) == "String"]), na)
    given = text
    # With decimal commas, the points of 1.234 are not those of a decimal number.
    numbers, whole = _numbers(text.drop(_containing(text, r".*\..*") if decimal == "comma" else []))
    text, signed = _without_signs(text.drop([*numbers.columns, *whole.columns]))
    text, gapped = _without_gaps(text)
    points, commas = _styles(text, decimal, has_points)
    bare = text.with_columns(
        polars.col(points).str.replace_all(",", "", literal=True),
        polars.col(commas).str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True),
    )
    understood, large = _numbers(bare.select(list(dict.fromkeys([*signed, *gapped, *points, *commas]))))
    found = {*understood.columns, *large.columns}
    words = {name: [kind] for name, kind in signed.items() if name in found}
    for name in (*gapped, *_containing(text.select(points), ".*,.*")):
        words.setdefault(name, []).append("thousands separators")
    for each in (numbers, whole, understood, large):
        frame = frame.with_columns(each)
    removed = {name: " and ".join(kinds) for name, kinds in words.items() if name in found}
    parts = given.select(numbers.columns), bare.select([n for n in understood.columns if n not in commas])
    as_typed = polars.concat(parts, how="horizontal").drop(points, strict=False)
    return Understood(frame, commas, points, removed, as_typed)


def require_one_decimal(found: Understood, typed: pl.DataFrame, label: str) -> None:
    """Refuse a file with decimal commas and points; `typed` are the columns of numbers, as they are typed.

    What is asked of these is asked of text that has become numbers, too: a word for a missing cell or a sign
    makes a column text, and its points are no less doubtful.
    """
    by_column = [typed] if found.as_typed is None else [typed, found.as_typed]
    points = [name for each in by_column for name in _containing(each, r".*\..*")]
    if others := [*found.points, *points]:
        both = f"with a comma in {quoted(found.commas[0])} and with a point in {quoted(others[0])}"
        may_be_thousands = not found.points and not any(map(has_decimal_point, by_column))
        hint = ", or set `decimal=` to 'comma' if points separate thousands" if may_be_thousands else ""
        msg = f"{label} writes decimals {both}. Write all of them with a point{hint}."
        raise DataError(msg)


def has_decimal_point(text: pl.DataFrame) -> bool:
    """Tell whether a cell has a point that cannot separate thousands."""
    grouped = rf"^\s*(?:{_swapped(THOUSANDS)})\s*$"
    return bool(
        _where(
            text, lambda cells: (cells.str.contains(".", literal=True) & ~cells.str.contains(grouped)).any()
        )
    )


def _styles(
    text: pl.DataFrame, decimal: str | None, has_points: Callable[[], bool]
) -> tuple[list[str], list[str]]:
    """Return the columns with commas between thousands, and those with decimal commas."""
    text = text.select(_containing(text, ".*[,.].*"))
    grouped, commas = _matching(text, THOUSANDS), _matching(text, DECIMAL_COMMA)
    by_points = _matching(text, _swapped(THOUSANDS))
    if decimal is not None:
        return (grouped, []) if decimal == "point" else ([], list(dict.fromkeys([*commas, *by_points])))
    sure = _containing(text.select(grouped), IN_NO_DOUBT)
    either = [name for name in commas if name in grouped]
    commas = [name for name in commas if name not in grouped]
    commas += _containing(text.select(by_points), _swapped(IN_NO_DOUBT))
    if either and commas:
        commas += either
    elif either and (sure or has_points()):
        sure += either
    return sure, commas


def _without_signs(text: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return cells without percent or currency signs, where all of a column have the same; and which."""
    polars = import_polars()
    if not text.width:
        return text, {}
    cells = polars.all()
    before, behind = cells.str.extract(_PREFIX, 2), cells.str.extract(_SUFFIX, 1)
    signs = text.select(polars.when(before.is_null()).then(behind).otherwise(before).name.keep())
    firsts = signs.select(cells.drop_nulls().first()).row(0)
    kinds = signs.select(cells.drop_nulls().n_unique()).row(0)
    missing = zip(signs.null_count().row(0), text.null_count().row(0), strict=True)
    signed = {
        name: "percent signs" if sign == "%" else f"currency signs ({sign})"
        for name, sign, n, (unsigned, gone) in zip(text.columns, firsts, kinds, missing, strict=True)
        if n == 1 and unsigned == gone
    }
    bare = polars.col(list(signed)).str.replace(_PREFIX, "${1}").str.replace(_SUFFIX, "")
    return text.with_columns(bare), signed


def _without_gaps(text: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return cells without blanks and apostrophes between thousands, and the columns that had them."""
    polars = import_polars()
    gapped = _containing(text.select(_matching(text, _WITH_GAPS)), f".*[{_GAPS}].*")
    return text.with_columns(polars.col(gapped).str.replace_all(f"[{_GAPS}]", "")), gapped


def _without_missing(text: pl.DataFrame, na: Collection[str]) -> pl.DataFrame:
    """Return cells without blanks around them, and null where they stand for a missing one."""
    polars = import_polars()
    # All columns in one go: a call of polars for each of ten thousand takes seconds.
    cells = polars.all().str.strip_chars()
    words = cells.str.to_lowercase().is_in([*MISSING_WORDS, "none"]) | cells.is_in([str(word) for word in na])
    return text.select(polars.when(~words).then(cells).name.keep())


def _numbers(text: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the columns that are numbers, and those of whole numbers that float64 would round, as integers.

    Where no integer type holds the latter, they stay text.
    """
    polars = import_polars()
    numbers = _all_cast(text, polars.Float64)
    sizes = numbers.select(polars.all().abs().max()).rows()  # one row, or none without columns
    pairs = zip(numbers.columns, sizes[0] if sizes else (), strict=True)
    large = [name for name, size in pairs if size is not None and size >= EXACT_UP_TO]
    large = _matching(text.select(large), WHOLE)
    whole = _all_cast(text.select(polars.col(large).str.strip_prefix("+")), polars.Int128)
    return numbers.drop(large), whole


def _all_cast(text: pl.DataFrame, dtype: Any) -> pl.DataFrame:
    """Return the columns in which every cell that is not missing can be cast."""
    polars = import_polars()
    if not text.width:
        return text
    cast = text.select(polars.all().cast(dtype, strict=False))
    before, after = text.null_count().row(0), cast.null_count().row(0)
    return cast.select([name for name, n, m in zip(text.columns, before, after, strict=True) if n == m])


def _matching(text: pl.DataFrame, pattern: str) -> list[str]:
    """Return the columns in which every cell that is not missing matches a pattern."""
    return _where(text, lambda cells: cells.str.contains(f"^(?:{pattern})$").fill_null(True).all())


def _containing(text: pl.DataFrame, pattern: str) -> list[str]:
    """Return the columns in which some cell matches a pattern."""
    return _where(text, lambda cells: cells.str.contains(f"^(?:{pattern})$").any())


def _where(text: pl.DataFrame, question: Callable[[Any], Any]) -> list[str]:
    """Return the columns for which a question about their cells is answered by true."""
    if not text.width:
        return []
    answers = text.select(question(import_polars().all())).row(0)
    return [name for name, answer in zip(text.columns, answers, strict=True) if answer]
