"""Extremes over a range of one-way counts for little more than those of its largest one.

The largest count is searched as if it were the only one. Floors and ceilings of all others follow from few
solved counts (`ranges`). Another count is solved only while its proof leaves room for more than the labelling
found, and searched by itself only if solving it was not enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mmdbounds.contamination import Counts
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.results import Side
from mmdbounds.search.protocol import Found, Task, for_both_sides, most_extreme, outwards
from mmdbounds.search.sharp.ceiling import ceiling
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem
from mmdbounds.search.sharp.ranges import FloorRange, ceilings, dense_ceilings, from_more, joining, reached
from mmdbounds.sums.protocol import Float64s

FEW = 3  # so many counts are searched one by one
SOLVED = 12  # counts that are solved on each side, at the most
AGAIN = 0.7  # work of the other counts, as a share of that of the largest one
LEAST = 5e6  # work that is spent in any case, if there is need: a twentieth of a second


@dataclass(frozen=True, eq=False)
class RangeSearch:
    """The search of both sides over many counts."""

    task: Task
    # One side of one count, with slack and patience; also returned is the work that it took.
    search: Callable[[Counts, Side, float, float], tuple[Found, float]]
    refine: Callable[[Labelling, Side], None]
    is_dense: bool  # whether proofs hold a matrix of the rows of Y
    unit: float  # what a proof of one side of one count may spend with a patience of 1
    gap: float

    def both_sides(self, ends: tuple[Found, Found], spent: tuple[float, float]) -> tuple[Found, Found]:
        """Return the extremes over all counts, from those of the largest one and what their search spent.

        The other counts may take nearly as much again; with a gap of 0, what a search of each of them may.
        """
        slack = self.gap * max(ends[1].value - ends[0].value, 0.0)
        budgets = [
            max(AGAIN * each, LEAST) if self.gap else len(self.task.admissible) * self.unit for each in spent
        ]

        def extreme(side: Side) -> Found:
            if side == "lower":
                known: CountRange = LowerRange(self, ends[0], slack, budgets[0])
            else:
                known = UpperRange(self, ends[1], slack, budgets[1])
            self.look_closer(known)
            return known.found()

        return for_both_sides(extreme, self.task)

    def look_closer(self, known: CountRange) -> None:
        """Look closer at the most extreme count while its proof leaves room."""
        while known.left > 0 and (place := known.outermost()) is not None:
            counts = self.task.admissible[place]
            if len(known.solved) < SOLVED and known.solve(counts):
                continue
            if counts in known.searched or not known.may_search:
                break
            found, spent = self.search(counts, known.side, known.slack, min(known.left / self.unit, 1.0))
            known.left -= spent
            known.keep(counts, found)


class CountRange:
    """What is known of one side of all counts."""

    side: Side
    may_search = True  # whether another count may be searched by itself

    def __init__(self, of: RangeSearch, last: Found, slack: float, left: float) -> None:
        self.of, self.slack, self.left = of, slack, left  # `left` is the work that may still be done
        self.searched: dict[Counts, Found] = {}
        self.solved: set[Counts] = set()
        self.best: list[Found] = []
        self._first = of.task.admissible[0].n_moved
        self.keep(of.task.admissible[-1], last)

    @property
    def proofs(self) -> Float64s:
        """What is proved of each count, by what was solved."""
        raise NotImplementedError

    def solve(self, counts: Counts) -> bool:
        """Solve one count, if it was not; return whether anything was done."""
        raise NotImplementedError

    def keep(self, counts: Counts, found: Found) -> None:
        """Note what a search of one count found."""
        self.searched[counts] = found
        self.best.append(replace(found, certified=None, fractional=None))

    def proved(self) -> Float64s:
        """Return what is proved of each count."""
        out, proofs = outwards(self.side), self.proofs.copy()
        for counts, found in self.searched.items():
            place = counts.n_moved - self._first
            if found.certified is not None:
                proofs[place] = out * min(out * proofs[place], out * found.certified)
        return proofs

    def outermost(self) -> int | None:
        """Return the place of the most extreme proof, `None` if it leaves no room."""
        out, proofs = outwards(self.side), self.proved()
        place = int(np.argmax(out * proofs))
        room = out * (proofs[place] - most_extreme(self.best, self.side).value)
        return place if room > self.slack else None

    def found(self) -> Found:
        """Return the most extreme labelling, and what is proved of all counts."""
        out = outwards(self.side)
        certified = float(out * np.max(out * self.proved()))
        if self.searched[self.of.task.admissible[-1]].certified is None or not np.isfinite(certified):
            return most_extreme(self.best, self.side)
        return replace(most_extreme(self.best, self.side), certified=certified)

    def quadratic(self, counts: Counts) -> Quadratic:
        """Return the quadratic of a count, in float64."""
        return Quadratic(self.of.task.totals.precise, counts, self.of.task.estimator)

    def refined(self, labelling: Labelling) -> None:
        """Refine a labelling that a proof suggests, and keep it."""
        self.of.refine(labelling, self.side)
        self.best.append(Found.at(labelling, status="refined"))


class LowerRange(CountRange):
    """The lower side."""

    side = "lower"

    def __init__(self, of: RangeSearch, last: Found, slack: float, left: float) -> None:
        super().__init__(of, last, slack, left)
        task, self._last = of.task, last
        moved = task.admissible[0].n_moved, task.admissible[-1].n_moved
        self._range = FloorRange(task.totals.precise, task.estimator, moved, is_dense=of.is_dense)
        self._floors = self._range.floors
        if task.estimator == "unbiased" and last.certified is not None:
            k = np.arange(moved[0], moved[1] + 1)
            self._floors = from_more(last.certified, task.totals.precise, task.estimator, k, moved[1])

    @property
    def proofs(self) -> Float64s:
        """See `CountRange`."""
        return np.asarray(np.maximum(self._floors, self._range.floors))

    def solve(self, counts: Counts) -> bool:
        """See `CountRange`; the ends come first, the largest count before all others."""
        if counts in self.solved:
            return False
        ends = self.of.task.admissible[-1], self.of.task.admissible[0]
        for each in [each for each in ends if each not in self.solved] or [counts]:
            self.solved.add(each)
            start = self._started(self._last) if each == ends[0] else self._range.start(each)
            # Where a matrix is held, a rough proof is enough: a search of the count does more.
            effort = Effort(1.0 if self.of.is_dense else max(self.left, LEAST), self.of.task.meter)
            self.refined(self._range.solve(start, self.slack / 4, effort))
            self.left -= effort.spent
        return True

    def _started(self, found: Found) -> Labelling:
        rows = None if found.labelling is None else np.flatnonzero(found.labelling.moved)
        return Labelling(self.quadratic(self.of.task.admissible[-1]), rows)

    def found(self) -> Found:
        """See `CountRange`."""
        found, task = super().found(), self.of.task
        if self._last.fractional is None or found.certified is None:
            return found
        moved = task.admissible[0].n_moved, task.admissible[-1].n_moved
        plain = FloorRange(task.totals.precise, task.estimator, moved, is_dense=False)  # over fractions
        for start in (self._started(self._last), plain.start(task.admissible[0])):
            plain.solve(start, self.slack / 4, Effort(max(self.left, LEAST), task.meter))
        return replace(found, fractional=float(plain.floors.min()))


class UpperRange(CountRange):
    """The upper side."""

    side = "upper"

    def __init__(self, of: RangeSearch, last: Found, slack: float, left: float) -> None:
        super().__init__(of, last, slack, left)
        first, most = of.task.admissible[0], of.task.admissible[-1]
        self._k = np.arange(first.n_moved, most.n_moved + 1)
        self._ceilings = np.full(len(self._k), np.inf)
        self._multipliers: Float64s | None = None  # in units of kernel values
        totals, estimator = of.task.totals.precise, of.task.estimator
        if last.certified is None or last.labelling is None:
            return
        if estimator == "unbiased" or totals.sums.is_positive_definite:
            self._ceilings = from_more(last.certified, totals, estimator, self._k, most.n_moved)
        if last.row_bounds is not None:
            found = ceilings(totals, estimator, self._k, *last.row_bounds)
            self._ceilings = np.minimum(self._ceilings, found)
        self.may_search = of.is_dense  # a proof through sums takes as long as all of this may
        self.solve(most)
        self._try_fewer(Labelling(self.quadratic(most), np.flatnonzero(last.labelling.moved)))

    @property
    def proofs(self) -> Float64s:
        """See `CountRange`."""
        return self._ceilings

    def solve(self, counts: Counts) -> bool:
        """See `CountRange`."""
        if counts in self.solved or not self.of.is_dense or counts.n_moved == 0:
            return False
        self.solved.add(counts)
        f, totals = self.quadratic(counts), self.of.task.totals.precise
        problem = QuotaProblem.of(Labelling(f), "upper")
        known = most_extreme(self.best, "upper").value
        state = () if self._multipliers is None else (f.c * self._multipliers,)
        is_first = self._multipliers is None
        effort = Effort(max(self.left, LEAST), self.of.task.meter)
        proof = ceiling(problem, known, known + self.slack, effort, state, is_root=is_first)
        self.left -= effort.spent
        self._multipliers = proof.state[0] / f.c
        pairs = problem.pairs / f.c
        found = dense_ceilings(totals, self.of.task.estimator, self._k, pairs, self._multipliers)
        self._ceilings = np.minimum(self._ceilings, found)
        return True

    def _try_fewer(self, last: Labelling) -> None:
        """Refine the best labelling with fewer rows of the one found for the largest count."""
        start = Labelling(self.quadratic(self.of.task.admissible[0]))
        if start.quadratic.counts.n_moved:
            return
        fewer = int(np.argmax(reached(start, last, "upper")))
        if fewer < len(self._k) - 1:
            rows = joining(start, last, "upper")[:fewer]
            self.refined(Labelling(self.quadratic(self.of.task.admissible[fewer]), np.sort(rows)))
