"""The picture of the rows that matter most."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmdbounds.checks import check_count
from mmdbounds.errors import MmdBoundsError
from mmdbounds.plotting.canvas import (
    GREY,
    LABEL_WIDTH,
    LONGEST_NAME,
    LOWER,
    UPPER,
    axes_for,
    check_result,
    explain,
    lines_of,
    name_text,
    small_numbers,
)
from mmdbounds.results import BoundsResult
from mmdbounds.words.phrases import row_name

SIDES = (("lower", LOWER, "rises"), ("upper", UPPER, "falls"))


def plot_rows(result: BoundsResult, ax: Any = None, *, n_rows: int = 20) -> Any:
    """Draw what the rows that matter most do to the bounds.

    For each row, how far at most a bound moves once it is known that the row is not where the labelling of
    that bound puts it: the lower bound rises, to the right; the upper one falls, to the left. Filled
    markers are rows that the labelling of the bound takes for misfiled, hollow ones those that it
    leaves. The numbers are those of `BoundsResult.row_table`.

    Parameters
    ----------
    result : BoundsResult
        The bounds.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if none is given.
    n_rows : int, default=20
        How many rows, those that matter most first. The picture says of how many.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(50, 2))
    >>> ax = mb.plotting.plot_rows(mb.mmd_bounds(X, Y, epsilon=0.1))  # doctest: +SKIP
    """
    check_result(result, (BoundsResult,), "plot_rows")
    check_count(n_rows, "n_rows", least=1)
    table = result.row_table()
    changes = np.array([table["lower_change"], table["upper_change"]])
    known = int((~np.isnan(changes)).any(axis=0).sum())
    if not known:
        msg = "no row does anything to these bounds: all rows of a group are misfiled, or none is."
        raise MmdBoundsError(msg)
    shown = min(n_rows, known)
    given, ax = ax, axes_for(ax, (6.4, 1.6 + 0.24 * shown))
    for side, style, verb in SIDES:
        _one_side(ax, side, style, verb, {name: np.asarray(c)[:shown] for name, c in table.items()})
    ax.axvline(0.0, color=GREY, linewidth=0.8)
    ax.set_yticks(range(shown), [_label(table, i, result) for i in range(shown)])
    ax.set_ylim(shown - 0.4, -0.6)
    ax.grid(axis="y", color="0.92")
    ax.set_axisbelow(True)
    ax.set_xlabel("change of the bound (squared MMD)")
    small_numbers(ax, "x")
    whom = name_text(result.name_y) + (f" and {name_text(result.name_x)}" if result.n_moved_of_x else "")
    ax.set_title(lines_of(f"{shown:,} of {len(table['row']):,} rows filed under {whom}"), fontsize="medium")
    explain(ax, given=given)
    return ax


def _one_side(ax: Any, side: str, style: dict[str, Any], verb: str, table: dict[str, Any]) -> None:
    """Draw the changes of one bound, moved rows filled and others hollow."""
    change, moved = table[f"{side}_change"], table[f"in_{side}"]
    places = np.arange(len(change))
    ax.hlines(places, 0.0, np.nan_to_num(change), color=style["color"], linewidth=1.5)
    for here, face, word in ((moved, style["color"], "moved"), (~moved, "white", "not moved")):
        if (here & ~np.isnan(change)).any():
            ax.plot(
                change[here],
                places[here],
                **{**style, "linestyle": "", "markerfacecolor": face},
                label=f"{side} bound {verb} ({word} there)",
            )


def _label(table: dict[str, Any], i: int, result: BoundsResult) -> str:
    letter = "Y" if table["group"][i] == result.name_y else "X"
    name = row_name(letter, table["row"][i], table["id"][i], table["file_row"][i])
    return lines_of(name_text(name, LABEL_WIDTH), LONGEST_NAME)
