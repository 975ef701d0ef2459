"""What there is on this machine to compute pairs with, how fast it is, and how to get the rest."""

from __future__ import annotations

import importlib.metadata
import math
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import RBF
from mmdbounds.progress import Meter
from mmdbounds.sums.protocol import Float64s, KernelSums
from mmdbounds.sums.registry import IN_MEMORY, backend_called, registered_backends

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
class Status:
    """What there is of a backend on this machine.

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


def backends() -> list[Status]:
    """Return every backend, with its rates where it can be used."""
    return [backend.status() for backend in registered_backends()]


def automatic(found: list[Status]) -> tuple[str, str]:
    """Return what ``backend="auto"`` takes for many rows in memory, and why."""
    why_not = ""
    for status in reversed(found):  # as they are asked: the last one registered first
        is_taken, why = backend_called(status.name).automatic(status)
        if is_taken:
            return status.name, why or why_not
        why_not = why or why_not
    return IN_MEMORY, why_not


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


def in_one_line(error: BaseException) -> str:
    """Return the first line of an error, as a sentence."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines[0].split()) if lines else ""
    own = isinstance(error, MmdBoundsError)
    said = text if own else ": ".join(filter(None, [type(error).__name__, text]))
    return said if said.endswith(".") else f"{said}."
