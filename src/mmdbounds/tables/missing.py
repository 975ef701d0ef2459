"""Missing cells: refused, or rows left out, or filled, by the rows of both groups together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.tables.columns import Column
from mmdbounds.tables.phrases import nearest, option, require_finite, shown

MISSING = ("refuse", "drop", "impute")


def check_missing(missing: object) -> str:
    """Return `missing` if it is one of `MISSING`."""
    if not isinstance(missing, str) or missing not in MISSING:
        hint = nearest(str(missing), MISSING)
        msg = f"{option('missing')} must be 'refuse', 'drop' or 'impute'; got {shown(missing)}.{hint}"
        raise DataError(msg)
    return missing


@dataclass(frozen=True, slots=True, eq=False)
class Complete:
    """Rows without missing cells, and what it took.

    Attributes
    ----------
    values
        The rows that are left.
    columns
        The columns that are left.
    kept
        For each row that there was, whether it is left.
    empty
        Columns that had no value in any row, and are left out.
    n_filled
        Cells that were filled, by column.
    """

    values: NDArray[np.float64]
    columns: list[Column]
    kept: NDArray[np.bool_]
    empty: list[str] = field(default_factory=list)
    n_filled: dict[str, int] = field(default_factory=dict)


def complete(values: NDArray[np.float64], columns: Sequence[Column], missing: str, subject: str) -> Complete:
    """Return rows in which nothing is missing.

    Parameters
    ----------
    values
        Rows of both groups, missing cells as NaN. Written over where that saves a copy.
    columns
        What the columns hold.
    missing
        ``"refuse"``, ``"drop"`` (rows with a missing cell) or ``"impute"``: the median of numbers, the most
        frequent value of categories and truth (the first of several) over the rows of both groups.
    subject
        What holds the values, as messages call it.
    """
    everyone = np.ones(len(values), dtype=np.bool_)
    names = [column.name for column in columns]
    if missing == "refuse":
        advice = (
            f"Pass {option('missing')} 'drop' to leave such rows out or 'impute' to fill them, or leave "
            f"columns out with {option('exclude')}."
        )
        require_finite(values, names, subject, advice)
        return Complete(values, list(columns), everyone)
    gone = np.isnan(values)
    has_value: NDArray[np.bool_] = np.asarray(~gone.all(axis=0))
    if not has_value.any():
        msg = f"{subject} has no value in any feature column. Check {option('columns')} and {option('na')}."
        raise DataError(msg)
    empty = [name for name, there in zip(names, has_value, strict=True) if not there]
    left = [column for column, there in zip(columns, has_value, strict=True) if there]
    if empty:
        values, gone = values[:, has_value], gone[:, has_value]
    advice = f"Leave such rows out first, or columns with {option('exclude')}."
    values[gone] = 0.0  # only infinite values are to be found
    require_finite(values, [column.name for column in left], subject, advice, "infinite")
    if missing == "drop":
        kept: NDArray[np.bool_] = np.asarray(~gone.any(axis=1))
        if kept.all():
            return Complete(values, left, kept, empty)
        values = values[kept]
        return Complete(
            values, [_of_these_rows(column, values[:, j]) for j, column in enumerate(left)], kept, empty
        )
    n_filled = {column.name: n for j, column in enumerate(left) if (n := int(gone[:, j].sum()))}
    for j in np.flatnonzero(gone.any(axis=0)):
        values[gone[:, j], j] = _typical(values[~gone[:, j], j], left[j])
    return Complete(values, left, everyone, empty, n_filled)


def _of_these_rows(column: Column, codes: NDArray[np.float64]) -> Column:
    """Return a category without the values that no row has any more; writes the new places over the codes."""
    if column.kind != "category" or not len(codes):
        return column
    there, places = np.unique(codes, return_inverse=True)
    codes[:] = places
    return replace(column, categories=tuple(column.categories[int(i)] for i in there))


def _typical(cells: NDArray[np.float64], column: Column) -> float:
    """Return what stands in for a missing cell."""
    if column.is_continuous:
        ordered = np.sort(cells)
        # Half of each: their sum may be more than there are numbers.
        return float(ordered[(len(cells) - 1) // 2] / 2 + ordered[len(cells) // 2] / 2)
    found, counts = np.unique(cells, return_counts=True)
    return float(found[np.argmax(counts)])
