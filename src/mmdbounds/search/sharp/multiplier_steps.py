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
SHARES = 8  # parts of a step that threads may do at the same time
NEARLY = 1e-9  # how far the shares of a row may be from the number of its partners
MOST_TRIES = 60
NOBODY = np.inf  # the threshold of a row without partners in a group


@part(_FASTMATH)
def _next(low, high, stride, threshold, excess, rising, width):
    """Return bracket, stride and threshold after a step of Newton's, or of halving, or of looking further."""
    if excess > 0:
        low = threshold
    else:
        high = threshold
    newton = threshold + width * excess / max(rising, 1.0)
    if rising > 0 and low < newton < high:
        return low, high, stride, newton
    if -np.inf < low and high < np.inf:
        return low, high, stride, 0.5 * (low + high)
    stride *= 4
    return low, high, stride, threshold + (stride if excess > 0 else -stride)


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
        low, high, stride, threshold = _next(low, high, stride, threshold, excess, rising, width)
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


@part(_FASTMATH)
def _capped_threshold(row, edges, caps, count, width, threshold):
    """Return the same for a row of strata none of which counts for more than its cap."""
    low, high, stride, slope = -np.inf, np.inf, width, 1.0 / width
    for _ in range(MOST_TRIES):
        shift, total, rising = 0.5 - threshold * slope, 0.0, 0.0
        for h in range(len(caps)):
            own, own_rising = 0.0, 0.0
            for j in range(edges[h], edges[h + 1]):
                share = row[j] * slope + shift
                own += min(max(share, 0.0), 1.0)
                own_rising += 1.0 if (share > 0.0) & (share < 1.0) else 0.0
            total += min(own, 1.0 * caps[h])
            rising += own_rising if own < caps[h] else 0.0
        excess = total - count
        if abs(excess) <= NEARLY:
            break
        low, high, stride, threshold = _next(low, high, stride, threshold, excess, rising, width)
    return threshold


@entry(_FASTMATH)
def _compiled_capped(values, edges, groups, counts, caps, width, thresholds, sums):
    for i in range(len(values)):
        sums[i] = 0.0
        for g in range(len(groups) - 1):
            first, last, count = groups[g], groups[g + 1], counts[i, g]
            if count == 0:
                thresholds[i, first:last] = NOBODY
                continue
            # Where the last step began: all strata that were not full had the same threshold.
            start = np.inf
            for h in range(first, last):
                start = min(start, thresholds[i, h])
            start = start if start < np.inf else 0.0
            t = _capped_threshold(
                values[i], edges[first : last + 1], caps[i, first:last], count, width, start
            )
            sums[i] += count * t
            for h in range(first, last):
                row, cap, own = values[i, edges[h] : edges[h + 1]], caps[i, h], NOBODY
                if cap > 0:
                    total, above = 0.0, 0.0
                    for j in range(len(row)):
                        total += min(max((row[j] - t) / width + 0.5, 0.0), 1.0)
                    own = max(t, _threshold(row, cap, width, t)) if total > cap else t
                    for j in range(len(row)):
                        above += max(row[j] - own, 0.0)
                    sums[i] += cap * (own - t) + above
                thresholds[i, h] = own


def _numpy_thresholds(values, edges, counts, width, thresholds, sums):
    sums[:] = 0.0
    for k in range(len(edges) - 1):
        columns = values[:, edges[k] : edges[k + 1]]
        for rows in (counts[:, k] == count for count in np.unique(counts[:, k])):
            count = counts[rows.argmax(), k]
            if count == 0:
                thresholds[rows, k] = NOBODY
                continue
            found = _all_at_once(columns[rows], count, width, thresholds[rows, k])
            thresholds[rows, k] = found
            sums[rows] += count * found + np.maximum(columns[rows] - found[:, None], 0.0).sum(axis=1)


