r"""Bootstrap, a baseline of the paper: quantiles of the squared MMD of groups drawn anew.

p rows are drawn with replacement from X and q from Y, both as filed; kernel and bandwidth stay. A resample
is a vector of counts, how often each row was drawn, so that all of them take one product of
the kernel matrix with many columns:

.. math::
    \frac{w_X' K w_X - o\,d' w_X}{p (p - o)} + \frac{w_Y' K w_Y - o\,d' w_Y}{q (q - o)}
    - \frac{2\, w_X' K w_Y}{p q}, \qquad o = 1 \text{ (unbiased) or } 0 \text{ (biased)}.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from mmdbounds.checks import MOST_PERMUTATIONS, check_count, check_number
from mmdbounds.contamination import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import GroupSums
from mmdbounds.results import Estimator, Side
from mmdbounds.search.found import Found, Task
from mmdbounds.sums.plan import MIB, strips
from mmdbounds.sums.protocol import Float64s

STREAM = 17
"""Keeps the draws apart from others with the same seed."""

COLUMNS = 4
"""Numbers for each pooled row and resample that a product holds: its columns, its result, and copies."""


@dataclass(frozen=True)
class Bootstrap:
    """Quantiles of resampled values (bootstrap): how the value as filed varies from draw to draw.

    Parameters
    ----------
    n_resamples
        How often the rows are drawn anew; 1000 unless asked otherwise, the paper does not say.
    alpha
        Share of the resampled values below the lower value, and above the upper one, in [0, 0.5]. `None`
        takes the paper's epsilon / (1 + epsilon), with the share of misfiled rows as it was stated.

    Notes
    -----
    The values are no bounds: no labelling reaches them, nothing is proved, and what misfiling could have
    done has no part in them. Since alpha grows with epsilon they are the *narrower* the more
    is misfiled. Without misfiling alpha is 0: the smallest and the largest of the resampled values, not
    the value as filed. So they are with ``at_most=True``, too, which takes the outermost values of all
    counts, 0 included.

    Two copies of a row in a resample are a pair like any other, with k(x, x). That lifts the unbiased
    estimator: its mean over all resamples is the biased one of the rows as filed.

    Between two resampled values quantiles are interpolated.
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

    def options(self) -> dict[str, Any]:
        """Return the options as plain data, for the record."""
        return asdict(self)

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse, before the work, counts that this method cannot do."""
        if counts.n_moved_of_x and self.alpha is None:
            msg = "`method='bootstrap'` has a share for one-way misfiling only. Give Bootstrap(alpha=...)."
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

        def found(side: Side) -> Found:
            level = alpha if side == "lower" else 1 - alpha
            status = f"{self.n_resamples:,} resample{'' if self.n_resamples == 1 else 's'}, alpha {alpha:.4g}"
            return Found(float(np.quantile(values, level)), None, kind="resampling", status=status)

        return found("lower"), found("upper")


def resampled_values(
    totals: GroupSums, estimator: Estimator, n_resamples: int, rng: np.random.Generator
) -> Float64s:
    """Return the squared MMD of groups drawn anew, one for each resample."""
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
    """Return the product of each column with its partner."""
    return np.asarray(np.einsum("ij,ij->j", left, right))


def _drawn(
    totals: GroupSums, n_resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Float64s, Float64s]]:
    """Yield how often each row of X and of Y is drawn, some resamples at a time, a column each.

    How many go together changes nothing that is drawn: first the p rows of X, then the q of Y, and again.
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
