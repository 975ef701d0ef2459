"""Figures of the experiments: tables as dots, curves against N and epsilon. Bars are standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lab.paper import printed
from lab.paper.experiments import PROTOCOLS, SOURCES, Setting, setting_of
from lab.paper.presets import AS_PRINTED, OURS, PAPER, SHARP
from lab.paper.results import Line, trials_in_words
from mmdbounds.plotting.canvas import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    SKY,
    VERMILION,
    empty_figure,
    legend,
    rendered,
)

STYLES = {  # colour and marker of each method
    printed.S_SD: (BLUE, "o"),
    printed.S_QNO: (ORANGE, "s"),
    printed.QNO: (VERMILION, "^"),
    printed.SD: (SKY, "D"),
    printed.SM: (GREEN, "v"),
    printed.BOOTSTRAP: (PINK, "P"),
    SHARP: (BLACK, "*"),
}
ROWS = {PAPER: "paper as read", AS_PRINTED: "formulas as printed", OURS: "our protocol"}
DOTS = {PAPER: (VERMILION, "s"), AS_PRINTED: (ORANGE, "s"), OURS: (BLUE, "o")}  # in tables
SQUARED = "squared MMD"
NO_WIDTH = 1e-9  # a smaller width is only the margin for rounding: no row is misfiled


def _dots(lines: Sequence[Line], document: dict[str, Any]) -> Any:
    """Draw a table: each method's width and false coverage, printed, in the paper's protocol and in ours."""
    table = printed.TABLES[document["label"]]
    sources = [line.source for line in lines]
    settings = sorted({setting_of(line): None for line in lines}, key=lambda each: sources.index(each.source))
    rows = list(dict.fromkeys((*table.rows, *(line.method for line in lines))))
    size = max(5.0, 2.3 * len(settings) + 1.0), 1.2 + 0.5 * len(rows)
    figure, axes = empty_figure(2, len(settings), figsize=size, sharey=True)
    for column, setting in enumerate(settings):
        here = [line for line in lines if setting_of(line) == setting]
        for panel, value, name in zip(axes[:, column], ("miw", "fcr"), ("MIW", "FCR"), strict=True):
            _dot_panel(panel, here, table, rows, value)
            panel.set(xlabel=name)
            panel.set_xlim((-0.05, 1.05) if value == "fcr" else (0, None))
        axes[0, column].set_title(_panel_title(setting, settings), fontsize=8)
    steps = "S = " if rows[0].isdigit() else ""
    axes[0, 0].set_yticks(range(len(rows)), [f"{steps}{row}" for row in rows])
    axes[0, 0].set_ylim(len(rows) - 0.5, -0.5)
    legend(figure, axes)
    return figure


def _panel_title(setting: Setting, settings: Sequence[Setting]) -> str:
    """Return the data set, and what sets it apart where it is there twice."""
    if [each.source for each in settings].count(setting.source) > 1:
        return f"{setting.source}, {setting.mechanism},\nN = {setting.n_rows}"
    return f"{setting.source}{' (not comparable)' if SOURCES[setting.source].is_standin else ''}"


def _dot_panel(
    panel: Any, lines: Sequence[Line], table: printed.PrintedTable, rows: list[str], value: str
) -> None:
    def dots(found: Sequence[Any], places: list[float], **style: Any) -> None:
        x, bars = _with_errors(found, value)
        panel.errorbar(x, places, xerr=bars, **style)

    column = SOURCES[lines[0].source].column
    grey, name = ("0.45", "printed") if column != printed.MIMIC else ("0.75", "printed for MIMIC")
    places = [rows.index(row) - 0.22 for row in table.rows]
    cells = [table.cells[row, column] for row in table.rows]
    dots(cells, places, fmt="x", color=grey, markersize=5, label=name)
    for protocol, (colour, marker) in DOTS.items():
        if here := [line for line in lines if line.protocol == protocol]:
            places = [rows.index(line.method) + 0.22 * (protocol == OURS) for line in here]
            dots(here, places, fmt=marker, color=colour, markersize=4, label=ROWS[protocol])
    panel.grid(axis="y", color="0.93")


def drawn(document: dict[str, Any]) -> dict[str, bytes]:
    """Return the figure of an experiment as PNG and SVG, by suffix."""
    lines = [Line.from_dict(each) for each in document["lines"]]
    draw = {"table": _dots, "typical": _typical}.get(document["kind"], _curves)
    return rendered(lambda: draw(lines, document))


def _protocols(lines: Sequence[Line]) -> list[str]:
    return [name for name in PROTOCOLS if any(line.protocol == name for line in lines)]


def _methods(lines: Sequence[Line]) -> list[str]:
    """Return the methods in the order of the paper, sharp last; or the numbers of steps."""
    present = dict.fromkeys(line.method for line in lines)
    return [name for name in STYLES if name in present] or list(present)


def _curves(lines: Sequence[Line], document: dict[str, Any]) -> Any:
    """Draw width (left) and false coverage (right) against N or epsilon, a row for each protocol."""
    axis = "n_rows" if document["kind"] == "sizes" else "epsilon"
    protocols = _protocols(lines)
    figure, axes = empty_figure(len(protocols), 2, figsize=(8.6, 0.6 + 2.7 * len(protocols)), sharex=True)
    for name, (left, right) in zip(protocols, axes, strict=True):
        for place, method in enumerate(_methods(lines)):
            here = sorted(
                (line for line in lines if (line.protocol, line.method) == (name, method)),
                key=lambda line: getattr(line, axis),
            )
            if not here:
                continue
            x = [_beside(getattr(line, axis), place, axis) for line in here]
            for panel, value in ((left, "miw"), (right, "fcr")):
                _line(panel, x, here, value, method)
        left.set(ylabel=f"{ROWS[name]}\nmean interval width")
        left.set_yscale("log", nonpositive="mask")
        right.set(ylabel="false coverage rate", ylim=(-0.04, 1.04))
    for panel in axes[-1]:
        if axis == "n_rows":
            panel.set(xscale="log", xlabel="N, rows of both groups")
            values = sorted({line.n_rows for line in lines})
            panel.set_xticks(values, [str(value) for value in values])
            panel.minorticks_off()
        else:
            panel.set(xlabel="epsilon, share of the true X misfiled")
    legend(figure, axes)
    figure.suptitle(_title(lines, axis), fontsize=10)
    return figure


def _beside(value: float, place: int, axis: str) -> float:
    """Return where a point is drawn: slightly shifted, so that methods with equal rates stay visible."""
    aside = place - len(STYLES) // 2
    return value * 1.03**aside if axis == "n_rows" else value + 0.004 * aside


def _line(panel: Any, x: list[float], here: Sequence[Line], value: str, method: str) -> None:
    colour, marker = STYLES[method]
    y, bars = _with_errors(here, value)
    if value == "miw":  # a width of mere rounding has no place on a logarithmic axis
        y = [math.nan if width < NO_WIDTH else width for width in y]
    panel.errorbar(
        x,
        y,
        bars,
        color=colour,
        marker=marker,
        markersize=7 if marker == "*" else 4.5,
        markeredgecolor="white",
        markeredgewidth=0.4,
        linewidth=1.3,
        elinewidth=0.8,
        capsize=1.5,
        label=method,
        zorder=3 if method in (SHARP, printed.S_SD) else 2,
    )


def _title(lines: Sequence[Line], axis: str) -> str:
    line = lines[0]
    fixed = f"epsilon = {line.epsilon:g}" if axis == "n_rows" else f"N = {line.n_rows}"
    standin = ", a stand-in for MIMIC" if SOURCES[line.source].is_standin else ""
    return f"{line.source}{standin}; {fixed}, {line.mechanism} misfiling, {trials_in_words(lines)}"


def _typical(lines: Sequence[Line], document: dict[str, Any]) -> Any:
    """Draw the estimate as filed and the truth against epsilon, with the bounds around them."""
    protocols, sources = _protocols(lines), list(dict.fromkeys(line.source for line in lines))
    size = 0.8 + 2.9 * len(sources), 0.6 + 2.6 * len(protocols)
    figure, axes = empty_figure(len(protocols), len(sources), figsize=size, sharex=True)
    for name, panels in zip(protocols, axes, strict=True):
        for source, panel in zip(sources, panels, strict=True):
            here = [line for line in lines if (line.source, line.protocol) == (source, name)]
            _typical_panel(panel, here)
        panels[0].set_ylabel(f"{ROWS[name]}\n{SQUARED}")
    for source, top, bottom in zip(sources, axes[0], axes[-1], strict=True):
        top.set_title(f"{source} (stand-in)" if SOURCES[source].is_standin else source, fontsize=9)
        bottom.set_xlabel("epsilon")
    legend(figure, axes)
    return figure


def _typical_panel(panel: Any, lines: Sequence[Line]) -> None:
    def along(method: str) -> list[Line]:
        return sorted((line for line in lines if line.method == method), key=lambda line: line.epsilon)

    def curve(value: str, **style: Any) -> None:
        panel.errorbar(x, *_with_errors(steps, value), linewidth=1.2, capsize=1.5, **style)

    steps, sharp = along(printed.S_SD), along(SHARP)
    x = [line.epsilon for line in steps]
    if sharp:
        low, high = [line.lower for line in sharp], [line.upper for line in sharp]
        panel.fill_between(x, low, high, color="0.88", label="sharp, certified")
    colour, marker = STYLES[printed.S_SD]
    for value in ("lower", "upper"):
        curve(value, color=colour, marker=marker, markersize=3.5, label="S-SD bounds")
    curve("observed", color=VERMILION, marker="^", markersize=4, label="as filed (typical)")
    curve("truth", color="black", linestyle="--", label="truth")
    panel.axhline(0, color="0.8", linewidth=0.7, zorder=0)


def _with_errors(lines: Sequence[Any], value: str) -> tuple[list[float], list[float]]:
    return [getattr(line, value) for line in lines], [getattr(line, f"{value}_error") for line in lines]
