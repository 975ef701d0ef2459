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
from mmdbounds.search.exchanges import refine
from mmdbounds.search.protocol import Found, Task, for_both_sides, most_extreme, outwards
from mmdbounds.search.sharp.ceiling import ceiling
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem
from mmdbounds.search.sharp.ranges import FloorRange, ceilings, dense_ceilings, from_more, reached
from mmdbounds.sums.protocol import Float64s

FEW = 3  # so many counts are searched one by one
SOLVED, SEARCHED = 12, 2  # counts that are solved, and searched by themselves, beside the largest one


@dataclass(frozen=True, eq=False)
class RangeSearch:
    """The search of both sides over many counts."""

    task: Task
    search: Callable[[Counts, Side, float], Found]  # one side of one count, with a slack for its proof
    is_dense: bool  # whether proofs hold a matrix of the rows of Y
    effort: Callable[[], Effort]  # what solving a count may take
    gap: float

    def both_sides(self, lower: Found, upper: Found) -> tuple[Found, Found]:
        """Return the extremes over all counts, from those of the largest one."""
        slack = self.gap * max(upper.value - lower.value, 0.0)
        ends = {"lower": lower, "upper": upper}
        ranges = {"lower": LowerRange, "upper": UpperRange}
        return for_both_sides(lambda side: self._extreme(ranges[side](self, ends[side], slack)), self.task)

    def _extreme(self, known: CountRange) -> Found:
        """Look closer at the most extreme count while its proof leaves room."""
        n_searched = 0
        while (place := known.outermost()) is not None:
            counts = self.task.admissible[place]
            if len(known.solved) < SOLVED and known.solve(counts):
                continue
            if counts in known.searched or (self.gap and n_searched == known.n_searches):
                break
            n_searched += 1
            known.keep(counts, self.search(counts, known.side, known.slack))
        return known.found()


class CountRange:
    """What is known of one side of all counts."""

    side: Side

    def __init__(self, of: RangeSearch, last: Found, slack: float) -> None:
        self.of, self.slack, self.n_searches = of, slack, SEARCHED
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
        """Refine a labelling that a proof suggests, where this is cheap, and keep it."""
        if self.of.is_dense:
            refine(labelling, self.side)
        self.best.append(Found.at(labelling, status="refined"))


class LowerRange(CountRange):
    """The lower side."""

    side = "lower"

    def __init__(self, of: RangeSearch, last: Found, slack: float) -> None:
        super().__init__(of, last, slack)
        task, ends = of.task, (of.task.admissible[0], of.task.admissible[-1])
        totals, moved = task.totals.precise, (ends[0].n_moved, ends[1].n_moved)
        self._range = FloorRange(totals, task.estimator, moved, is_dense=of.is_dense)
        self._over_fractions = None
        if last.fractional is not None:
            self._over_fractions = FloorRange(totals, task.estimator, moved, is_dense=False)
        rows = None if last.labelling is None else np.flatnonzero(last.labelling.moved)
        for counts, start in ((ends[1], Labelling(self.quadratic(ends[1]), rows)), (ends[0], None)):
            self.solve(counts, start)
            if self._over_fractions is not None:
                begun = start or self._over_fractions.start(counts)
                self._over_fractions.solve(begun, slack, of.effort())

    @property
    def proofs(self) -> Float64s:
        """See `CountRange`."""
        return self._range.floors

    def solve(self, counts: Counts, start: Labelling | None = None) -> bool:
        """See `CountRange`."""
        if counts in self.solved:
            return False
        self.solved.add(counts)
        found = self._range.solve(start or self._range.start(counts), self.slack / 4, self.of.effort())
        self.refined(found)
        return True

    def found(self) -> Found:
        """See `CountRange`."""
        found = super().found()
        if self._over_fractions is None or found.certified is None:
            return found
        return replace(found, fractional=float(self._over_fractions.floors.min()))


class UpperRange(CountRange):
    """The upper side."""

    side = "upper"

    def __init__(self, of: RangeSearch, last: Found, slack: float) -> None:
        super().__init__(of, last, slack)
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
        self.n_searches = SEARCHED if of.is_dense else 0  # a proof through sums is as long as the search
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
        proof = ceiling(problem, known, known + self.slack, self.of.effort(), state, is_root=is_first)
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
            rows = np.flatnonzero(last.moved)
            joining = rows[np.argsort(-start.gradient()[rows], kind="stable")][:fewer]
            self.refined(Labelling(self.quadratic(self.of.task.admissible[fewer]), np.sort(joining)))
