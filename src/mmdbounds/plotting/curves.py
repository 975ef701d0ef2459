"""What is drawn against the share of misfiled rows: the axis, the breakdown, and what is not proved."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.plotting.canvas import BREAKDOWN, in_percent, lines_of, name_text
from mmdbounds.results.curve import SweepResult
from mmdbounds.words.phrases import percent, rows

UNPROVED = "found by a labelling, not proved"


def shares(result: SweepResult) -> NDArray[np.float64]:
    """Return the shares of the points, epsilon."""
    return np.array([point.epsilon for point in result.points])


def share_axis(ax: Any, result: SweepResult) -> None:
    """Label the axis of shares."""
    x, y = name_text(result.name_x), name_text(result.name_y)
    ax.set_xlabel(lines_of(f"share of the true {x} rows filed under {y} (epsilon)"))
    in_percent(ax.xaxis)


def mark_breakdown(ax: Any, result: SweepResult) -> None:
    """Mark the first share with which the finding could be an artefact, or say that there is none."""
    first, share = result.breakdown_n_moved, result.breakdown_epsilon
    if first is None or share is None:
        tried = percent(result.share(result.most_moved))
        ax.plot([], [], " ", label=f"no breakdown up to {tried}")
        return
    word = "breakdown" if result.is_confirmed else "breakdown (of those tested)"
    said = "significant not even as filed" if first == 0 else f"{percent(share)}, {rows(first)}"
    ax.axvline(share, **BREAKDOWN, label=f"{word}: {said}")


def mark_unproved(ax: Any, places: NDArray[Any], values: NDArray[Any], style: dict[str, Any]) -> None:
    """Draw hollow markers over values that a labelling reaches and nothing proves."""
    if len(places):
        known = ax.get_legend_handles_labels()[1]
        ax.plot(
            places,
            values,
            **{**style, "linestyle": "", "markerfacecolor": "white"},
            label="_again" if UNPROVED in known else UNPROVED,
        )
