r"""The two proofs where no matrix of all pairs fits: through sums of kernel values alone.

Below, the convex relaxation goes on among the few hundred rows that gain most, then brings the
gradient of all rows up to date by their columns; on a GPU, where pairs are cheap and rounds are not, whole
labellings are mixed first. Above, each row keeps one multiplier
instead of one for each pair, :math:`\lambda_{ij} = \mu_i - \mu_j`: how often the others count on it is
made to agree with how often they may. A step is one pass over the active rows.
"""

from __future__ import annotations

import numpy as np

from mmdbounds.objective import Indices, Labelling, Quadratic
from mmdbounds.search.ceiling import ULPS
from mmdbounds.search.choice import largest_places, largest_sums
from mmdbounds.search.effort import Effort
from mmdbounds.search.mixed import Mixture
from mmdbounds.search.refine import parts_of
from mmdbounds.sums.plan import MIB
from mmdbounds.sums.protocol import Float64s, KernelSums

WORKING_ROWS, WORKING_SHARE = (512, 2048), 64
"""Rows of a group that share among themselves at a time: the fewest, the most, and one in so many."""

MIXED_ROWS = 512
"""Labellings are mixed as long as the next one differs from all others in more rows."""

MOST_ROUNDS = 1000
MOST_STEPS = 100_000

PAIR_ON_DEVICE = 0.002
"""Work of one kernel value that a GPU only adds up."""

PASSES = 60
MEMORY, FIRST_STEP, CUT, PATIENCE = 0.5, 1.0, 0.7, 5
"""As in `ceiling`; with one multiplier a row shorter steps did better."""

PAIR = 1.5
"""Work of one kernel value that is computed and ranked."""

STRIP = 16
"""MiB of kernel values that are ranked at a time."""


