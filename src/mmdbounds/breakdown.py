"""How much misfiling it takes to explain a difference away: the curve over epsilon, and where it breaks."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from mmdbounds.checks import (
    MOST_PERMUTATIONS,
    check_count,
    check_no_weights,
    check_progress,
    check_seed,
    check_share,
    is_number,
)
from mmdbounds.contamination import Contamination, Counts, check_sizes
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.curve import SweepPoint, SweepResult
from mmdbounds.inference.kept_rows import kept_rows
from mmdbounds.inference.neighbours import Ends, along
from mmdbounds.inference.robust import provenance
from mmdbounds.inference.sentences import sweep_conditions
from mmdbounds.inference.units import Units, by_units
from mmdbounds.inference.worst_case import CountOutcome, WorstCase, expected_pairs
from mmdbounds.problem import Bandwidth, DType, KernelLike, Problem, pose
from mmdbounds.progress import Meter
from mmdbounds.results import Estimator
from mmdbounds.search.protocol import Found
from mmdbounds.search.sharp import sharp_sides

GRID = 21
"""Points of the curve, unless the user names them."""

LARGEST_SHARE = 0.5
"""Share up to which the curve goes, unless the user names its points."""

CURVE_GAP, CURVE_PATIENCE, CURVE_STARTS = 0.01, 0.1, 8
"""Proofs of the curve's bounds stop within this share of the width, which a plot hardly shows, or after a
tenth of what a single proof may spend."""


def sweep(
    X: Any,
    Y: Any,
    *,
    epsilons: Any = None,
    level: float = 0.05,
    value: float = 0.0,
    n_permutations: int = 999,
    unit: tuple[Units, Units] | None = None,
    sample_weight: None = None,
    kernel: KernelLike = "rbf",
    bandwidth: Bandwidth = "median",
    estimator: Estimator = "unbiased",
    backend: str = "auto",
    dtype: DType = "float64",
    working_memory: float = 1024,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
) -> SweepResult:
    """Bounds and p-values over shares of misfiled rows, and the share at which the finding breaks down.

    Parameters
    ----------
    X, Y, kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `mmd_bounds`.
    epsilons : sequence of float, optional
        The shares of the curve; by default evenly from 0 to 0.5, at whole rows. One-way: for rows misfiled
        both ways there is `robust_test`.
    level : float, default=0.05
        Level of the test.
    value : float, default=0
        A second breakdown is where the lower bound of the squared MMD reaches this value.
    n_permutations, unit, sample_weight, rng
        As in `robust_test`.

    Returns
    -------
    SweepResult
        The curve, and `breakdown_epsilon`: the smallest share at which the test no longer rejects.

    Notes
    -----
    Every count of misfiled rows from 0 up to the breakdown is tested, as in `robust_test`. That needs no
    correction: if there is no difference, the statement errs only if the test at the true count errs, which
    happens with a probability of at most `level`. The points of the curve take *exactly* so many rows
    as misfiled; the breakdown is about *up to* so many.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(40, 2))
    >>> mb.sweep(X, Y, rng=0).breakdown_n_moved
    7
    """
    started = time.perf_counter()
    n_permutations = check_count(n_permutations, "n_permutations", least=1, most=MOST_PERMUTATIONS)
    level, value, seed = _checked_level(level), _checked_value(value), check_seed(rng)
    check_progress(progress)
    check_no_weights(sample_weight)
    shares = _checked_shares(epsilons)
    X, Y, units_note = by_units(X, Y, unit, kernel, seed)
    problem = pose(
        X,
        Y,
        kernel=kernel,
        bandwidth=bandwidth,
        estimator=estimator,
        backend=backend,
        dtype=dtype,
        working_memory=working_memory,
    )
    grid = _grid(problem, shares)
    with Meter(expected_pairs(problem, grid, n_permutations), show=progress) as meter:
        scan = Scan(problem, grid, n_permutations, seed, meter)
        where = {**_breakdown(scan, level), **_breakdown_of_value(scan, value)}
        points = scan.points(grid)
    return SweepResult(
        **where,
        points=points,
        observed=scan.worst.observed,
        is_valid=all(outcome.is_proved for outcome in scan.seen.values()),
        most_moved=grid[-1].n_moved,
        n_permutations=n_permutations,
        n_samples_X=problem.p,
        n_samples_Y=problem.q,
        name_x=problem.X.name,
        name_y=problem.Y.name,
        conditions=sweep_conditions(of_units=bool(units_note)),
        units_note=units_note,
        provenance=provenance("sweep", problem, scan.worst, meter, seed, time.perf_counter() - started),
    )


class Scan:
    """Counts from 0 upwards, each looked at as closely as needed.

    Parameters
    ----------
    problem
        The groups and how they are compared.
    grid
        The counts of the curve, ascending; the scan goes up to the last of them.
    n_permutations, seed, meter
        As in `WorstCase`.

    Attributes
    ----------
    worst
        The p-values.
    seen
        What is known of the counts looked at so far, by the number of misfiled rows.
    is_complete
        Whether every count is among those scanned.
    """

    def __init__(
        self, problem: Problem, grid: list[Counts], n_permutations: int, seed: int, meter: Meter
    ) -> None:
        most = Contamination(n_moved=grid[-1].n_moved)
        every = most.admissible(problem.p, problem.q, at_most=True)
        self.problem = problem
        self.worst = WorstCase(problem, every, n_permutations, seed, meter, also=grid)
        self.seen: dict[int, CountOutcome] = {}
        self.is_complete = len(self.worst.considered) == len(every)

    def outcome(self, counts: Counts) -> CountOutcome:
        """Return what is known of a count; a cheap proof if it was not looked at yet."""
        if counts.n_moved not in self.seen:
            self.seen[counts.n_moved] = self.worst.outcome(counts)
        return self.seen[counts.n_moved]

    def tightened(self, counts: Counts) -> CountOutcome:
        """Return what is known of a count once more is spent on it."""
        self.seen[counts.n_moved] = self.worst.tightened(self.outcome(counts))
        return self.seen[counts.n_moved]

    def first_above(self, level: float) -> CountOutcome | None:
        """Return the first count whose p-value exceeds the level."""
        for counts in self.worst.considered:
            found = self.outcome(counts)
            if found.attained <= level < found.pvalue:
                found = self.tightened(counts)
            if found.pvalue > level:
                return found
        return None

    def first_below(self, value: float) -> CountOutcome | None:
        """Return the first count whose lower bound is no larger than `value`."""
        for counts in self.worst.considered:
            found = self.outcome(counts)
            if found.floor <= value < found.found.value:
                found = self.tightened(counts)
            if found.floor <= value:
                return found
        return None

    def points(self, grid: list[Counts]) -> tuple[SweepPoint, ...]:
        """Return the curve."""
        ends = along([self._ends(counts) for counts in grid])
        return tuple(self._point(counts, *both) for counts, both in zip(grid, ends, strict=True))

    def _ends(self, counts: Counts) -> Ends:
        """Return the smallest and the largest squared MMD found for one count, and what is proved."""
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


def _checked_value(value: Any) -> float:
    if not is_number(value) or not math.isfinite(value):
        msg = f"`value` must be a number; got {value!r}."
        raise MmdBoundsError(msg)
    return float(value)


def _checked_shares(epsilons: Any) -> list[float] | None:
    """Return the shares of the curve, `None` where none are named."""
    if epsilons is None:
        return None
    given = epsilons if isinstance(epsilons, list | tuple) else [epsilons]
    if any(isinstance(share, Contamination) for share in given):
        msg = "`epsilons` must be shares of one-way misfiling; got a Contamination. Use `robust_test` for it."
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
