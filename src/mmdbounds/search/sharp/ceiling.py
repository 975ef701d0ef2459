r"""The ceiling: no choice of rows gains more (docs/sharp.md, "The ceiling: what each row can add").

With two groups a chosen row has a known number of partners in each. The multipliers :math:`\lambda` are
antisymmetric, and :math:`\lambda_{ij}` falls where i counts on j and j does not count on i. The step follows
Polyak's rule with the best gain found as its target, along a direction that keeps half of the last one (which
saved a third of the steps on draws of FOREST); it is cut whenever the bound has stopped falling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mmdbounds.objective import Indices
from mmdbounds.search.protocol import NO_ROWS, largest_places, largest_sums
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem, ScoreBound, State
from mmdbounds.sums.protocol import Float64s

ROOT_STEPS, NODE_STEPS = 100, 8
MEMORY = 0.5  # share of the last direction that is kept in the next
FIRST_STEP, LAST_STEP = 1.5, 0.02  # factor of Polyak's step: the first, and the smallest that pays
CUT, PATIENCE = 0.7, 10  # by how much it is cut, after how many steps without progress
PROGRESS = 1e-3  # share of the distance to the target by which a bound must fall to count as progress
SMALLEST_SCALE = 1e-3
ULPS = 32 * float(np.finfo(np.float64).eps)  # rounding of a sum of up to a million terms, in pairs
MEAN = 0.1  # weight of the newest choice in the running mean of choices


def ceiling(
    problem: QuotaProblem, gain: float, enough: float, effort: Effort, state: State = (), is_root: bool = True
) -> ScoreBound:
    """Bound the gain from above (see `Relaxation`); the state is the multipliers, shape (n, n), at first 0.

    At the root many steps pay: all other problems continue from its multipliers.
    """
    walk, factor, stalled = _Walk(problem, gain, state), FIRST_STEP, 0
    best = walk.look(effort)
    walk.keep(None)
    for _ in range(ROOT_STEPS if is_root else NODE_STEPS):
        if best.bound <= enough or effort.is_spent or factor < LAST_STEP or not walk.step(factor):
            break
        found = walk.look(effort)
        stalled = 0 if found.bound < best.bound - PROGRESS * (best.bound - gain) else stalled + 1
        if found.bound < best.bound:
            walk.keep(best)
            best = found
        if stalled == PATIENCE:
            factor, stalled = factor * CUT, 0
    return raised_by_rounding(best, sum(quota for _, quota in problem.parts()))


def raised_by_rounding(proof: ScoreBound, n_chosen: int) -> ScoreBound:
    """Return a proof that allows for the rounding of its multipliers (docs/rounding.md, "One proof")."""
    # They are antisymmetric, so their largest entry is their size.
    extra = ULPS * n_chosen**2 * float(proof.state[0].max(initial=0.0))
    return replace(proof, base=proof.base + extra, bound=proof.bound + extra)


class _Walk:
    """Subgradient steps: `look` computes the bound, `step` moves the multipliers.

    The direction d keeps part of the last one, d' = S + MEMORY d, but S has few entries. So the multipliers
    are two (n, n) matrices, ``settled + weight * trail`` with d = scale * trail, and a step changes these in
    the entries of S alone.
    """

    def __init__(self, problem: QuotaProblem, gain: float, state: State) -> None:
        n, self._problem, self._gain, self._bound = len(problem.rows), problem, gain, np.inf
        self._settled, self._trail = state[0].copy() if state else np.zeros((n, n)), np.zeros((n, n))
        self._weight, self._scale, self._length = 0.0, 1.0, 0.0
        self._values, self._multipliers = np.empty((n, n)), np.empty((n, n))
        self._share: Float64s | None = None
        self._chosen = NO_ROWS

    def look(self, effort: Effort) -> ScoreBound:
        """Return the proof that the multipliers give; its state is valid until the next look, unless kept."""
        problem, n = self._problem, len(self._problem.rows)
        effort.spend(n * n + 8000)
        np.multiply(self._trail, self._weight, out=self._multipliers)
        self._multipliers += self._settled
        np.add(problem.pairs, self._multipliers, out=self._values)
        np.fill_diagonal(self._values, -np.inf)
        scores = problem.linear + _partners_gain(problem, self._values)
        self._chosen = problem.best_rows(scores)
        newest = np.zeros(n)
        newest[self._chosen] = 1.0
        self._share = newest if self._share is None else (1 - MEAN) * self._share + MEAN * newest
        found = problem.score_bound(problem.constant, scores, self._share, self._multipliers)
        self._bound = found.bound
        return found

    def keep(self, spare: ScoreBound | None) -> None:
        """Let the last proof keep its multipliers, and reuse the memory of one that is no longer needed."""
        self._multipliers = np.empty_like(self._trail) if spare is None else spare.state[0]

    def step(self, factor: float) -> bool:
        """Move the multipliers; return whether there is a direction to move in."""
        pairs = _one_sided(list(_partners(self._problem, self._values, self._chosen)), len(self._trail))
        along = 2 * self._scale * sum(float(one @ self._trail[i, j]) for i, j, one in pairs)
        length = sum(2 * float(one.sum()) for _, _, one in pairs)
        self._length = MEMORY**2 * self._length + 2 * MEMORY * along + length
        if self._length <= 0:  # every chosen row counts on partners that count on it
            return False
        self._scale *= MEMORY
        for i, j, one in pairs:  # mirrored, so the multipliers are antisymmetric to the last bit
            self._trail[i, j] += one / self._scale
            self._trail[j, i] -= one / self._scale
            self._settled[i, j] -= one * (self._weight / self._scale)
            self._settled[j, i] += one * (self._weight / self._scale)
        self._weight -= factor * (self._bound - self._gain) / self._length * self._scale
        if self._scale < SMALLEST_SCALE:  # start again with 1, before the two cancel in too many digits
            self._settled += self._weight * self._trail
            self._trail *= self._scale
            self._weight, self._scale = 0.0, 1.0
        return True


def _one_sided(pairs: list[tuple[Indices, Indices]], n: int) -> list[tuple[Indices, Indices, Float64s]]:
    """Return the pairs (i, j) of which i counts on j, with 1 if j does not count on i and 0 if it does."""
    counts_on = np.zeros((n, n), dtype=np.bool_)
    for rows, partners in pairs:
        counts_on[rows, partners] = True
    flat = [(np.repeat(rows.ravel(), partners.shape[1]), partners.ravel()) for rows, partners in pairs]
    return [(i, j, np.where(counts_on[j, i], 0.0, 1.0)) for i, j in flat]


def _partners_gain(problem: QuotaProblem, values: Float64s) -> Float64s:
    """Return for each row the largest sum of values to as many partners as a chosen row has."""
    gain = np.zeros(len(values))
    for part, quota in problem.parts():
        for other, _ in problem.parts():
            gain[other] += largest_sums(values[other, part], quota - (other == part))
    return gain


def _partners(problem: QuotaProblem, values: Float64s, chosen: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Yield chosen rows of a group with the partners in a group that each of them counts on."""
    for part, quota in problem.parts():
        for other, _ in problem.parts():
            rows = chosen[(chosen >= other.start) & (chosen < other.stop)]
            yield rows[:, None], part.start + largest_places(values[rows, part], quota - (other == part))
