"""What a worker does with blocks of rows: plain functions, with nothing of Dask in them.

A task makes the rows of two blocks ready itself, which costs nothing beside the pairs: so each row lies on
the cluster once, not again for each kernel. What all tasks must agree on is their `Recipe`.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mmdbounds.kernels import Kernel
from mmdbounds.sums import plan, points
from mmdbounds.sums.cpu.engines import Strips, make_engine
from mmdbounds.sums.protocol import Float64s, Rows, n_selected, part_of, places_in
from mmdbounds.sums.rounding import product_error
from mmdbounds.sums.threads import one_blas_thread

if TYPE_CHECKING:
    from mmdbounds.sums.dask.rows import DaskRows

Halves = tuple[Float64s, Float64s | None]  # sums of a block's rows, and of its columns if it is mirrored
COLUMNS_AT_ONCE = 4_000_000  # values of a few columns that are here at a time (32 MB)


@dataclass(frozen=True, eq=False)
class Recipe:
    """How rows become kernel values; `centre` (if the kernel centres) and error are those of all rows."""

    kernel: Kernel
    dtype: str
    centre: Float64s | None
    value_error: float

    def ready(self, rows: Float64s) -> points.Points:
        """Make some rows ready for products."""
        ready = points.prepare_part(rows, self.kernel, self.dtype, self.centre)
        return dataclasses.replace(ready, value_error=self.value_error)


def recipe_for(rows: DaskRows, kernel: Kernel, dtype: str) -> tuple[Recipe, float]:
    """Find the centre and the rounding of all rows, as `points.prepare` does; also the typical spread."""
    centre = None
    if kernel.shift_invariant and not points.takes_differences(kernel):
        with np.errstate(over="ignore"):
            centre = np.sum(rows.each(column_sums), axis=0) / len(rows)
        points.check_finite(centre, "float64")
    recipe = Recipe(kernel, dtype, centre, 0.0)
    if centre is None or kernel.geometry != "distance2":
        error = max(rows.each(value_error, recipe))
        if kernel.geometry == "distance2":
            low, high = (np.array(ends) for ends in zip(*rows.each(column_ranges), strict=True))
            with np.errstate(over="ignore"):
                gap = float((high.max(axis=0) - low.min(axis=0)).max())
            error += points.checked_gap(gap, rows.shape[1], kernel)
        return dataclasses.replace(recipe, value_error=error), 0.0
    norms, error = spreads(rows, recipe)
    if points.is_drawn_away(float(norms.max()), float(np.median(norms)), error):
        some = plan.strips([0, rows.shape[1]], max(1, COLUMNS_AT_ONCE // len(rows)))
        columns = (np.concatenate(rows.each(columns_of, slice(i, j))) for i, j in some)
        medians = np.concatenate([np.median(few, axis=0) for few in columns])
        recipe = Recipe(kernel, dtype, medians, 0.0)
        norms, error = spreads(rows, recipe)
    points.check_float32(float(norms.max()), dtype)
    return dataclasses.replace(recipe, value_error=error), float(np.median(norms))


def value_error(rows: Float64s, recipe: Recipe) -> float:
    """Return how far a value of a block's rows can be off."""
    return points.prepare_part(rows, recipe.kernel, recipe.dtype, recipe.centre).value_error


def spreads(rows: DaskRows, recipe: Recipe) -> tuple[Float64s, float]:
    """Return the squared norms of all rows over the squared bandwidth, and how far a value can be off."""
    norms = np.concatenate(rows.each(squared_norms, recipe)) / points.squared_scale(recipe.kernel)
    return norms, product_error(norms, rows.shape[1], recipe.kernel, recipe.dtype)


def squared_norms(rows: Float64s, recipe: Recipe) -> Float64s:
    """Return the squared norms of a block's rows as they enter the products of a distance kernel."""
    return np.asarray(-2.0 * recipe.ready(rows).right[:, -1], dtype=np.float64)


def column_sums(rows: Float64s) -> Float64s:
    """Return the sum of each column."""
    with np.errstate(over="ignore"):
        return np.asarray(rows.sum(axis=0))


def column_ranges(rows: Float64s) -> tuple[Float64s, Float64s]:
    """Return the smallest and the largest entry of each column."""
    return rows.min(axis=0), rows.max(axis=0)


def columns_of(rows: Float64s, columns: slice | NDArray[np.intp]) -> Float64s:
    """Return some columns, in this order."""
    return np.ascontiguousarray(rows[:, columns])


@dataclass(frozen=True, eq=False)
class Chosen:
    """Some rows of a block: where they are in it (`rows`), and in the pooled sample (`places`)."""

    rows: Rows
    places: Rows

    def __len__(self) -> int:
        return n_selected(self.rows)

    def part(self, start: int, stop: int) -> Chosen:
        """Return some of them."""
        return Chosen(part_of(self.rows, start, stop), part_of(self.places, start, stop))


