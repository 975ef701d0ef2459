"""Problems, and what is true of them by definition: loops and sums, no cleverness.

Everything here is written from the definitions (sections 2 to 4 of the notation page), with
other code than the package's: kernel values pair by pair, the statistic as three double sums,
the gradient as a difference quotient (exact for a quadratic), S-SD by recomputing everything in
every step.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mmdbounds import kernels
from mmdbounds.counts import Counts
from mmdbounds.kernels import PairKernel
from mmdbounds.objective import Labelling, Quadratic, group_sums
from mmdbounds.search.sharp.quota_problem import QuotaProblem
from mmdbounds.sums import make_sums

KERNELS = ("rbf", "laplacian", "matern52", "polynomial", "linear", "function")
TIES = 1e-12
"""Kernel means closer than this, relative to the largest diagonal entry, are tied."""


@dataclass(frozen=True)
class Problem:
    """Two groups, a kernel, an estimator, and how many rows move."""

    X: np.ndarray
    Y: np.ndarray
    kernel: kernels.Kernel
    estimator: str
    counts: Counts

    @property
    def Z(self):
        return np.concatenate([self.X, self.Y])

    @property
    def p(self):
        return len(self.X)

    @property
    def q(self):
        return len(self.Y)


def sample_function(A, B):
    """A kernel of a user: a product of one-dimensional Laplacians and a constant."""
    return 0.5 + np.exp(-np.abs(A[:, None, :] - B[None, :, :]).mean(axis=2))


def random_problem(seed, *, two_way=None, kernel=None):
    """Draw a problem: any sizes, dimensions, kernels, bandwidths; duplicates; far from the origin."""
    rng = np.random.default_rng(seed)
    p, q = rng.integers(2, 41, size=2)
    d = int(rng.choice([1, 2, 3, 5, 10, 30, 200]))
    Z = rng.normal(size=(p + q, d)) + np.where(np.arange(p + q)[:, None] < p, 0.0, rng.normal(size=d))
    if rng.random() < 0.3:
        Z = np.round(Z)  # discrete values: ties everywhere
    if rng.random() < 0.3:
        Z = Z[rng.integers(0, p + q, size=p + q)]  # duplicates, across the groups too
    if rng.random() < 0.3:
        Z = Z * rng.choice([1e-3, 1e3], size=d)  # columns of different scales
    if rng.random() < 0.3:
        Z = Z + rng.choice([100.0, 1e5]) * np.abs(Z).max()  # far from the origin
    name = kernel or KERNELS[rng.integers(len(KERNELS))]
    estimator = str(rng.choice(["unbiased", "biased"]))
    two_way = bool(rng.random() < 0.4) if two_way is None else two_way
    least = 2 if estimator == "unbiased" else 1
    while True:
        m = int(rng.integers(0, q + 1))
        m_d = int(rng.integers(0, p + 1)) if two_way else 0
        if min(p + m - m_d, q - m + m_d) >= least:
            break
    counts = Counts(m, m_d, int(p + m - m_d), int(q - m + m_d))
    return Problem(Z[:p], Z[p:], make_kernel(name, Z, rng), estimator, counts)


def make_kernel(name, Z, rng):
    """Make a kernel object with a bandwidth from 1e-3 to 1e3 of the median."""
    if name == "polynomial":
        return kernels.Polynomial(int(rng.integers(1, 4)), 1.0 / Z.shape[1], float(rng.random()))
    if name == "function":
        return kernels.FunctionKernel(sample_function)
    if name == "energy":
        return kernels.Energy(float(rng.choice([1.0, 0.5, 1.5, rng.uniform(0.1, 1.9)])))
    if not kernels.takes_bandwidth(name):
        return kernels.kernel_class(name)()
    order = 1 if name == "laplacian" else 2
    median = np.median([np.linalg.norm(a - b, order) for i, a in enumerate(Z) for b in Z[:i]]) or 1.0
    factor = 1.0 if rng.random() < 0.5 else 10.0 ** rng.uniform(-3, 3)
    return kernels.kernel_class(name)(float(median * factor))


class Signed(PairKernel):
    """The inner product of rows that are of length 1: bounded, and negative for some pairs."""

    name = "signed"
    geometry = "inner"
    is_positive_definite = True
    upper_bound = 1.0

    def value(self, t):
        return t


def naive_value(kernel, a, b):
    """k(a, b) for two rows, from the formula."""
    match kernel.name:
        case "rbf":
            return math.exp(-float(np.sum((a - b) ** 2)) / (2 * kernel.bandwidth**2))
        case "laplacian":
            return math.exp(-float(np.sum(np.abs(a - b))) / kernel.bandwidth)
        case "matern52":
            s = math.sqrt(5 * float(np.sum((a - b) ** 2))) / kernel.bandwidth
            return (1 + s + s * s / 3) * math.exp(-s)
        case "polynomial":
            return (kernel.gamma * float(a @ b) + kernel.coef0) ** kernel.degree
        case "linear":
            return float(a @ b)
        case "energy":
            return -(math.sqrt(float(np.sum((a - b) ** 2))) ** kernel.exponent)
        case "function":
            return float(kernel.function(a[None], b[None])[0, 0])
    raise AssertionError(kernel)


def naive_matrix(problem):
    """The kernel matrix, pair by pair. A linear kernel's rows are centred, which changes no MMD."""
    Z = problem.Z - problem.Z.mean(axis=0) if problem.kernel.name == "linear" else problem.Z
    K = np.empty((len(Z), len(Z)))
    for i in range(len(Z)):
        for j in range(i + 1):
            K[i, j] = K[j, i] = naive_value(problem.kernel, Z[i], Z[j])
    return K


