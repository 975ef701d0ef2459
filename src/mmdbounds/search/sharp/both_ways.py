"""Extremes over all pairs of counts of two-way misfiling, for little more than those of the largest one.

As for one-way counts (`at_most`): the pair that moves most is searched as if it were the only one. Floors and
ceilings of all others follow from few (`same_sizes`, `pair_ceilings`). The sizes of another pair are solved,
and in the end the pair is searched by itself, only while its proof leaves room.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.objective import Labelling
from mmdbounds.results import Side
from mmdbounds.search.protocol import Found, leading, most_extreme, outwards
from mmdbounds.search.sharp.at_most import LEAST, RANKING, CountRange, NoFloors, RangeSearch
from mmdbounds.search.sharp.ceiling import ceiling
from mmdbounds.search.sharp.pair_ceilings import PairCeilings, PartnerSums, ThresholdsOfPartners
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem, ScoreBound
from mmdbounds.search.sharp.same_sizes import FloorsBySize, SameSizes, by_sizes, most_moves
from mmdbounds.search.sharp.starting_points import starts
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.sums.protocol import Float64s

MUCH = 0.75  # of the rows that a pair moves: another one that moves so many is not much smaller
SOME = 9  # true sizes of which the largest pair is searched where nothing is to be proved
SPREAD = 4  # numbers of rows of X of which pairs are tried first...
STARTS = 6  # ... from so many starts where rows are not many...
NEAR, NEAR_OF_MANY, MANY = 60, 12, 2500  # ... and pairs near the best at most, up to so many rows and beyond
LEAST_OF_PAIRS = 1e8  # work that is spent in any case, if there is need: a second


def largest_last(admissible: list[Counts]) -> list[Counts]:
    """Return the pairs by their true sizes, and the one that moves most at the end."""
    largest = max(admissible, key=most_moves)
    rest = (counts for counts in admissible if counts is not largest)
    return [*sorted(rest, key=lambda counts: (counts.n_x, counts.n_moved)), largest]


def some_pairs(admissible: list[Counts]) -> list[Counts]:
    """Return the pairs that are searched where nothing is to be proved: the largest ones of some sizes."""
    largest = [size.most for size in by_sizes(admissible)]
    places = np.unique(np.linspace(0, len(largest) - 1, SOME).round().astype(int))
    return list(dict.fromkeys([*(largest[i] for i in places), max(largest, key=most_moves)]))


def searched_apart(admissible: list[Counts]) -> list[list[Counts]]:
    """Return the pairs in the parts that are searched each by itself: all at once, wherever that is enough.

    What is fitted to the largest pair says little of pairs that move rows of one group alone, and many more
    of them than the largest one does.
    """
    of_y = [counts for counts in admissible if not counts.n_moved_of_x]
    of_x = [counts for counts in admissible if counts.n_moved_of_x and not counts.n_moved]
    both = [counts for counts in admissible if counts.n_moved and counts.n_moved_of_x]
    largest = max(both or admissible, key=most_moves)
    most_of_y = max((counts.n_moved for counts in of_y), default=0)
    most_of_x = max((counts.n_moved_of_x for counts in of_x), default=0)
    if both and largest.n_moved >= MUCH * most_of_y and largest.n_moved_of_x >= MUCH * most_of_x:
        return [admissible]
    return [part for part in (of_y, of_x, both) if part]


def spread_out(admissible: list[Counts]) -> list[Counts]:
    """Return some pairs far apart: for a few numbers of rows of X, the most rows of Y and half of them."""
    of_x = np.unique([counts.n_moved_of_x for counts in admissible])
    some: list[Counts] = []
    for m_d in of_x[np.unique(np.linspace(0, len(of_x) - 1, SPREAD).round().astype(int))]:
        column = sorted((c for c in admissible if c.n_moved_of_x == m_d), key=lambda c: c.n_moved)
        some += [column[-1], column[len(column) // 2]]
    return [counts for counts in dict.fromkeys(some) if counts.n_moved or counts.n_moved_of_x]


class PairSearch(RangeSearch):
    """The search of both sides over all pairs of counts."""

    @property
    def least(self) -> float:
        """See `RangeSearch`."""
        return LEAST_OF_PAIRS

    def kinds(self) -> dict[Side, type[CountRange]]:
        """See `RangeSearch`."""
        return {"lower": LowerPairs if self.has_floors else UnprovedPairs, "upper": UpperPairs}


class PairRange(CountRange):
    """What is known of one side of all pairs."""

    def __init__(self, of: RangeSearch, last: Found, slack: float, left: float) -> None:
        super().__init__(of, last, slack, left)
        self.sizes = by_sizes(of.task.admissible)
        self._size_of = {size.most.n_x: i for i, size in enumerate(self.sizes)}
        self._places = {counts: i for i, counts in enumerate(of.task.admissible)}
        first = np.cumsum([0, *(len(size.moved) for size in self.sizes)])
        self._order = np.array(
            [first[self._size_of[c.n_x]] + c.n_moved - self.size_of(c).fewest for c in of.task.admissible]
        )

    def explore(self) -> None:
        """See `CountRange`: pairs far apart, then from the best of all to better ones near it.

        The largest pair need not be the most extreme one: moving a row the other way costs one that would
        make the groups differ more.
        """
        many = len(self.started().sign) > MANY
        rng = np.random.default_rng([self.of.task.seed, self.side == "upper"])
        for counts in spread_out(self.of.task.admissible):
            every = starts(self.quadratic(counts), self.side, rng)
            for labelling in islice(every, 1 if many else STARTS):
                self.refined(labelling)
        tried, left = set[Counts](), NEAR_OF_MANY if many else NEAR
        step = 1 << (max(self.ends[1].n_moved, self.ends[1].n_moved_of_x) // 4).bit_length()
        while step and left > 0:
            best = most_extreme(self.best, self.side)
            if best.labelling is None:
                return
            for counts in self._near(best.labelling.quadratic.counts, step):
                if counts not in tried and left > 0:
                    tried.add(counts)
                    self.refined(self._changed(best.labelling, counts))
                    left -= 1
            if most_extreme(self.best, self.side).value == best.value:
                step //= 2

    def _near(self, counts: Counts, step: int) -> list[Counts]:
        """Return the pairs that differ by a step in one or both numbers."""
        ways = [(m, m_d) for m in (-step, 0, step) for m_d in (-step, 0, step) if m or m_d]
        pairs = {(each.n_moved, each.n_moved_of_x): each for each in self.of.task.admissible}
        near = (pairs.get((counts.n_moved + m, counts.n_moved_of_x + m_d)) for m, m_d in ways)
        return [each for each in near if each is not None]

    def _changed(self, labelling: Labelling, counts: Counts) -> Labelling:
        """Return the labelling of a pair that another one's labelling asks for."""
        f, here = self.quadratic(counts), labelling.pooled(np.flatnonzero(labelling.moved))
        filed = Labelling(f)
        there = here[(here >= filed.active.start) & (here < filed.active.stop)] - filed.active.start
        asked = Labelling(f, there)
        return Labelling(f, leading(filed, outwards(self.side) * filed.sign * asked.gradient()))

    def by_pair(self, of_sizes: list[Float64s]) -> Float64s:
        """Return what is known of each pair, in the order of the task, from what is known of each size."""
        return np.asarray(np.concatenate(of_sizes)[self._order])

    def size_of(self, counts: Counts) -> SameSizes:
        """Return the pairs of the same sizes."""
        return self.sizes[self._size_of[counts.n_x]]

    def place(self, counts: Counts) -> int:
        """See `CountRange`."""
        return self._places[counts]


