"""The backend on a Dask cluster: pairs of blocks as tasks, their sums brought together in a fixed order.

K is cut into tiles of eight blocks by eight. Each task of a tile computes a pair of blocks, once for both
halves of a symmetric K. Their sums are added up on the workers for each tile, and here over the tiles. Few
tasks are under way at a time, so when a worker dies no more than a tile or two are computed again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Unpack, cast

import numpy as np

from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel
from mmdbounds.kernels.registry import is_shipped
from mmdbounds.sums import plan
from mmdbounds.sums.dask import Future, a_little_ahead, check_workers, result_of, send, submit, tasks, wait
from mmdbounds.sums.dask.rows import DaskRows
from mmdbounds.sums.dask.tasks import Chosen
from mmdbounds.sums.points import by_product, check_function, own_value, tie_error
from mmdbounds.sums.protocol import (
    Float64s,
    KernelSums,
    Options,
    Rows,
    n_selected,
    plain_rows,
    same_rows,
)
from mmdbounds.sums.rounding import claimed, sum_error

TILE = 8  # blocks along each side of a tile
NEAR_PAIRS, NEAR_ROWS = 20_000_000, 4096  # values faster here than there; rows worth fetching for that
PATCH_SHARE, LEAST_PATCH = 32, 4 * plan.MIB  # patches take this part of `working_memory`, or so many bytes
MIRRORED_COLUMNS = 8  # up to so many weighted sums, half of K is computed: each task then returns two halves


@dataclass(frozen=True, eq=False)
class Piece:
    """Some of the rows asked for: which rows of an array on a worker, and where they stand among all."""

    source: Future
    chosen: Chosen
    at: slice


def tiles(n_left: int, n_right: int, *, mirrored: bool) -> Iterator[list[tuple[int, int]]]:
    """Return pairs of blocks, tile by tile; with `mirrored` each unordered pair once."""
    for i0, i1 in plan.strips([0, n_left], TILE):
        for j0, j1 in plan.strips([0, n_right], TILE):
            if j0 >= i0 or not mirrored:
                pairs = itertools.product(range(i0, i1), range(j0, j1))
                yield [(i, j) for i, j in pairs if j >= i or not mirrored]


class DaskSums(KernelSums):
    """Sums over the kernel matrix of rows on a cluster; Dask must be able to send a kernel's function."""

    backend = "dask"

    def __init__(self, rows: DaskRows, kernel: Kernel, **options: Unpack[Options]) -> None:
        self._set_cluster(rows, kernel, options)
        self.dtype = self.dtype if by_product(kernel) else "float64"
        if not is_shipped(kernel):
            check_workers(rows.client, kernel)
        if isinstance(kernel, FunctionKernel):
            check_function(kernel, cast("Float64s", rows))  # which looks at a few of them
        self._recipe, typical = tasks.recipe_for(rows, kernel, self.dtype)
        in_one_go = max(plan.block_shape(self.dtype))
        self.rounding = claimed(self._recipe.value_error, sum_error(self.n_rows, in_one_go, self.dtype))
        self.tie_width = tie_error(typical, self.dtype)

    def _set_cluster(self, rows: DaskRows, kernel: Kernel, options: Options) -> None:
        self._set_options(len(rows), kernel.reach, options)
        self.is_nonnegative = kernel.is_nonnegative
        self._rows, self._client = rows, rows.client
        count = len(rows.client.nthreads())
        self.device = f"{count} worker{'' if count == 1 else 's'}"

    def weighted(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """See `KernelSums`."""
        few = W.shape[1] <= MIRRORED_COLUMNS or plan.segments(W) is not None
        mirrored = same_rows(A, B) and few
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        if self._is_near(A, B):
            return self._weighted_here(A, B, W, mirrored)
        return self._added_up(self._tiles(A, B, W, mirrored), (n_selected(A), W.shape[1]))

    def excess(
        self, A: Rows, B: Rows, left: Float64s, right: Float64s, thresholds: Float64s, sign: float = 1.0
    ) -> Float64s:
        """See `KernelSums`."""
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        if self._is_near(A, B):
            return super().excess(A, B, left, right, thresholds, sign)
        return self._added_up(self._excess_tiles(A, B, left, right, thresholds, sign), thresholds.shape)

    def _added_up(
        self, submitted: Iterator[tuple[Future, int, slice | None]], shape: tuple[int, ...]
    ) -> Float64s:
        """Add up what tiles return; see `_tiles`."""
        result = np.zeros(shape)
        for future, n_pairs, at in a_little_ahead(self._client, submitted):
            if at is None:
                wait(future)
                self._meter.add(n_pairs)
            else:
                result[at] += result_of(future)
        return result

    def diagonal(self, A: Rows) -> Float64s:
        """See `KernelSums`."""
        return np.array(self._diagonal[A])

    def fold(self, A: Rows, B: Rows, f: Callable[[int, int, Float64s], None]) -> None:
        """See `KernelSums`."""
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        if not (n_selected(A) and n_selected(B)):
            return
        if self._is_near(A, B):
            a, b = (Chosen(slice(0, n_selected(rows)), rows) for rows in (A, B))
            f(0, 0, tasks.pair_values(self._recipe, self._rows[A], a, self._rows[B], b))
            self._meter.add(len(a) * len(b))
            return
        right, room = self._pieces(B), max(int(self.working_memory * plan.MIB / PATCH_SHARE), LEAST_PATCH)
        height = max(1, room // (8 * max(len(piece.chosen) for piece in right)))
        self._fold_patches(self._pieces(A), right, height, f)

    def _fold_patches(
        self, left: list[Piece], right: list[Piece], height: int, f: Callable[[int, int, Float64s], None]
    ) -> None:
        def submitted() -> Iterator[tuple[int, int, Future, int]]:
            for mine in left:
                for start, stop in plan.strips([0, len(mine.chosen)], height):
                    a = mine.chosen.part(start, stop)
                    for theirs in right:
                        b = theirs.chosen
                        pair = self._recipe, mine.source, a, theirs.source, b
                        future = submit(self._client, tasks.pair_values, *pair)
                        yield mine.at.start + start, theirs.at.start, future, len(a) * len(b)

        for i, j, future, costs in a_little_ahead(self._client, submitted()):
            f(i, j, result_of(future))
            self._meter.add(costs)

    @cached_property
    def _diagonal(self) -> Float64s:
        kernel = self._recipe.kernel
        if isinstance(kernel, PairKernel) and kernel.geometry != "inner":
            return own_value(kernel, self.n_rows)
        return np.concatenate(self._rows.each(tasks.own_values, self._recipe))

    def _is_near(self, A: Rows, B: Rows) -> bool:
        """Return whether it takes longer to ask than to compute."""
        n, m = n_selected(A), n_selected(B)
        few = n + m <= NEAR_ROWS and self._rows.may_fetch(n + m)
        return n * m <= NEAR_PAIRS and (self._rows.at_hand is not None or few)

    def _weighted_here(self, A: Rows, B: Rows, weights: Float64s, mirrored: bool) -> Float64s:
        a, b = (Chosen(slice(0, n_selected(rows)), rows) for rows in (A, B))
        self._meter.add(len(a) * (len(a) + 1) // 2 if mirrored else len(a) * len(b))
        if mirrored:
            return tasks.pair_sums(self._recipe, self._rows[A], a, weights, None, None, weights, True)[0]
        both = (self._rows[A], a, weights[:0]), (self._rows[B], b, weights)
        return tasks.pair_sums(self._recipe, *both[0], *both[1], False)[0]

    def _pieces(self, rows: Rows) -> list[Piece]:
        """Return the rows asked for as blocks, if they are a slice, or packed like blocks."""
        pieces, edges = [], self._rows.edges
        if not isinstance(rows, slice):
            for i, j in plan.strips([0, len(rows)], self._rows.block_rows):
                chosen = Chosen(slice(0, j - i), rows[i:j])
                pieces.append(Piece(self._rows.packed(rows[i:j]), chosen, slice(i, j)))
            return pieces
        for block, low, high in zip(self._rows.blocks, edges[:-1], edges[1:], strict=True):
            start, stop = max(int(low), rows.start), min(int(high), rows.stop)
            if start < stop:
                chosen = Chosen(slice(start - int(low), stop - int(low)), slice(start, stop))
                pieces.append(Piece(block, chosen, slice(start - rows.start, stop - rows.start)))
        return pieces

    def _tiles(
        self, A: Rows, B: Rows, weights: Float64s, mirrored: bool
    ) -> Iterator[tuple[Future, int, slice | None]]:
        """Submit the tasks tile by tile; return each with its kernel values, or where its sums belong."""
        left = self._pieces(A)
        right = left if mirrored else self._pieces(B)
        sent = [send(self._client, weights[piece.at]) for piece in right]
        for tile in tiles(len(left), len(right), mirrored=mirrored):
            halves: dict[int, list[tuple[Future, int]]] = {}
            for i, j in tile:
                square = mirrored and i == j
                mine = left[i].source, left[i].chosen, sent[i] if mirrored else weights[:0]
                theirs = (None, None) if square else (right[j].source, right[j].chosen)
                arguments = self._recipe, *mine, *theirs, sent[j], mirrored
                future = submit(self._client, tasks.pair_sums, *arguments)
                n, m = len(left[i].chosen), len(right[j].chosen)
                yield future, n * (n + 1) // 2 if square else n * m, None
                halves.setdefault(i, []).append((future, 0))
                if mirrored and not square:
                    halves.setdefault(j, []).append((future, 1))
            for k, some in halves.items():
                futures, which = [future for future, _ in some], [half for _, half in some]
                yield submit(self._client, tasks.total, futures, which), 0, left[k].at

    def _excess_tiles(
        self, A: Rows, B: Rows, left: Float64s, right: Float64s, thresholds: Float64s, sign: float = 1.0
    ) -> Iterator[tuple[Future, int, slice | None]]:
        """Submit the tasks of `excess` tile by tile, as `_tiles` does."""
        mine, theirs = self._pieces(A), self._pieces(B)
        both = np.hstack([left, thresholds])
        ours = [send(self._client, both[piece.at]) for piece in mine]
        sent = [send(self._client, right[piece.at]) for piece in theirs]
        for tile in tiles(len(mine), len(theirs), mirrored=False):
            rows: dict[int, list[Future]] = {}
            for i, j in tile:
                a, b = mine[i], theirs[j]
                arguments = self._recipe, a.source, a.chosen, ours[i], b.source, b.chosen, sent[j]
                future = submit(self._client, tasks.pair_excess, *arguments, left.shape[1], sign)
                yield future, len(a.chosen) * len(b.chosen), None
                rows.setdefault(i, []).append(future)
            for i, futures in rows.items():
                yield submit(self._client, tasks.total, futures, [0] * len(futures)), 0, mine[i].at
