"""Free points by a quasi-Newton search: QNO, and S-QNO, which places them in steps.

The points that move from Y to X may be anywhere in the box of the data, not at rows alone. The value that
they reach is no labelling's, and nothing about it is proved: the paper compares its own method with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from mmdbounds.checks import check_chance, check_count, check_option
from mmdbounds.contamination import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import lists_kernels
from mmdbounds.objective import Indices, Quadratic
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.results import Side
from mmdbounds.search.choice import outwards
from mmdbounds.search.found import Found, Task
from mmdbounds.search.free_points import FreePoints, Objective, Weights, exact_weights, printed_weights
from mmdbounds.search.ranking import largest
from mmdbounds.search.sides import at_once, most_extreme
from mmdbounds.search.stepwise import DEFAULT_STEPS
from mmdbounds.sums.plan import MIB
from mmdbounds.sums.protocol import Float64s

Start = Literal["s-sd", "random", "both"]
STARTS: dict[Start, tuple[str, ...]] = {"s-sd": ("s-sd",), "random": ("random",), "both": ("s-sd", "random")}
STARTED_FROM = {"s-sd": "the rows of S-SD", "random": "random rows of Y"}

EVALUATIONS = 20
"""Most evaluations in one iteration, on average; a line search takes one or two."""

REMEMBERED = 30
"""Numbers that the search remembers of each coordinate: ten steps and gradients, and its own arrays."""

NextRows = Callable[[Float64s, int], Indices]
"""From the points placed so far and the number of new ones to the rows of Y where these begin."""


@lists_kernels
@dataclass(frozen=True)
class QuasiNewton:
    """Quasi-Newton search over free points (QNO); in several steps, S-QNO.

    Parameters
    ----------
    n_steps
        Number of steps S: after step s there are floor(m s / S) points, and those of earlier steps stay
        where they are. 1 is QNO; `None` takes min(m, 10), which is S-QNO.
    start
        Where the points begin: ``"s-sd"``, the rows that S-SD would move next; ``"random"``, rows of Y
        drawn at random; ``"both"``, the better of the two.
    objective
        What is searched for: ``"exact"``, the extreme of the squared MMD itself; ``"printed"``, that of the
        paper's equation 6 with its weights 1 - epsilon, -(1 + epsilon) and epsilon, for
        reproducing it. The value is the squared MMD at the points found in both cases.
    max_iterations
        Most iterations in each step.
    tolerance
        A step has converged where no coordinate has a larger slope, or an iteration gains less than its
        square, in the units of the problem: bandwidths, and the range of the witness over Y.

    Notes
    -----
    One-way misfiling, and kernels with a slope:
    <kernels having slope>.
    Kernel values at free points are computed in float64. The points themselves are not part of the result.
    """

    n_steps: int | None = 1
    start: Start = "s-sd"
    objective: Objective = "exact"
    max_iterations: int = 1000
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        if self.n_steps is not None:
            object.__setattr__(self, "n_steps", check_count(self.n_steps, "n_steps", least=1))
        check_option(self.start, "start", tuple(STARTS))
        check_option(self.objective, "objective", ("exact", "printed"))
        most = check_count(self.max_iterations, "max_iterations", least=1)
        object.__setattr__(self, "max_iterations", most)
        check_chance(self.tolerance, "tolerance")

    @property
    def name(self) -> str:
        """``"qno"`` with one step, else ``"s-qno"``."""
        return "qno" if self.n_steps == 1 else "s-qno"

    @property
    def is_random(self) -> bool:
        """Whether the points begin at random rows."""
        return self.start != "s-sd"

    def options(self) -> dict[str, Any]:
        """Return the options as plain data, for the record."""
        return asdict(self)

    def steps_for(self, counts: Counts) -> int:
        """Return the number of steps S for so many points."""
        return min(counts.n_moved, DEFAULT_STEPS if self.n_steps is None else self.n_steps)

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse, before the work, counts that this method cannot do."""
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

        meter.total = 0  # nobody knows how many iterations there will be

        def find(side: Side) -> Found:
            every = [_Search(self, task, space, i, side).found() for i in range(len(task.admissible))]
            return most_extreme(every, side)

        return at_once(find, task)

    def _check_memory(self, admissible: list[Counts], problem: Problem) -> None:
        """Refuse a search over more coordinates than the budget allows to remember."""
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