def naive_mmd2(K, in_x, estimator):
    """The statistic of the rows marked `in_x` against the others, as three double sums."""
    x, y = (np.flatnonzero(in_x == side).tolist() for side in (True, False))
    unbiased = estimator == "unbiased"
    within_x = math.fsum(K[i, j] for i in x for j in x if not (unbiased and i == j))
    within_y = math.fsum(K[i, j] for i in y for j in y if not (unbiased and i == j))
    between = math.fsum(K[i, j] for i in x for j in y)
    o = 1 if unbiased else 0
    n_x, n_y = len(x), len(y)
    return within_x / (n_x * (n_x - o)) + within_y / (n_y * (n_y - o)) - 2 * between / (n_x * n_y)


def naive_extension(K, u, counts, estimator):
    """The statistic as a function of weights u in place of marks, at the sizes after the move."""
    o = 1 if estimator == "unbiased" else 0
    n_x, n_y = counts.n_x, counts.n_y
    v, d = 1 - u, np.diag(K)
    return (
        (u @ K @ u - o * (d @ u)) / (n_x * (n_x - o))
        + (v @ K @ v - o * (d @ v)) / (n_y * (n_y - o))
        - 2 * (u @ K @ v) / (n_x * n_y)
    )


def naive_gradient(K, u, counts, estimator):
    """The gradient: central differences with step 1, exact for a quadratic but for rounding."""
    steps = np.eye(len(u))
    return np.array(
        [
            (naive_extension(K, u + e, counts, estimator) - naive_extension(K, u - e, counts, estimator)) / 2
            for e in steps
        ]
    )


def tie_width(K, counts, estimator):
    """Gradients closer than this are tied."""
    o = 1 if estimator == "unbiased" else 0
    return TIES * np.abs(np.diag(K)).max() * 2 * (len(K) - o) / (counts.n_x * counts.n_y)


def naive_extreme(scores, count, free, width):
    """The `count` free rows with the largest scores; those tied with the last one by the lowest row."""
    rows = sorted(free, key=lambda i: -scores[i])
    if count == 0:
        return []
    cut = scores[rows[count - 1]]
    sure = [i for i in rows if scores[i] > cut + width]
    tied = sorted(i for i in rows if abs(scores[i] - cut) <= width)
    return sure + tied[: count - len(sure)]


def naive_stepwise(K, problem, n_steps, side):
    """S-SD, even schedule: everything anew in every step. Returns the rows of Y and of X that move."""
    counts, p = problem.counts, problem.p
    u = (np.arange(len(K)) < p).astype(float)
    of_y, of_x = set(range(p, len(K))), set(range(p)) if counts.n_moved_of_x else set()
    sign = np.where(np.arange(len(K)) < p, -1.0, 1.0) * (1 if side == "upper" else -1)
    width = tie_width(K, counts, problem.estimator)
    moved = []
    for s in range(1, n_steps + 1):
        scores = sign * naive_gradient(K, u, counts, problem.estimator)
        batch = []
        for m, group in ((counts.n_moved, of_y), (counts.n_moved_of_x, of_x)):
            quota = m * s // n_steps - m * (s - 1) // n_steps
            batch += naive_extreme(scores, quota, group - set(moved), width)
        u[batch] = 1 - u[batch]
        moved += batch
    return sorted(i - p for i in moved if i >= p), sorted(i for i in moved if i < p)


