"""What single rows do to the bounds at one point of a curve: those that matter most, as plain data."""

from __future__ import annotations

from typing import Any

from mmdbounds.ranked import Found as RowsAndEffects
from mmdbounds.ranked import ranked, row_columns
from mmdbounds.results import Side
from mmdbounds.saved import plain
from mmdbounds.search.exchanges import row_effects
from mmdbounds.search.protocol import Found
from mmdbounds.tables import Group

ROWS_KEPT = 30
"""Rows kept at each point, those that matter most: as many as a person reads, and little to keep."""

CHANGES = ("lower_change", "upper_change")


def kept_rows(Y: Group, lower: Found, upper: Found) -> dict[str, Any]:
    """Return the columns of `BoundsResult.row_table` that are known, for the rows that matter most.

    Parameters
    ----------
    Y
        The group whose rows may be misfiled; one-way.
    lower, upper
        What was found for the same count of misfiled rows; if that is 0, there is nothing to return.
    """
    if not len(lower.rows):
        return {}
    sides = {"lower": _effects(lower, "lower"), "upper": _effects(upper, "upper")}
    table = ranked([row_columns(Y.name, len(Y), Y.ids, Y.file_rows, sides)])
    first = {name: plain(column[:ROWS_KEPT]) for name, column in table.items() if name != "group"}
    return {name: column for name, column in first.items() if column[0] is not None or name in CHANGES}


def _effects(found: Found, side: Side) -> RowsAndEffects:
    return found.rows, None if found.labelling is None else row_effects(found.labelling, side)
