"""Free points: weights of an objective over pairs of points and rows, and its sums with their gradient."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import PairKernel, kernel_names
from mmdbounds.objective import Indices, Mask, Quadratic
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.sums.plan import BLOCK_BYTES, MIB, strips
from mmdbounds.sums.points import check_finite, kernel_rows, takes_differences
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.rounding import product_error

BLOCKS = 32  # blocks of kernel values that fit the budget: two sides, and what a formula keeps of each
ENOUGH = 1e-9  # error of a kernel value that a search over free points tolerates: it proves nothing


@dataclass(frozen=True)
class Weights:
    """Weight of each kind of pair in an objective."""

    to_x: float  # a free point and a row filed under X
    to_y: float  # ... or under Y
    to_placed: float  # a free point and one that was placed in an earlier step
    own: float  # a free point and itself, in addition to `pair`
    pair: float  # each ordered pair of free points, those of a point with itself included


def exact_weights(quadratic: Quadratic, *, unbiased: bool) -> Weights:
    """Return the weights of the squared MMD."""
    n_x, n_y, o = quadratic.counts.n_x, quadratic.counts.n_y, int(unbiased)
    of_x = (n_x + n_y - o) / (n_x * n_y * (n_x - o))
    return Weights(2 * of_x, -2 * quadratic.b, 2 * quadratic.c, -quadratic.e, quadratic.c)


def printed_weights(counts: Counts, steps: int) -> Weights:
    """Return the weights that the paper prints (equation 6), with epsilon / S in each of S steps."""
    n, part = counts.n_x, float(counts.stated_epsilon) / steps  # its n is the true size of X
    # A point placed earlier has entered X and left Y: (1 - part) + (1 + part) = 2.
    return Weights((1 - part) / n, -(1 + part) / n, 2 / n, -part / n, part / n)


def mean_weights(counts: Counts, steps: int, p: int, q: int) -> Weights:
    """Return the printed weights with sums divided by the sizes of the groups, now `p` and `q`."""
    part = float(counts.stated_epsilon) / steps
    placed = (1 - part) / p + (1 + part) / q
    return Weights((1 - part) / p, -(1 + part) / q, placed, -part / counts.n_x, part / counts.n_x)


class FreePoints:
    """Sums of k at points in the box of the pooled rows, with their gradient; points have shape (m, d).

    `rows` are the pooled rows, the p of X first, in the coordinates of the kernel's formula: centred, or
    scaled. `low` and `high` are the range of each column, `unit` is a distance that matters.
    """

    def __init__(self, problem: Problem, meter: Meter) -> None:
        if not isinstance(problem.kernel, PairKernel) or not problem.kernel.has_slope:
            names = ", ".join(map(repr, kernel_names("slope")))
            needed = f"free points need the slope of the kernel, which the {problem.kernel.name} kernel"
            msg = f"{needed} does not have. Use one of {names}, or method='s-sd'."
            raise MmdBoundsError(msg)
        self._kernel, self._meter = problem.kernel, meter
        self.rows, self.p = kernel_rows(problem.pooled, problem.kernel), problem.p
        self.is_x: Mask = np.arange(len(self.rows)) < self.p
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
        w = np.where(self.is_x, weights.to_x, weights.to_y)
        return self._pulled(self.rows, self._norms, w, points, gradient)

    def joined(self, rows: Indices) -> FreePoints:
        """Return the same space with these rows of Y, and no others, counted as rows of X."""
        other = copy(self)
        other.is_x = np.arange(len(self.rows)) < self.p
        other.is_x[self.p + rows] = True
        return other

    def to_points(
        self, others: Float64s, weight: float, points: Float64s, gradient: Float64s | None = None
    ) -> Float64s:
        """Return for each point `weight` times its sum of k to some others, which stay in place."""
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
        """Return the objective at all points, without its constant."""
        value = self.to_rows(points, weights).sum() + self.to_points(points, weights.pair, points).sum()
        return float(value + self.to_itself(points, weights.own).sum())

    def value_and_gradient(
        self, points: Float64s, weights: Weights, placed: Float64s
    ) -> tuple[float, Float64s]:
        """Return the part of the objective that `points` change, with those `placed` earlier held fixed."""
        gradient = np.zeros_like(points)
        value = self.to_points(points, weights.pair, points, gradient).sum()
        gradient *= 2  # both points of a pair move
        value += self.to_rows(points, weights, gradient).sum()
        value += self.to_points(placed, weights.to_placed, points, gradient).sum()
        return float(value + self.to_itself(points, weights.own, gradient).sum()), gradient

    def _pulled(
        self, others: Float64s, norms: Float64s, w: Float64s, points: Float64s, gradient: Float64s | None
    ) -> Float64s:
        """Return sum_i w_i k(a_i, c_j) for each point c_j, in strips; add the derivative to `gradient`."""
        total, height = np.zeros(len(points)), max(1, int(self._block // (8 * max(len(points), 1))))
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
        """Return the inner products or squared distances of rows (n, d) to the m points: (n, m)."""
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
