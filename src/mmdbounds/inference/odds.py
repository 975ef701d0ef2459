"""How far from random must misfiling be to explain a difference away? Ranges over shares and factors."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from mmdbounds.checks import (
    MOST_PERMUTATIONS,
    check_count,
    check_progress,
    check_seed,
    is_list,
)
from mmdbounds.contamination import Contamination, as_contamination, check_odds
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.permutation import PermutationNull, blind_order
from mmdbounds.knowledge import refuse_known
from mmdbounds.problem import ComparisonOptions, Problem, compares, comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.results import OddsBreakdown, OddsPoint, OddsSweepResult
from mmdbounds.search.odds import Ranges, check_kernel, possible_values

CHANCE = 0.95  # the quantile of random labellings up to which a value counts as chance
EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
ODDS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)


@compares()
def odds_sweep(
    X: Any,
    Y: Any,
    epsilons: float | Sequence[float] = EPSILONS,
    odds: Sequence[float] = ODDS,
    *,
    exactly: bool | None = None,
    n_permutations: int = 999,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> OddsSweepResult:
    """Find how many rows must be misfiled, and how far from randomly, to explain away a difference.

    Parameters
    ----------
    X, Y, exactly, kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `mmd_bounds`; the kernel must be known to be positive definite.
    epsilons : float or list of float, default=(0.05, 0.1, ..., 0.3)
        Shares of the true X that were filed under Y.
    odds : list of float, default=(1, 1.25, 1.5, 2, 3, 5)
        Factors, as in ``Contamination(..., odds=2)``: with 2, one row may have up to 4 times the odds of
        another.
    n_permutations : int, default=999
        Random labellings that say what chance alone would give.
    rng : int or Generator, optional
        Their seed.

    Returns
    -------
    OddsSweepResult
        The range at each share and factor, and for each share the factor at which the lower end is down at
        what chance alone would give. ``result.plot()`` draws a curve for one share, contours for several.

    Notes
    -----
    The breakdown compares estimates with a quantile of chance. It is a guide, as in sensitivity analyses of
    regressions, and no test: `sweep` has one.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(80, 2)), rng.normal(1, 1, size=(100, 2))
    >>> curve = mb.odds_sweep(X, Y, epsilons=[0.1, 0.3], n_permutations=99, rng=0)
    >>> [each.odds and round(each.odds, 1) for each in curve.breakdown]
    [None, 4.3]
    """
    started = time.perf_counter()
    factors = sorted({check_odds(each) for each in _as_list(odds, "odds")})
    n_permutations = check_count(n_permutations, "n_permutations", least=19, most=MOST_PERMUTATIONS)
    check_progress(progress)
    refuse_known(X, Y, "odds_sweep")
    seed = check_seed(rng)
    problem = pose(X, Y, comparison("odds_sweep", options))
    check_kernel(problem)
    shares = [as_contamination(each, exactly) for each in _as_list(epsilons, "epsilons")]
    numbers_by_share = [misfiled_numbers(share, problem) for share in shares]
    runs = [run for _, run in sorted({run[-1]: run for run in numbers_by_share}.items())]
    with Meter("pass", "search", show=progress) as meter:
        totals = problem.one_pass(meter)
        meter.phase("search")
        null = PermutationNull(
            totals, problem.estimator, blind_order(problem), n_permutations, np.random.default_rng(seed)
        )
        chance = float(np.quantile(null.values([problem.p]), CHANCE, method="higher"))
        ranges = Ranges(totals, problem.estimator, possible_values(problem.kernel))
        points = [_point(ranges, numbers, factor, problem) for numbers in runs for factor in factors]
        breakdown = [
            OddsBreakdown(
                epsilon=numbers[-1] / (problem.p + numbers[-1]),
                n_moved=numbers[-1],
                odds=ranges.breakdown(numbers[-1], chance, max(factors[-1], LARGEST_TRIED)),
            )
            for numbers in runs
        ]
    return OddsSweepResult(
        points=tuple(points),
        breakdown=tuple(breakdown),
        chance=chance,
        observed=ranges.hidden.observed,
        exactly=all(share.exactly for share in shares),
        n_permutations=n_permutations,
        **problem.group_fields(),
        provenance=problem.provenance(
            totals,
            method="odds",
            options={"odds": factors},
            seed=seed,
            n_pairs=meter.n_pairs,
            seconds=time.perf_counter() - started,
        ),
    )


LARGEST_TRIED = 20.0  # factor up to which a breakdown is looked for, unless larger ones are asked for


def _as_list(given: Any, name: str) -> list[Any]:
    """Return one number, or several, as a list."""
    listed = list(given) if is_list(given) else [given]
    if not listed:
        msg = f"`{name}` must have at least one entry; got none."
        raise MmdBoundsError(msg)
    return listed


def misfiled_numbers(contamination: Contamination, problem: Problem) -> range:
    """Return the numbers of misfiled rows of Y that are considered."""
    if contamination.is_two_way:
        msg = "`odds` needs one-way misfiling, of rows of X filed under Y; got two-way. Leave `y_in_x` out."
        raise MmdBoundsError(msg)
    admissible = problem.checked_counts(contamination.admissible(problem.p, problem.q))
    return range(admissible[0].n_moved, admissible[-1].n_moved + 1)


def _point(ranges: Ranges, numbers: range, factor: float, problem: Problem) -> OddsPoint:
    lower, upper = ranges.ends(numbers, factor)
    return OddsPoint(
        epsilon=numbers[-1] / (problem.p + numbers[-1]),
        n_moved=numbers[-1],
        odds=factor,
        lower=lower.value,
        lower_certified=lower.certified,
        upper=upper.value,
        upper_certified=upper.certified,
        point=ranges.point(numbers[-1]),
    )
