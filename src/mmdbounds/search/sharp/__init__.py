"""Sharp bounds: the best labelling found on each side, and a proof of how far the extreme can be from it.

One side searches all admissible counts: starts, refinement, proof (docs/sharp.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import ClassVar, Literal

import numpy as np

from mmdbounds.checks import check_count, check_share
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError, shown_value
from mmdbounds.objective import Indices, Labelling, Quadratic
from mmdbounds.progress import Meter
from mmdbounds.results import Side
from mmdbounds.search.exchanges import refine
from mmdbounds.search.protocol import (
    Found,
    Method,
    RowBounds,
    Task,
    for_both_sides,
    leading,
    most_extreme,
    outwards,
)
from mmdbounds.search.sharp.at_most import FEW, RangeSearch, best_on_the_way
from mmdbounds.search.sharp.both_ways import PairSearch, largest_last, searched_apart, some_pairs
from mmdbounds.search.sharp.ceiling import ceiling as relax_above
from mmdbounds.search.sharp.floor import Floor, raised
from mmdbounds.search.sharp.leading_rows import LeadingRows, few_are_chosen, rows_that_fit, separable
from mmdbounds.search.sharp.learned import LearnedMultipliers
from mmdbounds.search.sharp.quota_problem import (
    BranchAndBound,
    Effort,
    QuotaProblem,
    Relaxation,
    exchanged,
)
from mmdbounds.search.sharp.starting_points import starts, upper_starts_from_sample
from mmdbounds.search.sharp.through_sums import SharedRows
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.sums.plan import MIB
from mmdbounds.sums.protocol import KernelSums

PATIENT = 20.0  # how many times more a proof may spend with ``certify=True`` than with ``"auto"``
FIRST_STARTS = {"lower": 2, "upper": 6}  # starts that are refined before the first proof is tried
DENSE_ROWS = 2500  # up to this many active rows, the proofs hold a matrix of them (if the budget allows)...
MORE_ABOVE = 1.45  # ... and up to this many times as many that of the upper side
MATRICES, FEWEST_MATRICES = 10, 4  # most matrices of them that a proof holds at once, and without squares
EFFORT, EFFORT_OF_PAIR = 1e8, 150.0  # a second, and 1.5 microseconds for each pair of active rows...
BRANCHED_ROWS = 300  # ... of which the second shrinks beyond this many rows: branches settle fewer of them...
ROUNDS_ROWS = 1000  # ... and the rest grows with the rows alone beyond this many: fewer rounds are needed...
EFFORT_THROUGH_SUMS = 1e9, 0.05  # ... or ten seconds, and half a nanosecond for each pooled pair
ROUGHLY = 0.25  # share of the slack that the shares of a relaxation may be off
SEVERAL_STARTS = 25_000  # up to this many rows, a lower side that is not proved gets more starts
NEAR = 1e-2  # of the gain: a proof by leading rows that is as near is not tried again by learning
FAR = 100.0  # times the slack: a proof that is as far from the gain is compared with that of no multipliers
SHARED = 1e-3  # where rows are many, shares start a search once their gap is this part of S-SD's...
WORTH = 1e-6  # ... and a round of exchanges must gain this part of what the labelling has gained


@dataclass(frozen=True)
class Sharp(Method):
    """Sharp bounds with a certificate: S-SD and other starts, refined, then proved.

    Parameters
    ----------
    n_starts
        Starts to refine on each side, S-SD first; no more are tried once a proof shows that there is
        nothing left to find.
    certify
        What a proof may spend. ``"auto"`` is a fixed amount of work, the same on every machine: a few
        seconds' worth. Beyond 3,600 rows that may move (fewer if `working_memory` is small) the upper side
        takes a fixed number of steps on samples instead, and one pass over the pairs of these rows;
        ``mmdbounds bounds --dry-run`` says how long that takes. `True` may spend up to twenty
        times as much; on samples, it takes about twice the steps and twice the rows. `False` proves nothing.
    gap
        Distance between the proved and the attained value, as a share of the attained width, at which a
        proof stops early; 0 continues until the labelling is proved to be the extreme one.
    """

    n_starts: int = 16
    certify: Literal["auto"] | bool = "auto"
    gap: float = 1e-3
    name: ClassVar[str] = "sharp"
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_starts", check_count(self.n_starts, "n_starts", least=1))
        if not (isinstance(self.certify, bool) or (isinstance(self.certify, str) and self.certify == "auto")):
            msg = f"`certify` must be 'auto', True or False; got {shown_value(self.certify)}."
            raise MmdBoundsError(msg)
        check_share(self.gap, "gap")

    @property
    def _patience(self) -> float | None:
        return {True: PATIENT, "auto": 1.0, False: None}[self.certify]

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse nothing: rows that cannot move and limits are obeyed."""

    def both_sides(self, task: Task) -> tuple[Found, Found]:
        """Return the lower and the upper extreme over all admissible counts."""
        return sharp_sides(task, self.n_starts, self.gap, self._patience)


