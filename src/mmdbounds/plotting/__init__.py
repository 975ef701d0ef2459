"""Pictures of results: each function takes a result and axes, draws, and returns the axes.

Nothing is computed here that the result does not hold. Pictures
can be read in grey: lines differ in style, groups in markers, and colours in lightness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mmdbounds import results
from mmdbounds.plotting.audits import plot_plan
from mmdbounds.plotting.canvas import check_result
from mmdbounds.plotting.columns import plot_columns
from mmdbounds.plotting.frontier import plot_frontier
from mmdbounds.plotting.odds import plot_odds
from mmdbounds.plotting.overviews import plot_bounds, plot_coverage, plot_null, plot_pvalues
from mmdbounds.plotting.rows import plot_rows

__all__ = [
    "plot_bounds",
    "plot_columns",
    "plot_coverage",
    "plot_frontier",
    "plot_null",
    "plot_odds",
    "plot_plan",
    "plot_pvalues",
    "plot_result",
    "plot_rows",
]

PICTURES: dict[type[results.Result], Callable[..., Any]] = {
    results.BoundsResult: plot_bounds,
    results.ColumnTable: plot_columns,
    results.SweepResult: plot_bounds,
    results.ConfidenceInterval: plot_bounds,
    results.FrontierResult: plot_frontier,
    results.RobustTestResult: plot_null,
    results.OddsSweepResult: plot_odds,
    results.Evaluation: plot_coverage,
    results.AuditPlan: plot_plan,
}


def plot_result(result: results.Result, ax: Any = None, **options: Any) -> Any:
    """Draw the picture that goes with the kind of result, and return the axes."""
    check_result(result, tuple(PICTURES), "plot")
    draw = next(draw for kind, draw in PICTURES.items() if isinstance(result, kind))
    return draw(result, ax, **options)
