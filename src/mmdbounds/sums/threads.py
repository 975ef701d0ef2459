"""One BLAS thread each while our own threads work on blocks."""

from __future__ import annotations

import functools
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mmdbounds.sums.forks import no_fork

MOST_THREADS = 1024
"""More than any machine has cores."""

_lock = threading.Lock()
_users = 0
_held: Any = None


def thread_count() -> int:
    """Return the number of threads: ``MMDBOUNDS_NUM_THREADS``, or the cores this process may use."""
    wish = os.environ.get("MMDBOUNDS_NUM_THREADS", "")
    if re.fullmatch("[0-9]{1,9}", wish) and int(wish) > 0:
        return min(int(wish), MOST_THREADS)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold every BLAS to one thread.

    The limit is the process's, so the first user sets it and the last one lifts it: calls
    from several threads at once (as Dask makes them) do not undo each other's. Enter it when all
    libraries that will be used have been loaded.
    """
    global _users, _held  # noqa: PLW0603 -- the limit belongs to the process
    with no_fork(), _lock:
        if _users == 0:
            _held = _limit()
        _users += 1
    try:
        yield
    finally:
        with no_fork(), _lock:
            _users -= 1
            if _users == 0 and _held is not None:
                _held.restore_original_limits()
                _held = None


def _limit() -> Any:
    controller = _controller("scipy.linalg.cython_blas" in sys.modules)
    return None if controller is None else controller.limit(limits=1, user_api="blas")


@functools.cache
def _controller(with_scipy: bool) -> Any:
    """Return what holds the BLAS libraries loaded so far; looked for again when SciPy's has come."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:  # slower, not wrong: the blocks are small
        return None
    return ThreadpoolController()


def _forget_threads() -> None:
    """Begin anew in a forked child, whose other threads are not there; BLAS keeps its one thread."""
    global _lock, _users, _held
    _lock, _users, _held = threading.Lock(), 0, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
