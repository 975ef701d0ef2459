"""The picture of the frontier of misfiling both ways."""

from __future__ import annotations

from typing import Any

from mmdbounds.plotting import canvas
from mmdbounds.results import FrontierResult
from mmdbounds.words.phrases import percent


def plot_frontier(result: FrontierResult, ax: Any = None) -> Any:
    """Draw up to which shares of both groups a finding survives misfiling both ways.

    Below the line, and on it, the groups differ whichever rows are misfiled. Hollow markers show where no
    labelling was found that explains the difference away, so that the finding may survive more.

    Parameters
    ----------
    result : FrontierResult
        What `sweep` returns with `y_in_x`.
    ax : matplotlib.axes.Axes, optional
        As in `plot_bounds`; the axes are returned.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(50, 2))
    >>> both_ways = mb.sweep(X, Y, epsilons=[0, 0.05, 0.1], y_in_x=0.3, n_permutations=99, rng=0)
    >>> ax = mb.plotting.plot_frontier(both_ways)  # doctest: +SKIP
    """
    canvas.check_result(result, (FrontierResult,), "plot_frontier")
    given, ax = ax, canvas.axes_for(ax)
    held = [
        (point.epsilon, point.y_in_x, point.is_tight) for point in result.points if point.y_in_x is not None
    ]
    x, y = canvas.name_text(result.name_x), canvas.name_text(result.name_y)
    if held:
        places, shares, _ = zip(*held, strict=True)
        label = f"the groups differ at the {percent(result.level)} level up to here"
        ax.plot(places, shares, **canvas.LOWER, label=label)
        ax.fill_between(places, 0.0, shares, color=canvas.SKY, alpha=0.25, linewidth=0)
        loose = [(place, share) for place, share, is_tight in held if not is_tight]
        if loose:
            hollow = {**canvas.LOWER, **canvas.HOLLOW}
            ax.plot(*zip(*loose, strict=True), **hollow, label="perhaps more")
    broken = [point.epsilon for point in result.points if point.y_in_x is None]
    if broken:
        ax.axvline(broken[0], **canvas.BREAKDOWN, label=f"not with {percent(broken[0])} one way alone")
    ax.set_xlabel(canvas.lines_of(f"share of the true {x} rows filed under {y} (epsilon)"))
    ax.set_ylabel(canvas.lines_of(f"share of the true {y} rows filed under {x}", canvas.HEIGHT_WIDTH))
    ax.set_ylim(bottom=0.0)
    canvas.in_percent(ax.xaxis)
    canvas.in_percent(ax.yaxis)
    return canvas.explain(ax, given=given)
