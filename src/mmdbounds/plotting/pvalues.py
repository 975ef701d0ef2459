"""The picture of p-values against the share of misfiled rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mmdbounds.plotting.canvas import AS_FILED, LOWER, SKY, UPPER, axes_for, check_result, explain
from mmdbounds.plotting.curves import mark_breakdown, mark_unproved, share_axis, shares
from mmdbounds.results.curve import SweepResult
from mmdbounds.words.phrases import number, percent

_MARKS = {"lower": {**LOWER, "linestyle": ""}, "upper": {**UPPER, "linestyle": ""}}


def plot_pvalues(result: SweepResult, ax: Any = None) -> Any:
    """Draw the smallest and the largest p-value that the misfiling allows against its share.

    Only the largest is a p-value; the smallest says what the most favourable labelling would give. The
    scale is logarithmic. Hollow markers are p-values that rest on no proof.

    Parameters
    ----------
    result : SweepResult
        The curve.
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
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(50, 2))
    >>> curve = mb.sweep(X, Y, epsilons=[0, 0.1, 0.2], n_permutations=99, rng=0)
    >>> ax = mb.plotting.plot_pvalues(curve)  # doctest: +SKIP
    """
    check_result(result, (SweepResult,), "plot_pvalues")
    given, ax, places, points = ax, axes_for(ax), shares(result), result.points
    worst = np.array([point.pvalue for point in points])
    best = np.array([math.nan if point.best_case is None else point.best_case for point in points])
    # No lines from share to share: between them a p-value can leap.
    ax.vlines(places, best, worst, color=SKY, linewidth=5, alpha=0.6)
    # The largest p-value belongs to the smallest statistic, and looks like it.
    ax.plot(places, worst, **_MARKS["lower"], label="worst case: the p-value")
    unproved = np.array([point.lower_certified is None for point in points], dtype=np.bool_)
    mark_unproved(ax, places[unproved], worst[unproved], LOWER)
    if not np.isnan(best).all():
        ax.plot(places, best, **_MARKS["upper"], label="best case")
    ax.axhline(result.level, **AS_FILED, label=f"level {percent(result.level)}")
    mark_breakdown(ax, result)
    share_axis(ax, result)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda value, _: number(value))
    ax.set_ylim(0.7 * np.nanmin([*best, *worst, result.level]), 1.4)
    ax.set_ylabel("p-value for no difference")
    explain(ax, given=given)
    return ax
