r"""A ceiling for the share that is misfiled, read off the data: an estimate, not a bound.

If the misfiled rows are a random part of X, then among the rows of Y there are m that look like a sample from
X. So ask of each m how close m rows of Y can come to X at all: over weights t between 0 and 1 that
add up to m,

.. math::
    D(m) = \min_t \left\| \frac1m \sum_i t_i \phi(y_i) - \frac1p \sum_j \phi(x_j) \right\|.

Two samples of one distribution, of m and p rows, keep a distance too, by chance. The ceiling is the
largest m for which D(m) is within it. D rises with m and chance falls, so bisection finds it.

In the language of mixture proportions: D(m) is, up to a factor, the distance of (P_Y - share P_X) / (1 - share)
from the distributions that the rows of Y can have once m of them are taken out, and for large
samples the ceiling becomes the largest share of P_X that P_Y can contain (Ramaswamy, Scott and
Tewari 2016 estimate that number by other thresholds on such a distance).
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from mmdbounds.checks import check_count, check_option, check_progress, check_seed
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.ceilings import MixtureCeiling
from mmdbounds.inference.concentration import check_chance, deviation_radius, kernel_bound
from mmdbounds.inference.intervals import provenance_of
from mmdbounds.objective import GroupSums
from mmdbounds.problem import Bandwidth, DType, KernelLike, Problem, pose
from mmdbounds.progress import Meter
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import Group, as_group

Noise = Literal["resampled", "deviation"]

CLOSE = 0.01
"""The smallest distance is found up to this share of the noise, both squared."""

MOST_STEPS = 100_000


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
        Two samples of X's distribution are further apart than what counts as chance in 1 - `level` of cases.
    noise : {"resampled", "deviation"}, default="resampled"
        What counts as chance: the distance of samples drawn from the rows of X with replacement, or the
        larger `deviation_radius`. With the latter, and a kernel fixed beforehand, the number misfiled is at
        most `MixtureCeiling.n_moved` with probability `level` *if misfiling is random*.
    n_resamples : int, default=199
        Draws behind ``"resampled"``.
    most_rows : int, default=2000
        Of a larger group so many rows are drawn at random; the work grows with their square.
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
    If misfiling is not random, the misfiled rows need not look like the rest of X, and more
    than this may be misfiled. Rows of the true Y that look like X count as well, so the ceiling is
    near 1 where the groups hardly differ. An epsilon chosen by it on the same rows takes the guarantee
    from a test, unless the chance that it is too low is added to the p-value.

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
    check_option(noise, "noise", ("resampled", "deviation"))
    n_resamples = check_count(n_resamples, "n_resamples", least=19)
    most = check_count(most_rows, "most_rows", least=2)
    check_progress(progress)
    seed = check_seed(rng)
    group_x, group_y = as_group(X, "X"), as_group(Y, "Y")
    problem = pose(
        group_x,
        group_y,
        kernel=kernel,
        bandwidth=bandwidth,
        estimator="biased",
        backend=backend,
        dtype=dtype,
        working_memory=working_memory,
    )
    part = _drawn(problem, most, seed)
    with Meter(part.n_pairs, show=progress) as meter:
        totals = part.one_pass(meter)
        nearness = Nearness(totals)
        chance = Chance(totals, part, level, noise, n_resamples, seed)
        m = most_alike(nearness, chance, part.q)
    return MixtureCeiling(
        ...
    )
