"""Warnings of columns that should hardly be features: identifiers of rows, and copies of the group."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import (
    GroupColumnWarning,
    IdentifierWarning,
    MissingCodeWarning,
    counted,
    listed,
    quoted,
    quoted_list,
    warn,
)
from mmdbounds.tables.cells import Cells, Floats
from mmdbounds.tables.columns import MAX_CATEGORIES, Column

# Capitals start a word (PatientID), digits end it: ID1 is a gene, not an identifier.
_WORD = re.compile(r"[A-Z]+[0-9]*(?![a-z0-9])|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_ID_WORDS = frozenset({"id", "uid", "uuid", "guid", "identifier", "mrn", "ssn"})
_WHO = (
    "patient|subject|participant|person|proband|respondent|record|row|case|sample|specimen|visit|"
    "encounter|admission|stay|study|chart|medicalrecord|accession"
)
_ID_NAME = re.compile(
    rf"({_WHO})(id|uid|no|nr|num|number|key)|patient|subject|participant|person|record|row|rownames?|index|"
    r"unnamed0?|mrnumber"
)

CODES = (-9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0, 99999.0)  # often written for missing cells
MIN_OTHERS = 3  # different values of the other cells from which on they say what is far
MIN_COUNTING = 6  # rows from which on consecutive numbers are taken for a count
MIN_INCREASING = 10  # the same for steadily growing numbers: by chance 1 of 10! columns is
# Difference between the shares of the two groups that a split selects, from which on it determines the
# group: a balanced accuracy of 0.99.
SEPARATION = 0.98
BY_CHANCE = 1e-6  # probability, over all columns, with which labels drawn at random may cause a warning
MOST_ROWS, LEEWAY = 10_000, 0.05  # of each group, at first; columns that nearly separate them get all rows
BLOCK = 1 << 20  # cells that are sorted at a time
_KEEP = "To keep {} without this warning, name the features with `columns=`."


def is_called_identifier(name: str) -> bool:
    """Tell whether a column is called like an identifier: id, patient_id, PatientID, mrn, subject, ..."""
    words = [word.casefold() for word in _WORD.findall(name)]
    return bool(_ID_WORDS.intersection(words) or _ID_NAME.fullmatch("".join(words)))


def counts_through(values: NDArray[Any]) -> bool:
    """Tell whether integers count up (or down) through the rows, one by one or with gaps."""
    n = len(values)
    if n < MIN_COUNTING:
        return False
    steady = bool(np.all(values[1:] > values[:-1])) or bool(np.all(values[1:] < values[:-1]))
    return steady and (n >= MIN_INCREASING or abs(int(values[-1]) - int(values[0])) == n - 1)


def looks_like_identifier(name: str, values: NDArray[Any]) -> bool:
    """Tell whether whole numbers, those of the whole file, look like an identifier by name or by order."""
    # Two values cannot tell patients apart, whatever the column is called.
    return counts_through(values) or (is_called_identifier(name) and len(np.unique(values)) > 2)


def warn_of_identifiers(cells: Mapping[str, Cells], columns: Sequence[Column], id_: str | None) -> None:
    """Warn if features look like identifiers, judged by the whole table; `id_` names the rows already."""
    if not (names := [column.name for column in columns if _is_suspect(cells[column.name], column)]):
        return
    which, it, any_of_them = quoted_list(names), "it", "it"
    what = f"column {which} looks like an identifier but is used as a feature"
    if len(names) > 1:
        it, any_of_them = "them", "one of them"
        what = f"columns {which} look like identifiers but are used as features"
    leave = "Leave" if id_ is not None else f"Use {any_of_them} as `id=` to name the rows, or leave"
    warn(f"{what}. {leave} {it} out with `exclude=`. {_KEEP.format(it)}", IdentifierWarning)


def _is_suspect(cells: Cells, column: Column) -> bool:
    if column.kind == "integer":
        return looks_like_identifier(column.name, cells.integers())
    if column.kind != "number" or not is_called_identifier(column.name):
        return False
    # Integers with a missing cell are floats in pandas.
    floats = cells.floats()
    floats = floats[np.isfinite(floats)]
    return np.array_equal(floats, np.round(floats)) and looks_like_identifier(column.name, floats)


def missing_codes(values: Floats, columns: Sequence[Column]) -> dict[str, list[float]]:
    """Return numbers that often stand for missing cells and lie far from all other cells, by column.

    Far is farther from the nearest other cell than the others are from each other; half of that is enough for
    a negative number where no other is.
    """
    found = {}
    for j, column in enumerate(columns):
        cells = values[:, j]
        cells = cells[np.isfinite(cells)]
        if column.kind not in ("number", "integer") or not len(cells):
            continue
        if cells.min() not in CODES and cells.max() not in CODES:
            continue
        others = cells[~np.isin(cells, CODES)]
        if len(np.unique(others)) < MIN_OTHERS:
            continue
        least, most = float(others.min()), float(others.max())
        far = [
            code
            for code in np.intersect1d(cells, CODES).tolist()
            if code - most > most - least or least - code > (most - least) / (2 if least >= 0 else 1)
        ]
        if far:
            found[column.name] = far
    return found


def warn_of_missing_codes(codes: Mapping[str, Sequence[float]]) -> None:
    """Warn once of all numbers that may stand for missing cells."""
    if not codes:
        return
    parts = [f"{quoted(name)} ({', '.join(f'{code:g}' for code in each)})" for name, each in codes.items()]
    what = f"numbers far from all others may stand for missing cells, in {counted(len(codes), 'column')}"
    warn(
        f"{what}: {listed(parts)}. If so, name them in `na=`. {_KEEP.format('them')}",
        MissingCodeWarning,
    )


def warn_of_group_columns(names: Sequence[str]) -> None:
    """Warn of columns each of which determines the group of nearly every row."""
    if not names:
        return
    one = len(names) == 1
    which = f"column {quoted_list(names)}" if one else f"each of the columns {quoted_list(names)}"
    it, was = ("it", "it was") if one else ("them", "they were")
    warn(
        f"{which} alone determines the group of nearly every row. If {was} recorded together with the group, "
        f"the groups differ whatever the truth is: leave {it} out with `exclude=`. {_KEEP.format(it)}",
        GroupColumnWarning,
    )


def group_columns(values: Floats, columns: Sequence[Column], is_x: NDArray[np.bool_]) -> list[str]:
    """Return the names of columns with a split that separates the groups better than chance could.

    A split of numbers is a threshold; missing cells (NaN) are above it. The best one takes shares of the two
    groups that differ by the Kolmogorov-Smirnov distance. For categories, and for numbers with as few
    values, any set of values is a split; the best has the total variation distance. `is_x` tells which of
    the rows are filed under X.
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
    rng = np.random.default_rng(0)
    few = [
        part if len(part) <= MOST_ROWS else rng.choice(part, MOST_ROWS, replace=False, shuffle=False)
        for part in (np.flatnonzero(is_x), np.flatnonzero(~is_x))
    ]
    return np.sort(np.concatenate(few))


