"""Every count of a one-way range at once: floors from few solved counts, p-values from arrays.

At first only the two ends are solved; the floors of all others follow (`FloorRange`). A count between is
solved itself only if its p-value may matter, which makes the floors of its neighbours tighter as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.inference import worst_case
from mmdbounds.inference.floor_pvalues import CountOutcome
from mmdbounds.inference.size_range import AtOnce, EverySize, by_size
from mmdbounds.inference.worst_case import WorstCase
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.problem import Problem
from mmdbounds.search import sharp
from mmdbounds.search.protocol import Found
from mmdbounds.search.sharp.quota_problem import Effort
from mmdbounds.search.sharp.ranges import FloorRange
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.threads import one_blas_thread

FEW = 3  # so many counts are searched one by one...
MOST_SEARCHED = 64  # ... and on the upper side, where proofs for many at once are not as tight, so many


def all_counts(problem: Problem, admissible: list[Counts], *how: Any, **more: Any) -> WorstCase:
    """Return the p-values of all counts, with floors for all of them at once where these can be proved."""
    one_by_one = EveryCount if _at_once(problem, admissible) else WorstCase
    kind = EverySize if by_size(problem, admissible) else one_by_one
    return kind(problem, admissible, *how, **more)


def _at_once(problem: Problem, admissible: list[Counts]) -> bool:
    one_way = not any(counts.n_moved_of_x for counts in admissible)
    provable = _is_dense(problem) or problem.kernel.is_conditionally_definite
    return one_way and provable and len(admissible) > FEW


def _is_dense(problem: Problem) -> bool:
    """Return whether proofs hold a matrix of the rows of Y; as in `SideSearch`."""
    return sharp.matrices_fit(problem.q, "lower", problem.working_memory)


class EveryCount(AtOnce):
    """The p-values of all counts of a range, each of them proved."""

    def __init__(self, problem: Problem, admissible: list[Counts], *how: Any, **more: Any) -> None:
        super().__init__(problem, admissible, *how, **more)
        self._meter.phase("count")
        ends = admissible[0], admissible[-1]
        self._first, self._is_dense = ends[0].n_moved, _is_dense(problem)
        moved, movable = (self._first, ends[1].n_moved), ends[1].movable
        self._range = FloorRange(
            self.totals.precise, problem.estimator, moved, is_dense=self._is_dense, movable=movable
        )
        self._scale_by_null()
        for counts in reversed(ends):  # the larger one decides on the relief
            self._solve(counts)

    def outcome(self, counts: Counts) -> CountOutcome:
        """See `WorstCase`; of a count that is not solved no labelling is kept."""
        place = counts.n_moved - self._first
        proved = float(self._range.floors[place])
        if counts not in self._known:
            return self._outcome(
                counts, Found(float(self._range.values[place]), None).proved(proved, "lower")
            )
        known = self._known[counts]
        return self.improved(known, known.found.proved(proved, "lower"))

    def closer(self, counts: Counts, *, level: float | None = None) -> bool:
        """See `WorstCase`; a count that is not solved is solved first."""
        if counts in self._known:
            return super().closer(counts, level=level)
        self._solve(counts)
        return True

    def _solve(self, counts: Counts) -> None:
        found = None
        if self._is_dense or counts.n_moved == 0:
            found = self._search(counts, "lower", 1, self._rough(counts), worst_case.CHEAP)
            moved = None if found.labelling is None else np.flatnonzero(found.labelling.moved)
            start = Labelling(Quadratic(self.totals.precise, counts, self._problem.estimator), moved)
            effort = Effort(worst_case.CHEAP, self._meter)
        else:
            start = self._range.start(counts)
            effort = sharp.effort_through_sums(self.totals.precise.sums, self._meter)
        with one_blas_thread():  # two threads would add in another order than one
            best = self._range.solve(start, self._rough(counts), effort)
        proved = float(self._range.floors[counts.n_moved - self._first])
        known = self._outcome(counts, Found.at(best).proved(proved, "lower"))
        self._known[counts] = known if found is None else self.improved(known, found)

    def _both(self) -> tuple[Float64s, Float64s]:
        floors, values = self._range.floors.copy(), self._range.values.copy()
        for counts, known in self._known.items():
            place = counts.n_moved - self._first
            floors[place] = max(floors[place], known.floor)
            values[place] = min(values[place], known.found.value)
        return floors, values
