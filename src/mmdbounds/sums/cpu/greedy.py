"""One row after the other from columns that are at hand: the inner loop of S-SD with one row a step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mmdbounds.sums.protocol import Float64s


def take_one_by_one(
    scores: Float64s,
    place: NDArray[np.intp],
    columns: Float64s,
    gain: float,
    count: int,
    tie_width: float,
    *,
    compiled: bool,
) -> tuple[NDArray[np.intp], Float64s]:
    """Take the row with the largest score, add its column to all scores, and so on.

    Parameters
    ----------
    scores
        One score a row, -inf for rows that may not be taken; changed in place.
    place
        Where a row's column stands in `columns`, -1 if it is not there.
    columns
        Kernel values of some rows to all rows, one row each.
    gain
        Factor of a column when it is added to the scores.
    count
        How many rows to take at the most; it ends before that at a row without a column.
    tie_width
        Scores so close to the largest are tied with it; the lowest row is taken.
    compiled
        Whether to use compiled code.

    Returns
    -------
    rows
        The rows taken, in order.
    total
        The sum of their columns.
    """
    if compiled:
        from mmdbounds.sums.cpu.fused import take_one_by_one as fast

        rows, total = fast(scores, place, columns, gain, count, tie_width)
        return rows, total
    taken: list[int] = []
    total = np.zeros(len(scores))
    while len(taken) < count:
        row = int(np.argmax(scores >= scores.max() - tie_width))
        if place[row] < 0:
            break
        taken.append(row)
        scores[row] = -np.inf
        scores += gain * columns[place[row]]
        total += columns[place[row]]
    return np.array(taken, dtype=np.intp), total