@dataclass(frozen=True, eq=False)
class _Placed:
    """Points that were placed (one row each), with how many iterations, and in how many steps in vain."""

    points: Float64s
    iterations: int
    unfinished: int


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
        values = [self._f.value_as_filed + self._space.value(each.points, self._exact) for each in tries]
        best = int(np.argmax(self._out * np.array(values)))  # the first of equals
        begun = f"from {STARTED_FROM[starts[best]]}{', the better start' if len(tries) > 1 else ''}"
        status = f"{_ending(tries[best], self._steps)}; {begun}"
        return Found(values[best], None, kind="free points", status=status)

    def _placed(self, start: str) -> _Placed:
        """Place all points, step by step."""
        m, steps = self._f.counts.n_moved, self._steps
        next_rows = self._random_rows() if start == "random" else self._leading_rows()
        weights = self._exact
        if self._method.objective == "printed":
            weights = printed_weights(self._f.counts, steps)
        points = np.empty((0, self._space.rows.shape[1]))
        iterations = unfinished = 0
        for s in range(1, steps + 1):
            rows = next_rows(points, m * s // steps - m * (s - 1) // steps)
            step = self._climb(self._space.rows[self._space.p + rows], points, weights)
            points = np.concatenate([points, step.points])
            iterations += step.iterations
            unfinished += step.unfinished
        return _Placed(points, iterations, unfinished)

    def _random_rows(self) -> NextRows:
        t, m = self._f.totals, self._f.counts.n_moved
        drawn = self._rng.choice(t.q, m, replace=False)
        return lambda placed, quota: drawn[len(placed) : len(placed) + quota]

    def _leading_rows(self) -> NextRows:
        """Return a function that takes the rows that S-SD would move next, each row once."""
        f, space = self._f, self._space
        of_y = slice(f.totals.p, f.totals.p + f.totals.q)
        free = np.ones(f.totals.q, dtype=np.bool_)

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

    def _climb(self, begin: Float64s, placed: Float64s, weights: Weights) -> _Placed:
        """Move new points from where they begin to a local extreme."""
        from scipy.optimize import Bounds, minimize

        space, unit, method = self._space, self._space.unit, self._method
        if not (space.low < space.high).any():
            return _Placed(begin, 0, 0)  # all rows are one
        height = -self._out / self._unit_of_gain(weights)

        def descent(x: Float64s) -> tuple[float, Float64s]:
            value, gradient = space.value_and_gradient(x.reshape(begin.shape) * unit, weights, placed)
            return height * value, (height * unit * gradient).ravel()

        box = Bounds(np.tile(space.low / unit, len(begin)), np.tile(space.high / unit, len(begin)))
        options = {
            "maxiter": method.max_iterations,
            "maxfun": EVALUATIONS * method.max_iterations,
            "gtol": method.tolerance,
            "ftol": method.tolerance**2,
        }
        x = (begin / unit).ravel()
        end = minimize(descent, x, jac=True, method="L-BFGS-B", bounds=box, options=options)
        points = np.clip(end.x.reshape(begin.shape) * unit, space.low, space.high)
        if not end.fun <= descent(x)[0]:  # rounding has led it astray
            points = begin
        return _Placed(points, int(end.nit), int(not end.success))

    def _unit_of_gain(self, weights: Weights) -> float:
        """Return the range of the objective over the rows of Y, for one point."""
        of_y = self._f.gradient_as_filed[self._f.totals.p :]
        least = 1e-9 * self._exact.to_x * self._f.counts.n_x * (self._f.totals.scale or 1.0)
        return max(float(np.ptp(of_y)), least) * weights.to_x / self._exact.to_x


def _ending(placed: _Placed, steps: int) -> str:
    """Say how a search ended."""
    n = f"{placed.iterations:,} iteration{'' if placed.iterations == 1 else 's'}"
    if steps == 1:
        return f"stopped at {n}: not converged" if placed.unfinished else f"converged after {n}"
    how = f"{placed.unfinished} not converged" if placed.unfinished else "all converged"
    return f"{steps} steps, {n}: {how}"