class SharedRows:
    """Shares of the active rows on their way to the smallest value (`floor` of the lower side).

    Parameters
    ----------
    labelling
        Where the shares begin.
    """

    def __init__(self, labelling: Labelling) -> None:
        self._labelling = labelling
        self._rough = labelling.quadratic.totals.sums.rough
        self._parts = parts_of(labelling)
        self.share: Float64s = labelling.moved.astype(np.float64)
        self._shift = labelling.shift.copy()

    @property
    def gap(self) -> float:
        """How far below the value of the shares a labelling can lie, as far as the sums tell."""
        return self._gap(self._gradient())

    def floor(self, quadratic: Quadratic) -> float:
        """Return a value that no labelling undercuts: what the shares prove, with fresh sums in float64.

        `quadratic` is the labelling's own, or the same in float64.
        """
        f, labelling = quadratic, self._labelling
        shift = self._columns(f.totals.sums, np.flatnonzero(self.share), self.share)
        signed = labelling.sign * self.share
        linear = f.gradient_as_filed[labelling.active]
        # Sums in pairs, whose rounding hardly grows with the number of rows.
        value = f.value_as_filed + (signed * (linear + f.c * shift)).sum()
        return float(value - self._gap(-labelling.sign * (linear + 2 * f.c * shift)))

    def improve(self, tolerance: float, effort: Effort) -> None:
        """Let rows share until the gap is small enough, as far as rough sums tell."""
        if self._rough.device != "cpu":
            self._mix(tolerance, effort)
        per_row = tolerance / (2 * sum(quota for _, quota in self._parts))
        for _ in range(MOST_ROUNDS):
            gradient = self._gradient()
            if effort.is_spent or self._gap(gradient) <= tolerance:
                return
            if not self._share_among(self._working_rows(gradient), per_row, effort):
                return

    def _mix(self, tolerance: float, effort: Effort) -> None:
        """Mix labellings, as long as these differ in many rows: more pairs, but far fewer rounds."""
        f, labelling = self._labelling.quadratic, self._labelling
        slope = f.gradient_as_filed[labelling.active]
        mixture = Mixture(f.c, slope, labelling.sign, self.share, self._shift)
        for _ in range(MOST_ROUNDS):
            gradient = self._gradient()
            if effort.is_spent or self._gap(gradient) <= tolerance:
                return
            asked = self._asked_for(gradient)
            k, rows = mixture.nearest(asked)
            if len(rows) <= MIXED_ROWS:
                return
            shift = self._columns(self._rough, rows, mixture.change(k, asked))
            self.share, self._shift = mixture.add(k, asked, shift)
            effort.spend(PAIR_ON_DEVICE * len(rows) * len(gradient))

    def _gradient(self) -> Float64s:
        """Return the gradient of minus the value, by shares."""
        f, labelling = self._labelling.quadratic, self._labelling
        return np.asarray(-labelling.sign * (f.gradient_as_filed[labelling.active] + 2 * f.c * self._shift))

    def _gap(self, gradient: Float64s) -> float:
        tops = (largest_sums(gradient[None, part], quota)[0] for part, quota in self._parts)
        return float(sum(tops) - (gradient * self.share).sum())

    def _asked_for(self, gradient: Float64s) -> Float64s:
        """Return the labelling that the gradient asks for."""
        asked = np.zeros(len(gradient))
        for part, quota in self._parts:
            asked[part.start + largest_places(gradient[None, part], quota)[0]] = 1.0
        return asked

    def _columns(self, sums: KernelSums, rows: Indices, share: Float64s) -> Float64s:
        labelling = self._labelling
        return sums.apply(labelling.active, labelling.pooled(rows), labelling.sign[rows] * share[rows])

    def _working_rows(self, gradient: Float64s) -> list[Indices]:
        """Return of each group the rows that most want to give and those that most want to take."""
        working, most = [], int(np.clip(len(gradient) // WORKING_SHARE, *WORKING_ROWS))
        for part, _ in self._parts:
            giving = np.where(self.share[part] > 0, -gradient[part], -np.inf)
            taking = np.where(self.share[part] < 1, gradient[part], -np.inf)
            count = min(most // 2, len(giving))
            both = [largest_places(wish[None], count)[0] for wish in (giving, taking)]
            working.append(part.start + np.unique(np.concatenate(both)))
        return working

    def _share_among(self, groups: list[Indices], tolerance: float, effort: Effort) -> bool:
        """Let some rows share among themselves; return whether anything changed."""
        from mmdbounds.search._pairwise import pairwise_steps

        labelling, f = self._labelling, self._labelling.quadratic
        rows = np.concatenate(groups)
        here, sign = labelling.pooled(rows), labelling.sign[rows]
        pairs = -f.c * sign[:, None] * self._rough.block(here, here) * sign
        np.fill_diagonal(pairs, 0.0)
        own = f.c * f.totals.diagonal[here]
        share = self.share.copy()
        edges = np.cumsum([0, *(len(group) for group in groups)])
        among, gradient = share[rows], self._gradient()[rows]
        steps = pairwise_steps(pairs, own, gradient, among, edges, tolerance, MOST_STEPS)
        share[rows] = among
        changed = rows[among != self.share[rows]]
        self._shift += self._columns(self._rough, changed, share - self.share)
        self.share = share
        effort.spend(0.1 * (steps * len(rows) + (len(changed) + 1) * len(share) + len(rows) ** 2))
        return len(changed) > 0


class RowMultipliers:
    """One multiplier for each active row (`ceiling` of the upper side)."""

    def __init__(self, labelling: Labelling) -> None:
        f, self._labelling = labelling.quadratic, labelling
        self._parts = parts_of(labelling)
        n = len(labelling.sign)
        own = f.c * f.totals.diagonal[labelling.active]
        self._linear = labelling.sign * f.gradient_as_filed[labelling.active] + own
        self._multipliers = np.zeros(n)  # in units of c
        self._height = max(1, int(min(STRIP, f.totals.sums.working_memory / 8) * MIB) // (8 * n))

    def ceiling(self, value: float, enough: float, effort: Effort) -> float | None:
        """Return a value that no labelling exceeds, or `None` if not a single pass is affordable.

        `value` is reached by a labelling; a bound of `enough` ends the work.
        """
        n, c = len(self._linear), self._labelling.quadratic.c
        if effort.left < PAIR * n * n:
            return None
        bound, factor, stalled = np.inf, FIRST_STEP, 0
        direction = np.zeros(n)
        for _ in range(PASSES):
            scores = self._scores(effort)
            found = self._labelling.quadratic.value_as_filed + self._top_sum(scores) + self._rounding()
            stalled = 0 if found < bound - 1e-3 * (min(bound, found + 1) - value) else stalled + 1
            bound = min(bound, found)
            if bound <= enough or effort.left < PAIR * n * n:
                break
            if stalled == PATIENCE:
                factor, stalled = factor * CUT, 0
            direction = MEMORY * direction + self._imbalance(scores, effort)
            length = float(direction @ direction)
            if length == 0:
                break
            self._multipliers -= factor * (found - value) / (c * length) * direction
        return float(bound)

    def _rounding(self) -> float:
        """Return what the multipliers, which cancel but for rounding, can have moved (see `ceiling`)."""
        n_chosen = sum(quota for _, quota in self._parts)
        return 2 * ULPS * self._labelling.quadratic.c * n_chosen**2 * float(np.abs(self._multipliers).max())

    def _top_sum(self, scores: Float64s) -> float:
        return float(sum(largest_sums(scores[None, part], quota)[0] for part, quota in self._parts))

    def _values(self, rows: Indices) -> Float64s:
        """Return w_ij / c - mu_j of some rows i to all active rows j, and -inf of a row to itself."""
        labelling = self._labelling
        values = labelling.columns(rows)
        if labelling.n_active_x:
            values *= labelling.sign[rows][:, None] * labelling.sign
        values -= self._multipliers
        values[np.arange(len(rows)), rows] = -np.inf
        return values

    def _scores(self, effort: Effort) -> Float64s:
        """Return what each row adds at most."""
        n, c = len(self._linear), self._labelling.quadratic.c
        scores = self._linear.copy()
        for part, _ in self._parts:
            for start in range(part.start, part.stop, self._height):
                rows = np.arange(start, min(start + self._height, part.stop))
                effort.spend(PAIR * len(rows) * n)
                values = self._values(rows)
                partners = [(other, k - (other == part)) for other, k in self._parts]
                scores[rows] += c * sum(largest_sums(values[:, other], k) for other, k in partners)
                scores[rows] += c * self._multipliers[rows] * sum(k for _, k in partners)
        return scores

    def _imbalance(self, scores: Float64s, effort: Effort) -> Float64s:
        """Return how many partners each row has as a chosen row, less how often the chosen count on it."""
        imbalance = np.zeros(len(scores))
        for part, quota in self._parts:
            chosen = part.start + largest_places(scores[None, part], quota)[0]
            partners = [(other, k - (other == part)) for other, k in self._parts]
            imbalance[chosen] += sum(k for _, k in partners)
            for start in range(0, len(chosen), self._height):
                rows = chosen[start : start + self._height]
                effort.spend(PAIR * len(rows) * len(scores))
                values = self._values(rows)
                for other, k in partners:
                    places = other.start + largest_places(values[:, other], k)
                    imbalance -= np.bincount(places.ravel(), minlength=len(scores))
        return imbalance
