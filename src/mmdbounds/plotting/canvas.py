"""Where pictures are drawn; the only file that imports matplotlib."""

from __future__ import annotations

import importlib.util
import io
import textwrap
from collections.abc import Callable
from typing import Any

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.words.phrases import percent, shown

# The colours of Okabe and Ito, told apart by people who do not see all colours. Two that stand for two things
# in one picture also differ in lightness, and never by colour alone.
BLACK, BLUE, SKY, GREEN = "#000000", "#0072B2", "#56B4E9", "#009E73"
ORANGE, VERMILION, PINK, GREY = "#E69F00", "#D55E00", "#CC79A7", "0.45"

# How the two sides are drawn: apart in colour, lightness, line and marker.
LOWER: dict[str, Any] = {"color": BLUE, "linestyle": "-", "marker": "v", "markersize": 6}
UPPER: dict[str, Any] = {"color": ORANGE, "linestyle": "--", "marker": "^", "markersize": 6}
# What makes the style of a line that of single markers.
FILLED: dict[str, Any] = {"linestyle": ""}
HOLLOW: dict[str, Any] = {"linestyle": "", "markerfacecolor": "white"}
AS_FILED: dict[str, Any] = {"color": BLACK, "linestyle": ":", "linewidth": 1.5}
BREAKDOWN: dict[str, Any] = {"color": GREY, "linestyle": (0, (8, 3)), "linewidth": 1.3}
CHANCE: dict[str, Any] = {"color": GREY, "linestyle": "-.", "linewidth": 1.3}
CHANCE_LABEL = "95 % of what chance alone would give"

# Settings of figures that are written to files by the package itself.
SETTINGS: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "mmdbounds",
    "svg.fonttype": "none",
}
SIZE = (6.4, 4.0)
LABEL_WIDTH = 66  # characters of a line of text below a picture of the usual size
HEIGHT_WIDTH = 38  # characters of a line of text beside it
LONGEST_NAME = 32  # characters of a name from the data: there is less room than in a sentence
LEGEND: dict[str, Any] = {"fontsize": "small", "framealpha": 0.85}


def check_available() -> None:
    """Say now, not after the work, that nothing can be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        msg = "figures need matplotlib, which is not installed. Install mmdbounds[plot]."
        raise MmdBoundsError(msg)


def check_result(result: Any, kinds: tuple[type[Any], ...], function: str) -> None:
    """Refuse what this picture is not of."""
    if not isinstance(result, kinds):
        known = " or ".join(kind.__name__ for kind in kinds)
        msg = f"`{function}` draws results of type {known}; got {type(result).__name__}."
        raise MmdBoundsError(msg)


def check_axes(ax: Any) -> None:
    """Refuse what nothing can be drawn on, such as a whole figure or an array of axes."""
    if ax is not None and not (hasattr(ax, "plot") and hasattr(ax, "set_xlabel")):
        kind = type(ax).__name__
        msg = f"`ax` must be one matplotlib Axes; got {kind}. Pass one, such as `figure.axes[0]`."
        raise DataError(msg)


def axes_for(ax: Any, figsize: tuple[float, float] = SIZE) -> Any:
    """Return the axes to draw on: those given, or those of a new figure, which pyplot shows."""
    check_axes(ax)
    if ax is not None:
        return ax
    check_available()
    # Through pyplot, so that notebooks and `plt.show()` show it; whoever wants no state gives `ax`.
    from matplotlib import pyplot

    new = pyplot.subplots(figsize=figsize, layout="constrained")[1]
    new.spines[["top", "right"]].set_visible(False)
    return new


def name_text(name: object, longest: int = LONGEST_NAME) -> str:
    """Return a name from the data in few characters; a dollar sign begins no formula of matplotlib's."""
    text = shown(name)
    if len(text) > longest:
        text = f"{text.removesuffix('...')[: longest - 3].rstrip(' ,;')}..."
    return text.replace("$", r"\$")


def lines_of(text: str, width: int = LABEL_WIDTH) -> str:
    """Return a text in lines that fit beside or below a picture."""
    return textwrap.fill(text, width, break_long_words=True)


def in_percent(axis: Any) -> None:
    """Write the ticks of an axis of shares as people say them: 20 %."""
    axis.set_major_formatter(lambda share, _: percent(share))


def small_numbers(ax: Any, axis: str) -> None:
    """Write very small and very large numbers with a common power of ten, so that ticks stay apart."""
    ax.ticklabel_format(axis=axis, style="sci", scilimits=(-3, 4), useMathText=True)
    ax.locator_params(axis=axis, nbins=7)


def explain(ax: Any, *, given: Any) -> Any:
    """Return axes with a legend: below our own, where it hides nothing, and inside those that were given."""
    if given is not None:  # what is around them is the user's
        ax.legend(**LEGEND, loc="best")
        return ax
    from matplotlib.transforms import ScaledTranslation

    n_lines = 1 + ax.get_xlabel().count("\n")
    inches = 0.36 + 0.17 * n_lines  # ticks, and the lines of the label
    below = ax.transAxes + ScaledTranslation(0.0, -inches, ax.figure.dpi_scale_trans)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": below}
    # Two columns where they fit; too wide a legend would squeeze the picture.
    longest = max(map(len, ax.get_legend_handles_labels()[1]))
    ax.legend(**LEGEND, **place, ncols=2 if 2 * longest <= LABEL_WIDTH + 6 else 1, frameon=False)
    return ax


def empty_figure(rows: int, columns: int, figsize: tuple[float, float], **shared: Any) -> tuple[Any, Any]:
    """Return an empty figure, which no window shows, and its panels as a table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=figsize, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def rendered(draw: Callable[[], Any]) -> dict[str, bytes]:
    """Return what a function draws as PNG and SVG, the same bytes for the same numbers."""
    from matplotlib import rc_context

    contents = {}
    with rc_context(SETTINGS):
        figure = draw()
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, dpi=150, metadata=metadata)
            contents[suffix] = buffer.getvalue()
    return contents


def legend(figure: Any, axes: Any, ncols: int | None = None) -> None:
    """Put one legend below all panels."""
    known: dict[str, Any] = {}
    for panel in axes.flat:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    figure.legend(
        known.values(), known.keys(), loc="outside lower center", ncols=ncols or len(known), fontsize=8
    )
