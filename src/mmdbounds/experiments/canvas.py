"""Where figures are drawn; the only file of this folder that imports matplotlib.

Colours are those of Okabe and Ito, told apart by people who do not see all colours; every method also has
its own marker, so that a figure can be read in grey. Bars are standard errors.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable
from typing import Any

from mmdbounds.errors import MmdBoundsError
from mmdbounds.evaluation.presets import OURS, PAPER, SHARP
from mmdbounds.experiments import printed

STYLES: dict[str, tuple[str, str]] = {
    printed.S_SD: ("#0072B2", "o"),
    printed.S_QNO: ("#E69F00", "s"),
    printed.QNO: ("#D55E00", "^"),
    printed.SD: ("#56B4E9", "D"),
    printed.SM: ("#009E73", "v"),
    printed.BOOTSTRAP: ("#CC79A7", "P"),
    SHARP: ("#000000", "*"),
}
"""Colour and marker of each method."""

ROWS = {PAPER: "paper's protocol", OURS: "our protocol"}
SETTINGS: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "mmdbounds",
    "svg.fonttype": "none",
}


def check_available() -> None:
    """Say now, not after the work, that nothing can be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        msg = "figures need matplotlib, which is not installed. Install mmdbounds[plot]."
        raise MmdBoundsError(msg)


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
