"""What a worker does with blocks of rows: plain functions, with nothing of Dask in them.

A task gets the rows of two blocks as they were handed in and prepares them itself, which costs nothing beside
the pairs: so each row lies on the cluster once, and not again for each kernel. What all tasks must agree on,
such as the centre of all rows, is their `Recipe`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.kernels import Kernel
from mmdbounds.sums import plan
from mmdbounds.sums.cpu.engines import Strip, make_engine
from mmdbounds.sums.features.maps import FeatureMap
from mmdbounds.sums.features.sums import STRIP_ROWS
from mmdbounds.sums.pairs import kernel_diagonal
from mmdbounds.sums.points import (
    Points,
    check_finite,
    check_float32,
    is_drawn_away,
    prepare_part,
    squared_scale,
    takes_differences,
)
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


class Pair:
    """Two blocks of rows, or one with itself, cut into strips as in `cpu.blocked`."""

    def __init__(
        self, recipe: Recipe, mine: Float64s, a: Chosen, theirs: Float64s | None, b: Chosen | None
    ) -> None:
        points = recipe.points(mine[a.rows])
        self.engine, _ = make_engine(points, recipe.kernel, recipe.dtype)
        self.is_square = theirs is None or b is None
        self._right = points.right if theirs is None or b is None else recipe.points(theirs[b.rows]).right
        self._own = own_columns(a.places, a.places if b is None else b.places)
        self._width = plan.block_shape(self.engine.dtype)[1]
        self.n_rows, self.n_columns = len(points.right), len(self._right)

    def first(self, i0: int, *, mirrored: bool) -> int:
        """Return the first column of the strip that begins at row `i0`."""
        return i0 if mirrored and self.is_square else 0

    def strip(self, i0: int, i1: int, cuts: list[int], *, mirrored: bool = False) -> Strip:
        """Return the rows `i0` to `i1`, their columns cut at `cuts`."""
        start = self.first(i0, mirrored=mirrored)
        on_diagonal = mirrored and self.is_square
        columns = plan.columns(cuts, start, self._width, first=i1 - i0 if on_diagonal else None).from_zero()
        if mirrored and not self.is_square:  # the square on the diagonal, which has no mirror image, is empty
            columns = plan.Columns(np.insert(columns.edges, 0, 0), np.insert(columns.segment, 0, 0))
        left = self.engine.left(slice(i0, i1))
        return Strip(left, self._right[start:], self._own[i0:i1] - start, columns, mirrored)


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
    pair = Pair(recipe, mine, a, theirs, b)
    cuts = plan.segments(their_weights)
    my_cuts = plan.segments(my_weights) if mirrored else [0, pair.n_rows]
    with one_blas_thread():
        if cuts is None or my_cuts is None:
            rows, columns = _products(pair, my_weights, their_weights, mirrored)
        else:  # inside a run of equal weights the values only need to be added up
            rows, columns = _run_sums(pair, my_weights, their_weights, mirrored, my_cuts, cuts)
    if pair.is_square:
        return rows + columns, None
    return rows, columns if mirrored else None


def _run_sums(
    pair: Pair, mine: Float64s, theirs: Float64s, mirrored: bool, my_cuts: list[int], cuts: list[int]
) -> tuple[Float64s, Float64s]:
    rows, columns = (np.zeros((n, theirs.shape[1])) for n in (pair.n_rows, pair.n_columns))
    for i0, i1 in plan.strips(my_cuts, plan.BLOCK_ROWS):
        found = pair.engine.sums(pair.strip(i0, i1, cuts, mirrored=mirrored), len(cuts) - 1)
        rows[i0:i1] += found[0] @ theirs[cuts[:-1]]
        if mirrored:
            columns[pair.first(i0, mirrored=True) :] += found[1][:, None] * mine[i0]
    return rows, columns


def _products(pair: Pair, mine: Float64s, theirs: Float64s, mirrored: bool) -> tuple[Float64s, Float64s]:
    rows, columns = (np.zeros((n, theirs.shape[1])) for n in (pair.n_rows, pair.n_columns))
    mine, theirs = (np.ascontiguousarray(weights, dtype=pair.engine.dtype) for weights in (mine, theirs))
    for i0, i1 in plan.strips([0, pair.n_rows], plan.BLOCK_ROWS):
        start = pair.first(i0, mirrored=mirrored)
        strip = pair.strip(i0, i1, [0, pair.n_columns], mirrored=mirrored)
        found = pair.engine.products(strip, mine[i0 : i1 if mirrored else i0], theirs[start:])
        rows[i0:i1] += found[0]
        if mirrored:
            columns[start:] += found[1]
    return rows, columns


def pair_values(
    recipe: Recipe, mine: Float64s, a: Chosen, theirs: Float64s | None, b: Chosen | None
) -> Float64s:
    """Return K[a, b] outright; without `theirs` K[a, a]."""
    pair = Pair(recipe, mine, a, theirs, b)
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
    return kernel_diagonal(rows, recipe.kernel, slice(None), recipe.centre)


def centred_norms(rows: Float64s, centre: Float64s) -> Float64s:
    """Return the norms of a block's rows, centred."""
    return np.asarray(np.linalg.norm(rows - centre, axis=1))


def weighted_features(
    feature_map: FeatureMap, rows: Float64s, chosen: Chosen, weights: Float64s, dtype: str
) -> Float64s:
    """Return Phi' W of some rows of a block."""
    total = np.zeros((feature_map.size, weights.shape[1]))
    for i, j, features in _feature_strips(feature_map, rows, chosen, dtype):
        total += features.T @ weights[i:j].astype(dtype)
    return total


def feature_products(
    feature_map: FeatureMap, rows: Float64s, chosen: Chosen, total: Float64s, dtype: str
) -> Float64s:
    """Return Phi times a total of weighted features, for some rows of a block."""
    return np.concatenate(
        [
            features @ total.astype(dtype)
            for _, _, features in _feature_strips(feature_map, rows, chosen, dtype)
        ]
    ).astype(np.float64)


def own_feature_products(
    feature_map: FeatureMap, rows: Float64s, chosen: Chosen, nothing: None, dtype: str
) -> Float64s:
    """Return phi(z) . phi(z) of some rows of a block."""
    strips = _feature_strips(feature_map, rows, chosen, dtype)
    return np.concatenate([np.einsum("ij,ij->i", each, each) for _, _, each in strips]).astype(np.float64)


def feature_values(
    feature_map: FeatureMap, mine: Float64s, a: Chosen, theirs: Float64s, b: Chosen, dtype: str
) -> Float64s:
    """Return the values of k~ between some rows of two blocks."""
    values = np.empty((len(a), len(b)))
    for i, j, left in _feature_strips(feature_map, mine, a, dtype):
        for k, stop, right in _feature_strips(feature_map, theirs, b, dtype):
            values[i:j, k:stop] = left @ right.T
    return values


def _feature_strips(
    feature_map: FeatureMap, rows: Float64s, chosen: Chosen, dtype: str
) -> Iterator[tuple[int, int, Any]]:
    """Make the features of some rows of a block, strip by strip."""
    some = rows[chosen.rows]
    with one_blas_thread():
        for i, j in plan.strips([0, len(some)], STRIP_ROWS):
            yield i, j, feature_map(some[i:j]).astype(dtype, copy=False)
