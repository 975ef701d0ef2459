"""How one strip of the kernel matrix is computed: compiled where numba is there, else in NumPy.

An engine turns a selection of pooled rows into factors (`left`, `right`) and a pair of them
into sums, products or values. Which strips there are, in which thread and in which order
their sums are added, is decided in `mmdbounds.sums.blocked`.
"""

from __future__ import annotations

import importlib.util
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel
from mmdbounds.sums.pairs import function_block, l1_distances
from mmdbounds.sums.plan import Columns
from mmdbounds.sums.plan import columns as cut_columns
from mmdbounds.sums.points import Points, kernel_rows, prepare
from mmdbounds.sums.protocol import Float64s, Rows

Factors = NDArray[Any]

BY_PRODUCT = ("distance2", "inner", "cosine")
"""Geometries that a matrix product serves; the others are computed in float64 whatever was asked."""


class Engine(Protocol):
    """What `BlockedSums` asks of a strip."""

    dtype: str
    spread: float

    def left(self, rows: Rows) -> Factors:
        """Return the strip's rows, ready to be multiplied."""
        ...

    def right(self, rows: Rows) -> Factors:
        """Return the strip's columns, ready to be multiplied."""
        ...

    def sums(
        self, left: Factors, right: Factors, columns: Columns, n_segments: int, symmetric: bool
    ) -> tuple[Float64s, Float64s]:
        """Return the row sums for each segment, and the column sums beyond the diagonal."""
        ...

    def products(
        self,
        left: Factors,
        right: Factors,
        columns: Columns,
        weights: tuple[Float64s, Float64s],
        symmetric: bool,
    ) -> tuple[Float64s, Float64s]:
        """Return strip @ weights[1], and strip.T @ weights[0] beyond the diagonal."""
        ...

    def block(self, left: Factors, right: Factors, out: Float64s) -> None:
        """Write the kernel values to `out`."""
        ...


class FusedEngine:
    """Strips in compiled code, for every kernel that a matrix product serves."""

    def __init__(self, Z: Float64s, kernel: Kernel, dtype: str, width: int) -> None:
        from mmdbounds.sums import _fused

        self._code = _fused
        self._points: Points = prepare(Z, kernel, dtype)
        self._parameters = _fused.parameters(kernel, dtype)
        self.dtype = dtype
        self._width = width
        self.spread = self._points.spread

    def left(self, rows: Rows) -> Factors:
        """Return left-hand factors."""
        return self._points.left(rows)

    def right(self, rows: Rows) -> Factors:
        """Return right-hand factors (a view where `rows` is a slice)."""
        return np.ascontiguousarray(self._points.right[rows])

    def sums(
        self, left: Factors, right: Factors, columns: Columns, n_segments: int, symmetric: bool
    ) -> tuple[Float64s, Float64s]:
        """See `Engine`."""
        row_sums = np.zeros((n_segments, len(left)))
        column_sums = np.zeros(len(right) if symmetric else 0)
        where = (columns.edges, columns.segment, symmetric, *self._parameters)
        self._code.strip_sums(left, right, *where, self._buffer(left, columns), row_sums, column_sums)
        return row_sums.T, column_sums

    def products(
        self,
        left: Factors,
        right: Factors,
        columns: Columns,
        weights: tuple[Float64s, Float64s],
        symmetric: bool,
    ) -> tuple[Float64s, Float64s]:
        """See `Engine`."""
        n_columns = weights[1].shape[1]
        row_sums = np.zeros((len(left), n_columns))
        column_sums = np.zeros((len(right) if symmetric else 0, n_columns))
        where = (columns.edges, weights, symmetric, *self._parameters)
        self._code.strip_products(left, right, *where, self._buffer(left, columns), row_sums, column_sums)
        return row_sums, column_sums

    def block(self, left: Factors, right: Factors, out: Float64s) -> None:
        """See `Engine`."""
        columns = cut_columns([0, len(right)], 0, self._width)
        self._code.strip_block(
            left, right, columns.edges, *self._parameters, self._buffer(left, columns), out
        )

    def _buffer(self, left: Factors, columns: Columns) -> Factors:
        return np.empty(len(left) * columns.widest, dtype=self.dtype)


