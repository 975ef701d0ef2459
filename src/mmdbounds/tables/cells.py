"""One column of a table as plain NumPy arrays, whatever the table came from."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
EXACT_UP_TO = 2.0**53  # up to here float64 holds every whole number
NOT_NUMBERS = ("text", "date", "other")  # kinds of columns that are not numbers
MOST_DIGITS = 38  # digits of the largest whole numbers that are read
_DATES = (datetime.date, datetime.time, datetime.timedelta)  # a datetime is a date
_MAY_BE_MISSING = (float, np.floating, Decimal, *_DATES)  # NaN, and pandas' NaT, which is a date


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cells of one column.

    Numbers keep the type that they came in; whole numbers beyond 64 bits and decimals are Python objects, and
    so are text and dates.
    """

    kind: str  # "number" (also without a value), "integer", "boolean" or one of `NOT_NUMBERS`
    values: NDArray[Any]  # anything where a cell is missing
    missing: NDArray[np.bool_]
    is_category: bool = False  # said by the type of the column, not only by its cells
    type_name: str = ""  # what messages call a column of kind "other"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers or booleans."""
        return self.kind not in NOT_NUMBERS

    def given(self, rows: NDArray[np.intp] | None = None) -> list[Any]:
        """Return cells as Python values, `None` where one is missing; `rows` are all of them by default."""
        chosen: Any = slice(None) if rows is None else rows
        values, missing = self.values[chosen], self.missing[chosen]
        if not missing.any():
            return values.tolist()  # type: ignore[no-any-return]
        return [None if gone else cell for gone, cell in zip(missing.tolist(), values.tolist(), strict=True)]

    def floats(self) -> Floats:
        """Return numbers or booleans as float64, missing cells as NaN."""
        if not self.missing.any():
            return np.asarray(self.values, dtype=np.float64)
        floats = np.full(len(self), np.nan)
        floats[~self.missing] = self.values[~self.missing]
        return floats

    def integers(self) -> NDArray[Any]:
        """Return the cells of an integer column as integers, without the missing ones."""
        return self.values[~self.missing] if self.missing.any() else self.values

    def may_lose_digits(self, floats: Floats) -> bool:
        """Tell whether the type of the cells has more digits than float64, and some are that large."""
        if np.fmax.reduce(np.abs(floats), initial=0.0) < EXACT_UP_TO:
            return False
        return self.kind == "integer" or self.values.dtype == object


def n_rounded(given: Sequence[Any], floats: Floats) -> int:
    """Return how many whole numbers or decimals float64 rounds; missing cells (`None`) do not count."""
    pairs = zip(given, floats.tolist(), strict=True)
    return sum(type(cell)(value) != cell for cell, value in pairs if cell is not None)


def of_floats(floats: Floats, kind: str = "number") -> Cells:
    """Return numbers of which NaN are missing."""
    return Cells(kind, floats, np.isnan(floats))


def of_texts(texts: Iterable[str | None], n: int) -> Cells:
    """Return `n` cells of text, `None` where one is missing."""
    values: NDArray[Any] = np.fromiter(texts, dtype=object, count=n)
    return Cells("text", values, np.array([value is None for value in values], dtype=np.bool_))


def of_array(array: NDArray[Any]) -> Cells | None:
    """Return the cells of a 1-D array; `None` if they are of several types that do not go together."""
    if np.ma.isMaskedArray(array):
        return of_values(array.tolist())
    kind = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}.get(array.dtype.kind)
    if kind is not None:
        missing = np.isnan(array) if kind == "number" else np.zeros(len(array), dtype=np.bool_)
        return Cells(kind, array, missing)
    if array.dtype.kind == "M":
        return of_values(array.astype("datetime64[us]").tolist())
    return of_values(array.tolist())


def of_values(values: Sequence[Any]) -> Cells | None:
    """Return the cells of Python values; `None` if they are of several types that do not go together."""
    kinds = {_kind(value) for value in values} - {""}
    if kinds == {"integer", "boolean"}:
        kinds = {"integer"}
    elif kinds <= {"number", "integer", "boolean"} and "number" in kinds:
        kinds = {"number"}
    if len(kinds) > 1:
        return None
    kind = kinds.pop() if kinds else "number"
    missing = np.fromiter((_kind(value) == "" for value in values), dtype=np.bool_, count=len(values))
    if missing.all():
        return Cells("number", np.zeros(len(values)), missing)
    present = [value for value, gone in zip(values, missing, strict=True) if not gone]
    name = type(present[0]).__name__
    if kind == "integer" and max(map(abs, present)) >= 10**MOST_DIGITS:
        kind, name = "other", "whole numbers with too many digits"
    if kind in ("number", "integer", "boolean"):
        numbers = _numbers(present)
        array = np.zeros(len(values), dtype=numbers.dtype)
        array[~missing] = numbers
        return Cells(kind, array, missing)
    return Cells(kind, _objects(values), missing, type_name=name)


def _kind(value: Any) -> str:
    """Return which kind of column a value belongs to; an empty text for a missing one."""
    if value is None or (isinstance(value, _MAY_BE_MISSING) and value != value):  # noqa: PLR0124 - NaN
        return ""
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, int | np.integer):
        return "integer"
    if isinstance(value, float | np.floating | Decimal):
        return "number"
    if isinstance(value, str):
        return "text"
    return "date" if isinstance(value, _DATES) else "other"


def _numbers(values: list[Any]) -> NDArray[Any]:
    """Return numbers as an array: whole numbers beyond 64 bits and decimals as objects."""
    if any(isinstance(value, Decimal) for value in values):
        return _objects(values)
    array = np.asarray(values)
    are_whole = not any(isinstance(value, float | np.floating) for value in values)
    return _objects(values) if are_whole and array.dtype.kind not in "biu" else array


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))
