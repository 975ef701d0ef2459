r"""How near m rows of Y can come to X, and how near two samples of X's distribution are by chance.

Over weights t between 0 and 1 that add up to m,

.. math::
    D(m)^2 = \min_t \left\| \frac1m \sum_i t_i \phi(y_i) - \frac1p \sum_j \phi(x_j) \right\|^2,

a convex problem with a proof from below: the tangent plane of a convex function lies under it, and over such
weights a plane is smallest at the m rows with the smallest slopes. The larger m, the fewer choices of
t / m there are, so D rises with m.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mmdbounds.inference.concentration import deviation_radius
from mmdbounds.kernels import Kernel
from mmdbounds.objective import GroupSums
from mmdbounds.sums.protocol import Float64s

Noise = Literal["resampled", "deviation"]

CLOSE = 0.01
"""The smallest distance is found up to this share of what chance allows, both squared."""

MOST_STEPS = 100_000


class Nearness:
    """The rows of Y, and how near some of them come to X.

    Parameters
    ----------
    totals
        The sums over the pairs of a positive definite kernel; q x q numbers of them are held here.

    Attributes
    ----------
    q
        Rows of Y.
    margin
        How far rounding can move a squared distance.
    """

    def __init__(self, totals: GroupSums) -> None:
        p, of_y = totals.p, slice(totals.p, totals.p + totals.q)
        self.q, self.margin = totals.q, totals.margin
        self._pairs = totals.sums.block(of_y, of_y)
        np.negative(self._pairs, out=self._pairs)
        np.fill_diagonal(self._pairs, 0.0)
        self._diagonal = totals.diagonal[of_y].copy()
        self._near = totals.to_x[of_y] / p
        self._own = float(totals.to_x[:p].sum()) / p**2

    def distance2(self, m: int, close: float) -> tuple[float, float]:
        """Return the squared distance of the nearest m rows that were found, and one that none undercuts.

        They differ by about `close`.
        """
        # Here, because its compiler is the last thing that a user without proofs needs to load.
        from mmdbounds.search.sharp.pairwise_steps import pairwise_steps

        share = np.full(self.q, m / self.q)
        gradient = 2 * (m * self._near - self._with(share))
        pairwise_steps(
            self._pairs, self._diagonal, gradient, share, np.array([0, self.q]), close * m, MOST_STEPS
        )
        weights = share / m
        with_rows = self._with(weights)
        value = float(weights @ (with_rows - 2 * self._near)) + self._own
        slope = 2 * (with_rows - self._near)
        smallest = np.partition(slope, m - 1)[:m].mean()
        return value, float(value - weights @ slope + smallest)

    def _with(self, weights: Float64s) -> Float64s:
        """Return K @ weights."""
        return np.asarray(self._diagonal * weights - self._pairs @ weights)


class Chance:
    """How far apart a sample of m rows and one of p rows of X's distribution are.

    Parameters
    ----------
    totals
        The sums over the pairs.
    kernel
        For its bound.
    level
        The samples are nearer than the distance with this probability.
    noise
        ``"resampled"``: samples are drawn from the rows of X with replacement. ``"deviation"``: the
        proved radius.
    n_resamples, seed
        Of the draws.
    """

    def __init__(
        self, totals: GroupSums, kernel: Kernel, level: float, noise: Noise, n_resamples: int, seed: int
    ) -> None:
        self._p, self._sums, self._kernel = totals.p, totals.sums, kernel
        self._level, self._noise = level, noise
        self._n_resamples, self._seed = n_resamples, seed

    def distance2(self, m: int) -> float:
        """Return the square of the distance for samples of m and p rows."""
        if self._noise == "deviation":
            return deviation_radius(m, self._p, self._kernel, 1 - self._level) ** 2
        rng = np.random.default_rng([self._seed, m])
        evenly = np.full(self._p, 1 / self._p)
        drawn = [rng.multinomial(size, evenly, size=self._n_resamples) / size for size in (m, self._p)]
        difference = (drawn[0] - drawn[1]).T
        of_x = slice(0, self._p)
        values = np.einsum("ij,ij->j", self._sums.apply(of_x, of_x, difference), difference)
        return float(np.quantile(values, self._level, method="higher"))


def most_alike(nearness: Nearness, chance: Chance) -> int:
    """Return the largest m for which m rows of Y can be as near to X as chance allows."""
    fits, does_not = 0, nearness.q + 1
    while does_not - fits > 1:
        m = (fits + does_not) // 2
        allowed = chance.distance2(m)
        if nearness.distance2(m, CLOSE * allowed)[1] - nearness.margin <= allowed:
            fits = m
        else:
            does_not = m
    return fits
