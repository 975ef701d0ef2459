"""How much misfiling it takes to explain a difference away: the curve over epsilon, and where it breaks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from mmdbounds.checks import (
    check_flag,
    check_labellings,
    check_level,
    check_number,
    check_progress,
    check_seed,
    check_share,
    is_list,
)
from mmdbounds.contamination import Contamination
from mmdbounds.counts import Counts, check_sizes
from mmdbounds.errors import MmdBoundsError, shown_value
from mmdbounds.inference.count_range import all_counts
from mmdbounds.inference.curve import Curve
from mmdbounds.inference.floor_pvalues import CountOutcome
from mmdbounds.inference.frontier import GRID, ends_of_sizes, frontier, largest_share
from mmdbounds.inference.units import Units, known_units
from mmdbounds.inference.worst_case import is_open
from mmdbounds.problem import ComparisonOptions, Problem, compares, comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.results.curve import FrontierResult, SweepResult
from mmdbounds.results.provenance import Provenance
from mmdbounds.words.testing import sweep_conditions

STEPS = (0.025, 0.01, 0.005, 0.0025, 0.001)  # between points of the curve, unless the user names them: the
POINTS = 10  # first with at least so many
FEW = 20  # misfiled rows up to which every count is a point
LARGEST_SHARE = 0.5  # share up to which the curve goes first, unless the user names its points


@compares()
def sweep(
    X: Any,
    Y: Any,
    *,
    epsilons: Any = None,
    y_in_x: float = 0.0,
    exactly: bool | None = None,
    level: float = 0.05,
    value: float = 0.0,
    n_permutations: int = 999,
    which: Contamination | None = None,
    verified: tuple[Any, Any] | None = None,
    unit: tuple[Units, Units] | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> SweepResult | FrontierResult:
    """Bounds and p-values over shares of misfiled rows, and the share at which the finding breaks down.

    Parameters
    ----------
    X, Y, verified, kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `mmd_bounds`.
    epsilons : sequence of float, optional
        The shares of the curve; by default in round steps from 0 to 0.5, rounded down to whole rows. If the
        finding survives all of these, the curve goes on until it breaks down, or no more rows can move.
    y_in_x : float, default=0
        Two-way: the largest share of the true Y that may be filed under X. The result is then the frontier:
        for each of `epsilons` (by default from 0 to the first that explains the finding away by itself) the
        largest share of the true Y that the finding survives beside it.
    exactly : bool, optional
        Whether each point of the curve assumes exactly its number of misfiled rows. By default at most that
        many: the curve is monotone, and the value as filed lies inside. The breakdown is the same for both.
    level : float, default=0.05
        Level of the test.
    value : float, default=0
        A second breakdown is where the lower bound of the squared MMD reaches this value.
    which : Contamination, optional
        Which rows can be misfiled: ``Contamination(may_move=..., limits=...)`` without an amount, because the
        curve tries all of them. It ends where no more rows can be misfiled.
    n_permutations, unit, rng
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
    happens with a probability of at most `level`.

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
    n_permutations = check_labellings(n_permutations)
    level, seed = check_level(level), check_seed(rng)
    value = check_number(value, "value", "a number", math.isfinite)
    y_in_x = check_share(y_in_x, "y_in_x")
    if y_in_x:
        _refuse_for_frontier(y_in_x, value=value, exactly=exactly)
    check_progress(progress)
    shares, exactly = _checked_shares(epsilons), _checked_exactly(exactly, which)
    how = comparison("sweep", options)
    rows = _checked_which(which, y_in_x)
    X, Y, known, units_note = known_units(X, Y, rows, verified, unit, how.kernel, seed)
    problem = pose(X, Y, how, known)
    if y_in_x:
        more: dict[str, Any] = {"units_note": units_note, "progress": progress}
        return frontier(problem, shares, y_in_x, level, n_permutations, seed, **more)
    grid = _grid(problem, shares)
    with Meter("pass", "permutation", "count", "bounds, share", show=progress) as meter:
        scan = Scan(problem, grid, n_permutations, seed, meter)
        where, largest = _breakdown(scan, level), LARGEST_SHARE
        while shares is None and where["breakdown_n_moved"] is None:
            largest = (1 + largest) / 2
            if (longer := _grid(problem, None, largest))[-1] == grid[-1]:  # nothing is left to move
                break
            grid = longer
            scan = Scan(problem, grid, n_permutations, seed, meter)
            where = _breakdown(scan, level)
        where |= _breakdown_of_value(scan, value)
        points = Curve(scan.worst, scan.outcome, grid, meter, exactly=exactly).points(problem)
    return SweepResult(
        **where,
        points=points,
        exactly=exactly,
        observed=scan.worst.observed,
        is_valid=scan.is_proved,
        most_moved=grid[-1].n_moved,
        n_permutations=n_permutations,
        **scan.worst.labelling_fields(),
        **problem.group_fields(),
        conditions=sweep_conditions(
            of_units=bool(units_note), is_exact=scan.worst.null.is_exact, known=known.facts
        ),
        units_note=units_note,
        **known.fields(None, grid[-1].n_moved),
        provenance=problem.provenance(
            scan.worst.totals,
            method="sweep",
            options={},
            seed=seed,
            n_pairs=meter.n_pairs,
            seconds=time.perf_counter() - started,
            misfiling=None if which is None else which.stated(),
        ),
    )


