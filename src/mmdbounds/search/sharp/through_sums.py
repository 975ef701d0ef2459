"""The floor where no matrix of all pairs fits: through sums of kernel values alone (docs/sharp.md).

The convex relaxation continues among the few hundred rows that gain most, then updates the gradient of all
rows by their columns; for many rows on a GPU, where pairs are cheap and rounds are not, labellings are mixed
first. The last digits of kernel values and gradients do not decide which rows share: processors differ there,
and a hundred rounds would make other rows of that.
"""

from __future__ import annotations

import numpy as np

from mmdbounds.objective import Indices, Labelling, Quadratic
from mmdbounds.search.protocol import largest_places, top_places, top_sum
from mmdbounds.search.sharp.floor import rooms
from mmdbounds.search.sharp.quota_problem import Effort
from mmdbounds.sums.protocol import Float64s, KernelSums

WORKING_ROWS, WORKING_SHARE = (512, 2048), 64  # rows that share at a time: fewest, most, one in how many...
FEWEST_OF_STRATUM = 16  # ... and of a stratum with a limit
MIXED_ROWS = 512  # labellings are mixed as long as the next one differs from all others in more rows
CLOSE = 1e-6  # how far the weights of a mixture may be from the best ones, as a part of how far they were
MOST_ROUNDS, MOST_STEPS = 1000, 100_000
PAIR_ON_DEVICE = 0.002  # work of one kernel value that a GPU only adds up
MANY = 50_000  # active rows beyond which a GPU mixes labellings, in float32, and takes a way of its own
DIGITS = 1.5 * 2.0**-25  # kernel values are rounded to this part of the largest, which is 1 or a digit off...
FINER = 0.25  # ... and gradients to this part of what a row may be off


class SharedRows:
    """Shares of the active rows, 0 to 1, improved towards the smallest value (`floor`).

    They start as given, with K times the signed shares on the active rows, or as the labelling has them.
    """

    def __init__(self, labelling: Labelling, start: tuple[Float64s, Float64s] | None = None) -> None:
        self._labelling, self._parts, self._limits = labelling, labelling.parts(), labelling.limits()
        sums = labelling.quadratic.totals.sums
        self._rough = sums.rough if len(labelling.sign) > MANY else sums
        share, shift = start or (labelling.moved.astype(np.float64), labelling.shift)
        self.share: Float64s = share.copy()
        self._shift = shift.copy()

    @property
    def gap(self) -> float:
        """How far below the value of the shares a labelling can lie, as far as the sums tell."""
        return self._gap(self._gradient())

    def floor(self, quadratic: Quadratic) -> float:
        """Return a value that no labelling undercuts: what the shares prove, with sums of `quadratic`."""
        f, labelling, signed = quadratic, self._labelling, self._labelling.sign * self.share
        shift = self._columns(f.totals.sums, np.flatnonzero(self.share), self.share)
        linear = f.gradient_as_filed[labelling.active]
        # Sums in pairs, whose rounding hardly grows with the number of rows.
        value = f.value_as_filed + (signed * (linear + f.c * shift)).sum()
        return float(value - self._gap(-labelling.sign * (linear + 2 * f.c * shift)))

    def improve(self, tolerance: float, effort: Effort) -> None:
        """Let rows share until the gap is small enough, as far as rough sums tell."""
        if self._rough.device != "cpu" and len(self.share) > MANY:
            self._mix(tolerance, effort)
        per_row = tolerance / (2 * sum(quota for _, quota in self._parts))
        for _ in range(MOST_ROUNDS):
            gradient = self._gradient()
            if effort.is_spent or self._gap(gradient) <= tolerance:
                return
            gradient = _to_multiples(gradient, FINER * per_row)
            if not self._share_among(gradient, per_row, effort):
                return

    def _mix(self, tolerance: float, effort: Effort) -> None:
        """Mix the labellings that the gradient asks for while they differ in many rows: far fewer rounds."""
        f, labelling = self._labelling.quadratic, self._labelling
        mixture = Mixture(f.c, f.gradient_as_filed[labelling.active], labelling.sign, self.share, self._shift)
        for _ in range(MOST_ROUNDS):
            gradient = self._gradient()
            if effort.is_spent or self._gap(gradient) <= tolerance:
                return
            labels = np.zeros(len(gradient))
            labels[top_places(gradient, self._parts, self._limits)] = 1.0
            k, rows = mixture.nearest(labels)
            if len(rows) <= MIXED_ROWS:
                return
            shift = self._columns(self._rough, rows, mixture.change(k, labels))
            self.share, self._shift = mixture.add(k, labels, shift)
            effort.spend(PAIR_ON_DEVICE * len(rows) * len(gradient))

    def _gradient(self) -> Float64s:
        """Return the gradient of minus the value, by shares."""
        f, labelling = self._labelling.quadratic, self._labelling
        return np.asarray(-labelling.sign * (f.gradient_as_filed[labelling.active] + 2 * f.c * self._shift))

    def _gap(self, gradient: Float64s) -> float:
        return float(top_sum(gradient, self._parts, self._limits) - (gradient * self.share).sum())

    def _columns(self, sums: KernelSums, rows: Indices, share: Float64s) -> Float64s:
        """Return K times the signed shares of some rows, on all active rows."""
        labelling = self._labelling
        return sums.apply(labelling.active, labelling.pooled(rows), labelling.sign[rows] * share[rows])

    def _working_rows(self, gradient: Float64s) -> list[Indices]:
        """Return of each group the rows that most want to give and those that most want to take.

        With limits, they are those of each stratum: what one of a full stratum takes, another of it gives.
        """
        working, most = [], int(np.clip(len(gradient) // WORKING_SHARE, *WORKING_ROWS))
        if self._limits:
            most = max(most * len(self._parts) // len(self._limits), FEWEST_OF_STRATUM)
        for part, _ in self._limits or self._parts:
            giving = np.where(self.share[part] > 0, -gradient[part], -np.inf)
            taking = np.where(self.share[part] < 1, gradient[part], -np.inf)
            count = min(most // 2, len(giving))
            both = [largest_places(wish[None], count)[0] for wish in (giving, taking)]
            working.append(part.start + np.unique(np.concatenate(both)))
        return working

    def _share_among(self, gradient: Float64s, tolerance: float, effort: Effort) -> bool:
        """Let the working rows share among themselves; return whether anything changed."""
        from mmdbounds.search.sharp.pairwise_steps import share_out

        groups = self._working_rows(gradient)
        labelling, f, rows = self._labelling, self._labelling.quadratic, np.concatenate(groups)
        here, sign = labelling.pooled(rows), labelling.sign[rows]
        values = self._rough.block(here, here)
        values = _to_multiples(values, DIGITS * float(np.abs(values).max()))
        pairs = -f.c * sign[:, None] * values * sign
        np.fill_diagonal(pairs, 0.0)
        own, share = f.c * f.totals.diagonal[here], self.share.copy()
        edges = np.cumsum([0, *(len(group) for group in groups)])
        among, limited = share[rows], rooms(self._parts, self._limits, share)
        steps = share_out((pairs, own, gradient[rows]), among, edges, limited, tolerance, MOST_STEPS)
        share[rows] = among
        changed = rows[among != self.share[rows]]
        self._shift += self._columns(self._rough, changed, share - self.share)
        self.share = share
        effort.spend(0.1 * (steps * len(rows) + (len(changed) + 1) * len(share) + len(rows) ** 2))
        return len(changed) > 0


def _to_multiples(values: Float64s, unit: float) -> Float64s:
    """Return the nearest multiples of the power of two above a unit."""
    if unit == 0.0:
        return values
    exponent = -np.frexp(unit)[1]
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, exponent)), -exponent))


