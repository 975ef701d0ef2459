"""The pictures of single rows: what each does to the bounds, and the witness at each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmdbounds.checks import check_count, check_option
from mmdbounds.errors import MmdBoundsError
from mmdbounds.plotting import canvas
from mmdbounds.plotting.witness_values import Features, RowsShown, rows_shown
from mmdbounds.results import BoundsResult
from mmdbounds.words.phrases import number, row_name, statistic

SIDES = (("lower", canvas.LOWER, "rises"), ("upper", canvas.UPPER, "falls"))

# Places along each of two axes at which the function itself is computed; of one axis, five times as many.
GRID = 60
SHADES = "cividis"  # from dark blue to light yellow, for all eyes and in grey
EDGE: dict[str, Any] = {"edgecolors": canvas.BLACK, "linewidths": 0.3, "rasterized": True}
WITNESS = "witness (above 0: like X; below 0: like Y)"


def plot_rows(result: BoundsResult, ax: Any = None, *, n_rows: int = 20) -> Any:
    """Draw what the rows to be checked first do to the bounds.

    For each row, how much at most a bound changes once the row's true group is known: the lower bound rises,
    to the right; the upper one falls, to the left. Filled markers are rows that are moved to reach
    that bound, hollow ones are not. Numbers and order are those of `BoundsResult.row_table`: by the change of
    the lower bound.

    Parameters
    ----------
    result : BoundsResult
        The bounds.
    ax : matplotlib.axes.Axes, optional
        As in `plot_bounds`; the axes are returned.
    n_rows : int, default=20
        How many rows to draw, those to be checked first. The title says of how many.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(50, 2))
    >>> ax = mb.plotting.plot_rows(mb.mmd_bounds(X, Y, epsilon=0.1))  # doctest: +SKIP
    """
    canvas.check_result(result, (BoundsResult,), "plot_rows")
    check_count(n_rows, "n_rows", least=1)
    table = result.row_table()
    changes = np.array([table["lower_change"], table["upper_change"]])
    known = int((~np.isnan(changes)).any(axis=0).sum())
    if not known:
        msg = "no single row changes these bounds: all rows of a group are misfiled, or none is."
        raise MmdBoundsError(msg)
    shown = min(n_rows, known)
    given, ax = ax, canvas.axes_for(ax, (6.4, 1.6 + 0.24 * shown))
    for side, style, verb in SIDES:
        _one_side(ax, side, style, verb, {name: np.asarray(c)[:shown] for name, c in table.items()})
    ax.axvline(0.0, color=canvas.GREY, linewidth=0.8)
    ax.set_yticks(range(shown), [_label(table, i, result) for i in range(shown)])
    ax.set_ylim(shown - 0.4, -0.6)
    ax.grid(axis="y", color="0.92")
    ax.set_axisbelow(True)
    ax.set_xlabel(f"change of the bound ({statistic(result)})")
    canvas.small_numbers(ax, "x")
    names = [result.name_y, result.name_x] if result.n_moved_of_x else [result.name_y]
    groups = " and ".join(map(canvas.name_text, names))
    title = f"{shown:,} of {len(table['row']):,} rows filed under {groups}"
    ax.set_title(canvas.lines_of(title), fontsize="medium")
    return canvas.explain(ax, given=given)


def _one_side(ax: Any, side: str, style: dict[str, Any], verb: str, table: dict[str, Any]) -> None:
    """Draw the changes of one bound, moved rows filled and others hollow."""
    change, moved = table[f"{side}_change"], table[f"in_{side}"]
    places = np.arange(len(change))
    ax.hlines(places, 0.0, np.nan_to_num(change), color=style["color"], linewidth=1.5)
    for here, face, word in ((moved, style["color"], "row moved"), (~moved, "white", "row not moved")):
        if (here & ~np.isnan(change)).any():
            marker = {**style, **canvas.FILLED, "markerfacecolor": face}
            ax.plot(change[here], places[here], **marker, label=f"{side} bound {verb} ({word})")


def _label(table: dict[str, Any], i: int, result: BoundsResult) -> str:
    letter = "Y" if table["group"][i] == result.name_y else "X"
    name = row_name(letter, table["row"][i], table["id"][i], table["file_row"][i])
    return canvas.lines_of(canvas.name_text(name, canvas.LABEL_WIDTH), canvas.LONGEST_NAME)


def plot_witness(
    result: BoundsResult,
    X: Any,
    Y: Any,
    ax: Any = None,
    *,
    features: Features = None,
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
        As in `plot_bounds`; the axes are returned.
    features : int, str or a pair of them, optional
        One or two columns, by place or name, drawn in their own units. By default the only one or two there
        are, else the first two principal components of the rows shown, which have none.
    side : {"lower", "upper"}, optional
        Draw the witness of the groups after the rows of this side have moved, and mark these rows alone.
        By default that of the groups as filed, with the rows of both sides marked.
    kernel : kernel object or callable, optional
        Needed only if the result was made with a function.
    max_rows : int, default=2000
        Of more rows a random sample of this size is drawn, the same every time, and the title says so. The
        witness is that of all rows.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(50, 2))
    >>> ax = mb.plotting.plot_witness(mb.mmd_bounds(X, Y, epsilon=0.1), X, Y)  # doctest: +SKIP
    """
    canvas.check_result(result, (BoundsResult,), "plot_witness")
    canvas.check_axes(ax)
    canvas.check_available()
    if side is not None:
        check_option(side, "side", ("lower", "upper"))
    check_count(max_rows, "max_rows", least=2)
    view = rows_shown(result, X, Y, features=features, side=side, kernel=kernel, max_rows=max_rows)
    given, ax = ax, canvas.axes_for(ax, (6.4, 4.6))
    (_one_axis if len(view.names) == 1 else _two_axes)(ax, view, result)
    _mark_moved(ax, view, result, ("lower", "upper") if side is None else (side,))
    which = "groups as filed" if side is None else f"rows moved for the {side} bound"
    n_rows, n_shown = len(view.pooled), len(view.rows)
    part = f"; {n_shown:,} of {n_rows:,} rows shown" if n_shown < n_rows else ""
    ax.set_title(f"{which}{part}", fontsize="medium")
    return canvas.explain(ax, given=given)


