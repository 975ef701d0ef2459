"""What the functions return: frozen, read-only, self-describing; no numerics here.

Every result knows how it was made (`Provenance`), prints in one line, turns into plain data (`to_dict`,
`to_json`) and back (`from_dict`), and computes nothing when printed. Each is loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmdbounds.results.audit import AuditPlan, AuditResult, PlanPoint
    from mmdbounds.results.base import ReportedResult, Result
    from mmdbounds.results.bounds import Approximation, Bound, BoundsResult, Compared
    from mmdbounds.results.columns import Benchmark, ColumnEffect, ColumnEffects, ColumnRow, ColumnTable
    from mmdbounds.results.curve import SweepPoint, SweepResult
    from mmdbounds.results.evaluation import Evaluation, MethodCoverage, Trial, TrialBounds
    from mmdbounds.results.frontier import FrontierPoint, FrontierResult
    from mmdbounds.results.intervals import ConfidenceInterval, CountedBounds, MixtureCeiling
    from mmdbounds.results.knowledge import Knowledge
    from mmdbounds.results.odds import OddsBreakdown, OddsPoint, OddsSweepResult
    from mmdbounds.results.provenance import Estimator, NullRule, Provenance, Side
    from mmdbounds.results.several import (
        HsicResult,
        IndependenceResult,
        LabelBound,
        PairRow,
        PairwiseTable,
    )
    from mmdbounds.results.testing import AggregatedResult, CountTest, KernelPart, RobustTestResult

__all__ = [
    "AggregatedResult",
    "Approximation",
    "AuditPlan",
    "AuditResult",
    "Benchmark",
    "Bound",
    "BoundsResult",
    "ColumnEffect",
    "ColumnEffects",
    "ColumnRow",
    "ColumnTable",
    "Compared",
    "ConfidenceInterval",
    "CountTest",
    "CountedBounds",
    "Estimator",
    "Evaluation",
    "FrontierPoint",
    "FrontierResult",
    "HsicResult",
    "IndependenceResult",
    "KernelPart",
    "Knowledge",
    "LabelBound",
    "MethodCoverage",
    "MixtureCeiling",
    "NullRule",
    "OddsBreakdown",
    "OddsPoint",
    "OddsSweepResult",
    "PairRow",
    "PairwiseTable",
    "PlanPoint",
    "Provenance",
    "ReportedResult",
    "Result",
    "RobustTestResult",
    "Side",
    "SweepPoint",
    "SweepResult",
    "Trial",
    "TrialBounds",
]

_HOME = {
    "AuditPlan": "audit",
    "AuditResult": "audit",
    "PlanPoint": "audit",
    "ReportedResult": "base",
    "Result": "base",
    "Approximation": "bounds",
    "Bound": "bounds",
    "BoundsResult": "bounds",
    "Compared": "bounds",
    "Benchmark": "columns",
    "ColumnEffect": "columns",
    "ColumnEffects": "columns",
    "ColumnRow": "columns",
    "ColumnTable": "columns",
    "SweepPoint": "curve",
    "SweepResult": "curve",
    "Evaluation": "evaluation",
    "MethodCoverage": "evaluation",
    "Trial": "evaluation",
    "TrialBounds": "evaluation",
    "FrontierPoint": "frontier",
    "FrontierResult": "frontier",
    "ConfidenceInterval": "intervals",
    "CountedBounds": "intervals",
    "MixtureCeiling": "intervals",
    "Knowledge": "knowledge",
    "OddsBreakdown": "odds",
    "OddsPoint": "odds",
    "OddsSweepResult": "odds",
    "Estimator": "provenance",
    "NullRule": "provenance",
    "Provenance": "provenance",
    "Side": "provenance",
    "HsicResult": "several",
    "IndependenceResult": "several",
    "LabelBound": "several",
    "PairRow": "several",
    "PairwiseTable": "several",
    "AggregatedResult": "testing",
    "CountTest": "testing",
    "KernelPart": "testing",
    "RobustTestResult": "testing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        msg = f"module 'mmdbounds.results' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(f"mmdbounds.results.{_HOME[name]}"), name)
    globals()[name] = value
    return value
