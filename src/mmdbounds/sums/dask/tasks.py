"""What a worker does with blocks of rows: plain functions, with nothing of Dask in them.

A task gets the rows of two blocks as they were handed in and prepares them itself, which costs nothing beside
the pairs: so each row lies on the cluster once, and not again for each kernel.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmdbounds.sums import plan
from mmdbounds.sums.cpu.engines import Strip, make_engine
from mmdbounds.sums.dask.recipe import Recipe
from mmdbounds.sums.pairs import kernel_diagonal
from mmdbounds.sums.protocol import Float64s, Rows, n_selected, part_of, places_in
from mmdbounds.sums.threads import one_blas_thread

Halves = tuple[Float64s, Float64s | None]
"""The sums of a block's rows and, where its mirror image counts too, of its columns."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Some rows of a block.

    Attributes
    ----------
    rows
        Where they are in the block.
    places
        Where they are in the pooled sample.
    """

    rows: Rows
    places: Rows

    def __len__(self) -> int:
        return n_selected(self.rows)

    def part(self, start: int, stop: int) -> Chosen:
        """Return some of them."""
        return Chosen(part_of(self.rows, start, stop), part_of(self.places, start, stop))


class Pair:
    """Two blocks of rows, or one with itself, cut into strips as in `blocked`."""

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
