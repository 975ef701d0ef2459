"""Sums on a device of PyTorch's: a GPU if there is one, else the CPU."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import FunctionKernel, Kernel, Precomputed
from mmdbounds.progress import Meter
from mmdbounds.sums import plan
from mmdbounds.sums.features import ApproximateKernel, RandomFeatures
from mmdbounds.sums.protocol import KernelSums, PooledRows
from mmdbounds.sums.registry import (
    AUTO,
    DTYPES,
    Backend,
    Pooled,
    Status,
    in_one_line,
    measured,
    processor,
    timed_kernel,
    version_of,
)


class TorchBackend(Backend):
    """PyTorch, where it is asked for, and by itself where it has a GPU and that pays."""

    name, package = "torch", "PyTorch"

    def groups(self, X: Any, Y: Any, backend: str, working_memory: float) -> Pooled | None:
        """Leave tensors on their GPU."""
        from mmdbounds.sums.torch.rows import device_groups, on_one_device

        if backend in (AUTO, self.name) and on_one_device(X, Y):
            return Pooled(*device_groups(X, Y), self.name)
        return None

    def wants(self, rows: PooledRows, kernel: Kernel, backend: str, working_memory: float) -> bool:
        """Return whether PyTorch has the formula, and is asked for or has a GPU that pays.

        A formula without a form for PyTorch is computed in NumPy; a matrix and a function are refused.
        """
        if backend == self.name and isinstance(kernel, Precomputed | FunctionKernel):
            what = "a precomputed matrix" if isinstance(kernel, Precomputed) else "a function of your own"
            msg = (
                f"backend='torch' computes kernel values itself; it cannot take {what}. Use backend='numpy'."
            )
            raise MmdBoundsError(msg)
        is_taken = backend == self.name or (backend == AUTO and torch_pays(len(rows), kernel))
        return is_taken and has_tensors(kernel)

    def make(
        self, rows: PooledRows, kernel: Kernel, *, dtype: str, working_memory: float, meter: Meter | None
    ) -> KernelSums:
        """Return sums over blocks, or over features, on the device."""
        from mmdbounds.sums.torch.sums import TorchSums, torch_feature_sums

        if isinstance(kernel, ApproximateKernel):
            Z = np.asarray(rows)
            return torch_feature_sums(Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter)
        return TorchSums(rows, kernel, dtype=dtype, working_memory=working_memory, meter=meter)

    def status(self) -> Status:
        """Return the device and its rates; PyTorch may be missing or broken."""
        from mmdbounds.sums.torch import sums

        if not sums.torch_is_there():
            return Status(self.name, is_available=False, notes=("pip install 'mmdbounds[gpu]'",))
        try:
            torch = sums.import_torch()
            device = torch.device(sums.best_device())
            name = processor() if device.type == "cpu" else torch.cuda.get_device_name(device)
        except Exception as error:  # an installation can be broken in many ways; none may hide the others
            reason = in_one_line(error.__cause__ or error)
            note = f"{reason} Install it again: pip install --force-reinstall 'mmdbounds[gpu]'."
            version = version_of("torch")
            return Status(self.name, is_available=False, version=version, notes=(note,))
        fused, where = sums.triton_works(device), str(device)
        is_interpreted = fused and device.type == "cpu"
        rates, troubles = measured(
            lambda Z, dtype, meter: sums.TorchSums(Z, timed_kernel(), dtype=dtype, meter=meter, device=where),
            ("float64",) if is_interpreted else DTYPES,
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
    from mmdbounds.sums.torch import sums

    if not has_tensors(kernel) or n_rows <= plan.SMALL_ROWS:
        return False
    n_values = n_rows * (kernel.size if isinstance(kernel, ApproximateKernel) else n_rows)
    if "torch" not in sys.modules and (n_values < plan.TORCH_PAYS or not sums.torch_is_there()):
        return False
    try:
        return sums.best_device() != "cpu"
    except MmdBoundsError:  # it is there but cannot be imported; nobody asked for it
        return False


def has_tensors(kernel: Kernel) -> bool:
    """Return whether PyTorch has the kernel's formula, and it is known what rounding does to it."""
    if isinstance(kernel, RandomFeatures):
        return True
    exact = kernel.exact if isinstance(kernel, ApproximateKernel) else kernel
    return exact.has_tensor and exact.sensitivity is not None


def missing_parts(torch: Any, device: Any, fused: bool) -> tuple[str, ...]:
    """Return what keeps PyTorch from its best, in sentences."""
    if fused and device.type == "cpu":  # as in tests: the same programs, thousands of times slower
        return ("float32 is not measured: TRITON_INTERPRET is set, which is for tests.",)
    if device.type == "cpu":
        built = torch.version.cuda or getattr(torch.version, "hip", None)
        build = "" if built else " It was built without; pytorch.org says how to get another build."
        return (f"PyTorch sees no GPU.{build}",)
    return () if fused else ("Triton is missing: `pip install triton` makes float32 several times faster.",)