class Breakdown(NamedTuple):
    """Where a finding breaks down; the fields are those of `SweepResult`."""

    level: float
    breakdown_n_moved: int | None
    holds_n_moved: int | None
    observed: float
    is_valid: bool
    most_moved: int
    is_exact: bool
    n_labellings: int
    provenance: Provenance


def find_breakdown(
    X: Any,
    Y: Any,
    most: int,
    *,
    level: float,
    n_permutations: int,
    rng: int,
    progress: bool | None,
    **options: Unpack[ComparisonOptions],
) -> Breakdown:
    """Return where the finding breaks down with up to `most` misfiled rows, as `sweep` does, but no curve."""
    how = comparison("find_breakdown", options)
    X, Y, known, _ = known_units(X, Y, _checked_which(None), None, None, how.kernel, rng)
    problem = pose(X, Y, how, known)
    grid = _up_to(problem, most)
    with Meter("pass", "permutation", "count", show=progress) as meter:
        scan = Scan(problem, grid, n_permutations, rng, meter)
        where = _breakdown(scan, level)
    return Breakdown(
        level,
        where["breakdown_n_moved"],
        where["holds_n_moved"],
        observed=scan.worst.observed,
        is_valid=scan.is_proved,
        most_moved=grid[-1].n_moved,
        is_exact=scan.worst.null.is_exact,
        n_labellings=scan.worst.null.n_labellings,
        provenance=problem.provenance(
            scan.worst.totals, method="sweep", options={}, seed=rng, n_pairs=meter.n_pairs, seconds=0.0
        ),
    )


def _up_to(problem: Problem, most: int) -> list[Counts]:
    return _grid(problem, [most / (problem.p + most)])


def count_points(problem: Problem, shares: list[float] | None, y_in_x: float = 0.0) -> int:
    """Return how many points a sweep has, for an estimate of its time; refuse shares that it would refuse."""
    if not y_in_x:
        return len(_grid(problem, shares))
    ends_of_sizes(problem, largest_share(shares, y_in_x), y_in_x)
    return GRID if shares is None else len(shares)


class Scan:
    """Counts from 0 upwards, each looked at as closely as needed, up to the last one of the curve."""

    def __init__(
        self,
        problem: Problem,
        grid: list[Counts],
        n_permutations: int,
        seed: int,
        meter: Meter,
        **how: Any,
    ) -> None:
        every = problem.counts(Contamination(n_moved=grid[-1].n_moved))
        self.problem, self._meter = problem, meter
        self.worst = all_counts(problem, every, n_permutations, seed, meter, grid, **how)
        self.is_proved = True  # of every count looked at
        self.is_complete = len(self.worst.considered) == len(every)

    def outcome(self, counts: Counts) -> CountOutcome:
        """Return what is known of a count."""
        found = self.worst.outcome(counts)
        self.is_proved &= found.is_proved
        return found

    def first_above(self, level: float) -> CountOutcome | None:
        """Return the first count whose p-value exceeds the level."""
        return self._first(lambda found: is_open([found], level), lambda f: f.pvalue > level, level)

    def first_below(self, value: float) -> CountOutcome | None:
        """Return the first count whose lower bound is no larger than `value`."""
        return self._first(lambda found: found.floor <= value < found.found.value, lambda f: f.floor <= value)

    def _first(
        self,
        is_unclear: Callable[[CountOutcome], bool],
        is_it: Callable[[CountOutcome], bool],
        level: float | None = None,
    ) -> CountOutcome | None:
        """Return the first count that is it; look closer where its proof leaves that open."""
        for i, counts in enumerate(self.worst.considered):
            self._meter.phase("count", i, len(self.worst.considered))
            found = self.outcome(counts)
            while is_unclear(found) and self.worst.closer(counts, level=level):
                found = self.outcome(counts)
            if is_it(found):
                return found
        return None


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


