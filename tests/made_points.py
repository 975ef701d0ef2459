"""Small problems for searches over free points, and the squared MMD of such points pair by pair."""

import math
from dataclasses import replace

import numpy as np

from mmdbounds.baselines.free_points import FreePoints, _Search
from mmdbounds.counts import Counts
from mmdbounds.kernels import kernel_names
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.search.protocol import Task
from problems import Problem, make_kernel, naive_matrix, naive_value, totals_of

SIDES = ("lower", "upper")
SLOPED_NAMES = kernel_names("slope")
SETTINGS = [(kernel, estimator) for kernel in SLOPED_NAMES for estimator in ("unbiased", "biased")]


def posed(problem, working_memory=1024.0):
    """A made-up problem as the package poses it."""
    as_posed = pose(
        problem.X,
        problem.Y,
        Comparison(
            kernel=problem.kernel,
            bandwidth="median",
            estimator=problem.estimator,
            backend="auto",
            dtype="float64",
            working_memory=1024,
        ),
    )
    return replace(as_posed, working_memory=working_memory)


def task_of(problem, seed=0):
    return Task(totals_of(problem), [problem.counts], problem.estimator, seed, Meter())


def ends_of(method, problem):
    """Both values of a baseline, and its points."""
    return method.ends(task_of(problem), posed(problem))


def raw(points, problem):
    """Points of the search in the columns of the data."""
    if problem.kernel.name == "polynomial":
        return points / math.sqrt(problem.kernel.gamma)
    if not FreePoints(posed(problem), Meter())._by_product:
        return points  # differences are taken of the rows as they are
    return points + problem.Z.mean(axis=0)


def scale_of(problem):
    return totals_of(problem).scale


def naive_free(problem, points, K=None):
    """The squared MMD of X + C against Y - C: sums over all pairs, with weights 1 and -1.

    `K` is the matrix of the rows where it is known already.
    """
    kernel, (n_x, n_y) = problem.kernel, (problem.counts.n_x, problem.counts.n_y)
    o, p, q, m = int(problem.estimator == "unbiased"), problem.p, problem.q, len(points)
    centre = problem.Z.mean(axis=0) if kernel.name == "linear" else 0.0  # changes no MMD
    everyone = [*(problem.Z - centre), *(points - centre)]
    pairs = np.empty((p + q + m, p + q + m))
    pairs[: p + q, : p + q] = naive_matrix(problem) if K is None else K
    for j in range(p + q, p + q + m):
        pairs[j, : j + 1] = pairs[: j + 1, j] = [
            naive_value(kernel, a, everyone[j]) for a in everyone[: j + 1]
        ]
    in_x, in_y = np.repeat([1.0, 0.0, 1.0], [p, q, m]), np.repeat([0.0, 1.0, -1.0], [p, q, m])
    return (
        (in_x @ pairs @ in_x - o * (in_x @ np.diag(pairs))) / (n_x * (n_x - o))
        + (in_y @ pairs @ in_y - o * (in_y @ np.diag(pairs))) / (n_y * (n_y - o))
        - 2 * (in_x @ pairs @ in_y) / (n_x * n_y)
    )


def made(kernel, estimator, seed=0, *, narrow=False, m=3):
    """A small problem; a `narrow` kernel takes distances from differences."""
    rng = np.random.default_rng([seed, 7])
    Z = rng.normal(size=(15, 3)) + 4.0
    Z[6:] += 0.5
    one = make_kernel(kernel, Z, rng)
    if one.length is not None:
        one = type(one)(0.05 if narrow else 1.5)
    return Problem(Z[:6], Z[6:], one, estimator, Counts(m, 0, 6 + m, 9 - m))


def in_box(space, count, seed):
    return np.random.default_rng(seed).uniform(space.low, space.high, size=(count, len(space.low)))


def placed_by(method, problem, monkeypatch):
    """Run a search and write down what each step of it begins with and where its points end."""
    steps, climb = [], _Search._climb

    def recorded(search, space, begin, placed, weights):
        step = climb(search, space, begin, placed, weights)
        steps.append((search, begin, placed, step))
        return step

    monkeypatch.setattr(_Search, "_climb", recorded)
    found = ends_of(method, problem)
    monkeypatch.undo()
    first = steps[0][0]
    lower, upper = ([step[1:] for step in steps if (step[0] is first) == low] for low in (True, False))
    return found, (lower, upper)
