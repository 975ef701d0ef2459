"""How strips of the kernel matrix are cut, and how one is computed: by numba if it is there, else in NumPy.

An engine turns a selection of pooled rows into factors (`left`, `right`) and a strip of them into sums,
products or values. In which thread, and in which order sums are added, is decided in `cpu.blocked`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds import compiled
from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel
from mmdbounds.kernels.registry import SHIPPED_FORMS
from mmdbounds.sums import plan
from mmdbounds.sums.plan import Columns
from mmdbounds.sums.points import (
    Points,
    by_product,
    checked_values,
    function_block,
    pair_numbers,
    product_values,
)
from mmdbounds.sums.protocol import Float64s, Rows, excess_of, n_selected, part_of

Factors = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Strip:
    """Some rows of the kernel matrix against many columns.

    A row's distance to itself is 0 exactly, which a product would miss by rounding: `same` says where that
    is. With `symmetric` the first block is the square on the diagonal of a symmetric matrix, whose other half
    is to be had from column sums.
    """

    left: Factors  # of the rows
    right: Factors  # of the columns
    same: NDArray[np.intp]  # for each row the column that is the same pooled row, below 0 if there is none
    columns: Columns  # how they are cut into blocks
    symmetric: bool = False


class PlainEngine:
    """Strips in NumPy: for kernels without a product or a compiled formula, and where numba is missing."""

    is_compiled = False

    def __init__(self, points: Points, kernel: Kernel, dtype: str) -> None:
        self._points, self._kernel = points, kernel
        self.dtype = dtype if points.is_product else "float64"
        self.value_error, self.typical_spread = points.value_error, points.typical_spread

    def left(self, rows: Rows) -> Factors:
        """Return the factors of a strip's rows."""
        return self._points.left(rows)

    def right(self, rows: Rows) -> Factors:
        """Return the factors of a strip's columns."""
        return np.asarray(self._points.right[rows])

    def sums(self, strip: Strip, n_segments: int) -> tuple[Float64s, Float64s]:
        """Return the row sums for each segment, and the column sums beyond the diagonal."""
        row_sums = np.zeros((len(strip.left), n_segments))
        column_sums = np.zeros(len(strip.right) if strip.symmetric else 0)
        for k, segment in enumerate(strip.columns.segment):
            here = strip.columns.block(k)
            block = self._values(strip, here)
            row_sums[:, segment] += block.sum(axis=1, dtype=np.float64)
            if strip.symmetric and k > 0:
                column_sums[here] += block.sum(axis=0, dtype=np.float64)
        return row_sums, column_sums

    def products(self, strip: Strip, mine: Factors, theirs: Factors) -> tuple[Float64s, Float64s]:
        """Return strip @ theirs, and strip.T @ mine beyond the diagonal."""
        row_sums = np.zeros((len(strip.left), theirs.shape[1]))
        column_sums = np.zeros((len(strip.right) if strip.symmetric else 0, theirs.shape[1]))
        for k in range(len(strip.columns.segment)):
            here = strip.columns.block(k)
            block = self._values(strip, here)
            row_sums += block @ theirs[here]
            if strip.symmetric and k > 0:
                column_sums[here] += block.T @ mine
        return row_sums, column_sums

    def excess(
        self, strip: Strip, left: Float64s, right: Float64s, thresholds: Float64s, sign: float
    ) -> Float64s:
        """Return by how much x_ij exceeds each row's thresholds, added up over the strip (`excess_of`)."""
        sums = np.zeros(thresholds.shape)
        for k in range(len(strip.columns.segment)):
            here = strip.columns.block(k)
            sums += excess_of(self._values(strip, here), left, right[here], thresholds, sign)
        return sums

    def block(self, strip: Strip, out: Float64s) -> None:
        """Write the kernel values to `out`."""
        for k in range(len(strip.columns.segment)):
            here = strip.columns.block(k)
            out[:, here] = self._values(strip, here)

    def _values(self, strip: Strip, here: slice) -> Factors:
        kernel, left, right = self._kernel, strip.left, strip.right[here]
        if isinstance(kernel, FunctionKernel):
            return function_block(kernel, left, right)
        if not isinstance(kernel, PairKernel):
            msg = f"a {kernel.name} kernel has no blocks to compute"
            raise TypeError(msg)
        if not self._points.is_product:
            return checked_values(kernel, pair_numbers(left, right, kernel.geometry))
        product = left @ right.T
        if self._points.unit is not None:
            own = np.flatnonzero((strip.same >= here.start) & (strip.same < here.stop))
            product[own, strip.same[own] - here.start] = 0.0
        return product_values(self._points, kernel, product)


