"""Columns on their scale: computed over all rows together, never from the groups or the order of the rows."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmdbounds.tables.columns import Column, Floats

SCALES = ("standard", "none")  # scales of arrays
TABLE_SCALES = ("standard", "robust", "rank", "none")  # scales of the columns of a table
Rule = list[Any]  # what was done to a column, ready for JSON: two columns on the same scale have the same
NORMAL_IQR = 1.3489795003921634  # distance between the quartiles of a normal distribution with deviation 1


class Scaled(NamedTuple):
    """A column on its scale, and the rule that brought it there."""

    values: Floats
    rule: Rule


def varying_columns(pooled: Floats) -> NDArray[np.bool_]:
    """Tell which columns hold more than one value."""
    return np.asarray(pooled.min(axis=0) != pooled.max(axis=0))


def standardise(pooled: Floats) -> Floats:
    """Return the rows of both groups, finite, no column constant, with each column scaled `by_deviation`."""
    scaled = np.empty_like(pooled)
    for j in range(pooled.shape[1]):
        scaled[:, j] = by_deviation(pooled[:, j]).values
    return scaled


def by_deviation(column: Floats) -> Scaled:
    """Return a column with mean 0 and (population) standard deviation 1.

    The sums run over the sorted column, so that not even the last bit depends on the order of the rows.
    """
    column, middle, exponent = _near_zero(column)
    ordered = np.sort(column)
    mean = float(ordered.mean())
    spread = float(np.sqrt(np.square(ordered - mean).mean()))
    return Scaled((column - mean) / spread, _rule(middle + mean, spread, exponent))


def by_quartiles(column: Floats) -> Scaled:
    """Return a column with median 0 and the quartiles of a standard normal distribution apart.

    A column whose quartiles are equal, such as one that is mostly 0, is scaled by its deviation.
    """
    if not has_quartiles(column):
        return by_deviation(column)
    column, middle, exponent = _near_zero(column)
    low, centre, high = map(float, np.quantile(column, (0.25, 0.5, 0.75)))
    spread = (high - low) / NORMAL_IQR
    return Scaled((column - centre) / spread, _rule(middle + centre, spread, exponent))


def has_quartiles(column: Floats) -> bool:
    """Tell whether the quartiles of a column differ."""
    low, high = np.quantile(_near_zero(column)[0], (0.25, 0.75))
    return bool(low < high)


def by_rank(column: Floats) -> Scaled:
    """Return the ranks of a column, mean ranks where values are equal, with mean 0 and deviation 1."""
    found, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    digest = hashlib.sha256(found.tobytes() + counts.tobytes()).hexdigest()[:16]
    return Scaled(by_deviation((last - (counts - 1) / 2)[place]).values, [digest])


# What each scale does to a column of numbers.
SCALERS: dict[str, Callable[[Floats], Scaled]] = {
    "standard": by_deviation,
    "robust": by_quartiles,
    "rank": by_rank,
    "none": lambda column: Scaled(column, []),
}


def _near_zero(column: Floats) -> tuple[Floats, float, int]:
    """Return a column divided by a power of two, less its middle value; that value; and the power's exponent.

    The power brings the largest value below 1: 1e300 does not overflow, nor does 1e-300 vanish. A difference
    of two values is rounded by no more than its own last bit: values near 2^53 that differ by one still do.
    """
    exponent = int(np.frexp(np.abs(column).max())[1])
    small = np.ldexp(column, -exponent)
    middle = float(np.partition(small, len(small) // 2)[len(small) // 2])
    return small - middle, middle, exponent


def _rule(centre: float, spread: float, exponent: int) -> Rule:
    """Return what is subtracted from a column, and what it is then divided by."""
    return [math.ldexp(centre, exponent), math.ldexp(spread, exponent)]


def units(rule: Rule) -> tuple[float, float, bool]:
    """Return centre and unit of a scaled column, and whether centre + unit * value undoes the scale."""
    if rule and isinstance(rule[0], str):  # ranks: the values themselves are gone
        return 0.0, 1.0, False
    *centres, unit = rule if len(rule) > 1 else (*rule, 1.0)
    return float(sum(centres)), float(unit), True


def without_quartiles(values: Floats, columns: Sequence[Column]) -> list[str]:
    """Return the columns of numbers whose quartiles are equal, so that ``"robust"`` takes their deviation."""
    pairs = zip(columns, values.T, strict=True)
    return [column.name for column, cells in pairs if column.is_continuous and not has_quartiles(cells)]


def features(
    values: Floats, columns: Sequence[Column], scale: str
) -> tuple[Floats, list[str], dict[str, Rule]]:
    """Return the columns on their scale, categories as one 0-1 column for each value; names; and rules.

    In `values` nothing is missing and no column constant. It is written over where that saves a copy.
    """
    names = [name for column in columns for name in _feature_names(column)]
    made = values if len(names) == len(columns) else np.empty((len(values), len(names)))
    rules: list[Rule] = []
    for j, column in enumerate(columns):
        start = len(rules)
        if column.kind == "category":
            stop = start + len(column.categories)
            made[:, start:stop], of_each = _indicators(values[:, j], len(column.categories), scale)
            rules += of_each
        else:
            # Quartiles and ranks of two values say nothing that their deviation does not.
            is_truth = column.kind == "boolean" and scale != "none"
            made[:, start], rule = (by_deviation if is_truth else SCALERS[scale])(values[:, j])
            rules.append([column.offset, *rule] if column.offset else rule)
    return made, names, {} if scale == "none" else dict(zip(names, rules, strict=True))


def _feature_names(column: Column) -> list[str]:
    return [f"{column.name}={value}" for value in column.categories] or [column.name]


def _indicators(codes: Floats, n_categories: int, scale: str) -> tuple[Floats, list[Rule]]:
    """Return a 0-1 column for each category; centred and weighted unless the scale is ``"none"``."""
    places = codes.astype(np.intp)
    made = np.zeros((len(codes), n_categories))
    made[np.arange(len(codes)), places] = 1.0
    if scale == "none":
        return made, [[]] * n_categories
    counts = np.bincount(places, minlength=n_categories)
    shares, weight = counts / len(codes), category_weight(counts)
    return (made - shares) * weight, [[float(share), 1 / weight] for share in shares]


def category_weight(counts: NDArray[np.intp]) -> float:
    """Return the weight of the 0-1 columns of a category from the number of rows with each value.

    With it they have variance 1 together, as a column of numbers has alone. A category of two values then
    counts exactly as much as the same column written as 0 and 1 (docs/tables.md, "Scales").
    """
    n = int(counts.sum())
    # Integers, so that nothing depends on the order of the categories.
    return n / math.sqrt(n * n - sum(int(count) ** 2 for count in counts))
