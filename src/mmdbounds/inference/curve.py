"""The points of a curve over counts of misfiled rows: bounds, p-values, and the rows that matter.

A point stands for at most its number of misfiled rows: the extremes over its own count and those since the
point before are searched together, and the outermost so far are kept. In the paper's model it stands for
exactly its number.

Neighbours on a curve have nearly the same extreme rows, and each has had starts of its own. So what one
of them found helps the others: up along the counts, rows are added to it, and down, taken away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.inference.floor_pvalues import CountOutcome
from mmdbounds.inference.worst_case import WorstCase, is_near
from mmdbounds.knowledge import Places
from mmdbounds.objective import Labelling, Mask, Quadratic
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.results import Side
from mmdbounds.results.curve import SweepPoint
from mmdbounds.results.row_table import Found as RowsAndEffects
from mmdbounds.results.row_table import ranked, row_columns
from mmdbounds.results.serialize import plain
from mmdbounds.search.exchanges import effects_by_group, refine
from mmdbounds.search.protocol import Found, largest, limits_left, most_extreme, outwards
from mmdbounds.search.sharp import sharp_sides
from mmdbounds.sums.threads import one_blas_thread

LOOKS = 4  # counts of a point that are looked at more closely for its p-value, at the most

CURVE_GAP, CURVE_PATIENCE, CURVE_STARTS = 0.01, 0.1, 8
"""Proofs of the curve's bounds stop within this share of the width, which a plot hardly shows, or after a
tenth of what a single proof may spend. Beyond 3,600 rows that may move, ceilings are learned: that takes a
pass over all pairs at every point, and all of its steps unless samples promise the gap."""

SIDES: tuple[Side, Side] = ("lower", "upper")

Ends = tuple[Found, Found]  # what was found on the lower and on the upper side; one-way


class Curve:
    """The points of a curve at some counts (`grid`), with what a test knows of every count up to the last."""

    def __init__(
        self,
        worst: WorstCase,
        outcome: Callable[[Counts], CountOutcome],
        grid: list[Counts],
        meter: Meter,
        *,
        exactly: bool,
    ) -> None:
        self._worst, self._outcome, self._meter, self._grid = worst, outcome, meter, grid
        self._exactly = exactly
        self._is_complete = len(worst.considered) == grid[-1].n_moved + 1  # every count has been tested
        self._runs = runs_of(grid, worst.considered, exactly=exactly or not self._is_complete)

    def points(self, problem: Problem) -> tuple[SweepPoint, ...]:
        """Return the curve; the problem names the rows."""
        ends = along([self._ends(i) for i in range(len(self._grid))])
        pvalues = [self._pvalue(run, lower) for run, (lower, _) in zip(self._runs, ends, strict=True)]
        if not self._exactly:
            ends = list(accumulate(ends, _outermost))
            pvalues = list(accumulate(pvalues, max))
        every = zip(self._grid, ends, pvalues, strict=True)
        return tuple(self._point(problem, counts, *both, pvalue) for counts, both, pvalue in every)

    def _ends(self, i: int) -> Ends:
        """Return the smallest and the largest squared MMD found for the counts of a point, and proofs."""
        self._meter.phase("bounds, share", i, len(self._grid))
        run = self._runs[i]
        if self._outcome(run[-1]).found.labelling is None:
            self._worst.closer(run[-1])
        task = replace(self._worst.task(run[-1]), admissible=run)
        lower, upper = sharp_sides(task, CURVE_STARTS, CURVE_GAP, CURVE_PATIENCE)
        lower = self._with_known(run, lower)
        if self._exactly or self._is_complete:
            return lower, upper
        return replace(lower, certified=None), replace(upper, certified=None)

    def _with_known(self, run: list[Counts], lower: Found) -> Found:
        """Return the lower side with what the test knows of these counts as well."""
        known = [self._outcome(counts).found for counts in run]
        every = most_extreme(known, "lower")
        proved = [found.certified for found in (lower, every) if found.certified is not None]
        best = most_extreme([*(found for found in known if found.labelling is not None), lower], "lower")
        return best.proved(max(proved, default=None), "lower")

    def _pvalue(self, run: list[Counts], lower: Found) -> float:
        """Return the largest p-value over the counts of a point."""
        worst = self._worst
        if len(run) == 1:
            return worst.improved(self._outcome(run[0]), lower).pvalue
        for _ in range(LOOKS):
            found = [self._outcome(counts) for counts in run]
            top = max(found, key=lambda outcome: outcome.pvalue)
            if is_near(top.pvalue, max(each.attained for each in found)) or not worst.closer(top.counts):
                break
        found = [worst.improved(self._outcome(counts), _proof_of(lower)) for counts in run]
        return max(outcome.pvalue for outcome in found)

    def _point(
        self,
        problem: Problem,
        counts: Counts,
        lower: Found,
        upper: Found,
        pvalue: float,
    ) -> SweepPoint:
        return SweepPoint(
            epsilon=float(counts.epsilon),
            n_moved=counts.n_moved,
            lower=lower.value,
            upper=upper.value,
            lower_certified=lower.certified,
            upper_certified=upper.certified,
            pvalue=pvalue,
            null_quantile=self._worst.null_quantile(counts),
            rows=kept_rows(problem, lower, upper) if counts.n_moved else {},
        )


def runs_of(grid: list[Counts], every: list[Counts], *, exactly: bool) -> list[list[Counts]]:
    """Return the counts that each point of the curve is about: its own, or also those since the last one."""
    if exactly:
        return [[counts] for counts in grid]
    last = [-1, *(counts.n_moved for counts in grid)]
    return [[counts for counts in every if low < counts.n_moved <= high] for low, high in pairwise(last)]


def _proof_of(found: Found) -> Found:
    """Return what is proved, without the labelling, which may be one of another count."""
    return replace(found, value=np.inf, labelling=None)


def _outermost(before: Ends, ends: Ends) -> Ends:
    """Return the outermost of two points' ends, and proofs for the counts of both."""
    lower, upper = (most_extreme([*both], side) for *both, side in zip(before, ends, SIDES, strict=True))
    return lower, upper


