"""Intervals by resampling: shorter than the proved ones, and without a promise."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from mmdbounds.checks import (
    MOST_PERMUTATIONS,
    check_chance,
    check_count,
    check_progress,
    check_seed,
)
from mmdbounds.contamination import Contamination, as_contamination
from mmdbounds.costs import one_pass
from mmdbounds.counts import SLACK
from mmdbounds.inference.confidence import count_fields
from mmdbounds.knowledge import refuse_known
from mmdbounds.objective import GroupSums, Indices, group_sums
from mmdbounds.problem import ComparisonOptions, Problem, compares, comparison, pose
from mmdbounds.progress import Meter, Phase
from mmdbounds.results import ConfidenceInterval
from mmdbounds.search import Method, Task, as_method
from mmdbounds.search.protocol import check_exact_count
from mmdbounds.sums.cpu import MatrixSums
from mmdbounds.sums.protocol import Float64s

WHY = "How often such an interval covers is simulated (studies/confidence_coverage.py), not proved."


@compares()
def resampling_interval(
    X: Any,
    Y: Any,
    epsilon: float | tuple[float, float] | Contamination,
    *,
    level: float = 0.95,
    n_resamples: int = 200,
    method: str | Method = "s-sd",
    exactly: bool | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> ConfidenceInterval:
    """Interval for the root MMD of the two populations by resampling; a heuristic.

    The rows of both groups as filed are drawn anew with replacement, each group on its own, and bounded.
    The interval goes from a low quantile of the lower bounds to a high quantile of the upper ones
    (each leaves out half of 1 - `level`), on the root scale.

    Parameters
    ----------
    X, Y, epsilon, kernel, bandwidth, estimator
        As in `mmd_bounds`; the bandwidth is that of the rows as filed in every resample.
    level : float, default=0.95
        Nominal confidence.
    n_resamples : int, default=200
        How often the rows are drawn anew.
    method : str or method object, default="s-sd"
        The search; ``Sharp(certify=False)`` searches harder. Proofs are of no use here.
    exactly : bool, optional
        Whether exactly m rows are misfiled; by default at most m, as in `mmd_bounds`.
    rng : int or Generator, optional
        Seed of the draws and of the search.
    backend, dtype, working_memory, progress
        As in `mmd2`.

    Returns
    -------
    ConfidenceInterval
        Labelled ``"heuristic"``.

    Notes
    -----
    Nothing promises the coverage. Rows drawn twice lift the statistic (the mean of the unbiased estimator
    over resamples is about the biased one of the rows), which is too high near an MMD of 0;
    there the distribution over resamples is not that over samples either.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(2, 1, size=(60, 2))
    >>> resampling_interval(X, Y, 0.05, n_resamples=50, rng=0).label
    'heuristic'
    """
    started = time.perf_counter()
    search, level = as_method(method), check_chance(level, "level")
    n_resamples = check_count(n_resamples, "n_resamples", least=2, most=MOST_PERMUTATIONS)
    check_progress(progress)
    refuse_known(X, Y, "resampling_interval")
    problem = pose(X, Y, comparison("resampling_interval", options))
    contamination, seed = as_contamination(epsilon, exactly), check_seed(rng)
    check_exact_count(search, contamination)
    wanted = contamination.admissible(problem.p, problem.q)
    admissible = problem.checked_counts(wanted, search.check)
    with Meter(lambda: [one_pass(problem), Phase("resample")], show=progress) as meter:
        totals = problem.one_pass(meter)  # of the rows as filed: says early if the kernel cannot be used
        resampler, draws = Resampler(problem, totals, meter), np.random.default_rng(seed)
        ends = np.empty((n_resamples, 2))
        for b in range(n_resamples):
            meter.phase("resample", b, n_resamples)
            drawn = resampler.totals(resampler.draw(draws))
            found = search.both_sides(Task(drawn, admissible, problem.estimator, seed, meter))
            ends[b] = [side.value for side in found]
    low, high = _outer_quantiles(ends, (1 - level) / 2)
    return ConfidenceInterval(
        low=low,
        high=high,
        level=level,
        label="heuristic",
        why=(WHY,),
        n_resamples=n_resamples,
        **count_fields(admissible, admissible, contamination),
        **problem.group_fields(),
        provenance=problem.provenance(
            totals,
            method=search.name,
            options={**search.options(), "n_resamples": n_resamples},
            seed=seed,
            n_pairs=meter.n_pairs,
            seconds=time.perf_counter() - started,
            misfiling=contamination.stated(),
        ),
    )


def _outer_quantiles(ends: Float64s, outside: float) -> tuple[float, float]:
    """Return a low quantile of the first column and a high one of the second, on the root scale."""
    left_out = math.floor(outside * (len(ends) - 1) + SLACK)
    low, high = np.sort(ends[:, 0])[left_out], np.sort(ends[:, 1])[-1 - left_out]
    return math.sqrt(max(float(low), 0.0)), math.sqrt(max(float(high), 0.0))


class Resampler:
    """Draws the rows of both groups anew and gives the sums over their pairs."""

    def __init__(self, problem: Problem, totals: GroupSums, meter: Meter) -> None:
        self._problem, self._sums, self._meter = problem, totals.sums, meter
        everyone = slice(0, totals.sums.n_rows)
        self._matrix = totals.sums.block(everyone, everyone) if totals.sums.holds_matrix else None

    def draw(self, rng: np.random.Generator) -> Indices:
        """Return as many rows of each group as it has, places in the pooled sample, some of them repeated."""
        p, n = self._problem.p, self._sums.n_rows
        return np.concatenate([rng.integers(p, size=p), rng.integers(p, n, size=n - p)])

    def totals(self, rows: Indices) -> GroupSums:
        """Return the sums over the pairs of these rows."""
        if self._matrix is None:
            return replace(self._problem, pooled=self._problem.pooled[rows]).one_pass(self._meter)
        sums = MatrixSums(
            self._matrix[np.ix_(rows, rows)],
            value_error=self._sums.rounding,
            reach=self._sums.reach,
            working_memory=self._sums.working_memory,
            meter=self._meter,
        )
        return group_sums(sums, self._problem.p, self._problem.q)