def strips_of(
    recipe: Recipe,
    mine: Float64s,
    a: Chosen,
    theirs: Float64s | None,
    b: Chosen | None,
    *,
    mirrored: bool = False,
) -> Strips:
    """Return two blocks of rows, or one with itself, to be cut into strips."""
    ready = recipe.ready(mine[a.rows])
    engine = make_engine(ready, recipe.kernel, recipe.dtype)
    is_square = theirs is None or b is None
    right = ready.right if theirs is None or b is None else recipe.ready(theirs[b.rows]).right
    own = own_columns(a.places, a.places if b is None else b.places)
    rows, width = slice(0, len(ready.right)), plan.block_shape(engine.dtype)[1]
    return Strips(engine, rows, right, own, width, mirrored=mirrored, is_square=is_square)


def own_columns(places: Rows, among: Rows) -> NDArray[np.intp]:
    """Return for each place where it stands among others, -1 if it does not."""
    mine, theirs = places_in(places), places_in(among)
    order = np.argsort(theirs, kind="stable")
    spot = order[np.minimum(np.searchsorted(theirs, mine, sorter=order), len(theirs) - 1)]
    return np.where(theirs[spot] == mine, spot, -1)


def pair_sums(
    recipe: Recipe,
    mine: Float64s,
    a: Chosen,
    my_weights: Float64s,
    theirs: Float64s | None,
    b: Chosen | None,
    their_weights: Float64s,
    mirrored: bool,
) -> Halves:
    """Return K[a, b] @ their_weights, and K[b, a] @ my_weights if that is `mirrored`.

    Without `theirs` the block is a square on the diagonal of K; mirrored means that half of it is computed.
    """
    pair = strips_of(recipe, mine, a, theirs, b, mirrored=mirrored)
    cuts = plan.segments(their_weights)
    my_cuts = plan.segments(my_weights) if mirrored else [0, pair.n_rows]
    rows, columns = (np.zeros((n, their_weights.shape[1])) for n in (pair.n_rows, pair.n_columns))
    with one_blas_thread():
        if cuts is None or my_cuts is None:
            left, right = (np.ascontiguousarray(W, pair.engine.dtype) for W in (my_weights, their_weights))
            for i0, i1 in plan.strips([0, pair.n_rows], plan.BLOCK_ROWS):
                start, strip = pair.first(i0), pair.strip(i0, i1, [0, pair.n_columns])
                found = pair.engine.products(strip, left[i0 : i1 if mirrored else i0], right[start:])
                rows[i0:i1] += found[0]
                if mirrored:
                    columns[start:] += found[1]
        else:  # inside a run of equal weights the values only need to be added up
            for i0, i1 in plan.strips(my_cuts, plan.BLOCK_ROWS):
                found = pair.engine.sums(pair.strip(i0, i1, cuts), len(cuts) - 1)
                rows[i0:i1] += found[0] @ their_weights[cuts[:-1]]
                if mirrored:
                    columns[pair.first(i0) :] += found[1][:, None] * my_weights[i0]
    if theirs is None or b is None:
        return rows + columns, None
    return rows, columns if mirrored else None


def pair_excess(
    recipe: Recipe,
    mine: Float64s,
    a: Chosen,
    left: Float64s,
    theirs: Float64s,
    b: Chosen,
    right: Float64s,
    n_factors: int,
    sign: float,
) -> Halves:
    """Return by how much the pairs of two blocks exceed thresholds (`excess_of`), which `left` ends with."""
    pair = strips_of(recipe, mine, a, theirs, b)
    factors, thresholds = (np.ascontiguousarray(part) for part in np.hsplit(left, [n_factors]))
    result = np.empty(thresholds.shape)
    with one_blas_thread():
        for i0, i1 in plan.strips([0, pair.n_rows], plan.BLOCK_ROWS):
            strip = pair.strip(i0, i1, [0, pair.n_columns])
            result[i0:i1] = pair.engine.excess(strip, factors[i0:i1], right, thresholds[i0:i1], sign)
    return result, None


def pair_values(
    recipe: Recipe, mine: Float64s, a: Chosen, theirs: Float64s | None, b: Chosen | None
) -> Float64s:
    """Return K[a, b] outright; without `theirs` K[a, a]."""
    pair = strips_of(recipe, mine, a, theirs, b)
    values = np.empty((pair.n_rows, pair.n_columns))
    with one_blas_thread():
        for i0, i1 in plan.strips([0, pair.n_rows], plan.BLOCK_ROWS):
            pair.engine.block(pair.strip(i0, i1, [0, pair.n_columns]), values[i0:i1])
    return values


def total(halves: list[Halves], which: list[int]) -> Float64s:
    """Add up one half of each, in order."""
    chosen = [both[half] for both, half in zip(halves, which, strict=True)]
    return np.asarray(functools.reduce(np.add, [half for half in chosen if half is not None]))


def own_values(rows: Float64s, recipe: Recipe) -> Float64s:
    """Return k(a, a) for the rows of a block."""
    return points.kernel_diagonal(rows, recipe.kernel, slice(None), recipe.centre)
