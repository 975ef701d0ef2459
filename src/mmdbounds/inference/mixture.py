r"""A ceiling for the share that is misfiled, read off the data: an estimate, not a bound.

If the misfiled rows are a random part of X, then among the rows of Y there are m that are a sample of X's
distribution. So ask of each m how near m rows of Y can come to X at all (`Nearness`). Two samples of
one distribution, of m and p rows, keep a distance too, by chance. The ceiling is the largest m
for which the former is within the latter.

In the language of mixture proportions: P_Y is to be (1 - a) G + a P_X with a as large as possible. The
distance of m = a q rows of Y from X is (1 - a) / a times that of (P_Y - a P_X) / (1 - a) from the
distributions that the other rows of Y can have, so it vanishes, for large samples, up to the largest such a
and not beyond. (Ramaswamy, Scott and Tewari 2016 estimate that number by other thresholds on
the latter distance; theirs scatter around it, this one stays above.)

Of many rows a random part is looked at. Then the ceiling is one for the rows of that part, and how many of
all rows it leaves follows from how such a part is drawn (`most_marked`). Either can fail, so each has half
of the chance of an error.

How near m rows of Y can come to X: over weights t between 0 and 1 that add up to m,

.. math::
    D(m)^2 = \min_t \left\| \frac1m \sum_i t_i \phi(y_i) - \frac1p \sum_j \phi(x_j) \right\|^2,

a convex problem with a proof from below: the tangent plane of a convex function lies under it, and over such
weights a plane is smallest at the m rows with the smallest slopes. The larger m, the fewer choices of
t / m there are, so D rises with m.
"""

from __future__ import annotations

import dataclasses
import math
import time
from typing import Any, Literal, Unpack

import numpy as np

from mmdbounds.checks import (
    MOST_PERMUTATIONS,
    check_chance,
    check_count,
    check_option,
    check_progress,
    check_seed,
)
from mmdbounds.costs import one_pass
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import Kernel
from mmdbounds.objective import GroupSums
from mmdbounds.problem import KernelOptions, Problem, compares, comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.results import MixtureCeiling
from mmdbounds.sums.plan import MIB
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import Group
from mmdbounds.theory import deviation_radius, kernel_bound
from mmdbounds.words.phrases import shown

ASSUMPTIONS = (
    "Misfiling is random: the misfiled rows look like the other rows of {x}. If it was not, more than this "
    "may be misfiled.\n"
    "The rows filed under {x} all belong there, and all rows are independent draws.\n"
    "Rows of the true {y} that look like {x} count as well, so this is more than the share that is misfiled."
)
"""One sentence or two a line."""