class FusedEngine(PlainEngine):
    """Strips in compiled code, for every kernel that has a form."""

    is_compiled = True

    def __init__(self, points: Points, kernel: Kernel, dtype: str) -> None:
        from mmdbounds.sums.cpu import fused

        super().__init__(points, kernel, dtype)
        self._code = fused
        self._parameters = fused.parameters(kernel, self.dtype, points.value_error)

    def right(self, rows: Rows) -> Factors:
        """See `PlainEngine`; a view where `rows` is a slice."""
        return np.ascontiguousarray(self._points.right[rows])

    def sums(self, strip: Strip, n_segments: int) -> tuple[Float64s, Float64s]:
        """See `PlainEngine`."""
        row_sums = np.zeros((n_segments, len(strip.left)))
        column_sums = np.zeros(len(strip.right) if strip.symmetric else 0)
        self._code.strip_sums(*self._arguments(strip), strip.columns.segment, row_sums, column_sums)
        return row_sums.T, column_sums

    def products(self, strip: Strip, mine: Factors, theirs: Factors) -> tuple[Float64s, Float64s]:
        """See `PlainEngine`."""
        row_sums = np.zeros((len(strip.left), theirs.shape[1]))
        column_sums = np.zeros((len(strip.right) if strip.symmetric else 0, theirs.shape[1]))
        self._code.strip_products(*self._arguments(strip), mine, theirs, row_sums, column_sums)
        return row_sums, column_sums

    def excess(
        self, strip: Strip, left: Float64s, right: Float64s, thresholds: Float64s, sign: float
    ) -> Float64s:
        """See `PlainEngine`."""
        sums = np.zeros(thresholds.shape)
        self._code.strip_excess(*self._arguments(strip), left, right, thresholds, sign, sums)
        return sums

    def block(self, strip: Strip, out: Float64s) -> None:
        """See `PlainEngine`."""
        self._code.strip_block(*self._arguments(strip), out)

    def _arguments(self, strip: Strip) -> tuple[Any, ...]:
        buffer = np.empty(len(strip.left) * strip.columns.widest, dtype=self.dtype)
        where = (strip.same, strip.columns.edges, strip.symmetric)
        return (strip.left, strip.right, *where, self._parameters, buffer)


class Strips:
    """Some rows against some columns, from which strips are cut.

    `own` has for each row the column that is the same pooled row, -1 if there is none. With `mirrored` the
    column sums of strips are wanted too; if rows and columns are the same, strips then begin on the diagonal.
    """

    def __init__(
        self,
        engine: PlainEngine,
        rows: Rows,
        right: Factors,
        own: NDArray[np.intp],
        width: int,
        *,
        mirrored: bool = False,
        is_square: bool = True,
    ) -> None:
        self.engine, self.rows, self.mirrored = engine, rows, mirrored
        self._right, self._own, self._width = right, own, width
        self.n_rows, self.n_columns = n_selected(rows), len(right)
        self._on_diagonal = mirrored and is_square

    def first(self, i0: int) -> int:
        """Return the first column of the strip that begins at row `i0`."""
        return i0 if self._on_diagonal else 0

    def n_pairs(self, i0: int, i1: int) -> int:
        """Return how many kernel values a strip has."""
        return (i1 - i0) * (self.n_columns - self.first(i0))

    def strip(self, i0: int, i1: int, cuts: list[int]) -> Strip:
        """Return the rows `i0` to `i1`, their columns cut at `cuts`."""
        start = self.first(i0)
        head = i1 - i0 if self._on_diagonal else None
        columns = plan.columns(cuts, start, self._width, first=head).from_zero()
        if self.mirrored and not self._on_diagonal:  # the square that has no mirror image is empty
            columns = Columns(np.insert(columns.edges, 0, 0), np.insert(columns.segment, 0, 0))
        return self._cut(i0, i1, start, self.n_columns, columns)

    def patch(self, i0: int, i1: int, j0: int, j1: int) -> Strip:
        """Return the rows `i0` to `i1` and the columns `j0` to `j1`."""
        return self._cut(i0, i1, j0, j1, plan.columns([0, j1 - j0], 0, self._width))

    def _cut(self, i0: int, i1: int, j0: int, j1: int, columns: Columns) -> Strip:
        left = self.engine.left(part_of(self.rows, i0, i1))
        return Strip(left, self._right[j0:j1], self._own[i0:i1] - j0, columns, self.mirrored)


def is_compiled(points: Points, kernel: Kernel) -> bool:
    """Return whether there is compiled code for a kernel of these rows."""
    has_form = type(kernel) in dict(SHIPPED_FORMS) and points.is_product == by_product(kernel)
    return has_form and compiled.numba_is_there()


def make_engine(points: Points, kernel: Kernel, dtype: str) -> PlainEngine:
    """Return the fastest engine for rows that are ready."""
    return (FusedEngine if is_compiled(points, kernel) else PlainEngine)(points, kernel, dtype)


def take_one_by_one(
    scores: Float64s,
    place: NDArray[np.intp],
    columns: Float64s,
    gain: float,
    count: int,
    tie_width: float,
    *,
    compiled: bool,
) -> tuple[NDArray[np.intp], Float64s]:
    """Take the row with the largest score, add its column to all scores, and so on: S-SD's inner loop.

    `scores` (n,) are changed in place, -inf for rows that may not be taken. `columns` (m, n) has the kernel
    values of some rows to all rows, that of a row at its `place` (n,), -1 if it is not there; they count
    `gain` times. Scores within `tie_width` of the largest are tied: the lowest row is taken. At most `count`
    rows are, fewer where one has no column. Returned are these rows, in order, and the sum of their columns.
    """
    if compiled:
        from mmdbounds.sums.cpu import fused

        rows, total = fused.take_one_by_one(scores, place, columns, gain, count, tie_width)
        return rows, total
    taken: list[int] = []
    total = np.zeros(len(scores))
    while len(taken) < count:
        row = int(np.argmax(scores >= scores.max() - tie_width))
        if place[row] < 0:
            break
        taken.append(row)
        scores[row] = -np.inf
        scores += gain * columns[place[row]]
        total += columns[place[row]]
    return np.array(taken, dtype=np.intp), total
