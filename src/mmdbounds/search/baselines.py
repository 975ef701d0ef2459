r"""Baselines of the paper: the bootstrap, and submodular selection (SM).

**Bootstrap.** p rows are drawn with replacement from X and q from Y, both as filed; kernel and bandwidth stay
the same. A resample is a vector w of how often each row was drawn, so that all resamples take one product of
the kernel matrix with many columns:

.. math::
    \frac{w_X' K w_X - o\,d' w_X}{p (p - o)} + \frac{w_Y' K w_Y - o\,d' w_Y}{q (q - o)}
    - \frac{2\, w_X' K w_Y}{p q}, \qquad o = 1 \text{ (unbiased) or } 0 \text{ (biased)}.

**SM**, after MMD-critic (Kim, Khanna and Koyejo, 2016). The witness of X against Y as filed is computed once,

.. math::
    f'(y) = \frac{1}{p} \sum_i k(x_i, y) - \frac{1}{q} \sum_i k(y_i, y),

with the pair of y and itself, as in the paper. Then rows of Y are taken one by one, each time the row with
the largest :math:`\pm f'(y) + w \log(k_{yy} - k_{yC} K_{CC}^{-1} k_{Cy})`, where C are the rows taken: the
log-determinant drives the rows apart. Neither part considers what the rows taken do to the MMD.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mmdbounds.checks import MOST_PERMUTATIONS, check_count, check_flag, check_number
from mmdbounds.costs import holds_matrix
from mmdbounds.counts import Counts, Movable
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import GroupSums, Indices, Labelling, Mask, Quadratic
from mmdbounds.problem import Problem
from mmdbounds.progress import Phase
from mmdbounds.results import Estimator, Side
from mmdbounds.search.protocol import EachSide, Found, Method, Task, largest, limits_left, outwards
from mmdbounds.sums.plan import MIB, strips
from mmdbounds.sums.protocol import Float64s

STREAM = 17  # keeps the draws apart from others with the same seed
COLUMNS = 4  # numbers that a product holds for each pooled row and resample, copies included
SHARE_OF_MEMORY = 0.25  # share of the budget for the factor of one side; both sides may run at once


@dataclass(frozen=True)
class Bootstrap(Method):
    """Quantiles of resampled values (bootstrap): how the value as filed varies from draw to draw.

    Parameters
    ----------
    n_resamples
        Number of resamples. The paper does not give one.
    alpha
        Share of the resampled values below the lower value, and above the upper one, in [0, 0.5]. `None`
        takes the paper's epsilon / (1 + epsilon), with the share of misfiled rows as it was stated.

    Notes
    -----
    The values are not bounds: no labelling reaches them, nothing is proved, and they ignore what misfiling
    could have done. Since alpha grows with epsilon, more misfiling makes them *narrower*. Without misfiling
    alpha is 0, which gives the smallest and the largest resampled value, not the value as filed.

    Two copies of a row in a resample are a pair like any other, with k(x, x). That raises the unbiased
    estimator: its mean over all resamples is the biased one of the rows as filed.

    Quantiles between two resampled values are interpolated.
    """

    n_resamples: int = 1000
    alpha: float | None = None
    name: ClassVar[str] = "bootstrap"
    is_random: ClassVar[bool] = True
    needs_exact_count: ClassVar[bool] = True

    def __post_init__(self) -> None:
        count = check_count(self.n_resamples, "n_resamples", least=1, most=MOST_PERMUTATIONS)
        object.__setattr__(self, "n_resamples", count)
        if self.alpha is not None:
            alpha = check_number(self.alpha, "alpha", "a number in [0, 0.5] or None", lambda a: 0 <= a <= 0.5)
            object.__setattr__(self, "alpha", alpha)

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse rows that cannot move, and two-way counts unless `alpha` is given."""
        super().check(counts, p, q)
        if counts.n_moved_of_x and self.alpha is None:
            known = "`method='bootstrap'` knows `alpha` for one-way misfiling only."
            msg = f"{known} For two-way, give Bootstrap(alpha=...)."
            raise MmdBoundsError(msg)

    def expected_work(self, problem: Problem, admissible: Sequence[Counts]) -> list[Phase]:
        """Return one phase: products with a column for each resample."""
        p, q = problem.p, problem.q
        n = p * p + q * q + p * q
        return [Phase("search", 0.0 if holds_matrix(problem) else n, products=n * self.n_resamples)]

    def share_outside(self, counts: Counts) -> float:
        """Return alpha for these counts."""
        epsilon = counts.stated_epsilon
        return float(epsilon / (1 + epsilon)) if self.alpha is None else self.alpha

    def both_sides(self, task: Task) -> tuple[Found, Found]:
        """Return the outermost quantiles over all admissible counts."""
        rng = np.random.default_rng([task.seed, STREAM])
        values = resampled_values(task.totals, task.estimator, self.n_resamples, rng)
        alpha = min(self.share_outside(counts) for counts in task.admissible)
        status = f"{self.n_resamples:,} resample{'' if self.n_resamples == 1 else 's'}, alpha {alpha:.4g}"
        lower, upper = (
            Found(float(np.quantile(values, level)), None, kind="resampling", status=status)
            for level in (alpha, 1 - alpha)
        )
        return lower, upper


