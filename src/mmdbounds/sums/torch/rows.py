"""Rows that are tensors on a GPU already: they stay there, and are made ready there."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mmdbounds.kernels import Kernel, PairKernel
from mmdbounds.sums import plan
from mmdbounds.sums.points import (
    check_finite,
    check_not_vanishing,
    is_drawn_away,
    squared_scale,
    takes_differences,
)
from mmdbounds.sums.protocol import Float64s, RemoteRows, Rows
from mmdbounds.sums.rounding import product_error
from mmdbounds.tables import Group, Identity, as_group, column_order
from mmdbounds.tables.frames import EXACT_UP_TO

Tensor = Any

STRIP = 1 << 16
"""Rows that are fetched at a time where NumPy has to look at all of them."""


class TorchRows(RemoteRows):
    """Pooled rows on a device, in float64; it stands where an array of them stands elsewhere."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.shape = (int(tensor.shape[0]), int(tensor.shape[1]))

    def __getitem__(self, rows: Rows) -> Float64s:
        """Fetch some rows."""
        if not isinstance(rows, slice):
            rows = self.tensor.new_tensor(np.asarray(rows), dtype=sys.modules["torch"].long)
        return np.asarray(self.tensor[rows].cpu().numpy())

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:], dtype=dtype)

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return what a function says of each strip of rows."""
        return [function(self[i:j], *arguments) for i, j in plan.strips([0, len(self)], STRIP)]


class DeviceGroup(Group):
    """A group whose rows stay on a device; `values` is a `TorchRows`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        self._check_lengths()


def on_one_device(X: Any, Y: Any) -> bool:
    """Return whether both groups are tensors on the same GPU."""
    torch = sys.modules.get("torch")
    if torch is None or not (isinstance(X, torch.Tensor) and isinstance(Y, torch.Tensor)):
        return False
    return bool(X.device.type == "cuda" and X.device == Y.device)


def device_groups(X: Tensor, Y: Tensor) -> tuple[Group, Group, Float64s]:
    """Return groups of tensors on one device and their pooled rows, which stay there."""
    x, y = (_checked(data, argument) for data, argument in ((X, "X"), (Y, "Y")))
    column_order(Identity(x.shape[1]), Identity(y.shape[1]))
    pooled = TorchRows(sys.modules["torch"].cat([x, y]))
    groups = [
        DeviceGroup(cast("Float64s", TorchRows(part)), name=name)
        for part, name in ((pooled.tensor[: len(x)], "X"), (pooled.tensor[len(x) :], "Y"))
    ]
    return groups[0], groups[1], cast("Float64s", pooled)


def _checked(data: Tensor, argument: str) -> Tensor:
    """Return a tensor in float64, or refuse what `as_group` refuses, in its words."""
    kinds = data.is_complex() or data.is_quantized or data.is_sparse
    if data.ndim != 2 or 0 in data.shape or kinds:
        as_group(data, argument)
    rows = data.detach().double()
    if not data.is_floating_point() and bool((rows.abs() >= EXACT_UP_TO).any()):
        as_group(data, argument)  # refuses whole numbers that float64 has not
    if not bool(rows.isfinite().all()):
        wrong = (~rows.isfinite()).any(1).nonzero()[:1, 0]
        as_group(rows[wrong], argument)  # says what it is
    return rows


def prepared(Z: Tensor, kernel: Kernel) -> tuple[Tensor, Float64s]:
    """Return the same of the rows `Z` as `points.prepare`: right-hand factors, and squared norms.

    The norms are in squared bandwidths; there are none where nothing is a distance.
    """
    if kernel.geometry == "distance2" and not takes_differences(kernel):
        rows, norms = _with_norms(Z - Z.mean(0), kernel)
        check_finite(norms, "float64")
        error = product_error(norms, Z.shape[1], kernel, "float64")
        if is_drawn_away(float(norms.max()), float(np.median(norms)), error):
            rows, norms = _with_norms(Z - Z.median(0).values, kernel)
        return rows, norms
    rows = _rows_of_formula(Z, kernel)
    check_inner(rows, kernel, "float64")
    return rows, np.empty(0)


def check_inner(rows: Tensor, kernel: Kernel, dtype: str) -> None:
    """Refuse inner products that `dtype` cannot hold."""
    if isinstance(kernel, PairKernel) and kernel.geometry in ("inner", "cosine"):
        with np.errstate(over="ignore"):
            value = kernel.value(np.array([float((rows * rows).sum(1).max())])).astype(dtype)
        check_finite(value, dtype)
        check_not_vanishing(float(rows.abs().max()), value, dtype)


def _with_norms(z: Tensor, kernel: Kernel) -> tuple[Tensor, Float64s]:
    scale = squared_scale(kernel)
    z = z * (math.sqrt(scale) / (kernel.length or 1.0))
    norms = (z * z).sum(1)
    rows = z.new_ones((len(z), z.shape[1] + 2))
    rows[:, :-2], rows[:, -1] = z, -0.5 * norms
    return rows, np.asarray(norms.cpu().numpy()) / scale


def _rows_of_formula(Z: Tensor, kernel: Kernel) -> Tensor:
    """Return the rows that enter the kernel's formula; see `points.kernel_rows`."""
    if takes_differences(kernel):
        return Z
    if kernel.geometry == "cosine":
        largest = Z.abs().amax(1, keepdim=True)
        safe = Z / largest.where(largest > 0, 1.0)
        norms = safe.norm(dim=1, keepdim=True)
        return safe / norms.where(norms > 0, 1.0)
    if kernel.shift_invariant:
        return Z - Z.mean(0)
    return Z * kernel.row_factor(Z.shape[1])
