"""Every sentence, written once: for `summary()`, the command line and the report.

Plain words first, numbers second, settings last. A value that a labelling reaches and a value that is proved
are never called by the same word.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mmdbounds.results import Result

SUMMARIES = {
    "AuditPlan": "auditing.plan_summary",
    "AuditResult": "auditing.audit_summary",
    "BoundsResult": "bounds.bounds_summary",
    "ColumnTable": "columns.columns_summary",
    "ConfidenceInterval": "estimates.interval_summary",
    "Evaluation": "estimates.evaluation_summary",
    "FrontierResult": "frontier.frontier_summary",
    "HsicResult": "several.hsic_summary",
    "IndependenceResult": "several.independence_summary",
    "OddsSweepResult": "odds.odds_sweep_summary",
    "PairwiseTable": "several.pairwise_summary",
    "SweepResult": "testing.sweep_summary",
    "RobustTestResult": "testing.robust_summary",
}
"""The file and the function for each kind of result; only that file is loaded."""


def in_notebook(result: Result) -> str:
    """Return a result as HTML, for a notebook."""
    from mmdbounds.words.notebook import as_html

    return as_html(result)


def summary(result: Result) -> str:
    """Return a result in plain words: statement first, numbers second, settings last."""
    file, function = SUMMARIES[type(result).__name__].split(".")
    return str(getattr(importlib.import_module(f"mmdbounds.words.{file}"), function)(result))
