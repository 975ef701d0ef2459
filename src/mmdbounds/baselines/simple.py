r"""What a baseline is, and two of them: the bootstrap, and submodular selection (SM).

**Bootstrap.** p rows are drawn with replacement from X and q from Y, both as labelled; kernel and bandwidth
stay the same. A resample is a vector w of how often each row was drawn, so that all resamples take one
product of the kernel matrix with many columns:

.. math::
    \frac{w_X' K w_X - o\,d' w_X}{p (p - o)} + \frac{w_Y' K w_Y - o\,d' w_Y}{q (q - o)}
    - \frac{2\, w_X' K w_Y}{p q}, \qquad o = 1 \text{ (unbiased) or } 0 \text{ (biased)}.

**SM**, after MMD-critic (Kim, Khanna and Koyejo, 2016). The witness of X against Y as labelled is computed
once,

.. math::
    f'(y) = \frac{1}{p} \sum_i k(x_i, y) - \frac{1}{q} \sum_i k(y_i, y),

with the pair of y and itself, as in the paper. Then rows of Y are taken one by one, each time the row with
the largest :math:`\pm f'(y) + w \log(k_{yy} - k_{yC} K_{CC}^{-1} k_{Cy})`, where C are the rows taken: the
log-determinant drives the rows apart. Neither part considers what the rows taken do to the MMD.
"""

from __future__ import annotations

import dataclasses
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np

from mmdbounds.checks import MOST_PERMUTATIONS, check_count, check_flag, check_number, check_seed
from mmdbounds.contamination import Contamination, as_contamination
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.knowledge import refuse_known
from mmdbounds.objective import GroupSums, Indices, Labelling, Quadratic, observed_mmd2
from mmdbounds.problem import ComparisonOptions, Problem, compares, comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.results import Estimator, Side
from mmdbounds.search import Task
from mmdbounds.search.protocol import for_both_sides, largest, outwards
from mmdbounds.sums.plan import MIB, strips
from mmdbounds.sums.protocol import Float64s

STREAM = 17  # keeps the draws apart from others with the same seed
COLUMNS = 4  # numbers that a product holds for each pooled row and resample, copies included
SHARE_OF_MEMORY = 0.25  # share of the budget for the factor of one side; both sides may run at once


@dataclass(frozen=True, kw_only=True, eq=False)
class Interval:
    """Two values that bound nothing.

    Attributes
    ----------
    lower, upper
        The values.
    observed
        Squared MMD of the groups as labelled.
    points
        Of free points: where those of the lower and of the upper value ended, each of shape (m, d), in the
        columns of the data. `None` for other baselines.
    n_pairs
        Kernel values computed.
    seconds
        Wall-clock time.
    """

    lower: float
    upper: float
    observed: float
    points: tuple[Float64s, Float64s] | None = None
    n_pairs: int
    seconds: float


class Ends(NamedTuple):
    """Both values that a baseline finds, and of free points where they are."""

    lower: float
    upper: float
    points: tuple[Float64s, Float64s] | None = None


class Baseline(ABC):
    """A method of the paper that bounds nothing; its options are its fields."""

    needs_exact_count: ClassVar[bool] = True

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which `evaluate` knows it."""

    def options(self) -> dict[str, Any]:
        """Return the options as plain data, for the record."""
        return dataclasses.asdict(self)  # type: ignore[call-overload, no-any-return]

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse two-way counts."""
        if counts.n_moved_of_x:
            msg = f"the baseline {self.name!r} is for rows of X labelled as Y; got rows of Y as well."
            raise MmdBoundsError(msg)

    @compares()
    def interval(
        self,
        X: Any,
        Y: Any,
        epsilon: float | Contamination,
        *,
        rng: int | np.random.Generator | None = None,
        **options: Unpack[ComparisonOptions],
    ) -> Interval:
        """Return the interval of two groups.

        Parameters
        ----------
        X, Y, kernel, bandwidth, estimator, backend, dtype, working_memory
            As in `mmd_bounds`.
        epsilon : float or Contamination
            Share of the true X that was labelled as Y: exactly m = floor(epsilon p / (1 - epsilon)) rows.
        rng : int or Generator, optional
            Seed of all that is drawn.
        """
        started = time.perf_counter()
        contamination = as_contamination(epsilon, exactly=True)
        refuse_known(X, Y, self.name)
        if contamination.says_which:
            msg = f"the baseline {self.name!r} does not know which rows may move (verified rows, limits)."
            raise MmdBoundsError(msg)
        problem = pose(X, Y, comparison("interval", options))
        counts = problem.checked_counts(problem.counts(contamination), self.check)
        with Meter() as meter:
            totals = problem.one_pass(meter)
            ends = self.ends(Task(totals, counts, problem.estimator, check_seed(rng), meter), problem)
        return Interval(
            lower=ends.lower,
            upper=ends.upper,
            observed=observed_mmd2(totals, problem.estimator),
            points=ends.points,
            n_pairs=meter.n_pairs,
            seconds=time.perf_counter() - started,
        )

    @abstractmethod
    def ends(self, task: Task, problem: Problem) -> Ends:
        """Return both values for the one count of the task."""


