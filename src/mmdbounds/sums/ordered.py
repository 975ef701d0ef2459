"""Work in threads whose results are taken in a fixed order: the same bits for any number of threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from mmdbounds.sums import plan
from mmdbounds.sums.forks import no_fork
from mmdbounds.sums.threads import one_blas_thread

S = TypeVar("S")
T = TypeVar("T")


def in_order(
    tasks: Iterable[S], work: Callable[[S], T], consume: Callable[[S, T], None], n_threads: int
) -> None:
    """Do the work in threads, a little ahead, and hand over the results in the order of the tasks."""
    with one_blas_thread():
        if n_threads == 1:
            for task in tasks:
                consume(task, _sheltered(work, task))
            return
        executor = ThreadPoolExecutor(n_threads)
        ahead: deque[tuple[S, Future[T]]] = deque()
        try:
            for task in tasks:
                ahead.append((task, executor.submit(_sheltered, work, task)))
                if len(ahead) >= max(plan.IN_FLIGHT, n_threads + 1):  # results wait in memory
                    done, future = ahead.popleft()
                    consume(done, future.result())
            for done, future in ahead:
                consume(done, future.result())
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def _sheltered(work: Callable[[S], T], task: S) -> T:
    with no_fork():
        return work(task)
