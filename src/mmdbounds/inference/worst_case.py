"""The largest p-value over all labellings that the misfiling allows, count by count.

For each count a proved floor L of the statistic gives the p-value of its worst labelling or a larger
one. Floors are cheap; tight ones are not. So every count gets a cheap floor first, and only the
count whose p-value is the largest is made tighter, until a labelling reaches that p-value or nothing more is
affordable: the others provably cannot matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmdbounds.contamination import Counts
from mmdbounds.inference.permutation import PermutationNull
from mmdbounds.kernels import Precomputed
from mmdbounds.objective import Indices, observed_mmd2
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.search.found import Found, Task
from mmdbounds.search.one_side import OneSide
from mmdbounds.sums.bandwidth import canonical_order
from mmdbounds.sums.protocol import Float64s

CHEAP = 1e-9
"""Patience of a proof that may not branch."""

ROUGH = 0.02
"""What a cheap floor may be off by, in standard deviations of the null."""

NEARLY = 0.05
"""A p-value that exceeds one that a labelling has by no more than this share is tight enough."""

TOLERANCE = 1e-12
"""Statistics that differ by less, relative to the largest kernel value, are tied."""

LOWER_STARTS, UPPER_STARTS = 4, 8
"""Starts of a search that is to be tight."""

MOST_COUNTS, MOST_PAIRS = 2000, 2e9
"""More counts, or more pairs of rows that may move over all counts, are thinned to a grid."""

MOST_TIGHTENED = 50
"""Counts that are made tighter at the most."""


@dataclass(frozen=True, eq=False)
class CountOutcome:
    """What is known of one count of misfiled rows.

    Attributes
    ----------
    counts
        The count, and the true sizes.
    found
        The labelling with the smallest statistic found, and the floor that is proved.
    pvalue
        At the proved floor; at the value found where nothing is proved.
    attained
        At the value found: some labelling has this p-value.
    """

    counts: Counts
    found: Found
    pvalue: float
    attained: float

    @property
    def is_proved(self) -> bool:
        """Whether no labelling of this count has a larger p-value."""
        return self.found.certified is not None


class WorstCase:
    """The p-values of all admissible counts.

    Parameters
    ----------
    problem
        The groups and how they are compared.
    admissible
        The counts of misfiled rows.
    n_permutations
        Random labellings.
    seed
        Of everything that is drawn.
    meter
        Counts kernel values.

    Attributes
    ----------
    considered
        The counts that are tested: all, or a grid of them where they are too many.
    totals
        The sums over the pairs.
    observed
        The statistic of the groups as filed.
    """

    def __init__(
        self, problem: Problem, admissible: list[Counts], n_permutations: int, seed: int, meter: Meter
    ) -> None:
        self._problem, self._seed, self._meter = problem, seed, meter
        self.considered = thinned(admissible, problem.q)
        self.totals = problem.one_pass(meter)
        self.observed = observed_mmd2(self.totals, problem.estimator)
        sizes = sorted({problem.p, *(counts.n_x for counts in self.considered)})
        self._column = {size: place for place, size in enumerate(sizes)}
        rng = np.random.default_rng(seed)
        null = PermutationNull(self.totals, problem.estimator, self._order(), n_permutations, rng)
        self._null = null.values(sizes)
        self._tolerance = TOLERANCE * self.totals.scale

    def outcomes(self) -> list[CountOutcome]:
        """Return what is known of each count, tight where it matters."""
        found = [self.outcome(counts) for counts in self.considered]
        for _ in range(MOST_TIGHTENED):
            worst = max(range(len(found)), key=lambda i: found[i].pvalue)
            last = found[worst].pvalue
            if is_tight(found):
                break
            found[worst] = self.outcome(found[worst].counts, tight=True)
            if found[worst].pvalue >= last:  # as tight as is affordable
                break
        return found

    def outcome(self, counts: Counts, *, tight: bool = False) -> CountOutcome:
        """Return what is known of one count, from a cheap proof or from a tight one."""
        slack = 0.0 if tight else ROUGH * float(self.null_of(counts).std())
        search = OneSide(self._task(counts), "lower", LOWER_STARTS if tight else 1, certify=True)
        [found] = search.finish(slack, 1.0 if tight else CHEAP)
        proved = found.value if found.certified is None else found.certified
        return CountOutcome(counts, found, self.pvalue(proved, counts), self.pvalue(found.value, counts))

    def best_case(self, counts: Counts) -> float | None:
        """Return a p-value that no labelling undercuts, from the proved upper bound, if there is one."""
        [found] = OneSide(self._task(counts), "upper", UPPER_STARTS, certify=True).finish(0.0, 1.0)
        return None if found.certified is None else self.pvalue(found.certified, counts)

    def pvalue(self, value: float, counts: Counts) -> float:
        """Return the share of labellings, the true one included, with a statistic no smaller than `value`."""
        null = self.null_of(counts)
        return float(1 + np.count_nonzero(null >= value - self._tolerance)) / (1 + len(null))

    def null_of(self, counts: Counts) -> Float64s:
        """Return the statistic on random labellings of these sizes."""
        return self._null[:, self._column[counts.n_x]]

    def _task(self, counts: Counts) -> Task:
        return Task(self.totals, [counts], self._problem.estimator, self._seed, self._meter)

    def _order(self) -> Indices:
        """Return an order of the pooled rows that labels and places have no part in."""
        if isinstance(self._problem.kernel, Precomputed):
            return np.argsort(self.totals.to_x + self.totals.to_y, kind="stable")
        return canonical_order(self._problem.pooled)


def is_tight(outcomes: list[CountOutcome]) -> bool:
    """Return whether some labelling has the largest p-value, or nearly."""
    largest = max(outcome.pvalue for outcome in outcomes)
    return (1 - NEARLY) * largest <= max(outcome.attained for outcome in outcomes)


def thinned(admissible: list[Counts], q: int) -> list[Counts]:
    """Return the counts, or an even grid of them with both ends where all would take too long."""
    most = max(20, min(MOST_COUNTS, int(MOST_PAIRS / q**2)))
    if len(admissible) <= most:
        return admissible
    return [
        admissible[place]
        for place in np.unique(np.linspace(0, len(admissible) - 1, most).round().astype(int))
    ]
