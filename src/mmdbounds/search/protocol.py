"""What a search is given, what it returns, and what methods share: two sides, many counts, top rows.

A method is a class with a `name` and `both_sides`; its options are its fields. `Method` has defaults for the
rest. `EachSide` is for methods that search one side of one count at a time.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from mmdbounds.contamination import Contamination
from mmdbounds.counts import Counts
from mmdbounds.errors import BrokenProofError, MmdBoundsError
from mmdbounds.objective import GroupSums, Indices, Labelling, Mask
from mmdbounds.progress import Meter, Stopped
from mmdbounds.results import Estimator, Side
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.threads import one_blas_thread

T = TypeVar("T")
Part = tuple[slice, int]  # rows of one group, and how many of them are to be chosen
NO_ROWS: Indices = np.empty(0, dtype=np.intp)
NEARLY = 1e-9  # what a value that no labelling has may be off, as a share of itself


def outwards(side: Side) -> float:
    """Return +1 for the upper side, -1 for the lower: the factor that makes either a maximum."""
    return 1.0 if side == "upper" else -1.0


class RowBounds(NamedTuple):
    """What partners can add to each of n active rows, whatever the counts, in units of kernel values.

    Any j partners in X, or in Y, add at most j times the row's threshold there and its excess there.
    """

    thresholds: Float64s  # of partners in X and in Y, shape (2, n)
    excess: Float64s  # of both, shape (2, n)
    alone: Float64s  # what each row adds whoever its partners are, shape (n,)
    of_pair: float  # what rounding can do to a pair


@dataclass(frozen=True, eq=False)
class Found:
    """A value and the labelling that has it; see `mmdbounds.results.Bound` for the meaning of the fields.

    Weights are no labelling: `labelling` is then `None`, and no row moves.
    """

    value: float
    labelling: Labelling | None
    kind: str = "labelling"
    status: str = ""
    certified: float | None = None
    row_bounds: RowBounds | None = None  # if they prove an upper side: ceilings of other counts follow
    weights: Float64s | None = None  # of the rows of X, in place of a labelling (limited odds)

    @classmethod
    def at(cls, labelling: Labelling, **more: Any) -> Self:
        """Return a labelling with its value."""
        return cls(labelling.value(), labelling, **more)

    def proved(self, certified: float | None, side: Side) -> Self:
        """Return the same with what is proved of its side; refuse a proof that the value contradicts.

        Every proof passes here. A value inside of it by more than rounding can do shows that the proof is
        false: then nothing must be returned.
        """
        if certified is not None:
            beyond = outwards(side) * (self.value - certified)
            rounding = NEARLY * max(abs(self.value), abs(certified))
            if self.labelling is not None:
                rounding = self.labelling.quadratic.margin_by_gradient
            if not beyond <= rounding:  # a NaN proves nothing either
                msg = (
                    f"the proof of the {side} side, {certified!r}, is contradicted by {self.value!r}, "
                    "which is reached. This is an error of mmdbounds, not of the data: please report it."
                )
                raise BrokenProofError(msg)
        return dataclasses.replace(self, certified=certified)

    @property
    def rows(self) -> Indices:
        """Rows of Y that move."""
        return NO_ROWS if self.labelling is None else self.labelling.rows_of_y()

    @property
    def rows_of_x(self) -> Indices:
        """Rows of X that move."""
        return NO_ROWS if self.labelling is None else self.labelling.rows_of_x()


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be searched."""

    totals: GroupSums  # the sums over the pairs
    admissible: list[Counts]  # those that move the fewest rows of Y first
    estimator: Estimator
    seed: int = 0
    meter: Meter | None = None  # counts kernel values, and stops all threads when one has failed