def sharp_sides(task: Task, n_starts: int, gap: float, patience: float | None) -> tuple[Found, Found]:
    """Return both extremes; `patience` is what a proof may spend (1: a second or so; `None`: no proof)."""
    many = len(task.admissible) > FEW
    if many and patience is None and not any(counts.n_moved_of_x for counts in task.admissible):
        return _without_proofs(task, n_starts)
    if many and patience is not None and len(parts := searched_apart(task.admissible)) > 1:
        ends = [sharp_sides(replace(task, admissible=part), n_starts, gap, patience) for part in parts]
        lower, upper = (list(ends_of_side) for ends_of_side in zip(*ends, strict=True))
        return most_extreme(lower, "lower"), most_extreme(upper, "upper")
    if many and patience is not None:
        of = range_search(task, n_starts, gap)
        largest = replace(task, admissible=of.task.admissible[-1:])
        return of.both_sides(*_searched(largest, n_starts, gap, patience))
    if patience is None and any(counts.n_moved_of_x for counts in task.admissible):
        task = replace(task, admissible=some_pairs(task.admissible))
    return _searched(task, n_starts, gap, patience)[0]


def _searched(
    task: Task, n_starts: int, gap: float, patience: float | None
) -> tuple[tuple[Found, Found], tuple[float, float]]:
    """Return both extremes, each count searched by itself, and the work of each side's proofs."""
    certify = patience is not None
    lower, upper = for_both_sides(lambda side: SideSearch(task, side, n_starts, certify=certify), task)
    slack = gap * max(upper.best_gain + lower.best_gain, 0.0)  # gains of the lower side are negative values
    sides = {"lower": lower, "upper": upper}
    (task.meter or Meter()).phase("proof")
    found = for_both_sides(lambda side: most_extreme(sides[side].finish(slack, patience or 0.0), side), task)
    return found, (lower.spent, upper.spent)


def _without_proofs(task: Task, n_starts: int) -> tuple[Found, Found]:
    """Return both extremes over many one-way counts: of the ends, and of the best count on the way."""

    def search(counts: Counts, side: Side) -> Found:
        one = SideSearch(replace(task, admissible=[counts]), side, n_starts, certify=False)
        return one.finish(0.0, 0.0)[0]

    def find(side: Side) -> Found:
        first, last = (search(counts, side) for counts in (task.admissible[0], task.admissible[-1]))
        place = best_on_the_way(first, last, side)
        between = [search(task.admissible[place], side)] if 0 < place < len(task.admissible) - 1 else []
        return most_extreme([first, *between, last], side)

    return for_both_sides(find, task)


