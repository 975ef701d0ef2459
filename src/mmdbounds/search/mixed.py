"""Mixtures of points: the weights at which a convex quadratic is smallest, from products that are known.

A point is a share for each active row. While the best shares are far away, the labelling that the gradient
asks for joins the mixture and all weights are chosen anew; a few dozen labellings are enough where
rows are many, because nearly all of their best shares are 0 or 1.
"""

from __future__ import annotations

import numpy as np

from mmdbounds.objective import Indices
from mmdbounds.sums.protocol import Float64s

MOST_STEPS = 100_000

CLOSE = 1e-6
"""How far the weights may be from the best ones, as a part of how far they were."""


class Mixture:
    """Weighted points, and K times each of them.

    Parameters
    ----------
    c
        Half the curvature: the quadratic is slope . t + c t'Kt of the signed shares t.
    slope
        Its linear part, by signed shares.
    sign
        Of each row.
    share, shift
        The first point, and K times its signed shares.
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
        """Add a point, whose product differs by `shift` from that of point `k`, and choose all weights anew.

        Returns the shares of the mixture and its product.
        """
        self._points.append(point)
        self._shifts.append(self._shifts[k] + shift)
        row = np.array([(self._sign * x) @ self._shifts[-1] for x in self._points])
        self._products = np.block([[self._products, row[:-1, None]], [row]])
        self._choose_weights(np.append(self._weights, 0.0))
        share = np.clip(self._weights @ np.array(self._points), 0.0, 1.0)
        return share, np.asarray(self._weights @ np.array(self._shifts))

    def _choose_weights(self, weights: Float64s) -> None:
        from mmdbounds.search._pairwise import pairwise_steps

        pairs = -self._c * self._products
        gradient = 2 * pairs @ weights - [(self._sign * x) @ self._slope for x in self._points]
        own = -np.diag(pairs).copy()
        np.fill_diagonal(pairs, 0.0)
        tolerance = CLOSE * float(np.ptp(gradient))
        pairwise_steps(pairs, own, gradient, weights, np.array([0, len(weights)]), tolerance, MOST_STEPS)
        kept = np.flatnonzero(weights)
        self._weights, self._products = weights[kept], self._products[np.ix_(kept, kept)]
        self._points = [self._points[k] for k in kept]
        self._shifts = [self._shifts[k] for k in kept]