def _all_at_once(values, count, width, start):
    """Return the thresholds of all rows of `values`, by Newton's steps between two that enclose each."""
    next_place = min(count + 1, values.shape[1])
    ordered = np.partition(values, [-next_place, -count], axis=1)
    last, following = ordered[:, -count], ordered[:, -next_place]
    low, high = np.where(np.isfinite(following), following, last) - width, last + width  # or all are taken
    threshold = np.clip(start, low, high)  # the last ones are near
    for _ in range(MOST_TRIES):
        share = (values - threshold[:, None]) / width + 0.5
        excess = np.clip(share, 0.0, 1.0).sum(axis=1) - count
        is_found = np.abs(excess) <= NEARLY  # and stays, so that no row depends on those beside it
        if is_found.all():
            break
        low, high = np.where(excess > 0, threshold, low), np.where(excess < 0, threshold, high)
        rising = ((share > 0) & (share < 1)).sum(axis=1)
        newton = threshold + width * excess / np.maximum(rising, 1)
        middle = (newton <= low) | (newton >= high) | (rising == 0)
        threshold = np.where(is_found, threshold, np.where(middle, 0.5 * (low + high), newton))
    return threshold


def _numpy_capped(values, edges, groups, counts, caps, width, thresholds, sums):
    sums[:] = 0.0
    for first, last, count in zip(groups[:-1], groups[1:], counts.T, strict=True):
        here, capped = values[:, edges[first] : edges[last]], caps[:, first:last]
        where = edges[first : last + 1] - edges[first]
        common = _capped_all_at_once(here, where[:-1], capped, count, width)
        nobody = count == 0
        sums += np.where(nobody, 0.0, count * common)
        for h in range(last - first):
            row, cap = here[:, where[h] : where[h + 1]], capped[:, h]
            own = common.copy()
            could_be_full = (cap > 0) & (cap < np.isfinite(row).sum(axis=1))
            for k in np.unique(cap[could_be_full]):
                rows = could_be_full & (cap == k)
                own[rows] = np.maximum(own[rows], _all_at_once(row[rows], k, width, own[rows]))
            more = cap * (own - common) + np.maximum(row - own[:, None], 0.0).sum(axis=1)
            sums += np.where(nobody | (cap == 0), 0.0, more)
            thresholds[:, first + h] = np.where(nobody | (cap == 0), NOBODY, own)


def _capped_all_at_once(values, starts, caps, counts, width):
    """Return the thresholds of all rows of `values`, whose strata begin at `starts`, by halving."""
    there = np.isfinite(values)
    low = np.where(there, values, 0.0).min(axis=1) - width
    high = np.where(there, values, 0.0).max(axis=1) + width
    for _ in range(MOST_TRIES):
        threshold = 0.5 * (low + high)
        share = np.clip((values - threshold[:, None]) / width + 0.5, 0.0, 1.0)
        excess = np.minimum(np.add.reduceat(share, starts, axis=1), caps).sum(axis=1) - counts
        low, high = np.where(excess > 0, threshold, low), np.where(excess > 0, high, threshold)
    return 0.5 * (low + high)


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
def _compiled_move(values, trail, weights, thresholds, tiles, width, memory, share):
    asked = np.empty((TILE, TILE))
    for a in range(share, len(tiles), SHARES):
        for b in range(a, len(tiles)):
            first, second = tiles[a], tiles[b]
            _move_tile(values, trail, weights, thresholds, first, second, 1.0 / width, memory, asked)


def _numpy_move(values, trail, weights, thresholds, tiles, width, memory, share):
    if share > 0:
        return  # all is done with the first
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

# The same with limits: the columns ``edges[h]`` to ``edges[h + 1]`` are stratum h, of which row i has at most
# ``caps[i, h]`` partners; group g is the strata ``groups[g]`` to ``groups[g + 1]``, with ``counts[i, g]``
# partners. A stratum that is full has a threshold of its own, above that of its group.
find_capped = _compiled_capped if numba_is_there() else _numpy_capped

# Both move `values` (n, n) and `trail`, of which the compiled one uses what is above the diagonal. The step
# is what row i, with its weight, asks of row j, less what j asks of i; trail' = memory trail - step; and
# values move by memory trail' - step, to where Nesterov's rule looks next. `tiles` are (start, stop, group).
# Each `share` of the step, 0 to SHARES - 1, moves other tiles, with their mirror images.
move = _compiled_move if numba_is_there() else _numpy_move