def range_search(task: Task, n_starts: int, gap: float) -> RangeSearch:
    """Return the search of many counts at once."""
    sums, two_way = task.totals.sums, any(counts.n_moved_of_x for counts in task.admissible)
    if two_way:
        task = replace(task, admissible=largest_last(task.admissible))
    active = task.admissible[-1].may_move(task.totals.p, task.totals.q)
    n = sums.n_rows if two_way else active.stop - active.start
    is_dense = matrices_fit(n, "lower", sums.working_memory)

    def search(counts: Counts, side: Side, slack: float, patience: float) -> tuple[Found, float]:
        one = SideSearch(replace(task, admissible=[counts]), side, n_starts, certify=True)
        return one.finish(slack, patience)[0], one.spent

    fixed, each = (EFFORT, EFFORT_OF_PAIR) if is_dense else EFFORT_THROUGH_SUMS
    unit = fixed + each * (n if is_dense else sums.n_rows) ** 2
    squares = matrices_fit(active.stop - active.start, "upper", sums.working_memory, MATRICES)
    floors = is_dense or sums.is_positive_definite
    kind = PairSearch if two_way else RangeSearch
    return kind(task, search, refine_enough, is_dense, floors, squares, unit, gap)


def refine_enough(labelling: Labelling, side: Side) -> None:
    """Refine a labelling: as far as it goes, or, where rows are many, as far as it pays."""
    many = len(labelling.sign) > DENSE_ROWS
    gained = labelling.value() - labelling.quadratic.value_as_filed
    refine(labelling, side, WORTH * abs(gained) if many else 0.0)


def matrices_fit(n: int, side: Side, working_memory: float, n_matrices: int = 0) -> bool:
    """Return whether a proof may hold so many matrices of n active rows; by default, those it needs."""
    more, fewest = (MORE_ABOVE, FEWEST_MATRICES) if side == "upper" else (1.0, MATRICES)
    return n <= more * DENSE_ROWS and 8 * n * n * (n_matrices or fewest) <= working_memory * MIB


def dense_effort(n: int) -> float:
    """Return what a proof with a matrix of `n` active rows may spend."""
    branching = EFFORT * min(1.0, BRANCHED_ROWS / n) ** 2
    return branching + EFFORT_OF_PAIR * n * min(n, ROUNDS_ROWS)


def effort_through_sums(sums: KernelSums, meter: Meter | None, patience: float = 1.0) -> Effort:
    """Return what a proof without a matrix may spend."""
    fixed, each = EFFORT_THROUGH_SUMS
    return Effort(patience * (fixed + each * sums.n_rows**2), meter)


