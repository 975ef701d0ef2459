r"""What bounds found with an approximate kernel say about the exact one (docs/features.md).

With R = K - K~ a labelling's exact value is that of K~ plus the squared MMD of R. For `Nystrom` R is positive
semidefinite with largest eigenvalue at most :math:`\Lambda`. Let r be its diagonal, o = 1 for the unbiased
estimator and 0 for the biased one, and T(u) = o (r'u / (n_X (n_X - 1)) + r'(1 - u) / (n_Y (n_Y - 1))). Then

.. math::
    -T(u) \;\le\; \mathrm{mmd2}_R(u) \;\le\; \Lambda \left(\frac{1}{n_X - o} + \frac{1}{n_Y - o}\right) - T(u)

for *every* labelling u, and the extremes of T follow from sorting r.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.objective import GroupSums, Mask, lost, observed_mmd2
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.results import Approximation, Compared
from mmdbounds.search.protocol import Found, largest_sums
from mmdbounds.sums import make_sums
from mmdbounds.sums.features import ApproximateKernel, Nystrom
from mmdbounds.sums.features import residual as residuals
from mmdbounds.sums.features.maps import FeatureMap, make_map
from mmdbounds.sums.protocol import Float64s

Range = tuple[float, float]
Estimate = tuple[float, float]  # a value, and its largest error
STREAMS = {"observed": 0, "lower": 1, "upper": 2}  # draws of a labelling do not depend on the others


class Marked(NamedTuple):
    """A labelling: its value with the approximate kernel, its rows of X, and the rounding of the value."""

    value: float
    in_x: Mask
    margin: float


@dataclass(frozen=True, eq=False)
class Residual:
    """What is known of R for all labellings."""

    own: Float64s  # its diagonal r, shape (N,)
    norm: float  # a bound on its largest eigenvalue
    p: int  # rows filed under X, the first ones
    is_unbiased: bool
    value_margin: float  # how far rounding can move a kernel value, or a mean of them

    def of(self, in_x: Mask) -> Range:
        """Return the range of the squared MMD of R for one labelling."""
        n_x, total = int(np.count_nonzero(in_x)), float(self.own[in_x].sum())
        of_x, of_y = int(np.count_nonzero(~in_x[: self.p])), int(np.count_nonzero(in_x[self.p :]))
        return self._range(Counts(of_y, of_x, n_x, len(in_x) - n_x), total, total)

    def of_all(self, counts: Counts) -> Range:
        """Return its range for all labellings with these counts."""
        of_x, of_y = self.own[: self.p], self.own[self.p :]
        extremes = []
        for sign in (-1.0, 1.0):
            entering = sign * float(largest_sums(sign * of_y[None], counts.n_moved)[0])
            leaving = -sign * float(largest_sums(-sign * of_x[None], counts.n_moved_of_x)[0])
            extremes.append(float(of_x.sum()) + entering - leaving)
        return self._range(counts, *extremes)

    def _range(self, counts: Counts, least: float, most: float) -> Range:
        """Return its range where r'u is between `least` and `most`."""
        o, n_x, n_y = 1 if self.is_unbiased else 0, counts.n_x, counts.n_y
        margin = self.value_margin * lost(self.p, len(self.own) - self.p, counts, o)
        high = self.norm * (1 / (n_x - o) + 1 / (n_y - o))
        if not o:
            return -margin, high + margin
        every = float(self.own.sum())
        taken = [s / (n_x * (n_x - 1)) + (every - s) / (n_y * (n_y - 1)) for s in (least, most)]
        return -max(taken) - margin, high - min(taken) + margin


def compared_with_exact(
    found: tuple[Found, Found],
    problem: Problem,
    kernel: ApproximateKernel,
    totals: GroupSums,
    admissible: list[Counts],
    meter: Meter,
) -> Approximation:
    """Return what both sides, found with the approximate kernel of the problem, say of the exact one."""
    feature_map = make_map(kernel, problem.pooled.shape[1])
    own = residuals.own_residuals(problem.pooled, kernel, totals.diagonal)
    residual = None
    if isinstance(kernel, Nystrom):  # of random features nothing is proved
        norm = residuals.residual_norm(problem.pooled, kernel, feature_map, own, totals.value_margin, meter)
        residual = Residual(own, norm, problem.p, problem.estimator == "unbiased", totals.value_margin)
    labellings = _labellings(found, problem, totals)
    if residuals.all_pairs_pay(len(own), kernel.size):
        exact = _by_all_pairs(labellings, problem, kernel, meter)
        n_sampled, level = len(own), None
    else:
        drawing = Drawing(kernel, feature_map, problem, own, totals.value_margin)
        exact = {side: drawing.of(one, STREAMS[side]) for side, one in labellings.items()}
        n_sampled, level = drawing.n_rows, residuals.LEVEL
    compared = {}
    for side, one in labellings.items():
        value, margin = exact[side]
        proved = None  # or two values that the exact one is proved to lie between
        if residual is not None:
            low, high = residual.of(one.in_x)
            proved = one.value + low, one.value + high
        compared[side] = Compared(value=one.value, exact=value, margin=margin, proved=proved)
    lower_certified, upper_certified = _certified(found, residual, admissible)
    return Approximation(
        kernel=kernel.exact.name,
        level=level,
        n_sampled=n_sampled,
        lower=compared.get("lower"),
        upper=compared.get("upper"),
        observed=compared["observed"],
        lower_certified=lower_certified,
        upper_certified=upper_certified,
    )


