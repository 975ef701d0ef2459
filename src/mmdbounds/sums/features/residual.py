r"""What features leave of a kernel: R = K - K~, without all pairs. Landmarks are chosen to leave little.

Landmarks come from a randomly pivoted Cholesky factorisation (Chen, Epperly, Tropp and Webber 2023): each is
drawn with a chance in proportion to what the ones before leave of k(z, z), so that rows unlike all others are
found as well as dense regions. Candidates are drawn many at a time and accepted so that the chances are the
same.

Of R there are two questions, each at a cost that does not grow with the pairs. What is the squared MMD of R
for one labelling, that is, by how much does the approximation change its value? Drawn rows tell, however the
labelling was found, with an error that follows from a bound on every entry. For `Nystrom` that is
abs(R_ij) <= sqrt(R_ii R_jj), with a known diagonal, and rows with a large one are drawn more often: a few
rows far from all landmarks are not overlooked. And how large can it be for any labelling? For
`Nystrom` R is positive semidefinite, so

.. math::
    \lambda_{\max}(R) \le \sum_b \lambda_{\max}(R_{bb})

for any partition of the rows into blocks b: with blocks of one row the trace, with larger ones far less.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import Kernel
from mmdbounds.progress import Meter
from mmdbounds.sums import plan
from mmdbounds.sums.features import ApproximateKernel, Nystrom
from mmdbounds.sums.features.maps import FeatureMap, LandmarkMap, cross_values, make_map, paired_values
from mmdbounds.sums.points import kernel_diagonal, takes_differences
from mmdbounds.sums.protocol import Float64s, PooledRows, RemoteRows
from mmdbounds.sums.threads import in_order, one_blas_thread, thread_count

FEW_ROWS, ROWS_PER_FEATURE = 4096, 20  # up to so many rows, all pairs cost less than the search did
# Sets of four rows that are drawn for a labelling, features of one row of each, and sets at a time.
MOST_DRAWS, MOST_FEATURES, STRIP_DRAWS = 100_000, 50_000_000, 128
LEVEL = 0.99  # of what is said from drawn rows
BLOCK_ROWS = 512  # rows of a block whose largest eigenvalue is computed
BATCH = 64  # candidates for landmarks drawn at a time
NOTHING_LEFT = 1e-12  # a share of k(z, z) that is rounding: no row with less becomes a landmark
Approximate = TypeVar("Approximate", bound=ApproximateKernel)
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Difference:
    """The squared MMD of R for one labelling, from drawn rows."""

    value: float
    margin: float  # the value is off by no more, but for a chance of 1 - `LEVEL`, rounding left out
    n_rows: int


@dataclass(frozen=True, eq=False)
class Sides:
    """The two groups of a labelling, and how rows are drawn from them.

    The mean of R within each group counts `factors` times: n / (n - 1) for the unbiased estimator, else 1.
    """

    rows: tuple[Places, Places]  # of each group, in the pooled sample
    roots: Float64s  # s with abs(R_ij) <= s_i s_j; a row is drawn with a chance in proportion to it
    factors: tuple[float, float]

    def drawn(self, count: int, rng: np.random.Generator) -> Places:
        """Return so many sets of two rows of each group, with replacement, one set a row."""
        sides = []
        for rows in self.rows:
            chances = np.cumsum(self.roots[rows])
            sides.append(rows[np.searchsorted(chances, chances[-1] * rng.random((count, 2)), side="right")])
        return np.concatenate(sides, axis=1)

    @property
    def weights(self) -> tuple[float, float, float]:
        """What the mean of R_ij / (s_i s_j) counts within X, within Y, and between them."""
        a, b = (float(self.roots[rows].mean()) for rows in self.rows)
        return self.factors[0] * a * a, self.factors[1] * b * b, a * b


def residual_block(rows: Float64s, feature_map: FeatureMap, exact: Kernel) -> Float64s:
    """Return R for some rows."""
    shifted = rows - feature_map.centre
    features = feature_map(rows)
    R = np.asarray(cross_values(shifted, shifted, exact) - features @ features.T)
    np.fill_diagonal(R, kernel_diagonal(shifted, exact) - np.einsum("ij,ij->i", features, features))
    return R


def all_pairs_pay(n_rows: int, n_features: int) -> bool:
    """Return whether the exact kernel is asked for all pairs: a small part of what a search costs anyway."""
    return n_rows <= max(FEW_ROWS, ROWS_PER_FEATURE * n_features)


def sampled_difference(
    Z: PooledRows,
    kernel: ApproximateKernel,
    feature_map: FeatureMap,
    sides: Sides,
    delta: float,
    rng: np.random.Generator,
    working_memory: float = 1024,
) -> Difference:
    r"""Return the squared MMD of R, its diagonal included, from drawn rows, but for a chance of `delta`.

    Of two rows x, x' of X and y, y' of Y, each drawn with a chance in proportion to s,

    .. math::
        t = w_X\,\rho(x, x') + w_Y\,\rho(y, y') - w_{XY} (\rho(x, y') + \rho(x', y)),
        \quad \rho(i, j) = \frac{R_{ij}}{s_i s_j},

    is the squared MMD on average, and never beyond w_X + w_Y + 2 w_XY. What the mean of independent draws
    of such a number is off follows from their variance and that range alone, however rare large
    residuals are (the empirical Bernstein inequality of Maurer and Pontil 2009, Theorem 4, on both sides).
    """
    count = n_draws(feature_map)
    places = sides.drawn(count, rng)
    within_x, within_y, between = sides.weights
    values = np.empty(count)
    room = working_memory * plan.MIB
    strip = int(np.clip(room // (512 * 8 * feature_map.size), 4, STRIP_DRAWS))

    def work(rows: Float64s, roots: Float64s, span: slice) -> Float64s:
        rho = _ratios(rows[span], roots[span], feature_map, kernel.exact)
        return np.asarray(within_x * rho[0] + within_y * rho[1] - between * (rho[2] + rho[3]))

    chunk = int(np.clip(room / 32 // (32 * Z.shape[1]), strip, 32 * STRIP_DRAWS))
    for start, stop in plan.strips([0, count], chunk):  # a cluster is asked for many rows at a time
        rows = Z[places[start:stop].ravel()].reshape(stop - start, 4, -1)
        roots = sides.roots[places[start:stop]]
        spans = [slice(i, j) for i, j in plan.strips([0, stop - start], strip)]
        for span, found in in_order(spans, functools.partial(work, rows, roots), thread_count()):
            values[start:stop][span] = found
    reach = within_x + within_y + 2 * between
    return Difference(float(values.mean()), _mean_error(values, 2 * reach, delta), places.size)


def n_draws(feature_map: FeatureMap) -> int:
    """Return how many sets of four rows are drawn; fewer of landmarks, whose features cost more."""
    most = MOST_DRAWS // 4 if isinstance(feature_map, LandmarkMap) else MOST_DRAWS
    return max(2, min(most, MOST_FEATURES // feature_map.size))


def _ratios(rows: Float64s, roots: Float64s, feature_map: FeatureMap, exact: Kernel) -> list[Float64s]:
    """Return R_ij / (s_i s_j) within both pairs of each set of four rows, and across them."""
    four = rows.reshape(-1, rows.shape[2])
    shifted = (four - feature_map.centre).reshape(rows.shape)
    features = feature_map(four).reshape(len(rows), 4, -1)
    found = []
    for i, j in ((0, 1), (2, 3), (0, 3), (1, 2)):
        product = np.einsum("ij,ij->i", features[:, i], features[:, j])
        R = paired_values(shifted[:, i], shifted[:, j], exact) - product
        found.append(np.clip(R / (roots[:, i] * roots[:, j]), -1.0, 1.0))  # beyond by rounding only
    return found


def _mean_error(values: Float64s, width: float, delta: float) -> float:
    """Return what the mean of independent draws, all within a range of this width, is off at most."""
    n, spent = len(values), math.log(4 / delta)
    spread = math.sqrt(2 * float(np.var(values, ddof=1)) * spent / n)
    return spread + 7 * width * spent / (3 * (n - 1))


def largest_of_random_features(n_rows: int, size: int, delta: float) -> float:
    """Return what no residual of random features exceeds, but for a chance of `delta`, over their draw."""
    # A value is a mean of `size` / 2 independent cosines, so Hoeffding's inequality holds for each pair of
    # rows, and all pairs together spend the chance. It holds for every labelling, however it was found.
    return min(2.0, math.sqrt(4 * math.log(n_rows**2 / delta) / size))


def own_residuals(Z: PooledRows, kernel: ApproximateKernel, diagonal: Float64s) -> Float64s:
    """Return the diagonal of R; `diagonal` is that of K~."""
    if kernel.exact.geometry in ("distance2", "l1"):
        return 1.0 - diagonal
    if _lie_apart(Z):
        return np.asarray(np.concatenate(Z.each(kernel_diagonal, kernel.exact)) - diagonal)
    return kernel_diagonal(np.asarray(Z), kernel.exact) - diagonal


def residual_norm(
    Z: PooledRows,
    kernel: ApproximateKernel,
    feature_map: FeatureMap,
    own: Float64s,
    error: float,
    meter: Meter,
) -> float:
    """Return a proved bound on the largest eigenvalue of R, in time linear in the rows.

    `own` is the diagonal of R, and `error` bounds the rounding of its entries.
    """
    if _lie_apart(Z):  # a partition of every block is one of all rows
        return math.fsum(Z.each(norm_of_rows, kernel, error))
    order = np.argsort(-own, kind="stable")  # rows that no landmark is near spoil as few blocks as possible
    largest: list[float] = []

    def work(span: tuple[int, int]) -> float:
        R = residual_block(Z[order[slice(*span)]], feature_map, kernel.exact)
        return float(np.linalg.eigvalsh((R + R.T) / 2)[-1]) + len(R) * error

    for (i, j), found in in_order(plan.strips([0, len(Z)], BLOCK_ROWS), work, thread_count()):
        largest.append(max(found, 0.0))
        meter.add((j - i) ** 2)
    return math.fsum(largest)


def norm_of_rows(rows: Float64s, kernel: ApproximateKernel, error: float) -> float:
    """Return the bound for some rows, from these and the kernel alone: what a worker of a cluster does."""
    feature_map = make_map(kernel, rows.shape[1])
    strips = plan.strips([0, len(rows)], BLOCK_ROWS)
    diagonal = np.concatenate([feature_map.diagonal(rows[i:j]) for i, j in strips])
    return residual_norm(rows, kernel, feature_map, own_residuals(rows, kernel, diagonal), error, Meter())


def _lie_apart(Z: PooledRows) -> TypeGuard[RemoteRows]:
    """Return whether each block of rows is worked on where it lies."""
    return isinstance(Z, RemoteRows) and Z.computes_there


def chosen_landmarks(kernel: Nystrom, exact: Kernel, pool: Float64s, rng: np.random.Generator) -> Nystrom:
    """Return the same with landmarks chosen from the rows `pool`, in whose order nothing may show."""
    fixed = fixed_features(kernel, exact, pool)
    centre = np.zeros(pool.shape[1]) if fixed.centre is None else fixed.centre
    landmarks = pivoted_rows(pool - centre, exact, kernel.n_landmarks, rng) + centre
    return replace(fixed, landmarks=landmarks)


def fixed_features(
    kernel: Approximate, exact: Kernel, rows: Float64s, n_columns: int | None = None
) -> Approximate:
    """Return the same with the kernel it stands for, and centred in the middle of some rows."""
    if n_columns is not None and rows.shape[1] != n_columns:
        msg = f"`landmarks` must have the {n_columns} columns of the rows; got {rows.shape[1]}."
        raise MmdBoundsError(msg)
    # The median stays with most rows, wherever a few far out may be.
    # Differences to landmarks are taken of rows as they are.
    keeps = isinstance(kernel, Nystrom) and takes_differences(exact)
    centre = np.median(rows, axis=0) if exact.shift_invariant and not keeps else np.zeros(rows.shape[1])
    return replace(kernel, kernel=exact, bandwidth="median", centre=centre)


def pivoted_rows(pool: Float64s, kernel: Kernel, count: int, rng: np.random.Generator) -> Float64s:
    """Return up to `count` different rows of `pool` (centred where the kernel allows) as landmarks."""
    left = kernel_diagonal(pool, kernel)  # what the landmarks leave of k(z, z)
    floor = NOTHING_LEFT * float(left.max())
    factors = np.empty((len(pool), min(count, len(pool))))
    chosen: list[int] = []
    with one_blas_thread():
        while len(chosen) < factors.shape[1] and float(left.max()) > floor:
            drawn = rng.choice(len(pool), size=BATCH, p=left / left.sum())
            some, so_far = pool[drawn], factors[:, : len(chosen)]
            residual = np.asarray(cross_values(some, some, kernel) - so_far[drawn] @ so_far[drawn].T)
            # Afresh: what is left after many subtractions may be rounding, and would be drawn for ever.
            left[drawn] = _above(residual.diagonal(), floor)
            taken = drawn[_accepted(residual, left[drawn], floor, rng)][: factors.shape[1] - len(chosen)]
            _extend(pool, kernel, taken, factors, len(chosen))
            new = factors[:, len(chosen) : len(chosen) + len(taken)]
            left = _above(left - np.einsum("ij,ij->i", new, new), floor)
            chosen += taken.tolist()
            left[chosen] = 0.0
    return pool[chosen]


def _above(values: Float64s, floor: float) -> Float64s:
    """Return the values, 0 for those that are not above the floor."""
    return np.where(values > floor, values, 0.0)


def _accepted(residual: Float64s, left: Float64s, floor: float, rng: np.random.Generator) -> list[int]:
    """Return the candidates that would also have been drawn one at a time."""
    # The first is. Each of the others is with the share that those accepted before it leave of what it had.
    accepted = []
    for i, chance in enumerate(rng.random(len(left))):
        here = residual[i, i]
        if here > floor and chance * left[i] < here:
            accepted.append(i)
            column = residual[:, i] / np.sqrt(here)
            residual = residual - np.outer(column, column)
    return accepted


def _extend(pool: Float64s, kernel: Kernel, taken: Places, factors: Float64s, start: int) -> None:
    """Write the columns of the Cholesky factor that belong to new landmarks."""
    before = factors[:, :start]
    columns = cross_values(pool, pool[taken], kernel) - before @ before[taken].T
    for i, row in enumerate(taken):
        own = columns[row, i]
        columns[:, i] = columns[:, i] / np.sqrt(own) if own > 0 else 0.0
        columns[:, i + 1 :] -= np.outer(columns[:, i], columns[taken[i + 1 :], i])
    factors[:, start : start + len(taken)] = columns