def _groups(view: RowsShown, result: BoundsResult) -> list[tuple[Any, str, str, str]]:
    """Return the rows of both groups among those shown: which, their colour, marker and label."""
    is_x = view.rows < result.n_samples_X
    x, y = (f"filed under {canvas.name_text(name)}" for name in (result.name_x, result.name_y))
    return [(is_x, canvas.BLUE, "o", f"X: {x}"), (~is_x, canvas.ORANGE, "s", f"Y: {y}")]


def _one_axis(ax: Any, view: RowsShown, result: BoundsResult) -> None:
    """Draw the witness of the rows against one column."""
    ax.axhline(0.0, color=canvas.GREY, linewidth=0.8)
    if view.is_whole:
        line = np.linspace(view.places.min(), view.places.max(), 5 * GRID)
        ax.plot(line, view.function(line[:, None]), color=canvas.BLACK, linewidth=1, label="witness function")
    for here, colour, marker, label in _groups(view, result):
        style = {"s": 18, "c": colour, "marker": marker, "alpha": 0.7, **EDGE}
        ax.scatter(view.places[here, 0], view.witness[here], **style, label=label)
    ax.set_xlabel(canvas.lines_of(view.names[0]))
    ax.set_ylabel(WITNESS)


def _two_axes(ax: Any, view: RowsShown, result: BoundsResult) -> None:
    """Draw the rows on two axes and the witness as their shade; its contours where it is a function there."""
    if view.is_whole:
        low, high = view.places.min(axis=0), view.places.max(axis=0)
        edge = 0.05 * (high - low)  # the outermost rows are not cut
        across, up = np.linspace(low - edge, high + edge, GRID).T
        grid = np.stack(np.meshgrid(across, up), axis=-1)
        heights = view.function(grid.reshape(-1, 2)).reshape(GRID, GRID)
        lines = ax.contour(across, up, heights, levels=7, colors=canvas.GREY, linewidths=0.7)
        ax.clabel(lines, fontsize="x-small", fmt=number)
    largest = float(np.abs(view.witness).max()) or 1.0
    for here, _, marker, label in _groups(view, result):
        shade = {"c": view.witness[here], "cmap": SHADES, "vmin": -largest, "vmax": largest}
        points = ax.scatter(*view.places[here].T, s=20, marker=marker, **shade, **EDGE, label=label)
    ax.figure.colorbar(points, ax=ax, label=WITNESS)
    ax.set_xlabel(canvas.lines_of(view.names[0]))
    ax.set_ylabel(canvas.lines_of(view.names[1], canvas.HEIGHT_WIDTH))


def _mark_moved(ax: Any, view: RowsShown, result: BoundsResult, sides: tuple[str, ...]) -> None:
    """Put a triangle around the rows that a side moves: up for the upper bound, down for the lower."""
    heights = view.witness if len(view.names) == 1 else view.places[:, 1]
    for side in sides:
        bound = getattr(result, side)
        moved = np.isin(view.rows, np.concatenate([bound.rows_of_x, bound.rows + result.n_samples_X]))
        n_moved = bound.n_moved + bound.n_moved_of_x
        if n_moved:
            style = {"s": 55, "marker": "^" if side == "upper" else "v", "facecolors": "none"}
            label = f"moved for the {side} bound ({n_moved:,})"
            ax.scatter(
                view.places[moved, 0], heights[moved], **style, **EDGE | {"linewidths": 0.9}, label=label
            )
