"""Every pair of counts of two-way misfiling at once: one floor, and one null, for each true size of X.

The null depends on the true sizes alone, and these on m - m_D alone. So all pairs with the same difference
are tested together: at a floor of the statistic over all of their labellings (`FloorsBySize`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.inference import worst_case
from mmdbounds.inference.floor_pvalues import CountOutcome
from mmdbounds.inference.worst_case import WorstCase
from mmdbounds.problem import Problem
from mmdbounds.search import sharp
from mmdbounds.search.protocol import Found
from mmdbounds.search.sharp.quota_problem import Effort
from mmdbounds.search.sharp.same_sizes import FloorsBySize, by_sizes
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.threads import one_blas_thread

FEW_PAIRS, FEW_ROWS = 64, 300  # so many pairs of so many rows are searched one by one
MOST_SEARCHED = 48  # pairs that are searched by themselves where a floor is not tight, of so few rows...
FEWEST_SEARCHED = 4  # ... and of many


def is_dense(problem: Problem) -> bool:
    """Return whether proofs hold a matrix of all rows; as in `sharp.range_search`."""
    return sharp.matrices_fit(problem.p + problem.q, "lower", problem.working_memory)


def by_size(problem: Problem, admissible: list[Counts]) -> bool:
    """Return whether the pairs are tested by their true sizes, each with all others of the same."""
    if not any(counts.n_moved_of_x for counts in admissible):
        return False
    provable = is_dense(problem) or problem.kernel.is_conditionally_definite
    few = FEW_PAIRS if problem.p + problem.q <= FEW_ROWS else 1
    return provable and len(admissible) > few


class AtOnce(WorstCase):
    """The p-values of all counts from floors for all of them at once."""

    def _scale_by_null(self) -> None:
        """Keep of each count what p-values and standings are computed from."""
        self._tolerances = np.array([self.tolerance(counts) for counts in self.considered])
        self._places = [self._column[counts.n_x] for counts in self.considered]
        least = np.maximum(self._tolerances, np.finfo(np.float64).tiny)
        self._centres = self.null.means[self._places]
        self._spreads = np.maximum(self.null.deviations[self._places], least)

    def _both(self) -> tuple[Float64s, Float64s]:
        """Return of each count what is proved, and what a labelling has."""
        raise NotImplementedError

    def _chosen(self, admissible: list[Counts]) -> list[Counts]:
        return admissible

    def _pvalues(self) -> tuple[Float64s, Float64s]:
        """Return of each count the p-values at what is proved, and at what a labelling has."""
        every = [self.null.pvalues(each - self._tolerances, self._places) for each in self._both()]
        return every[0], every[1]

    def decision(self, level: float) -> bool | None:
        """Return whether no p-value exceeds the level; `None` if neither this nor the contrary is shown."""
        while True:
            pvalues, attained = self._pvalues()
            if (attained > level).any():
                return False
            above = np.flatnonzero(pvalues > level)
            if not len(above):
                return True
            worst_first = above[np.argsort(-pvalues[above], kind="stable")]
            if not any(self.closer(self.considered[place], level=level) for place in worst_first):
                return None

    def outcomes(self, level: float | None = None) -> list[CountOutcome]:
        """See `WorstCase`; the count that decides is a solved one."""
        for _ in range(worst_case.MOST_TIGHTENED):
            floors, _ = self._both()
            pvalues, attained = self._pvalues()
            largest = np.flatnonzero(pvalues == pvalues.max())
            standings = (floors - self._centres) / self._spreads  # see `standing`
            worst = self.considered[largest[np.argmin(standings[largest])]]
            is_tight = worst_case.is_near(pvalues.max(), attained.max())
            if (is_tight and worst in self._known) or not self.closer(worst):
                break
        return self.decided([self.outcome(counts) for counts in self.considered], level)


class EverySize(AtOnce):
    """The p-values of all true sizes, each of them proved; `considered` are the largest pairs of each."""

    def __init__(self, problem: Problem, admissible: list[Counts], *how: Any, **more: Any) -> None:
        self._sizes, self._every = by_sizes(admissible), admissible
        largest = [size.most for size in self._sizes]
        super().__init__(problem, largest, *how, **more)
        self._meter.phase("count")
        self._place = {counts.n_x: i for i, counts in enumerate(largest)}
        self._searched: set[Counts] = set()
        n = problem.p + problem.q
        self._left = max(FEWEST_SEARCHED, round(MOST_SEARCHED * min(1.0, FEW_ROWS / n) ** 2))
        self._is_dense = is_dense(problem)
        self._floors = FloorsBySize(
            self.totals.precise, problem.estimator, self._sizes, is_dense=self._is_dense
        )
        self._values = np.full(len(largest), np.inf)  # of labellings
        self._scale_by_null()
        # The sizes at which most rows move, and both ends: floors of all others follow.
        for place in dict.fromkeys((self._floors.corner, 0, len(self._sizes) - 1)):
            self._solve(self.considered[place])

    @property
    def n_covered(self) -> int:
        """See `WorstCase`: a size covers all of its pairs."""
        return len(self._every)

    def _both(self) -> tuple[Float64s, Float64s]:
        return self._floors.least(), self._values

    def outcome(self, counts: Counts) -> CountOutcome:
        """See `WorstCase`; of sizes that are not solved no labelling is known."""
        place = self._place[counts.n_x]
        proved = float(self._floors.floors[place].min())
        if counts not in self._known:
            return self._outcome(counts, Found(float(self._values[place]), None).proved(proved, "lower"))
        return self._outcome(counts, self._known[counts].found.proved(proved, "lower"))

    def closer(self, counts: Counts, *, level: float | None = None) -> bool:
        """See `WorstCase`; sizes are solved first, then those of their pairs are searched that have room."""
        if counts not in self._known:
            self._solve(counts)
            return True
        place, n_searched = self._place[counts.n_x], len(self._searched)
        size, floors = self._sizes[place], self._floors.floors[place]
        for i in np.argsort(floors, kind="stable"):
            pair = size.pair(int(size.moved[i]))
            if pair in self._searched or len(self._searched) >= self._left:
                continue
            if floors[i] > floors.min() and floors[i] >= self._values[place] - self._tolerances[place]:
                break
            self._searched.add(pair)
            self._search_pair(counts, int(i), 1.0)
        lowest = size.pair(int(size.moved[np.argmin(floors)])), worst_case.PATIENT
        if len(self._searched) > n_searched or level is None or lowest in self._is_tightened:
            return len(self._searched) > n_searched
        self._is_tightened.add(lowest)
        self._search_pair(counts, int(np.argmin(floors)), worst_case.PATIENT)
        return True

    def _search_pair(self, counts: Counts, i: int, patience: float) -> None:
        """Search one of the pairs of a size by itself, and keep its floor."""
        place = self._place[counts.n_x]
        size, floors = self._sizes[place], self._floors.floors[place]
        pair = size.pair(int(size.moved[i]))
        found = self._search(pair, "lower", worst_case.LOWER_STARTS, 0.0, patience)
        if found.certified is not None:
            floors[i] = max(floors[i], found.certified)
        self._note(counts, found)

    def _solve(self, counts: Counts) -> None:
        with one_blas_thread():  # two threads would add in another order than one
            start, place = self._floors.start(counts), self._place[counts.n_x]
            best = self._floors.solve(place, start, self._rough(counts), self._effort())
            sharp.refine_enough(best, "lower")
        self._note(counts, Found.at(best))

    def _effort(self) -> Effort:
        """Return what solving one size may spend."""
        if self._is_dense:
            return Effort(worst_case.CHEAP, self._meter)
        return sharp.effort_through_sums(self.totals.precise.sums, self._meter)

    def _note(self, counts: Counts, found: Found) -> None:
        """Keep a labelling of one of the pairs, if it is the best of its size."""
        place = self._place[counts.n_x]
        if found.value < self._values[place]:
            self._values[place] = found.value
            self._known[counts] = self._outcome(counts, found)
