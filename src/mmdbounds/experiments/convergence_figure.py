"""The figure of the convergence study."""

from __future__ import annotations

from typing import Any

from mmdbounds.experiments.canvas import STYLES, empty_figure, legend, rendered

LARGEST_ROOT = 2**0.5
"""No root MMD with a kernel between 0 and 1 is larger."""


def drawn(document: dict[str, Any]) -> dict[str, bytes]:
    """Return the figure as PNG and SVG, by suffix."""
    return rendered(lambda: _figure(document))


def _figure(document: dict[str, Any]) -> Any:
    names = [population["name"] for population in document["populations"]]
    figure, axes = empty_figure(
        2,
        len(names),
        figsize=(0.6 + 3.9 * len(names), 6.4),
        sharex=True,
        sharey=True,
    )
    for column, population in enumerate(document["populations"]):
        for row, side in enumerate(("lower", "upper")):
            lines = [
                line
                for line in document["lines"]
                if (line["population"], line["side"]) == (population["name"], side)
            ]
            _panel(axes[row, column], lines)
            axes[row, 0].set_ylabel(f"error of the {side} bound, root MMD")
        axes[0, column].set_title(population["name"], fontsize=9)
        axes[1, column].set_xlabel("n, true size of each group")
    sizes = sorted({line["n"] for line in document["lines"]})
    axes[0, 0].set_xticks(sizes, [str(n) for n in sizes])
    axes[0, 0].minorticks_off()
    legend(figure, axes, ncols=4)
    return figure


def _panel(panel: Any, lines: list[dict[str, Any]]) -> None:
    panel.set(xscale="log", yscale="log")
    for method in dict.fromkeys(line["method"] for line in lines):
        here = [line for line in lines if line["method"] == method]
        colour, marker = STYLES[method]
        panel.errorbar(
            [line["n"] for line in here],
            [line["mean_error"] for line in here],
            [line["mean_error_error"] for line in here],
            color=colour,
            marker=marker,
            markersize=7 if marker == "*" else 4.5,
            linewidth=1.3,
            capsize=1.5,
            label=method,
        )
    one = [line for line in lines if line["method"] == lines[0]["method"]]
    n = [line["n"] for line in one]
    for number, style in ((1, ":"), (3, "--")):
        radii = [line[f"radius_proposition_{number}"] for line in one]
        panel.plot(
            n, radii, color="0.4", linestyle=style, linewidth=1.2, label=f"radius of Proposition {number}"
        )
    panel.plot(
        n,
        [n[0] ** 0.5 / size**0.5 * 0.1 for size in n],
        color="0.8",
        linewidth=1,
        label="falls like $n^{-1/2}$",
    )
    panel.axhline(LARGEST_ROOT, color="0.8", linestyle="-.", linewidth=1, label="largest possible root MMD")