class LowerPairs(PairRange):
    """The lower side."""

    side = "lower"

    def __init__(self, of: RangeSearch, last: Found, slack: float, left: float) -> None:
        super().__init__(of, last, slack, left)
        self._floors = FloorsBySize(self.totals, self.estimator, self.sizes, is_dense=of.is_dense)

    def proofs(self) -> Float64s:
        """See `CountRange`."""
        return self.by_pair(self._floors.floors)

    def solve(self, counts: Counts) -> bool:
        """See `CountRange`; the sizes of the largest pair come first, then both ends."""
        wanted = [self._floors.corner, 0, len(self.sizes) - 1]
        wanted = [i for i in dict.fromkeys(wanted) if self.sizes[i].most not in self.solved]
        most = self.size_of(counts).most
        if not wanted and most in self.solved:
            return False
        for i in wanted or [self._size_of[counts.n_x]]:
            self.solved.add(self.sizes[i].most)
            start = (
                self.started()
                if self.sizes[i].most == self.ends[1]
                else self._floors.start(self.sizes[i].most)
            )
            effort = Effort(1.0 if self.of.is_dense else max(self.left, LEAST), self.of.task.meter)
            self.refined(self._floors.solve(i, start, self.slack / 4, effort))
            self.left -= effort.spent
        return True


class UnprovedPairs(NoFloors, PairRange):
    """The lower side where nothing can be proved: the labelling of the largest pair."""


class UpperPairs(PairRange):
    """The upper side."""

    side = "upper"

    def __init__(self, of: RangeSearch, last: Found, slack: float, left: float) -> None:
        super().__init__(of, last, slack, left)
        self._ceilings = PairCeilings(self.totals, self.estimator, self.sizes)
        self._multipliers: Float64s | None = None  # in units of kernel values
        self.may_search = self.is_dense_above
        if last.row_bounds is not None:
            known = most_extreme(self.best, "upper").value + self.slack
            self._ceilings.lower(ThresholdsOfPartners(last.row_bounds), known)
        if self.is_dense_above:
            self.solve(self.ends[1])

    def proofs(self) -> Float64s:
        """See `CountRange`."""
        return self.by_pair(self._ceilings.ceilings)

    def solve(self, counts: Counts) -> bool:
        """See `CountRange`; without a matrix a labelling of the pair is sought, and no proof."""
        if counts in self.solved:
            return False
        self.solved.add(counts)
        f, is_first = self.quadratic(counts), self._multipliers is None
        if not self.is_dense_above:
            self.refined(StepwiseDominance().from_quadratic(f, "upper"))
            return True
        problem, known = QuotaProblem.of(Labelling(f), "upper"), most_extreme(self.best, "upper").value
        is_forced = problem.forced()[0] is not problem
        if not counts.n_moved_of_x or (is_forced and not is_first):
            return False
        effort = Effort(max(self.left, LEAST), self.of.task.meter)
        if is_forced:  # multipliers are fitted where something is to be chosen in both groups
            none = np.zeros(len(problem.rows))
            proof = ScoreBound(problem, np.inf, none, np.inf, none, (np.zeros(problem.pairs.shape),))
        else:
            state = () if self._multipliers is None else (f.c * self._multipliers,)
            how = {"is_root": is_first, "squares": self.of.with_squares}
            proof = ceiling(problem, known, known + self.slack, effort, state, **how)
        effort.spend(RANKING * len(problem.rows) ** 2)
        self.left -= effort.spent
        self._multipliers = proof.state[0] / f.c
        self._ceilings.lower(PartnerSums.of(problem, proof, f.c), known + self.slack)
        return True
