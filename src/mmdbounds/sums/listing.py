"""What there is on this machine to compute pairs with, how fast it is, and how to get the rest."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mmdbounds import compiled
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import RBF
from mmdbounds.progress import Meter
from mmdbounds.sums import plan, threads
from mmdbounds.sums.cpu.blocked import BlockedSums
from mmdbounds.sums.protocol import Float64s, KernelSums
from mmdbounds.sums.torch import sums as torch_sums

DTYPES = ("float64", "float32")
N_COLUMNS = 54
FIRST_ROWS, MOST_ROWS = 6000, 192_000
"""Made-up rows of the first pass and of the last; their number is doubled until a pass takes long enough."""

LONG_ENOUGH = 0.25
"""Seconds of a pass that a clock measures well whatever else the machine does."""

MakeSums = Callable[[Float64s, str, Meter], KernelSums]


@dataclass(frozen=True)
class Rate:
    """How fast pairs are computed.

    Attributes
    ----------
    pairs_a_second
        Kernel values computed a second.
    seconds_a_pass
        Seconds of one pass over 100,000 rows, by the square of the number of rows. Half of a symmetric
        matrix may be enough for it, so that rates alone do not tell which backend is faster.
    """

    pairs_a_second: float
    seconds_a_pass: float


@dataclass(frozen=True)
class Backend:
    """Somewhere to compute pairs.

    Attributes
    ----------
    name
        As `backend` takes it.
    is_available
        Whether it can be used now.
    version, device, n_threads
        Of its package, the name of the processor, and the threads on it; `None` where there is nothing to
        say.
    how
        In words how the sums are made.
    rates
        What was measured, by dtype.
    notes
        What is missing or wrong, a sentence each, with what to do.
    """

    name: str
    is_available: bool = True
    version: str | None = None
    device: str | None = None
    n_threads: int | None = None
    how: str = ""
    rates: dict[str, Rate] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def backends() -> list[Backend]:
    """Return every backend, with its rates where it can be used."""
    return [numpy_backend(), torch_backend(), dask_backend()]


def numpy_backend() -> Backend:
    """Return the backend that is always there."""
    is_compiled = compiled.numba_is_there()
    rates, notes = measured(lambda Z, dtype, meter: BlockedSums(Z, kernel(), dtype=dtype, meter=meter))
    if not is_compiled:
        notes += ("numba is missing: `pip install numba` makes the sums several times faster.",)
    elif not rates:
        notes += ("If numba is to blame, `pip install --upgrade numba`, or do without: pip uninstall numba.",)
    return Backend(
        "numpy",
        is_available=bool(rates),
        version=np.__version__,
        device=processor(),
        n_threads=threads.thread_count(),
        how=f"compiled by numba {version_of('numba')}" if is_compiled else "not compiled",
        rates=rates,
        notes=notes,
    )


def torch_backend() -> Backend:
    """Return the backend on PyTorch, which may be missing or broken."""
    if not torch_sums.torch_is_there():
        return Backend("torch", is_available=False, notes=("pip install 'mmdbounds[gpu]'",))
    try:
        torch = torch_sums.import_torch()
        device = torch.device(torch_sums.best_device())
        name = processor() if device.type == "cpu" else torch.cuda.get_device_name(device)
    except Exception as error:  # an installation can be broken in many ways; none may hide the other backends
        reason = in_one_line(error.__cause__ or error)
        note = f"{reason} Install it again: pip install --force-reinstall 'mmdbounds[gpu]'."
        return Backend("torch", is_available=False, version=version_of("torch"), notes=(note,))
    fused = torch_sums.triton_works(device)
    is_interpreted = fused and device.type == "cpu"
    rates, troubles = measured(
        lambda Z, dtype, meter: torch_sums.TorchSums(
            Z, kernel(), dtype=dtype, meter=meter, device=str(device)
        ),
        ("float64",) if is_interpreted else DTYPES,
    )
    return Backend(
        "torch",
        is_available=bool(rates),
        version=str(torch.__version__),
        device=name,
        n_threads=int(torch.get_num_threads()) if device.type == "cpu" else None,
        how=f"float32 by Triton {version_of('triton')}, float64 in blocks" if fused else "in blocks",
        rates=rates,
        notes=(*torch_notes(torch, device, fused), *troubles),
    )


def torch_notes(torch: Any, device: Any, fused: bool) -> tuple[str, ...]:
    """Return what keeps PyTorch from its best."""
    if fused and device.type == "cpu":  # as in tests: the same programs, thousands of times slower
        return ("float32 is not measured: TRITON_INTERPRET is set, which is for tests.",)
    if device.type == "cpu":
        built = torch.version.cuda or getattr(torch.version, "hip", None)
        build = "" if built else " It was built without; pytorch.org says how to get another build."
        return (f"PyTorch sees no GPU.{build}",)
    return () if fused else ("Triton is missing: `pip install triton` makes float32 several times faster.",)


def dask_backend() -> Backend:
    """Return the backend on a cluster; nothing is started for that."""
    if any(importlib.util.find_spec(name) is None for name in ("dask", "distributed")):
        return Backend("dask", is_available=False, notes=("pip install 'mmdbounds[dask]'",))
    client = current_client()
    here = "there is no client in this process" if client is None else f"client of {client}"
    note = "Not measured: each worker computes at the rate of numpy on its own machine."
    return Backend("dask", version=version_of("dask"), how=here, notes=(note,))


def automatic(found: list[Backend]) -> tuple[str, str]:
    """Return what ``backend="auto"`` takes for many rows in memory, and why."""
    torch = next(backend for backend in found if backend.name == "torch")
    if not torch.is_available:
        return "numpy", "PyTorch is missing." if torch.version is None else "PyTorch cannot be used."
    if torch.n_threads is not None:
        return "numpy", "PyTorch sees no GPU."
    pays, loaded = math.isqrt(plan.TORCH_PAYS - 1) + 1, plan.SMALL_ROWS + 1
    return "torch", (
        f"there is a GPU. Below {pays:,} pooled rows it takes numpy (below {loaded:,} where PyTorch is "
        "imported already)."
    )


def measured(make: MakeSums, dtypes: tuple[str, ...] = DTYPES) -> tuple[dict[str, Rate], tuple[str, ...]]:
    """Return the rates by dtype, and a sentence for each that could not be measured."""
    rates: dict[str, Rate] = {}
    troubles: list[str] = []
    for dtype in dtypes:
        try:
            rates[dtype] = measured_rate(make, dtype)
        except Exception as error:  # a device out of memory, a compiler that fails: said, not raised
            troubles.append(f"{dtype} cannot be measured: {in_one_line(error)}")
    return rates, tuple(troubles)


def measured_rate(
    make: MakeSums,
    dtype: str,
    *,
    n_rows: int = FIRST_ROWS,
    most_rows: int = MOST_ROWS,
    clock: Callable[[], float] = time.perf_counter,
) -> Rate:
    """Time passes over made-up rows, each size twice: the first one compiles or warms up."""
    while True:
        rows = np.random.default_rng(0).normal(size=(n_rows, N_COLUMNS))
        labels = np.eye(2)[(np.arange(n_rows) >= n_rows // 2).astype(np.intp)]
        meter = Meter()
        sums, everyone = make(rows, dtype, meter), slice(0, n_rows)
        sums.apply(everyone, everyone, labels)
        before, started = meter.n_pairs, clock()
        sums.apply(everyone, everyone, labels)
        seconds, pairs = clock() - started, meter.n_pairs - before
        if seconds >= LONG_ENOUGH or n_rows >= most_rows:
            return Rate(pairs / seconds, seconds * (100_000 / n_rows) ** 2)
        n_rows = min(2 * n_rows, most_rows)


def kernel() -> RBF:
    """Return the kernel that is measured; its bandwidth is about the median distance of the rows."""
    return RBF(math.sqrt(2 * N_COLUMNS))


def processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return " ".join((named or [platform.processor() or platform.machine()])[0].split())


def version_of(package: str) -> str:
    """Return the version of an installed package without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of an unknown version"


def current_client() -> str | None:
    """Return the address of this process's Dask scheduler, `None` if there is no client."""
    distributed: Any = sys.modules.get("distributed")
    if distributed is None:  # nobody can have made one
        return None
    try:
        return str(distributed.default_client().scheduler.address)
    except ValueError:
        return None


def in_one_line(error: BaseException) -> str:
    """Return the first line of an error, as a sentence."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines[0].split()) if lines else ""
    own = isinstance(error, MmdBoundsError)
    said = text if own else ": ".join(filter(None, [type(error).__name__, text]))
    return said if said.endswith(".") else f"{said}."
