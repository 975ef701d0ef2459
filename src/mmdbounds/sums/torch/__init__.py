"""Sums on a device of PyTorch's, a GPU if there is one; rows that are tensors there already stay there."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import FunctionKernel, Kernel, PairKernel, Precomputed
from mmdbounds.sums import plan, points, registry
from mmdbounds.sums.protocol import Float64s, KernelSums, Options, PooledRows, RemoteRows, Rows
from mmdbounds.sums.registry import AUTO, Backend, Pooled, RemoteGroup, Status, version_of
from mmdbounds.sums.rounding import product_error
from mmdbounds.tables import Group, Identity, as_group, column_order
from mmdbounds.tables.cells import EXACT_UP_TO

Tensor = Any

STRIP = 1 << 16  # rows that are fetched at a time where NumPy has to look at all of them


class TorchBackend(Backend):
    """PyTorch, where it is asked for, and by itself where it has a GPU and that pays."""

    name, package = "torch", "PyTorch"

    def groups(self, X: Any, Y: Any, backend: str, working_memory: float) -> Pooled | None:
        """Leave tensors on their GPU."""
        if backend in (AUTO, self.name) and on_one_device(X, Y):
            return Pooled(*device_groups(X, Y), self.name)
        return None

    def wants(self, rows: PooledRows, kernel: Kernel, backend: str, working_memory: float) -> bool:
        """Return whether PyTorch has the formula (else NumPy takes it), and is asked for or has a GPU."""
        if backend == self.name and isinstance(kernel, Precomputed | FunctionKernel):
            what = "a precomputed matrix" if isinstance(kernel, Precomputed) else "a function of your own"
            msg = (
                f"backend='torch' computes kernel values itself; it cannot take {what}. Use backend='numpy'."
            )
            raise MmdBoundsError(msg)
        is_taken = backend == self.name or (backend == AUTO and torch_pays(len(rows), kernel))
        return is_taken and has_tensors(kernel)

    def make(self, rows: PooledRows, kernel: Kernel, **options: Unpack[Options]) -> KernelSums:
        """Return sums over blocks, on the device."""
        from mmdbounds.sums.torch.sums import TorchSums

        return TorchSums(rows, kernel, **options)

    def status(self) -> Status:
        """Return the device and its rates; PyTorch may be missing or broken."""
        from mmdbounds.sums.torch import sums

        if not sums.torch_is_there():
            return Status(self.name, is_available=False, notes=("pip install 'mmdbounds[gpu]'",))
        try:
            torch = sums.import_torch()
            device = torch.device(sums.best_device())
            name = registry.processor() if device.type == "cpu" else torch.cuda.get_device_name(device)
        except Exception as error:  # an installation can be broken in many ways; none may hide the others
            reason = registry.in_one_line(error.__cause__ or error)
            note = f"{reason} Install it again: pip install --force-reinstall 'mmdbounds[gpu]'."
            return Status(self.name, is_available=False, version=version_of("torch"), notes=(note,))
        fused, where, kernel = sums.triton_works(device), str(device), registry.timed_kernel()
        is_interpreted = fused and device.type == "cpu"
        rates, troubles = registry.measured(
            lambda Z, dtype, meter: sums.TorchSums(Z, kernel, dtype=dtype, meter=meter, device=where),
            ("float64",) if is_interpreted else registry.DTYPES,
        )
        by_triton = f"float32 by Triton {version_of('triton')}, float64 in blocks"
        return Status(
            self.name,
            is_available=bool(rates),
            version=str(torch.__version__),
            device=name,
            n_threads=int(torch.get_num_threads()) if device.type == "cpu" else None,
            how=by_triton if fused else "in blocks",
            rates=rates,
            notes=(*missing_parts(torch, device, fused), *troubles),
        )

    def automatic(self, status: Status) -> tuple[bool, str]:
        """Return whether there is a GPU."""
        if not status.is_available:
            return False, "PyTorch is missing." if status.version is None else "PyTorch cannot be used."
        if status.n_threads is not None:
            return False, "PyTorch sees no GPU."
        pays, loaded = math.isqrt(plan.TORCH_PAYS - 1) + 1, plan.SMALL_ROWS + 1
        return True, (
            f"there is a GPU. Below {pays:,} pooled rows it takes numpy (below {loaded:,} where PyTorch is "
            "imported already)."
        )


def torch_pays(n_rows: int, kernel: Kernel) -> bool:
    """Return whether the work is done on a GPU without being asked for."""
    if not has_tensors(kernel) or n_rows <= plan.SMALL_ROWS:
        return False
    from mmdbounds.sums.torch import sums

    if "torch" not in sys.modules and (n_rows**2 < plan.TORCH_PAYS or not sums.torch_is_there()):
        return False
    try:
        return sums.best_device() != "cpu"
    except MmdBoundsError:  # it is there but cannot be imported; nobody asked for it
        return False


def has_tensors(kernel: Kernel) -> bool:
    """Return whether PyTorch has the kernel's formula, and it is known what rounding does to it."""
    return kernel.has_tensor and kernel.sensitivity is not None


