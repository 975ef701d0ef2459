"""Sums on PyTorch tensors: blocks of the kernel matrix are on the device, and only sums come back.

Where only a few sums of each row are wanted in float32, and Triton is there, no block is written (`triton`).
"""

from __future__ import annotations

import copy
import importlib.util
import itertools
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.kernels import Kernel, PairKernel
from mmdbounds.progress import Meter
from mmdbounds.sums import plan, points, protocol
from mmdbounds.sums.protocol import (
    Float64s,
    KernelSums,
    Options,
    PooledRows,
    Rows,
    n_selected,
    places_in,
)
from mmdbounds.sums.rounding import claimed, inner_error, pair_error, product_error, sum_error
from mmdbounds.sums.torch import TorchRows, check_inner, prepared

Tensor = Any  # a torch.Tensor; torch is an optional package
WIDTH = {8: 8192, 4: 512}  # columns of a block, by the bytes of a value; sums over one are in its precision
NEAR, MANY = 8.0, 0.05  # rows beyond this squared distance (in squared bandwidths) are far, unless many are
TEMPORARIES = 4  # tensors of a block's size that are there for a moment
EARLIER_ROWS = 2048  # rows whose sums to earlier rows are computed at a time
FEW_COLUMNS = 4  # up to so many weighted sums of each row, a pass for each is cheaper than writing the blocks