class Method(Protocol):
    """A way to search for the extreme labellings; its options are its fields."""

    @property
    def name(self) -> str:
        """The name under which `mmd_bounds(method=...)` knows it."""

    @property
    def is_random(self) -> bool:
        """Whether the result depends on the seed."""
        return False

    @property
    def needs_exact_count(self) -> bool:
        """Whether it is defined for exactly m misfiled rows alone, and so refused for "at most m"."""
        return False

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse, before the work starts, counts that this method cannot handle.

        By default these are counts with rows that cannot move, or with limits: a method that obeys them
        (`Counts.may_move`, `Counts.limits`) says so by a `check` of its own.
        """
        if counts.movable is not None:
            knows = f"`method='{self.name}'` does not know which rows may move"
            msg = f"{knows} (verified rows, limits). Use method='sharp' or 's-sd'."
            raise MmdBoundsError(msg)

    def options(self) -> dict[str, Any]:
        """Return the options as plain data, for the record."""
        return dataclasses.asdict(self) if dataclasses.is_dataclass(self) else {}

    @abstractmethod
    def both_sides(self, task: Task) -> tuple[Found, Found]:
        """Return the lower and the upper extreme over all admissible counts."""
        ...


def check_exact_count(method: Any, contamination: Contamination) -> None:
    """Refuse a method of the paper that needs the exact number of misfiled rows, where a limit was given."""
    if contamination.exactly or not getattr(method, "needs_exact_count", False):
        return
    printed = method.options().get("schedule") == "paper"
    who, instead = f"method='{method.name}'", "method='sharp'"
    if printed:
        who, instead = "schedule='paper'", "schedule='even'"
    needs = f"`{who}` is defined for an exact number of misfiled rows, not for a limit"
    msg = f"{needs}. Pass `exactly=True`, or use {instead}."
    raise MmdBoundsError(msg)


class EachSide(Method):
    """A method that searches one side of one count at a time."""

    def search(self, totals: GroupSums, counts: Counts, estimator: Estimator, side: Side) -> Found:
        """Return the extreme of one side for one pair of counts."""
        raise NotImplementedError

    def search_counts(self, task: Task, side: Side) -> list[Found]:
        """Return the extremes of one side; the most extreme one over all counts is among them."""
        return [self.search(task.totals, counts, task.estimator, side) for counts in task.admissible]

    def both_sides(self, task: Task) -> tuple[Found, Found]:
        """Return the lower and the upper extreme over all admissible counts."""
        return for_both_sides(lambda side: most_extreme(self.search_counts(task, side), side), task)


def for_both_sides(find: Callable[[Side], T], task: Task) -> tuple[T, T]:
    """Call `find` for the lower and the upper side, in two threads where pairs are computed as needed.

    When one fails, the other stops. The limit on BLAS is set once for both: two threads that set and lift it
    in turn do not always see it.
    """
    with one_blas_thread():
        if task.totals.sums.holds_matrix:
            return find("lower"), find("upper")
        return _in_two_threads(find, task.meter or Meter())


def _in_two_threads(find: Callable[[Side], T], meter: Meter) -> tuple[T, T]:
    def guarded(side: Side) -> T:
        try:
            return find(side)
        except BaseException:  # Ctrl-C as well: the other side must not continue for minutes
            meter.stop()
            raise

    from concurrent.futures import ThreadPoolExecutor, wait

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
    """Return the most extreme of what was found for several counts; of equals, the one with the fewest moves.

    A proof must hold for every count, so it is the most extreme of all proofs, if every count has one.
    """
    if not every:
        msg = "there is no count of misfiled rows to search."
        raise MmdBoundsError(msg)
    outermost = max if side == "upper" else min
    proofs = [found.certified for found in every if found.certified is not None]
    best = outermost(every, key=lambda found: found.value)  # the first of equals
    return best.proved(outermost(proofs) if len(proofs) == len(every) else None, side)


def spread_evenly(counts: list[Counts], most: int) -> list[Counts]:
    """Return the counts or, if there are more than `most`, an even grid of them with both ends."""
    if len(counts) <= most:
        return counts
    return [counts[i] for i in np.unique(np.linspace(0, len(counts) - 1, most).round().astype(int))]


def largest(
    scores: Float64s, count: int, eligible: Mask, tie_width: float, limits: Sequence[Part] = ()
) -> Indices:
    """Return the `count` eligible rows with the largest scores, in the order of the rows.

    Scores within `tie_width` of the last one to be taken are tied with it, and the lowest rows of these are
    taken: duplicates differ by rounding only, and the order in which a sum was added up must not decide.

    With `limits` it is the best admissible set: no more rows of a stratum than its limit says. That is
    greedy, rows in the order of their scores, full strata skipped (docs/sharp.md, "Rows that cannot move, and
    limits"), or simpler: what the limits leave of each stratum, and of that the largest.
    """
    if count == 0:
        return NO_ROWS
    if limits:
        eligible = _left_by(limits, scores, eligible, tie_width)
    masked = np.where(eligible, scores, -np.inf)
    cut = masked.max() if count == 1 else np.partition(masked, len(masked) - count)[len(masked) - count]
    sure = masked > cut + tie_width
    tied = np.flatnonzero((masked >= cut - tie_width) & ~sure)
    return np.sort(np.concatenate([np.flatnonzero(sure), tied[: count - np.count_nonzero(sure)]]))


def _left_by(limits: Sequence[Part], scores: Float64s, eligible: Mask, tie_width: float) -> Mask:
    """Return the eligible rows that are among the best of their stratum, as many as its limit says."""
    left = np.zeros_like(eligible)
    for stratum, most in limits:
        here = eligible[stratum]
        count = min(most, int(np.count_nonzero(here)))
        left[stratum.start + largest(scores[stratum], count, here, tie_width)] = True
    return left


def limits_within(limits: Sequence[Part], part: slice) -> list[Part]:
    """Return the strata of one group, as places in it."""
    return [
        (slice(stratum.start - part.start, stratum.stop - part.start), most)
        for stratum, most in limits
        if part.start <= stratum.start < part.stop
    ]


def limits_left(limits: Sequence[Part], moved: Mask) -> list[Part]:
    """Return the limits once some rows have moved."""
    return [(stratum, most - int(np.count_nonzero(moved[stratum]))) for stratum, most in limits]


def partner_limits(limits: Sequence[Part], stratum: slice) -> list[Part]:
    """Return the limits of the partners of a row: one place of its own stratum is taken by itself."""
    return [(rows, max(most - (rows == stratum), 0)) for rows, most in limits]


def strata_of(limits: Sequence[Part]) -> Indices:
    """Return the number of its stratum for each row."""
    return np.repeat(np.arange(len(limits)), [stratum.stop - stratum.start for stratum, _ in limits])


def at_least(scores: Float64s, rank: int, eligible: Mask, tie_width: float) -> Indices:
    """Return the eligible rows whose score is no less than the `rank`-th largest, ties included."""
    masked = np.where(eligible, scores, -np.inf)
    cut = np.partition(masked, len(masked) - rank)[len(masked) - rank]
    return np.flatnonzero(masked >= cut - tie_width)


def leading(labelling: Labelling, scores: Float64s) -> Indices:
    """Return the active rows with the largest scores, as many of each group as are to move, within limits."""
    everyone, tie_width = np.ones(len(scores), dtype=np.bool_), labelling.quadratic.tie_width
    limits = labelling.limits()
    rows = [
        part.start + largest(scores[part], m, everyone[part], tie_width, limits_within(limits, part))
        for part, m in labelling.parts()
    ]
    return np.concatenate(rows) if rows else NO_ROWS


def largest_sums(values: Float64s, count: int) -> Float64s:
    """Return for each row of `values`, shape (n, d), the sum of its `count` largest entries."""
    if count == 0:
        return np.zeros(len(values))
    first = values.shape[1] - count
    return np.asarray(np.partition(values, first, axis=1)[:, first:].sum(axis=1))


def largest_places(values: Float64s, count: int) -> Indices:
    """Return for each row of `values`, shape (n, d), where its `count` largest entries are: (n, count)."""
    if count == 0:
        return np.empty((len(values), 0), dtype=np.intp)
    first = values.shape[1] - count
    return np.asarray(np.argpartition(values, first, axis=1)[:, first:])


def within_limits(values: Float64s, limits: Sequence[Part]) -> Float64s:
    """Return `values`, shape (n, d), with -inf in place of all but the largest of each stratum of columns.

    As many are left as its limit says. The largest of what is left are the best admissible set of each row.
    """
    if not limits:
        return values
    left = np.full_like(values, -np.inf)
    for stratum, most in limits:
        places = stratum.start + largest_places(values[:, stratum], most)
        np.put_along_axis(left, places, np.take_along_axis(values, places, axis=1), axis=1)
    return left


def top_sum(scores: Float64s, parts: list[Part], limits: Sequence[Part] = ()) -> float:
    """Return the sum of the largest scores, as many in each part as its quota says, within limits."""
    left = within_limits(scores[None], limits)
    return float(sum(largest_sums(left[:, part], quota)[0] for part, quota in parts))


def top_places(scores: Float64s, parts: list[Part], limits: Sequence[Part] = ()) -> Indices:
    """Return where the largest scores are, as many in each part as its quota says, within limits."""
    left = within_limits(scores[None], limits)
    places = [part.start + largest_places(left[:, part], quota)[0] for part, quota in parts]
    return np.concatenate(places)
