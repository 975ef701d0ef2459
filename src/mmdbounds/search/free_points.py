r"""Kernel sums at points that need not be rows, with their gradient: what a free-point search climbs.

With X + C and Y - C as signed measures, the squared MMD is defined for any points c_1..c_m,

.. math::
    f(C) = f(u_0) + 2b' \sum_{ij} k(x_i, c_j) - 2b \sum_{ij} k(y_i, c_j) - e \sum_j k(c_j, c_j)
    + c \sum_{ij} k(c_i, c_j), \quad b' = \frac{N-o}{n_X n_Y (n_X-o)}

(the other letters as in `mmdbounds.objective`), and rows of Y as points give exactly the value of the
labelling that moves them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mmdbounds.contamination import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import PairKernel, kernel_names
from mmdbounds.objective import Quadratic
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.sums.plan import BLOCK_BYTES, MIB, strips
from mmdbounds.sums.points import check_finite, kernel_rows, takes_differences
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.rounding import product_error

Objective = Literal["exact", "printed"]

BLOCKS = 32
"""Blocks of kernel values that fit the budget: two sides at a time, and what a formula keeps of each."""


@dataclass(frozen=True)
class Weights:
    """What each kind of pair counts in an objective.

    Attributes
    ----------
    to_x, to_y
        A free point and a row filed under X, or under Y.
    to_placed
        A free point and one that was placed in an earlier step.
    own
        A free point and itself, in addition to `pair`.
    pair
        Each ordered pair of free points, those of a point with itself included.
    """

    to_x: float
    to_y: float
    to_placed: float
    own: float
    pair: float


def exact_weights(quadratic: Quadratic, *, unbiased: bool) -> Weights:
    """Return the weights of the squared MMD."""
    n_x, n_y, o = quadratic.counts.n_x, quadratic.counts.n_y, int(unbiased)
    of_x = (n_x + n_y - o) / (n_x * n_y * (n_x - o))
    return Weights(2 * of_x, -2 * quadratic.b, 2 * quadratic.c, -quadratic.e, quadratic.c)


def printed_weights(counts: Counts, steps: int) -> Weights:
    """Return the weights that the paper prints (equation 6), with epsilon / S in each of S steps.

    Its n is the true size of X. A point placed earlier has entered X and left Y, which makes
    (1 - epsilon / S) + (1 + epsilon / S) = 2.
    """
    n, part = counts.n_x, float(counts.stated_epsilon) / steps
    return Weights((1 - part) / n, -(1 + part) / n, 2 / n, -part / n, part / n)


ENOUGH = 1e-9
"""Error of a kernel value that a search over free points can live with: it proves nothing."""


class FreePoints:
    """Points in the box of the pooled rows, in the coordinates of the kernel's formula.

    Attributes
    ----------
    rows
        The pooled rows, X first: centred, or scaled as the kernel asks.
    p
        How many of them are filed under X.
    low, high
        The box: the range of each column.
    unit
        A distance that matters: the bandwidth, or the spread of the rows if that is less.
    """

    def __init__(self, problem: Problem, meter: Meter) -> None:
        if not isinstance(problem.kernel, PairKernel) or not problem.kernel.has_slope:
            names = ", ".join(map(repr, kernel_names("slope")))
            msg = (
                f"free points need the slope of the kernel, which the {problem.kernel.name} kernel does not "
                f"have. Use one of {names}, or method='s-sd'."
            )
            raise MmdBoundsError(msg)
        self._kernel, self._meter = problem.kernel, meter
        self.rows, self.p = kernel_rows(problem.pooled, problem.kernel), problem.p
        self._by_product = problem.kernel.geometry == "inner" or (
            not takes_differences(problem.kernel) and self._product_is_exact()
        )
        if not self._by_product:
            self.rows = np.asarray(problem.pooled)  # differences are exact where rows are as handed in
        self.low, self.high = self.rows.min(axis=0), self.rows.max(axis=0)
        with np.errstate(over="ignore"):
            self._norms = np.einsum("ij,ij->i", self.rows, self.rows)
        check_finite(self._norms, "float64")
        spread = math.sqrt(float(self.rows.var(axis=0).sum())) or 1.0
        self.unit = min(self._kernel.length or spread, spread)
        self._block = min(BLOCK_BYTES, problem.working_memory * MIB / BLOCKS)

    def _product_is_exact(self) -> bool:
        """Return whether squared distances may be taken from a product, anywhere in the box."""
        corner = np.abs(self.rows).max(axis=0) / (self._kernel.length or 1.0)
        with np.errstate(over="ignore"):
            farthest = np.minimum(np.full(2, corner @ corner), 1e300)
        return product_error(farthest, self.rows.shape[1], self._kernel, "float64") <= ENOUGH

    def to_rows(self, points: Float64s, weights: Weights, gradient: Float64s | None = None) -> Float64s:
        """Return for each point its weighted sum of k to the rows; add the derivative to `gradient`."""
        w = np.where(np.arange(len(self.rows)) < self.p, weights.to_x, weights.to_y)
        return self._pulled(self.rows, self._norms, w, points, gradient)

    def to_points(
        self, others: Float64s, weight: float, points: Float64s, gradient: Float64s | None = None
    ) -> Float64s:
        """Return for each point `weight` times its sum of k to some others, which stay where they are."""
        norms = np.einsum("ij,ij->i", others, others)
        return self._pulled(others, norms, np.full(len(others), weight), points, gradient)

    def to_itself(self, points: Float64s, weight: float, gradient: Float64s | None = None) -> Float64s:
        """Return for each point `weight` times k of it with itself; a distance to itself is always 0."""
        if self._kernel.geometry != "inner":
            return np.asarray(weight * self._kernel.value(np.zeros(len(points))))
        norms = np.einsum("ij,ij->i", points, points)
        if gradient is not None:
            gradient += (2 * weight * self._kernel.slope(norms))[:, None] * points
        return np.asarray(weight * self._kernel.value(norms))

    def value(self, points: Float64s, weights: Weights) -> float:
        """Return the objective at all points, less its constant."""
        return float(
            self.to_rows(points, weights).sum()
            + self.to_points(points, weights.pair, points).sum()
            + self.to_itself(points, weights.own).sum()
        )

    def value_and_gradient(
        self, points: Float64s, weights: Weights, placed: Float64s
    ) -> tuple[float, Float64s]:
        """Return the part of the objective that `points` change, with those `placed` earlier held fixed."""
        gradient = np.zeros_like(points)
        among = self.to_points(points, weights.pair, points, gradient)
        gradient *= 2  # both points of a pair move
        value = (
            among.sum()
            + self.to_rows(points, weights, gradient).sum()
            + self.to_points(placed, weights.to_placed, points, gradient).sum()
            + self.to_itself(points, weights.own, gradient).sum()
        )
        return float(value), gradient

    def _pulled(
        self, others: Float64s, norms: Float64s, w: Float64s, points: Float64s, gradient: Float64s | None
    ) -> Float64s:
        """Return sum_i w_i k(a_i, c_j) for each point c_j, strip by strip; see `to_rows`."""
        total = np.zeros(len(points))
        height = max(1, int(self._block // (8 * max(len(points), 1))))
        for i, j in strips([0, len(others)], height):
            self._meter.add((j - i) * len(points))
            t = self._pair_numbers(others[i:j], norms[i:j], points)
            total += w[i:j] @ self._kernel.value(t)
            if gradient is not None:
                slopes = self._kernel.slope(t) * w[i:j, None]
                if self._kernel.geometry == "inner":
                    gradient += slopes.T @ others[i:j]
                else:  # the derivative of |a - c|^2 by c is 2 (c - a)
                    gradient += 2 * (slopes.sum(axis=0)[:, None] * points - slopes.T @ others[i:j])
        return total

    def _pair_numbers(self, others: Float64s, norms: Float64s, points: Float64s) -> Float64s:
        """Return the inner products or squared distances of some rows to the points."""
        if self._kernel.geometry == "inner":
            return np.asarray(others @ points.T)
        if not self._by_product:
            from scipy.spatial.distance import cdist

            return np.asarray(cdist(others, points, "sqeuclidean"))
        t: Float64s = others @ points.T
        t *= -2.0
        t += norms[:, None]
        t += np.einsum("ij,ij->i", points, points)
        return np.maximum(t, 0.0, out=t)
