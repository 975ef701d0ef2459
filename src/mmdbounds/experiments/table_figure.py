"""The figure of a table: printed, in the paper's protocol, and in ours, beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmdbounds.evaluation.presets import OURS, PAPER
from mmdbounds.experiments import printed
from mmdbounds.experiments.canvas import ROWS, empty_figure, legend
from mmdbounds.experiments.lines import Line
from mmdbounds.experiments.sources import SOURCES


def dots(lines: Sequence[Line], document: dict[str, Any]) -> Any:
    """Draw a table: each method's width and false coverage, printed, in the paper's protocol and in ours."""
    table = printed.TABLES[document["label"]]
    sources = list(dict.fromkeys(line.source for line in lines))
    rows = list(dict.fromkeys((*table.rows, *(line.method for line in lines))))
    figure, axes = empty_figure(
        2,
        len(sources),
        figsize=(max(5.0, 2.3 * len(sources) + 1.0), 1.2 + 0.5 * len(rows)),
        sharey=True,
    )
    for column, source in enumerate(sources):
        for panel, value, name in zip(axes[:, column], ("miw", "fcr"), ("MIW", "FCR"), strict=True):
            _dot_panel(panel, [line for line in lines if line.source == source], table, rows, value)
            panel.set(xlabel=name)
            if value == "fcr":
                panel.set_xlim(-0.05, 1.05)
            else:
                panel.set_xlim(left=0)
        note = " (not comparable)" if SOURCES[source].is_standin else ""
        axes[0, column].set_title(f"{source}{note}", fontsize=8)
    steps = "S = " if rows[0].isdigit() else ""
    axes[0, 0].set_yticks(range(len(rows)), [f"{steps}{row}" for row in rows])
    axes[0, 0].set_ylim(len(rows) - 0.5, -0.5)
    legend(figure, axes)
    return figure


def _dot_panel(
    panel: Any, lines: Sequence[Line], table: printed.PrintedTable, rows: list[str], value: str
) -> None:
    column = SOURCES[lines[0].source].column
    said = [(rows.index(row), table.cells[row, column]) for row in table.rows]
    name = "printed" if column != printed.MIMIC else "printed for MIMIC"
    panel.errorbar(
        [getattr(cell, value) for _, cell in said],
        [place - 0.22 for place, _ in said],
        xerr=[getattr(cell, f"{value}_error") for _, cell in said],
        fmt="x",
        color="0.45" if column != printed.MIMIC else "0.75",
        markersize=5,
        label=name,
    )
    for protocol, colour, marker, shift in ((PAPER, "#D55E00", "s", 0.0), (OURS, "#0072B2", "o", 0.22)):
        here = [line for line in lines if line.protocol == protocol]
        if here:
            panel.errorbar(
                [getattr(line, value) for line in here],
                [rows.index(line.method) + shift for line in here],
                xerr=[getattr(line, f"{value}_error") for line in here],
                fmt=marker,
                color=colour,
                markersize=4,
                label=ROWS[protocol],
            )
    panel.grid(axis="y", color="0.93")
