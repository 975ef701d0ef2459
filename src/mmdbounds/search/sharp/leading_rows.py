r"""The ceiling where few of many rows are chosen: a matrix of the rows that lead, one number for each other.

Any partner is worth at most the largest kernel value kappa to a row. So a row that adds little alone cannot
be chosen, whatever its partners, and few rows lead: of these the ceiling is found as with a matrix
(`ceiling`). Between a leading row i and another row j the multipliers are :math:`-\lambda_j` and
:math:`\lambda_j`: what j can take before its score reaches that of the last row chosen. So row i hardly
counts on j, and the proof is one pass over the pairs of leading rows with all rows (docs/sharp.md, "Few of
many rows").
"""

from __future__ import annotations

import numpy as np

from mmdbounds.objective import Indices, Labelling
from mmdbounds.search.protocol import NO_ROWS, RowBounds, largest_places, largest_sums, top_sum
from mmdbounds.search.sharp.ceiling import EPS, ceiling
from mmdbounds.search.sharp.learned import lost_by_sums
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem, ScoreBound, exchanged
from mmdbounds.sums.plan import MIB
from mmdbounds.sums.rounding import FORMULA

LEADING = 2000  # rows of the matrix, if the budget allows...
AMONG = 3  # ... and at least so many for each row that is chosen
MOST_TAKEN = 4.0  # of what a row takes from each partner, in units of the largest kernel value
OPERATIONS = 8 + FORMULA  # on the numbers of a pair that does not lead


class LeadingRows:
    """The rows of a one-way labelling, without limits, that add most alone; of movers, or of those that stay.

    `bound` and `row_bounds` are what they prove, `rows` a labelling that the proof suggests.
    """

    def __init__(self, labelling: Labelling, n_leading: int) -> None:
        n, self._labelling, self._scale = len(labelling.sign), labelling, labelling.quadratic.totals.scale
        self._constant, self._linear, [(_, self._quota)] = labelling.chosen_alone()
        self._flipped = np.full(n, bool(labelling.stays()))
        known = exchanged(np.flatnonzero(labelling.moved), self._flipped)
        some = largest_places(self._linear[None], min(n_leading, n))[0]
        self.leading: Indices = np.union1d(some, known)
        self.others: Indices = np.setdiff1d(np.arange(n), self.leading)

    def ceiling(
        self, gain: float, enough: float, effort: Effort, *, squares: bool
    ) -> tuple[float, RowBounds, Indices]:
        """Return a value that no labelling exceeds, what it says of each row, and rows that may be better."""
        f, here = self._labelling.quadratic, self._labelling.pooled(self.leading)
        pairs = f.totals.sums.block(here, here)
        pairs *= f.c
        np.fill_diagonal(pairs, 0.0)
        problem = QuotaProblem(
            constant=self._constant,
            linear=self._linear[self.leading],
            pairs=pairs,
            rows=np.arange(len(here)),
            settled=NO_ROWS,
            n_x=0,
            quotas=(0, self._quota),
        )
        proof = ceiling(problem, gain, enough, effort, squares=squares)
        chosen = problem.climbed(problem.best_rows(proof.share))
        bound, row_bounds = self._with_others(problem, proof)
        return bound, row_bounds, exchanged(self.leading[chosen], self._flipped)

    def _with_others(self, problem: QuotaProblem, proof: ScoreBound) -> tuple[float, RowBounds]:
        """Return the bound and what it says of each row, once partners that do not lead are counted."""
        f, n_partners, n = self._labelling.quadratic, self._quota - 1, len(self._linear)
        kappa, lead, raised = f.c * self._scale, self.leading, proof.problem
        values = raised.pairs + proof.state[0]
        np.fill_diagonal(values, -np.inf)
        thresholds, excess, alone = np.full(n, kappa), np.zeros(n), np.zeros(n)
        alone[lead] = raised.linear - problem.linear
        thresholds[lead] = values.max(axis=1)
        if n_partners:
            first = len(lead) - n_partners
            thresholds[lead] = np.partition(values, first, axis=1)[:, first]
        excess[lead] = np.maximum(values - thresholds[lead, None], 0.0).sum(axis=1)
        taken = np.zeros(len(self.others))
        if n_partners and len(taken):
            last = float(np.partition(proof.scores, -self._quota)[-self._quota])
            room = (last - self._linear[self.others]) / n_partners - kappa
            taken = np.clip(room, 0.0, MOST_TAKEN * kappa)
            thresholds[self.others] += taken
        if len(taken):  # also where a row is chosen alone: with other counts it has partners
            left, right = np.ones((len(lead), 1)), -taken[:, None] / f.c
            where = self._labelling.pooled(lead), self._labelling.pooled(self.others)
            levels = thresholds[lead, None] / f.c
            excess[lead] += f.c * f.totals.sums.excess(*where, left, right, levels)[:, 0]
        scores = self._linear + alone + n_partners * thresholds + excess
        sizes = np.abs(self._linear) + alone + self._quota * np.abs(thresholds) + excess + kappa
        added = float(proof.state[0].max(initial=0.0)) + float(taken.max(initial=0.0))
        # Squares have their own rounding in the constant of the problem to which they were added.
        of_pair = OPERATIONS * EPS * (kappa + added) + (raised.constant - problem.constant) / self._quota**2
        chosen_sizes, chosen_scores = largest_sums(np.stack([sizes, scores]), self._quota).tolist()
        rounding = self._quota**2 * of_pair + lost_by_sums(n) * chosen_sizes
        none = np.zeros(n)
        row_bounds = RowBounds(
            np.stack([none, thresholds]) / f.c, np.stack([none, excess]) / f.c, alone / f.c, of_pair / f.c
        )
        return problem.constant + chosen_scores + rounding, row_bounds


def rows_that_fit(working_memory: float, n_matrices: int) -> int:
    """Return how many rows may lead: of them so many matrices are held."""
    return min(LEADING, int(np.sqrt(working_memory * MIB / (8 * n_matrices))))


def few_are_chosen(labelling: Labelling, n_leading: int) -> bool:
    """Return whether rows that are chosen are few beside those that lead, one-way and without limits."""
    if labelling.n_active_x or labelling.limits():
        return False
    [(_, quota)] = labelling.stays() or labelling.parts()
    return AMONG * quota <= n_leading


def separable(labelling: Labelling) -> float:
    """Return a value that no labelling exceeds: each pair that is chosen is worth as much as any can be."""
    constant, alone, parts = labelling.chosen_alone()
    n_chosen, totals = sum(quota for _, quota in parts), labelling.quadratic.totals
    n_pairs = sum(quota * (quota - 1) for _, quota in parts)
    if not totals.sums.is_nonnegative:  # pairs of both groups have the sign minus
        n_pairs = n_chosen * (n_chosen - 1)
    summed = lost_by_sums(len(alone)) * top_sum(np.abs(alone), parts)
    best = top_sum(alone, parts, labelling.limits())
    return constant + best + labelling.quadratic.c * n_pairs * totals.scale + summed
