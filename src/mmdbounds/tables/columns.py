"""Columns of any kind become numbers: truth as 0 and 1, text as a category, and each on its scale."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.tables import frames
from mmdbounds.tables.matching import as_text
from mmdbounds.tables.numerals import is_missing, is_numeral
from mmdbounds.tables.phrases import counted, listed, option, shown
from mmdbounds.tables.scaling import SCALERS, Rule, by_deviation, category_weight, has_quartiles

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw

MAX_CATEGORIES = 50
"""Different values of a text column from which on it is no category."""

MOST_DIGITS = 38
"""Digits of the largest integers that DataFrames have."""

_DATE = re.compile(r"(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})([ T].*)?")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """What is known of a feature column beside its values.

    Attributes
    ----------
    name
        As in the table.
    kind
        ``"number"``, ``"integer"``, ``"boolean"`` or ``"category"``.
    categories
        The values of a category, in order; its cells are places in them.
    offset
        What was subtracted from whole numbers too large for float64; as text, because of that.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    offset: str = ""

    @property
    def is_continuous(self) -> bool:
        """Whether differences between its numbers mean something."""
        return self.kind in ("number", "integer")

    @property
    def described(self) -> str:
        """In words what the column holds."""
        words = {"number": "numbers", "integer": "whole numbers", "boolean": "true or false"}
        return words.get(self.kind, f"{len(self.categories)} categories")


def read_columns(
    frame: nw.DataFrame[Any],
    names: Sequence[str],
    rows: NDArray[np.intp],
    na: Sequence[str],
    id_: str | None,
    scale: str,
) -> tuple[NDArray[np.float64], list[Column]]:
    """Return some rows of the feature columns as numbers, missing cells as NaN, and what the columns hold.

    Parameters
    ----------
    frame
        The table.
    names
        The features.
    rows
        Rows of both groups: whatever is decided here hangs on no others, nor on their labels.
    na
        Words and numbers for missing cells, beside the usual ones.
    id_
        The column that names the rows, if one was given.
    scale
        One of `TABLE_SCALES`; all but ``"none"`` make the zero of a column of no account.
    """
    kinds = frames.kinds(frame, names)
    values = np.empty((len(rows), len(names)))
    columns, refused = [], {}
    absent = [float(word) for word in na if is_numeral(word) and "," not in word]
    for j, (name, kind) in enumerate(kinds.items()):
        if kind == "text":
            series = frame.get_column(name)
            given, declared = frames.cells(series), frames.is_category(series)
            codes, categories, trouble = as_category([given[i] for i in rows], na, declared=declared)
            values[:, j] = codes
            columns.append(Column(name, "category", categories))
        elif kind in frames.NOT_NUMBERS:
            trouble = "dates or times" if kind == "date" else f"type {frames.type_name(frame[name])}"
        else:
            series = frame.get_column(name)
            values[:, j] = frames.column_numbers(series)[rows]
            gone = np.isin(values[:, j], absent) if absent and kind != "boolean" else None
            offset, trouble = "", ""
            if frames.may_lose_digits(series, values[:, j]):
                offset, trouble = _centred(frames.cells(series), rows, values[:, j], scale)
            if gone is not None:
                values[gone, j] = np.nan
            columns.append(Column(name, kind, offset=offset))
        if trouble:
            refused[name] = trouble
    if refused:
        raise DataError(_refusal(refused, id_))
    return values, columns


