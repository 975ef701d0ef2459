"""The pictures of a test and of an evaluation."""

from __future__ import annotations

import math
from typing import Any

from mmdbounds.plotting import canvas
from mmdbounds.results import AggregatedResult, BoundsResult, Evaluation, RobustTestResult
from mmdbounds.words.phrases import number, proved_number, rows

COLOURS = (canvas.BLUE, canvas.ORANGE, canvas.BLACK, canvas.VERMILION, canvas.SKY, canvas.GREEN, canvas.PINK)
MARKERS = "os*^DvP"  # colours and markers of the methods, in turn


def plot_null(
    result: RobustTestResult | AggregatedResult, ax: Any = None, *, bounds: BoundsResult | None = None
) -> Any:
    """Draw the statistic of a test, in the worst case and as filed, beside its null distribution.

    The null distribution is that for the group sizes in the worst case; the p-value as filed has another,
    for the sizes as filed.

    Parameters
    ----------
    result : RobustTestResult or AggregatedResult
        The test.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if none is given.
    bounds : BoundsResult, optional
        Bounds for the same groups, shaded: where the statistic of the true groups can be. Not for an
        `AggregatedResult`, whose statistic is in standard deviations.

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
    canvas.check_result(result, (RobustTestResult, AggregatedResult), "plot_null")
    if bounds is not None:
        canvas.check_result(result, (RobustTestResult,), "plot_null(..., bounds=...)")
        canvas.check_result(bounds, (BoundsResult,), "plot_null(..., bounds=...)")
    given, ax = ax, canvas.axes_for(ax)
    n_bins = max(10, min(40, math.isqrt(len(result.null))))
    label = f"chance alone: {result.n_permutations:,} random labellings"
    ax.hist(result.null, bins=n_bins, color="0.7", edgecolor="0.4", linewidth=0.5, label=label)
    if bounds is not None:
        label = f"possible values ({'proved' if bounds.is_certified else 'not proved'})"
        ax.axvspan(*bounds.interval, color=canvas.SKY, alpha=0.25, linewidth=0, label=label)
    ax.axvline(result.statistic, color=canvas.BLUE, linewidth=2, label=_worst_case(result))
    filed = f"{number(result.observed)} (p = {number(result.pvalue_as_filed)} if nothing is misfiled)"
    ax.axvline(result.observed, **canvas.AS_FILED, label=f"as filed: {filed}")
    if isinstance(result, RobustTestResult) and result.null_quantile is not None:
        ax.axvline(result.null_quantile, **canvas.CHANCE, label=canvas.CHANCE_LABEL)
    ax.set_xlabel(canvas.lines_of(_statistic(result)))
    ax.set_ylabel("random labellings")
    canvas.small_numbers(ax, "x")
    canvas.explain(ax, given=given)
    return ax


def _worst_case(result: RobustTestResult | AggregatedResult) -> str:
    """Say which statistic it is, rounded so that it stays proved, and its p-value."""
    pvalue = number(result.pvalue)
    if not result.is_valid:
        return f"worst case: {number(result.statistic)} found (p = {pvalue}, not proved)"
    return f"worst case: at least {proved_number(result.statistic, 'lower')} (p = {pvalue})"


def _statistic(result: RobustTestResult | AggregatedResult) -> str:
    moved = f"(worst case: {rows(result.n_moved)} misfiled)"
    if isinstance(result, RobustTestResult):
        return f"squared MMD {moved}"
    return f"largest of {len(result.parts)} squared MMDs, each in standard deviations of its null {moved}"


def plot_coverage(result: Evaluation, ax: Any = None) -> Any:
    """Draw the false coverage rate of each method against the mean width of its interval.

    Low and to the left is good: rarely wrong, and narrow. Bars are standard errors.

    Parameters
    ----------
    result : Evaluation
        The evaluation.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if none is given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(40, 2))
    >>> found = mb.evaluate(X, Y, epsilon=0.1, methods=["s-sd", "sd"], n_trials=5, rng=0, progress=False)
    >>> ax = mb.plotting.plot_coverage(found)  # doctest: +SKIP
    """
    canvas.check_result(result, (Evaluation,), "plot_coverage")
    given, ax = ax, canvas.axes_for(ax)
    for place, method in enumerate(result.methods):
        ax.errorbar(
            [method.mean_interval_width],
            [method.false_coverage_rate],
            xerr=[method.mean_interval_width_error or 0.0],
            yerr=[method.false_coverage_rate_error],
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=8,
            markeredgecolor=canvas.BLACK,
            linestyle="",
            capsize=3,
            label=f"{canvas.name_text(method.label)}: {method.n_missed} of {result.n_trials} missed",
        )
    ax.set_ylim(-0.05, 1.05)
    canvas.in_percent(ax.yaxis)
    canvas.small_numbers(ax, "x")
    ax.set_xlabel("mean width of the interval (squared MMD)")
    ax.set_ylabel("trials in which the interval misses the truth")
    canvas.explain(ax, given=given)
    return ax