def _distances(values: Floats, is_x: NDArray[np.bool_], places: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return how far the best split of each column separates the groups, and log2 of the number of splits."""
    n = len(is_x)
    weight = np.where(is_x, 1 / np.count_nonzero(is_x), -1 / np.count_nonzero(~is_x))
    distances, splits = np.zeros(len(places)), np.ones(len(places))
    width = max(1, BLOCK // n)
    for start in range(0, len(places), width):
        here = slice(start, start + width)
        cells = values[:, places[here]]
        order = np.argsort(cells, axis=0)
        cells = np.take_along_axis(cells, order, axis=0)
        gap = np.cumsum(weight[order], axis=0)  # share of X minus share of Y, up to each cell
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
    """Tell whether one of the columns could well separate labels drawn at random as far.

    Of all ways to choose the rows of X, each split allows one without errors; with errors, those that
    differ from it in as many rows. `n_splits` is a logarithm to base 2, and so is everything below.
    """
    n, n_x = len(is_x), int(np.count_nonzero(is_x))
    n_wrong = math.ceil((1 - distance) * max(n_x, n - n_x) - 1e-9)
    chance = n_splits + _log2_ways(n, n_wrong) + math.log2(n_columns) - _log2_ways(n, n_x)
    return chance > math.log2(BY_CHANCE)


def _log2_ways(n: int, k: int) -> float:
    """Return log2 of the number of ways to choose k of n rows."""
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)
