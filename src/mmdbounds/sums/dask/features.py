"""Features on a Dask cluster: each block of rows makes its own, and only sums of them travel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mmdbounds.progress import Meter
from mmdbounds.sums import plan
from mmdbounds.sums.dask.client import Future, a_little_ahead, cluster_size, result_of, send, submit
from mmdbounds.sums.dask.rows import DaskRows
from mmdbounds.sums.dask.sums import DaskSums, Piece
from mmdbounds.sums.dask.tasks import Chosen
from mmdbounds.sums.features.kernels import ApproximateKernel
from mmdbounds.sums.features.maps import FeatureMap, make_map
from mmdbounds.sums.features.sums import STRIP_ROWS, rounding_of_features
from mmdbounds.sums.protocol import Float64s, Rows, n_selected, plain_rows
from mmdbounds.sums.threads import one_blas_thread


class DaskFeatureSums(DaskSums):
    """Sums over K~ = Phi Phi' of rows on a cluster; see `FeatureSums`."""

    def __init__(
        self,
        rows: DaskRows,
        kernel: ApproximateKernel,
        *,
        dtype: str = "float64",
        working_memory: float = 1024,
        meter: Meter | None = None,
    ) -> None:
        self.n_rows, self.dtype, self.working_memory = len(rows), dtype, working_memory
        self.is_positive_definite = True
        self.device = cluster_size(rows.client)
        self._rows, self._client, self._meter = rows, rows.client, meter or Meter()
        self._size = kernel.size
        # Made there: the inverse root of many landmarks is too large for a message.
        self._map = submit(rows.client, make_map, kernel, rows.shape[1])
        norms = np.concatenate(rows.each(norms_of, kernel.centre))
        self.rounding, self.tie_width = rounding_of_features(
            make_map(kernel, rows.shape[1]),
            (float(norms.max()), float(np.median(norms))),
            dtype,
            len(rows),
            rows.block_rows,
        )

    def apply(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """See `KernelSums`."""
        weights = np.asarray(W, dtype=np.float64)
        if weights.ndim == 1:
            return self.apply(A, B, weights[:, None])[:, 0]
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        result = np.zeros((n_selected(A), weights.shape[1]))
        if result.size == 0 or len(weights) == 0:
            return result
        total = np.zeros((self._size, weights.shape[1]))
        for _, found in self._each(B, weighted, lambda piece: send(self._client, weights[piece.at])):
            total += found
        sent = send(self._client, total)
        for piece, found in self._each(A, products, lambda _: sent):
            result[piece.at] = found
        return result

    def diagonal(self, A: Rows) -> Float64s:
        """See `KernelSums`."""
        A = plain_rows(A, self.n_rows)
        result = np.empty(n_selected(A))
        for piece, found in self._each(A, own_products, lambda _: None):
            result[piece.at] = found
        return result

    def fold(self, A: Rows, B: Rows, f: Callable[[int, int, Float64s], None]) -> None:
        """See `KernelSums`."""
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        if n_selected(A) and n_selected(B):
            for i, j, future in a_little_ahead(self._client, self._patches(A, B)):
                f(i, j, result_of(future))

    def _patches(self, A: Rows, B: Rows) -> Iterator[tuple[int, int, Future]]:
        """Submit patches of K~[A, B] in order; return each with its first row and column."""
        right = self._pieces(B)
        for mine in self._pieces(A):
            for start, stop in plan.strips([0, len(mine.chosen)], STRIP_ROWS):
                a = mine.chosen.part(start, stop)
                for theirs in right:
                    sources = mine.source, a, theirs.source, theirs.chosen
                    future = submit(self._client, feature_values, self._map, *sources, self.dtype)
                    self._meter.add((len(a) + len(theirs.chosen)) * self._size)
                    yield mine.at.start + start, theirs.at.start, future

    def _each(
        self, rows: Rows, task: Callable[..., Any], with_it: Callable[[Piece], Any]
    ) -> Iterator[tuple[Piece, Float64s]]:
        """Have each piece of some rows worked on, and hand over the answers in order."""

        def submitted() -> Iterator[tuple[Piece, Future]]:
            for piece in self._pieces(rows):
                arguments = self._map, piece.source, piece.chosen, with_it(piece), self.dtype
                yield piece, submit(self._client, task, *arguments)

        for piece, future in a_little_ahead(self._client, submitted()):
            yield piece, result_of(future)
            self._meter.add(len(piece.chosen) * self._size)


def norms_of(rows: Float64s, centre: Float64s) -> Float64s:
    """Return the norms of a block's rows, centred."""
    return np.asarray(np.linalg.norm(rows - centre, axis=1))


def weighted(
    feature_map: FeatureMap, rows: Float64s, chosen: Chosen, weights: Float64s, dtype: str
) -> Float64s:
    """Return Phi' W of some rows of a block."""
    total = np.zeros((feature_map.size, weights.shape[1]))
    for i, j, features in _strips(feature_map, rows, chosen, dtype):
        total += features.T @ weights[i:j].astype(dtype)
    return total


def products(
    feature_map: FeatureMap, rows: Float64s, chosen: Chosen, total: Float64s, dtype: str
) -> Float64s:
    """Return Phi times a total of weighted features, for some rows of a block."""
    return np.concatenate(
        [features @ total.astype(dtype) for _, _, features in _strips(feature_map, rows, chosen, dtype)]
    ).astype(np.float64)


def own_products(
    feature_map: FeatureMap, rows: Float64s, chosen: Chosen, nothing: None, dtype: str
) -> Float64s:
    """Return phi(z) . phi(z) of some rows of a block."""
    strips = _strips(feature_map, rows, chosen, dtype)
    return np.concatenate([np.einsum("ij,ij->i", each, each) for _, _, each in strips]).astype(np.float64)


def feature_values(
    feature_map: FeatureMap, mine: Float64s, a: Chosen, theirs: Float64s, b: Chosen, dtype: str
) -> Float64s:
    """Return the values of k~ between some rows of two blocks."""
    values = np.empty((len(a), len(b)))
    for i, j, left in _strips(feature_map, mine, a, dtype):
        for k, stop, right in _strips(feature_map, theirs, b, dtype):
            values[i:j, k:stop] = left @ right.T
    return values


def _strips(
    feature_map: FeatureMap, rows: Float64s, chosen: Chosen, dtype: str
) -> Iterator[tuple[int, int, Any]]:
    """Make the features of some rows of a block, strip by strip."""
    some = rows[chosen.rows]
    with one_blas_thread():
        for i, j in plan.strips([0, len(some)], STRIP_ROWS):
            yield i, j, feature_map(some[i:j]).astype(dtype, copy=False)
