"""How much misfiling it takes to explain a difference away: the curve over epsilon, and where it breaks."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from mmdbounds.checks import check_count, check_progress, check_seed, check_share, is_number
from mmdbounds.contamination import Contamination, Counts, check_sizes
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.curve import SweepPoint, SweepResult
from mmdbounds.inference.robust import provenance
from mmdbounds.inference.worst_case import CountOutcome, WorstCase
from mmdbounds.problem import Bandwidth, DType, KernelLike, Problem, pose
from mmdbounds.progress import Meter
from mmdbounds.results import Estimator
from mmdbounds.search.found import Found, Task
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
        The shares of the curve; by default evenly from 0 to 0.5, at whole rows.
    level : float, default=0.05
        Level of the test.
    value : float, default=0
        A second breakdown is where the lower bound of the squared MMD reaches this value.
    n_permutations, rng
        As in `robust_test`.

    Returns
    -------
    SweepResult
        The curve, and `breakdown_epsilon`: the smallest share at which the test no longer rejects. All
        smaller counts of misfiled rows were tested, one by one, so no correction is needed.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(40, 2))
    >>> mb.sweep(X, Y, rng=0).breakdown_n_moved
    7
    """
    started = time.perf_counter()
    n_permutations = check_count(n_permutations, "n_permutations", least=1)
    level, seed = _checked_level(level), check_seed(rng)
    check_progress(progress)
    if not is_number(value) or not math.isfinite(value):
        msg = f"`value` must be a number; got {value!r}."
        raise MmdBoundsError(msg)
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
    grid = _grid(problem, epsilons)
    with Meter(2 * problem.n_pairs, show=progress) as meter:
        scan = _Scan(problem, grid[-1].n_moved, n_permutations, seed, meter)
        first, confirmed = scan.first_above(level)
        first_value = scan.first_below(float(value))
        points = tuple(scan.point(counts) for counts in grid)
    return SweepResult(
        points=points,
        observed=scan.worst.observed,
        level=level,
        value=float(value),
        breakdown_n_moved=None if first is None else first.counts.n_moved,
        is_confirmed=confirmed,
        is_valid=all(outcome.is_proved for outcome in scan.seen.values()),
        breakdown_of_value=None if first_value is None else first_value.counts.n_moved,
        most_moved=grid[-1].n_moved,
        n_permutations=n_permutations,
        n_samples_X=problem.p,
        n_samples_Y=problem.q,
        name_x=problem.X.name,
        name_y=problem.Y.name,
        provenance=provenance("sweep", problem, scan.worst, meter, seed, time.perf_counter() - started),
    )


class _Scan:
    """Counts from 0 upwards, each looked at as closely as needed."""

    def __init__(
        self, problem: Problem, most_moved: int, n_permutations: int, seed: int, meter: Meter
    ) -> None:
        p, q = problem.p, problem.q
        every = Contamination(n_moved=most_moved).admissible(p, q, at_most=True)
        self.worst = WorstCase(problem, every, n_permutations, seed, meter)
        self.seen: dict[int, CountOutcome] = {}
        self._task = Task(self.worst.totals, [], problem.estimator, seed, meter)
        self._confirmed = len(self.worst.considered) == len(every)

    def outcome(self, counts: Counts) -> CountOutcome:
        """Return what is known of a count; a cheap proof if it was not looked at yet."""
        if counts.n_moved not in self.seen:
            self.seen[counts.n_moved] = self.worst.outcome(counts)
        return self.seen[counts.n_moved]

    def first_above(self, level: float) -> tuple[CountOutcome | None, bool]:
        """Return the first count whose p-value exceeds the level, and whether all below it were tested."""
        for counts in self.worst.considered:
            found = self.outcome(counts)
            if found.attained <= level < found.pvalue:
                found = self.seen[counts.n_moved] = self.worst.outcome(counts, tight=True)
            if found.pvalue > level:
                return found, self._confirmed
        return None, self._confirmed

    def first_below(self, value: float) -> CountOutcome | None:
        """Return the first count whose lower bound is no larger than `value`."""
        for counts in self.worst.considered:
            found = self.outcome(counts)
            if _floor(found.found) <= value < found.found.value:
                found = self.seen[counts.n_moved] = self.worst.outcome(counts, tight=True)
            if _floor(found.found) <= value:
                return found
        return None

    def point(self, counts: Counts) -> SweepPoint:
        """Return the bounds and the p-value at one point of the curve."""
        task = Task(self._task.totals, [counts], self._task.estimator, self._task.seed, self._task.meter)
        lower, upper = sharp_sides(task, CURVE_STARTS, CURVE_GAP, CURVE_PATIENCE)
        found = self.outcome(counts)
        return SweepPoint(
            epsilon=float(counts.epsilon),
            n_moved=counts.n_moved,
            lower=lower.value,
            upper=upper.value,
            lower_certified=lower.certified,
            upper_certified=upper.certified,
            pvalue=found.pvalue,
        )


def _floor(found: Found) -> float:
    return found.value if found.certified is None else found.certified


def _checked_level(level: Any) -> float:
    share = check_share(level, "level")
    if share == 0:
        msg = "`level` must be larger than 0, or nothing is ever rejected; got 0."
        raise MmdBoundsError(msg)
    return share


def _grid(problem: Problem, epsilons: Any) -> list[Counts]:
    """Return the counts of the curve, ascending, without repetition."""
    p, q = problem.p, problem.q
    unbiased = problem.estimator == "unbiased"
    if epsilons is None:
        most = min(Contamination(LARGEST_SHARE).n_moved_for(p), q - (2 if unbiased else 1))
        moved = np.unique(np.linspace(0, most, GRID).round().astype(int)).tolist()
    else:
        moved = sorted({Contamination(check_share(e, "epsilons")).n_moved_for(p) for e in epsilons})
    if not moved:
        msg = "`epsilons` must name at least one share; got none."
        raise MmdBoundsError(msg)
    grid = [Contamination(n_moved=m).counts(p, q) for m in moved]
    for counts in (Counts(0, 0, p, q), *grid):
        check_sizes(counts, p, q, unbiased=unbiased)
    return grid
