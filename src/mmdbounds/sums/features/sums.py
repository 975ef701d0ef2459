"""Sums over a kernel matrix that is a product of features: K~[A, B] @ W is Phi(A) (Phi(B)' W).

Features are made strip by strip and forgotten, unless those of all rows fit the budget; strips, and the order
in which their sums are added, follow from the sizes alone.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from mmdbounds.sums import plan
from mmdbounds.sums.cpu import MatrixSums
from mmdbounds.sums.features import ApproximateKernel, pair_price
from mmdbounds.sums.features.maps import FeatureMap, make_map
from mmdbounds.sums.protocol import Float64s, KernelSums, Options, Rows, n_selected, part_of, plain_rows
from mmdbounds.sums.rounding import ARITHMETIC, FORMULA, claimed, sum_error, unit_roundoff
from mmdbounds.sums.threads import in_order, thread_count

Array = Any  # an array of the library that makes the features: NumPy's or PyTorch's
Span = tuple[int, int]
T = TypeVar("T")

STRIP_ROWS = 512  # rows whose features are made at a time, fewer where that takes more than its share
TEMPORARIES = 4  # arrays of a strip's size that are there for a moment


class Features:
    """Features of the pooled rows `Z`, in NumPy and threads; a class derived from it uses another library."""

    backend, device = "numpy", "cpu"

    def __init__(
        self, Z: Float64s, feature_map: FeatureMap, dtype: str, n_threads: int | None = None
    ) -> None:
        self.map, self.dtype, self.n_threads = feature_map, dtype, n_threads or thread_count()
        self._Z = Z

    def strip_rows(self, room: float) -> int:
        """Return for how many rows features are made at a time, from the sizes alone; `room` is in bytes."""
        return int(np.clip(room // (TEMPORARIES * plan.IN_FLIGHT * 8 * self.map.size), 16, STRIP_ROWS))

    def of(self, rows: Rows) -> Array:
        """Return the features of some pooled rows, in the precision of the sums."""
        return self.map(self._Z[rows]).astype(self.dtype, copy=False)

    def given(self, array: Any) -> Array:
        """Return an array of NumPy's as one of the library's, in the precision of the sums."""
        return np.asarray(array, dtype=self.dtype)

    def taken(self, array: Array) -> Float64s:
        """Return an array of the library's as one of NumPy's."""
        return np.asarray(array, dtype=np.float64)

    def norms(self) -> tuple[float, float]:
        """Return the largest and the median norm of the centred rows."""
        return row_norms(self._Z, self.map)

    def empty(self, n_rows: int) -> Array:
        """Return room for the features of so many rows."""
        return np.empty((n_rows, self.map.size), dtype=self.dtype)

    def precise(self) -> Features:
        """Return the same in float64."""
        return Features(self._Z, self.map, "float64", self.n_threads)


class FeatureSums(KernelSums):
    """Sums over K~ = Phi Phi' of the pooled rows, strips added up in float64; the meter counts features."""

    def __init__(self, features: Features, n_rows: int, **options: Unpack[Options]) -> None:
        self._set_options(n_rows, 0.0, options)
        self.backend, self.device, self.dtype = features.backend, features.device, features.dtype
        self._features, self._size = features, features.map.size
        self.pair_price = pair_price(self._size)
        room = self.working_memory * plan.MIB
        self._height = features.strip_rows(room / 4)
        self._is_kept = n_rows * self._size * np.dtype(self.dtype).itemsize <= room / 2
        self._kept: Array | None = None
        self._lock = threading.Lock()
        self.rounding, self.tie_width = rounding_of_features(
            features.map, features.norms(), self.dtype, n_rows, self._height
        )

    @cached_property
    def precise(self) -> FeatureSums:
        """The same in float64."""
        if self.dtype == "float64":
            return self
        features, memory = self._features.precise(), self.working_memory
        return FeatureSums(features, self.n_rows, working_memory=memory, meter=self._meter)

    def weighted(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """See `KernelSums`: Phi(A) (Phi(B)' W), the latter added up in float64."""
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        give, take = self._features.given, self._features.taken
        total = np.zeros((self._size, W.shape[1]))
        for _, found in self._over(B, lambda strip, span: take(strip.T @ give(W[slice(*span)]))):
            total += found
        given = give(total)
        return self._filled((n_selected(A), W.shape[1]), A, lambda strip: take(strip @ given))

    def earlier(self, rows: NDArray[np.intp]) -> Float64s:
        """See `KernelSums`: with those of earlier strips by their sum."""
        give, take, total = self._features.given, self._features.taken, np.zeros(self._size)

        def work(strip: Array, span: Span) -> tuple[Float64s, Float64s, Array]:
            return np.tril(take(strip @ strip.T), -1).sum(axis=1), take(strip.sum(0)), strip

        result = np.empty(len(rows))
        for span, (within, added, strip) in self._over(rows, work):
            result[slice(*span)] = within + take(strip @ give(total))
            total += added
        return result

    def diagonal(self, A: Rows) -> Float64s:
        """See `KernelSums`."""
        A = plain_rows(A, self.n_rows)
        return self._filled((n_selected(A),), A, lambda strip: self._features.taken((strip * strip).sum(1)))

    def fold(self, A: Rows, B: Rows, f: Callable[[int, int, Float64s], None]) -> None:
        """See `KernelSums`."""
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        for i, stop in plan.strips([0, n_selected(A)], self._height):
            left = self._of(part_of(A, i, stop))
            self._meter.add(len(left) * self._size)
            for (j, _), found in self._over(B, functools.partial(self._values, left)):
                f(i, j, found)

    def _values(self, left: Array, right: Array, span: Span) -> Float64s:
        return self._features.taken(left @ right.T)

    def _filled(self, shape: tuple[int, ...], rows: Rows, work: Callable[[Array], Float64s]) -> Float64s:
        """Return what some work makes of the features of each strip, one strip below the other."""
        result = np.empty(shape)
        for span, found in self._over(rows, lambda strip, _: work(strip)):
            result[slice(*span)] = found
        return result

    def _over(self, rows: Rows, work: Callable[[Array, Span], T]) -> Iterator[tuple[Span, T]]:
        """Work on the features of strips of some rows, in threads; yield the results in order."""

        def on_strip(span: Span) -> T:
            return work(self._of(part_of(rows, *span)), span)

        spans = plan.strips([0, n_selected(rows)], self._height)
        pays = n_selected(rows) * self._size >= plan.THREADS_PAY and len(spans) > 1
        for span, found in in_order(spans, on_strip, self._features.n_threads if pays else 1):
            yield span, found
            self._meter.add((span[1] - span[0]) * self._size)

    def _of(self, rows: Rows) -> Array:
        """Return the features of some rows, from memory where all are kept."""
        if not self._is_kept:
            return self._features.of(rows)
        with self._lock:  # both sides may ask at once
            if self._kept is None:
                kept = self._features.empty(self.n_rows)
                for i, j in plan.strips([0, self.n_rows], self._height):
                    kept[i:j] = self._features.of(slice(i, j))
                self._kept = kept
        return self._kept[rows]


def rounding_of_features(
    feature_map: FeatureMap, norms: tuple[float, float], dtype: str, n_rows: int, in_one_go: int
) -> tuple[float, float]:
    """Return what a proof allows for, from the farthest row, and the width of ties, from a typical one.

    A sum adds up features of `in_one_go` rows in `dtype`, and then as many products as there are features.
    """
    products = (feature_map.size + FORMULA) * unit_roundoff(dtype)
    far, typical = (feature_map.rounding(norm) for norm in norms)
    coarse = 8.0 * float(np.finfo(dtype).eps)
    return claimed(far + products, sum_error(n_rows, in_one_go, dtype)), max(ARITHMETIC, typical, coarse)


def row_norms(Z: Float64s, feature_map: FeatureMap) -> tuple[float, float]:
    """Return the largest and the median norm of the centred rows."""
    norms = np.empty(len(Z))
    for i, j in plan.strips([0, len(Z)], 65536):
        norms[i:j] = np.linalg.norm(Z[i:j] - feature_map.centre, axis=1)
    return float(norms.max(initial=0.0)), float(np.median(norms)) if len(norms) else 0.0


def feature_sums(
    Z: Float64s, kernel: ApproximateKernel, **options: Unpack[Options]
) -> FeatureSums | MatrixSums:
    """Return the sums on the CPU; a small matrix is kept, as for other kernels."""
    feature_map = make_map(kernel, Z.shape[1])
    if not plan.matrix_fits(len(Z), options["working_memory"]):
        return FeatureSums(Features(Z, feature_map, options["dtype"]), len(Z), **options)
    phi, error = feature_map(Z), feature_map.rounding(row_norms(Z, feature_map)[0])
    return MatrixSums(np.asarray(phi @ phi.T), value_error=error, reach=0.0, **options)
