"""The backend on PyTorch tensors: a GPU if there is one, else the CPU.

Blocks of the kernel matrix are tensors on the device, of which only sums come back. Where only a few sums of
each row are wanted in float32, and Triton is there, not even blocks are written (`_triton`).
"""

from __future__ import annotations

import importlib.util
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import Kernel, Laplacian, Polynomial
from mmdbounds.progress import Meter
from mmdbounds.sums import plan
from mmdbounds.sums._engines import BY_PRODUCT
from mmdbounds.sums.pairs import kernel_diagonal
from mmdbounds.sums.points import check_float32, kernel_rows, prepare, rounding_error
from mmdbounds.sums.protocol import Float64s, Rows, n_selected, part_of, places_in, plain_rows

Tensor = Any
"""A torch.Tensor; torch is an optional package."""

WIDTH = {"float64": 16384, "float32": 4096}
"""Columns of a block; the sums over one are in its own precision."""

TEMPORARIES = 4
"""Tensors of a block's size that are there for a moment."""

FEW_COLUMNS = 4
"""Up to so many weighted sums of each row, a pass for each is cheaper than writing the blocks."""


class TorchSums:
    """Sums over the kernel matrix of the pooled rows `Z`, on a device of PyTorch's.

    Parameters
    ----------
    Z
        Pooled rows, X first.
    kernel
        Any kernel that is a formula on pairs of rows.
    dtype
        Precision of the products; sums are in float64.
    working_memory
        Budget in MiB, of the device's memory.
    meter
        Counts kernel values.
    device
        As PyTorch names it; by default the first GPU, or the CPU.
    """

    backend = "torch"

    def __init__(
        self,
        Z: Float64s,
        kernel: Kernel,
        *,
        dtype: str = "float64",
        working_memory: float = 1024,
        meter: Meter | None = None,
        device: str | None = None,
    ) -> None:
        self._torch = import_torch()
        self._device = self._torch.device(device or best_device())
        self.device = str(self._device)
        self.n_rows = len(Z)
        self.is_positive_definite = kernel.is_positive_definite is True
        self.working_memory = working_memory
        self._kernel, self._Z, self._meter = kernel, Z, meter or Meter()
        self.dtype = dtype if kernel.geometry in BY_PRODUCT else "float64"
        self._distances = kernel.geometry == "distance2"
        self._fused: Any = None
        spread, typical = self._send(Z)
        self.rounding = rounding_error(spread, self.dtype)
        self.tie_width = rounding_error(typical, self.dtype)

    def apply(self, A: Rows, B: Rows, W: Float64s) -> Float64s:
        """See `KernelSums`."""
        weights = np.asarray(W, dtype=np.float64)
        if weights.ndim == 1:
            return self.apply(A, B, weights[:, None])[:, 0]
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        if n_selected(A) == 0 or len(weights) == 0:
            return np.zeros((n_selected(A), weights.shape[1]))
        if self._fused is not None:
            cuts = plan.segments(weights)
            if cuts is not None:
                return self._sums(A, B, cuts) @ weights[cuts[:-1]]
            if weights.shape[1] <= FEW_COLUMNS:
                return self._weighted_sums(A, B, weights)
        return self._products(A, B, weights)

    def block(self, A: Rows, B: Rows, out: Float64s | None = None) -> Float64s:
        """See `KernelSums`."""
        A, B = plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)
        result = np.empty((n_selected(A), n_selected(B))) if out is None else out
        for i, j, values in self._patches(A, B):
            result[i : i + len(values), j : j + values.shape[1]] = values.cpu().numpy()
        return result

    def diagonal(self, A: Rows) -> Float64s:
        """See `KernelSums`."""
        return kernel_diagonal(self._Z, self._kernel, A)

    def fold(self, A: Rows, B: Rows, f: Callable[[int, int, Float64s], None]) -> None:
        """See `KernelSums`."""
        for i, j, values in self._patches(plain_rows(A, self.n_rows), plain_rows(B, self.n_rows)):
            f(i, j, values.cpu().numpy().astype(np.float64, copy=False))

    def _send(self, Z: Float64s) -> tuple[float, float]:
        """Send the rows to the device; return their largest and their typical spread."""
        kernel = self._kernel
        if kernel.geometry not in BY_PRODUCT:
            self._rows = self._tensor(kernel_rows(Z, kernel))
            return 0.0, 0.0
        points = prepare(Z, kernel, "float64")
        check_float32(points.spread, self.dtype)
        rows = self._tensor(points.right)
        if self.dtype == "float32":
            if triton_works(self._device):
                from mmdbounds.sums._triton import FusedRows

                z, half_norms = (rows[:, :-2], rows[:, -1]) if self._distances else (rows, None)
                self._fused = FusedRows(z, half_norms, kernel)
            rows = rows.float()
        self._rows = rows
        return points.spread, points.typical_spread

    def _tensor(self, array: Any) -> Tensor:
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def _places(self, rows: Rows) -> Any:
        """Return a selection in the form that tensors take."""
        return rows if isinstance(rows, slice) else self._tensor(rows)

    def _sums(self, A: Rows, B: Rows, cuts: list[int]) -> Float64s:
        """Return the sums of each row of `A` over the columns from cut to cut."""
        mine, found = self._places(A), []
        for start, stop in itertools.pairwise(cuts):
            found.append(self._fused.sums(mine, self._places(part_of(B, start, stop))))
            self._meter.add(n_selected(A) * (stop - start))
        return np.asarray(self._torch.stack(found, dim=1).cpu().numpy())

    def _weighted_sums(self, A: Rows, B: Rows, weights: Float64s) -> Float64s:
        mine, theirs, found = self._places(A), self._places(B), []
        for column in self._tensor(weights.T):
            found.append(self._fused.sums(mine, theirs, column))
            self._meter.add(n_selected(A) * len(weights))
        return np.asarray(self._torch.stack(found, dim=1).cpu().numpy())

    def _products(self, A: Rows, B: Rows, weights: Float64s) -> Float64s:
        """Return K[A, B] @ weights by blocks."""
        torch = self._torch
        theirs = self._tensor(weights).to(self._rows.dtype)
        result = torch.zeros((n_selected(A), weights.shape[1]), dtype=torch.float64, device=self._device)
        for i, j, values in self._patches(A, B):
            result[i : i + len(values)] += values @ theirs[j : j + values.shape[1]]
        return np.asarray(result.cpu().numpy())

    def _patches(self, A: Rows, B: Rows) -> Iterator[tuple[int, int, Tensor]]:
        """Compute the kernel values patch by patch."""
        n_rows, n_columns = n_selected(A), n_selected(B)
        width = min(max(n_columns, 1), WIDTH[self.dtype])
        itemsize = np.dtype(self.dtype).itemsize
        height = max(1, int(self.working_memory * plan.MIB / 2) // (TEMPORARIES * itemsize * width))
        column = np.full(self.n_rows, -1, dtype=np.intp)  # of each pooled row
        column[B] = np.arange(n_columns)
        own = column[places_in(A)]
        left = self._left(self._rows[self._places(A)])
        right = self._rows[self._places(B)]
        for i, stop in plan.strips([0, n_rows], height):
            for j, end in plan.strips([0, n_columns], width):
                values = self._values(left[i:stop], right[j:end], own[i:stop] - j)
                self._meter.add(values.numel())
                yield i, j, values

    def _left(self, rows: Tensor) -> Tensor:
        if not self._distances:
            return rows
        # [z, 1, h] becomes [z, h, 1], as in `Points.left`
        return self._torch.cat([rows[:, :-2], rows[:, -1:], rows[:, -2:-1]], dim=1)

    def _values(self, left: Tensor, right: Tensor, own: Any) -> Tensor:
        """Return the kernel values of some rows to some columns; `own` is each row's own column."""
        if self._kernel.geometry == "l1":
            return _formula(self._kernel, self._torch.cdist(left, right, p=1.0))
        product = left @ right.T
        if self._distances:
            product.clamp_(max=0.0)
            (here,) = np.nonzero((own >= 0) & (own < len(right)))
            if len(here):
                product[self._tensor(here), self._tensor(own[here])] = 0.0
        return _formula(self._kernel, product)


def _formula(kernel: Kernel, t: Tensor) -> Tensor:
    """Turn L1 distances, inner products or -s^2 / 2 of a scaled distance s into kernel values, in place."""
    if isinstance(kernel, Laplacian):
        return t.div_(-kernel.bandwidth).exp_()
    if isinstance(kernel, Polynomial):
        return t.add_(kernel.coef0).pow_(kernel.degree)
    return OF_DISTANCE[kernel.name](t) if kernel.name in OF_DISTANCE else t


def _matern32(t: Tensor) -> Tensor:
    s = t.mul_(-2.0).sqrt_()
    return (1.0 + s).mul_(s.neg().exp_())


def _matern52(t: Tensor) -> Tensor:
    squared = t.mul_(-2.0)
    s = squared.sqrt()
    return (1.0 + s).add_(squared, alpha=1 / 3).mul_(s.neg_().exp_())


OF_DISTANCE: dict[str, Callable[[Tensor], Tensor]] = {
    "rbf": lambda t: t.exp2_(),
    "matern32": _matern32,
    "matern52": _matern52,
    "imq": lambda t: t.mul_(-2.0).add_(1.0).rsqrt_(),
}


def torch_is_there() -> bool:
    """Return whether PyTorch is installed; it is not imported for that."""
    return importlib.util.find_spec("torch") is not None


def import_torch() -> Any:
    """Return PyTorch, or say how to get it."""
    if not torch_is_there():
        msg = "backend='torch' needs PyTorch: pip install 'mmdbounds[gpu]'."
        raise MmdBoundsError(msg)
    import torch

    return torch


def best_device() -> str:
    """Return the first GPU, or the CPU."""
    return "cuda" if import_torch().cuda.is_available() else "cpu"


def triton_works(device: Any) -> bool:
    """Return whether sums need no blocks: Triton on a GPU, or its interpreter (for tests)."""
    if importlib.util.find_spec("triton") is None:
        return False
    return bool(device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1")