def resampled_values(
    totals: GroupSums, estimator: Estimator, n_resamples: int, rng: np.random.Generator
) -> Float64s:
    """Return the squared MMD of resampled groups, one for each resample."""
    sums, p, q, o = totals.sums, totals.p, totals.q, 1 if estimator == "unbiased" else 0
    x, y = slice(0, p), slice(p, p + q)
    values: list[Float64s] = []

    def products(left: Float64s, right: Float64s) -> Float64s:  # of columns: (n, b) and (n, b) to (b,)
        return np.asarray(np.einsum("ij,ij->j", left, right))

    for w_x, w_y in _drawn(totals, n_resamples, rng):
        within_x = products(w_x, sums.apply(x, x, w_x)) - o * (totals.diagonal[x] @ w_x)
        within_y = products(w_y, sums.apply(y, y, w_y)) - o * (totals.diagonal[y] @ w_y)
        between = products(w_x, sums.apply(x, y, w_y))
        values.append(within_x / (p * (p - o)) + within_y / (q * (q - o)) - 2 * between / (p * q))
    return np.concatenate(values)


def _drawn(totals: GroupSums, n_resamples: int, rng: np.random.Generator) -> Iterator[tuple[Float64s, ...]]:
    """Yield how often each row is drawn, (p, b) for X and (q, b) for Y, for b resamples at a time.

    The draws do not depend on b: p rows of X, then q rows of Y, resample by resample.
    """
    p, q, room = totals.p, totals.q, totals.sums.working_memory * MIB / 2
    width = max(1, int(room / (COLUMNS * 8 * (p + q))))
    for start, stop in strips([0, n_resamples], width):
        w_x, w_y = np.empty((stop - start, p)), np.empty((stop - start, q))
        for b in range(stop - start):
            w_x[b] = np.bincount(rng.integers(p, size=p), minlength=p)
            w_y[b] = np.bincount(rng.integers(q, size=q), minlength=q)
        yield np.ascontiguousarray(w_x.T), np.ascontiguousarray(w_y.T)


