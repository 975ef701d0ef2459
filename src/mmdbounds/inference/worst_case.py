"""The largest p-value over all labellings that the misfiling allows, count by count.

For each count a proved floor L of the statistic gives the p-value of its worst labelling or a larger
one. Floors are cheap; tight ones are not. So every count gets a cheap floor first, and only the
count whose p-value is the largest is made tighter, until a labelling reaches that p-value or nothing more is
affordable: the others provably cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mmdbounds.counts import Counts
from mmdbounds.inference.floor_pvalues import CountOutcome, FloorPvalues, Outcome
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.results import Side
from mmdbounds.search.protocol import Found, Task, outwards, spread_evenly
from mmdbounds.search.sharp import SideSearch
from mmdbounds.sums.threads import one_blas_thread

CHEAP = 1e-9  # patience of a proof that may not branch
ROUGH = 0.02  # what a cheap floor may be off by, in standard deviations of the null
NEARLY = 0.05  # A p-value that exceeds one that a labelling has by no more than this share is tight enough
LOWER_STARTS = 4  # starts of a search that is to be tight
PATIENT = 20.0  # patience of a proof on which a decision depends

MOST_COUNTS, MOST_PAIRS, FEWEST_COUNTS = 2000, 2e9, 20
"""More counts, or more pairs of rows that may move over all counts, are thinned to a grid (of some)."""

MOST_TIGHTENED = 50  # counts that are made tighter at the most

Known = TypeVar("Known", bound=Outcome)


class WorstCase(FloorPvalues):
    """The p-values of all admissible counts, or of an even grid of them (`considered`) if too many."""

    def __init__(
        self,
        problem: Problem,
        admissible: list[Counts],
        n_permutations: int,
        seed: int,
        meter: Meter,
        also: Sequence[Counts] = (),
        like: FloorPvalues | None = None,
    ) -> None:
        self._problem, self._seed, self._meter = problem, seed, meter
        self.considered = self._chosen(admissible)
        self._known: dict[Counts, CountOutcome] = {}
        self._is_tightened = set[tuple[Counts, float]]()  # at which patience
        sizes = sorted({problem.p, *(counts.n_x for counts in (*self.considered, *also))})
        super().__init__(problem, sizes, n_permutations, seed, meter, like)

    @property
    def n_covered(self) -> int:
        """How many counts the outcomes speak of."""
        return len(self.considered)

    def _chosen(self, admissible: list[Counts]) -> list[Counts]:
        """Return the counts to consider: a grid where each by itself would take too long."""
        return thinned(admissible, self._problem.q)

    def outcomes(self, level: float | None = None) -> list[CountOutcome]:
        """Return what is known of each count, tight where it matters, until `level` is decided about."""
        found = [self._numbered(i) for i in range(len(self.considered))]
        self._meter.phase("worst count")
        return self.decided(tighten(found, self._closer_outcome, is_tight), level)

    def decided(self, found: list[CountOutcome], level: float | None) -> list[CountOutcome]:
        """Look closer at counts above the level until a labelling is above it as well, or no count is."""
        stuck = set[Counts]()
        while level is not None and len(stuck) < MOST_TIGHTENED:
            above = [each for each in found if each.pvalue > level]
            if any(each.attained > level for each in above):
                break
            if not (looked_at := [each for each in above if each.counts not in stuck]):
                break
            worst = max(looked_at, key=lambda each: each.pvalue)
            if self.closer(worst.counts, level=level):
                found = [self.outcome(each.counts) for each in found]
            else:
                stuck.add(worst.counts)
        return found

    def _closer_outcome(self, outcome: CountOutcome) -> CountOutcome:
        """Return what is known of a count with a tighter floor."""
        self.closer(outcome.counts)
        return self.outcome(outcome.counts)

    def _numbered(self, i: int) -> CountOutcome:
        self._meter.phase("count", i, len(self.considered))
        return self.outcome(self.considered[i])

    def outcome(self, counts: Counts) -> CountOutcome:
        """Return what is known of one count: from a cheap proof, if nobody looked closer."""
        if counts not in self._known:
            found = self._search(counts, "lower", 1, self._rough(counts), CHEAP)
            self._known[counts] = self._outcome(counts, found)
        return self._outcome(counts, self._known[counts].found)

    def tightened(self, outcome: CountOutcome, patience: float = 1.0) -> CountOutcome:
        """Return what is known of a count once more is spent on it."""
        return self.improved(outcome, self._search(outcome.counts, "lower", LOWER_STARTS, 0.0, patience))

    def closer(self, counts: Counts, *, level: float | None = None) -> bool:
        """Look closer at a count, so that its next outcome is better; return whether that was possible.

        For a decision at a level more is spent, if that is what it takes.
        """
        for patience in (1.0, PATIENT)[: 1 if level is None else 2]:
            if (counts, patience) not in self._is_tightened:
                self._is_tightened.add((counts, patience))
                self._known[counts] = self.tightened(self.outcome(counts), patience)
                return True
        return False

    def improved(self, outcome: CountOutcome, other: Found) -> CountOutcome:
        """Return what is known of a count with what another search has found as well."""
        # A value whose labelling was not kept (`EveryCount`) is worth less.
        best = min(outcome.found, other, key=lambda found: (found.labelling is None, found.value))
        proved = [each.certified for each in (outcome.found, other) if each.certified is not None]
        return self._outcome(outcome.counts, best.proved(max(proved, default=None), "lower"))

    def task(self, counts: Counts) -> Task:
        """Return the search of one count."""
        return Task(self.totals, [counts], self._problem.estimator, self._seed, self._meter)

    def _rough(self, counts: Counts) -> float:
        return ROUGH * float(self.null.deviations[self._column[counts.n_x]])

    def _outcome(self, counts: Counts, found: Found) -> CountOutcome:
        floor = found.value if found.certified is None else found.certified
        return CountOutcome(counts, found, self.pvalue(floor, counts), self.pvalue(found.value, counts))

    def _search(self, counts: Counts, side: Side, n_starts: int, slack: float, patience: float) -> Found:
        if not (counts.n_moved or counts.n_moved_of_x):  # the groups are as filed: nothing to look for
            f = Quadratic(self.totals.precise, counts, self._problem.estimator)
            proved = f.value_as_filed + outwards(side) * f.margin
            return Found(self.observed, Labelling(f)).proved(proved, side)
        with one_blas_thread():  # two threads would add in another order than one
            [found] = SideSearch(self.task(counts), side, n_starts, certify=True).finish(slack, patience)
        return found


def is_tight(outcomes: Sequence[Outcome]) -> bool:
    """Return whether some labelling has the largest p-value, or nearly."""
    return is_near(*_largest(outcomes))


def is_open(outcomes: Sequence[Outcome], level: float | None) -> bool:
    """Return whether a p-value above `level` is neither excluded nor known of any labelling."""
    pvalue, attained = _largest(outcomes)
    return level is not None and attained <= level < pvalue


def _largest(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    return max(each.pvalue for each in outcomes), max(each.attained for each in outcomes)


def is_near(pvalue: float, attained: float) -> bool:
    """Return whether a proved p-value exceeds one that a labelling has by so little that it is tight."""
    return (1 - NEARLY) * pvalue <= attained


def tighten(
    outcomes: list[Known],
    tightened: Callable[[Known], Known],
    is_done: Callable[[list[Known]], bool],
) -> list[Known]:
    """Spend more on the count with the largest p-value until done or nothing is gained."""
    for _ in range(MOST_TIGHTENED):
        if is_done(outcomes):
            break
        place = max(range(len(outcomes)), key=lambda i: outcomes[i].pvalue)
        last, outcomes[place] = outcomes[place].pvalue, tightened(outcomes[place])
        if outcomes[place].pvalue >= last:  # as tight as is affordable
            break
    return outcomes


def thinned(admissible: list[Counts], q: int) -> list[Counts]:
    """Return the counts, or an even grid of them with both ends where all would take too long."""
    most = max(FEWEST_COUNTS, min(MOST_COUNTS, int(MOST_PAIRS / q**2)))
    return spread_evenly(admissible, most)
