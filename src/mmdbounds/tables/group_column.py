"""The group column: its values match as they are printed, and two of its groups are compared."""

from __future__ import annotations

import datetime
import math
import numbers
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
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


def folded(key: Key) -> Key:
    """Return what a label has in common with those that differ from it only in case or blanks."""
    kind, value = key
    return (kind, "".join(value.casefold().split())) if isinstance(value, str) else key


class GroupColumn:
    """The groups of a column: where the rows of each are, and what it is called.

    With `fold`, labels that differ only in case or blanks are one group, called as its first row calls it.
    """

    def __init__(self, cells: Sequence[Any], column: str, *, fold: bool = False) -> None:
        self.column, self._fold = column, fold
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
        if (key := self._key(cell)) is None:
            return -1
        self.labels.setdefault(key, as_text(cell))
        return self._code_of.setdefault(key, len(self._code_of))

    def _key(self, value: Any) -> Key | None:
        key = match_key(value)
        return folded(key) if self._fold and key is not None else key

    def spelled(self, cells: Sequence[Any]) -> Sequence[Any]:
        """Return cells of another column with its labels spelled as in this one."""
        if not self._fold:
            return cells
        return [cell if (key := self._key(cell)) is None else self.labels.get(key, cell) for cell in cells]

    @property
    def n_missing(self) -> int:
        """Rows without a group."""
        return int(np.count_nonzero(self._codes < 0))

    def rows(self, key: Key) -> NDArray[np.intp]:
        """Positions of the rows of a group."""
        return np.flatnonzero(self._codes == self._code_of[folded(key) if self._fold else key])

    def sizes(self) -> dict[Key, int]:
        """Return the groups and their sizes, the largest first."""
        sizes = Counter(self._codes[self._codes >= 0].tolist())
        return {key: sizes[code] for key, code in sorted(self._code_of.items(), key=lambda it: -sizes[it[1]])}

    def described(self, keys: Collection[Key] | None = None) -> str:
        """List the groups, or some of them, and their sizes, the largest first."""
        sizes = {key: size for key, size in self.sizes().items() if keys is None or key in keys}
        return listed(
            [f"{quoted(self.labels[key])} ({counted(n, 'row')})" for key, n in sizes.items()], MAX_GROUPS
        )

    def others(self, keys: Collection[Key]) -> dict[str, int]:
        """Return the labels of the largest other groups, and how many rows each has."""
        sizes = [(self.labels[key], n) for key, n in self.sizes().items() if key not in keys]
        return dict(sizes[:MAX_GROUPS])

    def alike(self, keys: Collection[Key] = ()) -> str:
        """List the labels that differ only in case or blanks: any of them, or those like `keys`.

        Whoever names two such labels as `keys` means two groups.
        """
        alike: dict[Key, list[Key]] = {}
        for key in self.labels:
            alike.setdefault(folded(key), []).append(key)
        found = [
            self.described(same)
            for same in alike.values()
            if len(same) > 1 and not (keys and (set(same) <= set(keys) or set(same).isdisjoint(keys)))
        ]
        return "; and ".join(found)

    def require_apart(self, keys: Collection[Key] = ()) -> None:
        """Refuse such labels."""
        if found := self.alike(keys):
            what = f"column {quoted(self.column)} has {found}"
            to_do = "Set `fold_labels=True` to read such labels as one group, or rename them"
            msg = f"{what}: these differ only in case or blanks. {to_do}."
            raise DataError(msg)

    def find(self, value: Any, argument: str) -> Key:
        """Return the key of the group that was given as `argument`."""
        if (key := self._key(value)) is None:
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
        keys = column.find(hidden, "hidden"), column.find(among, "among")
        if keys[0] != keys[1]:
            column.require_apart(keys)
            return keys
        msg = f"`hidden` and `among` must differ; got {quoted(as_text(hidden))} and {quoted(as_text(among))}."
    raise DataError(msg)
