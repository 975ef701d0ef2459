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
    from mmdbounds.results.bounds import Bound, BoundsResult
    from mmdbounds.results.columns import ColumnRow, ColumnTable
    from mmdbounds.results.curve import (
        FrontierPoint,
        FrontierResult,
        OddsBreakdown,
        OddsPoint,
        OddsSweepResult,
        SweepPoint,
        SweepResult,
    )
    from mmdbounds.results.evaluation import Evaluation, MethodCoverage, Trial, TrialBounds
    from mmdbounds.results.intervals import ConfidenceInterval, CountedBounds
    from mmdbounds.results.provenance import Estimator, Knowledge, Provenance, Side
    from mmdbounds.results.several import (
        HsicResult,
        IndependenceResult,
        LabelBound,
        PairRow,
        PairwiseTable,
    )
    from mmdbounds.results.testing import CountTest, KernelPart, RobustTestResult

__all__ = [
    "AuditPlan",
    "AuditResult",
    "Bound",
    "BoundsResult",
    "ColumnRow",
    "ColumnTable",
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
    "audit": ("AuditPlan", "AuditResult", "PlanPoint"),
    "base": ("ReportedResult", "Result"),
    "bounds": ("Bound", "BoundsResult"),
    "columns": ("ColumnRow", "ColumnTable"),
    "curve": (
        "FrontierPoint",
        "FrontierResult",
        "OddsBreakdown",
        "OddsPoint",
        "OddsSweepResult",
        "SweepPoint",
        "SweepResult",
    ),
    "evaluation": ("Evaluation", "MethodCoverage", "Trial", "TrialBounds"),
    "intervals": ("ConfidenceInterval", "CountedBounds"),
    "provenance": ("Estimator", "Knowledge", "Provenance", "Side"),
    "several": ("HsicResult", "IndependenceResult", "LabelBound", "PairRow", "PairwiseTable"),
    "testing": ("CountTest", "KernelPart", "RobustTestResult"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        msg = f"module 'mmdbounds.results' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(f"mmdbounds.results.{_MODULE[name]}"), name)
    globals()[name] = value
    return value
