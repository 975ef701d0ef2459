"""How rows on a cluster become kernel values: the centre of all rows, and how far they spread around it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from mmdbounds.kernels import Kernel
from mmdbounds.sums import plan
from mmdbounds.sums.dask.rows import DaskRows
from mmdbounds.sums.points import (
    Points,
    check_finite,
    check_float32,
    is_drawn_away,
    prepare_part,
    squared_scale,
    takes_differences,
)
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.rounding import product_error

COLUMNS_AT_ONCE = 4_000_000
"""Values of a few columns that are here at a time (32 MB)."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """How rows become kernel values.

    Attributes
    ----------
    kernel
        With its bandwidth.
    dtype
        Precision of the products.
    centre
        Of all pooled rows; `None` where the kernel does not centre.
    value_error
        Of all pooled rows (see `Points`).
    """

    kernel: Kernel
    dtype: str
    centre: Float64s | None
    value_error: float

    def points(self, rows: Float64s) -> Points:
        """Make some rows ready for products."""
        points = prepare_part(rows, self.kernel, self.dtype, self.centre)
        return dataclasses.replace(points, value_error=self.value_error)


def recipe_for(rows: DaskRows, kernel: Kernel, dtype: str) -> tuple[Recipe, float]:
    """Find the centre and the rounding of all rows, as `points.prepare` does; also the typical spread."""
    if takes_differences(kernel) or not kernel.shift_invariant:
        return with_error(Recipe(kernel, dtype, None, 0.0), rows), 0.0
    with np.errstate(over="ignore"):
        mean = np.sum(rows.each(column_sums), axis=0) / len(rows)
    check_finite(mean, "float64")
    recipe = Recipe(kernel, dtype, mean, 0.0)
    if kernel.geometry != "distance2":
        return with_error(recipe, rows), 0.0
    norms = spreads(rows, recipe)
    error = product_error(norms, rows.shape[1], kernel, dtype)
    if is_drawn_away(float(norms.max()), float(np.median(norms)), error):
        recipe = Recipe(kernel, dtype, column_medians(rows), 0.0)
        norms = spreads(rows, recipe)
        error = product_error(norms, rows.shape[1], kernel, dtype)
    check_float32(float(norms.max()), dtype)
    return dataclasses.replace(recipe, value_error=error), float(np.median(norms))


def with_error(recipe: Recipe, rows: DaskRows) -> Recipe:
    """Return the recipe of a kernel that is no formula of a product of distances, with its rounding."""
    return dataclasses.replace(recipe, value_error=max(rows.each(value_error, recipe)))


def value_error(rows: Float64s, recipe: Recipe) -> float:
    """Return how far a value of a block's rows can be off."""
    return prepare_part(rows, recipe.kernel, recipe.dtype, recipe.centre).value_error


def spreads(rows: DaskRows, recipe: Recipe) -> Float64s:
    """Return the squared norms over the squared bandwidth."""
    return np.concatenate(rows.each(squared_norms, recipe)) / squared_scale(recipe.kernel)


def column_medians(rows: DaskRows) -> Float64s:
    """Return the median of each column; a few columns at a time are here."""
    n, d = rows.shape
    some = plan.strips([0, d], max(1, COLUMNS_AT_ONCE // n))
    return np.concatenate(
        [np.median(np.concatenate(rows.each(columns_of, slice(i, j))), axis=0) for i, j in some]
    )


def squared_norms(rows: Float64s, recipe: Recipe) -> Float64s:
    """Return the squared norms of a block's rows as they enter the products of a distance kernel."""
    return np.asarray(-2.0 * recipe.points(rows).right[:, -1], dtype=np.float64)


def column_sums(rows: Float64s) -> Float64s:
    """Return the sum of each column."""
    with np.errstate(over="ignore"):
        return np.asarray(rows.sum(axis=0))


def columns_of(rows: Float64s, columns: slice) -> Float64s:
    """Return some columns."""
    return np.ascontiguousarray(rows[:, columns])
