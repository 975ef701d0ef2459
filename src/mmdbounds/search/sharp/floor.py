r"""The floor: a proof for the lower side by convexity (docs/sharp.md, "The floor: a convex relaxation").

The gain is concave once its diagonal D is large enough: a proof over fractions needs diag(D) - pairs positive
semidefinite on vectors that sum to zero in each group. It is the tighter the smaller D is where rows are
split: each costs D_i t_i (1 - t_i). So D solves a small semidefinite programme,

.. math::
    \min_D \sum_i \omega_i D_i \quad\text{with}\quad
    \mathrm{diag}(D) - \mathrm{pairs} + \tau \sum_g 1_g 1_g' \succ 0, \qquad \omega_i = t_i (1 - t_i),

here by Newton's steps on its logarithmic barrier. The last term vanishes on the vectors that matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from mmdbounds.objective import Indices
from mmdbounds.search.protocol import Part
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem, ScoreBound, State
from mmdbounds.sums.protocol import Float64s

MOST_STEPS = 100_000  # pairwise steps of one relaxation: a second or two for 2,000 rows
TIGHTEST_ROWS = 300  # up to this many rows the diagonal is the tightest, beyond that raised by one number...
EIGENVALUE_ROWS = 1500  # ... up to this many
DIAGONAL_ROUNDS = 4  # rounds of shares and diagonal in turn
SPLIT = 1e-3  # weight in the diagonal's search of a row that is not split, beside 1/4 for one that is halved
EXTRA = 10.0  # how much of the sums of a group is added, in units of the largest pair
FIRST_BARRIER, LAST_BARRIER, CUT = 1e-2, 1e-6, 0.3
NEWTON_STEPS = 3
FULL = 1e-12  # a stratum that may take no more than this is full
ROUNDING = 16 * np.finfo(np.float64).eps  # error of an eigenvalue, in units of the matrix's size and norm


@dataclass(frozen=True, eq=False)
class Floor:
    """The relaxation of the lower side."""

    diagonal: Float64s  # one entry for each active row, for which the problem is concave
    start: Indices  # the rows (places among the active ones) of the best choice known: where the shares start
    tolerance: float  # gap left by the pairwise steps

    def __call__(
        self, problem: QuotaProblem, gain: float, enough: float, effort: Effort, state: State = (), **_: bool
    ) -> ScoreBound:
        """Return a proof; see `Relaxation`. It is the same at the root and elsewhere."""
        if state:
            return self._best(problem, state[0], state[1], effort)
        found = self.plain(problem, effort)
        if found.bound <= enough or len(problem.rows) > EIGENVALUE_ROWS:
            return found
        return self._tighter(problem, found, enough, effort)

    def plain(self, problem: QuotaProblem, effort: Effort) -> ScoreBound:
        """Return the proof for the diagonal as it is given."""
        share = np.isin(problem.rows, self.start).astype(np.float64)
        return self._best(problem, share, self.diagonal[problem.rows], effort)

    def _tighter(self, problem: QuotaProblem, found: ScoreBound, enough: float, effort: Effort) -> ScoreBound:
        """Return the best proof over several diagonals."""
        n, share, diagonal = len(problem.rows), found.state[0], raised(problem, found.state[1])
        effort.spend(n**3 / 60)
        best = min(found, self._best(problem, share, diagonal, effort), key=lambda proof: proof.bound)
        if n > TIGHTEST_ROWS:
            return best
        weights = best.share * (1 - best.share) + SPLIT
        for _ in range(DIAGONAL_ROUNDS):
            if best.bound <= enough or effort.is_spent:
                break
            effort.spend(2 * n**3 + 1e6)
            tight = self._best(problem, best.share, tightest(problem, diagonal, weights), effort)
            best = min(best, tight, key=lambda proof: proof.bound)
            weights = 0.6 * weights + 0.4 * tight.share * (1 - tight.share)
        return best

    def _best(self, problem: QuotaProblem, share: Float64s, diagonal: Float64s, effort: Effort) -> ScoreBound:
        """Return the proof at the best shares for one diagonal."""
        from mmdbounds.search.sharp.pairwise_steps import share_out

        linear = problem.linear + diagonal
        share = filled(problem, share, linear + 2 * (problem.pairs @ share - diagonal * share))
        gradient = linear + 2 * (problem.pairs @ share - diagonal * share)
        edges = np.array([0, *(stratum.stop for stratum, _ in problem.limits or problem.parts())])
        among = edges, rooms(problem.parts(), problem.limits, share)
        tolerance = self.tolerance / sum(quota for _, quota in problem.parts())
        steps = share_out((problem.pairs, diagonal, gradient), share, *among, tolerance, MOST_STEPS)
        effort.spend(steps * len(share) / 10)
        # A fresh gradient: what the steps added up proves less.
        with_pairs = problem.pairs @ share
        gradient = linear + 2 * (with_pairs - diagonal * share)
        value = problem.constant + share @ (linear + with_pairs - diagonal * share)
        return problem.score_bound(float(value - gradient @ share), gradient, share, share, diagonal)


def rooms(parts: Sequence[Part], limits: Sequence[Part], share: Float64s) -> tuple[Indices, Float64s] | None:
    """Return which strata make each group, and how much each may still take; `None` without limits."""
    if not limits:
        return None
    starts = [stratum.start for stratum, _ in limits]
    groups = np.searchsorted(starts, [parts[0][0].start, *(part.stop for part, _ in parts)])
    room = np.array([most - share[stratum].sum() for stratum, most in limits])
    return groups, np.where(room > FULL, room, 0.0)


def filled(problem: QuotaProblem, share: Float64s, gradient: Float64s) -> Float64s:
    """Return the shares brought to quotas and limits, by the rows that gain most (or lose least)."""
    share = share.copy()
    for stratum, most in problem.limits:
        too_much = float(share[stratum].sum()) - most
        if too_much > 0:
            share[stratum] -= _first_of(share[stratum], -gradient[stratum], too_much)
    for part, quota in problem.parts():
        missing = quota - share[part].sum()
        room = 1 - share if missing > 0 else share.copy()
        for stratum, most in problem.limits if missing > 0 else ():
            left = most - float(share[stratum].sum())
            room[stratum] = _first_of(room[stratum], gradient[stratum], max(left, 0.0))
        worth = gradient[part] if missing > 0 else -gradient[part]
        share[part] += np.sign(missing) * _first_of(room[part], worth, abs(missing))
    return np.clip(share, 0.0, 1.0)


def _first_of(room: Float64s, worth: Float64s, amount: float) -> Float64s:
    """Return how much of `amount` each row takes, the worthiest first, if none takes more than its room."""
    order = np.argsort(-worth, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
    taken = np.empty_like(room)
    taken[order] = np.clip(amount - before, 0, room[order])
    return taken


def raised(problem: QuotaProblem, diagonal: Float64s) -> Float64s:
    """Raise (or lower) `diagonal` by one number on every row until the problem is just concave.

    This is the smallest eigenvalue on vectors that sum to zero, with an allowance for rounding.
    """
    values = np.linalg.eigvalsh(_matrix(problem, diagonal))
    allowance = ROUNDING * len(values) * max(values[-1], -values[0])
    return np.asarray(diagonal - values[0] + allowance)


def tightest(problem: QuotaProblem, diagonal: Float64s, weights: Float64s) -> Float64s:
    """Return the diagonal of the smallest sum by positive weights, from one for which the gain is concave."""
    # A few hundred rows at most: each step inverts a matrix.
    size, barrier = np.abs(problem.pairs).max(), FIRST_BARRIER
    found = diagonal + max(float(np.abs(diagonal).max()), size) * 1e-2
    with suppress(np.linalg.LinAlgError):  # rows that are all alike: what was found so far is as good
        while barrier > LAST_BARRIER:
            for _ in range(NEWTON_STEPS):
                step = _newton(problem, found, weights / weights.max(), barrier * size)
                found = _inside(problem, found, step)
            barrier *= CUT
    return raised(problem, found)


def _matrix(problem: QuotaProblem, diagonal: Float64s) -> Float64s:
    """Return diag(D) - pairs + tau sum_g 1_g 1_g' of the module's docstring."""
    matrix = np.diag(diagonal) - problem.pairs
    extra = EXTRA * float(np.abs(problem.pairs).max(initial=0.0))
    for part, _ in problem.parts():
        matrix[part, part] += extra
    return matrix


def _newton(problem: QuotaProblem, diagonal: Float64s, weights: Float64s, barrier: float) -> Float64s:
    """Return Newton's step for sum(weights * D) - barrier * log det."""
    inverse = np.linalg.inv(_matrix(problem, diagonal))
    hessian = barrier * inverse * inverse
    hessian.flat[:: len(hessian) + 1] *= 1 + 1e-12
    return np.asarray(np.linalg.solve(hessian, barrier * inverse.diagonal() - weights))


def _inside(problem: QuotaProblem, diagonal: Float64s, step: Float64s) -> Float64s:
    """Return the next point, with the step shortened so that the matrix stays definite."""
    length = 1.0
    while length > 1e-6:
        try:
            np.linalg.cholesky(_matrix(problem, diagonal + length * step))
        except np.linalg.LinAlgError:
            length /= 2
        else:
            return diagonal + (length if length == 1 else 0.9 * length) * step
    return diagonal
