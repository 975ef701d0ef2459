r"""Free points by a quasi-Newton search: QNO, and S-QNO, which places them in steps.

The points c_1..c_m that move from Y to X may be anywhere in the box of the data, not only at rows. With X + C
and Y - C as signed measures, the squared MMD is defined for any points,

.. math::
    f(C) = f(u_0) + 2b' \sum_{ij} k(x_i, c_j) - 2b \sum_{ij} k(y_i, c_j) - e \sum_j k(c_j, c_j)
    + c \sum_{ij} k(c_i, c_j), \quad b' = \frac{N-o}{n_X n_Y (n_X-o)}

(the other letters as in docs/method.md), and rows of Y as points give exactly the value of the labelling that
moves them. Other points have the value of no labelling, and nothing about it is proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from mmdbounds.baselines.simple import Baseline, Ends
from mmdbounds.checks import check_chance, check_count, check_flag, check_option
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import PairKernel, kernel_names, lists_kernels
from mmdbounds.objective import Indices, Mask, Quadratic
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.results import Side
from mmdbounds.search import Task
from mmdbounds.search.protocol import NO_ROWS, for_both_sides, largest, outwards
from mmdbounds.search.stepwise import DEFAULT_STEPS
from mmdbounds.sums.plan import BLOCK_BYTES, MIB, strips
from mmdbounds.sums.points import check_finite, kernel_rows, takes_differences
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.rounding import product_error

Objective = Literal["exact", "printed", "means"]
Start = Literal["s-sd", "random"]
EVALUATIONS = 20  # most evaluations in one iteration, on average; a line search takes one or two
REMEMBERED = 30  # numbers stored of each coordinate: ten steps and gradients, and more arrays

# From the points placed so far and the number of new ones to the rows of Y where these start.
NextRows = Callable[[Float64s, int], Indices]
BLOCKS = 32  # blocks of kernel values that fit the budget: two sides, and what a formula keeps of each
ENOUGH = 1e-9  # error of a kernel value that a search over free points tolerates: it proves nothing


@dataclass(frozen=True)
class Weights:
    """Weight of each kind of pair in an objective."""

    to_x: float  # a free point and a row labelled as X
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
            msg = f"{needed} does not have. Use one of {names}."
            raise MmdBoundsError(msg)
        self._kernel, self._meter = problem.kernel, meter
        self.rows, self.p = kernel_rows(problem.pooled, problem.kernel), problem.p
        self._centre = np.asarray(problem.pooled).mean(axis=0)
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

    def in_data(self, points: Float64s) -> Float64s:
        """Return points in the columns of the data."""
        if not self._by_product:
            return points
        if self._kernel.shift_invariant:
            return np.asarray(points + self._centre)
        return np.asarray(points / self._kernel.row_factor(points.shape[1]))

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


@lists_kernels
@dataclass(frozen=True)
class QuasiNewton(Baseline):
    """Quasi-Newton search over free points (QNO); in several steps, S-QNO.

    Parameters
    ----------
    n_steps
        Number of steps S: after step s there are floor(m s / S) points, and those of earlier steps stay
        where they are. 1 is QNO; `None` takes min(m, 10), which is S-QNO.
    start
        Where the points start: ``"s-sd"``, the rows that S-SD would move next, or ``"random"``, rows of Y
        drawn at random.
    objective
        What is searched for: ``"exact"``, the extreme of the squared MMD itself; ``"printed"``, that of the
        paper's equation 6 with its weights 1 - epsilon, -(1 + epsilon) and epsilon, for
        reproducing it; ``"means"``, the same with sums over a group divided by its current size. In all
        cases the value is the squared MMD at the points found.
    snap
        Whether after each step the rows of Y that are nearest to the new points leave Y and join X in their
        place: for later steps, and for the value as far as they leave Y. For reproducing the paper; needs
        ``start="random"``, rows of what is left of Y.
    max_iterations
        Most iterations in each step.
    tolerance
        A step has converged where no coordinate has a larger slope, or an iteration gains less than its
        square, in the units of the problem: bandwidths, and the range of the witness over Y.

    Notes
    -----
    For kernels that have a slope:
    <kernels having slope>.
    Kernel values at free points are computed in float64.
    """

    n_steps: int | None = 1
    start: Start = "s-sd"
    objective: Objective = "exact"
    snap: bool = False
    max_iterations: int = 1000
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        if self.n_steps is not None:
            object.__setattr__(self, "n_steps", check_count(self.n_steps, "n_steps", least=1))
        check_option(self.start, "start", ("s-sd", "random"))
        check_option(self.objective, "objective", ("exact", "printed", "means"))
        check_flag(self.snap, "snap")
        if self.snap and self.start != "random":  # S-SD may lead to rows that have left Y already
            msg = f"`snap=True` needs start='random'; got {self.start!r}."
            raise MmdBoundsError(msg)
        most = check_count(self.max_iterations, "max_iterations", least=1)
        object.__setattr__(self, "max_iterations", most)
        check_chance(self.tolerance, "tolerance")

    @property
    def name(self) -> str:
        """``"qno"`` with one step, else ``"s-qno"``."""
        return "qno" if self.n_steps == 1 else "s-qno"

    def steps_for(self, counts: Counts) -> int:
        """Return the number of steps S for these counts."""
        return min(counts.n_moved, DEFAULT_STEPS if self.n_steps is None else self.n_steps)

    def ends(self, task: Task, problem: Problem) -> Ends:
        """Return both extremes, and the points that reach them."""
        self._check_memory(task.admissible[0], problem)
        space = FreePoints(problem, task.meter or Meter())
        import scipy.optimize  # noqa: F401 -- before BLAS is held to one thread, SciPy's included

        def find(side: Side) -> tuple[float, Float64s]:
            return _Search(self, task, space, side).found()

        (lower, low_points), (upper, high_points) = for_both_sides(find, task)
        return Ends(lower, upper, (space.in_data(low_points), space.in_data(high_points)))

    def _check_memory(self, counts: Counts, problem: Problem) -> None:
        """Refuse a search over more coordinates than fit the budget."""
        points = math.ceil(counts.n_moved / max(self.steps_for(counts), 1))
        coordinates = points * problem.pooled.shape[1]
        need = 2 * 8 * REMEMBERED * coordinates / MIB  # both sides at once
        if need > problem.working_memory:
            msg = (
                f"the baseline {self.name!r} searches over {coordinates:,} coordinates at once, which takes "
                f"{need:,.0f} MiB; `working_memory` is {problem.working_memory:g}. "
                "Raise it, or take more steps."
            )
            raise MmdBoundsError(msg)


class _Placed(NamedTuple):
    points: Float64s  # shape (m, d)
    gone: Indices = NO_ROWS  # rows of Y that left it for them, if any did


class _Search:
    """One side."""

    def __init__(self, method: QuasiNewton, task: Task, space: FreePoints, side: Side) -> None:
        (counts,) = task.admissible
        self._method, self._space, self._out = method, space, outwards(side)
        self._f = Quadratic(task.totals, counts, task.estimator)
        self._steps = method.steps_for(counts)
        self._exact = exact_weights(self._f, unbiased=task.estimator == "unbiased")
        self._rng = np.random.default_rng([task.seed, side == "upper", 0])

    def found(self) -> tuple[float, Float64s]:
        """Return the value and the points."""
        if not self._f.counts.n_moved:
            return self._f.value_as_filed, np.empty((0, self._space.rows.shape[1]))
        placed = self._placed()
        return self._value(placed), placed.points

    def _value(self, placed: _Placed) -> float:
        """Return the squared MMD with the points in X; out of Y are these points, or the rows that left."""
        f, t, space, points = self._f, self._f.totals, self._space, placed.points
        if not self._method.snap:
            return f.value_as_filed + space.value(points, self._exact)
        p, o, n_x, n_y = t.p, f.o, f.counts.n_x, f.counts.n_y
        left = np.ones(t.q, dtype=np.bool_)
        left[placed.gone] = False
        of_gone = t.sums.apply(slice(p, p + t.q), p + placed.gone, np.ones(len(placed.gone)))
        to_x, to_y = t.to_x[p:][left], (t.to_y[p:] - of_gone)[left]
        # Sums over pairs of old rows, and then those with new points.
        within_x = t.to_x[:p].sum() - o * t.diagonal[:p].sum()
        within_x += space.value(points, Weights(2.0, 0.0, 0.0, -float(o), 1.0))
        within_y = to_y.sum() - o * t.diagonal[p:][left].sum()
        elsewhere = space.joined(placed.gone)  # only the rows left in Y are not in X there
        between = to_x.sum() + elsewhere.to_rows(points, Weights(0.0, 1.0, 0.0, 0.0, 0.0)).sum()
        return float(within_x / (n_x * (n_x - o)) + within_y / (n_y * (n_y - o)) - 2 * between / (n_x * n_y))

    def _placed(self) -> _Placed:
        """Place all points, step by step."""
        m, steps, snap = self._f.counts.n_moved, self._steps, self._method.snap
        gone: list[int] = []
        next_rows = self._random_rows(gone) if self._method.start == "random" else self._leading_rows()
        points = np.empty((0, self._space.rows.shape[1]))
        for s in range(1, steps + 1):
            rows = next_rows(points, m * s // steps - m * (s - 1) // steps)
            begin, here = self._space.rows[self._space.p + rows], self._space
            if gone:
                here = here.joined(np.array(gone))
            new = self._climb(here, begin, points[:0] if snap else points, self._weights(len(points)))
            points = np.concatenate([points, new])
            if snap:
                self._snap(new, gone)
        return _Placed(points, np.array(gone, dtype=np.intp))

    def _weights(self, n_placed: int) -> Weights:
        """Return the weights of the objective once some points are placed."""
        f, steps = self._f, self._steps
        if self._method.objective == "printed":
            return printed_weights(f.counts, steps)
        if self._method.objective == "means":
            return mean_weights(f.counts, steps, f.totals.p + n_placed, f.totals.q - n_placed)
        return self._exact

    def _snap(self, points: Float64s, gone: list[int]) -> None:
        """Let the row nearest to each point, of those still in Y, leave it."""
        of_y = self._space.rows[self._space.p :]
        for point in points:
            distances = np.square(of_y - point).sum(axis=1)
            distances[gone] = np.inf
            gone.append(int(np.argmin(distances)))

    def _random_rows(self, gone: list[int]) -> NextRows:
        """Return a function that draws rows of Y, each once; where rows leave it, of those still there."""
        q, m = self._f.totals.q, self._f.counts.n_moved
        if self._method.snap:
            return lambda placed, quota: self._rng.choice(np.delete(np.arange(q), gone), quota, replace=False)
        drawn = self._rng.choice(q, m, replace=False)
        return lambda placed, quota: drawn[len(placed) : len(placed) + quota]

    def _leading_rows(self) -> NextRows:
        """Return a function that takes the rows that S-SD would move next, each row once."""
        f, space, free = self._f, self._space, np.ones(self._f.totals.q, dtype=np.bool_)
        of_y = slice(f.totals.p, f.totals.p + f.totals.q)

        def next_rows(placed: Float64s, quota: int) -> Indices:
            gradient = f.gradient_as_filed[of_y] + space.to_points(placed, 2 * f.c, space.rows[of_y])
            chosen, steps = [], min(quota, DEFAULT_STEPS)
            for s in range(1, steps + 1):
                count = quota * s // steps - quota * (s - 1) // steps
                rows = largest(self._out * gradient, count, free, f.tie_width)
                gradient += 2 * f.c * f.totals.sums.apply(of_y, rows + of_y.start, np.ones(len(rows)))
                free[rows] = False
                chosen.append(rows)
            return np.concatenate(chosen)

        return next_rows

    def _climb(self, space: FreePoints, begin: Float64s, placed: Float64s, weights: Weights) -> Float64s:
        """Move new points from where they begin to a local extreme."""
        from scipy.optimize import Bounds, minimize

        unit, method = space.unit, self._method
        if not (space.low < space.high).any():
            return begin  # all rows are one
        height = -self._out / self._unit_of_gain(weights)

        def descent(x: Float64s) -> tuple[float, Float64s]:
            value, gradient = space.value_and_gradient(x.reshape(begin.shape) * unit, weights, placed)
            return height * value, (height * unit * gradient).ravel()

        box = Bounds(np.tile(space.low / unit, len(begin)), np.tile(space.high / unit, len(begin)))
        most, least = method.max_iterations, method.tolerance
        options = {"maxiter": most, "maxfun": EVALUATIONS * most, "gtol": least, "ftol": least**2}
        x = (begin / unit).ravel()
        end = minimize(descent, x, jac=True, method="L-BFGS-B", bounds=box, options=options)
        points = np.clip(end.x.reshape(begin.shape) * unit, space.low, space.high)
        astray = not end.fun <= descent(x)[0]  # by rounding
        return begin if astray else points

    def _unit_of_gain(self, weights: Weights) -> float:
        """Return the range of the objective over the rows of Y, for one point."""
        of_y = self._f.gradient_as_filed[self._f.totals.p :]
        least = 1e-9 * self._exact.to_x * self._f.counts.n_x * (self._f.totals.scale or 1.0)
        return max(float(np.ptp(of_y)), least) * weights.to_x / self._exact.to_x
