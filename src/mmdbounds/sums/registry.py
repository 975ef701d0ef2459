"""The backends: what each can take, and which of them computes the sums of a problem.

A backend is an object that derives from `Backend`, in a file or folder of its own, and its registration
(`register_backend`); the package's own are registered in `mmdbounds.sums`. Backends are asked in order, the
last one registered first, and the first that wants a problem gets it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import Kernel
from mmdbounds.progress import Meter
from mmdbounds.sums.protocol import Float64s, KernelSums, PooledRows
from mmdbounds.tables import Group, as_groups

if TYPE_CHECKING:
    from mmdbounds.sums.listing import Status

AUTO = "auto"
"""What `backend` says where each backend decides for itself whether the work is worth its while."""

IN_MEMORY = "numpy"
"""The backend that is always there, registered first: it takes what no other one wants."""


class Pooled(NamedTuple):
    """Two groups, their rows together, and the backend that is to compute with them.

    Attributes
    ----------
    X, Y
        The groups.
    rows
        Rows of both, X first: an array, or `RemoteRows` that stand for one.
    backend
        What `backend` is from here on.
    """

    X: Group
    Y: Group
    rows: Float64s
    backend: str


class Backend:
    """Somewhere to compute sums over pairs of rows.

    Derive from it, give it a `name`, define `make`, and hand an object to `register_backend`.

    Attributes
    ----------
    name
        As the option `backend` takes it.
    package
        What it stands on, in print.
    """

    name: ClassVar[str]
    package: ClassVar[str] = ""

    def groups(self, X: Any, Y: Any, backend: str, working_memory: float) -> Pooled | None:
        """Return groups whose rows stay where they are, or are read in this backend's way.

        `None` leaves them to the next backend, and in the end they become arrays in memory. What cannot work
        is refused here, before any work.

        Parameters
        ----------
        X, Y
            As the user gave them.
        backend
            The name of a backend, or ``"auto"``.
        working_memory
            Budget in MiB.
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
        """Return whether it can be used here, on what, and how fast, for a listing."""
        from mmdbounds.sums.listing import Status

        return Status(self.name, how="not measured")

    def automatic(self, status: Status) -> tuple[bool, str]:
        """Return whether ``backend="auto"`` takes it for many rows in memory, and a sentence why (not)."""
        return False, ""


_backends: list[Backend] = []


def register_backend(backend: Backend) -> None:
    """Make a backend known by its name, ahead of those that are known already.

    Parameters
    ----------
    backend
        An object of a class that derives from `Backend`.

    Examples
    --------
    >>> from mmdbounds.sums import Backend, register_backend, unregister_backend
    >>> class Nowhere(Backend):
    ...     name = "nowhere"
    >>> register_backend(Nowhere())
    >>> unregister_backend("nowhere")
    """
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
    return (AUTO, *(backend.name for backend in registered_backends()))


def registered_backends() -> list[Backend]:
    """Return the backends in the order of their registration."""
    return _backends[::-1]


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
    return groups_in_memory(X, Y, backend)


def groups_in_memory(X: Any, Y: Any, backend: str) -> Pooled:
    """Return the groups, and their pooled rows as one array."""
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
    for each in _backends:
        if each.wants(Z, kernel, backend, working_memory):
            return each.make(Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter)
    return backend_called(backend).make(  # says which names there are
        Z, kernel, dtype=dtype, working_memory=working_memory, meter=meter
    )
