"""Trials in processes of their own, started afresh: polars, OpenMP and torch do not survive a fork."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any

from mmdbounds.errors import MmdBoundsError
from mmdbounds.evaluation.asked import Asked
from mmdbounds.evaluation.trials import run_trial
from mmdbounds.results.evaluation import Trial

ONE_EACH = tuple(f"{name}_NUM_THREADS" for name in ("MMDBOUNDS", "NUMBA", "OMP", "OPENBLAS", "MKL"))

AHEAD = 4
"""Trials handed out for each process: enough that none runs dry, and few enough to begin at once."""

_asked: Asked | None = None
"""What this process works on; sent once, when it starts."""


def run_trials(asked: Asked, trials: Sequence[int], n_processes: int) -> Generator[Trial]:
    """Yield the trials as they are done: here, or in processes that end with this generator."""
    n_processes = min(n_processes, len(trials))
    if n_processes <= 1:
        yield from (run_trial(asked, trial) for trial in trials)
        return
    _check_can_be_sent(asked)
    spawn = multiprocessing.get_context("spawn")
    # Nothing is ever sent: a worker ends when this end of the pipe is closed, and a death closes it, too.
    their_end, our_end = spawn.Pipe(duplex=False)
    pool = ProcessPoolExecutor(n_processes, spawn, initializer=_begin, initargs=(asked, their_end))
    with their_end, our_end, pool:
        try:
            yield from _as_they_are_done(pool, trials, AHEAD * n_processes)
        except BrokenProcessPool as error:
            msg = (
                "a process that ran trials has ended (out of memory?) or could not start. A script that asks "
                'for several must do so below `if __name__ == "__main__":`; or use n_processes=1.'
            )
            raise MmdBoundsError(msg) from error
        except BaseException:  # Ctrl-C as well: nobody waits for the other trials
            our_end.close()
            raise


def _as_they_are_done(pool: ProcessPoolExecutor, trials: Iterable[int], ahead: int) -> Iterator[Trial]:
    """Yield the trials as they are done, with a few waiting to be run and no more."""
    waiting, pending = iter(trials), set[Future[Trial]]()
    while True:
        for trial in islice(waiting, ahead - len(pending)):
            with one_thread_each(), _sheltered():  # the first few start the processes
                pending.add(pool.submit(_next_trial, trial))
        if not pending:
            return
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for each in done:
            yield each.result()


def _begin(asked: Asked, their_end: Connection) -> None:
    """Make a new process ready: it leaves Ctrl-C to the one that started it, and ends with that."""
    global _asked  # noqa: PLW0603 -- how a pool's process keeps what it was sent
    _asked = asked
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        with contextlib.suppress(EOFError, OSError):
            their_end.recv_bytes()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _next_trial(trial: int) -> Trial:
    if _asked is None:
        msg = "this process was not made ready for trials."
        raise RuntimeError(msg)
    return run_trial(_asked, trial)


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
def _sheltered() -> Iterator[None]:
    """Let the processes started meanwhile not see Ctrl-C, not even before they can say so themselves."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check_can_be_sent(asked: Asked) -> None:
    """Refuse functions and methods that another process cannot find, and say which."""
    things: dict[str, Any] = {"mechanism": asked.mechanism, "kernel": asked.kernel}
    things |= {f"methods[{label!r}]": method for label, method in asked.methods.items()}
    for name, thing in things.items():
        try:
            pickle.dumps(thing)
        except Exception as error:  # whatever a user's object does when it is pickled
            msg = (
                f"`{name}` cannot be sent to other processes; got {thing!r}. Define it at the top of a "
                "module, or use n_processes=1."
            )
            raise MmdBoundsError(msg) from error
