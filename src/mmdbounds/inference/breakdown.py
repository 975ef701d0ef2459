"""How much misfiling it takes to explain a difference away: the curve over epsilon, and where it breaks.

Neighbours on a curve have nearly the same extreme rows, and each has had starts of its own. So what one
of them found helps the others: up along the counts, rows are added to it, and down, taken away.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from mmdbounds.checks import (
    MOST_PERMUTATIONS,
    check_count,
    check_number,
    check_progress,
    check_seed,
    check_share,
)
from mmdbounds.contamination import Contamination, Counts, check_sizes
from mmdbounds.costs import for_each, together
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.count_range import all_counts, expected_counts
from mmdbounds.inference.frontier import expected_frontier, frontier
from mmdbounds.inference.units import Units, by_units
from mmdbounds.inference.worst_case import CountOutcome, expected_floor, expected_null
from mmdbounds.objective import Labelling, Mask, Quadratic
from mmdbounds.problem import ComparisonOptions, Problem, compares, comparison, pose
from mmdbounds.progress import Meter, Phase
from mmdbounds.results import Side
from mmdbounds.results.curve import SweepPoint, SweepResult
from mmdbounds.results.frontier import FrontierResult
from mmdbounds.results.row_table import Found as RowsAndEffects
from mmdbounds.results.row_table import ranked, row_columns
from mmdbounds.results.serialize import plain
from mmdbounds.search.exchanges import expected_effects, refine, row_effects
from mmdbounds.search.protocol import Found, largest, outwards
from mmdbounds.search.sharp import sharp_sides
from mmdbounds.search.sharp.expected_work import bounds_work, searching
from mmdbounds.sums.checkpoint import Checkpoint
from mmdbounds.sums.threads import one_blas_thread
from mmdbounds.tables import Group
from mmdbounds.words.testing import sweep_conditions

GRID = 21  # points of the curve, unless the user names them
NEIGHBOURS = 4  # labellings of its neighbours that each point refines
LARGEST_SHARE = 0.5  # share up to which the curve goes, unless the user names its points

CURVE_GAP, CURVE_PATIENCE, CURVE_STARTS = 0.01, 0.1, 8
"""Proofs of the curve's bounds stop within this share of the width, which a plot hardly shows, or after a
tenth of what a single proof may spend."""


@compares()
def sweep(
    X: Any,
    Y: Any,
    *,
    epsilons: Any = None,
    y_in_x: float = 0.0,
    level: float = 0.05,
    value: float = 0.0,
    n_permutations: int = 999,
    unit: tuple[Units, Units] | None = None,
    rng: int | np.random.Generator | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> SweepResult | FrontierResult:
    """Bounds and p-values over shares of misfiled rows, and the share at which the finding breaks down.

    Parameters
    ----------
    X, Y, kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `mmd_bounds`.
    epsilons : sequence of float, optional
        The shares of the curve; by default evenly from 0 to 0.5, at whole rows.
    y_in_x : float, default=0
        Two-way: the largest share of the true Y that may be filed under X. The result is then the frontier:
        for each of `epsilons` (by default from 0 to the first that explains the finding away by itself) the
        largest share of the true Y that the finding survives beside it.
    level : float, default=0.05
        Level of the test.
    value : float, default=0
        A second breakdown is where the lower bound of the squared MMD reaches this value.
    n_permutations, unit, rng, checkpoint
        As in `robust_test`.

    Returns
    -------
    SweepResult or FrontierResult
        The curve, and `breakdown_epsilon`: the smallest share at which the test no longer rejects. With
        `y_in_x` the frontier.

    Notes
    -----
    Every count of misfiled rows from 0 up to the breakdown is tested, as in `robust_test`. That needs no
    correction: if there is no difference, the statement errs only if the test at the true count errs, which
    happens with a probability of at most `level`. The points of the curve assume *exactly* the
    stated number of misfiled rows; the breakdown covers any number *up to* it.

    A point of the frontier covers every pair of numbers with shares up to the two stated. Each is tested with
    its own true sizes, so that needs no correction either.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(40, 2))
    >>> mb.sweep(X, Y, rng=0).breakdown_n_moved
    7
    >>> [point.n_moved_of_x for point in mb.sweep(X, Y, epsilons=[0, 0.05, 0.1], y_in_x=0.3, rng=0).points]
    [6, 5, 2]
    """
    started = time.perf_counter()
    n_permutations = check_count(n_permutations, "n_permutations", least=1, most=MOST_PERMUTATIONS)
    level, seed = _checked_level(level), check_seed(rng)
    value = check_number(value, "value", "a number", math.isfinite)
    y_in_x = check_share(y_in_x, "y_in_x")
    if y_in_x and value:
        msg = f"`value` is for the one-way curve; got {value:g} with a `y_in_x` of {y_in_x:g}. Leave one out."
        raise MmdBoundsError(msg)
    check_progress(progress)
    shares = _checked_shares(epsilons)
    kept = None if checkpoint is None else Checkpoint(checkpoint)
    how = comparison("sweep", options)
    X, Y, units_note = by_units(X, Y, unit, how.kernel, seed)
    problem = pose(X, Y, how)
    if y_in_x:
        more: dict[str, Any] = {"checkpoint": kept, "units_note": units_note, "progress": progress}
        return frontier(problem, shares, y_in_x, level, n_permutations, seed, **more)
    grid = _grid(problem, shares)
    plan = partial(expected_sweep, problem, shares, n_permutations)
    with Meter(plan, show=progress) as meter, kept or nullcontext():
        scan = Scan(problem, grid, n_permutations, seed, meter, kept)
        where = {**_breakdown(scan, level), **_breakdown_of_value(scan, value)}
        points = scan.points(grid)
    return SweepResult(
        **where,
        points=points,
        observed=scan.worst.observed,
        is_valid=scan.is_proved,
        most_moved=grid[-1].n_moved,
        n_permutations=n_permutations,
        **problem.group_fields(),
        conditions=sweep_conditions(of_units=bool(units_note)),
        units_note=units_note,
        provenance=problem.provenance(
            scan.worst.totals,
            method="sweep",
            options={},
            seed=seed,
            n_pairs=meter.n_pairs,
            seconds=time.perf_counter() - started,
        ),
    )


def expected_sweep(
    problem: Problem, shares: list[float] | None, n_permutations: int, y_in_x: float = 0.0
) -> list[Phase]:
    """Return the phases of `sweep`, with what each is expected to take (see `mmdbounds.costs`)."""
    if y_in_x:
        return expected_frontier(problem, shares, y_in_x, n_permutations)
    grid = _grid(problem, shares)
    every = Contamination(n_moved=grid[-1].n_moved).admissible(problem.p, problem.q, at_most=True)

    def curve(counts: Counts) -> Phase:
        work = bounds_work(problem, [counts], CURVE_STARTS, CURVE_PATIENCE, CURVE_GAP)
        neighbours = [searching(problem, counts, side, NEIGHBOURS / 2) for side in SIDES]
        solved = expected_floor(problem, counts)
        return together("", [solved, *work, *neighbours, expected_effects(problem, counts)])

    return [
        *expected_null(problem, [*every, *grid], n_permutations),
        expected_counts(problem, every),
        for_each("bounds, share", grid, curve),
    ]


class Scan:
    """Counts from 0 upwards, each looked at as closely as needed, up to the last one of the curve."""

    def __init__(
        self,
        problem: Problem,
        grid: list[Counts],
        n_permutations: int,
        seed: int,
        meter: Meter,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        most = Contamination(n_moved=grid[-1].n_moved)
        every = most.admissible(problem.p, problem.q, at_most=True)
        self.problem, self._meter = problem, meter
        self.worst = all_counts(problem, every, n_permutations, seed, meter, grid, checkpoint)
        self.is_proved = True  # of every count looked at
        self.is_complete = len(self.worst.considered) == len(every)

    def outcome(self, counts: Counts) -> CountOutcome:
        """Return what is known of a count."""
        found = self.worst.outcome(counts)
        self.is_proved &= found.is_proved
        return found

    def first_above(self, level: float) -> CountOutcome | None:
        """Return the first count whose p-value exceeds the level."""
        return self._first(lambda found: found.attained <= level < found.pvalue, lambda f: f.pvalue > level)

    def first_below(self, value: float) -> CountOutcome | None:
        """Return the first count whose lower bound is no larger than `value`."""
        return self._first(lambda found: found.floor <= value < found.found.value, lambda f: f.floor <= value)

    def _first(
        self, is_open: Callable[[CountOutcome], bool], is_it: Callable[[CountOutcome], bool]
    ) -> CountOutcome | None:
        """Return the first count that is it; look closer where its proof leaves that open."""
        for i, counts in enumerate(self.worst.considered):
            self._meter.phase("count", i, len(self.worst.considered))
            found = self.outcome(counts)
            while is_open(found) and self.worst.closer(counts):
                found = self.outcome(counts)
            if is_it(found):
                return found
        return None

    def points(self, grid: list[Counts]) -> tuple[SweepPoint, ...]:
        """Return the curve."""
        ends = along([self._numbered(grid, i) for i in range(len(grid))])
        return tuple(self._point(counts, *both) for counts, both in zip(grid, ends, strict=True))

    def _numbered(self, grid: list[Counts], i: int) -> Ends:
        self._meter.phase("bounds, share", i, len(grid))
        return self._ends(grid[i])

    def _ends(self, counts: Counts) -> Ends:
        """Return the smallest and the largest squared MMD found for one count, and what is proved."""
        if self.outcome(counts).found.labelling is None:
            self.worst.closer(counts)
        lower, upper = sharp_sides(self.worst.task(counts), CURVE_STARTS, CURVE_GAP, CURVE_PATIENCE)
        return self.worst.improved(self.outcome(counts), lower).found, upper

    def _point(self, counts: Counts, lower: Found, upper: Found) -> SweepPoint:
        """Return the bounds and the p-values at one point of the curve."""
        outcome = self.worst.improved(self.outcome(counts), lower)
        proved = upper.certified
        return SweepPoint(
            epsilon=float(counts.epsilon),
            n_moved=counts.n_moved,
            lower=outcome.found.value,
            upper=upper.value,
            lower_certified=outcome.found.certified,
            upper_certified=proved,
            pvalue=outcome.pvalue,
            best_case=None if proved is None else self.worst.pvalue(proved, counts),
            null_quantile=self.worst.null_quantile(counts),
            rows=kept_rows(self.problem.Y, outcome.found, upper),
        )


def _breakdown(scan: Scan, level: float) -> dict[str, Any]:
    """Return the fields that say how much misfiling the finding stands."""
    first = scan.first_above(level)
    moved = [counts.n_moved for counts in scan.worst.considered]
    stop = len(moved) if first is None else moved.index(first.counts.n_moved)
    return {
        "level": level,
        "breakdown_n_moved": None if first is None else first.counts.n_moved,
        "holds_n_moved": moved[stop - 1] if stop else None,
        "is_confirmed": scan.is_complete,
        "is_tight": first is None or first.attained > level,
    }


def _breakdown_of_value(scan: Scan, value: float) -> dict[str, Any]:
    """Return the fields that say when the lower bound reaches `value`."""
    first = scan.first_below(value)
    return {"value": value, "breakdown_of_value": None if first is None else first.counts.n_moved}


def _checked_level(level: Any) -> float:
    share = check_share(level, "level")
    if share == 0:
        msg = "`level` must be larger than 0, or nothing is ever rejected; got 0."
        raise MmdBoundsError(msg)
    return share


def _checked_shares(epsilons: Any) -> list[float] | None:
    """Return the shares of the curve, `None` where none are named."""
    if epsilons is None:
        return None
    given = epsilons if isinstance(epsilons, list | tuple) else [epsilons]
    if any(isinstance(share, Contamination) for share in given):
        msg = (
            "`epsilons` must be shares of the true X; got a Contamination. For rows misfiled both ways give "
            "`y_in_x` too."
        )
        raise MmdBoundsError(msg)
    if isinstance(epsilons, str) or not isinstance(epsilons, Iterable):
        msg = f"`epsilons` must be a list of shares; got {epsilons!r}."
        raise MmdBoundsError(msg)
    shares = [check_share(share, "epsilons") for share in epsilons]
    if not shares:
        msg = "`epsilons` must name at least one share; got none."
        raise MmdBoundsError(msg)
    return shares


def _grid(problem: Problem, shares: list[float] | None) -> list[Counts]:
    """Return the counts of the curve, ascending, without repetition."""
    p, q = problem.p, problem.q
    unbiased = problem.estimator == "unbiased"
    check_sizes(Counts(0, 0, p, q), p, q, unbiased=unbiased)
    if shares is None:
        most = min(Contamination(LARGEST_SHARE).n_moved_for(p), q - (2 if unbiased else 1))
        moved = np.unique(np.linspace(0, most, GRID).round().astype(int)).tolist()
    else:
        moved = sorted({Contamination(share).n_moved_for(p) for share in shares})
    grid = [Contamination(n_moved=m).counts(p, q) for m in moved]
    check_sizes(grid[-1], p, q, unbiased=unbiased)
    return grid


SIDES: tuple[Side, Side] = ("lower", "upper")

Ends = tuple[Found, Found]  # what was found for one count, on the lower and on the upper side; one-way


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
        changed = largest(scores, missing, ~moved, quadratic.tie_width)
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
"""Rows kept at each point, those that matter most: as many as a person reads, and little to keep."""

CHANGES = ("lower_change", "upper_change")


def kept_rows(Y: Group, lower: Found, upper: Found) -> dict[str, Any]:
    """Return the known columns of `BoundsResult.row_table` for the rows that matter most; one-way."""
    if not len(lower.rows):
        return {}
    sides = {"lower": _effects(lower, "lower"), "upper": _effects(upper, "upper")}
    table = ranked([row_columns(Y.name, len(Y), Y.ids, Y.file_rows, sides)])
    first = {name: plain(column[:ROWS_KEPT]) for name, column in table.items() if name != "group"}
    return {name: column for name, column in first.items() if column[0] is not None or name in CHANGES}


def _effects(found: Found, side: Side) -> RowsAndEffects:
    return found.rows, None if found.labelling is None else row_effects(found.labelling, side)
