"""Misfiling both ways: for each share of X the largest share of Y that a finding survives.

A point is found by testing one pair of shares after the other, each with everything up to it (`EverySize`),
on the same pass and the same labellings. The set of labellings grows with both shares, so halving finds the
first share of Y with which the test no longer rejects. Whichever shares are tried, a point claims no more
than its own test does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from mmdbounds.counts import SLACK, Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.floor_pvalues import FloorPvalues
from mmdbounds.inference.size_range import EverySize, is_dense
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.results.curve import FrontierPoint, FrontierResult
from mmdbounds.search.sharp.same_sizes import by_sizes
from mmdbounds.words.testing import frontier_conditions

GRID = 11  # points of the frontier, unless the user names them...
LARGEST_SHARE, LARGEST_SUM = 0.5, 0.95  # ... and the largest share of X, and of both together
TIE = 1e-12  # shares that differ by less are equal


def largest_share(epsilons: list[float] | None, y_in_x: float) -> float:
    """Return the largest share of X at which the frontier may be looked for."""
    if epsilons is None:
        return min(LARGEST_SHARE, max(LARGEST_SUM - y_in_x, 0.0))
    if max(epsilons) + y_in_x >= 1:
        msg = (
            "the largest of `epsilons` and `y_in_x` must add up to less than 1, or the labels carry no "
            f"information; got {max(epsilons):g} and {y_in_x:g}."
        )
        raise MmdBoundsError(msg)
    return max(epsilons)


def ends_of_sizes(problem: Problem, x_in_y: float, y_in_x: float) -> list[Counts]:
    """Return, for each true size that the largest shares allow, the smallest and the largest pair."""
    p, q, fewest = problem.p, problem.q, 2 if problem.estimator == "unbiased" else 1
    movable = problem.known.movable
    of_x, of_y = (p, q) if movable is None else (movable.most_of_x, movable.most_of_y)
    ends: list[Counts] = []
    for n_x in range(fewest, p + q - fewest + 1):
        n_y, difference = p + q - n_x, n_x - p
        first, last = max(difference, 0), min(of_y, of_x + difference, math.floor(x_in_y * n_x + SLACK))
        last = min(last, difference + math.floor(y_in_x * n_y + SLACK))
        if first <= last:
            ends += [Counts(m, m - difference, n_x, n_y, movable=movable) for m in sorted({first, last})]
    return ends


def frontier(
    problem: Problem,
    epsilons: list[float] | None,
    y_in_x: float,
    level: float,
    n_permutations: int,
    seed: int,
    *,
    units_note: str = "",
    progress: bool | None = None,
) -> FrontierResult:
    """Return how much of Y the finding survives at each of some shares of X; see `sweep`."""
    started = time.perf_counter()
    if not (is_dense(problem) or problem.kernel.is_conditionally_definite):
        needs = f"`y_in_x` needs a positive definite kernel with {problem.p + problem.q:,} rows"
        msg = f"{needs}; got {problem.kernel.name!r}. Use another `kernel`, or leave `y_in_x` out."
        raise MmdBoundsError(msg)
    problem.checked_counts([])
    most = largest_share(epsilons, y_in_x)
    sizes = sorted({pair.n_x for pair in ends_of_sizes(problem, most, y_in_x)})
    with Meter("pass", "permutation", "count", show=progress) as meter:
        drawn = FloorPvalues(problem, sizes, n_permutations, seed, meter, None)
        tested = TestedPairs(problem, drawn, level, n_permutations, seed, meter)
        shares = _shares(tested, most) if epsilons is None else sorted(set(epsilons))
        points: list[FrontierPoint] = []
        for place, share in enumerate(shares):
            meter.phase("count", place, len(shares))
            points.append(_point(tested, share, y_in_x, points[-1] if points else None))
    return FrontierResult(
        points=tuple(points),
        observed=drawn.observed,
        level=level,
        most_y_in_x=y_in_x,
        is_valid=True,  # without proofs there is no frontier
        n_permutations=n_permutations,
        **drawn.labelling_fields(),
        **problem.group_fields(),
        conditions=frontier_conditions(
            of_units=bool(units_note), is_exact=drawn.null.is_exact, known=problem.known.facts
        ),
        units_note=units_note,
        knowledge=problem.known.facts,
        provenance=problem.provenance(
            drawn.totals,
            method="frontier",
            options={},
            seed=seed,
            n_pairs=meter.n_pairs,
            seconds=time.perf_counter() - started,
        ),
    )


class TestedPairs:
    """The tests of pairs of shares, all on the same labellings."""

    def __init__(
        self,
        problem: Problem,
        drawn: FloorPvalues,
        level: float,
        n_permutations: int,
        seed: int,
        meter: Meter,
    ) -> None:
        self.problem, self._drawn, self._level = problem, drawn, level
        self._how = n_permutations, seed, meter

    def __call__(self, x_in_y: float, y_in_x: float) -> bool | None:
        """Return whether the test rejects with all pairs of counts whose shares are no larger.

        `None` if that cannot be proved, but no labellings are known with which it does not.
        """
        pairs = ends_of_sizes(self.problem, x_in_y, y_in_x)
        return EverySize(self.problem, pairs, *self._how, like=self._drawn).decision(self._level)


def _first_that_fails(tried: Sequence[float], rejects: Callable[[float], bool | None]) -> tuple[int, bool]:
    """Return the place of the first share with which a test does not reject, and whether that is tight.

    As many as there are if all reject. Tests reject up to a share.
    """
    low, high, is_tight = 0, len(tried), True
    while low < high:
        middle = (low + high) // 2
        if (found := rejects(tried[middle])) is True:
            low = middle + 1
        else:
            high, is_tight = middle, found is False
    return high, is_tight


def _shares(tested: TestedPairs, most: float) -> list[float]:
    """Return shares of X from 0 to the first that explains the finding away by itself, or to `most`."""
    one_way = [float(pair.epsilon) for pair in ends_of_sizes(tested.problem, most, 0.0)]
    first, _ = _first_that_fails(one_way, lambda share: tested(share, 0.0))
    last = one_way[first] if first < len(one_way) else most
    return list(dict.fromkeys(np.linspace(0.0, last, GRID).tolist()))


def _point(
    tested: TestedPairs, x_in_y: float, most_y_in_x: float, before: FrontierPoint | None
) -> FrontierPoint:
    """Return how much of Y the finding survives when up to a share of X is misfiled."""
    tried = _shares_of_y(tested.problem, x_in_y, most_y_in_x)
    if before is not None and before.breakdown_y_in_x is not None:  # with fewer rows of X
        tried = [share for share in tried if share <= before.breakdown_y_in_x + TIE]
    place, is_tight = _first_that_fails(tried, lambda share: tested(x_in_y, share))
    first = tried[place] if place < len(tried) else None
    below = most_y_in_x if first is None else tried[place - 1] if place else None
    pairs = [] if below is None else ends_of_sizes(tested.problem, x_in_y, below)
    return FrontierPoint(
        epsilon=x_in_y,
        y_in_x=below,
        n_moved=max((pair.n_moved for pair in pairs), default=0),
        n_moved_of_x=max((pair.n_moved_of_x for pair in pairs), default=0),
        breakdown_y_in_x=first,
        is_tight=is_tight,
    )


def _shares_of_y(problem: Problem, x_in_y: float, most_y_in_x: float) -> list[float]:
    """Return the shares of Y that pairs of counts have, ascending: with these the set of pairs grows."""
    sizes = by_sizes(ends_of_sizes(problem, x_in_y, most_y_in_x))
    every = [(size.moved - size.difference) / size.most.n_y for size in sizes]
    shares = np.unique(np.concatenate(every))
    return [float(share) for share in shares[np.diff(shares, prepend=-1.0) > TIE]]
