"""Rows of one group, with their names and the record of how they came about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mmdbounds.errors import DataError
from mmdbounds.results.serialize import from_fields, read_only
from mmdbounds.tables.phrases import listed, require_exact, shown


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
        Numbers of the rows in the file, the first row below the header being 1;
        `None` for DataFrames and arrays.
    columns
        Names of the columns, `None` for arrays.
    record
        What was done to the table, ready for JSON; empty where nothing was done. Groups are compared only
        if the scaling of their columns in it is the same.
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
        for name, given, wanted in (
            ("ids", self.ids, n),
            ("file_rows", self.file_rows, n),
            ("columns", self.columns, d),
        ):
            if given is not None and len(given) != wanted:
                msg = f"`{name}` must have length {wanted}, like `values`; got {len(given)}."
                raise DataError(msg)
        if self.columns is not None and len(set(self.columns)) < d:
            twice = [shown(name) for name, n in Counter(self.columns).items() if n > 1]
            msg = f"columns must have different names; got more than one {listed(twice)}. Rename them."
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