@dataclass(frozen=True)
class Submodular(EachSide):
    """Submodular selection (SM): greedy by the witness as filed and a log-determinant.

    Parameters
    ----------
    weight
        Weight w of the log-determinant. The paper prints 1, which leaves little to the witness: a mean of
        kernel values is small beside a logarithm. With 0 the rows are those with the most extreme witness.
    absolute
        Whether the size of the witness counts, as in MMD-critic, instead of the witness itself. The upper
        side then looks for rows where X and Y differ either way, the lower side for rows where they do not.
    jitter
        Added to the diagonal of K in the log-determinant, relative to the largest kernel value; at least
        the rounding of a kernel value. Without it, a copy of a row already taken would have the logarithm
        of 0. No logarithm is taken of less than the jitter.

    Notes
    -----
    The rows do not depend on the estimator, their value does. It is the value of a labelling: attained,
    with no proof that none lies beyond. A smaller count takes the first of the rows of a larger one.

    The log-determinant is meant for positive definite kernels. With others a row is worth the jitter as
    soon as its logarithm does not exist. A linear kernel's is that of the centred rows.

    It stores m x q numbers per side, and takes about m^2 q / 2 multiplications.

    References
    ----------
    B. Kim, R. Khanna and O. Koyejo, Examples are not enough, learn to criticize! Criticism for
    interpretability. NIPS 2016.
    """

    weight: float = 1.0
    absolute: bool = False
    jitter: float = 1e-8
    name: ClassVar[str] = "sm"
    needs_exact_count: ClassVar[bool] = True

    def __post_init__(self) -> None:
        weight = check_number(self.weight, "weight", "a number from 0", lambda size: 0 <= size < math.inf)
        jitter = check_number(self.jitter, "jitter", "a number in [0, 1)", lambda size: 0 <= size < 1)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "jitter", jitter)
        object.__setattr__(self, "absolute", check_flag(self.absolute, "absolute"))

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse two-way counts."""
        if counts.n_moved_of_x:
            msg = "`method='sm'` is for one-way misfiling. Use method='s-sd' or 'sharp' for two-way."
            raise MmdBoundsError(msg)

    def search(self, totals: GroupSums, counts: Counts, estimator: Estimator, side: Side) -> Found:
        """Return the rows that this method moves on one side, and their value."""
        if totals.sums.reach:  # determinants of K say nothing if it is definite on some weights only
            msg = (
                "`method='sm'` needs a positive definite kernel; got 'energy'. Use method='s-sd' or 'sharp'."
            )
            raise MmdBoundsError(msg)
        if self.weight:
            rows = self.order(totals, counts.n_moved, side, counts.movable)
            how = "taken one by one"
        else:
            worth, free = self._worth(totals, side), _free(totals, counts)
            rows = largest(worth, counts.n_moved, free, totals.tie_width, counts.limits())
            how = "taken by the witness"
        labelling = Labelling(Quadratic(totals, counts, estimator), rows)
        return Found.at(labelling, status=f"{len(rows):,} row{'' if len(rows) == 1 else 's'} {how}")

    def order(self, totals: GroupSums, count: int, side: Side, movable: Movable | None = None) -> Indices:
        """Return the first `count` rows of Y that are taken, in order."""
        counts = Counts(count, 0, totals.p + count, totals.q - count, movable=movable)
        worth, free = self._worth(totals, side), _free(totals, counts)
        jitter = max(self.jitter, totals.sums.tie_width) * (totals.scale or 1.0)
        own = _Complements(totals, max(count - 1, 0), jitter)
        order = np.empty(count, dtype=np.intp)
        for i in range(count):
            if i:
                own.take(int(order[i - 1]))
            scores = worth + self.weight * np.log(own.left)
            taken = np.isin(np.arange(totals.q), order[:i])
            for stratum, most in limits_left(counts.limits(), taken):
                if most == 0:
                    free[stratum] = False
            # A logarithm makes rounding larger where little is left.
            leader = int(np.argmax(np.where(free, scores, -np.inf)))
            tie_width = totals.tie_width * (1 + self.weight / float(own.left[leader]))
            order[i] = largest(scores, 1, free, tie_width)[0]
            free[order[i]] = False
        return order

    def _worth(self, totals: GroupSums, side: Side) -> Float64s:
        """Return the witness of each row of Y, or its size, with the side's sign."""
        witness = totals.to_x[totals.p :] / totals.p - totals.to_y[totals.p :] / totals.q
        return outwards(side) * (np.abs(witness) if self.absolute else witness)


def _free(totals: GroupSums, counts: Counts) -> Mask:
    """Return which rows of Y may move."""
    return np.asarray(np.arange(totals.q) < counts.may_move(totals.p, totals.q).stop - totals.p)


class _Complements:
    """Schur complements of the rows of Y given the rows taken, `left`, from a growing Cholesky factor.

    The factor has shape (`count`, q), for `count` rows to be taken. The jitter is added to the diagonal of
    K; no complement of a positive definite matrix is smaller.
    """

    def __init__(self, totals: GroupSums, count: int, jitter: float) -> None:
        q, memory = totals.q, totals.sums.working_memory
        needed = 8 * count * q / (SHARE_OF_MEMORY * MIB)
        if needed > memory:
            msg = (
                f"`method='sm'` stores {count:,} x {q:,} numbers per side, too many for `working_memory` = "
                f"{memory:g} MiB. Give working_memory={math.ceil(needed)}, or use method='s-sd'."
            )
            raise MmdBoundsError(msg)
        self._totals, self._jitter = totals, jitter
        self._factor, self._rank = np.empty((count, totals.q)), 0
        self.left: Float64s = np.maximum(totals.diagonal[totals.p :] + jitter, jitter)

    def take(self, row: int) -> None:
        """Take a row of Y, and reduce the complements of the others by what they share with it."""
        if self.left[row] <= self._jitter:  # a combination of those taken, or K is not definite
            return
        p, q = self._totals.p, self._totals.q
        earlier, here = self._factor[: self._rank], self._factor[self._rank : self._rank + 1]
        self._totals.sums.block(np.array([p + row]), slice(p, p + q), here)
        entry = here[0]
        entry -= earlier[:, row] @ earlier
        entry /= math.sqrt(self.left[row])
        self.left = np.maximum(self.left - entry**2, self._jitter)
        self._rank += 1
