"""Every sentence, written once: for `summary()`, the command line and the report.

Plain words first, numbers second, settings last. A value that a labelling reaches and a value that is proved
are never called by the same word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mmdbounds.results import (
    AggregatedResult,
    BoundsResult,
    ConfidenceInterval,
    Evaluation,
    MixtureCeiling,
    Result,
    RobustTestResult,
    SweepResult,
)
from mmdbounds.words.bounds import bounds_summary
from mmdbounds.words.estimates import ceiling_summary, evaluation_summary, interval_summary
from mmdbounds.words.testing import aggregated_summary, robust_summary, sweep_summary

SUMMARIES: dict[type[Result], Callable[[Any], str]] = {
    AggregatedResult: aggregated_summary,
    BoundsResult: bounds_summary,
    ConfidenceInterval: interval_summary,
    Evaluation: evaluation_summary,
    MixtureCeiling: ceiling_summary,
    SweepResult: sweep_summary,
    RobustTestResult: robust_summary,
}


def summary(result: Result) -> str:
    """Return a result in plain words: statement first, numbers second, settings last."""
    return SUMMARIES[type(result)](result)