@dataclass(frozen=True)
class Bootstrap(Baseline):
    """Quantiles of resampled values (bootstrap): how the value as labelled varies from draw to draw.

    Parameters
    ----------
    n_resamples
        Number of resamples. The paper does not give one.
    alpha
        Share of the resampled values below the lower value, and above the upper one, in [0, 0.5]. `None`
        takes the paper's epsilon / (1 + epsilon), with the share of mislabelled rows as it was stated.

    Notes
    -----
    The values are not bounds: no labelling reaches them, nothing is proved, and they ignore what wrong labels
    could have done. Since alpha grows with epsilon, more wrong labels make them *narrower*. Without any
    alpha is 0, which gives the smallest and the largest resampled value, not the value as labelled.

    Two copies of a row in a resample are a pair like any other, with k(x, x). That raises the unbiased
    estimator: its mean over all resamples is the biased one of the rows as labelled.

    Quantiles between two resampled values are interpolated.
    """

    n_resamples: int = 1000
    alpha: float | None = None
    name: ClassVar[str] = "bootstrap"

    def __post_init__(self) -> None:
        count = check_count(self.n_resamples, "n_resamples", least=1, most=MOST_PERMUTATIONS)
        object.__setattr__(self, "n_resamples", count)
        if self.alpha is not None:
            alpha = check_number(self.alpha, "alpha", "a number in [0, 0.5] or None", lambda a: 0 <= a <= 0.5)
            object.__setattr__(self, "alpha", alpha)

    def share_outside(self, counts: Counts) -> float:
        """Return alpha for these counts."""
        epsilon = counts.stated_epsilon
        return float(epsilon / (1 + epsilon)) if self.alpha is None else self.alpha

    def ends(self, task: Task, problem: Problem) -> Ends:
        """Return both quantiles."""
        rng = np.random.default_rng([task.seed, STREAM])
        values = resampled_values(task.totals, task.estimator, self.n_resamples, rng)
        (counts,) = task.admissible
        alpha = self.share_outside(counts)
        return Ends(float(np.quantile(values, alpha)), float(np.quantile(values, 1 - alpha)))


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
class Submodular(Baseline):
    """Submodular selection (SM): greedy by the witness as labelled and a log-determinant.

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

    def __post_init__(self) -> None:
        weight = check_number(self.weight, "weight", "a number from 0", lambda size: 0 <= size < math.inf)
        jitter = check_number(self.jitter, "jitter", "a number in [0, 1)", lambda size: 0 <= size < 1)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "jitter", jitter)
        object.__setattr__(self, "absolute", check_flag(self.absolute, "absolute"))

    def ends(self, task: Task, problem: Problem) -> Ends:
        """Return the values of the rows taken for each side."""
        if task.totals.sums.reach:  # determinants of K say nothing if it is definite on some weights only
            msg = "the baseline 'sm' needs a positive definite kernel; got 'energy'."
            raise MmdBoundsError(msg)
        (counts,) = task.admissible

        def value(side: Side) -> float:
            rows = self.rows(task.totals, counts.n_moved, side)
            return Labelling(Quadratic(task.totals, counts, task.estimator), rows).value()

        return Ends(*for_both_sides(value, task))

    def rows(self, totals: GroupSums, count: int, side: Side) -> Indices:
        """Return the rows of Y that are taken."""
        if self.weight:
            return self.order(totals, count, side)
        return largest(self._worth(totals, side), count, np.ones(totals.q, np.bool_), totals.tie_width)

    def order(self, totals: GroupSums, count: int, side: Side) -> Indices:
        """Return the first `count` rows of Y that are taken, in order."""
        worth, free = self._worth(totals, side), np.ones(totals.q, dtype=np.bool_)
        jitter = max(self.jitter, totals.sums.tie_width) * (totals.scale or 1.0)
        own = _Complements(totals, max(count - 1, 0), jitter)
        order = np.empty(count, dtype=np.intp)
        for i in range(count):
            if i:
                own.take(int(order[i - 1]))
            scores = worth + self.weight * np.log(own.left)
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
                f"the baseline 'sm' stores {count:,} x {q:,} numbers per side, too many for "
                f"`working_memory` = {memory:g} MiB. Give working_memory={math.ceil(needed)}."
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
