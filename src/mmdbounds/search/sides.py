"""Two sides and many counts, for methods that know one side of one count."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from mmdbounds.contamination import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import GroupSums
from mmdbounds.progress import Meter, Stopped
from mmdbounds.results import Estimator, Side
from mmdbounds.search.found import Found, Task
from mmdbounds.sums.threads import one_blas_thread

T = TypeVar("T")


class EachSide:
    """A method that searches one side of one count at a time."""

    is_random = False

    def search(self, totals: GroupSums, counts: Counts, estimator: Estimator, side: Side) -> Found:
        """Return the extreme of one side for one pair of counts."""
        raise NotImplementedError

    def both_sides(self, task: Task) -> tuple[Found, Found]:
        """Return the lower and the upper extreme over all admissible counts."""

        def find(side: Side) -> Found:
            every = [self.search(task.totals, c, task.estimator, side) for c in task.admissible]
            return most_extreme(every, side)

        return at_once(find, task)


def at_once(find: Callable[[Side], T], task: Task) -> tuple[T, T]:
    """Do both sides, in two threads where the pairs are computed as they are needed.

    The limit on BLAS is set once for both: two threads that set and lift it in turn do not always see it.
    """
    with one_blas_thread():
        if task.totals.sums.holds_matrix:
            return find("lower"), find("upper")
        return _in_two_threads(find, task.meter or Meter())


def _in_two_threads(find: Callable[[Side], T], meter: Meter) -> tuple[T, T]:
    """Do both sides at once; when one fails, the other stops."""

    def guarded(side: Side) -> T:
        try:
            return find(side)
        except BaseException:  # Ctrl-C as well: the other side must not go on for minutes
            meter.stop()
            raise

    with ThreadPoolExecutor(1) as other:
        lower = other.submit(guarded, "lower")
        try:
            upper = guarded("upper")
            while not lower.done():
                wait([lower], timeout=0.5)  # with an end: where polars is imported, Ctrl-C ends no other wait
        except Stopped:
            lower.result()  # raises what went wrong there
            raise
        except BaseException:
            meter.stop()
            raise
    return lower.result(), upper


def most_extreme(every: list[Found], side: Side) -> Found:
    """Return the most extreme of what was found for several counts, of equals the one with fewest moves.

    What is proved must hold for every count, so it is the most extreme proof, if all counts have one.
    """
    if not every:
        msg = "no count of misfiled rows to search"
        raise MmdBoundsError(msg)
    sign = 1.0 if side == "lower" else -1.0
    best = min(every, key=lambda found: sign * found.value)  # the first of equals
    return dataclasses.replace(
        best,
        certified=_outermost([found.certified for found in every], sign),
        fractional=_outermost([found.fractional for found in every], sign),
    )


def _outermost(values: list[float | None], sign: float) -> float | None:
    known = [value for value in values if value is not None]
    return (
        sign * min((sign * value for value in known), default=math.inf) if len(known) == len(values) else None
    )
