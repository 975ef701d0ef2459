r"""A floor of the largest of several standardised statistics that no single one of them has.

The labelling that is small for one kernel need not be small for another, so the largest of the kernels'
floors may lie far below the smallest maximum. With weights :math:`w \ge 0` that add up to 1,

.. math::
    \min_u \max_k \frac{T_k(u) - a_k}{s_k} \ \ge\ \min_u \sum_k w_k \frac{T_k(u) - a_k}{s_k},

and on the right stands one squared MMD less a constant: that of the kernel :math:`\sum_k w_k k_k / s_k`,
whose floor is proved like any other. Every choice of weights is valid. Good ones come from cutting planes:
the weights with which the least of the labellings found so far is the largest, then a labelling that is
small for them, and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linprog

from mmdbounds.counts import Counts
from mmdbounds.inference.worst_case import LOWER_STARTS
from mmdbounds.kernels import Precomputed
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.search.protocol import Found, Task
from mmdbounds.search.sharp import SideSearch
from mmdbounds.sums import plan
from mmdbounds.sums.protocol import Float64s, KernelSums
from mmdbounds.sums.threads import one_blas_thread

ROUNDS = 6  # weights that are tried at the most; two or three are usual
ENOUGH = 0.01  # standard deviations between a floor and what the labellings found allow
PART = 0.25  # of the memory that the matrix of one combination may take


@dataclass(frozen=True)
class JointFloor:
    """What is known of the largest of several standardised statistics at one count."""

    floor: float = -np.inf  # no labelling has a smaller maximum
    value: float = np.inf  # some labelling has this maximum


def fits(problem: Problem) -> bool:
    """Return whether a matrix of all kernel values is worth its memory."""
    return 8 * len(problem.pooled) ** 2 <= PART * problem.working_memory * plan.MIB


def joint_floor(
    problem: Problem,
    counts: Counts,
    every: Sequence[KernelSums],
    scales: Sequence[tuple[float, float]],
    standardised: Callable[[Found], Float64s],
    found: Sequence[Found],
    seed: int,
    meter: Meter,
) -> JointFloor:
    """Return a floor of the maximum over kernels, from a few combinations of them.

    `scales` says what is taken off each kernel's statistic, and by what that is divided: infinity if the
    kernel tells no two labellings apart. `standardised` returns all statistics of a labelling; some are
    `found`.
    """
    cuts = [standardised(one) for one in found]
    best = JointFloor(value=min(float(cut.max()) for cut in cuts))
    for _ in range(ROUNDS):
        weights, highest = _weights(np.array(cuts))
        factors = [w / s for w, (_, s) in zip(weights, scales, strict=True)]
        if highest - best.floor <= ENOUGH or not any(factors):
            break
        one = _smallest(problem, counts, every, factors, seed, meter)
        if one.certified is None:
            break
        constant = sum(w * a / s for w, (a, s) in zip(weights, scales, strict=True))
        cuts.append(standardised(one))
        best = JointFloor(max(best.floor, one.certified - constant), min(best.value, float(cuts[-1].max())))
    return best


def _weights(cuts: Float64s) -> tuple[list[float], float]:
    """Return the weights with which the smallest of some weighted sums is the largest, and that sum."""
    n_cuts, n_kernels = cuts.shape
    upper = np.hstack([-cuts, np.ones((n_cuts, 1))])  # the sum is at most that of each labelling
    total = np.append(np.ones(n_kernels), 0.0)[None]
    bounds = [(0.0, 1.0)] * n_kernels + [(None, None)]
    aim = np.append(np.zeros(n_kernels), -1.0)
    solved = linprog(aim, A_ub=upper, b_ub=np.zeros(n_cuts), A_eq=total, b_eq=[1.0], bounds=bounds)
    weights = np.maximum(solved.x[:-1], 0.0)
    weights /= weights.sum()
    return weights.tolist(), float((cuts @ weights).min())


def _smallest(
    problem: Problem,
    counts: Counts,
    every: Sequence[KernelSums],
    factors: Sequence[float],
    seed: int,
    meter: Meter,
) -> Found:
    """Return a small squared MMD of a combination of kernels, and a proof that none is much smaller."""
    n = len(problem.pooled)
    matrix, everyone = np.zeros((n, n)), slice(0, n)
    for factor, sums in zip(factors, every, strict=True):
        if factor > 0:
            matrix += factor * sums.block(everyone, everyone)
    matrix = (matrix + matrix.T) / 2  # a product may round the two sides of a pair in two ways
    how: dict[str, Any] = {"backend": "numpy", "dtype": "float64"}
    combined = replace(problem, pooled=matrix, kernel=Precomputed(), **how)
    task = Task(combined.one_pass(meter), [counts], problem.estimator, seed, meter)
    with one_blas_thread():  # two threads would add in another order than one
        [found] = SideSearch(task, "lower", LOWER_STARTS, certify=True).finish(0.0, 1.0)
    return found
