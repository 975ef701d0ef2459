"""The group column: its values match as they are printed, and two of its groups are compared."""

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

from mmdbounds.errors import DataError, counted, did_you_mean, listed, quoted

Key = tuple[str, Hashable]  # what two values share that match: their kind (number, truth, text) and value
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_TRUTH = {"true": True, "false": False}
MAX_GROUPS = 10  # groups listed in one message


def as_text(value: Any) -> str:
    """Return a value as it is printed, without blanks around it; whole numbers without ``.0``."""
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
    one truth value, which is not the number 1; any other text matches itself, without blanks around it.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if not (text := as_text(value)):
        return None
    if isinstance(value, bool):
        return "truth", value
    if _NUMBER.fullmatch(text) and isinstance(value, str | numbers.Number):
        return "number", Decimal(text)
    if isinstance(value, str) and text.casefold() in _TRUTH:
        return "truth", _TRUTH[text.casefold()]
    return "text", text


def group_name(value: Any, column: str) -> str:
    """Return what a group is called: its value, ``case = 1`` where a number, a truth value or yes is that."""
    text = as_text(value)
    key = match_key(text)
    is_bare = key is not None and (key[0] != "text" or text.casefold() in ("yes", "no", "y", "n"))
    return f"{column} = {text}" if is_bare else text


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
        """Return the number of a cell's group, a new one for a new group; -1 for a missing cell."""
        if (key := match_key(cell)) is None:
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
        parts = [f"{quoted(self.labels[key])} ({counted(sizes[code], 'row')})" for key, code in ordered]
        return listed(parts, MAX_GROUPS)

    def find(self, value: Any, argument: str) -> Key:
        """Return the key of the group that was given as `argument`."""
        if (key := match_key(value)) is None:
            msg = f"`{argument}` must be a value of column {quoted(self.column)}; got a missing value."
            raise DataError(msg)
        if key not in self._code_of:
            given = f"{quoted(as_text(value))}, given as `{argument}=`"
            hint = f"{did_you_mean(as_text(value), self.labels.values())} The groups are {self.described()}."
            msg = f"column {quoted(self.column)} has no group {given}.{hint}"
            raise DataError(msg)
        return key


def two_groups(column: GroupColumn, hidden: Any, among: Any) -> tuple[Key, Key]:
    """Return the keys of the two groups, or say what is wrong with them."""
    if (key := match_key(hidden)) is not None and key == match_key(among):
        msg = f"`hidden` and `among` must differ; got {quoted(as_text(hidden))} for both."
    elif not column.labels:
        msg = f"column {quoted(column.column)} holds no group: all its values are missing."
    elif len(column.labels) == 1:
        msg = f"column {quoted(column.column)} has only one group, {column.described()}; two are needed."
    else:
        return column.find(hidden, "hidden"), column.find(among, "among")
    raise DataError(msg)
