"""The picture of an evaluation: how often each method misses the truth, and how wide its interval is."""

from __future__ import annotations

from typing import Any

from mmdbounds.plotting.canvas import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    SKY,
    VERMILION,
    axes_for,
    check_result,
    explain,
    in_percent,
    name_text,
    small_numbers,
)
from mmdbounds.results.evaluation import Evaluation

STYLES = [
    (BLUE, "o"),
    (ORANGE, "s"),
    (BLACK, "*"),
    (VERMILION, "^"),
    (SKY, "D"),
    (GREEN, "v"),
    (PINK, "P"),
]
"""Colour and marker of the methods in turn."""


def plot_coverage(result: Evaluation, ax: Any = None) -> Any:
    """Draw the false coverage rate of each method against the mean width of its interval.

    Good is low and to the left: rarely wrong, and narrow. Bars are standard errors.

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
    check_result(result, (Evaluation,), "plot_coverage")
    given, ax = ax, axes_for(ax)
    for place, method in enumerate(result.methods):
        colour, marker = STYLES[place % len(STYLES)]
        ax.errorbar(
            [method.mean_interval_width],
            [method.false_coverage_rate],
            xerr=[method.mean_interval_width_error or 0.0],
            yerr=[method.false_coverage_rate_error],
            color=colour,
            marker=marker,
            markersize=8,
            markeredgecolor=BLACK,
            linestyle="",
            capsize=3,
            label=f"{name_text(method.label)}: {method.n_missed} of {result.n_trials} missed",
        )
    ax.set_ylim(-0.05, 1.05)
    in_percent(ax.yaxis)
    small_numbers(ax, "x")
    ax.set_xlabel("mean width of the interval (squared MMD)")
    ax.set_ylabel("trials in which the truth is outside")
    explain(ax, given=given)
    return ax
