"""Stepwise stochastic dominance, S-SD, and its one-step form SD (algorithms 1 and 2 of the paper).

In each step the rows with the most extreme gradient move, and the gradient is updated by their columns
alone (docs/method.md, "S-SD, step by step").
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from mmdbounds.checks import check_count, check_option
from mmdbounds.counts import Counts, check_sizes
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import GroupSums, Indices, Labelling, Mask, Quadratic
from mmdbounds.results import Estimator, Side
from mmdbounds.search.protocol import (
    EachSide,
    Found,
    Task,
    at_least,
    largest,
    limits_left,
    most_extreme,
    outwards,
    spread_evenly,
)
from mmdbounds.sums.cpu.engines import take_one_by_one
from mmdbounds.sums.plan import MIB, kept_columns, strips
from mmdbounds.sums.protocol import Float64s

DEFAULT_STEPS = 10
FEW = 32  # steps that move fewer rows than this take their columns from the cache
MOST_COUNTS = 256  # counts that are searched under "at most", evenly spread where there are more
HELD = 6  # numbers of each pooled row that the search of one count holds


@dataclass(frozen=True)
class StepwiseDominance(EachSide):
    """Stepwise stochastic dominance (S-SD); with one step, SD.

    Parameters
    ----------
    n_steps
        Number of steps S, at most one for each row that moves; `None` takes min(m, 10).
    schedule
        ``"even"``: after step s exactly floor(m s / S) rows have moved, ranked by the gradient of
        the chosen estimator. ``"paper"``: the printed algorithm, which weighs the sums by
        1 -+ epsilon / S, takes quantiles with all their ties, and so moves more than m rows; its
        value is then not the value of a labelling with m rows.
    weights
        For ``schedule="paper"``: ``"sums"`` as printed, or ``"means"``, which divides each sum by
        the current size of its group. For ``schedule="even"``: ``"plain"`` ranks by the witness of the
        current groups, mean k(X, .) - mean k(Y, .), in place of the gradient.
    """

    n_steps: int | None = None
    schedule: Literal["even", "paper"] = "even"
    weights: Literal["sums", "means", "plain"] = "sums"

    def __post_init__(self) -> None:
        if self.n_steps is not None:
            object.__setattr__(self, "n_steps", check_count(self.n_steps, "n_steps", least=1))
        check_option(self.schedule, "schedule", ("even", "paper"))
        check_option(self.weights, "weights", ("sums", "means", "plain"))
        if self.schedule == "paper" and self.weights == "plain":
            msg = "`weights='plain'` is for schedule='even'; the paper's schedule has 'sums' and 'means'."
            raise MmdBoundsError(msg)

    @property
    def name(self) -> str:
        """``"sd"`` with one step of the even schedule, else ``"s-sd"``."""
        return "sd" if self.n_steps == 1 and self.schedule == "even" else "s-sd"

    def steps_for(self, counts: Counts) -> int:
        """Return the number of steps S for these counts."""
        most = max(counts.n_moved, counts.n_moved_of_x)
        return min(most, DEFAULT_STEPS if self.n_steps is None else self.n_steps)

    @property
    def needs_exact_count(self) -> bool:
        """Whether it is refused for "at most m": the printed schedule is."""
        return self.schedule == "paper"

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse what the paper's schedule and weights do not know: two-way counts, rows that cannot move."""
        if self.weights == "plain" and counts.n_moved_of_x:
            msg = "`weights='plain'` is for one-way misfiling. Leave `weights` out for two-way."
            raise MmdBoundsError(msg)
        if self.schedule == "paper" and counts.movable is not None:
            msg = "`schedule='paper'` does not know which rows may move. Use schedule='even'."
            raise MmdBoundsError(msg)
        if self.schedule == "paper" and counts.n_moved_of_x:
            msg = "`schedule='paper'` is for one-way misfiling. Use schedule='even' for two-way."
            raise MmdBoundsError(msg)

    def search(self, totals: GroupSums, counts: Counts, estimator: Estimator, side: Side) -> Found:
        """Return the rows that this method moves on one side, and their value."""
        steps = self.steps_for(counts)
        if self.schedule == "paper" and steps:
            return self._printed(totals, counts, estimator, side)
        labelling = self.from_quadratic(Quadratic(totals, counts, estimator), side)
        return Found.at(labelling, status=_said(steps))

    def search_counts(self, task: Task, side: Side) -> list[Found]:
        """Return the most extreme count of each batch; an even grid of the counts if these are many."""
        if len(task.admissible) == 1:
            return super().search_counts(task, side)
        some = spread_evenly(task.admissible, MOST_COUNTS)
        left_out = len(task.admissible) - len(some)
        note = f"; {len(some):,} of {len(task.admissible):,} counts searched" if left_out else ""
        sums = task.totals.sums
        batches = strips([0, len(some)], _n_together(sums.n_rows, sums.working_memory))
        best = [most_extreme(self._together(task, some[a:b], side), side) for a, b in batches]
        return [replace(found, status=found.status + note) for found in best]

    def _together(self, task: Task, admissible: list[Counts], side: Side) -> list[Found]:
        """Return what each count finds by itself, step by step: the counts share the columns of a step."""
        quadratics = [Quadratic(task.totals, counts, task.estimator) for counts in admissible]
        labellings, steps = [Labelling(f) for f in quadratics], [self.steps_for(c) for c in admissible]
        for s in range(1, max(steps) + 1):
            moving = [i for i, most in enumerate(steps) if s <= most]
            chosen = [
                _next_rows(labellings[i], s, steps[i], outwards(side), plainly=self.weights == "plain")[0]
                for i in moving
            ]
            _move_together([labellings[i] for i in moving], chosen)
        return [Found.at(one, status=_said(most)) for one, most in zip(labellings, steps, strict=True)]

    def from_quadratic(self, quadratic: Quadratic, side: Side) -> Labelling:
        """Return the labelling that the even schedule reaches."""
        labelling = Labelling(quadratic)
        plainly = self.weights == "plain"
        _move_evenly(labelling, self.steps_for(quadratic.counts), outwards(side), plainly=plainly)
        return labelling

    def _printed(self, totals: GroupSums, counts: Counts, estimator: Estimator, side: Side) -> Found:
        """Return what the printed algorithm moves, at the sizes that result."""
        steps = self.steps_for(counts)
        rows = _printed_rows(totals, counts, steps, side, means=self.weights == "means")
        resized = Counts(len(rows), 0, totals.p + len(rows), totals.q - len(rows))
        check_sizes(resized, totals.p, totals.q, unbiased=estimator == "unbiased")
        kind, instead = "labelling", ""
        if len(rows) != counts.n_moved:
            kind, instead = "resized labelling", f" instead of {counts.n_moved}"
        status = f"{steps} quantile steps moved {len(rows)} rows{instead}"
        return Found.at(Labelling(Quadratic(totals, resized, estimator), rows), kind=kind, status=status)


