"""Columns of any kind become numbers, text as categories; missing cells are refused, dropped or filled."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, counted, listed, quoted, quoted_list
from mmdbounds.tables import dates
from mmdbounds.tables.cells import MOST_DIGITS, Cells, n_rounded
from mmdbounds.tables.group import require_finite
from mmdbounds.tables.group_column import as_text
from mmdbounds.tables.reading import Reading, Trouble
from mmdbounds.tables.text_numbers import (
    NUMBER,
    ODD_SPELLINGS,
    Marks,
    ascii_digits,
    is_missing,
    is_numeral,
    marks_of,
    odd_spelling,
    possible_decimals,
    sign_of,
    unit_of,
)

if TYPE_CHECKING:
    from mmdbounds.tables.files import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]  # places of rows in the table
MISSING = ("refuse", "drop", "impute")  # what can be done about missing cells
MAX_CATEGORIES = 50  # most values of a text column that is a category
MOST_WORDS = 20  # words among numbers that a message lists, so that `na=` can name them


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """What is known of a feature column beside its values."""

    name: str
    kind: str  # "number", "integer", "days", "boolean" or "category"
    categories: tuple[str, ...] = ()  # in order; the cells of a category are places in them
    offset: str = ""  # what was subtracted from whole numbers too large for float64, hence text

    @property
    def is_continuous(self) -> bool:
        """Whether differences between its numbers mean something."""
        return self.kind in ("number", "integer", "days")

    @property
    def described(self) -> str:
        """In words what the column holds."""
        words = {"number": "numbers", "integer": "whole numbers", "boolean": "true or false"}
        words["days"] = f"dates, as days since {dates.REFERENCE:%Y-%m-%d}"
        return words.get(self.kind, f"{len(self.categories)} categories")


@dataclass(frozen=True, slots=True, eq=False)
class ReadColumns:
    """The feature columns as numbers, and those that could not become numbers."""

    values: Floats  # missing cells are NaN
    columns: list[Column]
    refused: dict[str, Trouble] = field(default_factory=dict)
    dates: list[str] = field(default_factory=list)  # columns of dates that are left out, as asked

    def n_missing(self) -> dict[str, int]:
        """Return how many cells are missing, by column, where any is."""
        counts = np.isnan(self.values).sum(axis=0).tolist()
        return {column.name: n for column, n in zip(self.columns, counts, strict=True) if n}


DATES_REFUSED = (dates.REFUSED, dates.REFUSED_TEXT, dates.TIMES_OF_DAY)
_IN_EVERY_ROW = Trouble("text, different in every row")
_NAME_WORDS = "name words for missing cells with `na=`"
_LARGE_ADVICE = "subtract a constant from large numbers first"
_POINTS = Trouble(
    "points that may separate thousands",
    "set `decimal=` to 'point' if 1.234 is little more than 1, or to 'comma' if it is a thousand",
    ("decimal", "point"),
)
_COMMAS = Trouble("numbers with commas", "write decimals with a point")
_SIGNS = Trouble("numbers, not all with the same sign", "write a column with one percent or currency sign")


def read_columns(table: Table, names: Sequence[str], rows: Rows, reading: Reading, scale: str) -> ReadColumns:
    """Return some rows of the feature columns as numbers.

    `rows` are those of both groups: whatever is decided here depends neither on others nor on their labels.
    """
    found = ReadColumns(np.empty((len(rows), len(names))), [])
    for name in names:
        cells, values = table.columns[name], found.values[:, len(found.columns)]
        if cells.kind in ("text", "date"):
            column, trouble = _read_words(name, cells, rows, reading, values)
        elif not cells.is_number:
            column, trouble = Column(name, cells.kind), Trouble(f"type {cells.type_name}")
        else:
            column, trouble = _read_numbers(name, cells, rows, reading, scale, values)
        if trouble in DATES_REFUSED and reading.dates == "drop":
            found.dates.append(name)
        elif trouble is not None:
            is_settled = reading.decimal is not None
            found.refused[name] = _COMMAS if trouble.words == _COMMAS.words and is_settled else trouble
        else:
            found.columns.append(column)
    return replace(found, values=found.values[:, : len(found.columns)])


def _read_words(
    name: str, cells: Cells, rows: Rows, reading: Reading, values: Floats
) -> tuple[Column, Trouble | None]:
    """Write cells of text or dates over `values` as codes of categories or days."""
    trouble: Trouble | None = dates.REFUSED
    categories: tuple[str, ...] = ()
    given = cells.given(rows)
    if cells.kind == "text":
        values[:], categories, trouble = as_category(given, reading.na, declared=cells.is_category)
    if trouble not in DATES_REFUSED or reading.dates in ("refuse", "drop"):
        return Column(name, "category", categories), trouble
    if cells.kind == "text":
        given = [None if is_missing(text, reading.na) else text for text in map(as_text, given)]
    values[:], trouble = dates.as_days(given, reading.dates)
    return Column(name, "days"), trouble


def _read_numbers(
    name: str, cells: Cells, rows: Rows, reading: Reading, scale: str, values: Floats
) -> tuple[Column, Trouble | None]:
    """Write some cells of a column of numbers or booleans over `values`."""
    missing_numbers = [float(word) for word in reading.na if re.fullmatch(NUMBER, word)]
    values[:] = cells.floats()[rows]
    is_absent = np.isin(values, [] if cells.kind == "boolean" else missing_numbers)
    offset, trouble = "", None
    if cells.may_lose_digits(values):
        offset, trouble = _centre(cells.given(rows), values, scale)
    values[is_absent] = np.nan
    return Column(name, cells.kind, offset=offset), trouble


def _centre(given: Sequence[Any], values: Floats, scale: str) -> tuple[str, Trouble | None]:
    """Write the cells minus the middle one over the values, no digit lost; return that one, or a trouble."""
    if not n_rounded(given, values):
        return "", None
    if scale == "none":
        return "", Trouble("whole numbers beyond 2^53, which float64 would round", _LARGE_ADVICE)
    present = sorted(cell for cell in given if cell is not None)
    offset = present[len(present) // 2]
    values[:] = [np.nan if cell is None else float(cell - offset) for cell in given]
    return str(offset), None


def as_category(
    cells: Sequence[Any], na: Collection[str], *, declared: bool = False
) -> tuple[Floats, tuple[str, ...], Trouble | None]:
    """Return the place of each cell in the sorted categories, the categories, and what is against them."""
    texts = {cell: as_text(cell) for cell in set(cells)}
    names = sorted({text for text in texts.values() if not is_missing(text, na)})
    if trouble := _category_trouble(names, len(cells), declared):
        return np.full(len(cells), np.nan), (), trouble
    place = {name: float(i) for i, name in enumerate(names)}
    code = {cell: place.get(text, np.nan) for cell, text in texts.items()}
    return np.array([code[cell] for cell in cells]), tuple(names), None


def _category_trouble(names: Sequence[str], n_rows: int, declared: bool) -> Trouble | None:
    """Return why text with these values cannot be a category; if `declared` as one, numbers are intended."""
    too_many = len(names) > MAX_CATEGORIES
    advice = f"make categories of at most {MAX_CATEGORIES} values"
    if declared:
        return Trouble(f"{len(names)} categories", advice) if too_many else None
    n_numerals = sum(map(is_numeral, names))
    if trouble := dates.REFUSED_TEXT if dates.are_dates(names) else _unit_trouble(names):
        return trouble
    if names and n_numerals == len(names):
        return _number_trouble(names)
    # A few words among numbers are slips or words for missing cells, not categories.
    if 2 * n_numerals > len(names):
        words = tuple(name for name in names if not is_numeral(name))
        holds = f"numbers and text, {counted(len(words), 'word')}"
        return Trouble(holds, _NAME_WORDS, names=words)
    if len(names) > 1 and len(names) == n_rows:
        return _IN_EVERY_ROW
    return Trouble(f"text, {len(names)} different values", advice) if too_many else None


def _unit_trouble(names: Sequence[str]) -> Trouble | None:
    """Return why text that is all numbers, some with units behind them, was not read as numbers."""
    units = [unit_of(ascii_digits(name)) for name in names]
    if not any(units) or not all(unit or is_numeral(name) for name, unit in zip(names, units, strict=True)):
        return None
    # 1st and 2nd are names, not numbers of something; 1.5 kg is.
    are_numbers = not all(units) or any(mark in name for name in names for mark in " .,")
    return Trouble("numbers, not all with the same unit", "write them in one unit") if are_numbers else None


def _number_trouble(names: Sequence[str]) -> Trouble:
    """Return why text that is all numbers was not read as numbers."""
    names = [ascii_digits(name) for name in names]
    if odd := next(filter(None, map(odd_spelling, names)), None):
        return dates.TIMES_OF_DAY if odd == dates.TIMES_OF_DAY.words else Trouble(odd, ODD_SPELLINGS[odd][1])
    if any(map(sign_of, names)):
        return _SIGNS
    if marks_of(names) is Marks.MAYBE_POINT:
        return _POINTS
    if any("," in name for name in names):
        return _comma_trouble(possible_decimals(names))
    if any(name.strip("+-").isdigit() and len(name) > MOST_DIGITS for name in names):
        return Trouble("whole numbers with too many digits", _LARGE_ADVICE)
    return Trouble("numbers written as text", "turn text into numbers first")


def _comma_trouble(decimals: Sequence[str]) -> Trouble:
    """Return what to do about numbers with commas whose decimals can be written with one of `decimals`."""
    advice = {
        ("point", "comma"): "set `decimal=` to 'point' if 1,234 is a thousand, or to 'comma' if it is not",
        ("point",): "set `decimal=` to 'point' if commas separate thousands",
        ("comma",): "set `decimal=` to 'comma' if points separate thousands",
    }
    if not decimals:
        return _COMMAS
    return Trouble(_COMMAS.words, advice[tuple(decimals)], ("decimal", decimals[0]))


def refusal(refused: Mapping[str, Trouble], id_: str | None) -> str:
    """Return the message about columns that cannot be compared, with what to do about each kind."""
    naming = next((name for name, trouble in refused.items() if trouble is _IN_EVERY_ROW), None)
    is_id = naming is not None and id_ is None
    use = f" If {quoted(naming)} names the rows, set `id=` to it." if is_id else ""
    advice = dict.fromkeys(trouble.advice for trouble in refused.values() if trouble.advice)
    # One word among numbers should not cost the column: naming it comes before leaving the column out.
    first = [each for each in advice if each == _NAME_WORDS]
    rest = [each for each in advice if each != _NAME_WORDS]
    to_do = ", or ".join([*first, "leave columns out with `exclude=`", *rest])
    to_do = to_do[0].upper() + to_do[1:]
    parts = listed([f"{quoted(name)} ({_with_names(trouble)})" for name, trouble in refused.items()])
    return f"{counted(len(refused), 'column')} cannot be compared: {parts}.{use} {to_do}."


def _with_names(trouble: Trouble) -> str:
    """Return what is in the way of a column, with all words that `na=` has to name."""
    return f"{trouble.words}: {quoted_list(trouble.names, MOST_WORDS)}" if trouble.names else trouble.words


def remedies(refused: Mapping[str, Trouble], id_: str | None) -> list[tuple[str, str]]:
    """Return options that let the other columns be compared: each with its value."""
    found: list[tuple[str, str]] = []
    for name, trouble in refused.items():
        can_name = trouble is _IN_EVERY_ROW and id_ is None and "id" not in dict(found)
        if 0 < len(trouble.names) <= MOST_WORDS:
            found += [*(("na", word) for word in trouble.names), ("missing", "impute")]
            continue
        found.append(trouble.remedy or (("id" if can_name else "exclude"), name))
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True, eq=False)
class Complete:
    """Rows without missing cells, and what it took."""

    values: Floats  # the rows and columns that are left
    columns: list[Column]
    kept: NDArray[np.bool_]  # for each row that there was, whether it is left
    empty: list[str] = field(default_factory=list)  # columns without any value, which are left out
    n_filled: dict[str, int] = field(default_factory=dict)  # cells that were filled, by column


def complete(values: Floats, columns: Sequence[Column], missing: str, subject: str) -> Complete:
    """Return rows in which nothing is missing, from those of both groups with missing cells as NaN.

    The values are written over where that saves a copy. ``"drop"`` leaves rows out; ``"impute"`` fills in the
    median of numbers and the most frequent value of categories and booleans (the first of several).
    """
    everyone = np.ones(len(values), dtype=np.bool_)
    names = [column.name for column in columns]
    if missing == "refuse":
        options = "to 'drop' to leave such rows out or to 'impute' to fill the cells"
        advice = f"Set `missing=` {options}, or leave columns out with `exclude=`."
        require_finite(values, names, subject, advice)
        return Complete(values, list(columns), everyone)
    gone = np.isnan(values)
    has_value: NDArray[np.bool_] = np.asarray(~gone.all(axis=0))
    if not has_value.any():
        msg = f"{subject} has no value in any feature column. Check `columns=` and `na=`."
        raise DataError(msg)
    empty = [name for name, there in zip(names, has_value, strict=True) if not there]
    left = [column for column, there in zip(columns, has_value, strict=True) if there]
    if empty:
        values, gone = values[:, has_value], gone[:, has_value]
    values[gone] = 0.0  # only infinite values are to be found
    advice = "Leave such rows out first, or columns with `exclude=`."
    require_finite(values, [column.name for column in left], subject, advice, "infinite")
    if missing == "drop":
        kept: NDArray[np.bool_] = np.asarray(~gone.any(axis=1))
        if not kept.all():
            values = values[kept]
            left = [_without_unused_categories(column, values[:, j]) for j, column in enumerate(left)]
        return Complete(values, left, kept, empty)
    n_filled = {column.name: n for j, column in enumerate(left) if (n := int(gone[:, j].sum()))}
    for j in np.flatnonzero(gone.any(axis=0)):
        values[gone[:, j], j] = _typical(values[~gone[:, j], j], left[j])
    return Complete(values, left, everyone, empty, n_filled)


def _without_unused_categories(column: Column, codes: Floats) -> Column:
    """Return a category without the values that no row has any more; the new places replace the codes."""
    if column.kind != "category" or not len(codes):
        return column
    used, places = np.unique(codes, return_inverse=True)
    codes[:] = places
    return replace(column, categories=tuple(column.categories[int(i)] for i in used))


def _typical(cells: Floats, column: Column) -> float:
    """Return the value that replaces a missing cell."""
    if column.is_continuous:
        ordered = np.sort(cells)
        # Half of each: their sum may be beyond float64.
        return float(ordered[(len(cells) - 1) // 2] / 2 + ordered[len(cells) // 2] / 2)
    found, counts = np.unique(cells, return_counts=True)
    return float(found[np.argmax(counts)])
