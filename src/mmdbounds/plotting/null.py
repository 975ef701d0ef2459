"""The picture of a test: the statistic beside what random labellings give."""

from __future__ import annotations

import math
from typing import Any

from mmdbounds.plotting.canvas import (
    AS_FILED,
    BLUE,
    CHANCE,
    SKY,
    axes_for,
    check_result,
    explain,
    lines_of,
    small_numbers,
)
from mmdbounds.results import BoundsResult
from mmdbounds.results.testing import AggregatedResult, RobustTestResult
from mmdbounds.words.phrases import number, proved_number, rows


def plot_null(
    result: RobustTestResult | AggregatedResult, ax: Any = None, *, bounds: BoundsResult | None = None
) -> Any:
    """Draw the statistic of a test, in the worst case and as filed, beside its null distribution.

    The null distribution is that of the true sizes in the worst case; the p-value as filed has another, with
    the sizes as filed.

    Parameters
    ----------
    result : RobustTestResult or AggregatedResult
        The test.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if none is given.
    bounds : BoundsResult, optional
        Bounds for the same groups, to be shaded: where the statistic of the true groups can be. Not for
        several kernels, whose statistic is in standard deviations.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(50, 2))
    >>> test = mb.robust_test(X, Y, epsilon=0.1, n_permutations=99, rng=0)
    >>> ax = mb.plotting.plot_null(test)  # doctest: +SKIP
    """
    check_result(result, (RobustTestResult, AggregatedResult), "plot_null")
    if bounds is not None:
        check_result(result, (RobustTestResult,), "plot_null(..., bounds=...)")
        check_result(bounds, (BoundsResult,), "plot_null(..., bounds=...)")
    given, ax = ax, axes_for(ax)
    label = f"no difference: {result.n_permutations:,} random labellings"
    ax.hist(
        result.null, bins=_n_bins(len(result.null)), color="0.7", edgecolor="0.4", linewidth=0.5, label=label
    )
    if bounds is not None:
        proof = "proved" if bounds.is_certified else "not proved"
        ax.axvspan(*bounds.interval, color=SKY, alpha=0.25, linewidth=0, label=f"possible values ({proof})")
    ax.axvline(result.statistic, color=BLUE, linewidth=2, label=_worst_case(result))
    filed = f"{number(result.observed)} (p = {number(result.pvalue_as_filed)} if nothing is misfiled)"
    ax.axvline(result.observed, **AS_FILED, label=f"as filed: {filed}")
    if isinstance(result, RobustTestResult) and result.null_quantile is not None:
        ax.axvline(result.null_quantile, **CHANCE, label="95 % quantile of the null")
    ax.set_xlabel(lines_of(_statistic(result)))
    ax.set_ylabel("random labellings")
    small_numbers(ax, "x")
    explain(ax, given=given)
    return ax


def _n_bins(n_permutations: int) -> int:
    return max(10, min(40, math.isqrt(n_permutations)))


def _worst_case(result: RobustTestResult | AggregatedResult) -> str:
    """Say which statistic it is, rounded so that it stays proved, and its p-value."""
    value = f"at least {proved_number(result.statistic, 'lower')}"
    if not result.is_valid:
        value = f"{number(result.statistic)} found"
    return f"worst case: {value} (p = {number(result.pvalue)}{'' if result.is_valid else ', not proved'})"


def _statistic(result: RobustTestResult | AggregatedResult) -> str:
    moved = f"with {rows(result.n_moved)} misfiled, the worst case"
    if isinstance(result, RobustTestResult):
        return f"squared MMD, {moved}"
    return f"largest of {len(result.parts)} squared MMDs, in standard deviations of their null, {moved}"