def naive_printed(K, problem, n_steps, side, weights):
    """S-SD as printed: weighted sums, quantiles by their definition, ties included.

    Returns the rows of Y, or None where no row would be left in Y.
    """
    p, q, m = problem.p, problem.q, problem.counts.n_moved
    epsilon = Fraction(m, p + m)
    level = epsilon / (epsilon + n_steps)
    x, y = list(range(p)), list(range(p, p + q))
    width = TIES * np.abs(np.diag(K)).max()
    for _ in range(n_steps):
        size_x, size_y = (len(x), len(y)) if weights == "means" else (1, 1)
        tie = width if weights == "means" else width * (p + q)
        f = {
            j: float(1 - epsilon / n_steps) * math.fsum(K[i, j] for i in x) / size_x
            - float(1 + epsilon / n_steps) * math.fsum(K[i, j] for i in y) / size_y
            for j in y
        }
        ordered = sorted(f.values())
        quantile = 1 - level if side == "upper" else level
        # inf{f : quantile < CDF(f)}: the k-th smallest value has CDF k / n, or more with ties, taken anyway.
        gamma = next(v for k, v in enumerate(ordered, start=1) if quantile < Fraction(k, len(y)))
        batch = [j for j in y if (f[j] >= gamma - tie if side == "upper" else f[j] <= gamma + tie)]
        x, y = x + batch, [j for j in y if j not in batch]
        if not y:
            return None
    return sorted(i - p for i in x if i >= p)


FAMILIES = ("normal", "clustered", "duplicated", "line", "many columns", "discrete", "binary", "far")
SMALL_KERNELS = (*KERNELS, "sigmoid", "minus distance", "definite matrix", "indefinite matrix")
"""Those of users included: callables and matrices, definite or not."""


def sigmoid(A, B):
    """A kernel of a user that is not positive definite, with values of both signs on its diagonal."""
    return np.tanh(A @ B.T / A.shape[1] - 1.0)


def minus_distance(A, B):
    """A kernel of a user that vanishes on its diagonal; definite on vectors that sum to zero only."""
    return -np.abs(A[:, None] - B[None]).sum(axis=2)


def small_problem(seed, *, two_way=None, kernel=None, estimator=None, most=(16, 9)):
    """Draw a problem whose labellings can all be written down.

    `most` are the largest groups: q one-way, p and q two-way.
    """
    rng = np.random.default_rng([seed, 20])
    two_way = bool(rng.random() < 0.35) if two_way is None else two_way
    estimator = estimator or str(rng.choice(["unbiased", "biased"]))
    p, q = (
        rng.integers(3, most[1] + 1, size=2)
        if two_way
        else (rng.integers(2, 11), rng.integers(3, most[0] + 1))
    )
    name = kernel or SMALL_KERNELS[rng.integers(len(SMALL_KERNELS))]
    Z = small_rows(FAMILIES[rng.integers(len(FAMILIES))], int(p), int(q), rng)
    m, m_d = int(rng.integers(1, q - 1)), int(rng.integers(1, p - 1)) if two_way else 0
    if two_way and rng.random() < 0.1:
        m = 0  # rows of X alone
    counts = Counts(m, m_d, int(p + m - m_d), int(q - m + m_d))
    if name.endswith("matrix"):
        Z = small_matrix_kernel(Z, rng, definite=name == "definite matrix")
        made = kernels.Precomputed()
    elif name in ("sigmoid", "minus distance"):
        made = kernels.FunctionKernel(sigmoid if name == "sigmoid" else minus_distance)
    else:
        made = make_kernel(name, Z, rng)
    return Problem(Z[:p], Z[p:], made, estimator, counts)


