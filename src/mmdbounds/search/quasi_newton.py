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
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from mmdbounds.checks import check_chance, check_count, check_flag, check_option
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import lists_kernels
from mmdbounds.objective import Indices, Quadratic
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.results import Side
from mmdbounds.search.free_points import FreePoints, Weights, exact_weights, mean_weights, printed_weights
from mmdbounds.search.protocol import (
    NO_ROWS,
    Found,
    Method,
    Task,
    for_both_sides,
    largest,
    most_extreme,
    outwards,
)
from mmdbounds.search.stepwise import DEFAULT_STEPS
from mmdbounds.sums.plan import MIB
from mmdbounds.sums.protocol import Float64s

Objective = Literal["exact", "printed", "means"]
Start = Literal["s-sd", "random", "both"]
STARTS: dict[Start, tuple[str, ...]] = {"s-sd": ("s-sd",), "random": ("random",), "both": ("s-sd", "random")}
STARTED_FROM = {"s-sd": "the rows of S-SD", "random": "random rows of Y"}
EVALUATIONS = 20  # most evaluations in one iteration, on average; a line search takes one or two
REMEMBERED = 30  # numbers stored of each coordinate: ten steps and gradients, and more arrays

# From the points placed so far and the number of new ones to the rows of Y where these start.
NextRows = Callable[[Float64s, int], Indices]


@lists_kernels
@dataclass(frozen=True)
class QuasiNewton(Method):
    """Quasi-Newton search over free points (QNO); in several steps, S-QNO.

    Parameters
    ----------
    n_steps
        Number of steps S: after step s there are floor(m s / S) points, and those of earlier steps stay
        where they are. 1 is QNO; `None` takes min(m, 10), which is S-QNO.
    start
        Where the points start: ``"s-sd"``, the rows that S-SD would move next; ``"random"``, rows of Y
        drawn at random; ``"both"``, the better of the two.
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
    For one-way misfiling, and for kernels that have a slope:
    <kernels having slope>.
    Kernel values at free points are computed in float64. The points themselves are not part of the result.
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
        check_option(self.start, "start", tuple(STARTS))
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

    @property
    def needs_exact_count(self) -> bool:
        """Whether it is refused for "at most m": yes."""
        return True

    @property
    def is_random(self) -> bool:
        """Whether the points start at random rows."""
        return self.start != "s-sd"

    def steps_for(self, counts: Counts) -> int:
        """Return the number of steps S for these counts."""
        return min(counts.n_moved, DEFAULT_STEPS if self.n_steps is None else self.n_steps)

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse two-way counts, and rows that cannot move."""
        super().check(counts, p, q)
        if counts.n_moved_of_x:
            msg = f"`method='{self.name}'` is for one-way misfiling. Use method='sharp' for two-way."
            raise MmdBoundsError(msg)

    def both_sides(self, task: Task) -> tuple[Found, Found]:
        """Return the lower and the upper extreme over all admissible counts."""
        if task.problem is None:
            msg = f"`method='{self.name}'` needs the rows themselves; only `mmd_bounds` has them. Use 's-sd'."
            raise MmdBoundsError(msg)
        meter = task.meter or Meter()
        space = FreePoints(task.problem, meter)
        self._check_memory(task.admissible, task.problem)
        import scipy.optimize  # noqa: F401 -- before BLAS is held to one thread, SciPy's included

        def find(side: Side) -> Found:
            every = [_Search(self, task, space, i, side).found() for i in range(len(task.admissible))]
            return most_extreme(every, side)

        return for_both_sides(find, task)

    def _check_memory(self, admissible: list[Counts], problem: Problem) -> None:
        """Refuse a search over more coordinates than fit the budget."""
        points = max(math.ceil(c.n_moved / max(self.steps_for(c), 1)) for c in admissible)
        coordinates = points * problem.pooled.shape[1]
        need = 2 * 8 * REMEMBERED * coordinates / MIB  # both sides at once
        if need > problem.working_memory:
            msg = (
                f"`method='{self.name}'` searches over {coordinates:,} coordinates at once, which takes "
                f"{need:,.0f} MiB; `working_memory` is {problem.working_memory:g}. "
                "Raise it, or take more steps."
            )
            raise MmdBoundsError(msg)