class PlainEngine:
    """Strips in NumPy: for kernels without a product, and where numba is missing."""

    def __init__(self, Z: Float64s, kernel: Kernel, dtype: str) -> None:
        self._kernel = kernel
        self.dtype = dtype if kernel.geometry in BY_PRODUCT else "float64"
        self._points = prepare(Z, kernel, dtype) if kernel.geometry in BY_PRODUCT else None
        self._rows = kernel_rows(Z, kernel) if self._points is None else self._points.right
        self.spread = 0.0 if self._points is None else self._points.spread

    def left(self, rows: Rows) -> Factors:
        """Return left-hand factors."""
        return np.asarray(self._rows[rows]) if self._points is None else self._points.left(rows)

    def right(self, rows: Rows) -> Factors:
        """Return right-hand factors."""
        return np.asarray(self._rows[rows])

    def sums(
        self, left: Factors, right: Factors, columns: Columns, n_segments: int, symmetric: bool
    ) -> tuple[Float64s, Float64s]:
        """See `Engine`."""
        row_sums = np.zeros((len(left), n_segments))
        column_sums = np.zeros(len(right) if symmetric else 0)
        for k, segment in enumerate(columns.segment):
            here = slice(columns.edges[k], columns.edges[k + 1])
            block = self._values(left, right[here], symmetric and k == 0)
            row_sums[:, segment] += block.sum(axis=1, dtype=np.float64)
            if symmetric and k > 0:
                column_sums[here] += block.sum(axis=0, dtype=np.float64)
        return row_sums, column_sums

    def products(
        self,
        left: Factors,
        right: Factors,
        columns: Columns,
        weights: tuple[Float64s, Float64s],
        symmetric: bool,
    ) -> tuple[Float64s, Float64s]:
        """See `Engine`."""
        mine, theirs = weights
        row_sums = np.zeros((len(left), theirs.shape[1]))
        column_sums = np.zeros((len(right) if symmetric else 0, theirs.shape[1]))
        for k in range(len(columns.edges) - 1):
            here = slice(columns.edges[k], columns.edges[k + 1])
            block = self._values(left, right[here], symmetric and k == 0)
            row_sums += block @ theirs[here]
            if symmetric and k > 0:
                column_sums[here] += block.T @ mine
        return row_sums, column_sums

    def block(self, left: Factors, right: Factors, out: Float64s) -> None:
        """See `Engine`."""
        out[:] = self._values(left, right, on_diagonal=False)

    def _values(self, left: Factors, right: Factors, on_diagonal: bool) -> Factors:
        kernel = self._kernel
        if isinstance(kernel, FunctionKernel):
            return function_block(kernel, left, right)
        if not isinstance(kernel, PairKernel):  # pragma: no cover -- a precomputed matrix has its own sums
            msg = f"no block can be computed for {kernel}"
            raise TypeError(msg)
        if self._points is None:
            return kernel.value(l1_distances(left, right))
        product = left @ right.T
        if self._points.unit is None:
            return kernel.value(product)
        squared = np.maximum(product * (-2.0 * self._points.unit), 0.0)
        if on_diagonal:
            np.fill_diagonal(squared, 0.0)
        return kernel.value(squared)


def numba_is_there() -> bool:
    """Return whether the compiled strips can be used."""
    return importlib.util.find_spec("numba") is not None


def make_engine(Z: Float64s, kernel: Kernel, dtype: str, width: int) -> tuple[Engine, str]:
    """Return the fastest engine for a kernel, and its name; `width` is that of its blocks."""
    if kernel.geometry in BY_PRODUCT and numba_is_there():
        return FusedEngine(Z, kernel, dtype, width), "numba"
    return PlainEngine(Z, kernel, dtype), "numpy"