@compares("estimator")
def mixture_ceiling(
    X: Any,
    Y: Any,
    *,
    level: float = 0.95,
    noise: Noise = "resampled",
    n_resamples: int = 199,
    most_rows: int = 2000,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[KernelOptions],
) -> MixtureCeiling:
    """Estimate how much of Y could at most have been drawn from X's distribution.

    Parameters
    ----------
    X, Y, kernel, bandwidth
        As in `mmd2`; the kernel must be known to be positive definite.
    level : float, default=0.95
        The probability that two samples of X's distribution are within what counts as chance. Where only some
        rows of Y are used, half of ``1 - level`` is spent on that, and half on how many misfiled rows are
        among them.
    noise : {"resampled", "deviation"}, default="resampled"
        What counts as chance: the distance of samples drawn from the rows of X with replacement, or the
        larger `deviation_radius`. With the latter, and a kernel fixed beforehand, at most that share of all
        rows of Y is misfiled with probability `level`, *if misfiling is random*.
    n_resamples : int, default=199
        Draws behind ``"resampled"``.
    most_rows : int, default=2000
        Of a larger group this many rows are used, drawn at random: time and memory grow with their square.
    rng : int or Generator, optional
        Seed of all draws.
    backend, dtype, working_memory, progress
        As in `mmd2`.

    Returns
    -------
    MixtureCeiling
        The share of Y, the epsilon that goes with it, and the assumptions in words.

    Notes
    -----
    Where misfiling is not random, more than this may be misfiled. Where the groups hardly differ, the
    ceiling is near 1. An epsilon read off the same labels takes the guarantee from a test, unless the
    chance that it is too low is added to the p-value.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(80, 2)), rng.normal(6, 1, size=(100, 2))
    >>> Y[:20] = rng.normal(size=(20, 2))
    >>> 0.2 <= mixture_ceiling(X, Y, rng=0).share_of_y < 0.35
    True
    """
    started = time.perf_counter()
    level = check_chance(level, "level")
    chosen = {
        "level": level,
        "noise": check_option(noise, "noise", ("resampled", "deviation")),
        "n_resamples": check_count(n_resamples, "n_resamples", least=19, most=MOST_PERMUTATIONS),
        "most_rows": check_count(most_rows, "most_rows", least=2),
    }
    check_progress(progress)
    problem = pose(X, Y, comparison("mixture_ceiling", options, estimator="biased"))
    _check_kernel(problem, noise)
    seed = check_seed(rng)
    used = _drawn(problem, most_rows, seed)
    _check_memory(used)
    delta = (1 - level) / (2 if used.q < problem.q else 1)
    with Meter(lambda: [one_pass(used)], show=progress) as meter:
        totals = used.one_pass(meter)
        nearness = Nearness(totals)
        chance = Chance(totals, used.kernel, 1 - delta, noise, n_resamples, seed)
        m = most_alike(nearness, chance)
    made = used.provenance(
        totals,
        method="mixture ceiling",
        options=chosen,
        seed=seed,
        n_pairs=meter.n_pairs,
        seconds=time.perf_counter() - started,
    )
    allowed = chance.distance2(m) if m else 0.0
    reached = nearness.distance2(m, CLOSE * allowed)[0] if m else 0.0
    return _ceiling(
        problem,
        used,
        m,
        most_marked(problem.q, used.q, m, delta),
        distance=math.sqrt(max(reached, 0.0)),
        chance=math.sqrt(allowed),
        level=level,
        noise=noise,
        provenance=made,
    )


def _check_kernel(problem: Problem, noise: Noise) -> None:
    if not problem.kernel.is_conditionally_definite:
        msg = f"`kernel` must be known to be positive definite; got {problem.kernel.name!r}."
        raise MmdBoundsError(msg)
    if noise == "deviation":
        kernel_bound(problem.kernel)


def _check_memory(used: Problem) -> None:
    """Refuse a budget of which the pairs of the rows of Y would take more than half."""
    least = math.ceil(2 * 8 * used.q**2 / MIB)
    if used.working_memory < least:
        msg = (
            f"`working_memory` must be at least {least} MiB for {used.q:,} rows of Y; "
            f"got {used.working_memory:g}. Raise it, or lower `most_rows`."
        )
        raise MmdBoundsError(msg)


def _drawn(problem: Problem, most: int, seed: int) -> Problem:
    """Return the problem with no more than `most` rows in a group."""
    rng = np.random.default_rng(seed)
    parts = []
    for group in (problem.X, problem.Y):
        values = group.values
        if len(values) > most:
            values = values[np.sort(rng.choice(len(values), most, replace=False))]
        parts.append(Group(values, name=group.name, record=group.record))
    pooled = np.concatenate([part.values for part in parts])
    return dataclasses.replace(problem, X=parts[0], Y=parts[1], pooled=pooled)


def _ceiling(problem: Problem, used: Problem, m: int, n_moved: int, **fields: Any) -> MixtureCeiling:
    """Return the result for m of the rows of Y that were used, and `n_moved` of all."""
    x, y = shown(problem.X.name), shown(problem.Y.name)
    return MixtureCeiling(
        share_of_y=n_moved / problem.q,
        n_moved=n_moved,
        epsilon=n_moved / (problem.p + n_moved),
        n_used=(used.p, used.q),
        n_moved_used=m,
        assumptions=tuple(line.format(x=x, y=y) for line in ASSUMPTIONS.splitlines()),
        **problem.group_fields(),
        **fields,
    )


Noise = Literal["resampled", "deviation"]

CLOSE = 0.01  # the smallest distance is found up to this share of what chance allows, both squared

MOST_STEPS = 100_000


