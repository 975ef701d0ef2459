r"""A proof by convexity: the best share of each row, and what its duality gap leaves.

On the lower side the gain is concave once its diagonal is large enough (`shift`), so over shares
0 <= t <= 1 that add up to the quotas it has one maximum, and at any t

.. math::
    \mathrm{gain}(v) \le \mathrm{gain}(t) + g'(v - t)

for every choice v. Pairwise steps bring t to the maximum, where the right-hand side is that maximum itself;
wherever they end, it is a proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmdbounds.objective import Indices
from mmdbounds.search.choice import Choice, Relaxed, relaxed
from mmdbounds.search.effort import Effort
from mmdbounds.search.shift import raised, tightest
from mmdbounds.sums.protocol import Float64s

MOST_STEPS = 100_000
"""Pairwise steps of a relaxation that is one of many..."""

EXACT_STEPS = 5_000_000
"""... and of one whose optimum is wanted itself."""

SHIFT_ROWS = 300
"""Up to so many rows the tightest diagonal is looked for, beyond that one number for every row..."""

EIGENVALUE_ROWS = 1500
"""... up to so many."""

SHIFT_ROUNDS = 4
"""Rounds of shares and diagonal in turn."""

SPLIT = 1e-3
"""Weight in the diagonal's search of a row that is not split, beside 1/4 for one that is halved."""


@dataclass(frozen=True, eq=False)
class Floor:
    """The relaxation of the lower side.

    Parameters
    ----------
    diagonal
        One entry for each active row, for which the choice is concave.
    start
        The rows (places among the active ones) of the best choice known: where the shares begin.
    tolerance
        Gap left by the pairwise steps.
    most_steps
        How many of them at the most.
    """

    diagonal: Float64s
    start: Indices
    tolerance: float
    most_steps: int = MOST_STEPS

    def __call__(
        self,
        choice: Choice,
        gain: float,
        enough: float,
        effort: Effort,
        state: tuple[Float64s, ...] = (),
        *,
        is_root: bool = True,
    ) -> Relaxed:
        """Return a proof; see `branch.Relaxation`."""
        if state:
            share, diagonal = state
            return self._shared(choice, share, diagonal, effort)
        found = self.plain(choice, effort)
        if found.bound <= enough or len(choice.rows) > EIGENVALUE_ROWS:
            return found
        return self._shifted(choice, found, enough, effort)

    def plain(self, choice: Choice, effort: Effort) -> Relaxed:
        """Return the proof for the diagonal as it is given."""
        share = np.isin(choice.rows, self.start).astype(np.float64)
        return self._shared(choice, share, self.diagonal[choice.rows], effort)

    def _shifted(self, choice: Choice, found: Relaxed, enough: float, effort: Effort) -> Relaxed:
        """Look for a better diagonal."""
        n = len(choice.rows)
        share, diagonal = found.state
        diagonal = raised(choice, diagonal)
        effort.spend(n**3 / 60)
        best = min(found, self._shared(choice, share, diagonal, effort), key=lambda proof: proof.bound)
        if n > SHIFT_ROWS:
            return best
        weights = best.share * (1 - best.share) + SPLIT
        for _ in range(SHIFT_ROUNDS):
            if best.bound <= enough or effort.is_spent:
                break
            effort.spend(2 * n**3 + 1e6)
            tight = self._shared(choice, best.share, tightest(choice, diagonal, weights), effort)
            best = min(best, tight, key=lambda proof: proof.bound)
            weights = 0.6 * weights + 0.4 * tight.share * (1 - tight.share)
        return best

    def _shared(self, choice: Choice, share: Float64s, diagonal: Float64s, effort: Effort) -> Relaxed:
        """Return the proof at the best shares for one diagonal."""
        from mmdbounds.search._pairwise import pairwise_steps

        linear = choice.linear + diagonal
        share = filled(choice, share, linear + 2 * (choice.pairs @ share - diagonal * share))
        gradient = linear + 2 * (choice.pairs @ share - diagonal * share)
        edges = np.array([0, *(part.stop for part, _ in choice.parts())])
        tolerance = self.tolerance / sum(quota for _, quota in choice.parts())
        steps = pairwise_steps(choice.pairs, diagonal, gradient, share, edges, tolerance, self.most_steps)
        effort.spend(steps * len(share) / 10)
        # A fresh gradient: what the steps added up proves less.
        with_pairs = choice.pairs @ share
        gradient = linear + 2 * (with_pairs - diagonal * share)
        value = choice.constant + share @ (linear + with_pairs - diagonal * share)
        return relaxed(choice, float(value - gradient @ share), gradient, share, share, diagonal)


def filled(choice: Choice, share: Float64s, gradient: Float64s) -> Float64s:
    """Return the shares brought to the quotas, by the rows that gain most (or lose least)."""
    share = share.copy()
    for part, quota in choice.parts():
        missing = quota - share[part].sum()
        order = np.argsort(-gradient[part] if missing > 0 else gradient[part], kind="stable")
        room = (1 - share[part] if missing > 0 else share[part])[order]
        before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
        share[part.start + order] += np.sign(missing) * np.clip(abs(missing) - before, 0, room)
    return np.clip(share, 0.0, 1.0)
