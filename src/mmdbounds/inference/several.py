"""Floors and p-values of several kernels together, count by count.

What `worst_case` does for one kernel, for the maximum over kernels of their standardised statistics. The
largest of the kernels' floors is a floor of the maximum. It need not be reached by any labelling even if
each of them is by one, because these labellings differ; `is_tight` says whether one comes near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmdbounds.contamination import Counts
from mmdbounds.inference.permutation import PermutationNull, blind_order
from mmdbounds.inference.worst_case import MOST_TIGHTENED, NEARLY, CountOutcome, WorstCase
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.sums.protocol import Float64s

N_SCALING, STREAM = 200, 13
"""Permutations for means and standard deviations, and what keeps them apart from those that are counted."""


class Member:
    """One of the kernels: its floors, and its statistic on the scale of its null.

    Parameters
    ----------
    problem, admissible, n_permutations, seed, meter
        As in `WorstCase`. The seed, not the kernel, decides on the permutations.
    """

    def __init__(
        self, problem: Problem, admissible: list[Counts], n_permutations: int, seed: int, meter: Meter
    ) -> None:
        self.problem = problem
        self.worst = WorstCase(problem, admissible, n_permutations, seed, meter)
        sizes = sorted({problem.p, *(counts.n_x for counts in self.worst.considered)})
        order, others = blind_order(problem), np.random.default_rng([seed, STREAM])
        null = PermutationNull(self.worst.totals, problem.estimator, order, N_SCALING, others).values(sizes)
        self.centre = dict(zip(sizes, null.mean(axis=0).tolist(), strict=True))
        self.spread = dict(zip(sizes, null.std(axis=0).tolist(), strict=True))

    def standardised(self, values: Any, counts: Counts) -> Float64s:
        """Return statistics in standard deviations of the null."""
        spread = self.spread[counts.n_x]
        if spread <= self.worst.tolerance(counts):  # a constant kernel tells no two labellings apart
            return np.zeros(np.shape(values))
        return np.asarray((values - self.centre[counts.n_x]) / spread)

    def value(self, other: CountOutcome) -> float:
        """Return this kernel's statistic for a labelling that was found with another kernel."""
        f = Quadratic(self.worst.totals, other.counts, self.problem.estimator)
        labelling, found = Labelling(f), other.found
        labelling.move(np.concatenate([found.rows_of_x, labelling.n_active_x + found.rows]))
        return labelling.value()


@dataclass(frozen=True, eq=False)
class Together:
    """What is known of one count, all kernels together; see `CountOutcome`.

    Attributes
    ----------
    each
        What each kernel by itself says.
    floor
        The largest standardised floor: no labelling has a smaller maximum.
    value
        The smallest maximum over the labellings found.
    is_proved
        Whether a kernel has a proof; those that have none are left out of the floor.
    """

    counts: Counts
    each: tuple[CountOutcome, ...]
    floor: float
    value: float
    pvalue: float
    attained: float
    is_proved: bool


class Several:
    """The p-values of all admissible counts, all kernels together."""

    def __init__(self, members: list[Member]) -> None:
        self.members = members

    def outcomes(self) -> list[Together]:
        """Return what is known of each count, tight where it matters; as `WorstCase.outcomes` does."""
        together = [self.outcome(counts) for counts in self.members[0].worst.considered]
        for _ in range(MOST_TIGHTENED):
            worst = max(range(len(together)), key=lambda i: together[i].pvalue)
            last = together[worst].pvalue
            if is_tight(together):
                break
            together[worst] = self._tightened(together[worst])
            if together[worst].pvalue >= last:  # as tight as is affordable
                break
        return together

    def outcome(self, counts: Counts) -> Together:
        """Return what is known of one count from cheap proofs."""
        return self._together(counts, [member.worst.outcome(counts) for member in self.members])

    def null_of(self, counts: Counts) -> Float64s:
        """Return the maximum over the kernels on random labellings of these sizes."""
        nulls = [m.standardised(m.worst.null_of(counts), counts) for m in self.members]
        return np.asarray(np.max(nulls, axis=0))

    def at(self, values: Sequence[float], counts: Counts) -> float:
        """Return the maximum for one statistic of each kernel, each lowered by what ties are worth."""
        pairs = zip(self.members, values, strict=True)
        return max(float(m.standardised(value - m.worst.tolerance(counts), counts)) for m, value in pairs)

    def pvalue(self, level: float, counts: Counts) -> float:
        """Return the share of labellings, the true one included, whose maximum is no smaller."""
        null = self.null_of(counts)
        return float(1 + np.count_nonzero(null >= level)) / (1 + len(null))

    def _values(self, one: CountOutcome, each: list[CountOutcome]) -> list[float]:
        """Return every kernel's statistic for the labelling that one of them found."""
        pairs = zip(self.members, each, strict=True)
        return [own.found.value if own is one else member.value(one) for member, own in pairs]

    def _tightened(self, known: Together) -> Together:
        """Prove more for the kernels that could raise the floor of this count."""
        each = list(known.each)
        for k, member in enumerate(self.members):
            if float(member.standardised(each[k].found.value, known.counts)) > known.floor:
                each[k] = member.worst.tightened(each[k])
        return self._together(known.counts, each)

    def _together(self, counts: Counts, each: list[CountOutcome]) -> Together:
        is_proved = any(one.is_proved for one in each)
        floors = [one.floor if one.is_proved or not is_proved else -np.inf for one in each]
        floor = self.at(floors, counts)
        value = min(self.at(self._values(one, each), counts) for one in each)
        return Together(
            counts=counts,
            each=tuple(each),
            floor=floor,
            value=value,
            pvalue=self.pvalue(floor, counts),
            attained=self.pvalue(value, counts),
            is_proved=is_proved,
        )


def is_tight(together: list[Together]) -> bool:
    """Return whether some labelling has the largest p-value, or nearly."""
    largest = max(one.pvalue for one in together)
    return (1 - NEARLY) * largest <= max(one.attained for one in together)
