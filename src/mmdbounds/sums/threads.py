"""Threads over blocks: results in a fixed order, and one BLAS thread for each, whoever calls and from where.

BLAS libraries keep the number of their threads in two ways. Most have one number for the whole process; it is
set when the first call begins and restored when the last of overlapping calls ends. Others (MKL, OpenMP) have
one for each thread that calls them; every thread sets and restores its own.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from mmdbounds.sums import plan
from mmdbounds.sums.cpu_quota import cpu_quota

if TYPE_CHECKING:
    from concurrent.futures import Future

S = TypeVar("S")
T = TypeVar("T")

MOST_THREADS = 1024  # more than any machine has cores


def thread_count() -> int:
    """Return the number of threads: ``MMDBOUNDS_NUM_THREADS``, or the cores this process may use."""
    wish = os.environ.get("MMDBOUNDS_NUM_THREADS", "")
    if re.fullmatch("[0-9]{1,9}", wish) and int(wish) > 0:
        return min(int(wish), MOST_THREADS)
    if sys.version_info >= (3, 13):
        cores = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, cpu_quota() or cores)


def threads_for(n_pairs: int) -> int:
    """Return how many threads pay for so many pairs of rows."""
    return thread_count() if n_pairs >= plan.THREADS_PAY else 1


def in_order(tasks: Iterable[S], work: Callable[[S], T], n_threads: int) -> Iterator[tuple[S, T]]:
    """Do the work in threads, a little ahead; yield each task with its result, in the order of the tasks."""
    # So sums have the same bits for any number of threads. Threads end with the loop that takes the results.
    with one_blas_thread():
        if n_threads == 1:
            for task in tasks:
                yield task, work(task)
            return
        from concurrent.futures import ThreadPoolExecutor

        def limited(task: S) -> T:
            with _limits().of_this_thread():
                return work(task)

        executor = ThreadPoolExecutor(n_threads)
        ahead: deque[tuple[S, Future[T]]] = deque()
        try:
            for task in tasks:
                ahead.append((task, executor.submit(limited, task)))
                if len(ahead) >= max(plan.IN_FLIGHT, n_threads + 1):  # results wait in memory
                    done, future = ahead.popleft()
                    yield done, future.result()
            for done, future in ahead:
                yield done, future.result()
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold every BLAS to one thread. Enter it when all libraries that will be used have been loaded."""
    limits = _limits()
    with limits.of_the_process(), limits.of_this_thread():
        yield


class BlasLimits:
    """Who holds the BLAS libraries to one thread, and how many threads these had before."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._lock = threading.Lock()
        self._n_users = 0
        self._before: list[tuple[Any, int]] = []

    @contextmanager
    def of_the_process(self) -> Iterator[None]:
        """Hold the libraries with one number for all: the first user sets it, the last restores it."""
        with self._lock:
            if self._n_users == 0:
                self._before = _held(_libraries(per_thread=False))
            self._n_users += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_users -= 1
                if self._n_users == 0:
                    _set_back(self._before)

    @contextmanager
    def of_this_thread(self) -> Iterator[None]:
        """Hold the libraries with a number for each thread."""
        before = _held(_libraries(per_thread=True))
        try:
            yield
        finally:
            _set_back(before)


_of_process = BlasLimits()


def _limits() -> BlasLimits:
    """Return the limits of this process; a forked child has none of its parent's threads, and begins anew."""
    global _of_process  # noqa: PLW0603 -- the limit belongs to the process
    if _of_process.pid != os.getpid():
        _of_process = BlasLimits()
    return _of_process


def _held(libraries: list[Any]) -> list[tuple[Any, int]]:
    """Hold libraries to one thread, and return those that had more, with their numbers."""
    before = [(library, n) for library in libraries if (n := library.get_num_threads()) != 1]
    _set_back([(library, 1) for library, _ in before])
    return before


def _set_back(numbers: list[tuple[Any, int]]) -> None:
    for library, n_threads in numbers:
        # With threadpoolctl 3.8 only the thread that first set a number may set it again; of others the
        # call does nothing. So whoever sets one takes that right, and leaves it to the next.
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)
        library.set_num_threads(n_threads)
        if release is not None:
            release()


def _libraries(*, per_thread: bool) -> list[Any]:
    """Return what holds the BLAS libraries loaded so far; looked for again when SciPy's has come."""
    return _found_libraries("scipy.linalg.cython_blas" in sys.modules)[per_thread]


@functools.cache
def _found_libraries(with_scipy: bool) -> tuple[list[Any], list[Any]]:
    """Return the libraries with one number for the process, and those with one for each thread."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:  # slower, not wrong: the blocks are small
        return [], []
    found: tuple[list[Any], list[Any]] = [], []
    for library in ThreadpoolController().lib_controllers:
        if library.user_api == "blas":
            found[_is_per_thread(library)].append(library)
    return found


def _is_per_thread(library: Any) -> bool:
    """Return whether a number of threads is that of the thread which sets it."""
    by_openmp = getattr(library, "threading_layer", "") == "openmp"
    # Before, threadpoolctl set the number of an OpenBLAS with OpenMP for the process.
    return bool(library.internal_api == "mkl" or (by_openmp and hasattr(library, "clear_controlling_thread")))
