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

from mmdbounds.contamination import Counts
from mmdbounds.objective import GroupSums, lost, observed_mmd2
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.results.bounds import Approximation, Compared
from mmdbounds.search.choice import largest_sums
from mmdbounds.search.found import Found
from mmdbounds.sums import make_sums
from mmdbounds.sums.features import ApproximateKernel, Nystrom
from mmdbounds.sums.features.maps import FeatureMap, make_map
from mmdbounds.sums.features.residual import (
    LEVEL,
    Sides,
    all_pairs_pay,
    largest_of_random_features,
    own_residuals,
    residual_norm,
    sampled_difference,
)
from mmdbounds.sums.protocol import Float64s

Range = tuple[float, float]
Estimate = tuple[float, float]
"""A value, and what it is off at most."""

Asked = tuple[float, NDArray[np.bool_], float]
"""The value of a labelling with the approximate kernel, the rows of X, and the rounding of the value."""

STREAMS = {"observed": 0, "lower": 1, "upper": 2}
"""Of random numbers, so that a labelling's do not depend on which others are there."""


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
    filed = np.arange(problem.p + problem.q) < problem.p
    asked: dict[str, Asked] = {
        side: (each.value, _marks(each, filed), each.labelling.quadratic.margin)
        for side, each in zip(("lower", "upper"), found, strict=True)
        if each.labelling is not None
    }
    asked["observed"] = (observed_mmd2(totals, problem.estimator), filed, totals.margin)
    if all_pairs_pay(len(filed), kernel.size):
        exact = _by_all_pairs(asked, problem, kernel, meter)
        n_sampled, level = len(filed), None
    else:
        drawing = Drawing(kernel, feature_map, problem, own, totals.sums.rounding * totals.scale)
        exact = {side: drawing.of(*each, STREAMS[side]) for side, each in asked.items()}
        n_sampled, level = drawing.n_rows, LEVEL
    compared = {
        side: Compared(
            value=value, exact=exact[side][0], margin=exact[side][1], proved=_proved(value, marks, residual)
        )
        for side, (value, marks, _) in asked.items()
    }
    low, high = _certified(found, residual, admissible)
    return Approximation(
        kernel=kernel.exact.name,
        level=level,
        n_sampled=n_sampled,
        lower=compared.get("lower"),
        upper=compared.get("upper"),
        observed=compared["observed"],
        lower_certified=low,
        upper_certified=high,
    )


def _by_all_pairs(
    asked: dict[str, Asked], problem: Problem, kernel: ApproximateKernel, meter: Meter
) -> dict[str, Estimate]:
    """Return the values of labellings with the exact kernel, and their rounding: one pass over the pairs."""
    sums = make_sums(
        problem.pooled,
        kernel.exact,
        backend=problem.backend,
        working_memory=problem.working_memory,
        meter=meter,
    )
    everyone = slice(0, len(problem.pooled))
    marks = np.column_stack([np.ones(everyone.stop), *(marks for _, marks, _ in asked.values())])
    totals, diagonal = sums.apply(everyone, everyone, marks), sums.diagonal(everyone)
    o = 1 if problem.estimator == "unbiased" else 0
    found = {}
    for k, side in enumerate(asked, start=1):
        in_x, to_x, to_y = marks[:, k] == 1.0, totals[:, k], totals[:, 0] - totals[:, k]
        n_x, n_y = int(np.count_nonzero(in_x)), int(np.count_nonzero(~in_x))
        within_x = float(to_x[in_x].sum() - o * diagonal[in_x].sum()) / (n_x * (n_x - o))
        within_y = float(to_y[~in_x].sum() - o * diagonal[~in_x].sum()) / (n_y * (n_y - o))
        between = float(to_y[in_x].sum()) / (n_x * n_y)
        margin = GroupSums(sums, problem.p, problem.q, to_x, to_y, diagonal).margin
        found[side] = within_x + within_y - 2 * between, margin
    return found


class Drawing:
    """Values of labellings with the exact kernel from drawn rows.

    Parameters
    ----------
    kernel, feature_map, problem
        The approximate kernel, and the rows.
    own
        The diagonal of R.
    error
        Rounding of its entries.

    Attributes
    ----------
    n_rows
        Rows drawn for a labelling.
    """

    def __init__(
        self,
        kernel: ApproximateKernel,
        feature_map: FeatureMap,
        problem: Problem,
        own: Float64s,
        error: float,
    ) -> None:
        self._kernel, self._map, self._problem, self._own = kernel, feature_map, problem, own
        self._delta, self.n_rows = 1 - LEVEL, 0
        if isinstance(kernel, Nystrom):  # R is positive semidefinite
            self._roots = np.sqrt(np.maximum(own, 0.0) + error)
        else:
            self._delta /= 2
            largest = largest_of_random_features(len(own), kernel.size, self._delta)
            self._own, self._roots = np.zeros(len(own)), np.full(len(own), math.sqrt(largest))

    def of(self, value: float, in_x: NDArray[np.bool_], margin: float, stream: int) -> Estimate:
        """Return an estimate of the value of a labelling, and what it is off at most at `LEVEL`."""
        o = 1 if self._problem.estimator == "unbiased" else 0
        groups = np.flatnonzero(in_x), np.flatnonzero(~in_x)
        factors = [len(rows) / (len(rows) - o) for rows in groups]
        drawn = sampled_difference(
            self._problem.pooled,
            self._kernel,
            self._map,
            Sides(groups, self._roots, (factors[0], factors[1])),
            self._delta,
            np.random.default_rng([self._kernel.seed, 1, stream]),
            self._problem.working_memory,
        )
        self.n_rows = drawn.n_rows
        taken = [float(self._own[rows].mean()) / (len(rows) - o) for rows in groups] if o else [0.0]
        # Rounding, of the value, and of what was drawn.
        return value + drawn.value - sum(taken), drawn.margin + 2 * margin


def _proved(value: float, in_x: NDArray[np.bool_], residual: Residual | None) -> Range | None:
    """Return two values that the exact one is proved to lie between."""
    if residual is None:
        return None
    low, high = residual.of(in_x)
    return value + low, value + high


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
