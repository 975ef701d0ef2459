"""What a user says of single rows: one entry for each, brought to its row by name where it has an index.

A Series that was sorted, filtered or read from another table stands in another order than the rows. Taken by
its places it would say the wrong thing of nearly every row, and nothing would show it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmdbounds.errors import DataError, counted, shown_value
from mmdbounds.tables.frames import is_frame

BY_PLACE = "hand it in without its index, as `.to_numpy()`"


@dataclass(frozen=True)
class ByRow:
    """One entry for each row, as Python values; `index` names their rows if they came with an index."""

    entries: tuple[Any, ...]
    index: tuple[str, ...] | None = None

    @classmethod
    def of(cls, given: Any, wanted: str) -> ByRow:
        """Return a list, array or Series as that; `wanted` begins the message about anything else."""
        if isinstance(given, cls):
            return given
        if hasattr(type(given), "__dask_graph__"):
            given = given.compute()
        came, index = type(given).__name__, index_of(given)
        is_text = isinstance(given, str | bytes)
        if is_text or isinstance(given, Mapping | Set) or not hasattr(given, "__len__"):
            msg = f"{wanted}; got {shown_value(given) if is_text else came}."
            raise DataError(msg)
        try:
            shape, entries = _entries(given)
        except MemoryError:
            raise
        except Exception as error:
            # An array-like can fail in any way. Its message may quote entries, so only its type is shown.
            msg = f"{wanted}; got {came} that cannot be read ({type(error).__name__})."
            raise DataError(msg) from None
        if len(shape) != 1:
            msg = f"{wanted}; got {came} of shape {shape}."
            raise DataError(msg)
        return cls(entries, index)

    def for_rows(self, ids: Iterable[str] | None, n_rows: int, argument: str, of: str) -> list[Any]:
        """Return the entries in the order of the rows, which `ids` names; refuse what fits by place alone.

        `argument` and `of` are what a message calls the entries and those who have the rows.
        """
        names = None if ids is None else [str(name) for name in ids]
        default = [str(i) for i in range(n_rows)]
        if self.index is None or list(self.index) == (default if names is None else names):
            if len(self.entries) != n_rows:
                wanted = f"one entry for each of the {counted(n_rows, 'row')} of {of}"
                msg = f"`{argument}` must have {wanted}; got {len(self.entries):,}."
                raise DataError(msg)
            return list(self.entries)
        if names is None:
            what = f"`{argument}` has an index, but the rows of {of} have no names to find it by"
            msg = f"{what}. If it is in the order of the rows, {BY_PLACE}."
            raise DataError(msg)
        return self._aligned(names, argument, of)

    def _aligned(self, names: list[str], argument: str, of: str) -> list[Any]:
        """Return the entry of each name."""
        given = Counter(self.index)
        missing = sum(name not in given for name in names)
        if missing:
            what = f"the index of `{argument}` lacks {missing:,} of the {counted(len(names), 'row')} of {of}"
            msg = f"{what}. Give it the names of these rows; if it is in their order, {BY_PLACE}."
            raise DataError(msg)
        if len(set(names)) < len(names) or any(given[name] > 1 for name in names):
            owner = of if len(set(names)) < len(names) else f"`{argument}`"
            what = f"`{argument}` cannot be brought to the rows of {of} by name: names of {owner} repeat"
            msg = f"{what}. If it is in the order of the rows, {BY_PLACE}."
            raise DataError(msg)
        entry_of = dict(zip(self.index or (), self.entries, strict=True))
        return [entry_of[name] for name in names]


def index_of(given: Any) -> tuple[str, ...] | None:
    """Return the names of the rows that a pandas object (or one like it) has as its index, as text."""
    index = getattr(given, "index", None)  # of a list it is a method
    if index is None or callable(index) or not hasattr(index, "__len__"):
        return None
    return tuple(str(label) for label in index)


def _entries(given: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """Return the shape of an array or list, and its entries if it is 1-D."""
    if is_frame(given):
        return tuple(given.shape), ()
    if hasattr(given, "to_pylist"):  # of pyarrow
        given = given.to_pylist()
    elif hasattr(given, "detach") or np.ma.isMaskedArray(given):  # tensors, also of a GPU; masked are `None`
        given = given.tolist()
    if hasattr(given, "dtype"):
        array = np.asarray(given, dtype=object)
        return array.shape, tuple(array.tolist()) if array.ndim == 1 else ()
    entries = tuple(each.item() if isinstance(each, np.generic) else each for each in given)
    if any(isinstance(each, list | tuple | np.ndarray) for each in entries):
        return np.shape(entries), ()
    return (len(entries),), entries
