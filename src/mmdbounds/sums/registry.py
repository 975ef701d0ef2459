"""The backends: which of them computes the sums of a problem, and what each is worth on this machine.

A backend is an object that derives from `Backend`, in a file or folder of its own, and its registration
(`register_backend`); the package's own are registered in `mmdbounds.sums`. They are asked in order, the last
one registered first, and the first that wants a problem gets it.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import RBF, Kernel
from mmdbounds.progress import Meter
from mmdbounds.sums.protocol import Float64s, KernelSums, PooledRows
from mmdbounds.tables import Group, as_groups

AUTO = "auto"  # what `backend` is where each backend decides for itself whether it is worth its while
IN_MEMORY = "numpy"  # the backend that is always there, registered first: it takes what no other one wants
DTYPES = ("float64", "float32")
N_COLUMNS = 54
FIRST_ROWS, MOST_ROWS = 6000, 192_000  # made-up rows of the first pass and of the last
LONG_ENOUGH = 0.25  # seconds of a pass that a clock measures well whatever else the machine does
MakeSums = Callable[[Float64s, str, Meter], KernelSums]


@dataclass(frozen=True)
class Rate:
    """How fast pairs are computed.

    Half of a symmetric matrix may be enough for a pass, so rates alone do not tell which backend is faster.
    """

    pairs_a_second: float  # kernel values
    seconds_a_pass: float  # over 100,000 rows, by the square of the number of rows


@dataclass(frozen=True)
class Status:
    """What there is of a backend on this machine; `None` if there is nothing to say."""

    name: str
    is_available: bool = True
    version: str | None = None  # of its package
    device: str | None = None  # name of the processor
    n_threads: int | None = None  # on the processor
    how: str = ""  # in words how the sums are made
    rates: dict[str, Rate] = field(default_factory=dict)  # what was measured, by dtype
    notes: tuple[str, ...] = ()  # what is missing or wrong, a sentence each, with what to do


class Pooled(NamedTuple):
    """Two groups, their pooled rows (an array, X first, or `RemoteRows`), and the backend for them."""

    X: Group
    Y: Group
    rows: Float64s
    backend: str


class RemoteGroup(Group):
    """A group whose rows stay where they are; `values` is a `RemoteRows`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        self._check_fields()


class Backend:
    """Somewhere to compute sums over pairs of rows.

    Derive from it, give it a `name`, define `make`, and hand an object to `register_backend`.
    """

    name: ClassVar[str]  # as the option `backend` takes it
    package: ClassVar[str] = ""  # what it stands on, in print

    def groups(self, X: Any, Y: Any, backend: str, working_memory: float) -> Pooled | None:
        """Return the groups that a user gave, if their rows stay where they are; else `None`.

        Groups that no backend takes become arrays in memory. `backend` is the name given, or ``"auto"``; what
        cannot work is refused here, before any work.
        """
        return None

    def wants(self, rows: PooledRows, kernel: Kernel, backend: str, working_memory: float) -> bool:
        """Return whether this backend computes a problem; by default where its name is given."""
        return backend == self.name

    def make(
        self, rows: PooledRows, kernel: Kernel, *, dtype: str, working_memory: float, meter: Meter | None
    ) -> KernelSums:
        """Return the sums over the kernel matrix of the pooled rows, or refuse the kernel."""
        raise NotImplementedError

    def status(self) -> Status:
        """Return whether it can be used here, on what, and how fast."""
        return Status(self.name, how="not measured")

    def automatic(self, status: Status) -> tuple[bool, str]:
        """Return whether ``backend="auto"`` takes it for many rows in memory, and a sentence why (not)."""
        return False, ""


_backends: list[Backend] = []  # in the order in which they are asked


def register_backend(backend: Backend) -> None:
    """Make a backend, an object derived from `Backend`, known by its name, ahead of those known already."""
    name = getattr(backend, "name", None)
    if not (isinstance(backend, Backend) and isinstance(name, str) and name):
        msg = f"`backend` must be an object derived from Backend, with a name; got {type(backend).__name__}."
        raise MmdBoundsError(msg)
    if name in backend_names():
        msg = f"there is a backend {name!r} already. Give yours another name, or unregister that one first."
        raise MmdBoundsError(msg)
    _backends.insert(0, backend)


def unregister_backend(name: str) -> None:
    """Forget a backend that was registered."""
    _backends.remove(backend_called(name))


def backend_names() -> tuple[str, ...]:
    """Return what the option `backend` takes: ``"auto"`` and the names, in the order of registration."""
    return (AUTO, *(backend.name for backend in reversed(_backends)))


def backend_called(name: str) -> Backend:
    """Return the backend of this name."""
    for backend in _backends:
        if backend.name == name:
            return backend
    msg = f"there is no backend {name!r}; there are {', '.join(map(repr, backend_names()[1:]))}."
    raise MmdBoundsError(msg)


def pooled_groups(X: Any, Y: Any, backend: str, working_memory: float) -> Pooled:
    """Return the groups that a user gave, and their pooled rows, where the backend wants them."""
    for each in _backends:
        if (pooled := each.groups(X, Y, backend, working_memory)) is not None:
            return pooled
    group_x, group_y = as_groups(X, Y)
    return Pooled(group_x, group_y, np.concatenate([group_x.values, group_y.values]), backend)


def make_sums(
    Z: PooledRows,
    kernel: Kernel,
    *,
    backend: str = AUTO,
    dtype: str = "float64",
    working_memory: float = 1024,
    meter: Meter | None = None,
) -> KernelSums:
    """Return the sums over the kernel matrix of the pooled rows `Z`, X first.

    Up to 4,096 rows the matrix is kept, in float64 whatever `dtype` is; beyond that blocks
    are computed as they are needed, in `dtype`. With a precomputed kernel `Z` is the matrix.
    """
    wanting = (each for each in _backends if each.wants(Z, kernel, backend, working_memory))
    chosen = next(wanting, None) or backend_called(backend)
    return chosen.make(Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter)


def backends() -> list[Status]:
    """Return what there is of every backend, with its rates where it can be used."""
    return [backend.status() for backend in reversed(_backends)]


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
    troubles: tuple[str, ...] = ()
    for dtype in dtypes:
        try:
            rates[dtype] = measured_rate(make, dtype)
        except Exception as error:  # a device out of memory, a compiler that fails: said, not raised
            troubles += (f"{dtype} cannot be measured: {in_one_line(error)}",)
    return rates, troubles


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


def timed_kernel() -> RBF:
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
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of an unknown version"


def in_one_line(error: BaseException) -> str:
    """Return the first line of an error, as a sentence."""
    lines = str(error).strip().splitlines()
    text = " ".join(lines[0].split()) if lines else ""
    kind = "" if isinstance(error, MmdBoundsError) else type(error).__name__
    return ": ".join(filter(None, [kind, text])).removesuffix(".") + "."
