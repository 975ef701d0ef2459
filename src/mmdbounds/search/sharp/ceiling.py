r"""The ceiling: no choice of rows gains more (docs/sharp.md, "The ceiling: what each row can add").

With two groups a chosen row has a known number of partners in each. The multipliers :math:`\lambda` are
antisymmetric, and :math:`\lambda_{ij}` falls where i counts on j and j does not count on i.

The bound has kinks: a row counts on another or it does not. So the walk follows a smooth bound, in which rows
near a threshold count in part, within a width that shrinks from step to step. With momentum (Nesterov's rule)
this takes a quarter of the steps that subgradients take on draws of FOREST, and ends at a lower bound. Then
squares are added to the gain, and the multipliers follow (docs/sharp.md, "Squares: what pairs have in
common"). For a choice t of rows and any numbers v, :math:`(v \cdot t)^2` is not negative. So a bound for the
gain plus such squares is a bound for the gain. It can be the lower one: the shares T of pairs on which a
ceiling counts need not be those of a choice (or of a mixture of choices), which form a positive semidefinite
matrix. Where :math:`v'Tv < 0`, the square of v lowers the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mmdbounds.objective import Indices
from mmdbounds.search.protocol import largest_sums, partner_limits, within_limits
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem, ScoreBound, State
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.threads import in_order, thread_count

T = TypeVar("T")
ROOT_STEPS, NODE_STEPS = 100, 8
NARROW, NARROWEST = 1e-3, 1e-13  # width before the first step, and the least, in units of the largest pair
FIRST_WIDTH, SHRINK = 1.0, 0.93  # width of the first step, in units of the distance for each chosen pair
ROWS_WIDTH = 0.5  # width for rows, in units of that for partners times the number of partners
RATE, MEMORY = 0.7, 0.9  # length of a step, in units of the width, and how much of the last step it keeps
CHECKED, PROGRESS = 10, 0.05  # a walk ends when this many steps take less than this share off the distance
SQUARED_ROWS = 150  # squares pay for more rows than this; fewer are settled sooner by branching
SQUARES, LEAST_SQUARES = 0.3, 0.1  # share of the distance that squares are to take off: at first, at last
BLOCK, LARGEST_BLOCK, DEPTH = 8, 64, 4  # vectors at a time: one in so many rows, and at most; how many times
ROUND_STEPS, ROUND_SHRINK = 8, 0.95  # steps after squares were added, and what they leave of the width
PAIR, STEP = 0.4, 3000.0  # work of a step: for each pair of rows, and whatever their number...
SQUARES_PAIR, SQUARES_STEP = 9.0, 1e5  # ... and of adding squares
EPS = float(np.finfo(np.float64).eps)
ULPS = 32 * EPS  # rounding of a sum of up to a million terms, in pairs
STRIP = 256  # rows whose partners are ranked at a time
THREADED_ROWS = 1024  # with more rows than this, steps are shared by threads


class Found(NamedTuple):
    """Multipliers that were found, and the bound that they give up to rounding."""

    bound: float
    problem: QuotaProblem  # with the squares that were added
    multipliers: Float64s  # shape (n, n), antisymmetric to the last bit
    share: Float64s  # how much of each row is chosen, shape (n,)


def ceiling(
    problem: QuotaProblem,
    gain: float,
    enough: float,
    effort: Effort,
    state: State = (),
    is_root: bool = True,
    squares: bool = True,
) -> ScoreBound:
    """Bound the gain from above (see `Relaxation`); the state is the multipliers, shape (n, n), at first 0.

    At the root many steps and `squares` pay: all other problems continue from there.
    """
    start = state[0] if state else np.zeros(problem.pairs.shape)
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
        if is_root and squares and len(problem.rows) > SQUARED_ROWS:
            best = _with_squares(walk, best, width, gain, enough, effort)
    return proved(best.problem, best.multipliers, best.share)


def _with_squares(
    walk: _Walk, best: Found, width: float, gain: float, enough: float, effort: Effort
) -> Found:
    """Add squares, again and again, and let the multipliers follow; return the best that is found."""
    part = SQUARES
    while best.bound > max(enough, gain) and part > LEAST_SQUARES and not effort.is_spent:
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
    for stratum, _ in problem.limits or problem.parts():
        limits = partner_limits(problem.limits, stratum)
        for start in range(stratum.start, stratum.stop, STRIP):
            rows = slice(start, min(start + STRIP, stratum.stop))
            values = problem.pairs[rows] + multipliers[rows]
            np.fill_diagonal(values[:, rows], -np.inf)
            values = within_limits(values, limits)
            for other, quota in problem.parts():
                is_own = other.start <= stratum.start < other.stop
                scores[rows] += largest_sums(values[:, other], quota - is_own)
    # Multipliers that are not small cancel up to rounding (docs/rounding.md, "One proof"). They are
    # antisymmetric, so their largest entry is their size.
    n_chosen = sum(quota for _, quota in problem.parts())
    extra = ULPS * n_chosen**2 * float(multipliers.max(initial=0.0))
    return problem.score_bound(problem.constant + extra, scores, share, multipliers)


class _Walk:
    """Steps of the multipliers: `look` computes the bound, up to rounding, and `step` moves them."""

    def __init__(self, problem: QuotaProblem, multipliers: Float64s, width: float | None = None) -> None:
        from mmdbounds.search.sharp.multiplier_steps import tiles_of

        parts, strata = problem.parts(), problem.limits or problem.parts()
        self._problem, self.n_chosen = problem, sum(quota for _, quota in parts)
        self._values = problem.pairs + multipliers
        np.fill_diagonal(self._values, -np.inf)  # no row is its own partner
        self._trail = np.zeros(self._values.shape)  # takes no memory before the first step
        self._edges = np.array(
            [0, *(stratum.stop for stratum, _ in strata)]
        )  # of groups or, with limits, strata
        self._tiles = tiles_of(self._edges)
        self._group = np.repeat(np.arange(len(strata)), np.diff(self._edges))
        self._quotas = np.array([[quota for _, quota in parts]])
        self._counts = self._less_one(self._quotas, np.array([part.stop for part, _ in parts]))
        self._caps = np.array([[most for _, most in problem.limits]], dtype=np.intp)
        self._partner_caps = self._less_one(self._caps, self._edges[1:]) if problem.limits else self._counts
        self._groups = np.searchsorted(self._edges, [0, *(part.stop for part, _ in parts)])
        self._thresholds = np.zeros((len(self._group), len(strata)))
        self._of_rows = np.zeros((1, len(strata)))
        # Pairs beside which rounding of the linear part is large count as if they were of its size.
        least = EPS * np.abs(problem.linear).max()
        self.size = float(max(problem.pairs.max(), -problem.pairs.min(), least))
        self._width = width or NARROW * self.size or 1.0
        self.share = np.zeros(len(self._group))

    def look(self, effort: Effort) -> float:
        """Return the bound; `share` is how much of each row is chosen."""
        problem, n = self._problem, len(self._group)
        effort.spend(PAIR * n * n + STEP)
        gains = np.empty(n)

        def some(rows: slice) -> None:
            of_rows = self._width, self._thresholds[rows], gains[rows]
            self._find(self._values[rows], self._counts[rows], self._partner_caps[rows], *of_rows)

        self._share_out([slice(start, start + STRIP) for start in range(0, n, STRIP)], some)
        scores = problem.linear + gains
        width = ROWS_WIDTH * self.n_chosen * self._width
        self._find(scores[None], self._quotas, self._caps, width, self._of_rows, np.empty(1))
        self.share = np.clip((scores - self._of_rows[0, self._group]) / width + 0.5, 0.0, 1.0)
        return problem.constant + problem.top_sum(scores)

    def _less_one(self, most: Indices, stops: Indices) -> Indices:
        """Return how many partners each row has in each group or stratum: in its own, one less."""
        n, counts = len(self._group), np.repeat(most, len(self._group), axis=0)
        counts[np.arange(n), np.searchsorted(stops, np.arange(n), side="right")] -= 1
        return np.maximum(counts, 0)

    def _find(self, values: Float64s, counts: Indices, caps: Indices, *found: Any) -> None:
        """Find thresholds, and the sums of the largest values; `found` are the width and both."""
        from mmdbounds.search.sharp.multiplier_steps import find_capped, find_thresholds

        if self._problem.limits:
            find_capped(values, self._edges, self._groups, counts, caps, *found)
        else:
            find_thresholds(values, self._edges, counts, *found)

    def step(self, width: float) -> None:
        """Move the multipliers; within `width` of a threshold rows count in part from now on."""
        from mmdbounds.search.sharp.multiplier_steps import SHARES, move

        weights = RATE * width * self.share
        step = self._values, self._trail, weights, self._thresholds, self._tiles, self._width, MEMORY
        self._share_out(range(SHARES), lambda share: move(*step, share))
        self._width = width

    def _share_out(self, tasks: Iterable[T], work: Callable[[T], None]) -> None:
        """Do work of which no part depends on another, in threads if it is much."""
        if len(self._group) <= THREADED_ROWS:
            for task in tasks:
                work(task)
            return
        for _ in in_order(tasks, work, thread_count()):
            pass

    def add_squares(self, drop: float, effort: Effort) -> bool:
        """Add squares that lower the bound by `drop`, to first order; return whether there are any."""
        effort.spend(SQUARES_PAIR * len(self.share) ** 2 + SQUARES_STEP)
        values, vectors = most_negative(self._shares_of_pairs())
        size = values @ values
        if size < EPS:  # nothing but rounding
            return False
        vectors *= np.sqrt(-values * drop / size)
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
        """Return the multipliers, made antisymmetric whatever the steps left; the next step is a first."""
        np.fill_diagonal(self._values, 0.0)
        multipliers = np.subtract(self._values, self._values.T, out=self._trail)
        multipliers *= 0.5
        np.fill_diagonal(self._values, -np.inf)
        self._trail = np.zeros(self._values.shape)
        return Found(bound, self._problem, multipliers, self.share)


def with_squares(problem: QuotaProblem, vectors: Float64s) -> QuotaProblem:
    """Return the problem with the squares of `vectors`, shape (n, r), added to the gain of every choice."""
    squares, rank = vectors @ vectors.T, vectors.shape[1]
    own = squares.diagonal().copy()
    pairs, linear = problem.pairs + squares, problem.linear + own
    np.fill_diagonal(pairs, 0.0)
    # Rounding must not take anything away. An entry is a sum of `rank` products, whose sizes add up to no
    # more than the largest entry of the diagonal; then it is added to what was there.
    n_chosen = sum(quota for _, quota in problem.parts())
    size = max(pairs.max(), -pairs.min()) + np.abs(linear).max() + abs(problem.constant)
    extra = EPS * n_chosen**2 * ((rank + 2) * own.max() + size)
    return replace(problem, constant=float(problem.constant + extra), linear=linear, pairs=pairs)


def most_negative(matrix: Float64s) -> tuple[Float64s, Float64s]:
    """Return approximate eigenvalues of a symmetric matrix below 0, the lowest ones, with their vectors.

    Ritz values of a block Krylov space: what they miss costs time and nothing else.
    """
    basis = np.eye(len(matrix)) if len(matrix) <= BLOCK * DEPTH else _krylov(matrix)
    inner = basis.T @ (matrix @ basis)
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    below = values < 0
    return values[below], basis @ vectors[:, below]


def _krylov(matrix: Float64s) -> Float64s:
    """Return an orthonormal basis of what a few vectors become when the matrix is applied again and again."""
    n = len(matrix)
    block = np.random.default_rng(0).standard_normal((n, min(-(-n // BLOCK), LARGEST_BLOCK)))
    basis = np.empty((n, 0))
    for _ in range(DEPTH):
        for _ in range(2):  # twice is enough
            block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        basis = np.concatenate([basis, block], axis=1)
        block = matrix @ block
    return basis
