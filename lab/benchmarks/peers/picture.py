"""The picture: seconds against rows, both on logarithmic scales, each line with its name where it begins.

Colours are those of Okabe and Ito, which people who do not see all colours can tell apart; every line has
a marker of its own besides.
"""

from __future__ import annotations

import io
import math

import numpy as np

from lab.benchmarks.peers.peers import PEERS

STYLES = {
    "mmdbounds": ("#0072B2", "o"),
    "scikit-learn, blocks": ("#E69F00", "s"),
    "scikit-learn, whole matrix": ("#E69F00", "D"),
    "PyTorch, blocks": ("#D55E00", "^"),
    "JAX, strips": ("#009E73", "v"),
    "KeOps": ("#CC79A7", "P"),
    "frouros": ("#56B4E9", "X"),
    "hyppo": ("#000000", "*"),
    "mmdbounds, S-SD": ("#0072B2", "o"),
    "mmdbounds, sharp": ("#0072B2", "s"),
    "mmdbounds, floor": ("#0072B2", "^"),
    "Clarabel": ("#D55E00", "v"),
    "OSQP": ("#009E73", "D"),
}
PANELS = {
    "The squared MMD as filed": ("mmd2",),
    "Bounds (a fifth of X misfiled)": ("bounds", "floor"),
}
APART = 0.05
"""Distance of two names, as a share of the height."""

ROOM = 30
"""Where the axis of rows begins, for the names."""


def drawn(found):
    """Return the picture as a PNG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    settings = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with rc_context(settings):
        figure = Figure(figsize=(10, 4.6), layout="constrained")
        panels = figure.subplots(1, len(PANELS), sharey=True)
        seconds = [record["seconds"] for record in found if record["status"] == "done"]
        limits = 10 ** math.floor(math.log10(min(seconds))), 200
        for panel, (title, tasks) in zip(panels, PANELS.items(), strict=True):
            names = [peer.name for peer in PEERS if peer.task in tasks]
            _draw(panel, {name: _line(found, name) for name in names}, limits)
            panel.set_title(title, loc="left", fontsize=10)
            panel.set_xlabel("rows of both groups")
        panels[0].set_ylabel("seconds")
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return buffer.getvalue()


def _line(found, name):
    done = (record for record in found if record["peer"] == name and record["status"] == "done")
    return sorted((record["n"], record["seconds"]) for record in done)


def _draw(panel, lines, limits):
    lines = {name: points for name, points in lines.items() if points}
    most = max((points[-1][0] for points in lines.values()), default=1000)
    for name, points in lines.items():
        colour, marker = STYLES[name]
        width = 2.2 if name.startswith("mmdbounds") else 1.2
        panel.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=5, linewidth=width)
    panel.set(xscale="log", yscale="log", xlim=(ROOM, most * 1.5), ylim=limits)
    panel.set_xticks([10**k for k in range(3, 7) if 10**k <= most * 1.5])
    panel.minorticks_off()
    panel.axhline(120, color="0.6", linewidth=0.8, linestyle=":")
    panel.annotate("two minutes", (1000, 125), fontsize=7.5, color="0.35", va="bottom")
    # Lines lie apart where they begin; where they end, all of them are close to two minutes.
    starts = {name: _height(points[0][1], limits) for name, points in lines.items()}
    for name, height in spread(starts, APART).items():
        colour, _ = STYLES[name]
        panel.annotate(
            name,
            lines[name][0],
            xytext=(700, limits[0] * (limits[1] / limits[0]) ** height),
            color=colour,
            fontsize=8.5,
            fontweight="bold" if name.startswith("mmdbounds") else "normal",
            ha="right",
            va="center",
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.6,
                "relpos": (1, 0.5),
                "shrinkA": 1,
                "shrinkB": 4,
            },
        )


def _height(seconds, limits):
    return math.log(seconds / limits[0]) / math.log(limits[1] / limits[0])


def spread(heights, apart):
    """Return the heights moved as little as it takes, in their order, until none are closer than `apart`."""
    from scipy.optimize import isotonic_regression

    names = sorted(heights, key=heights.get)
    steps = apart * np.arange(len(names))
    moved = isotonic_regression(np.array([heights[name] for name in names]) - steps).x + steps
    return dict(zip(names, moved.tolist(), strict=True))
