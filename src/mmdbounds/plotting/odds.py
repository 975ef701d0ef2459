"""The pictures of limited odds: a curve over the factor, and contours over share and factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmdbounds.plotting import canvas
from mmdbounds.results import OddsSweepResult
from mmdbounds.words.phrases import number, percent, statistic

FACTOR = "odds of being misfiled: within this factor of one value"
POPULATIONS = "{} of the true populations (estimate)"


def plot_odds(result: OddsSweepResult, ax: Any = None) -> Any:
    """Draw what is left of a difference as misfiling gets further from random.

    Parameters
    ----------
    result : OddsSweepResult
        With one share, both ends against the factor of the odds, and what chance alone would give. With
        several shares, contours of the lower end over share and factor (estimates below 0 are drawn as 0); a
        dashed line marks where the finding breaks down.
    ax : matplotlib.axes.Axes, optional
        As in `plot_bounds`; the axes are returned.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(50, 2))
    >>> curve = mb.odds_sweep(X, Y, n_permutations=99, rng=0)
    >>> ax = mb.plotting.plot_odds(curve)  # doctest: +SKIP
    """
    canvas.check_result(result, (OddsSweepResult,), "plot_odds")
    given, ax = ax, canvas.axes_for(ax)
    (_contours if len(result.epsilons) > 1 and len(result.odds) > 1 else _curve)(ax, result)
    return canvas.explain(ax, given=given)


def _curve(ax: Any, result: OddsSweepResult) -> None:
    """Draw both ends against the factor for the first share, or against the share for the first factor."""
    over_odds = len(result.odds) > 1
    points = [p for p in result.points if over_odds or p.odds == result.odds[0]]
    places = [point.odds if over_odds else point.epsilon for point in points]
    ends = []
    for side, style in (("upper", canvas.UPPER), ("lower", canvas.LOWER)):
        proofs = [(getattr(point, f"{side}_certified"), getattr(point, side)) for point in points]
        values = [found if proof is None else proof for proof, found in proofs]
        ax.plot(places, values, **style, label=f"{side} end")
        ends.append(values)
    ax.fill_between(places, *ends, color=canvas.SKY, alpha=0.25, linewidth=0)
    ax.axhline(result.observed, **canvas.AS_FILED, label=f"as filed: {number(result.observed)}")
    # Misfiling makes differences look smaller than they are, those of chance too.
    scaled = [result.chance / (1 - point.n_moved / result.n_samples_Y) ** 2 for point in points]
    ax.plot(places, scaled, **canvas.CHANCE, label=canvas.CHANCE_LABEL)
    if over_odds:
        broken = result.breakdown[0].odds
        if broken is not None and broken <= places[-1]:
            ax.axvline(broken, **canvas.BREAKDOWN, label=f"breakdown: factor {broken:.3g}")
        ax.set_xlabel(FACTOR)
        title = f"{percent(result.epsilons[0])} of the true {canvas.name_text(result.name_x)} rows misfiled"
        ax.set_title(canvas.lines_of(title), fontsize="medium")
    else:
        _label_shares(ax, result)
    ax.set_ylabel(canvas.lines_of(POPULATIONS.format(statistic(result)), canvas.HEIGHT_WIDTH))
    canvas.small_numbers(ax, "y")


def _contours(ax: Any, result: OddsSweepResult) -> None:
    """Draw the lower end over share and factor, and where it is down at chance."""
    shape = len(result.epsilons), len(result.odds)
    found = [p.lower if p.lower_certified is None else p.lower_certified for p in result.points]
    heights = np.maximum(np.array(found).reshape(shape).T, 0.0)
    filled = ax.contourf(result.epsilons, result.odds, heights, levels=8, cmap="cividis")
    thin = {"levels": filled.levels, "colors": "white", "linewidths": 0.7}
    lines = ax.contour(result.epsilons, result.odds, heights, **thin)
    ax.clabel(lines, fontsize="x-small", fmt=number)
    ax.figure.colorbar(filled, ax=ax, label="lower end of the range")
    known = [(each.epsilon, each.odds) for each in result.breakdown if each.odds is not None]
    style = {**canvas.BREAKDOWN, "color": canvas.VERMILION, "linewidth": 2.5}
    label = "breakdown: down at what chance alone would give"
    if known:
        ax.plot(*zip(*known, strict=True), **style, label=label)
    else:
        ax.plot([], [], " ", label="no breakdown at the odds tried")
    ax.set_xlim(result.epsilons[0], result.epsilons[-1])
    ax.set_ylim(result.odds[0], result.odds[-1])
    ax.set_yscale("log")
    ax.set_yticks(result.odds, [f"{factor:g}" for factor in result.odds])
    ax.minorticks_off()
    ax.set_ylabel(canvas.lines_of(FACTOR, canvas.HEIGHT_WIDTH))
    _label_shares(ax, result)


def _label_shares(ax: Any, result: OddsSweepResult) -> None:
    x, y = canvas.name_text(result.name_x), canvas.name_text(result.name_y)
    ax.set_xlabel(canvas.lines_of(f"share of the true {x} rows filed under {y} (epsilon)"))
    canvas.in_percent(ax.xaxis)
