r"""A ceiling for the share that is misfiled, read off the data: an estimate, not a bound.

If the misfiled rows are a random part of X, then among the rows of Y there are m that are a sample of X's
distribution. So ask of each m how near m rows of Y can come to X at all (`nearness`). Two samples of
one distribution, of m and p rows, keep a distance too, by chance. The ceiling is the largest m
for which the former is within the latter.

In the language of mixture proportions: P_Y is to be (1 - a) G + a P_X with a as large as possible. The
distance of m = a q rows of Y from X is (1 - a) / a times that of (P_Y - a P_X) / (1 - a) from the
distributions that the other rows of Y can have, so it vanishes, for large samples, up to the largest such a
and not beyond. (Ramaswamy, Scott and Tewari 2016 estimate that number by other thresholds on
the latter distance; theirs scatter around it, this one stays above.)

Of many rows a random part is looked at. Then the ceiling is one for the rows of that part, and how many of
all rows it leaves follows from how such a part is drawn (`subsample`). Either can fail, so each has half
of the chance of an error.
"""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmdbounds.checks import (
    MOST_PERMUTATIONS,
    check_chance,
    check_count,
    check_no_weights,
    check_option,
    check_progress,
    check_seed,
)
from mmdbounds.contamination import Contamination
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.concentration import kernel_bound
from mmdbounds.inference.intervals import provenance_of
from mmdbounds.inference.nearness import CLOSE, Chance, Nearness, Noise, most_alike
from mmdbounds.inference.subsample import most_marked
from mmdbounds.phrases import number, percent, rows, shown, wrapped
from mmdbounds.problem import Bandwidth, DType, KernelLike, Problem, pose
from mmdbounds.progress import Meter
from mmdbounds.results import Provenance, Result
from mmdbounds.saved import hold_tuples
from mmdbounds.sums.plan import MIB
from mmdbounds.tables import Group

ASSUMPTIONS = (
    "Misfiling is random: the misfiled rows look like the other rows of {x}. If it was not, more than this "
    "may be misfiled.\n"
    "The rows filed under {x} all belong there, and all rows are independent draws.\n"
    "Rows of the true {y} that look like {x} count as well, so this is more than the share that is misfiled."
)
"""One sentence or two a line."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixtureCeiling(Result):
    """How much of Y could at most have been drawn from X's distribution: an estimate.

    Attributes
    ----------
    share_of_y
        That share of the rows of Y.
    n_moved, epsilon
        The same as a number of rows, and as a share of the true X.
    level, noise
        How sure, and what counted as chance.
    n_samples_X, n_samples_Y
        Rows of the groups as filed.
    n_used
        Rows of X and of Y that were looked at.
    n_moved_used
        The ceiling for the rows of Y that were looked at. Where these are not all, `n_moved` is more than in
        proportion: misfiled rows may be rarer among them than among all.
    distance, chance
        At `n_moved_used`: the distance of that many rows of Y from X, and what chance allows (root scale).
    assumptions
        What the estimate rests on, in words.
    name_x, name_y
        What the groups are called.
    provenance
        How the result was made.
    label
        Always ``"estimate"``.
    """

    share_of_y: float
    n_moved: int
    epsilon: float
    level: float
    noise: Noise
    distance: float
    chance: float
    n_samples_X: int  # noqa: N815 -- X and Y are the notation
    n_samples_Y: int  # noqa: N815
    n_used: tuple[int, int]
    n_moved_used: int
    assumptions: tuple[str, ...]
    name_x: str = "X"
    name_y: str = "Y"
    provenance: Provenance
    label: str = "estimate"

    def __post_init__(self) -> None:
        hold_tuples(self, ("n_used", "assumptions"))

    @property
    def contamination(self) -> Contamination:
        """The number of rows as `mmd_bounds` takes it; goes with ``at_most=True``."""
        return Contamination(n_moved=self.n_moved)

    def summary(self) -> str:
        """Return the estimate and what it rests on in plain words."""
        x, y = shown(self.name_x), shown(self.name_y)
        count = (
            f"{self.n_moved:,} of the {rows(self.n_samples_Y)} filed under {y} ({percent(self.share_of_y)})"
        )
        said = f"at most {count} could have been drawn from the distribution of {x}"
        share = f"as a share of the true {x}, epsilon = {number(self.epsilon)}"
        lines = [wrapped(f"An estimate, not a bound: {said}; {share}."), "Assumed:"]
        return "\n".join([*lines, *(wrapped(each, "  ") for each in self.assumptions)])

    def __repr__(self) -> str:
        return (
            f"MixtureCeiling(estimate: at most {self.n_moved} of {self.n_samples_Y} rows of Y are like X, "
            f"epsilon {self.epsilon:.4g}, if misfiling is random)"
        )


def mixture_ceiling(
    X: Any,
    Y: Any,
    *,
    level: float = 0.95,
    noise: Noise = "resampled",
    n_resamples: int = 199,
    most_rows: int = 2000,
    kernel: KernelLike = "rbf",
    bandwidth: Bandwidth = "median",
    sample_weight: None = None,
    backend: str = "auto",
    dtype: DType = "float64",
    working_memory: float = 1024,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
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
    sample_weight : None
        Weights of rows are refused, with the reason; see "Weights" in the documentation.
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
    options = {
        "level": level,
        "noise": check_option(noise, "noise", ("resampled", "deviation")),
        "n_resamples": check_count(n_resamples, "n_resamples", least=19, most=MOST_PERMUTATIONS),
        "most_rows": check_count(most_rows, "most_rows", least=2),
    }
    check_progress(progress)
    check_no_weights(sample_weight)
    problem = pose(
        X,
        Y,
        kernel=kernel,
        bandwidth=bandwidth,
        estimator="biased",
        backend=backend,
        dtype=dtype,
        working_memory=working_memory,
    )
    _check_kernel(problem, noise)
    seed = check_seed(rng)
    used = _drawn(problem, most_rows, seed)
    _check_memory(used)
    delta = (1 - level) / (2 if used.q < problem.q else 1)
    with Meter(used.n_pairs, show=progress) as meter:
        totals = used.one_pass(meter)
        nearness = Nearness(totals)
        chance = Chance(totals, used.kernel, 1 - delta, noise, n_resamples, seed)
        m = most_alike(nearness, chance)
    made = provenance_of(
        used,
        totals,
        meter,
        method="mixture ceiling",
        options=options,
        seed=seed,
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
    if problem.kernel.is_positive_definite is not True:
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
        n_samples_X=problem.p,
        n_samples_Y=problem.q,
        n_used=(used.p, used.q),
        n_moved_used=m,
        assumptions=tuple(line.format(x=x, y=y) for line in ASSUMPTIONS.splitlines()),
        name_x=problem.X.name,
        name_y=problem.Y.name,
        **fields,
    )
