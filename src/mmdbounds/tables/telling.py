"""Columns that tell the group all by themselves: a copy of the group must not become a feature unnoticed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import GroupColumnWarning, warn
from mmdbounds.tables.columns import MAX_CATEGORIES, Column
from mmdbounds.tables.phrases import listed, option, shown

SEPARATION = 0.98
"""Difference of the shares that a split takes of either group, from which on it tells them apart; this is
a balanced accuracy of 0.99."""

BY_CHANCE = 1e-6
"""Probability, over all columns, that must not be exceeded if labels were drawn at random."""

MOST_ROWS, LEEWAY = 10_000, 0.05
"""Rows of each group that are looked at first; columns that separate them almost are looked at in full."""

BLOCK = 1 << 20
"""Cells that are sorted at a time."""


def warn_of_telling_columns(found: Sequence[str]) -> None:
    """Warn of columns of which a single one tells almost every row's group."""
    if found:
        names = listed([shown(name) for name in found])
        which = f"column {names}" if len(found) == 1 else f"each of the columns {names}"
        leave = "it" if len(found) == 1 else "them"
        warn(
            f"{which} alone tells the group of nearly every row. A column that was recorded together with "
            f"the group makes the groups differ, whatever the truth is. In that case leave {leave} out with "
            f"{option('exclude')}; to use {leave} without this warning, name the features with "
            f"{option('columns')}.",
            GroupColumnWarning,
        )


def telling_columns(
    values: NDArray[np.float64], columns: Sequence[Column], is_x: NDArray[np.bool_]
) -> list[str]:
    """Return the names of columns of which one split tells the groups apart, beyond what chance does.

    A split of numbers is a threshold; missing cells are above it. The best one takes shares of the two
    groups that differ by the Kolmogorov-Smirnov distance. Of categories, and of numbers with as few
    values, any set of values is a split; the best has the total variation distance.

    Parameters
    ----------
    values
        Rows of both groups, missing cells as NaN; categories as numbers.
    columns
        What the columns hold.
    is_x
        Which rows are filed under X.
    """
    rows, places = _some_rows(is_x), np.arange(len(columns))
    if len(rows) < len(is_x):
        distances, _ = _distances(values[rows], is_x[rows], places)
        places = places[distances >= SEPARATION - LEEWAY]
    distances, n_splits = _distances(values, is_x, places)
    return [
        columns[int(j)].name
        for j, distance, splits in zip(places, distances, n_splits, strict=True)
        if distance >= SEPARATION and not _may_be_chance(is_x, distance, splits, len(columns))
    ]


def _some_rows(is_x: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return a random part of the rows, always the same, at most `MOST_ROWS` of each group."""
    parts = [np.flatnonzero(is_x), np.flatnonzero(~is_x)]
    rng = np.random.default_rng(0)
    few = [
        part if len(part) <= MOST_ROWS else rng.choice(part, MOST_ROWS, replace=False, shuffle=False)
        for part in parts
    ]
    return np.sort(np.concatenate(few))


def _distances(
    values: NDArray[np.float64], is_x: NDArray[np.bool_], places: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how far the best split of each column separates the groups, and log2 of the splits there are."""
    n = len(is_x)
    weight = np.where(is_x, 1 / np.count_nonzero(is_x), -1 / np.count_nonzero(~is_x))
    distances, splits = np.zeros(len(places)), np.ones(len(places))
    width = max(1, BLOCK // n)
    for start in range(0, len(places), width):
        here = slice(start, start + width)
        cells = values[:, places[here]]
        order = np.argsort(cells, axis=0)
        cells = np.take_along_axis(cells, order, axis=0)
        gap = np.cumsum(weight[order], axis=0)  # share of X less share of Y, up to each cell
        is_last = np.ones(cells.shape, dtype=np.bool_)  # of equal ones
        is_last[:-1] = (cells[1:] != cells[:-1]) & ~(np.isnan(cells[1:]) & np.isnan(cells[:-1]))
        by_threshold = np.abs(np.where(is_last, gap, 0.0)).max(axis=0)
        # The gap at the last cell before these equal ones, 0 before the first.
        last = np.maximum.accumulate(np.where(is_last, np.arange(1, n + 1)[:, None], 0), axis=0)
        before = np.vstack([np.zeros_like(last[:1]), last[:-1]])
        steps = gap - np.take_along_axis(np.vstack([np.zeros_like(gap[:1]), gap]), before, axis=0)
        n_values = np.count_nonzero(is_last, axis=0)
        by_values = np.where(n_values <= MAX_CATEGORIES, (np.abs(steps) * is_last).sum(axis=0) / 2, 0.0)
        is_ordered = by_threshold >= SEPARATION
        distances[here] = np.where(is_ordered, by_threshold, np.maximum(by_values, by_threshold))
        splits[here] = np.where(is_ordered, 1, n_values)
    return distances, splits


def _may_be_chance(is_x: NDArray[np.bool_], distance: float, n_splits: float, n_columns: int) -> bool:
    """Tell whether labels drawn at random could well be separated as far by one of the columns.

    Of all ways to choose the rows of X, each split allows one without errors; with errors, those that
    differ from it in so many rows. `n_splits` is a logarithm of base 2, and so is all below.
    """
    n, n_x = len(is_x), int(np.count_nonzero(is_x))
    n_wrong = math.ceil((1 - distance) * max(n_x, n - n_x) - 1e-9)
    chance = n_splits + _log2_ways(n, n_wrong) + math.log2(n_columns) - _log2_ways(n, n_x)
    return chance > math.log2(BY_CHANCE)


def _log2_ways(n: int, k: int) -> float:
    """Return log2 of the number of ways to choose k of n rows."""
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)
