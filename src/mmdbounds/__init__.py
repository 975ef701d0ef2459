"""Bounds on the kernel two-sample statistic (MMD) when some rows are filed under the wrong group.

The names below are loaded on first use, so that importing the package costs no more than importing NumPy.
Beside them stand the modules `results` (what the functions return), `baselines`, `kernels`, `plotting`,
and `errors` (and warnings).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mmdbounds._version import __version__ as __version__

if TYPE_CHECKING:
    from mmdbounds import baselines, errors, kernels, plotting, results
    from mmdbounds import words as words
    from mmdbounds.bounds import mmd2, mmd_bounds
    from mmdbounds.columns import column_table
    from mmdbounds.contamination import Contamination
    from mmdbounds.errors import MmdBoundsError
    from mmdbounds.estimator import MMDBounds, RobustTest
    from mmdbounds.evaluation import evaluate
    from mmdbounds.inference.audit_plan import plan_audit
    from mmdbounds.inference.auditing import audit
    from mmdbounds.inference.breakdown import sweep
    from mmdbounds.inference.confidence import confidence_interval
    from mmdbounds.inference.odds import odds_sweep
    from mmdbounds.inference.robust import robust_test
    from mmdbounds.inference.units import one_row_each
    from mmdbounds.mechanisms import simulate
    from mmdbounds.report import write_report
    from mmdbounds.search import Exhaustive, Sharp, StepwiseDominance
    from mmdbounds.several.independence import independence_test
    from mmdbounds.several.measure import hsic, hsic_bounds
    from mmdbounds.several.pairwise import pairwise_bounds
    from mmdbounds.tables import Group, groups

__all__ = [
    "Contamination",
    "Exhaustive",
    "Group",
    "MMDBounds",
    "MmdBoundsError",
    "RobustTest",
    "Sharp",
    "StepwiseDominance",
    "audit",
    "baselines",
    "column_table",
    "confidence_interval",
    "errors",
    "evaluate",
    "groups",
    "hsic",
    "hsic_bounds",
    "independence_test",
    "kernels",
    "mmd2",
    "mmd_bounds",
    "odds_sweep",
    "one_row_each",
    "pairwise_bounds",
    "plan_audit",
    "plotting",
    "results",
    "robust_test",
    "simulate",
    "sweep",
    "write_report",
]

_HOME = {
    "bounds": ("mmd2", "mmd_bounds"),
    "columns": ("column_table",),
    "contamination": ("Contamination",),
    "errors": ("MmdBoundsError",),
    "estimator": ("MMDBounds", "RobustTest"),
    "evaluation": ("evaluate",),
    "inference.audit_plan": ("plan_audit",),
    "inference.auditing": ("audit",),
    "inference.breakdown": ("sweep",),
    "inference.confidence": ("confidence_interval",),
    "inference.odds": ("odds_sweep",),
    "inference.robust": ("robust_test",),
    "inference.units": ("one_row_each",),
    "mechanisms": ("simulate",),
    "report": ("write_report",),
    "search": ("Exhaustive", "Sharp", "StepwiseDominance"),
    "several.independence": ("independence_test",),
    "several.measure": ("hsic", "hsic_bounds"),
    "several.pairwise": ("pairwise_bounds",),
    "tables": ("Group", "groups"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}
_ROOMS = ("baselines", "errors", "kernels", "plotting", "results", "words")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"mmdbounds.{name}")
    if name not in _MODULE:
        msg = f"module 'mmdbounds' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(f"mmdbounds.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(__all__) | set(globals()))
