"""Group values match as printed: when two values of a column count as the same group."""

from __future__ import annotations

import datetime
import math
import numbers
import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.tables.phrases import counted, listed, nearest, option, shown

Key = tuple[str, Hashable]
"""What of a value counts: its kind (number, truth, text) and its value."""

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_TRUTH = {"true": True, "false": False}
MAX_GROUPS = 10
"""Groups listed in one message."""


def as_text(value: Any) -> str:
    """Return a value as it is printed, blanks around it removed; whole numbers without ``.0``."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time() and value.tzinfo is None:
        value = value.date()
    return unicodedata.normalize("NFC", str(value)).strip()


def match_key(value: Any) -> Key | None:
    """Return the key by which values match, `None` for a missing value.

    ``1``, ``1.0``, ``"1"`` and ``" 1.00 "`` are one number; ``True``, ``"True"`` and ``"true"`` are
    one truth value, which is not the number 1; any other text matches itself, upper and lower case
    distinct, blanks around it ignored.
    """
    if isinstance(value, np.generic):
        value = value.item()
    text = as_text(value)
    if not text:
        return None
    if isinstance(value, bool):
        return "truth", value
    if _NUMBER.fullmatch(text) and isinstance(value, str | numbers.Number):
        return "number", Decimal(text)
    if isinstance(value, str) and text.casefold() in _TRUTH:
        return "truth", _TRUTH[text.casefold()]
    return "text", text


class GroupColumn:
    """The groups of a column: where the rows of each are, and what it is called."""

    def __init__(self, cells: Sequence[Any], column: str) -> None:
        self.column = column
        self.labels: dict[Key, str] = {}
        self._codes = np.full(len(cells), -1, dtype=np.intp)
        self._code_of: dict[Key, int] = {}
        # Few values are repeated many times; True and 1 are one key of a dict, hence the type.
        seen: dict[tuple[type, Any], int] = {}
        for i, cell in enumerate(cells):
            given = (type(cell), cell if isinstance(cell, Hashable) else str(cell))
            self._codes[i] = seen[given] if given in seen else seen.setdefault(given, self._code(cell))

    def _code(self, cell: Any) -> int:
        """Return the number of a cell's group, a new one if need be; -1 for none."""
        key = match_key(cell)
        if key is None:
            return -1
        self.labels.setdefault(key, as_text(cell))
        return self._code_of.setdefault(key, len(self._code_of))

    @property
    def n_missing(self) -> int:
        """Rows without a group."""
        return int(np.count_nonzero(self._codes < 0))

    def rows(self, key: Key) -> NDArray[np.intp]:
        """Positions of the rows of a group."""
        return np.flatnonzero(self._codes == self._code_of[key])

    def described(self) -> str:
        """List the groups and their sizes, the largest first."""
        sizes = Counter(self._codes[self._codes >= 0].tolist())
        ordered = sorted(self._code_of.items(), key=lambda item: -sizes[item[1]])
        parts = [f"{shown(self.labels[key])} ({counted(sizes[code], 'row')})" for key, code in ordered]
        return listed(parts, MAX_GROUPS)

    def find(self, value: Any, name: str) -> Key:
        """Return the key of the group that the option `name` asks for."""
        key = match_key(value)
        if key is None:
            msg = f"{option(name)} must be a value of column {shown(self.column)}; got a missing value."
            raise DataError(msg)
        if key not in self._code_of:
            hint = nearest(as_text(value), self.labels.values())
            msg = (
                f"column {shown(self.column)} has no group {shown(as_text(value))}, asked for with "
                f"{option(name)}.{hint} There are {self.described()}."
            )
            raise DataError(msg)
        return key


def two_groups(column: GroupColumn, hidden: Any, among: Any) -> tuple[Key, Key]:
    """Return the keys of the two groups, or say what is wrong with them."""
    key = match_key(hidden)
    if key is not None and key == match_key(among):
        msg = f"{option('hidden')} and {option('among')} must differ; got {shown(as_text(hidden))} twice."
        raise DataError(msg)
    if not column.labels:
        msg = f"column {shown(column.column)} holds no group: all its values are missing."
        raise DataError(msg)
    if len(column.labels) == 1:
        msg = f"column {shown(column.column)} has only one group, {column.described()}; two are needed."
        raise DataError(msg)
    return column.find(hidden, "hidden"), column.find(among, "among")