class _Placed(NamedTuple):
    points: Float64s  # shape (m, d)
    iterations: int
    unfinished: int  # steps that did not converge
    gone: Indices = NO_ROWS  # rows of Y that left it for them, if any did


class _Search:
    """One side of one count."""

    def __init__(self, method: QuasiNewton, task: Task, space: FreePoints, i: int, side: Side) -> None:
        self._method, self._space, self._out = method, space, outwards(side)
        self._f = Quadratic(task.totals, task.admissible[i], task.estimator)
        self._steps = method.steps_for(task.admissible[i])
        self._exact = exact_weights(self._f, unbiased=task.estimator == "unbiased")
        self._rng = np.random.default_rng([task.seed, side == "upper", i])

    def found(self) -> Found:
        """Return the most extreme value from all starts."""
        if not self._f.counts.n_moved:
            return Found(self._f.value_as_filed, None, kind="free points", status="no points to place")
        starts = STARTS[self._method.start]
        tries = [self._placed(start) for start in starts]
        values = [self._value(each) for each in tries]
        best = int(np.argmax(self._out * np.array(values)))  # the first of equals
        begun = f"from {STARTED_FROM[starts[best]]}{', the better start' if len(tries) > 1 else ''}"
        status = f"{_ending(tries[best], self._steps)}; {begun}"
        return Found(values[best], None, kind="free points", status=status)

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

    def _placed(self, start: str) -> _Placed:
        """Place all points, step by step."""
        m, steps, snap = self._f.counts.n_moved, self._steps, self._method.snap
        gone: list[int] = []
        next_rows = self._random_rows(gone) if start == "random" else self._leading_rows()
        points, iterations, unfinished = np.empty((0, self._space.rows.shape[1])), 0, 0
        for s in range(1, steps + 1):
            rows = next_rows(points, m * s // steps - m * (s - 1) // steps)
            begin, here = self._space.rows[self._space.p + rows], self._space
            if gone:
                here = here.joined(np.array(gone))
            step = self._climb(here, begin, points[:0] if snap else points, self._weights(len(points)))
            points = np.concatenate([points, step.points])
            iterations, unfinished = iterations + step.iterations, unfinished + step.unfinished
            if snap:
                self._snap(step.points, gone)
        return _Placed(points, iterations, unfinished, np.array(gone, dtype=np.intp))

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

    def _climb(self, space: FreePoints, begin: Float64s, placed: Float64s, weights: Weights) -> _Placed:
        """Move new points from where they begin to a local extreme."""
        from scipy.optimize import Bounds, minimize

        unit, method = space.unit, self._method
        if not (space.low < space.high).any():
            return _Placed(begin, 0, 0)  # all rows are one
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
        return _Placed(begin if astray else points, int(end.nit), int(not end.success))

    def _unit_of_gain(self, weights: Weights) -> float:
        """Return the range of the objective over the rows of Y, for one point."""
        of_y = self._f.gradient_as_filed[self._f.totals.p :]
        least = 1e-9 * self._exact.to_x * self._f.counts.n_x * (self._f.totals.scale or 1.0)
        return max(float(np.ptp(of_y)), least) * weights.to_x / self._exact.to_x


def _ending(placed: _Placed, steps: int) -> str:
    """Return a phrase that says how a search ended."""
    n = f"{placed.iterations:,} iteration{'' if placed.iterations == 1 else 's'}"
    if steps == 1:
        return f"stopped at {n}: not converged" if placed.unfinished else f"converged after {n}"
    how = f"{placed.unfinished} not converged" if placed.unfinished else "all converged"
    return f"{steps} steps, {n}: {how}"
