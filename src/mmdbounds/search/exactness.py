r"""What bounds found with an approximate kernel say of the kernel it stands for.

With R = K - K~ a labelling's exact value is that of K~ plus the squared MMD of R. For `Nystrom` R is positive
semidefinite with largest eigenvalue at most :math:`\Lambda`. Let r be its diagonal, o = 1 for the
unbiased estimator and 0 for the biased one, and

.. math::
    T(u) = o \left(\frac{r'u}{n_X (n_X - 1)} + \frac{r'(1 - u)}{n_Y (n_Y - 1)}\right).

The biased squared MMD of R is between 0 and :math:`\Lambda\,(1/n_X + 1/n_Y)`. The unbiased one is that, plus
u'Ru / (n_X^2 (n_X - 1)), which is between 0 and :math:`\Lambda / (n_X (n_X - 1))`, plus the same of Y, less
T. So

.. math::
    -T(u) \;\le\; \mathrm{mmd2}_R(u) \;\le\; \Lambda \left(\frac{1}{n_X - o} + \frac{1}{n_Y - o}\right) - T(u)

for *every* labelling u, and the extremes of T follow from sorting r.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmdbounds.approximation import Approximation, Compared
from mmdbounds.contamination import Counts
from mmdbounds.objective import GroupSums, lost, observed_mmd2
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.search.choice import largest_sums
from mmdbounds.search.found import Found
from mmdbounds.sums.approximate import ApproximateKernel, Nystrom
from mmdbounds.sums.feature_maps import FeatureMap, make_map
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.residual import LEVEL, own_residuals, residual_norm, sampled_difference

Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Residual:
    """What is known of R for all labellings.

    Attributes
    ----------
    own
        Its diagonal r.
    norm
        A bound on its largest eigenvalue.
    p
        Rows filed under X, the first ones.
    is_unbiased
        Whose squared MMD is meant.
    value_margin
        How far rounding can move a kernel value, or a mean of them.
    """

    own: Float64s
    norm: float
    p: int
    is_unbiased: bool
    value_margin: float

    def of(self, in_x: NDArray[np.bool_]) -> Range:
        """Return between which values the squared MMD of R is for one labelling."""
        n_x = int(np.count_nonzero(in_x))
        total = float(self.own[in_x].sum())
        of_x, of_y = int(np.count_nonzero(~in_x[: self.p])), int(np.count_nonzero(in_x[self.p :]))
        return self._range(Counts(of_y, of_x, n_x, len(in_x) - n_x), total, total)

    def of_all(self, counts: Counts) -> Range:
        """Return between which values it is for every labelling with these counts."""
        of_x, of_y = self.own[: self.p], self.own[self.p :]
        extremes = []
        for sign in (-1.0, 1.0):
            entering = sign * float(largest_sums(sign * of_y[None], counts.n_moved)[0])
            leaving = -sign * float(largest_sums(-sign * of_x[None], counts.n_moved_of_x)[0])
            extremes.append(float(of_x.sum()) + entering - leaving)
        return self._range(counts, *extremes)

    def _range(self, counts: Counts, least: float, most: float) -> Range:
        """Return the range where r'u is between `least` and `most`."""
        o, n_x, n_y = 1 if self.is_unbiased else 0, counts.n_x, counts.n_y
        margin = self.value_margin * lost(self.p, len(self.own) - self.p, counts, o)
        high = self.norm * (1 / (n_x - o) + 1 / (n_y - o))
        if not o:
            return -margin, high + margin
        every = float(self.own.sum())
        taken = [s / (n_x * (n_x - 1)) + (every - s) / (n_y * (n_y - 1)) for s in (least, most)]
        return -max(taken) - margin, high - min(taken) + margin


def compared_with_exact(
    found: tuple[Found, Found], problem: Problem, totals: GroupSums, admissible: list[Counts], meter: Meter
) -> Approximation | None:
    """Return what both sides say of the exact kernel, `None` if they were found with it."""
    kernel = problem.kernel
    if not isinstance(kernel, ApproximateKernel):
        return None
    feature_map = make_map(kernel, problem.pooled.shape[1])
    own = own_residuals(problem.pooled, kernel, totals.diagonal)
    residual = _residual(kernel, problem, totals, feature_map, own, meter)
    comparison = Comparison(kernel, feature_map, problem, own, residual)
    filed = np.arange(problem.p + problem.q) < problem.p
    sides = [
        None if each.labelling is None else comparison.of(each.value, _marks(each, filed), k + 1)
        for k, each in enumerate(found)
    ]
    observed, n_sampled = comparison.of(observed_mmd2(totals, problem.estimator), filed, 0)
    lower, upper = (None if side is None else side[0] for side in sides)
    low, high = _certified(found, residual, admissible)
    return Approximation(
        kernel=kernel.exact.name,
        level=LEVEL,
        n_sampled=max([n_sampled, *(side[1] for side in sides if side is not None)]),
        lower=lower,
        upper=upper,
        observed=observed,
        lower_certified=low,
        upper_certified=high,
    )


@dataclass(frozen=True, eq=False)
class Comparison:
    """How single labellings are compared."""

    kernel: ApproximateKernel
    feature_map: FeatureMap
    problem: Problem
    own: Float64s
    residual: Residual | None

    def of(self, value: float, in_x: NDArray[np.bool_], stream: int) -> tuple[Compared, int]:
        """Return the comparison of one labelling, and how many rows were drawn for it."""
        biased = self.problem.estimator == "biased"
        own = (float(self.own[in_x].mean()), float(self.own[~in_x].mean())) if biased else None
        rng = np.random.default_rng([self.kernel.seed, 1, stream])
        drawn = sampled_difference(self.problem.pooled, self.kernel, self.feature_map, in_x, own, rng)
        proved = None
        if self.residual is not None:
            low, high = self.residual.of(in_x)
            proved = value + low, value + high
        return Compared(
            value=value, exact=value + drawn.value, margin=drawn.margin, proved=proved
        ), drawn.n_rows


def _marks(found: Found, filed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which pooled rows belong to X in the labelling found."""
    marks = filed.copy()
    if found.labelling is not None:
        marks[found.labelling.active] ^= found.labelling.moved
    return marks


def _residual(
    kernel: ApproximateKernel,
    problem: Problem,
    totals: GroupSums,
    feature_map: FeatureMap,
    own: Float64s,
    meter: Meter,
) -> Residual | None:
    """Return what is proved of R; of random features nothing is."""
    if not isinstance(kernel, Nystrom):
        return None
    norm = residual_norm(problem.pooled, kernel, feature_map, own, totals.value_margin, meter)
    return Residual(own, norm, problem.p, problem.estimator == "unbiased", totals.value_margin)


def _certified(
    found: tuple[Found, Found], residual: Residual | None, admissible: list[Counts]
) -> tuple[float | None, float | None]:
    """Return the proofs of both sides turned into proofs for the exact kernel."""
    if residual is None:
        return None, None
    ranges = [residual.of_all(counts) for counts in admissible]
    lower, upper = (each.certified for each in found)
    return (
        None if lower is None else lower + min(low for low, _ in ranges),
        None if upper is None or math.isinf(upper) else upper + max(high for _, high in ranges),
    )