def small_rows(family, p, q, rng):
    """Draw the pooled rows of a small problem."""
    d = {"line": 1, "many columns": int(rng.integers(50, 201))}.get(family, int(rng.integers(2, 7)))
    Z = rng.normal(size=(p + q, d))
    Z[p:] += rng.normal(size=d)
    match family:
        case "clustered":
            Z = 0.1 * Z + 3.0 * rng.normal(size=(3, d))[rng.integers(0, 3, size=p + q)]
        case "duplicated":
            Z = Z[rng.integers(0, max((p + q) // 3, 2), size=p + q)]
        case "discrete":
            Z = np.round(Z)
        case "binary":
            Z = (Z > 0).astype(float)
        case "far":
            Z = Z + 1e4
    return Z


def small_matrix_kernel(Z, rng, *, definite):
    """The matrix of a Gaussian kernel, or one with eigenvalues of both signs and any diagonal."""
    if definite:
        squared = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
        return np.exp(-squared / max(np.median(squared), 1e-9))
    noise = rng.normal(size=(len(Z), len(Z))) * 10.0 ** rng.uniform(-3, 3)
    return noise + noise.T


def small_matrix(problem):
    """The kernel matrix of a small problem by definition; a matrix that is given is that."""
    return problem.Z if problem.kernel.name == "precomputed" else naive_matrix(problem)


def all_labellings(p, q, counts):
    """Every labelling, one row each: 1.0 for the pooled rows that belong to X after the move."""
    pairs = list(
        itertools.product(
            itertools.combinations(range(p), counts.n_moved_of_x),
            itertools.combinations(range(p, p + q), counts.n_moved),
        )
    )
    marks = np.zeros((len(pairs), p + q))
    marks[:, :p] = 1.0
    for labelling, (of_x, of_y) in zip(marks, pairs, strict=True):
        labelling[list(of_x)] = 0.0
        labelling[list(of_y)] = 1.0
    return marks


def naive_values(K, marks, estimator):
    """The statistic of many labellings: the three sums of `naive_mmd2`, one labelling a row."""
    others, o = 1.0 - marks, 1 if estimator == "unbiased" else 0
    n_x, n_y = marks[0].sum(), others[0].sum()
    with_x, with_y, d = marks @ K, others @ K, np.diag(K)
    within_x = (with_x * marks).sum(axis=1) - o * (marks @ d)
    within_y = (with_y * others).sum(axis=1) - o * (others @ d)
    between = (with_x * others).sum(axis=1)
    return within_x / (n_x * (n_x - o)) + within_y / (n_y * (n_y - o)) - 2 * between / (n_x * n_y)


def totals_of(problem, sums=None):
    """The package's sums of a problem: where its searches begin."""
    return group_sums(sums or make_sums(problem.Z, problem.kernel), problem.p, problem.q)


def quadratic_of(problem, sums=None):
    """The package's quadratic of a problem."""
    return Quadratic(totals_of(problem, sums), problem.counts, problem.estimator)


def two_clouds(seed, *, q=80, of_x=0, duplicates=False, estimator="unbiased"):
    """50 and q rows around two centres, 20 of Y and `of_x` of X to move: too many to try all labellings."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(50 + q, 2))
    Z[50:] += 0.8
    if duplicates:
        Z = np.round(Z)
    return Problem(Z[:50], Z[50:], kernels.RBF(1.0), estimator, Counts(20, of_x, 70 - of_x, q - 20 + of_x))


def small_choice(problem, side):
    """The package's choice of the movers, every way to choose, and its value by definition.

    The ways are lists of places among the choice's rows, in the order of the values.
    """
    choice = QuotaProblem.of(Labelling(quadratic_of(problem)), side)
    marks = all_labellings(problem.p, problem.q, problem.counts)
    moved = marks != (np.arange(problem.p + problem.q) < problem.p)
    ways = [np.flatnonzero(row) for row in moved[:, problem.p + problem.q - len(choice.rows) :]]
    return choice, ways, naive_values(small_matrix(problem), marks, problem.estimator)


def sum_zero_basis(choice):
    """Orthonormal vectors that span those with sum zero in each group."""
    pieces = []
    for start, stop in ((0, choice.n_x), (choice.n_x, len(choice.rows))):
        for i in range(start, stop - 1):
            vector = np.zeros(len(choice.rows))
            vector[start : i + 1], vector[i + 1] = 1.0, -(i + 1.0 - start)
            pieces.append(vector / np.linalg.norm(vector))
    return np.array(pieces).T