class Nearness:
    """How near rows of Y come to X, with a positive definite kernel; holds the q x q kernel values of Y."""

    def __init__(self, totals: GroupSums) -> None:
        p, of_y = totals.p, slice(totals.p, totals.p + totals.q)
        self.q, self.margin = totals.q, totals.margin
        self._pairs = totals.sums.block(of_y, of_y)
        np.negative(self._pairs, out=self._pairs)
        np.fill_diagonal(self._pairs, 0.0)
        self._diagonal = totals.diagonal[of_y].copy()
        self._near = totals.to_x[of_y] / p
        self._own = float(totals.to_x[:p].sum()) / p**2

    def distance2(self, m: int, close: float) -> tuple[float, float]:
        """Return the squared distance of the nearest m rows that were found, and one that none undercuts.

        They differ by about `close`.
        """
        # Here, because its compiler is the last thing that a user without proofs needs to load.
        from mmdbounds.search.sharp.pairwise_steps import pairwise_steps

        share = np.full(self.q, m / self.q)
        gradient = 2 * (m * self._near - self._with(share))
        pairwise_steps(
            self._pairs, self._diagonal, gradient, share, np.array([0, self.q]), close * m, MOST_STEPS
        )
        weights = share / m
        with_rows = self._with(weights)
        value = float(weights @ (with_rows - 2 * self._near)) + self._own
        slope = 2 * (with_rows - self._near)
        smallest = np.partition(slope, m - 1)[:m].mean()
        return value, float(value - weights @ slope + smallest)

    def _with(self, weights: Float64s) -> Float64s:
        """Return K @ weights."""
        return np.asarray(self._diagonal * weights - self._pairs @ weights)


class Chance:
    """How far apart samples of m and of p rows of X's distribution are, with probability `level`.

    Samples are drawn from X with replacement (``"resampled"``), or it is the proved radius (``"deviation"``).
    """

    def __init__(
        self, totals: GroupSums, kernel: Kernel, level: float, noise: Noise, n_resamples: int, seed: int
    ) -> None:
        self._p, self._sums, self._kernel = totals.p, totals.sums, kernel
        self._level, self._noise = level, noise
        self._n_resamples, self._seed = n_resamples, seed

    def distance2(self, m: int) -> float:
        """Return the square of the distance for samples of m and p rows."""
        if self._noise == "deviation":
            return deviation_radius(m, self._p, self._kernel, 1 - self._level) ** 2
        rng = np.random.default_rng([self._seed, m])
        evenly = np.full(self._p, 1 / self._p)
        drawn = [rng.multinomial(size, evenly, size=self._n_resamples) / size for size in (m, self._p)]
        difference = (drawn[0] - drawn[1]).T
        of_x = slice(0, self._p)
        values = np.einsum("ij,ij->j", self._sums.apply(of_x, of_x, difference), difference)
        return float(np.quantile(values, self._level, method="higher"))


def most_alike(nearness: Nearness, chance: Chance) -> int:
    """Return the largest m for which m rows of Y can be as near to X as chance allows."""
    fits, does_not = 0, nearness.q + 1
    while does_not - fits > 1:
        m = (fits + does_not) // 2
        allowed = chance.distance2(m)
        if nearness.distance2(m, CLOSE * allowed)[1] - nearness.margin <= allowed:
            fits = m
        else:
            does_not = m
    return fits


ROUNDING = 1e-6
"""Relative error of a probability that comes from log-gamma functions of up to 1e7 rows; far above it."""


def most_marked(n_rows: int, n_drawn: int, n_seen: int, delta: float) -> int:
    """Return the largest number of marked rows among all, if at most `n_seen` of `n_drawn` random rows are.

    Too low with probability at most `delta`, whatever the number: it is the largest number with which
    `n_seen` or fewer marked rows would be drawn with more than that probability (Clopper-Pearson).
    """
    possible, too_many = n_seen, n_rows - (n_drawn - n_seen) + 1
    while too_many - possible > 1:
        marked = (possible + too_many) // 2
        if _chance_of_at_most(n_seen, n_rows, marked, n_drawn) > (1 - ROUNDING) * delta:
            possible = marked
        else:
            too_many = marked
    return possible


def _chance_of_at_most(n_seen: int, n_rows: int, marked: int, n_drawn: int) -> float:
    """Return P(H <= n_seen) for the number H of marked rows among those drawn."""
    least = max(0, n_drawn - (n_rows - marked))
    k = np.arange(least, min(n_seen, marked) + 1, dtype=np.float64)
    found = _log_choose(marked, k) + _log_choose(n_rows - marked, n_drawn - k)
    return float(np.exp(found - _log_choose(n_rows, np.array(float(n_drawn)))).sum())


def _log_choose(n: int, k: Float64s) -> Float64s:
    from scipy.special import gammaln

    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
