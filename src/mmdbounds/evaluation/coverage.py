"""False coverage rate and mean width of a method over trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mmdbounds.results.evaluation import MethodCoverage, Trial
from mmdbounds.results.serialize import plain
from mmdbounds.search import Method


def coverage_of(label: str, method: Method, trials: Sequence[Trial]) -> MethodCoverage:
    """Return the rates of one method over the trials."""
    said = [trial.bounds[label] for trial in trials]
    missed = [not trial.covers(label) for trial in trials]
    widths = [each.width for each in said]
    n_certified = sum(each.is_certified for each in said)
    attained: dict[str, Any] = {}
    if n_certified:
        found = [not trial.attained_covers(label) for trial in trials]
        attained = {
            f"attained_{name}": value
            for name, value in _averages(found, [abs(each.upper - each.lower) for each in said]).items()
        }
    return MethodCoverage(
        label=label,
        method=method.name,
        options=plain(method.options()),
        n_missed=sum(missed),
        **_averages(missed, widths),
        n_crossed=sum(trial.is_crossed(label) for trial in trials),
        n_certified=n_certified,
        **attained,
        mean_seconds=float(np.mean([each.seconds for each in said])),
    )


def _averages(missed: Sequence[bool], widths: Sequence[float]) -> dict[str, Any]:
    n_trials, rate = len(missed), sum(missed) / len(missed)
    return {
        "false_coverage_rate": rate,
        "false_coverage_rate_error": math.sqrt(rate * (1 - rate) / n_trials),
        "mean_interval_width": float(np.mean(widths)),
        "mean_interval_width_error": (
            float(np.std(widths, ddof=1)) / math.sqrt(n_trials) if n_trials > 1 else None
        ),
    }
