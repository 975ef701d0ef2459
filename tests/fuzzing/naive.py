"""What is true of a call by definition, in long double: kernel values, the statistic, all labellings.

Nothing of the package is used here. Rows are taken as they are, exactly (long double holds every float64
and every int64); kernel values come from differences or inner products of these rows, without any centre,
and the statistic from its three means. Every function that returns numbers states how far they can be off.

With u the unit roundoff of long double (5e-20 on x86), d columns, and h the largest absolute kernel value: a
difference is off by u relative to itself, a squared or L1 distance of d differences by (d + 4) u, and
t |k'(t)| is at most h for every distance kernel, so that a kernel value is off by (d + 10) u h, the last
roundings of the formula included. An inner product is off by (d + 1) u |a| |b|, hence a kernel of degree g by
g (d + 10) u h, because h is on the diagonal.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

Long = np.longdouble
UNIT = Long(np.finfo(Long).eps) / 2
IS_LONG = bool(np.finfo(Long).eps < 1e-18)
"""Whether long double has more digits than float64 here; without them there is nothing to compare with."""

ADDED = 64
"""Roundings on the way of one number through a sum of any length: NumPy adds in pairs, from 128 terms in
eight lanes (16 + 3), and 30 levels above that are a thousand million terms. A sum of sums takes twice as
many."""


@dataclass(frozen=True)
class Matrix:
    """A kernel matrix, and how far each of its entries can be off."""

    values: np.ndarray
    error: Long

    @property
    def largest(self):
        return np.abs(self.values).max()


def kernel_matrix(Z, kernel, *, bandwidth=None, degree=3, gamma=None, coef0=1.0, exponent=1.0):
    """The kernel matrix of the pooled rows, by the formulas of the documentation."""
    Z = np.asarray(Z).astype(Long)
    length = None if bandwidth is None else Long(bandwidth)
    power = 1
    match kernel:
        case "rbf":
            K = np.exp(-squared_distances(Z) / (2 * length * length))
        case "matern52":
            s = np.sqrt(5 * squared_distances(Z)) / length
            K = (1 + s + s * s / 3) * np.exp(-s)
        case "laplacian":
            K = np.exp(-l1_distances(Z) / length)
        case "linear":
            K = inner_products(about_the_median(Z))
        case "polynomial":
            power = degree
            K = (
                Long(1.0 / Z.shape[1] if gamma is None else gamma) * inner_products(Z) + Long(coef0)
            ) ** power
        case "energy":
            K = -(squared_distances(Z) ** (Long(exponent) / 2))
    return Matrix(K, power * (Z.shape[1] + 10) * UNIT * np.abs(K).max())


def squared_distances(Z):
    """Squared Euclidean distances, difference by difference."""
    total = np.zeros((len(Z), len(Z)), dtype=Long)
    for column in Z.T:
        difference = column[:, None] - column[None, :]
        total += difference * difference
    return total


def l1_distances(Z):
    """L1 distances, difference by difference."""
    total = np.zeros((len(Z), len(Z)), dtype=Long)
    for column in Z.T:
        total += np.abs(column[:, None] - column[None, :])
    return total


def inner_products(Z):
    """Inner products, column by column."""
    total = np.zeros((len(Z), len(Z)), dtype=Long)
    for column in Z.T:
        total += column[:, None] * column[None, :]
    return total


def about_the_median(Z):
    """Rows less the middle entry of each column, which no few rows far out can move.

    No squared MMD of a linear kernel changes, in exact arithmetic, with the origin.
    """
    return Z - np.sort(Z, axis=0)[len(Z) // 2]


def median_distance(Z, *, l1=False):
    """The median distance over distinct pairs of rows; of the positive ones if it is 0."""
    Z = np.asarray(Z).astype(Long)
    table = l1_distances(Z) if l1 else np.sqrt(squared_distances(Z))
    distances = table[np.triu_indices(len(Z), k=1)]
    median = np.median(distances)
    return median if median > 0 else np.median(distances[distances > 0])


def labellings(p, q, n_moved, n_moved_of_x):
    """Every labelling with these counts, one row each: True for pooled rows that belong to X."""
    of_x = list(itertools.combinations(range(p), n_moved_of_x))
    of_y = list(itertools.combinations(range(p, p + q), n_moved))
    marks = np.zeros((len(of_x) * len(of_y), p + q), dtype=bool)
    marks[:, :p] = True
    for mark, (out, into) in zip(marks, itertools.product(of_x, of_y), strict=True):
        mark[list(out)] = False
        mark[list(into)] = True
    return marks


def statistics(K, marks, estimator):
    """The statistic of labellings of one size, and how far each value can be off."""
    u, diagonal = marks.astype(Long), np.diagonal(K.values)
    to_x, to_y = row_sums(K, u), row_sums(K, 1 - u)
    sums = (
        (to_x * u).sum(axis=1),
        (to_y * (1 - u)).sum(axis=1),
        (to_x * (1 - u)).sum(axis=1),
        (diagonal * u).sum(axis=1),
        (diagonal * (1 - u)).sum(axis=1),
    )
    n_x = int(marks[0].sum())
    return three_means(sums, n_x, len(diagonal) - n_x, estimator), error_of(K)


def row_sums(K, u):
    """K u for each row of `u`, in no more than `ADDED` roundings."""
    if len(K.values) <= ADDED:
        return u @ K.values
    return np.array([(K.values * each).sum(axis=1) for each in u])


def statistics_nearby(K, base, flips, estimator):
    """The statistic where few rows (one row of `flips` each) change sides from `base`; any number of rows.

    With s = +1 for a row that enters X and -1 for one that leaves it, the sums are those of `base` plus
    2 s'Ku + s'Ks, -2 s'K(1-u) + s'Ks and s'K(1-u) - s'Ku - s'Ks. `base` differs by one or two rows, so that
    a group of n rows has a sum over at most (n + 2)^2 pairs to take them from: nine times its own.
    """
    u, diagonal = base.astype(Long), np.diagonal(K.values)
    (to_x,), (to_y,) = row_sums(K, u[None]), row_sums(K, 1 - u[None])
    s = np.where(base[flips], Long(-1), Long(1))
    by_x, by_y, own = ((s * each[flips]).sum(axis=1) for each in (to_x, to_y, diagonal))
    among = np.zeros(len(flips), dtype=Long)
    for i, j in itertools.product(range(flips.shape[1]), repeat=2):
        among += s[:, i] * s[:, j] * K.values[flips[:, i], flips[:, j]]
    sums = (
        (to_x * u).sum() + 2 * by_x + among,
        (to_y * (1 - u)).sum() - 2 * by_y + among,
        (to_y * u).sum() + by_y - by_x - among,
        (diagonal * u).sum() + own,
        (diagonal * (1 - u)).sum() - own,
    )
    n_x = int(base.sum() + s[0].sum())
    return three_means(sums, n_x, len(base) - n_x, estimator), 9 * error_of(K)


def three_means(sums, n_x, n_y, estimator):
    """The squared MMD from sums within X, within Y, between, and over the two diagonals."""
    within_x, within_y, between, own_x, own_y = sums
    if estimator == "unbiased":
        within = (within_x - own_x) / Long(n_x * (n_x - 1)) + (within_y - own_y) / Long(n_y * (n_y - 1))
    else:
        within = within_x / Long(n_x * n_x) + within_y / Long(n_y * n_y)
    return within - 2 * between / Long(n_x * n_y)


def error_of(K):
    """How far a statistic can be off: weights 1, 1 and 2, twice as much where a diagonal is taken out."""
    return 8 * (K.error + 3 * ADDED * UNIT * K.largest)


@dataclass(frozen=True)
class Extremes:
    """The smallest and the largest statistic over labellings, where they are, and how far each can be off."""

    lower: Long
    upper: Long
    error: Long
    lowest: np.ndarray
    n_labellings: int


def extremes(K, p, q, count, estimator):
    """The extremes over all labellings with one pair of counts."""
    n_moved, n_moved_of_x = count
    if n_labellings(p, q, count) * (p + q) ** 2 > MOST_WORK:
        return extremes_nearby(K, p, q, count, estimator)
    marks = labellings(p, q, n_moved, n_moved_of_x)
    values, error = statistics(K, marks, estimator)
    return Extremes(values.min(), values.max(), error, marks[values.argmin()], len(values))


def extremes_nearby(K, p, q, count, estimator):
    """The same where all labellings are a few rows away from one, out of any number of rows."""
    n_moved, n_moved_of_x = count
    everyone = n_moved > q // 2
    base = np.arange(p + q) < (p + q if everyone else p)
    flips_of_y = list(itertools.combinations(range(p, p + q), q - n_moved if everyone else n_moved))
    flips_of_x = list(itertools.combinations(range(p), n_moved_of_x))
    flips = np.array([a + b for a, b in itertools.product(flips_of_x, flips_of_y)], dtype=np.intp)
    values, error = statistics_nearby(K, base, flips, estimator)
    lowest = base.copy()
    lowest[flips[values.argmin()]] ^= True
    return Extremes(values.min(), values.max(), error, lowest, len(values))


MOST_WORK = 2e7
"""Products of two numbers that an enumeration may take: under a second."""


def n_labellings(p, q, count):
    return math.comb(q, count[0]) * math.comb(p, count[1])


def value_at(K, p, q, rows, rows_of_x, estimator):
    """The statistic of one labelling, and how far it can be off."""
    mark = np.arange(p + q) < p
    mark[np.asarray(rows, dtype=np.intp) + p] = True
    mark[np.asarray(rows_of_x, dtype=np.intp)] = False
    values, error = statistics(K, mark[None], estimator)
    return values[0], error
