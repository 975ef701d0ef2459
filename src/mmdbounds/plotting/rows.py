"""The picture of single rows: what each does to the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmdbounds.checks import check_count
from mmdbounds.errors import MmdBoundsError
from mmdbounds.plotting import canvas
from mmdbounds.results import BoundsResult
from mmdbounds.words.phrases import row_name, statistic

SIDES = (("lower", canvas.LOWER, "rises"), ("upper", canvas.UPPER, "falls"))


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