class ColumnCache:
    """Columns of the kernel matrix, computed ahead for steps that move a few rows at a time.

    One column at a time is a matrix-vector product, limited by memory; the columns of many leading candidates
    at once run at the speed of the pass over the pairs. The oldest columns make room for new ones.
    """

    def __init__(self, labelling: Labelling, capacity: int) -> None:
        n, self._labelling, self._head = len(labelling.sign), labelling, 0
        self._owner = np.full(capacity, -1, dtype=np.intp)
        self.columns: Float64s = np.empty((capacity, n))  # kernel values of stored rows to the active ones
        self.place: Indices = np.full(n, -1, dtype=np.intp)  # where an active row's column is, -1: not stored

    def columns_of(self, rows: Indices, scores: Float64s) -> Float64s:
        """Return the columns of `rows`, one row each; at most half the capacity."""
        if (self.place[rows] < 0).any():
            self.fetch(rows, scores)
        return np.asarray(self.columns[self.place[rows]])

    def fetch(self, rows: Indices, scores: Float64s) -> None:
        """Compute the columns of `rows`, and of the rows with the largest scores that are not stored."""
        free = ~self._labelling.moved
        leading = largest(scores, min(len(self._owner) // 3, int(np.count_nonzero(free))), free, 0.0)
        # `rows` are computed anew, so that they cannot be among the columns that make room.
        wanted = np.union1d(rows, leading[self.place[leading] < 0])
        if self._head + len(wanted) > len(self._owner):
            self._head = 0
        slots = slice(self._head, self._head + len(wanted))
        gone = self._owner[slots]
        self.place[gone[gone >= 0]] = -1
        self._owner[slots] = wanted
        self.place[wanted] = np.arange(slots.start, slots.stop)
        self._labelling.columns(wanted, self.columns[slots])
        self._head = slots.stop


def _move_evenly(labelling: Labelling, steps: int, towards: float, *, plainly: bool) -> None:
    """Move floor(m s / S) rows by step s, the most extreme gradients (or, `plainly`, witnesses) first."""
    counts, limits = labelling.quadratic.counts, labelling.limits()
    memory = labelling.quadratic.totals.sums.working_memory
    cache = ColumnCache(labelling, kept_columns(len(labelling.sign), memory))
    if steps == counts.n_moved and not (counts.n_moved_of_x or limits or plainly):
        _move_one_by_one(labelling, cache, towards)
        return
    for s in range(1, steps + 1):
        rows, scores = _next_rows(labelling, s, steps, towards, plainly=plainly)
        if len(rows) < FEW:
            labelling.move(rows, labelling.sign[rows] @ cache.columns_of(rows, scores))
        else:
            labelling.move(rows)


def _next_rows(
    labelling: Labelling, s: int, steps: int, towards: float, *, plainly: bool
) -> tuple[Indices, Float64s]:
    """Return the rows that step s of the even schedule moves, and the scores of all rows."""
    f = labelling.quadratic
    counts, tie_width = f.counts, f.totals.tie_width if plainly else f.tie_width
    both = counts.n_moved, counts.n_moved_of_x
    quota_y, quota_x = (m * s // steps - m * (s - 1) // steps for m in both)
    of_x = np.arange(len(labelling.sign)) < labelling.n_active_x
    scores = towards * (_witness(labelling) if plainly else labelling.sign * labelling.gradient())
    left = limits_left(labelling.limits(), labelling.moved)
    rows = largest(scores, quota_y, ~labelling.moved & ~of_x, tie_width, left)
    if quota_x:
        rows = np.concatenate([largest(scores, quota_x, ~labelling.moved & of_x, tie_width, left), rows])
    return rows, scores


def _move_together(labellings: list[Labelling], chosen: list[Indices]) -> None:
    """Move rows of several labellings; each column of the kernel matrix is computed once."""
    ends = [(one.active.start, one.active.stop) for one in labellings]
    first, last = min(start for start, _ in ends), max(stop for _, stop in ends)
    pooled = [one.pooled(rows) for one, rows in zip(labellings, chosen, strict=True)]
    every = np.unique(np.concatenate(pooled))
    weights = np.zeros((len(every), len(labellings)))
    for i, (one, rows) in enumerate(zip(labellings, chosen, strict=True)):
        weights[np.searchsorted(every, pooled[i]), i] = one.sign[rows]
    shifts = labellings[0].quadratic.totals.sums.apply(slice(first, last), every, weights)
    for i, (one, rows) in enumerate(zip(labellings, chosen, strict=True)):
        one.move(rows, shifts[ends[i][0] - first : ends[i][1] - first, i])


def _n_together(n_rows: int, working_memory: float) -> int:
    """Return how many counts are searched at a time: both sides hold an eighth of the budget."""
    return max(1, int(working_memory * MIB / (8 * HELD * 8 * max(n_rows, 1))))


def _said(steps: int) -> str:
    return f"{steps} step{'' if steps == 1 else 's'}"


def _witness(labelling: Labelling) -> Float64s:
    """Return mean k(X, .) - mean k(Y, .) over the current groups at the rows of Y, each itself included."""
    t, moved = labelling.quadratic.totals, int(np.count_nonzero(labelling.moved))
    to_x, to_y = (each[labelling.active] for each in (t.to_x, t.to_y))
    return np.asarray((to_x + labelling.shift) / (t.p + moved) - (to_y - labelling.shift) / (t.q - moved))


def _move_one_by_one(labelling: Labelling, cache: ColumnCache, towards: float) -> None:
    """Move the m rows one after the other (one-way), many of them in one call."""
    f, left = labelling.quadratic, labelling.quadratic.counts.n_moved
    factor, compiled = 2 * f.c * towards, f.totals.sums.is_compiled
    while left:
        scores = np.where(labelling.moved, -np.inf, towards * labelling.gradient())
        cache.fetch(np.flatnonzero(scores >= scores.max() - f.tie_width)[:1], scores)
        places = cache.place, cache.columns
        rows, shift = take_one_by_one(scores, *places, factor, left, f.tie_width, compiled=compiled)
        labelling.move(rows, shift)
        left -= len(rows)


def _printed_rows(totals: GroupSums, counts: Counts, steps: int, side: Side, *, means: bool) -> Indices:
    """Return the rows that the printed algorithm moves: weighted sums, quantiles, ties included."""
    p, q, epsilon = totals.p, totals.q, counts.stated_epsilon
    level = epsilon / (epsilon + steps)  # alpha_s, a fraction: 1/6 of 60 rows are 10, not 11
    weight_x, weight_y = float(1 - epsilon / steps), float(1 + epsilon / steps)
    to_x, to_y = totals.to_x[p:].copy(), totals.to_y[p:].copy()
    moved = np.zeros(q, dtype=np.bool_)
    for _ in range(steps):
        n_moved = int(np.count_nonzero(moved))
        size_x, size_y = (p + n_moved, q - n_moved) if means else (1, 1)
        witness = weight_x * to_x / size_x - weight_y * to_y / size_y
        # Rounding of a witness made of sums grows with the number of terms.
        tie_width = totals.tie_width * (1.0 if means else p + q)
        batch = _quantile_rows(witness, level, ~moved, side, tie_width)
        if n_moved + len(batch) >= q:
            msg = f"the quantiles of `schedule='paper'` would move all {q} rows of `Y`. Use schedule='even'."
            raise MmdBoundsError(msg)
        columns = totals.sums.apply(slice(p, p + q), batch + p, np.ones(len(batch)))
        to_x += columns
        to_y -= columns
        moved[batch] = True
    return np.flatnonzero(moved)


def _quantile_rows(witness: Float64s, level: Fraction, free: Mask, side: Side, tie_width: float) -> Indices:
    """Return the rows beyond the quantile inf{f : level < CDF(f)}, ties included.

    Without ties these are ceil(alpha n) rows above and floor(alpha n) + 1 below.
    """
    n = int(np.count_nonzero(free))
    if side == "upper":
        return at_least(witness, max(math.ceil(level * n), 1), free, tie_width)
    return at_least(-witness, min(math.floor(level * n) + 1, n), free, tie_width)
