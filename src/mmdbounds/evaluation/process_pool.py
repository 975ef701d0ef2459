"""A pool of processes, started afresh: polars, OpenMP and torch do not survive a fork."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Any, TypeVar

from mmdbounds.errors import MmdBoundsError

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

ONE_EACH = tuple(f"{name}_NUM_THREADS" for name in ("MMDBOUNDS", "NUMBA", "OMP", "OPENBLAS", "MKL"))
AHEAD = 4  # jobs queued per process: enough to keep all busy, and few enough to start at once
_run: Callable[[Any], Any] | None = None  # what this process runs; sent once, when it starts


def run_in_processes(
    run: Callable[[Job], Outcome], jobs: Sequence[Job], n_processes: int
) -> Generator[Outcome]:
    """Yield ``run(job)`` for all jobs as they finish: here, or in processes that end with this generator.

    `run` is sent to each process once, so it may carry data (`functools.partial`).
    """
    n_processes = min(n_processes, len(jobs))
    if n_processes <= 1:
        yield from map(run, jobs)
        return
    spawn = multiprocessing.get_context("spawn")
    # Nothing is ever sent: a process ends when this end of the pipe is closed, and a death closes it, too.
    their_end, our_end = spawn.Pipe(duplex=False)
    pool = ProcessPoolExecutor(n_processes, spawn, initializer=_begin, initargs=(run, their_end))
    with their_end, our_end, pool:
        try:
            yield from _as_they_finish(pool, jobs, AHEAD * n_processes)
        except BrokenProcessPool as error:
            msg = (
                "a process of the pool has ended (out of memory?) or could not start. A script that uses "
                'several processes must do so below `if __name__ == "__main__":`; or use n_processes=1.'
            )
            raise MmdBoundsError(msg) from error
        except BaseException:  # Ctrl-C as well: nobody waits for the other jobs
            our_end.close()
            raise


def _as_they_finish(pool: ProcessPoolExecutor, jobs: Iterable[Any], ahead: int) -> Iterator[Any]:
    """Yield the outcomes as they come, with at most `ahead` jobs handed out."""
    waiting, pending = iter(jobs), set[Future[Any]]()
    while True:
        for job in islice(waiting, ahead - len(pending)):
            with one_thread_each(), _without_interrupts():  # the first few start the processes
                pending.add(pool.submit(_run_job, job))
        if not pending:
            return
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for each in done:
            yield each.result()


def _begin(run: Callable[[Any], Any], their_end: Any) -> None:
    """Prepare a new process: it leaves Ctrl-C to the one that started it, and ends with that."""
    global _run  # noqa: PLW0603 -- how a pool's process keeps what it was sent
    _run = run
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        with contextlib.suppress(EOFError, OSError):
            their_end.recv_bytes()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _run_job(job: Any) -> Any:
    if _run is None:
        msg = "this process was not prepared for jobs."
        raise RuntimeError(msg)
    return _run(job)


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Let the processes started meanwhile use one core each."""
    before = {name: os.environ.get(name) for name in ONE_EACH}
    os.environ.update(dict.fromkeys(ONE_EACH, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hide Ctrl-C from the processes started meanwhile, until they ignore it; afterwards it counts here."""
    if sys.platform == "win32":  # there are no signals to be masked
        yield
        return
    # New processes inherit the mask. It does not protect this one: another thread may catch the signal for
    # it, and it would stop while it sends a process what it needs.
    with _delayed_interrupt():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _delayed_interrupt() -> Iterator[None]:
    """Handle Ctrl-C at the end of the block; only the main thread handles it at all."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    caught: list[Any] = []
    signal.signal(signal.SIGINT, lambda *arguments: caught.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if caught:
        handler(*caught[0])
