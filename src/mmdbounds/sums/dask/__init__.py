"""Sums on a Dask cluster: its client, messages to it, and the registration of the backend.

The only file that imports Dask. A future stands for an array on some worker. The scheduler knows how each
came about, so that what a worker takes with it when it dies is made again on another one.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from mmdbounds._version import __version__
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import Kernel, Precomputed
from mmdbounds.sums import plan
from mmdbounds.sums.plan import MIB, strips
from mmdbounds.sums.protocol import KernelSums, Options, PooledRows, RemoteRows
from mmdbounds.sums.registry import AUTO, IN_MEMORY, Backend, Pooled, Status, pooled_groups, version_of

T = TypeVar("T")

Future = Any  # a distributed.Future; Dask is an optional package
MESSAGE = 8 * MIB  # bytes sent at a time; Dask warns of messages over 10 MB
AHEAD = 3  # tasks under way for each thread of the cluster: enough to keep it busy, few enough for its memory


class DaskBackend(Backend):
    """A cluster, where it is asked for and the matrix is not kept, and by itself where the rows lie there."""

    name, package = "dask", "Dask"

    def groups(self, X: Any, Y: Any, backend: str, working_memory: float) -> Pooled | None:
        """Leave the rows of Dask collections on the cluster, if there is one."""
        if not (is_collection(X) or is_collection(Y)):
            if backend == self.name:
                require_client()
            return None
        client = current_client() if backend in (AUTO, self.name) else None
        if client is not None:
            from mmdbounds.sums.dask.rows import cluster_groups

            return Pooled(*cluster_groups(X, Y, client, working_memory), self.name)
        # Without a client Dask computes the rows in this process, where the pairs are computed as well.
        return pooled_groups(X, Y, IN_MEMORY, working_memory) if backend == self.name else None

    def wants(self, rows: PooledRows, kernel: Kernel, backend: str, working_memory: float) -> bool:
        """Return whether the rows lie on the cluster, or the cluster is asked for and is worth it."""
        if isinstance(rows, RemoteRows):
            from mmdbounds.sums.dask.rows import DaskRows

            if isinstance(rows, DaskRows):
                return True
        return backend == self.name and not plan.matrix_fits(len(rows), working_memory)

    def make(self, rows: PooledRows, kernel: Kernel, **options: Unpack[Options]) -> KernelSums:
        """Return sums over blocks, on the workers."""
        from mmdbounds.sums.dask.rows import DaskRows
        from mmdbounds.sums.dask.sums import DaskSums

        if isinstance(kernel, Precomputed):
            msg = (
                "backend='dask' computes kernel values itself; it cannot take a matrix. Use backend='numpy'."
            )
            raise MmdBoundsError(msg)
        if not isinstance(rows, DaskRows):
            rows = DaskRows.from_array(require_client(), np.asarray(rows), options["working_memory"])
        return DaskSums(rows, kernel, **options)

    def status(self) -> Status:
        """Return whether there is a client; nothing is started for that."""
        if not dask_is_there():
            return Status(self.name, is_available=False, notes=("pip install 'mmdbounds[dask]'",))
        client = current_client()
        where = "" if client is None else f"client of {client.scheduler.address}"
        how = where or "there is no client in this process"
        note = "Not measured: each worker computes at the rate of numpy on its own machine."
        return Status(self.name, version=version_of("dask"), how=how, notes=(note,))


def dask_is_there() -> bool:
    """Return whether Dask is installed; it is not imported for that."""
    return all(importlib.util.find_spec(name) is not None for name in ("dask", "distributed"))


def is_collection(data: Any) -> bool:
    """Return whether `data` is a Dask collection, without importing Dask."""
    return hasattr(type(data), "__dask_graph__")


def current_client() -> Any | None:
    """Return the client that this process has, if any, without importing Dask."""
    distributed: Any = sys.modules.get("distributed")
    if distributed is None:  # nobody can have made one
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def require_client() -> Any:
    """Return the current client, or one of the scheduler that Dask is told of; else say how to start one."""
    if not dask_is_there():
        msg = "backend='dask' needs Dask: pip install 'mmdbounds[dask]'."
        raise MmdBoundsError(msg)
    client = current_client()
    if client is not None:
        return client
    import dask
    import distributed

    address = dask.config.get("scheduler-address", None)
    if address is None:
        msg = (
            "backend='dask' needs a cluster, and there is no client. Start one with `from distributed import "
            "Client; client = Client()`, name a running one in DASK_SCHEDULER_ADDRESS, or use "
            "backend='numpy'."
        )
        raise MmdBoundsError(msg)
    try:
        return distributed.Client(address)
    except OSError as error:
        msg = f"no Dask scheduler answers at {address} (DASK_SCHEDULER_ADDRESS). Is it running?"
        raise MmdBoundsError(msg) from error


def check_workers(client: Any, kernel: Kernel | None = None) -> None:
    """Refuse a cluster that lacks this package, in this version, or the module of a kernel's function."""
    # A worker that cannot read a task drops its connection and tries again, for ever.
    import cloudpickle

    payload = cloudpickle.dumps(kernel)

    def probe() -> str:  # inside a function, so that it is sent as code and not as a name to import
        import pickle

        try:
            from mmdbounds._version import __version__ as found

            pickle.loads(payload)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return found

    answers = {f"worker {place}": found for place, found in client.run(probe, on_error="return").items()}
    answers["the scheduler"] = client.run_on_scheduler(probe)
    for place, answer in answers.items():
        if isinstance(answer, str) and answer != __version__:
            came = answer if ":" in answer else f"it has mmdbounds {answer}"
            msg = (
                f"{place} of the Dask cluster is not ready: {came}. Install mmdbounds {__version__} there, "
                "and whatever a kernel function needs."
            )
            raise MmdBoundsError(msg)


