"""Rows as columns of a table, those to be checked first on top."""

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
    """Return the groups as one table in the order in which rows should be checked; ties stay.

    That is by the change of the lower bound, the largest first (lab/studies/results/row_order.md has what the
    change of the upper bound finds: it is largest for the rows least in doubt). Where the lower bound says
    nothing, rows that the upper bound moves come first: they look most like the other group.
    """
    table = {name: np.concatenate([columns[name] for columns in groups]) for name in groups[0]}
    upper = _relative(table["upper_change"])
    keys = [np.where(table["in_upper"], upper, -upper), _relative(table["lower_change"])]
    # The last key decides first; what is not known comes last.
    order = np.lexsort([-np.nan_to_num(key, nan=-np.inf) for key in keys])
    ordered = {name: column[order] for name, column in table.items()}
    # Not every DataFrame knows what an array of None is.
    return {name: c.tolist() if c.dtype.kind == "O" else c for name, c in ordered.items()}


def _relative(changes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sizes of changes beside the largest, rounded: duplicate rows differ by rounding alone."""
    sizes = np.abs(changes)
    largest = np.max(sizes, initial=0.0, where=~np.isnan(sizes)) or 1.0
    return np.asarray(np.round(sizes / largest, 12))
