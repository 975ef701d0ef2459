r"""Bootstrap, a baseline of the paper: quantiles of the squared MMD of resampled groups.

p rows are drawn with replacement from X and q from Y, both as filed; kernel and bandwidth stay the same. A
resample is a vector w of how often each row was drawn, so that all resamples take one product of the kernel
matrix with many columns:

.. math::
    \frac{w_X' K w_X - o\,d' w_X}{p (p - o)} + \frac{w_Y' K w_Y - o\,d' w_Y}{q (q - o)}
    - \frac{2\, w_X' K w_Y}{p q}, \qquad o = 1 \text{ (unbiased) or } 0 \text{ (biased)}.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from mmdbounds.checks import MOST_PERMUTATIONS, check_count, check_number
from mmdbounds.contamination import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import GroupSums
from mmdbounds.results import Estimator
from mmdbounds.search.protocol import Found, Method, Task
from mmdbounds.sums.plan import MIB, strips
from mmdbounds.sums.protocol import Float64s

STREAM = 17  # keeps the draws apart from others with the same seed
COLUMNS = 4  # numbers that a product holds for each pooled row and resample, copies included


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
    alpha is 0, which gives the smallest and the largest resampled value, not the value as filed. The same
    holds with ``at_most=True``, which takes the outermost values of all counts, 0 included.

    Two copies of a row in a resample are a pair like any other, with k(x, x). That raises the unbiased
    estimator: its mean over all resamples is the biased one of the rows as filed.

    Quantiles between two resampled values are interpolated.
    """

    n_resamples: int = 1000
    alpha: float | None = None
    name: ClassVar[str] = "bootstrap"
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "n_resamples", check_count(self.n_resamples, "n_resamples", least=1, most=MOST_PERMUTATIONS)
        )
        if self.alpha is not None:
            where = "a number in [0, 0.5] or None"
            alpha = check_number(self.alpha, "alpha", where, lambda share: 0 <= share <= 0.5)
            object.__setattr__(self, "alpha", alpha)

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse two-way counts unless `alpha` is given."""
        if counts.n_moved_of_x and self.alpha is None:
            msg = (
                "`method='bootstrap'` knows `alpha` for one-way misfiling only. For two-way, give "
                "Bootstrap(alpha=...)."
            )
            raise MmdBoundsError(msg)

    def share_outside(self, counts: Counts) -> float:
        """Return alpha for these counts."""
        epsilon: Fraction = counts.stated_epsilon
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
    for w_x, w_y in _drawn(totals, n_resamples, rng):
        within_x = _products(w_x, sums.apply(x, x, w_x)) - o * (totals.diagonal[x] @ w_x)
        within_y = _products(w_y, sums.apply(y, y, w_y)) - o * (totals.diagonal[y] @ w_y)
        between = _products(w_x, sums.apply(x, y, w_y))
        values.append(within_x / (p * (p - o)) + within_y / (q * (q - o)) - 2 * between / (p * q))
    return np.concatenate(values)


def _products(left: Float64s, right: Float64s) -> Float64s:
    """Return the inner product of each column with its partner: (n, b) and (n, b) to (b,)."""
    return np.asarray(np.einsum("ij,ij->j", left, right))


def _drawn(
    totals: GroupSums, n_resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Float64s, Float64s]]:
    """Yield how often each row is drawn, (p, b) for X and (q, b) for Y, for b resamples at a time.

    The draws do not depend on b: p rows of X, then q rows of Y, resample by resample.
    """
    p, q = totals.p, totals.q
    room = totals.sums.working_memory * MIB / 2
    width = max(1, int(room / (COLUMNS * 8 * (p + q))))
    for start, stop in strips([0, n_resamples], width):
        w_x, w_y = np.empty((stop - start, p)), np.empty((stop - start, q))
        for b in range(stop - start):
            w_x[b] = np.bincount(rng.integers(p, size=p), minlength=p)
            w_y[b] = np.bincount(rng.integers(q, size=q), minlength=q)
        yield np.ascontiguousarray(w_x.T), np.ascontiguousarray(w_y.T)