def submit(client: Any, function: Callable[..., Any], *arguments: Any) -> Future:
    """Have a worker call a function; no two calls are taken for the same."""
    return client.submit(function, *arguments, pure=False)


def send(client: Any, array: NDArray[Any]) -> Future:
    """Send an array, in pieces that are messages of bearable size."""
    # It travels as part of a task, which the scheduler keeps: scattered data would be lost with a worker.
    step = max(1, MESSAGE // max(array.nbytes // max(len(array), 1), 1))
    pieces = [submit(client, np.asarray, array[i:j]) for i, j in strips([0, len(array)], step)]
    return pieces[0] if len(pieces) == 1 else submit(client, stacked, pieces)


def stacked(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays on top of each other."""
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def a_little_ahead(client: Any, submitted: Iterable[T]) -> Iterator[T]:
    """Hand over what is submitted, in order, each when a few more have been submitted after it."""
    # Workers fetch what their tasks need as soon as they know of them: all tasks at once would bring all rows
    # to every worker.
    most = AHEAD * max(sum(client.nthreads().values()), 1)
    waiting: deque[T] = deque()
    for each in submitted:
        waiting.append(each)
        if len(waiting) > most:
            yield waiting.popleft()
    while waiting:
        yield waiting.popleft()


def wait(future: Future) -> None:
    """Wait until a task is done, well or badly."""
    import distributed

    try:
        distributed.wait(future)
    except distributed.CancelledError as error:
        raise _lost(error) from error


def result_of(future: Future) -> Any:
    """Return what a task, or each of a list of tasks, returned; say in a line if workers died of it."""
    import distributed
    from distributed.scheduler import KilledWorker

    if future == []:
        return []
    client = (future[0] if isinstance(future, list) else future).client
    try:
        return client.gather(future)
    except KilledWorker as error:
        msg = (
            f"{error.allowed_failures + 1} workers died at the same piece of work, probably out of "
            "memory. Give each worker more, or lower `working_memory`, which makes the pieces smaller."
        )
        raise MmdBoundsError(msg) from error
    except distributed.CancelledError as error:
        raise _lost(error) from error


def _lost(error: BaseException) -> MmdBoundsError:
    why = str(error).splitlines()[0] if str(error) else type(error).__name__
    return MmdBoundsError(f"the Dask cluster dropped the work ({why[:100]}). Is its scheduler still running?")