def along(ends: list[Ends]) -> list[Ends]:
    """Return what was found for each count of a curve, once each has learnt from its neighbours.

    No end is less extreme than it was, and what is proved stays: it holds for every labelling.
    """
    ends = list(ends)
    up = range(1, len(ends))
    for here, there in [(i, i - 1) for i in up] + [(i - 1, i) for i in reversed(up)]:
        lower, upper = (
            from_neighbour(own, other, side)
            for own, other, side in zip(ends[here], ends[there], SIDES, strict=True)
        )
        ends[here] = lower, upper
    return ends


def from_neighbour(found: Found, neighbour: Found, side: Side) -> Found:
    """Return what was found, or what the rows of a neighbour lead to if that is more extreme."""
    own, other = found.labelling, neighbour.labelling
    if own is None or other is None or not own.parts() or _is_proved(found, own.quadratic):
        return found
    with one_blas_thread():  # two threads would add in another order than one
        started = resized(own.quadratic, other.moved, side)
        refine(started, side)
    value = started.value()
    if outwards(side) * (value - found.value) <= own.quadratic.totals.margin:  # the same, but for rounding
        return found
    return replace(found, value=value, labelling=started)


def resized(quadratic: Quadratic, moved: Mask, side: Side) -> Labelling:
    """Return a labelling near one of another count: the best rows are added, or the worst given back."""
    labelling = Labelling(quadratic, np.flatnonzero(moved))
    scores = outwards(side) * labelling.sign * labelling.gradient()
    missing = quadratic.counts.n_moved - int(np.count_nonzero(moved))
    if missing >= 0:
        left = limits_left(labelling.limits(), moved)
        changed = largest(scores, missing, ~moved, quadratic.tie_width, left)
    else:
        changed = largest(-scores, -missing, moved, quadratic.tie_width)
    labelling.move(changed)
    return labelling


def _is_proved(found: Found, quadratic: Quadratic) -> bool:
    """Return whether there is nothing left to find, but for rounding."""
    return (
        found.certified is not None and abs(found.certified - found.value) <= 2 * quadratic.margin_by_gradient
    )


ROWS_KEPT = 30
"""Rows kept at each point, those to be checked first: as many as a person reads, and little to keep."""

CHANGES = ("lower_change", "upper_change")


def kept_rows(problem: Problem, lower: Found, upper: Found) -> dict[str, Any]:
    """Return the known columns of `BoundsResult.row_table` for the rows to be checked first; one-way."""
    Y, places = problem.Y, problem.known.of_y
    sides = {"lower": _effects(lower, "lower", places), "upper": _effects(upper, "upper", places)}
    some = np.arange(len(Y)) if (listed := places.listed()) is None else listed
    ids = None if Y.ids is None else Y.ids[some]
    file_rows = None if Y.file_rows is None else Y.file_rows[some]
    table = ranked([row_columns(Y.name, places.back(some), ids, file_rows, sides)])
    first = {name: plain(column[:ROWS_KEPT]) for name, column in table.items() if name != "group"}
    return {name: column for name, column in first.items() if column[0] is not None or name in CHANGES}


def _effects(found: Found, side: Side, places: Places) -> RowsAndEffects:
    effects = None if found.labelling is None else effects_by_group(found.labelling, side)[0]
    return places.back(found.rows), places.some(effects)
