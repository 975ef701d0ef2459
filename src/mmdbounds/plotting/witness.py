"""The picture of the witness: where the groups differ, and which rows the bounds move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mmdbounds.checks import check_count, check_option
from mmdbounds.plotting.canvas import (
    BLACK,
    BLUE,
    GREY,
    HEIGHT_WIDTH,
    ORANGE,
    axes_for,
    check_available,
    check_axes,
    check_result,
    explain,
    lines_of,
    name_text,
)
from mmdbounds.plotting.witness_values import Feature, Seen, seen
from mmdbounds.results import BoundsResult
from mmdbounds.words.phrases import number

GRID = 60
"""Places along each of two axes at which the function itself is computed; of one axis, five times as many."""

SHADES = "cividis"
"""From dark blue to light yellow, for all eyes and in grey."""

WITNESS = "witness (above 0: like X, below: like Y)"


def plot_witness(
    result: BoundsResult,
    X: Any,
    Y: Any,
    ax: Any = None,
    *,
    features: Feature | Sequence[Feature] | None = None,
    side: str | None = None,
    kernel: Any = None,
    max_rows: int = 2000,
) -> Any:
    """Draw the witness function at the rows, and which rows the bounds move.

    The witness of a point is its mean kernel value to the rows of X less that to the rows of Y: above 0 a
    point looks like X, below 0 like Y. Of one column it is drawn against that column, of two, or of
    principal components, it is the shade of the markers. Where there are no other columns, the
    function itself is drawn too, as a curve or as contours.

    Parameters
    ----------
    result : BoundsResult
        The bounds of these groups.
    X, Y : array-like
        The groups, as they were given to `mmd_bounds`. A result holds no rows.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if none is given.
    features : int, str or a pair of them, optional
        One or two columns, by place or name. Without it, the only one or two there are, else the first two
        principal components of the rows shown.
    side : {"lower", "upper"}, optional
        The witness of the groups after the rows of this side have moved, and these rows alone marked.
        Without it, that of the groups as filed, and the rows of both sides marked.
    kernel : kernel object or callable, optional
        Needed only where the result was made with a function.
    max_rows : int, default=2000
        Of more rows so many are drawn at random, the same every time, and the picture says so. The witness
        is that of all rows.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(50, 2))
    >>> ax = mb.plotting.plot_witness(mb.mmd_bounds(X, Y, epsilon=0.1), X, Y)  # doctest: +SKIP
    """
    check_result(result, (BoundsResult,), "plot_witness")
    check_axes(ax)
    check_available()
    if side is not None:
        check_option(side, "side", ("lower", "upper"))
    check_count(max_rows, "max_rows", least=2)
    shown = seen(result, X, Y, features=features, side=side, kernel=kernel, max_rows=max_rows)
    given, ax = ax, axes_for(ax, (6.4, 4.6))
    (_one_axis if len(shown.names) == 1 else _two_axes)(ax, shown, result)
    _mark_moved(ax, shown, result, ("lower", "upper") if side is None else (side,))
    _title(ax, shown, side)
    explain(ax, given=given)
    return ax


def _heights(shown: Seen) -> Any:
    """Return where the markers stand on the vertical axis."""
    return shown.witness if len(shown.names) == 1 else shown.places[:, 1]


def _groups(shown: Seen, result: BoundsResult) -> list[tuple[Any, str, str, str]]:
    """Return the rows of both groups among those shown: which, their colour, marker and label."""
    is_x = shown.rows < result.n_samples_X
    x, y = name_text(result.name_x), name_text(result.name_y)
    return [(is_x, BLUE, "o", f"X: filed under {x}"), (~is_x, ORANGE, "s", f"Y: filed under {y}")]


def _one_axis(ax: Any, shown: Seen, result: BoundsResult) -> None:
    """Draw the witness of the rows against one column."""
    ax.axhline(0.0, color=GREY, linewidth=0.8)
    if shown.is_whole:
        low, high = shown.places.min(), shown.places.max()
        line = np.linspace(low, high, 5 * GRID)
        ax.plot(line, shown.function(line[:, None]), color=BLACK, linewidth=1, label="the function")
    for here, colour, marker, label in _groups(shown, result):
        ax.scatter(
            shown.places[here, 0],
            shown.witness[here],
            s=18,
            c=colour,
            marker=marker,
            alpha=0.7,
            edgecolors=BLACK,
            linewidths=0.3,
            label=label,
            rasterized=True,
        )
    ax.set_xlabel(lines_of(shown.names[0]))
    ax.set_ylabel(WITNESS)


def _two_axes(ax: Any, shown: Seen, result: BoundsResult) -> None:
    """Draw the rows on two axes and the witness as their shade; its contours where it is a function there."""
    if shown.is_whole:
        _contours(ax, shown)
    largest = float(np.abs(shown.witness).max()) or 1.0
    for here, _, marker, label in _groups(shown, result):
        points = ax.scatter(
            *shown.places[here].T,
            s=20,
            c=shown.witness[here],
            marker=marker,
            cmap=SHADES,
            vmin=-largest,
            vmax=largest,
            edgecolors=BLACK,
            linewidths=0.3,
            label=label,
            rasterized=True,
        )
    ax.figure.colorbar(points, ax=ax, label=WITNESS)
    ax.set_xlabel(lines_of(shown.names[0]))
    ax.set_ylabel(lines_of(shown.names[1], HEIGHT_WIDTH))


def _contours(ax: Any, shown: Seen) -> None:
    low, high = shown.places.min(axis=0), shown.places.max(axis=0)
    edge = 0.05 * (high - low)  # the outermost rows are not cut
    across, up = np.linspace(low - edge, high + edge, GRID).T
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    heights = shown.function(grid.reshape(-1, 2)).reshape(GRID, GRID)
    lines = ax.contour(across, up, heights, levels=7, colors=GREY, linewidths=0.7)
    ax.clabel(lines, fontsize="x-small", fmt=number)


def _mark_moved(ax: Any, shown: Seen, result: BoundsResult, sides: tuple[str, ...]) -> None:
    """Put a triangle around the rows that a side moves: up for the upper bound, down for the lower."""
    for side in sides:
        bound = getattr(result, side)
        moved = np.isin(shown.rows, np.concatenate([bound.rows_of_x, bound.rows + result.n_samples_X]))
        n_moved = bound.n_moved + bound.n_moved_of_x
        if n_moved:
            ax.scatter(
                shown.places[moved, 0],
                _heights(shown)[moved],
                s=55,
                marker="^" if side == "upper" else "v",
                facecolors="none",
                edgecolors=BLACK,
                linewidths=0.9,
                label=f"moved for the {side} bound ({n_moved:,})",
                rasterized=True,
            )


def _title(ax: Any, shown: Seen, side: str | None) -> None:
    """Say which witness it is, and that rows are left out."""
    which = "groups as filed" if side is None else f"rows moved for the {side} bound"
    n_rows, n_shown = len(shown.pooled), len(shown.rows)
    part = f"; {n_shown:,} of {n_rows:,} rows shown" if n_shown < n_rows else ""
    ax.set_title(f"{which}{part}", fontsize="medium")