class Mixture:
    """Points with the weights at which the quadratic slope . t + c t'Kt of the signed shares t is smallest.

    A point is a share for each of the n active rows, stored with its shift: K times its signed shares. A few
    dozen labellings are enough where rows are many, because nearly all of their best shares are 0 or 1.
    """

    def __init__(self, c: float, slope: Float64s, sign: Float64s, share: Float64s, shift: Float64s) -> None:
        self._c, self._slope, self._sign = c, slope, sign
        self._points, self._shifts, self._weights = [share], [shift], np.ones(1)
        self._products = np.array([[(sign * share) @ shift]])

    def nearest(self, point: Float64s) -> tuple[int, Indices]:
        """Return the point that differs from a new one in the fewest rows, and these rows."""
        differ = [np.flatnonzero(known != point) for known in self._points]
        k = min(range(len(differ)), key=lambda i: len(differ[i]))
        return k, differ[k]

    def change(self, k: int, point: Float64s) -> Float64s:
        """Return what must be added to point `k` to get a new one."""
        return point - self._points[k]

    def add(self, k: int, point: Float64s, shift: Float64s) -> tuple[Float64s, Float64s]:
        """Add a point, a product `shift` from that of point `k`; return the mixture's shares and product."""
        self._points.append(point)
        self._shifts.append(self._shifts[k] + shift)
        row = np.array([(self._sign * x) @ self._shifts[-1] for x in self._points])
        self._products = np.block([[self._products, row[:-1, None]], [row]])
        self._choose_weights(np.append(self._weights, 0.0))
        share = np.clip(self._weights @ np.array(self._points), 0.0, 1.0)
        return share, np.asarray(self._weights @ np.array(self._shifts))

    def _choose_weights(self, weights: Float64s) -> None:
        from mmdbounds.search.sharp.pairwise_steps import pairwise_steps

        pairs = -self._c * self._products
        gradient = 2 * pairs @ weights - [(self._sign * x) @ self._slope for x in self._points]
        own = -np.diag(pairs).copy()
        np.fill_diagonal(pairs, 0.0)
        tolerance = CLOSE * float(np.ptp(gradient))
        pairwise_steps(pairs, own, gradient, weights, np.array([0, len(weights)]), tolerance, MOST_STEPS)
        kept = np.flatnonzero(weights)
        self._weights, self._products = weights[kept], self._products[np.ix_(kept, kept)]
        self._points, self._shifts = ([each[k] for k in kept] for each in (self._points, self._shifts))
