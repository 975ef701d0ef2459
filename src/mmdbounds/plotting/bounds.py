"""The picture of bounds: against the share of misfiled rows, or one interval on a line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mmdbounds.plotting.canvas import (
    AS_FILED,
    BLUE,
    CHANCE,
    GREY,
    LOWER,
    SKY,
    UPPER,
    axes_for,
    check_result,
    explain,
    lines_of,
    small_numbers,
)
from mmdbounds.plotting.curves import mark_breakdown, mark_unproved, share_axis, shares
from mmdbounds.results import Bound, BoundsResult, ConfidenceInterval
from mmdbounds.results.curve import SweepResult
from mmdbounds.words.bounds import ends as interval_digits
from mmdbounds.words.phrases import assumption, number, percent, proved_number

ONE_LINE = (6.4, 2.4)
TITLE_WIDTH = 86
BAR: dict[str, Any] = {"color": BLUE, "linewidth": 8, "solid_capstyle": "butt"}
Ends = list[tuple[float, str]]
"""Both ends of an interval, and how they are printed."""

SQUARED = "squared MMD of the true groups"


def plot_bounds(result: SweepResult | BoundsResult | ConfidenceInterval, ax: Any = None) -> Any:
    """Draw how small and how large the squared MMD can be.

    Parameters
    ----------
    result : SweepResult, BoundsResult or ConfidenceInterval
        Of a sweep, the bounds are drawn against the share of misfiled rows, with the value as filed, what
        chance alone makes (the 95 % quantile of the null) and the breakdown. A single result is one interval
        on a line. Of a confidence interval, which is on the root scale, the part that
        misfiling leaves open is drawn thicker than the room for chance. Hollow markers are values that a
        labelling reaches and nothing proves.
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
    >>> ax = mb.plotting.plot_bounds(curve)  # doctest: +SKIP
    """
    check_result(result, (SweepResult, BoundsResult, ConfidenceInterval), "plot_bounds")
    if isinstance(result, SweepResult):
        return _against_share(result, ax)
    new = axes_for(ax, ONE_LINE)
    ends = _confidence(new, result) if isinstance(result, ConfidenceInterval) else _one_share(new, result)
    for (value, text), side, aside in zip(ends, ("right", "left"), (-8, 8), strict=True):
        new.annotate(text, (value, 0), (aside, 0), textcoords="offset points", ha=side, va="center")
    new.set(ylim=(-1, 1), yticks=[])
    new.spines["left"].set_visible(False)
    new.margins(x=0.25)
    small_numbers(new, "x")
    explain(new, given=ax)
    return new


def _against_share(result: SweepResult, given: Any) -> Any:
    ax, places, points = axes_for(given), shares(result), result.points
    low = np.array([p.lower if p.lower_certified is None else p.lower_certified for p in points])
    high = np.array([p.upper if p.upper_certified is None else p.upper_certified for p in points])
    ax.fill_between(places, low, high, color=SKY, alpha=0.25, linewidth=0)
    ax.plot(places, high, **UPPER, label="largest possible")
    ax.plot(places, low, **LOWER, label="smallest possible")
    for values, proofs, style in (
        (high, [p.upper_certified for p in points], UPPER),
        (low, [p.lower_certified for p in points], LOWER),
    ):
        unproved = np.array([proof is None for proof in proofs], dtype=np.bool_)
        mark_unproved(ax, places[unproved], values[unproved], style)
    ax.axhline(result.observed, **AS_FILED, label=f"as filed: {number(result.observed)}")
    if any(p.null_quantile is not None for p in points):
        chance = [math.nan if p.null_quantile is None else p.null_quantile for p in points]
        ax.plot(places, chance, **CHANCE, label="chance alone: 95 % are below")
    mark_breakdown(ax, result)
    share_axis(ax, result)
    ax.set_ylabel(SQUARED)
    small_numbers(ax, "y")
    explain(ax, given=given)
    return ax


def _one_share(ax: Any, result: BoundsResult) -> Ends:
    """Draw one interval, its value as filed, and labellings that do not reach the proved ends."""
    low, high = result.interval
    ax.plot([low, high], [0, 0], **BAR, label=_proof(result))
    ax.plot([result.observed], [0], "D", color="black", markersize=6, label="as filed")
    for bound, style in ((result.lower, LOWER), (result.upper, UPPER)):
        _attained(ax, bound, result, style)
    ax.set_xlabel(SQUARED)
    said = assumption(result).replace("$", r"\$")
    ax.set_title(lines_of(said, TITLE_WIDTH), fontsize="small")
    return list(zip((low, high), interval_digits(result), strict=True))


def _proof(result: BoundsResult) -> str:
    kinds = [bound.kind for bound in (result.lower, result.upper) if bound.kind != "labelling"]
    if kinds:
        return f"by {kinds[0]}, no bounds"
    if result.is_crossed:
        return "the two sides cross"
    if not result.is_certified:
        return "found by labellings, not proved"
    return f"possible values (proved{'' if result.approximation is None else ' for the approximate kernel'})"


def _attained(ax: Any, bound: Bound, result: BoundsResult, style: dict[str, Any]) -> None:
    """Draw the value that a labelling reaches, where the proved end is further out."""
    if result.is_certified and bound.gap is not None and bound.gap > 0.01 * abs(result.width):
        hollow = {**style, "linestyle": "", "markerfacecolor": "white"}
        ax.plot([bound.value], [0], **hollow, label=f"{bound.side} value reached")


def _confidence(ax: Any, result: ConfidenceInterval) -> Ends:
    """Draw a confidence interval: what misfiling leaves open, and room for chance beyond."""
    level = percent(result.level)
    ax.plot([result.low, result.high], [0, 0], color=GREY, linewidth=3, label=f"{level}, {result.label}")
    if result.parts:
        inner = [
            min(math.sqrt(max(part.lower, 0.0)) for part in result.parts),
            max(math.sqrt(max(part.upper, 0.0)) for part in result.parts),
        ]
        ax.plot(inner, [0, 0], **BAR, label="by misfiling alone")
    ax.set_xlabel("MMD of the two populations (root scale)")
    low, high = number(result.low), number(result.high)
    if result.label == "proved":
        low, high = proved_number(result.low, "lower"), proved_number(result.high, "upper")
    return [(result.low, low), (result.high, high)]
