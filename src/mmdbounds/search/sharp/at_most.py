"""Extremes over a range of one-way counts for little more than those of its largest one.

The largest count is searched as if it were the only one. Floors and ceilings of all others follow from few
solved counts (`ranges`). Another count is solved only while its proof leaves room for more than the labelling
found, and searched by itself only if solving it was not enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.results import Side
from mmdbounds.search.protocol import Found, RowBounds, Task, for_both_sides, most_extreme, outwards
from mmdbounds.search.sharp.ceiling import ceiling
from mmdbounds.search.sharp.learned import lost_by_sums
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem
from mmdbounds.search.sharp.ranges import (
    FloorRange,
    ceilings,
    ceilings_by_those_that_stay,
    dense_ceilings,
    from_more,
    joining,
    reached,
)
from mmdbounds.sums.protocol import Float64s

FEW = 3  # so many counts are searched one by one
SOLVED = 12  # counts that are solved on each side, at the most
AGAIN = 0.7  # work of the other counts, as a share of that of the largest one
RANKING = 16.0  # work of ranking one kernel value for the ceilings of all counts
LEAST = 2e7  # work that is spent in any case, if there is need: a fifth of a second


@dataclass(frozen=True, eq=False)
class RangeSearch:
    """The search of both sides over many counts."""

    task: Task
    # One side of one count, with slack and patience; also returned is the work that it took.
    search: Callable[[Counts, Side, float, float], tuple[Found, float]]
    refine: Callable[[Labelling, Side], None]
    is_dense: bool  # whether floors hold a matrix of the rows of Y; ceilings do if that of the largest did
    has_floors: bool  # whether the lower side can be proved: by a matrix, or because the kernel is definite
    with_squares: bool  # whether ceilings that hold one have room for squares
    unit: float  # what a proof of one side of one count may spend with a patience of 1
    gap: float

    def both_sides(self, ends: tuple[Found, Found], spent: tuple[float, float]) -> tuple[Found, Found]:
        """Return the extremes over all counts, from those of the largest one and what their search spent.

        The other counts may take nearly as much again; with a gap of 0, what a search of each of them may.
        """
        slack = self.gap * max(ends[1].value - ends[0].value, 0.0)
        all_of_it = len(self.task.admissible) * self.unit
        left = [max(AGAIN * each, self.least) if self.gap else all_of_it for each in spent]
        kinds = self.kinds()

        def find(side: Side) -> Found:
            known = kinds[side](self, ends[side == "upper"], slack, left[side == "upper"])
            known.explore()
            return self.look_closer(known)

        return for_both_sides(find, self.task)

    @property
    def least(self) -> float:
        """Work that is spent in any case, if there is need."""
        return LEAST

    def kinds(self) -> dict[Side, type[CountRange]]:
        """Return what is known of each side."""
        return {"lower": LowerRange if self.has_floors else UnprovedRange, "upper": UpperRange}

    def look_closer(self, known: CountRange) -> Found:
        """Look closer at the most extreme count while its proof leaves room; return the most extreme one."""
        while known.left > 0 and (place := known.outermost()) is not None:
            counts = self.task.admissible[place]
            if len(known.solved) < SOLVED and known.solve(counts):
                continue
            if counts in known.searched or not known.may_search:
                break
            found, spent = self.search(counts, known.side, known.slack, min(known.left / self.unit, 1.0))
            known.left -= spent
            known.keep(counts, found)
        return known.found()


def best_on_the_way(first: Found, last: Found, side: Side) -> int:
    """Return how many rows, joining the first labelling one by one, come furthest on the way to the last."""
    if first.labelling is None or last.labelling is None or first.labelling.parts():
        return 0  # rows of a labelling that moves some need not be among those of the other
    return int(np.argmax(outwards(side) * reached(first.labelling, last.labelling, side)))


class CountRange:
    """What is known of one side of all counts."""

    side: Side
    may_search = True  # whether another count may be searched by itself

    def __init__(self, of: RangeSearch, last: Found, slack: float, left: float) -> None:
        self.of, self.last, self.slack, self.left = of, last, slack, left  # `left`: work that may be done
        self.searched: dict[Counts, Found] = {}
        self.solved: set[Counts] = set()
        self.best: list[Found] = []
        self.ends = of.task.admissible[0], of.task.admissible[-1]
        self.k = np.arange(self.ends[0].n_moved, self.ends[1].n_moved + 1)
        self.totals, self.estimator = of.task.totals.precise, of.task.estimator
        self.movable = self.ends[1].movable
        self.keep(self.ends[1], last)
        if not (self.ends[0].n_moved or self.ends[0].n_moved_of_x):  # the groups as filed, which are known
            filed = Labelling(self.quadratic(self.ends[0]))
            margin = outwards(self.side) * filed.quadratic.margin
            self.keep(self.ends[0], Found.at(filed).proved(filed.value() + margin, self.side))

    def proofs(self) -> Float64s:
        """Return what is proved of each count by those that were solved."""
        raise NotImplementedError

    def solve(self, counts: Counts) -> bool:
        """Solve one count, if it was not; return whether anything was done."""
        raise NotImplementedError

    def keep(self, counts: Counts, found: Found) -> None:
        """Note what a search of one count found."""
        self.searched[counts] = found
        self.best.append(replace(found, certified=None))

    def proved(self) -> Float64s:
        """Return what is proved of each count."""
        out, proofs = outwards(self.side), self.proofs().copy()
        for counts, found in self.searched.items():
            place = self.place(counts)
            if found.certified is not None:
                proofs[place] = out * min(out * proofs[place], out * found.certified)
        return proofs

    def explore(self) -> None:
        """Look for better labellings of other counts, before more is proved."""

    def place(self, counts: Counts) -> int:
        """Return the place of a count among all."""
        return int(counts.n_moved - self.k[0])

    def outermost(self) -> int | None:
        """Return the place of the most extreme proof, `None` if it leaves no room."""
        out, proofs = outwards(self.side), self.proved()
        place = int(np.argmax(out * proofs))
        room = out * (proofs[place] - most_extreme(self.best, self.side).value)
        return place if room > self.slack else None

    def found(self) -> Found:
        """Return the most extreme labelling, and what is proved of all counts."""
        out, best = outwards(self.side), most_extreme(self.best, self.side)
        certified = float(out * np.max(out * self.proved()))
        is_proved = self.last.certified is not None and np.isfinite(certified)
        return best.proved(certified, self.side) if is_proved else best

    @property
    def is_dense_above(self) -> bool:
        """Whether the ceiling of the largest count held a matrix, so that others may."""
        return self.last.certified is not None and self.last.row_bounds is None

    def quadratic(self, counts: Counts) -> Quadratic:
        """Return the quadratic of a count, in float64."""
        return Quadratic(self.totals, counts, self.estimator)

    def started(self) -> Labelling:
        """Return the labelling of the largest count, in float64."""
        rows = None if self.last.labelling is None else np.flatnonzero(self.last.labelling.moved)
        return Labelling(self.quadratic(self.ends[1]), rows)

    def refined(self, labelling: Labelling) -> None:
        """Refine a labelling that a proof suggests, and keep it."""
        self.of.refine(labelling, self.side)
        self.best.append(Found.at(labelling, status="refined"))


class LowerRange(CountRange):
    """The lower side."""

    side = "lower"

    def __init__(self, of: RangeSearch, last: Found, slack: float, left: float) -> None:
        super().__init__(of, last, slack, left)
        ends = int(self.k[0]), int(self.k[-1])
        self._range = FloorRange(
            self.totals, self.estimator, ends, is_dense=of.is_dense, movable=self.movable
        )
        self._from_last = np.full(len(self.k), -np.inf)
        if self.estimator == "unbiased" and last.certified is not None and self.movable is None:
            self._from_last = from_more(last.certified, self.totals, self.estimator, self.k)

    def proofs(self) -> Float64s:
        """See `CountRange`."""
        return np.asarray(np.maximum(self._from_last, self._range.floors))

    def solve(self, counts: Counts) -> bool:
        """See `CountRange`; the ends come first, the largest count before all others."""
        if counts in self.solved:
            return False
        for each in [end for end in reversed(self.ends) if end not in self.solved] or [counts]:
            self.solved.add(each)
            start = self.started() if each == self.ends[1] else self._range.start(each)
            # Where a matrix is held, a rough proof is enough: a search of the count does more.
            effort = Effort(1.0 if self.of.is_dense else max(self.left, LEAST), self.of.task.meter)
            self.refined(self._range.solve(start, self.slack / 4, effort))
            self.left -= effort.spent
        return True


class NoFloors(CountRange):
    """The lower side where nothing can be proved: labellings alone."""

    side = "lower"
    may_search = False

    def proofs(self) -> Float64s:
        """See `CountRange`."""
        return np.full(len(self.of.task.admissible), -np.inf)

    def solve(self, counts: Counts) -> bool:
        """See `CountRange`."""
        return False


class UnprovedRange(NoFloors):
    """The same for one-way counts: of the largest, and of the best on the way to it."""

    def __init__(self, of: RangeSearch, last: Found, slack: float, left: float) -> None:
        super().__init__(of, last, slack, left)
        filed = self.searched.get(self.ends[0])
        place = 0 if filed is None else best_on_the_way(filed, last, "lower")
        if 0 < place < len(self.k) - 1:
            counts = of.task.admissible[place]
            self.keep(counts, of.search(counts, "lower", slack, 0.0)[0])


class UpperRange(CountRange):
    """The upper side."""

    side = "upper"

    def __init__(self, of: RangeSearch, last: Found, slack: float, left: float) -> None:
        super().__init__(of, last, slack, left)
        self._ceilings = np.full(len(self.k), self.totals.ceiling)
        self._multipliers: Float64s | None = None  # in units of kernel values...
        self._of_stays = False  # ... and whether they were fitted to the rows that stay
        if last.certified is None:
            self.may_search = False
            return
        is_definite = self.totals.sums.is_positive_definite
        if self.movable is None and (self.estimator == "unbiased" or is_definite):
            self._lower_to(from_more(last.certified, self.totals, self.estimator, self.k))
        if last.row_bounds is not None:
            self._lower_by(last.row_bounds)
        self.solve(self.ends[1])
        self._try_fewer(self.started())
        # A proof through sums takes as long as all of this may: for counts of which far less is known.
        far = float(self._ceilings.max()) - last.certified > last.certified - last.value
        self.may_search = self.is_dense_above or far

    def keep(self, counts: Counts, found: Found) -> None:
        """See `CountRange`; what is known of rows says something of all counts."""
        super().keep(counts, found)
        if found is not self.last and found.row_bounds is not None:
            self._lower_by(found.row_bounds)

    def _lower_by(self, row_bounds: RowBounds) -> None:
        """Lower the ceilings by what partners can add to each row."""
        (_, threshold), (_, excess), alone, of_pair = row_bounds
        of_rows = threshold, alone + excess, of_pair, lost_by_sums(len(alone))
        known = self.totals, self.estimator, self.k, *of_rows, self.movable
        self._lower_to(ceilings(*known))
        if not self.ends[1].limits():
            self._lower_to(ceilings_by_those_that_stay(*known))

    def _lower_to(self, found: Float64s) -> None:
        self._ceilings = np.minimum(self._ceilings, found)

    def proofs(self) -> Float64s:
        """See `CountRange`."""
        return self._ceilings

    def solve(self, counts: Counts) -> bool:
        """See `CountRange`."""
        active = counts.may_move(self.totals.p, self.totals.q)
        nothing_to_choose = counts.n_moved in (0, active.stop - active.start)
        if counts in self.solved or not self.is_dense_above or nothing_to_choose:
            return False
        self.solved.add(counts)
        pairs, self._multipliers = self._fitted(counts)
        known_of_all = self.k, pairs, self._multipliers, self.movable
        self._lower_to(dense_ceilings(self.totals, self.estimator, *known_of_all))
        return True

    def _fitted(self, counts: Counts) -> tuple[Float64s, Float64s]:
        """Return pairs and the multipliers that a ceiling of one count ends with, in units of kernel values.

        Matrices change their units in place: the budget may have room for four of them.
        """
        f, known = self.quadratic(counts), most_extreme(self.best, "upper").value
        problem, flipped = QuotaProblem.of(Labelling(f), "upper").by_those_that_stay()
        if flipped.any() != self._of_stays:
            self._multipliers, self._of_stays = None, bool(flipped.any())
        is_first = self._multipliers is None
        effort = Effort(max(self.left, LEAST), self.of.task.meter)
        state = () if self._multipliers is None else (np.multiply(self._multipliers, f.c, self._multipliers),)
        proof = ceiling(
            problem, known, known + self.slack, effort, state, is_root=is_first, squares=self.of.with_squares
        )
        effort.spend(RANKING * len(problem.rows) ** 2)
        self.left -= effort.spent
        pairs, multipliers = problem.pairs, proof.state[0]
        return np.divide(pairs, f.c, pairs), np.divide(multipliers, f.c, multipliers)

    def _try_fewer(self, last: Labelling) -> None:
        """Refine the best labelling with fewer rows of the one found for the largest count."""
        start = Labelling(self.quadratic(self.ends[0]))
        if (
            self.ends[0].n_moved == 0
            and (fewer := int(np.argmax(reached(start, last, "upper")))) < self.k[-1]
        ):
            rows = np.sort(joining(start, last, "upper")[:fewer])
            self.refined(Labelling(self.quadratic(self.of.task.admissible[fewer]), rows))