def _labellings(found: tuple[Found, Found], problem: Problem, totals: GroupSums) -> dict[str, Marked]:
    """Return the labellings to compare: those of both sides, where there are any, and the one as filed."""
    filed = np.arange(problem.p + problem.q) < problem.p
    labellings = {}
    for side, each in zip(("lower", "upper"), found, strict=True):
        if each.labelling is not None:
            in_x = filed.copy()
            in_x[each.labelling.active] ^= each.labelling.moved
            labellings[side] = Marked(each.value, in_x, each.labelling.quadratic.margin)
    labellings["observed"] = Marked(observed_mmd2(totals, problem.estimator), filed, totals.margin)
    return labellings


def _by_all_pairs(
    labellings: dict[str, Marked], problem: Problem, kernel: ApproximateKernel, meter: Meter
) -> dict[str, Estimate]:
    """Return the values of labellings with the exact kernel, and their rounding: one pass over the pairs."""
    memory, backend = problem.working_memory, problem.backend
    sums = make_sums(problem.pooled, kernel.exact, backend=backend, working_memory=memory, meter=meter)
    everyone = slice(0, len(problem.pooled))
    marks = np.column_stack([np.ones(everyone.stop), *(one.in_x for one in labellings.values())])
    totals, diagonal = sums.apply(everyone, everyone, marks), sums.diagonal(everyone)
    o = 1 if problem.estimator == "unbiased" else 0
    found = {}
    for k, side in enumerate(labellings, start=1):
        in_x, to_x, to_y = marks[:, k] == 1.0, totals[:, k], totals[:, 0] - totals[:, k]
        n_x, n_y = int(np.count_nonzero(in_x)), int(np.count_nonzero(~in_x))
        within_x = float(to_x[in_x].sum() - o * diagonal[in_x].sum()) / (n_x * (n_x - o))
        within_y = float(to_y[~in_x].sum() - o * diagonal[~in_x].sum()) / (n_y * (n_y - o))
        between = float(to_y[in_x].sum()) / (n_x * n_y)
        margin = GroupSums(sums, problem.p, problem.q, to_x, to_y, diagonal).margin
        found[side] = within_x + within_y - 2 * between, margin
    return found


class Drawing:
    """Values of labellings with the exact kernel from `n_rows` drawn rows each.

    `own` is the diagonal of R, `error` the rounding of its entries.
    """

    def __init__(
        self, kernel: ApproximateKernel, features: FeatureMap, problem: Problem, own: Float64s, error: float
    ) -> None:
        self._kernel, self._map, self._problem, self._own = kernel, features, problem, own
        self._delta, self.n_rows = 1 - residuals.LEVEL, 0
        if isinstance(kernel, Nystrom):  # R is positive semidefinite
            self._roots = np.sqrt(np.maximum(own, 0.0) + error)
        else:
            self._delta /= 2
            largest = residuals.largest_of_random_features(len(own), kernel.size, self._delta)
            self._own, self._roots = np.zeros(len(own)), np.full(len(own), math.sqrt(largest))

    def of(self, labelling: Marked, stream: int) -> Estimate:
        """Return an estimate of the value of a labelling, and its largest error at `LEVEL`."""
        o = 1 if self._problem.estimator == "unbiased" else 0
        groups = np.flatnonzero(labelling.in_x), np.flatnonzero(~labelling.in_x)
        factors = [len(rows) / (len(rows) - o) for rows in groups]
        sides = residuals.Sides(groups, self._roots, (factors[0], factors[1]))
        rng, memory = np.random.default_rng([self._kernel.seed, 1, stream]), self._problem.working_memory
        rows, kernel = self._problem.pooled, self._kernel
        drawn = residuals.sampled_difference(rows, kernel, self._map, sides, self._delta, rng, memory)
        self.n_rows = drawn.n_rows
        taken = [float(self._own[rows].mean()) / (len(rows) - o) for rows in groups] if o else [0.0]
        # The rounding of the value, and of what was drawn.
        return labelling.value + drawn.value - sum(taken), drawn.margin + 2 * labelling.margin


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
