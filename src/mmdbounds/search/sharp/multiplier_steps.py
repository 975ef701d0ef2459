"""Steps of the ceiling's multipliers: compiled, or without numba the same in NumPy.

A file of its own, imported where it is used: it loads the compiler. Nothing here is part of a proof: whatever
the steps leave behind, `ceiling` makes it antisymmetric and computes the bound anew.
"""
# The compiler knows these functions by their types alone; nothing is gained by annotating them twice.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

import numpy as np

from mmdbounds.compiled import entry, numba_is_there, part
from mmdbounds.objective import Indices

_FASTMATH = ("reassoc", "nsz", "arcp", "contract")  # sums in any order; infinities and NaN keep their meaning
TILE = 64  # rows and columns that are moved together with their mirror image
NEARLY = 1e-9  # how far the shares of a row may be from the number of its partners
MOST_TRIES = 60
NOBODY = np.inf  # the threshold of a row without partners in a group


@part(_FASTMATH)
def _threshold(row, count, width, threshold):
    """Return where shares that rise from 0 to 1 within `width` around a threshold add up to `count`."""
    low, high, stride, slope = -np.inf, np.inf, width, 1.0 / width
    for _ in range(MOST_TRIES):
        shift, total, rising = 0.5 - threshold * slope, 0.0, 0.0
        for j in range(len(row)):
            share = row[j] * slope + shift
            total += min(max(share, 0.0), 1.0)
            rising += 1.0 if (share > 0.0) & (share < 1.0) else 0.0
        excess = total - count
        if abs(excess) <= NEARLY:
            break
        if excess > 0:
            low = threshold
        else:
            high = threshold
        newton = threshold + width * excess / max(rising, 1.0)
        if rising > 0 and low < newton < high:
            threshold = newton
        elif -np.inf < low and high < np.inf:
            threshold = 0.5 * (low + high)
        else:
            stride *= 4
            threshold += stride if excess > 0 else -stride
    return threshold


@entry(_FASTMATH)
def _compiled_thresholds(values, edges, counts, width, thresholds, sums):
    for i in range(len(values)):
        sums[i] = 0.0
        for k in range(len(edges) - 1):
            row, count = values[i, edges[k] : edges[k + 1]], counts[i, k]
            if count == 0:
                thresholds[i, k] = NOBODY
                continue
            t = thresholds[i, k] = _threshold(row, count, width, thresholds[i, k])
            above = 0.0
            for j in range(len(row)):
                above += max(row[j] - t, 0.0)
            sums[i] += count * t + above


def _numpy_thresholds(values, edges, counts, width, thresholds, sums):
    sums[:] = 0.0
    for k in range(len(edges) - 1):
        columns = values[:, edges[k] : edges[k + 1]]
        for rows in (counts[:, k] == count for count in np.unique(counts[:, k])):
            count = counts[rows.argmax(), k]
            if count == 0:
                thresholds[rows, k] = NOBODY
                continue
            found = thresholds[rows, k] = _all_at_once(columns[rows], count, width)
            sums[rows] += count * found + np.maximum(columns[rows] - found[:, None], 0.0).sum(axis=1)


def _all_at_once(values, count, width):
    """Return the thresholds of all rows of `values`, each by Newton's steps between two that enclose it."""
    ordered = np.partition(values, [-count - 1, -count], axis=1)
    low, high = ordered[:, -count - 1] - width, ordered[:, -count] + width
    threshold = 0.5 * (low + high)
    for _ in range(MOST_TRIES):
        share = (values - threshold[:, None]) / width + 0.5
        excess = np.clip(share, 0.0, 1.0).sum(axis=1) - count
        if np.abs(excess).max() <= NEARLY:
            break
        low, high = np.where(excess > 0, threshold, low), np.where(excess < 0, threshold, high)
        rising = ((share > 0) & (share < 1)).sum(axis=1)
        newton = threshold + width * excess / np.maximum(rising, 1)
        middle = (newton <= low) | (newton >= high) | (rising == 0)
        threshold = np.where(middle, 0.5 * (low + high), newton)
    return threshold


@part(_FASTMATH)
def _move_tile(values, trail, weights, thresholds, first, second, slope, memory, asked):
    """Move the values of a tile and, the other way, of its mirror image."""
    for j in range(second[0], second[1]):
        weight, shift = weights[j], 0.5 - thresholds[j, first[2]] * slope
        for i in range(first[0], first[1]):
            asked[j - second[0], i - first[0]] = weight * min(max(values[j, i] * slope + shift, 0.0), 1.0)
    for i in range(first[0], first[1]):
        weight, shift = weights[i], 0.5 - thresholds[i, second[2]] * slope
        for j in range(max(second[0], i + 1), second[1]):
            own = weight * min(max(values[i, j] * slope + shift, 0.0), 1.0)
            step = own - asked[j - second[0], i - first[0]]
            trail[i, j] = memory * trail[i, j] - step
            change = memory * trail[i, j] - step
            values[i, j] += change
            asked[j - second[0], i - first[0]] = change
    for j in range(second[0], second[1]):
        for i in range(first[0], min(first[1], j)):
            values[j, i] -= asked[j - second[0], i - first[0]]


@entry(_FASTMATH)
def _compiled_move(values, trail, weights, thresholds, tiles, width, memory):
    asked = np.empty((TILE, TILE))
    for a in range(len(tiles)):
        for b in range(a, len(tiles)):
            first, second = tiles[a], tiles[b]
            _move_tile(values, trail, weights, thresholds, first, second, 1.0 / width, memory, asked)


def _numpy_move(values, trail, weights, thresholds, tiles, width, memory):
    of_column = np.repeat(tiles[:, 2], tiles[:, 1] - tiles[:, 0])
    share = np.clip((values - thresholds[:, of_column]) / width + 0.5, 0.0, 1.0)
    share *= weights[:, None]
    np.fill_diagonal(share, 0.0)
    step = share - share.T
    trail *= memory
    trail -= step
    values += memory * trail - step


def tiles_of(edges: Indices) -> Indices:
    """Return the tiles of rows as (start, stop, group), so that none holds rows of two groups."""
    return np.array(
        [
            (start, min(start + TILE, edges[k + 1]), k)
            for k in range(len(edges) - 1)
            for start in range(edges[k], edges[k + 1], TILE)
        ]
    )


# Both set `thresholds` and `sums` in place. Row i of `values`, shape (n, d), has ``counts[i, k]`` partners
# among the columns ``edges[k]`` to ``edges[k + 1]``. Shares of them rise from 0 to 1 within `width` around
# ``thresholds[i, k]`` and add up to that count; ``sums[i]`` is at least the sum of the largest values, and
# nearly equal to it where the threshold is right.
find_thresholds = _compiled_thresholds if numba_is_there() else _numpy_thresholds

# Both move `values` (n, n) and `trail`, of which the compiled one uses what is above the diagonal. The step
# is what row i, with its weight, asks of row j, less what j asks of i; trail' = memory trail - step; and
# values move by memory trail' - step, to where Nesterov's rule looks next. `tiles` are (start, stop, group).
move = _compiled_move if numba_is_there() else _numpy_move
