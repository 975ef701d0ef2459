"""The tests by their definition: every labelling written down, every permutation by itself."""

from __future__ import annotations

import itertools

import numpy as np

from limited_problems import admissible_labellings
from mmdbounds.contamination import Contamination
from mmdbounds.inference.permutation import blind_order
from mmdbounds.problem import Comparison, pose
from problems import all_labellings, naive_values, small_matrix

TIES = 1e-11
"""Statistics closer than this, relative to the largest kernel value, are tied."""


def options(problem):
    """What the front doors need to compare the groups of a small problem."""
    return {"kernel": problem.kernel, "estimator": problem.estimator}


def drawn(problem, n_permutations, seed):
    """The permutations: a plain loop over an order that knows no labels."""
    posed = pose(
        problem.X,
        problem.Y,
        Comparison(
            **options(problem), bandwidth="median", backend="auto", dtype="float64", working_memory=64
        ),
    )
    order, rng = blind_order(posed), np.random.default_rng(seed)
    return [order[rng.permutation(len(order))] for _ in range(n_permutations)]


def naive_null(K, permutations, n_x, estimator):
    """The statistic of each permutation, its first rows being X."""
    marks = np.zeros((len(permutations), len(K)))
    for row, permutation in zip(marks, permutations, strict=True):
        row[permutation[:n_x]] = 1.0
    return naive_values(K, marks, estimator)


def tolerance(K, counts):
    """What rounding may part: more where a group is small."""
    n = counts.n_x + counts.n_y
    return TIES * np.abs(K).max() * (n / (2 * min(counts.n_x, counts.n_y))) ** 2


def naive_pvalue(value, null, tie):
    """One more than the permutations with a statistic no smaller, over one more than all."""
    return (1 + sum(1 for other in null if other >= value - tie)) / (1 + len(null))


def every_pvalue(problem, counts, permutations):
    """The p-value of every labelling with these counts."""
    K = small_matrix(problem)
    null = naive_null(K, permutations, counts.n_x, problem.estimator)
    every = all_labellings if counts.movable is None else admissible_labellings
    values = naive_values(K, every(problem.p, problem.q, counts), problem.estimator)
    return [naive_pvalue(value, null, tolerance(K, counts)) for value in values]


def smallest(problem, counts):
    """The smallest statistic over every labelling with these counts."""
    marks = all_labellings(problem.p, problem.q, counts)
    return float(naive_values(small_matrix(problem), marks, problem.estimator).min())


def admissible(problem, *, exactly):
    """The counts, written down."""
    m, m_d = problem.counts.n_moved, problem.counts.n_moved_of_x
    pairs = [(m, m_d)] if exactly else itertools.product(range(m + 1), range(m_d + 1))
    return [Contamination(n_moved=a, n_moved_of_x=b).counts(problem.p, problem.q) for a, b in pairs]