class TorchSums(KernelSums):
    """Sums over the kernel matrix of the pooled rows `Z`, on a device as PyTorch names it.

    By default on that of the rows, else the first GPU, or the CPU.
    """

    backend = "torch"

    def __init__(
        self, Z: PooledRows, kernel: Kernel, *, device: str | None = None, **options: Unpack[Options]
    ) -> None:
        self._set_options(len(Z), kernel.reach, options)
        self.is_nonnegative = kernel.is_nonnegative
        torch = import_torch()
        given = Z.tensor if isinstance(Z, TorchRows) else torch.from_numpy(np.ascontiguousarray(Z))
        where = torch.device(device or (given.device if isinstance(Z, TorchRows) else best_device()))
        self.device, self._kernel, self._n_columns = str(where), kernel, int(given.shape[1])
        rows, self._norms = prepared(given.to(where), kernel)
        self._gap = float((given.amax(0) - given.amin(0)).max())
        error = self._value_error(self.dtype)
        if self._norms.size and points.differences_pay(error, self.n_rows, self._n_columns, self.dtype):
            rows, self._norms = given.to(where), np.empty(0)
        self._precise = Blocks(rows, kernel, self.working_memory, self._meter, by_product=self._by_product)
        self._compute_in(self.dtype if self._by_product else "float64")

    def _compute_in(self, dtype: str) -> None:
        """Get ready for products in `dtype`."""
        rows, kernel = self._precise.rows, self._kernel
        points.check_float32(self._spread, dtype)
        check_inner(rows, kernel, dtype)
        self.dtype, self._blocks, self._near = dtype, self._precise, None
        if dtype == "float32":
            self._blocks = Blocks(rows.float(), kernel, self.working_memory, self._meter, by_product=True)
            if kernel.forms is not None and triton_works(rows.device):
                self._near = NearRows(self._precise, kernel)
        self.rounding = claimed(self._value_error(dtype), sum_error(self.n_rows, self._blocks.width, dtype))
        self.tie_width = points.tie_error(float(np.median(self._norms)) if self._norms.size else 0.0, dtype)

    @property
    def _by_product(self) -> bool:
        """Whether products are taken; else differences."""
        is_distance = self._kernel.geometry == "distance2"
        return points.by_product(self._kernel) and (not is_distance or self._norms.size > 0)

    @property
    def _spread(self) -> float:
        return float(self._norms.max(initial=0.0))

    def _value_error(self, dtype: str) -> float:
        if self._norms.size:
            return product_error(self._norms, self._n_columns, self._kernel, dtype)
        if self._by_product:
            return inner_error(self._n_columns, self._kernel, dtype)
        vanished = points.checked_gap(self._gap, self._n_columns, self._kernel)
        return pair_error(self._n_columns, self._kernel) + vanished

    @cached_property
    def rough(self) -> KernelSums:
        """The same in float32, where a GPU does that far faster and it is not too coarse."""
        is_coarse = np.finfo(np.float32).eps * self._spread > points.FLOAT32_LOSS
        if self.device == "cpu" or self.dtype == "float32" or not self._by_product or is_coarse:
            return self
        try:
            return self._in("float32")
        except DataError:  # inner products that float32 cannot hold
            return self

    @cached_property
    def precise(self) -> KernelSums:
        """The same in float64."""
        return self if self.dtype == "float64" else self._in("float64")

    def _in(self, dtype: str) -> KernelSums:
        other = copy.copy(self)  # the rows on the device are shared
        for name in ("rough", "precise"):
            other.__dict__.pop(name, None)
        other._compute_in(dtype)
        return other

    def weighted(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """See `KernelSums`."""
        A, B = protocol.plain_rows(A, self.n_rows), protocol.plain_rows(B, self.n_rows)
        if self._near is not None and (plan.segments(W) or W.shape[1] <= FEW_COLUMNS):
            try:
                return self._near.apply(A, B, W)
            except self._near.too_large:  # rows too wide for this GPU's fast memory
                self._near = None
        return self._blocks.apply(A, B, W)

    def earlier(self, rows: NDArray[np.intp]) -> Float64s:
        """See `KernelSums`; only sums leave the device."""
        return self._blocks.earlier(rows)

    def excess(
        self, A: Rows, B: Rows, left: Float64s, right: Float64s, thresholds: Float64s, sign: float = 1.0
    ) -> Float64s:
        """See `KernelSums`."""
        A, B = protocol.plain_rows(A, self.n_rows), protocol.plain_rows(B, self.n_rows)
        return self._blocks.excess(A, B, left, right, thresholds, sign)

    def diagonal(self, A: Rows) -> Float64s:
        """See `KernelSums`."""
        A = protocol.plain_rows(A, self.n_rows)
        if not (isinstance(self._kernel, PairKernel) and self._kernel.geometry == "inner"):
            return points.own_value(self._kernel, n_selected(A))
        z = self._precise.rows[self._precise.places(A)]
        return np.asarray(self._kernel.value((z * z).sum(1).cpu().numpy()))

    def fold(self, A: Rows, B: Rows, f: Callable[[int, int, Float64s], None]) -> None:
        """See `KernelSums`."""
        A, B = (protocol.plain_rows(rows, self.n_rows) for rows in (A, B))
        for i, j, values in self._blocks.patches(A, B):
            f(i, j, values.cpu().numpy().astype(np.float64, copy=False))


class Blocks:
    """Blocks of the kernel matrix, one after the other, as tensors.

    With `by_product` the rows on the device are right-hand factors (see `points`); else differences are taken
    of rows as they were handed in.
    """

    def __init__(
        self, rows: Tensor, kernel: Kernel, working_memory: float, meter: Meter, *, by_product: bool
    ) -> None:
        self.rows, self._kernel, self.meter, self._by_product = rows, kernel, meter, by_product
        self.is_distance = by_product and kernel.geometry == "distance2"
        self.width = WIDTH[rows.element_size()]
        self._room = int(working_memory * plan.MIB / 2) // (TEMPORARIES * rows.element_size())

    def tensor(self, array: Any) -> Tensor:
        """Return an array as a tensor on the device."""
        return import_torch().from_numpy(np.ascontiguousarray(array)).to(self.rows.device)

    def places(self, rows: Rows) -> Any:
        """Return a selection in the form that tensors take."""
        return rows if isinstance(rows, slice) else self.tensor(rows)

    def apply(self, A: Rows, B: Rows, weights: Float64s) -> Float64s:
        """Return K[A, B] @ weights."""
        theirs = self.tensor(weights).to(self.rows.dtype)
        result = self.tensor(np.zeros((n_selected(A), weights.shape[1])))
        for i, j, values in self.patches(A, B):
            result[i : i + len(values)] += values @ theirs[j : j + values.shape[1]]
        return np.asarray(result.cpu().numpy())

    def earlier(self, rows: NDArray[np.intp]) -> Float64s:
        """Return for each row the sum of its kernel values with those before it."""
        result = self.tensor(np.zeros(len(rows)))
        for start, stop in plan.strips([0, len(rows)], EARLIER_ROWS):  # each ends at the diagonal
            for i, j, values in self.patches(rows[start:stop], rows[:stop]):
                here = slice(start + i, start + i + len(values))
                result[here] += values.tril(start + i - j - 1).sum(1, dtype=result.dtype)
        return np.asarray(result.cpu().numpy())

    def excess(
        self, A: Rows, B: Rows, left: Float64s, right: Float64s, thresholds: Float64s, sign: float = 1.0
    ) -> Float64s:
        """Return by how much x_ij exceeds each row's thresholds, added up."""
        given = (self.tensor(array).to(self.rows.dtype) for array in (left, right, thresholds))
        mine, theirs, levels = given
        result = self.tensor(np.zeros(thresholds.shape))
        for i, j, values in self.patches(A, B):
            rows, columns = slice(i, i + len(values)), slice(j, j + values.shape[1])
            x = import_torch().addmm(values, mine[rows], theirs[columns].T, beta=sign)
            for k in range(levels.shape[1]):
                result[rows, k] += (x - levels[rows, k : k + 1]).clamp_(min=0.0).sum(1)
        return np.asarray(result.cpu().numpy())

    def patches(self, A: Rows, B: Rows) -> Iterator[tuple[int, int, Tensor]]:
        """Compute the kernel values patch by patch."""
        n_columns = n_selected(B)
        width = min(max(n_columns, 1), self.width)
        column = np.full(len(self.rows), -1, dtype=np.intp)  # of each pooled row
        column[B] = np.arange(n_columns)
        own = column[places_in(A)]
        self.rows.new_zeros(1)  # a thread that begins with a product is warned that it has no context
        left, right = self._left(self.rows[self.places(A)]), self.rows[self.places(B)]
        for i, stop in plan.strips([0, n_selected(A)], max(1, self._room // width)):
            for j, end in plan.strips([0, n_columns], width):
                values = self._values(left[i:stop], right[j:end], own[i:stop] - j)
                self.meter.add(values.numel())
                yield i, j, values

    def _left(self, rows: Tensor) -> Tensor:
        if not self.is_distance:
            return rows
        # [z, 1, h] becomes [z, h, 1], as in `Points.left`
        return import_torch().cat([rows[:, :-2], rows[:, -1:], rows[:, -2:-1]], dim=1)

    def _values(self, left: Tensor, right: Tensor, own: Any) -> Tensor:
        """Return the kernel values of some rows to some columns; `own` is each row's own column."""
        if not self._by_product:
            return self._kernel.tensor(_distances(self._kernel, left, right))
        product = left @ right.T
        if self.is_distance:
            product.clamp_(max=0.0)
            (here,) = np.nonzero((own >= 0) & (own < len(right)))
            if len(here):
                product[self.tensor(here), self.tensor(own[here])] = 0.0
        return self._kernel.tensor(product)


class NearRows:
    """Sums that need no blocks, in float32; rows far from the centre, where that is coarse, in float64.

    A squared distance from a product loses eps |z|^2. In real data a row in a hundred lies far out, and
    the sums of just these rows, which have no neighbours but themselves, would lose most.
    """

    def __init__(self, precise: Blocks, kernel: Kernel) -> None:
        from mmdbounds.sums.torch.triton import FusedRows, OutOfResources

        self.too_large = OutOfResources
        rows = precise.rows
        z, half_norms = (rows[:, :-2], rows[:, -1]) if precise.is_distance else (rows, None)
        self._fused, self._precise = FusedRows(z, half_norms, kernel), precise
        self._is_far = np.zeros(len(rows), dtype=np.bool_)
        if half_norms is not None:
            self._is_far[:] = (half_norms < -0.5 * NEAR * points.squared_scale(kernel)).cpu().numpy()
        if self._is_far.mean() > MANY:
            self._is_far[:] = False

    def apply(self, A: Rows, B: Rows, weights: Float64s) -> Float64s:
        """Return K[A, B] @ weights."""
        mine, theirs = places_in(A), places_in(B)
        far, far_columns = self._is_far[mine], self._is_far[theirs]
        if not (far.any() or far_columns.any()):
            return self._sums(A, B, weights)
        result = np.empty((len(mine), weights.shape[1]))
        result[far] = self._precise.apply(mine[far], B, weights)
        near, near_columns = mine[~far], ~far_columns
        result[~far] = self._sums(near, theirs[near_columns], weights[near_columns])
        result[~far] += self._precise.apply(near, theirs[far_columns], weights[far_columns])
        return result

    def _sums(self, A: Rows, B: Rows, weights: Float64s) -> Float64s:
        precise, cuts = self._precise, plan.segments(weights)
        mine, places = precise.places(A), precise.places
        if cuts is None:
            theirs = places(B)
            found = [self._fused.sums(mine, theirs, column) for column in precise.tensor(weights.T)]
        else:  # inside a run of equal weights the values only need to be added up
            runs = [protocol.part_of(B, *run) for run in itertools.pairwise(cuts)]
            found = [self._fused.sums(mine, places(run)) for run in runs]
        precise.meter.add(n_selected(A) * (weights.size if cuts is None else len(weights)))
        sums = np.asarray(import_torch().stack(found, dim=1).cpu().numpy())
        return sums if cuts is None else sums @ weights[cuts[:-1]]


def _distances(kernel: Kernel, left: Tensor, right: Tensor) -> Tensor:
    """Return from differences what the kernel's tensor form takes: distances, or x of scaled ones."""
    if kernel.geometry == "l1":
        return import_torch().cdist(left, right, p=1.0)
    s = import_torch().cdist(left, right, p=2.0, compute_mode="donot_use_mm_for_euclid_dist")
    if kernel.squared_scale is None:
        return s.square_()
    return s.div_(kernel.length or 1.0).square_().mul_(-0.5 * kernel.squared_scale)


def torch_is_there() -> bool:
    """Return whether PyTorch is installed; it is not imported for that."""
    return importlib.util.find_spec("torch") is not None


def import_torch() -> Any:
    """Return PyTorch, or say how to get it."""
    if not torch_is_there():
        msg = "backend='torch' needs PyTorch: pip install 'mmdbounds[gpu]'."
        raise MmdBoundsError(msg)
    try:
        import torch
    except Exception as error:
        msg = (
            f"PyTorch is installed but cannot be imported ({type(error).__name__}). Install it again, "
            "pip install --force-reinstall 'mmdbounds[gpu]', or use backend='numpy'."
        )
        raise MmdBoundsError(msg) from error
    return torch


def best_device() -> str:
    """Return the first GPU, or the CPU."""
    return "cuda" if import_torch().cuda.is_available() else "cpu"


def triton_works(device: Any) -> bool:
    """Return whether sums need no blocks: Triton on a GPU, or its interpreter (for tests)."""
    if importlib.util.find_spec("triton") is None:
        return False
    return bool(device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1")
