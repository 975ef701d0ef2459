"""The p-values of floors, count by count: one null for each true size, and when values are ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.inference.null import Null, distinct_rows
from mmdbounds.inference.permutation import PermutationNull, blind_order
from mmdbounds.objective import GroupSums, lost, observed_mmd2
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.search.protocol import Found
from mmdbounds.sums.protocol import Float64s

DEVIATIONS = 32.0  # width of ties in float32, in those of a mean of kernel values; see `tolerance`
LARGEST = 0.05  # share of the labellings that lies above the quantile by which sizes are told


class Outcome(Protocol):
    """What tightening needs to know of a count: the p-value at what is proved, and one that is attained."""

    @property
    def counts(self) -> Counts:
        """How many rows are misfiled."""
        ...

    @property
    def pvalue(self) -> float:
        """At what is proved."""
        ...

    @property
    def attained(self) -> float:
        """At what some labelling reaches."""
        ...


@dataclass(frozen=True, eq=False)
class CountOutcome:
    """What is known of one count of misfiled rows: a labelling, a proved floor, and their p-values."""

    counts: Counts
    found: Found
    pvalue: float  # at the floor
    attained: float  # at the value found: some labelling has this p-value

    @property
    def is_proved(self) -> bool:
        """Whether no labelling of this count has a larger p-value."""
        return self.found.certified is not None

    @property
    def floor(self) -> float:
        """What is proved to be no larger than any labelling's statistic; the value found if nothing is."""
        return self.found.value if self.found.certified is None else self.found.certified


class FloorPvalues:
    """The nulls of all true sizes of X, and p-values of floors compared with them."""

    totals: GroupSums
    observed: float
    null: Null
    _column: dict[int, int]

    def __init__(
        self,
        problem: Problem,
        sizes: list[int],
        n_permutations: int,
        seed: int,
        meter: Meter,
        like: FloorPvalues | None = None,
    ) -> None:
        self._problem = problem
        if like is not None:  # has these sizes, and more
            self.totals, self.observed = like.totals, like.observed
            self._column, self.null = like._column, like.null
            return
        self.totals = problem.one_pass(meter)
        self.observed = observed_mmd2(self.totals, problem.estimator)
        self._column = {size: place for place, size in enumerate(sizes)}
        order, rng = blind_order(problem), np.random.default_rng(seed)
        labellings = PermutationNull(self.totals, problem.estimator, order, n_permutations, rng, meter)
        self.null = labellings.null(distinct_rows(problem, order), sizes)

    def pvalue(self, value: float, counts: Counts) -> float:
        """Return the share of labellings, the true one included, whose statistic is no smaller."""
        return self.null.pvalue(value - self.tolerance(counts), self._column[counts.n_x])

    def pvalue_alone(self, value: float, counts: Counts) -> float:
        """Return the p-value of a labelling by itself, were it known to be the true one.

        Ties are as wide as in a test of these sizes without misfiling.
        """
        return self.pvalue_of_another(value - self._alone(counts), counts, self.null_of(counts))

    def standing(self, outcome: CountOutcome) -> float:
        """Return how far the floor lies above the null, in its standard deviations.

        Of several counts with the same p-value the lowest is the nearest to a larger one.
        """
        place = self._column[outcome.counts.n_x]
        least = max(self.tolerance(outcome.counts), np.finfo(np.float64).tiny)  # a constant kernel
        return float(outcome.floor - self.null.means[place]) / max(float(self.null.deviations[place]), least)

    def null_of(self, counts: Counts) -> Float64s:
        """Return the statistic on labellings of these sizes."""
        return self.null.column(self._column[counts.n_x])

    def null_fields(self, counts: Counts) -> dict[str, Any]:
        """Return the fields that say which labellings the p-value of a count comes from."""
        return {"null_weights": self.null.shares(self._column[counts.n_x]), **self.labelling_fields()}

    def labelling_fields(self) -> dict[str, Any]:
        """Return the fields that say which labellings the p-values of all counts come from."""
        return {"is_exact": self.null.is_exact, "n_labellings": self.null.n_labellings}

    def pvalue_of_another(self, value: float, counts: Counts, null: Float64s) -> float:
        """Return the p-value of another statistic that is `null` on the labellings of these sizes."""
        return self.null.pvalue(value, self._column[counts.n_x], null)

    def null_quantile(self, counts: Counts) -> float | None:
        """Return what a statistic must exceed to be significant at the 5 % level: a yardstick for sizes.

        `None` where it is not larger than rounding (nothing is a multiple of it), and where there are too
        few labellings for any statistic to be significant.
        """
        quantile = self.null.critical(LARGEST, self._column[counts.n_x], self.null_of(counts))
        return quantile if self.tolerance(counts) < quantile < np.inf else None

    def tolerance(self, counts: Counts) -> float:
        """Return by how much rounding can part statistics that are equal.

        The sums over a small group are what is left of sums over all rows. And a proof keeps a margin, so
        that an extreme labelling that is among the random ones lies so much beside its bound.
        """
        t, o = self.totals.precise, 1 if self._problem.estimator == "unbiased" else 0
        proof = t.value_margin * lost(t.p, t.q, counts, o)
        return self._of_a_statistic * _share_lost(counts) ** 2 + 2 * proof

    def _alone(self, counts: Counts) -> float:
        """Return the tolerance of a test of the true groups, were they known and had they these sizes."""
        o = 1 if self._problem.estimator == "unbiased" else 0
        alone = Counts(0, 0, counts.n_x, counts.n_y)
        proof = self.totals.precise.value_margin * lost(counts.n_x, counts.n_y, alone, o)
        return self._of_a_statistic * _share_lost(counts) ** 2 + 2 * proof

    @property
    def _of_a_statistic(self) -> float:
        """Rounding of a statistic on a random labelling.

        In float64 a bound. In float32 the bound would be larger than the statistics, which average over all
        pairs and are off by far less: there it is `DEVIATIONS` times what a mean was measured to be off.
        """
        if self.totals.sums.dtype == "float64":
            return self.totals.margin
        return 4 * DEVIATIONS * self.totals.tie_width


def _share_lost(counts: Counts) -> float:
    """Return how much of the sums over all rows the sums over the smaller group are at most."""
    return (counts.n_x + counts.n_y) / (2 * min(counts.n_x, counts.n_y))
