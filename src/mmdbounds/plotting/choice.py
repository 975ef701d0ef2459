"""Which picture goes with which result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mmdbounds.plotting.bounds import plot_bounds
from mmdbounds.plotting.canvas import check_result
from mmdbounds.plotting.coverage import plot_coverage
from mmdbounds.plotting.null import plot_null
from mmdbounds.results import BoundsResult, ConfidenceInterval, Result
from mmdbounds.results.curve import SweepResult
from mmdbounds.results.evaluation import Evaluation
from mmdbounds.results.testing import AggregatedResult, RobustTestResult

PICTURES: dict[type[Result], Callable[..., Any]] = {
    BoundsResult: plot_bounds,
    SweepResult: plot_bounds,
    ConfidenceInterval: plot_bounds,
    RobustTestResult: plot_null,
    AggregatedResult: plot_null,
    Evaluation: plot_coverage,
}


def plot_result(result: Result, ax: Any = None, **options: Any) -> Any:
    """Draw the picture that goes with the kind of result, and return the axes."""
    check_result(result, tuple(PICTURES), "plot")
    draw = next(draw for kind, draw in PICTURES.items() if isinstance(result, kind))
    return draw(result, ax, **options)
