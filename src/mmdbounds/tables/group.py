"""The rows of one group, and the checks of their values: finite, and exact in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mmdbounds.errors import DataError, counted, listed, quoted, repeated
from mmdbounds.results.serialize import from_fields, read_only

EXACT_UP_TO = 2.0**53  # up to here float64 holds every whole number


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Group:
    """The rows of one group.

    Attributes
    ----------
    values
        The rows, float64, C-contiguous and read-only, shape (n, d). An array that is float64
        and contiguous already is not copied.
    name
        ``"X"``, ``"Y"`` or what the group is called in the table.
    ids
        Names of the rows as text, `None` where the data have none.
    file_rows
        Numbers of the rows in the file, where the first row below the header is 1;
        `None` for DataFrames and arrays.
    columns
        Names of the columns, `None` for arrays.
    record
        What was done to the table, ready for JSON; empty where nothing was done. Two groups can be compared
        only if the scaling of their columns in it is the same.
    """

    values: NDArray[np.float64]
    name: str = "X"
    ids: NDArray[np.str_] | None = None
    file_rows: NDArray[np.intp] | None = None
    columns: tuple[str, ...] | None = None
    record: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A view, so that the user's own array stays writeable.
        values = np.ascontiguousarray(self.values, dtype=np.float64).view()
        if values.ndim != 2 or np.ndim(self.values) != 2:
            msg = f"`values` must be 2-D; got shape {np.shape(self.values)}."
            raise DataError(msg)
        require_exact(np.asarray(self.values), "`values`")
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        for name, dtype in (("ids", np.str_), ("file_rows", np.intp)):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, read_only(np.asarray(given, dtype=dtype)))
        self._check_lengths()

    def __reduce__(self) -> tuple[Any, ...]:
        return from_fields(self)

    def _check_lengths(self) -> None:
        n, d = self.values.shape
        for name, wanted in (("ids", n), ("file_rows", n), ("columns", d)):
            given = getattr(self, name)
            if given is not None and len(given) != wanted:
                msg = f"`{name}` must have length {wanted}, like `values`; got {len(given)}."
                raise DataError(msg)
        if self.columns is not None and (names := repeated(self.columns)):
            msg = f"columns must have different names; got more than one {names}. Rename them."
            raise DataError(msg)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.values.shape[0], self.values.shape[1]

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        names = "with" if self.ids is not None else "without"
        return f"Group({self.name!r}, {self.shape[0]} rows x {self.shape[1]} columns, {names} row names)"


def require_finite(
    values: NDArray[np.float64],
    names: Sequence[str] | None,
    subject: str,
    advice: str = "Drop or fill them first.",
    what: str = "missing or infinite",
) -> None:
    """Refuse missing and infinite values, saying in which columns and in how many rows.

    Columns without `names` are numbered from 0; `subject` is what messages call the data.
    """
    # The sum is almost always finite, and needs no array of the size of the data.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    n_bad = {j: len(values) - int(np.count_nonzero(np.isfinite(column))) for j, column in enumerate(values.T)}
    bad = {f"column {j}" if names is None else quoted(names[j]): n for j, n in n_bad.items() if n}
    if bad:
        msg = f"{subject} has {what} values in {_in_columns(bad, values.shape[1])}. {advice}"
        raise DataError(msg)


def require_exact(array: NDArray[Any], subject: str) -> None:
    """Refuse whole numbers that float64 does not hold; masked cells do not count."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return
    whole = np.ma.getdata(array)
    if int(whole.max()) <= EXACT_UP_TO and int(whole.min()) >= -EXACT_UP_TO:
        return
    # Two's complement in unsigned numbers, because the smallest int64 has no positive counterpart.
    size = np.where(whole < 0, ~whole.astype(np.uint64) + np.uint64(1), whole.astype(np.uint64))
    lowest_bit = size & (~size + np.uint64(1))
    is_rounded = size // np.maximum(lowest_bit, np.uint64(1)) > np.uint64(EXACT_UP_TO)
    counts = np.count_nonzero(is_rounded & ~np.ma.getmaskarray(array), axis=0)
    rounded = {f"column {j}": int(counts[j]) for j in np.flatnonzero(counts)}
    if rounded:
        refuse_rounded(rounded, array.shape[1], subject)


def refuse_rounded(rounded: Mapping[str, int], n_columns: int, subject: str) -> NoReturn:
    """Refuse whole numbers that float64 would round, given their number of rows by column."""
    msg = (
        f"{subject} has whole numbers beyond 2^53, which float64 would round, in "
        f"{_in_columns(rounded, n_columns)}. Subtract the same number from that column in both groups first; "
        "if the last digits do not matter, convert it to float64."
    )
    raise DataError(msg)


def _in_columns(n_rows: Mapping[str, int], n_columns: int) -> str:
    """Return ``"1 of 3 columns: 'age' (2 rows)"`` from the rows concerned in each column."""
    parts = [f"{label} ({counted(n, 'row')})" for label, n in n_rows.items()]
    return f"{len(n_rows):,} of {counted(n_columns, 'column')}: {listed(parts)}"
