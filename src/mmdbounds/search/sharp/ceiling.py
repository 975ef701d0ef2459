r"""The ceiling: no choice of rows gains more (docs/sharp.md, "The ceiling: what each row can add").

With two groups a chosen row has a known number of partners in each. The multipliers :math:`\lambda` are
antisymmetric, and :math:`\lambda_{ij}` falls where i counts on j and j does not count on i.

The bound has kinks: a row counts on another or it does not. So the walk follows a smooth bound, in which rows
near a threshold count in part, within a width that shrinks from step to step. With momentum (Nesterov's rule)
this takes a quarter of the steps that subgradients take on draws of FOREST, and ends at a lower bound. Then
squares are added to the gain, and the multipliers follow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mmdbounds.search.protocol import largest_sums
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem, ScoreBound, State
from mmdbounds.search.sharp.squares import most_negative, with_squares
from mmdbounds.sums.protocol import Float64s

ROOT_STEPS, NODE_STEPS = 100, 8
NARROW, NARROWEST = 1e-3, 1e-13  # width before the first step, and the least, in units of the largest pair
FIRST_WIDTH, SHRINK = 1.0, 0.93  # width of the first step, in units of the distance for each chosen pair
ROWS_WIDTH = 0.5  # width for rows, in units of that for partners times the number of partners
RATE, MEMORY = 0.7, 0.9  # length of a step, in units of the width, and how much of the last step it keeps
CHECKED, PROGRESS = 10, 0.05  # a walk ends when this many steps take less than this share off the distance
SQUARED_ROWS = 150  # squares pay for more rows than this; fewer are settled sooner by branching
SQUARES, LEAST_SQUARES = 0.3, 0.1  # share of the distance that squares are to take off: at first, at last
ROUND_STEPS, ROUND_SHRINK = 8, 0.95  # steps after squares were added, and what they leave of the width
PAIR, STEP = 0.4, 3000.0  # work of a step: for each pair of rows, and whatever their number...
SQUARES_PAIR, SQUARES_STEP = 9.0, 1e5  # ... and of adding squares
ULPS = 32 * float(np.finfo(np.float64).eps)  # rounding of a sum of up to a million terms, in pairs
STRIP = 256  # rows whose partners are ranked at a time


class Found(NamedTuple):
    """Multipliers that were found, and the bound that they give up to rounding."""

    bound: float
    problem: QuotaProblem  # with the squares that were added
    multipliers: Float64s  # shape (n, n), antisymmetric to the last bit
    share: Float64s  # how much of each row is chosen, shape (n,)


def ceiling(
    problem: QuotaProblem, gain: float, enough: float, effort: Effort, state: State = (), is_root: bool = True
) -> ScoreBound:
    """Bound the gain from above (see `Relaxation`); the state is the multipliers, shape (n, n), at first 0.

    At the root many steps and squares pay: all other problems continue from there.
    """
    start = state[0] if state else np.zeros_like(problem.pairs)
    walk = _Walk(problem, start)
    bounds = [walk.look(effort)]
    best = Found(bounds[0], problem, start, walk.share)
    width = FIRST_WIDTH * (bounds[0] - gain) / walk.n_chosen**2
    for _ in range(ROOT_STEPS if is_root else NODE_STEPS):
        if min(bounds) <= enough or width <= NARROWEST * walk.size or effort.is_spent:
            break
        if len(bounds) > CHECKED and bounds[-CHECKED] - bounds[-1] < PROGRESS * (bounds[-1] - gain):
            break
        walk.step(width)
        bounds.append(walk.look(effort))
        width *= SHRINK
    if bounds[-1] < bounds[0]:
        best = walk.found(bounds[-1])
        if is_root and len(problem.rows) > SQUARED_ROWS:
            best = _with_squares(walk, best, width, gain, enough, effort)
    return proved(best.problem, best.multipliers, best.share)


def _with_squares(
    walk: _Walk, best: Found, width: float, gain: float, enough: float, effort: Effort
) -> Found:
    """Add squares, again and again, and let the multipliers follow; return the best that is found."""
    part = SQUARES
    while best.bound > enough and part > LEAST_SQUARES and not effort.is_spent:
        if not walk.add_squares(part * (best.bound - gain), effort):
            break
        for _ in range(ROUND_STEPS):
            walk.look(effort)
            walk.step(width)
        found = walk.found(walk.look(effort))
        if best.bound - found.bound < PROGRESS * (best.bound - gain):
            part /= 2
        width *= ROUND_SHRINK
        if found.bound < best.bound:
            best = found
        else:
            walk = _Walk(best.problem, best.multipliers, width)
            walk.look(effort)
    return best


def proved(problem: QuotaProblem, multipliers: Float64s, share: Float64s) -> ScoreBound:
    """Return what multipliers prove: any, as long as they are antisymmetric to the last bit."""
    scores = problem.linear.copy()
    for group, _ in problem.parts():
        for start in range(group.start, group.stop, STRIP):
            rows = slice(start, min(start + STRIP, group.stop))
            values = problem.pairs[rows] + multipliers[rows]
            np.fill_diagonal(values[:, rows], -np.inf)
            for other, quota in problem.parts():
                scores[rows] += largest_sums(values[:, other], quota - (other == group))
    # Multipliers that are not small cancel up to rounding (docs/rounding.md, "One proof"). They are
    # antisymmetric, so their largest entry is their size.
    n_chosen = sum(quota for _, quota in problem.parts())
    extra = ULPS * n_chosen**2 * float(multipliers.max(initial=0.0))
    return problem.score_bound(problem.constant + extra, scores, share, multipliers)


class _Walk:
    """Steps of the multipliers: `look` computes the bound, up to rounding, and `step` moves them."""

    def __init__(self, problem: QuotaProblem, multipliers: Float64s, width: float | None = None) -> None:
        from mmdbounds.search.sharp.multiplier_steps import tiles_of

        parts = problem.parts()
        self._problem, self.n_chosen = problem, sum(quota for _, quota in parts)
        self._values = problem.pairs + multipliers
        np.fill_diagonal(self._values, -np.inf)  # no row is its own partner
        self._trail = np.zeros_like(self._values)
        self._edges = np.array([0, *(part.stop for part, _ in parts)])
        self._tiles = tiles_of(self._edges)
        self._group = np.repeat(np.arange(len(parts)), np.diff(self._edges))
        self._quotas = np.array([[quota for _, quota in parts]])
        self._counts = np.repeat(self._quotas, len(self._group), axis=0)
        self._counts[np.arange(len(self._group)), self._group] -= 1
        self._thresholds = np.zeros((len(self._group), len(parts)))
        self._of_rows = np.zeros_like(self._quotas, dtype=np.float64)
        self.size = float(max(problem.pairs.max(), -problem.pairs.min()))
        self._width = width or NARROW * self.size or 1.0
        self.share = np.zeros(len(self._group))

    def look(self, effort: Effort) -> float:
        """Return the bound; `share` is how much of each row is chosen."""
        from mmdbounds.search.sharp.multiplier_steps import find_thresholds

        problem, n = self._problem, len(self._group)
        effort.spend(PAIR * n * n + STEP)
        gains = np.empty(n)
        find_thresholds(self._values, self._edges, self._counts, self._width, self._thresholds, gains)
        scores = problem.linear + gains
        width = ROWS_WIDTH * self.n_chosen * self._width
        find_thresholds(scores[None], self._edges, self._quotas, width, self._of_rows, np.empty(1))
        self.share = np.clip((scores - self._of_rows[0, self._group]) / width + 0.5, 0.0, 1.0)
        return problem.constant + problem.top_sum(scores)

    def step(self, width: float) -> None:
        """Move the multipliers; within `width` of a threshold rows count in part from now on."""
        from mmdbounds.search.sharp.multiplier_steps import move

        weights = RATE * width * self.share
        move(self._values, self._trail, weights, self._thresholds, self._tiles, self._width, MEMORY)
        self._width = width

    def add_squares(self, drop: float, effort: Effort) -> bool:
        """Add squares that lower the bound by `drop`, to first order; return whether there are any."""
        effort.spend(SQUARES_PAIR * len(self.share) ** 2 + SQUARES_STEP)
        values, vectors = most_negative(self._shares_of_pairs())
        if len(values) == 0:
            return False
        vectors *= np.sqrt(-values * drop / (values @ values))
        raised = with_squares(self._problem, vectors)
        self._values += raised.pairs - self._problem.pairs
        self._problem = raised
        return True

    def _shares_of_pairs(self) -> Float64s:
        """Return how much of each pair is chosen, shape (n, n); on the diagonal, of each row."""
        shares = self._values - self._thresholds[:, self._group]
        shares /= self._width
        shares += 0.5
        np.clip(shares, 0.0, 1.0, out=shares)
        shares *= 0.5 * self.share[:, None]
        shares = shares + shares.T
        np.fill_diagonal(shares, self.share)
        return shares

    def found(self, bound: float) -> Found:
        """Return the multipliers, made antisymmetric whatever the steps have left."""
        np.fill_diagonal(self._values, 0.0)
        multipliers = self._values - self._values.T
        multipliers *= 0.5
        np.fill_diagonal(self._values, -np.inf)
        return Found(bound, self._problem, multipliers, self.share)