class SideSearch:
    """The search of one side, from `n_starts` starts for each count.

    With `certify` some of the starts wait until a proof has been tried. `best_gain` is the largest gain
    reached with any count; a gain is minus the value on the lower side.
    """

    def __init__(self, task: Task, side: Side, n_starts: int, *, certify: bool) -> None:
        self._task, self._side, self._out, self._certify = task, side, outwards(side), certify
        self._quadratics = [Quadratic(task.totals, counts, task.estimator) for counts in task.admissible]
        self._shared: dict[int, SharedRows] = {}
        self._efforts: list[Effort] = []
        self._row_bounds: dict[int, RowBounds] = {}
        self._waiting = [self._refined(i, n_starts) for i in range(len(self._quadratics))]
        many = len(Labelling(self._quadratics[0]).sign) > DENSE_ROWS
        now = (1 if many and side == "lower" else FIRST_STARTS[side]) if certify else n_starts
        self._best = [max(islice(some, now), key=self._gain) for some in self._waiting]
        self.best_gain = max(map(self._gain, self._best))

    def finish(self, slack: float, patience: float) -> list[Found]:
        """Prove what can be proved, with improvements on the way; return what was found for each count."""
        if not self._certify:
            return [Found.at(best, status="refined") for best in self._best]
        patience /= np.sqrt(len(self._best))
        # The most extreme count first: what it reaches makes the proofs of the others easier.
        order = sorted(range(len(self._best)), key=lambda i: -self._gain(self._best[i]))
        found = {i: self._proved(i, slack, patience) for i in order}
        return [found[i] for i in range(len(self._best))]

    @property
    def spent(self) -> float:
        """The work of all proofs so far."""
        return sum(effort.spent for effort in self._efforts)

    def _gain(self, labelling: Labelling) -> float:
        return self._out * labelling.value()

    def _refined(self, i: int, n_starts: int) -> Iterator[Labelling]:
        """Yield local optima of one count, each from another start."""
        rng = np.random.default_rng([self._task.seed, self._side == "upper", i])
        filed = Labelling(self._quadratics[i])
        if not filed.parts():
            n_starts = 1
        elif self._side == "lower" and len(filed.sign) > DENSE_ROWS:
            n_starts = min(n_starts, FIRST_STARTS["lower"])  # costly here
            if self._task.totals.sums.is_positive_definite:
                yield self._rounded(i)
                n_starts = n_starts if len(filed.sign) <= SEVERAL_STARTS else 0
        every = starts(filed.quadratic, self._side, rng)
        if self._side == "upper" and len(filed.sign) > DENSE_ROWS:
            every = upper_starts_from_sample(filed.quadratic, rng, n_starts)
        for labelling in islice(every, n_starts):
            self._refine(labelling)
            yield labelling

    def _rounded(self, i: int) -> Labelling:
        """Return the labelling of whole rows nearest to the best shares; with many rows, nearly the best."""
        start = StepwiseDominance().from_quadratic(self._quadratics[i], "lower")
        shared = self._shared[i] = SharedRows(start)
        shared.improve(SHARED * shared.gap, self._effort_through_sums(1.0))
        best = max(start, Labelling(self._quadratics[i], leading(start, shared.share)), key=self._gain)
        self._refine(best)
        return best

    def _refine(self, labelling: Labelling) -> None:
        refine_enough(labelling, self._side)

    def _effort_through_sums(self, patience: float) -> Effort:
        effort = effort_through_sums(self._task.totals.sums, self._task.meter, patience)
        self._efforts.append(effort)
        return effort

    def _improved(self, i: int, rows: Indices, *, more: bool = True) -> tuple[float, Indices]:
        """Refine what a proof suggests and, if there may be `more` to find, the starts still waiting."""
        suggested = Labelling(self._quadratics[i], rows)
        self._refine(suggested)
        self._best[i] = max([self._best[i], suggested, *(self._waiting[i] if more else ())], key=self._gain)
        self.best_gain = max(self.best_gain, self._gain(self._best[i]))
        return self._gain(self._best[i]), np.flatnonzero(self._best[i].moved)

    def _proved(self, i: int, slack: float, patience: float) -> Found:
        """Return the best labelling of one count with its proof."""
        n, sums = len(self._best[i].sign), self._task.totals.sums
        if all(quota == part.stop - part.start for part, quota in self._best[i].parts()):
            self._take_float64(i)  # there is one labelling
            bound: float | None = self._gain(self._best[i])
            status = ""
        elif matrices_fit(n, self._side, sums.working_memory):
            effort = Effort(patience * dense_effort(n), self._task.meter)
            self._efforts.append(effort)
            bound, status = self._branched(i, slack, effort, sums.working_memory * MIB / 2)
        else:
            bound, status = self._through_sums(i, slack, patience)
        f = self._quadratics[i]
        margin = f.margin_by_gradient  # what rounding can do
        if self._side == "upper":
            margin = f.margin_of_those_that_stay if self._best[i].stays() else f.margin
        most = f.totals.ceiling if self._side == "upper" else np.inf  # which is less where few rows stay
        certified = None if bound is None else self._out * min(bound + margin, most)
        known_of_rows = self._row_bounds.get(i)
        found = Found.at(self._best[i], status=status, row_bounds=known_of_rows)
        return found.proved(certified, self._side)

    def _branched(self, i: int, slack: float, effort: Effort, room: float) -> tuple[float, str]:
        """Prove by branch and bound."""
        self._take_float64(i)
        problem = QuotaProblem.of(Labelling(self._quadratics[i]), self._side)
        memory = self._task.totals.sums.working_memory
        with_squares = matrices_fit(len(problem.rows), self._side, memory, MATRICES)
        relax: Relaxation = partial(relax_above, squares=with_squares)
        if self._side == "lower":
            relax = self._floor(i, problem, slack)
        flipped = np.zeros(len(problem.rows), dtype=np.bool_)
        if self._side == "upper":
            problem, flipped = problem.by_those_that_stay()

        def improve(chosen: Indices) -> tuple[float, Indices]:
            gain, rows = self._improved(i, exchanged(chosen, flipped))
            return gain, exchanged(rows, flipped)

        climbs = self._side == "upper"
        search = BranchAndBound(relax, self.best_gain, slack, effort, improve, room, climbs=climbs)
        proof = search.run(problem)
        if proof.rows is not None:
            improve(proof.rows)
        bound, n = max(proof.bound, self.best_gain), proof.n_nodes
        return bound, f"branch and bound: {n:,} branch{'' if n == 1 else 'es'}" if n else ""

    def _floor(self, i: int, problem: QuotaProblem, slack: float) -> Floor:
        f, labelling = self._quadratics[i], self._best[i]
        diagonal = f.c * f.totals.diagonal[labelling.active]
        if not f.totals.sums.is_positive_definite:
            diagonal = raised(problem, diagonal)
        return Floor(diagonal, np.flatnonzero(labelling.moved), max(ROUGHLY * slack, f.totals.margin))

    def _through_sums(self, i: int, slack: float, patience: float) -> tuple[float | None, str]:
        """Prove without a matrix; return the bound, if there is one, and the status."""
        labelling, effort = self._best[i], self._effort_through_sums(patience)
        if self._side == "upper":
            return self._learned(i, slack, patience, effort), ""
        if not self._task.totals.sums.is_positive_definite:
            return None, "too many rows to check that the kernel is positive definite"
        shared = self._shared.get(i) or SharedRows(labelling)
        shared.improve(max(ROUGHLY * slack, self._task.totals.precise.margin), effort)
        suggested = leading(labelling, shared.share)
        self._take_float64(i)
        floor = shared.floor(self._quadratics[i])
        self._improved(i, suggested, more=-floor > self.best_gain + slack)
        return -floor, ""

    def _learned(self, i: int, slack: float, patience: float, effort: Effort) -> float:
        """Prove by multipliers that are fitted to the best labelling: more steps where there is patience."""
        self._improved(i, np.flatnonzero(self._best[i].moved))
        self._take_float64(i)
        bound = self._by_leading_rows(i, slack, patience)
        if bound <= self.best_gain + max(slack, NEAR * abs(self.best_gain)):
            return bound
        multipliers = LearnedMultipliers(self._best[i], self._task.seed)
        multipliers.fit(self.best_gain, slack, patience, effort)
        for is_last in (False, True):
            learned = multipliers.ceiling(self._quadratics[i], effort)
            if learned < bound and multipliers.row_bounds is not None:
                self._row_bounds[i] = multipliers.row_bounds
            bound = min(bound, learned)
            if is_last or bound <= self.best_gain + FAR * slack:
                break
            multipliers.forget()  # what was learned on samples may be worse than nothing
        return min(bound, separable(self._best[i]))

    def _by_leading_rows(self, i: int, slack: float, patience: float) -> float:
        """Prove by a matrix of the rows that add most alone, where few of many rows are chosen."""
        labelling, memory = self._best[i], self._task.totals.sums.working_memory
        n_leading = rows_that_fit(memory, FEWEST_MATRICES)
        if not few_are_chosen(labelling, n_leading):
            return np.inf
        effort = Effort(patience * dense_effort(n_leading), self._task.meter)
        self._efforts.append(effort)
        squares = n_leading <= rows_that_fit(memory, MATRICES)
        rows = LeadingRows(labelling, n_leading)
        bound, self._row_bounds[i], suggested = rows.ceiling(
            self.best_gain, self.best_gain + slack, effort, squares=squares
        )
        self._improved(i, suggested, more=False)
        return bound

    def _take_float64(self, i: int) -> None:
        """Compute the proof, and the value beside it, from sums in float64, whatever the search used."""
        precise = self._task.totals.precise
        if precise is not self._task.totals:
            f = Quadratic(precise, self._task.admissible[i], self._task.estimator)
            waiting, self._quadratics[i] = self._waiting[i], f
            self._waiting[i] = (Labelling(f, np.flatnonzero(each.moved)) for each in waiting)
            self._best[i] = Labelling(f, np.flatnonzero(self._best[i].moved))
            self.best_gain = max(map(self._gain, self._best))
