"""Threads over blocks: one BLAS thread each, results in a fixed order, and forks that wait.

A forked child has only the thread that forked, and inherits the locks of the others as they were: one that
OpenBLAS held at that moment stays locked for ever, and the child hangs in its first product. So work on a
block is announced (`no_fork`), and whoever forks waits for the blocks under way, a moment each.
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

if TYPE_CHECKING:
    from concurrent.futures import Future

S = TypeVar("S")
T = TypeVar("T")

MOST_THREADS = 1024  # more than any machine has cores
PATIENCE = 60.0  # seconds that a fork waits at the most: better a fork that may fail than none
_blas_lock = threading.Lock()
_blas_users = 0
_blas_before: list[tuple[Any, int]] = []  # the libraries that are held, and the threads each had

_changed = threading.Condition(threading.Lock())
_at_work: dict[int, int] = {}  # how deep each thread is in work during which nobody may fork
_n_forks = 0  # forks that wait or are under way


def thread_count() -> int:
    """Return the number of threads: ``MMDBOUNDS_NUM_THREADS``, or the cores this process may use."""
    wish = os.environ.get("MMDBOUNDS_NUM_THREADS", "")
    if re.fullmatch("[0-9]{1,9}", wish) and int(wish) > 0:
        return min(int(wish), MOST_THREADS)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_for(n_pairs: int) -> int:
    """Return how many threads pay for so many pairs of rows."""
    return thread_count() if n_pairs >= plan.THREADS_PAY else 1


def in_order(tasks: Iterable[S], work: Callable[[S], T], n_threads: int) -> Iterator[tuple[S, T]]:
    """Do the work in threads, a little ahead; yield each task with its result, in the order of the tasks."""
    # So sums have the same bits for any number of threads. Threads end with the loop that takes the results.
    with one_blas_thread():
        if n_threads == 1:
            for task in tasks:
                yield task, _sheltered(work, task)
            return
        from concurrent.futures import ThreadPoolExecutor

        executor = ThreadPoolExecutor(n_threads)
        ahead: deque[tuple[S, Future[T]]] = deque()
        try:
            for task in tasks:
                ahead.append((task, executor.submit(_sheltered, work, task)))
                if len(ahead) >= max(plan.IN_FLIGHT, n_threads + 1):  # results wait in memory
                    done, future = ahead.popleft()
                    yield done, future.result()
            for done, future in ahead:
                yield done, future.result()
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def _sheltered(work: Callable[[S], T], task: S) -> T:
    with no_fork():
        return work(task)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold every BLAS to one thread."""
    # The limit is the process's, so the first user sets it and the last one lifts it: calls
    # from several threads at once (as Dask makes them) do not undo each other's. Enter it when all
    # libraries that will be used have been loaded.
    global _blas_users, _blas_before  # noqa: PLW0603 -- the limit belongs to the process
    with no_fork(), _blas_lock:
        if _blas_users == 0:
            _blas_before = _limit_blas()
        _blas_users += 1
    try:
        yield
    finally:
        with no_fork(), _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                for library, n_threads in _blas_before:
                    library.set_num_threads(n_threads)


def _limit_blas() -> list[tuple[Any, int]]:
    """Hold the libraries to one thread, and return how many each had."""
    libraries = _blas_libraries("scipy.linalg.cython_blas" in sys.modules)
    before = [(library, library.get_num_threads()) for library in libraries]
    for library in libraries:
        library.set_num_threads(1)
    return before


@functools.cache
def _blas_libraries(with_scipy: bool) -> list[Any]:
    """Return what holds the BLAS libraries loaded so far; looked for again when SciPy's has come."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:  # slower, not wrong: the blocks are small
        return []
    return [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]


@contextmanager
def no_fork() -> Iterator[None]:
    """Do a short piece of work during which no other thread forks."""
    me = threading.get_ident()
    with _changed:
        if me not in _at_work:
            _changed.wait_for(lambda: _n_forks == 0, PATIENCE)
        _at_work[me] = _at_work.get(me, 0) + 1
    try:
        yield
    finally:
        with _changed:
            _at_work[me] -= 1
            if not _at_work[me]:
                del _at_work[me]
            _changed.notify_all()


def _before_fork() -> None:
    global _n_forks  # noqa: PLW0603 -- forks are the process's
    me = threading.get_ident()
    with _changed:
        _n_forks += 1
        _changed.wait_for(lambda: not _at_work.keys() - {me}, PATIENCE)


def _after_fork_in_parent() -> None:
    global _n_forks  # noqa: PLW0603
    with _changed:
        _n_forks -= 1
        _changed.notify_all()


def _after_fork_in_child() -> None:
    """Begin anew: the other threads are not here; BLAS keeps its one thread."""
    global _changed, _n_forks, _blas_lock, _blas_users, _blas_before  # noqa: PLW0603
    me = threading.get_ident()
    _changed = threading.Condition(threading.Lock())
    _n_forks = 0
    for other in _at_work.keys() - {me}:
        del _at_work[other]
    _blas_lock, _blas_users, _blas_before = threading.Lock(), 0, []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
