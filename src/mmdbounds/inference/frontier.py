"""Misfiling both ways: for each share of X the largest share of Y that a finding survives.

On the pairs of counts of one size the set of labellings grows with the number of rows that move. So there is
a largest number up to which the test rejects, and the frontier follows from these numbers, one for each size.
They are found by Newton's steps, since floors are convex in the number, and only at the sizes that decide
about a point of the frontier; between them floors are mixed (`FloorsBySize`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mmdbounds.costs import repeated, together
from mmdbounds.counts import SLACK, Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference import worst_case
from mmdbounds.inference.size_range import EverySize, is_dense
from mmdbounds.inference.worst_case import expected_floor, expected_null
from mmdbounds.objective import Labelling
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter, Phase
from mmdbounds.results.curve import FrontierPoint, FrontierResult
from mmdbounds.search import sharp
from mmdbounds.search.protocol import Found, leading
from mmdbounds.search.sharp.same_sizes import most_moves
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.threads import one_blas_thread
from mmdbounds.words.testing import frontier_conditions

GRID = 11  # points of the frontier, unless the user names them...
LARGEST_SHARE, LARGEST_SUM = 0.5, 0.95  # ... and the largest share of X, and of both together
MOST_STEPS = 30  # Newton's steps at one size; half a dozen are usual
SOLVED = 4  # sizes solved for a point of the frontier, about
MORE = 0.02  # a breakdown is tight if so many more rows really explain the finding away
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
    problem.checked_counts([])
    most = largest_share(epsilons, y_in_x)
    ends = ends_of_sizes(problem, most, y_in_x)
    plan = partial(expected_frontier, problem, epsilons, y_in_x, n_permutations)
    with Meter(plan, show=progress) as meter:
        found = Frontier(problem, ends, level, n_permutations, seed, meter)
        shares = found.shares(most) if epsilons is None else sorted(set(epsilons))
        points = tuple(found.point(share, y_in_x) for share in shares)
    return FrontierResult(
        points=points,
        observed=found.observed,
        level=level,
        most_y_in_x=y_in_x,
        is_valid=True,  # without proofs there is no `Frontier`
        n_solved=found.n_solved,
        n_permutations=n_permutations,
        **found.labelling_fields(),
        **problem.group_fields(),
        conditions=frontier_conditions(
            of_units=bool(units_note), is_exact=found.null.is_exact, known=problem.known.facts
        ),
        units_note=units_note,
        knowledge=problem.known.facts,
        provenance=problem.provenance(
            found.totals,
            method="frontier",
            options={},
            seed=seed,
            n_pairs=meter.n_pairs,
            seconds=time.perf_counter() - started,
        ),
    )


def expected_frontier(
    problem: Problem, epsilons: list[float] | None, y_in_x: float, n_permutations: int
) -> list[Phase]:
    """Return the phases of a two-way `sweep`, with what each is expected to take (see `mmdbounds.costs`)."""
    ends = ends_of_sizes(problem, largest_share(epsilons, y_in_x), y_in_x)
    floor = expected_floor(problem, max(ends, key=most_moves))
    points = together("count", [repeated(floor, SOLVED * (GRID if epsilons is None else len(epsilons)))])
    return [*expected_null(problem, ends, n_permutations), points]


class Frontier(EverySize):
    """The largest number of rows of each size up to which the test rejects."""

    def __init__(
        self, problem: Problem, ends: Sequence[Counts], level: float, *how: Any, **more: Any
    ) -> None:
        if not (is_dense(problem) or problem.kernel.is_conditionally_definite):
            needs = f"`y_in_x` needs a positive definite kernel with {problem.p + problem.q:,} rows"
            msg = f"{needs}; got {problem.kernel.name!r}. Use another `kernel`, or leave `y_in_x` out."
            raise MmdBoundsError(msg)
        self._level, self._nodes, self._tried = level, dict[int, float](), set[Counts]()
        super().__init__(problem, list(ends), *how, **more)

    def _begin(self) -> None:
        self._critical = np.array([self._exceeded(place) for place in range(len(self._sizes))])
        self._differences = np.array([size.difference for size in self._sizes])
        self._n_x = np.array([size.most.n_x for size in self._sizes])
        self._most = np.array([size.most.n_moved for size in self._sizes])
        as_filed = int(np.flatnonzero(self._differences == 0)[0])
        for place in dict.fromkeys((as_filed, 0, len(self._sizes) - 1)):
            self._settle(place)

    def _exceeded(self, place: int) -> float:
        """Return what a floor of one size must exceed for a p-value of at most the level."""
        column = self._places[place]
        return self.null.critical(self._level, column, self.null.column(column))

    @property
    def n_solved(self) -> int:
        """How many pairs were solved."""
        return len(self._tried)

    def _held(self, place: int) -> int:
        """Return the largest number of rows of Y up to which the test rejects; one less than any if none."""
        rejected = self._rejects(np.minimum.accumulate(self._floors.floors[place]), place)
        return self._sizes[place].fewest + int(np.count_nonzero(rejected)) - 1

    def _rejects(self, values: Any, place: int) -> Any:
        return values - self._tolerances[place] > self._critical[place]

    def _settle(self, place: int) -> None:
        """Find the largest number at one size: solve the pair next to it until that one does not reject."""
        size = self._sizes[place]
        for _ in range(MOST_STEPS):
            n_moved = min(max(self._held(place) + 1, size.fewest), size.most.n_moved)
            pair = size.pair(n_moved)
            if self._held(place) == size.most.n_moved or pair in self._tried:
                if not self._searched_closer(place, pair):
                    break
                continue
            self._tried.add(pair)
            with one_blas_thread():  # two threads would add in another order than one
                point = self._floors.solve_pair(self._floors.start(pair), self._rough(pair), self._effort())
                sharp.refine_enough(point.labelling, "lower")
            self._nodes[place] = self._nearby(place, point.labelling)

    def _is_explained(self, place: int) -> bool:
        """Return whether a labelling found next to the largest number explains the finding away."""
        return place in self._nodes and not self._rejects(self._nodes[place], place)

    def _nearby(self, place: int, labelling: Labelling) -> float:
        """Return the value of a labelling, or of one that moves a few more rows of both groups."""
        size, counts = self._sizes[place], labelling.quadratic.counts
        more = int(MORE * (counts.n_moved + counts.n_moved_of_x))
        pair = size.pair(min(counts.n_moved + more, size.most.n_moved))
        value = labelling.value()
        if pair == counts or not self._rejects(value, place):
            return value
        filed = Labelling(f := self._floors.quadratic(pair))
        moved = np.flatnonzero(labelling.moved) + labelling.active.start - filed.active.start
        wider = Labelling(f, moved)
        scores = -wider.sign * wider.gradient()
        scores[moved] = scores.max() + np.ptp(scores)  # all of them, and the best of the others
        wider = Labelling(f, leading(filed, scores))
        with one_blas_thread():
            sharp.refine_enough(wider, "lower")
        return min(value, wider.value())

    def _searched_closer(self, place: int, pair: Counts) -> bool:
        """Search a pair by itself if no labelling found explains the finding away; return if that helped."""
        size, held = self._sizes[place], self._held(place)
        if held == size.most.n_moved or self._is_explained(place) or pair in self._searched:
            return False
        if len(self._searched) >= self._left:
            return False
        self._searched.add(pair)
        found: Found = self._search(pair, "lower", worst_case.LOWER_STARTS, 0.0, 1.0)
        floors, at = self._floors.floors[place], pair.n_moved - size.fewest
        floors[at] = max(floors[at], -np.inf if found.certified is None else found.certified)
        self._nodes[place] = found.value
        return self._held(place) > held

    def shares(self, most: float) -> list[float]:
        """Return shares of X from 0 to the first that explains the finding away by itself, or to `most`."""
        one_way = np.flatnonzero(self._differences >= 0)
        while True:
            broken = [place for place in one_way.tolist() if self._held(place) < self._differences[place]]
            if not broken or broken[0] in self._nodes:
                break
            self._settle(broken[0])
        if broken:
            most = float(self._differences[broken[0]] / self._n_x[broken[0]])
        return list(dict.fromkeys(np.linspace(0.0, most, GRID).tolist()))

    def point(self, x_in_y: float, most_y_in_x: float) -> FrontierPoint:
        """Return how much of Y the finding survives when up to a share of X is misfiled."""
        while True:
            held = np.array([self._held(place) for place in range(len(self._sizes))])
            most = np.minimum(self._most, np.floor(x_in_y * self._n_x + SLACK))
            fails = np.flatnonzero(held < most)
            if not len(fails):
                return self._named(x_in_y, most_y_in_x, None, is_tight=True)
            n_y = self._problem.p + self._problem.q - self._n_x
            shares = (held[fails] + 1 - self._differences[fails]) / n_y[fails]
            place = int(fails[np.argmin(shares)])
            if place in self._nodes:
                return self._named(
                    x_in_y, most_y_in_x, float(shares.min()), is_tight=self._is_explained(place)
                )
            self._settle(place)

    def _named(
        self, x_in_y: float, most_y_in_x: float, first: float | None, *, is_tight: bool
    ) -> FrontierPoint:
        """Return a point from the first share of Y that is too large."""
        below = most_y_in_x if first is None else self._largest_below(x_in_y, first)
        n_moved, of_x = 0, 0
        if below is not None:
            pairs = ends_of_sizes(self._problem, x_in_y, below)
            n_moved, of_x = (
                max(getattr(pair, name) for pair in pairs) for name in ("n_moved", "n_moved_of_x")
            )
        return FrontierPoint(
            epsilon=x_in_y,
            y_in_x=below,
            n_moved=n_moved,
            n_moved_of_x=of_x,
            breakdown_y_in_x=first,
            is_tight=is_tight,
        )

    def _largest_below(self, x_in_y: float, first: float) -> float | None:
        """Return the largest share of Y that a pair has and that is smaller than `first`."""
        if first <= 0:
            return None
        n_y = self._problem.p + self._problem.q - self._n_x
        most = np.minimum(self._most, np.floor(x_in_y * self._n_x + SLACK)) - self._differences
        moved: Float64s = np.minimum(most, np.ceil((first - TIE) * n_y) - 1)
        possible = moved >= np.maximum(-self._differences, 0)
        return float((moved / n_y)[possible].max(initial=0.0))
