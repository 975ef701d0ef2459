"""The picture of a table of columns: a dot and an interval for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmdbounds.plotting import canvas
from mmdbounds.results import ColumnTable
from mmdbounds.words.columns import by_strength
from mmdbounds.words.phrases import assumption

MOST_COLUMNS = 30  # that are drawn unless the user says otherwise
TITLE_WIDTH = 86
LINE_HEIGHT = 0.28  # inches for each column...
AROUND = 1.7  # ... and for all the rest


def plot_columns(result: ColumnTable, ax: Any = None, *, columns: int = MOST_COLUMNS) -> Any:
    """Draw each column's standardised difference with its bounds.

    Parameters
    ----------
    result : ColumnTable
        A diamond is the difference as filed, the line all that the misfiling allows. Lines that touch 0 are
        thin and grey: there the misfiling could explain the difference away.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if none is given.
    columns : int, default=30
        How many columns are drawn, those first whose difference is surest.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    canvas.check_result(result, (ColumnTable,), "plot_columns")
    shown = by_strength(result.rows)[:columns]
    new = canvas.axes_for(ax, (canvas.SIZE[0], AROUND + LINE_HEIGHT * len(shown)))
    places = np.arange(len(shown))
    styles = {
        True: {"color": canvas.BLUE, "linewidth": 4, "label": "same sign whichever rows were misfiled"},
        False: {"color": canvas.GREY, "linewidth": 1.5, "label": "could be explained away"},
    }
    for kept, style in styles.items():
        some = [(i, row) for i, row in enumerate(shown) if row.keeps_sign == kept]
        for number, (i, row) in enumerate(some):
            line = style if number == 0 else {**style, "label": None}
            new.plot([row.standardised_lower, row.standardised_upper], [i, i], **line)
    filed = [row.standardised for row in shown]
    new.plot(filed, places, "D", color=canvas.BLACK, markersize=4.5, label="as filed")
    new.axvline(0.0, **canvas.CHANCE)
    new.set_yticks(places, [canvas.name_text(row.name) for row in shown])
    new.set_ylim(len(shown) - 0.5, -0.5)  # the surest on top
    x, y = canvas.name_text(result.name_x), canvas.name_text(result.name_y)
    new.set_xlabel(canvas.lines_of(f"standardised difference: mean of {x} less mean of {y}"))
    new.set_title(canvas.lines_of(assumption(result).replace("$", r"\$"), TITLE_WIDTH), fontsize="small")
    return canvas.explain(new, given=ax)