def _centred(
    cells: Sequence[Any], rows: NDArray[np.intp], values: NDArray[np.float64], scale: str
) -> tuple[str, str]:
    """Write the cells, less one of them, over the values; return that one, and what speaks against it.

    Subtracted as whole numbers (or decimals), so that no digit is lost before.
    """
    given = [cells[i] for i in rows]
    if not frames.n_rounded(given, values):
        return "", ""
    if scale == "none":
        return "", "whole numbers beyond 2^53, of which digits would be lost"
    there = sorted(cell for cell in given if cell is not None)
    offset = there[len(there) // 2]
    values[:] = [np.nan if cell is None else float(cell - offset) for cell in given]
    return str(offset), ""


def as_category(
    cells: Sequence[Any], na: Collection[str], *, declared: bool = False
) -> tuple[NDArray[np.float64], tuple[str, ...], str]:
    """Return the place of each cell in the sorted categories, the categories, and what speaks against them.

    Parameters
    ----------
    cells
        Text, `None` where a cell is missing.
    na
        Words for missing cells, beside the usual ones.
    declared
        Whether the column's type says that it is a category, so that numbers and dates are no slips.
    """
    texts = {cell: as_text(cell) for cell in set(cells)}
    names = sorted({text for text in texts.values() if not is_missing(text, na)})
    if trouble := _trouble(names, len(cells), declared):
        return np.full(len(cells), np.nan), (), trouble
    place = {name: float(i) for i, name in enumerate(names)}
    code = {cell: place.get(text, np.nan) for cell, text in texts.items()}
    return np.array([code[cell] for cell in cells]), tuple(names), ""


def _trouble(names: Sequence[str], n_rows: int, declared: bool) -> str:
    """Say in words why text cannot be a category; nothing if it can."""
    if declared:
        return f"{len(names)} categories" if len(names) > MAX_CATEGORIES else ""
    numerals = sum(map(is_numeral, names))
    if names and all(_DATE.fullmatch(name) for name in names):
        return "text, dates"
    if names and numerals == len(names):
        return _trouble_of_numbers(names)
    # A few words among numbers are slips or words for missing cells, not categories.
    if 2 * numerals > len(names):
        return f"numbers and text, {counted(len(names) - numerals, 'word')}"
    if len(names) > 1 and len(names) == n_rows:
        return "text, different in every row"
    return f"text, {len(names)} different values" if len(names) > MAX_CATEGORIES else ""


def _trouble_of_numbers(names: Sequence[str]) -> str:
    """Say in words why text that is all numbers was not read as numbers."""
    if any("," in name for name in names):
        return "numbers with commas"
    too_long = any(name.strip("+-").isdigit() and len(name) > MOST_DIGITS for name in names)
    return "whole numbers of which digits would be lost" if too_long else "numbers written as text"


def _refusal(refused: Mapping[str, str], id_: str | None) -> str:
    """Return the message about columns that cannot be compared, with what to do about each sort."""
    naming = next((name for name, words in refused.items() if "every row" in words), None)
    advice = f"Leave columns out with {option('exclude')}"
    if naming is not None and id_ is None:
        advice = f"If {shown(naming)} names the rows, pass {option('id')}; l{advice[1:]}"
    for word, more in (
        ("dates", "turn dates into numbers of days first"),
        ("commas", "write decimals with a point"),
        ("numbers and text", f"name words for missing cells with {option('na')}"),
        ("written as text", "turn text into numbers first"),
        ("be lost", "subtract a constant from large numbers first"),
        ("different values", f"make categories of at most {MAX_CATEGORIES} values"),
    ):
        if any(word in words for words in refused.values()):
            advice += f", or {more}"
    start = "1 column cannot" if len(refused) == 1 else f"{len(refused)} columns cannot"
    parts = listed([f"{shown(name)} ({words})" for name, words in refused.items()])
    return f"{start} be compared: {parts}. {advice}."


def features(
    values: NDArray[np.float64], columns: Sequence[Column], scale: str
) -> tuple[NDArray[np.float64], list[str], dict[str, Rule]]:
    """Return the columns on their scale, categories as one 0-1 column for each value; names; and rules.

    Parameters
    ----------
    values
        Rows of both groups, nothing missing, no column constant. Written over where that saves a copy.
    columns
        What the columns hold.
    scale
        One of `TABLE_SCALES`.
    """
    names = [name for column in columns for name in _feature_names(column)]
    made = values if len(names) == len(columns) else np.empty((len(values), len(names)))
    rules: list[Rule] = []
    start = 0
    for j, column in enumerate(columns):
        stop = start + max(1, len(column.categories))
        if column.kind == "category":
            made[:, start:stop], of_each = _indicators(values[:, j], len(column.categories), scale)
            rules += of_each
        else:
            # Quartiles and ranks of two values say nothing that their deviation does not.
            truth = by_deviation if column.kind == "boolean" and scale != "none" else SCALERS[scale]
            made[:, start], rule = truth(values[:, j])
            rules.append([column.offset, *rule] if column.offset else rule)
        start = stop
    return made, names, {} if scale == "none" else dict(zip(names, rules, strict=True))


def _feature_names(column: Column) -> list[str]:
    return [f"{column.name}={value}" for value in column.categories] or [column.name]


def _indicators(
    codes: NDArray[np.float64], n_categories: int, scale: str
) -> tuple[NDArray[np.float64], list[Rule]]:
    """Return a 0-1 column for each category; centred and weighted unless values stay as they are."""
    places = codes.astype(np.intp)
    made = np.zeros((len(codes), n_categories))
    made[np.arange(len(codes)), places] = 1.0
    if scale == "none":
        return made, [[]] * n_categories
    counts = np.bincount(places, minlength=n_categories)
    shares, weight = counts / len(codes), category_weight(counts)
    return (made - shares) * weight, [[float(share), 1 / weight] for share in shares]


def without_quartiles(values: NDArray[np.float64], columns: Sequence[Column]) -> list[str]:
    """Return the columns of numbers whose quartiles are equal, so that ``"robust"`` takes their deviation."""
    return [
        column.name
        for j, column in enumerate(columns)
        if column.is_continuous and not has_quartiles(values[:, j])
    ]