def _refuse_for_frontier(y_in_x: float, **given: float | None) -> None:
    """Refuse what the frontier does not know."""
    for name, value in given.items():
        if value:
            what = f"`{name}` is for the one-way curve; got {value} with a `y_in_x` of {y_in_x:g}"
            msg = f"{what}. Leave one out."
            raise MmdBoundsError(msg)


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
    if not is_list(epsilons):
        msg = f"`epsilons` must be a list of shares; got {shown_value(epsilons)}."
        raise MmdBoundsError(msg)
    shares = [check_share(share, "epsilons") for share in epsilons]
    if not shares:
        msg = "`epsilons` must name at least one share; got none."
        raise MmdBoundsError(msg)
    return shares


def _checked_exactly(exactly: Any, which: Any) -> bool:
    """Return whether each point assumes exactly its number; either of the two may say so."""
    of_rows = which.exactly if isinstance(which, Contamination) else None
    if exactly is None:
        return bool(of_rows)
    if of_rows is not None and of_rows != check_flag(exactly, "exactly"):
        msg = f"`exactly` must not contradict `which`; got {exactly} and {of_rows}. Leave one of them out."
        raise MmdBoundsError(msg)
    return check_flag(exactly, "exactly")


def _checked_which(which: Any, y_in_x: float = 0.0) -> Contamination:
    """Return which rows can be misfiled; how many is what the curve tries."""
    if which is None:
        return Contamination(0.0, y_in_x=y_in_x)
    if not isinstance(which, Contamination) or which.says_how_many:
        wanted = "a Contamination that says which rows can be misfiled, and not how many"
        came = "one with an amount" if isinstance(which, Contamination) else type(which).__name__
        msg = f"`which` must be {wanted}; got {came}. The amounts are `epsilons`."
        raise MmdBoundsError(msg)
    return replace(which, x_in_y=0.0, y_in_x=y_in_x) if y_in_x else which


def usual_counts(p: int, q: int, *, unbiased: bool, largest: float | None = None) -> list[int]:
    """Return the counts of a curve whose shares nobody named: round shares up to a half, or every count."""
    share = LARGEST_SHARE if largest is None else largest
    most = min(Contamination(share).n_moved_for(p), q - (2 if unbiased else 1))
    if most <= FEW:
        return list(range(most + 1))
    shares = round_shares(most / (p + most))
    return sorted({*(Contamination(share).n_moved_for(p) for share in shares), most})


def round_shares(largest: float) -> list[float]:
    """Return round shares from 0 up to the largest: in steps of 2.5 %, or finer if there would be few."""
    step = next((step for step in STEPS if largest / step >= POINTS), STEPS[-1])
    return [round(i * step, 4) for i in range(int(largest / step + 1e-9) + 1)]


def _grid(problem: Problem, shares: list[float] | None, largest: float | None = None) -> list[Counts]:
    """Return the counts of the curve, ascending, without repetition."""
    p, q = problem.p, problem.q
    unbiased = problem.estimator == "unbiased"
    check_sizes(Counts(0, 0, p, q), p, q, unbiased=unbiased)
    if shares is None:
        moved = usual_counts(p, q, unbiased=unbiased, largest=largest)
    else:
        moved = sorted({Contamination(share).n_moved_for(p) for share in shares})
    if problem.known.movable is not None:  # no more than can be misfiled at all
        moved = sorted({min(m, problem.known.movable.most_of_y) for m in moved})
    grid = [problem.counts(Contamination(n_moved=m, exactly=True))[0] for m in moved]
    check_sizes(grid[-1], p, q, unbiased=unbiased)
    return grid