def missing_parts(torch: Any, device: Any, fused: bool) -> tuple[str, ...]:
    """Return what keeps PyTorch from its best, in sentences."""
    if fused and device.type == "cpu":  # as in tests: the same programs, thousands of times slower
        return ("float32 is not measured: TRITON_INTERPRET is set, which is for tests.",)
    if device.type == "cpu":
        built = torch.version.cuda or getattr(torch.version, "hip", None)
        build = "" if built else " It was built without; pytorch.org says how to get another build."
        return (f"PyTorch sees no GPU.{build}",)
    return () if fused else ("Triton is missing: `pip install triton` makes float32 several times faster.",)


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
    parts = (pooled.tensor[: len(x)], "X"), (pooled.tensor[len(x) :], "Y")
    group_x, group_y = (RemoteGroup(cast("Float64s", TorchRows(part)), name=name) for part, name in parts)
    return group_x, group_y, cast("Float64s", pooled)


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
    """Return right-hand factors, as `points.prepare` does, and squared norms in bandwidths, for distances."""
    if kernel.geometry == "distance2" and not points.takes_differences(kernel):
        rows, norms = _with_norms(Z - Z.mean(0), kernel)
        points.check_finite(norms, "float64")
        error = product_error(norms, Z.shape[1], kernel, "float64")
        if points.is_drawn_away(float(norms.max()), float(np.median(norms)), error):
            rows, norms = _with_norms(Z - Z.median(0).values, kernel)
        return rows, norms
    rows = _rows_of_formula(Z, kernel)
    check_inner(rows, kernel, "float64")
    return rows, np.empty(0)


def check_inner(rows: Tensor, kernel: Kernel, dtype: str) -> None:
    """Refuse inner products that `dtype` cannot hold."""
    if isinstance(kernel, PairKernel) and kernel.geometry == "inner":
        with np.errstate(over="ignore"):
            value = kernel.value(np.array([float((rows * rows).sum(1).max())])).astype(dtype)
        points.check_finite(value, dtype)
        points.check_not_vanishing(float(rows.abs().max()), value, dtype)


def _with_norms(z: Tensor, kernel: Kernel) -> tuple[Tensor, Float64s]:
    scale = points.squared_scale(kernel)
    z = z * (math.sqrt(scale) / (kernel.length or 1.0))
    norms = (z * z).sum(1)
    rows = z.new_ones((len(z), z.shape[1] + 2))
    rows[:, :-2], rows[:, -1] = z, -0.5 * norms
    return rows, np.asarray(norms.cpu().numpy()) / scale


def _rows_of_formula(Z: Tensor, kernel: Kernel) -> Tensor:
    """Return the rows that enter the kernel's formula; see `points.kernel_rows`."""
    if points.takes_differences(kernel):
        return Z
    if kernel.shift_invariant:
        return Z - Z.mean(0)
    return Z * kernel.row_factor(Z.shape[1])
