"""Rows as columns of a table, those that matter most first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError

Columns = dict[str, NDArray[Any]]
Found = tuple[NDArray[np.intp], NDArray[np.float64] | None]
"""What a side says of a group: the rows that move, and the effects of all rows if they are known."""


def row_columns(
    group: str,
    places: NDArray[np.intp],
    ids: NDArray[np.str_] | None,
    file_rows: NDArray[np.intp] | None,
    sides: Mapping[str, Found],
) -> Columns:
    """Return the columns of one group for the rows in these places; `sides` is what each side says of it."""
    n_rows = len(places)
    columns: Columns = {"group": np.full(n_rows, group), "row": places}
    columns["id"] = np.full(n_rows, None) if ids is None else ids
    columns["file_row"] = np.full(n_rows, None) if file_rows is None else file_rows
    for side, (moved, _) in sides.items():
        columns[f"in_{side}"] = np.isin(columns["row"], moved)
    for side, (_, effects) in sides.items():
        columns[f"{side}_change"] = np.full(n_rows, np.nan) if effects is None else effects
    for name, column in columns.items():
        if len(column) != n_rows:
            msg = f"`{name}` must have one entry for each of the {n_rows} rows of {group}; got {len(column)}."
            raise DataError(msg)
    return columns


def ranked(groups: Sequence[Columns]) -> dict[str, Any]:
    """Return the groups as one table, in the order of the larger change of the two sides; ties stay."""
    table = {name: np.concatenate([columns[name] for columns in groups]) for name in groups[0]}
    change = np.fmax(np.abs(table["lower_change"]), np.abs(table["upper_change"]))
    largest = np.max(change, initial=0.0, where=~np.isnan(change)) or 1.0
    # Changes of duplicate rows differ by rounding, which must not decide their order.
    order = np.argsort(-np.round(np.nan_to_num(change, nan=-1.0) / largest, 12), kind="stable")
    ordered = {name: column[order] for name, column in table.items()}
    # Not every DataFrame knows what an array of None is.
    return {name: c.tolist() if c.dtype.kind == "O" else c for name, c in ordered.items()}
