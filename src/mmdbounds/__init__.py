"""Bounds on the kernel two-sample statistic (MMD) when some rows are filed under the wrong group.

The names below are loaded on first use, so that importing the package costs no more than
importing NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mmdbounds._version import __version__

if TYPE_CHECKING:
    from mmdbounds.bounds import mmd2, mmd_bounds
    from mmdbounds.breakdown import sweep
    from mmdbounds.contamination import Contamination, Counts
    from mmdbounds.errors import MmdBoundsError, MmdBoundsWarning
    from mmdbounds.inference.curve import SweepPoint, SweepResult
    from mmdbounds.inference.outcome import CountTest, TestResult
    from mmdbounds.inference.robust import robust_test
    from mmdbounds.kernels import (
        RBF,
        Cosine,
        InverseMultiquadric,
        Laplacian,
        Linear,
        Matern32,
        Matern52,
        Polynomial,
    )
    from mmdbounds.mechanisms import Simulated, simulate
    from mmdbounds.results import Bound, BoundsResult, Provenance
    from mmdbounds.search import Exhaustive, Sharp, StepwiseDominance
    from mmdbounds.tables import Group, groups

__all__ = [
    "RBF",
    "Bound",
    "BoundsResult",
    "Contamination",
    "Cosine",
    "CountTest",
    "Counts",
    "Exhaustive",
    "Group",
    "InverseMultiquadric",
    "Laplacian",
    "Linear",
    "Matern32",
    "Matern52",
    "MmdBoundsError",
    "MmdBoundsWarning",
    "Polynomial",
    "Provenance",
    "Sharp",
    "Simulated",
    "StepwiseDominance",
    "SweepPoint",
    "SweepResult",
    "TestResult",
    "__version__",
    "groups",
    "mmd2",
    "mmd_bounds",
    "robust_test",
    "simulate",
    "sweep",
]

_HOME = {
    "bounds": ("mmd2", "mmd_bounds"),
    "breakdown": ("sweep",),
    "contamination": ("Contamination", "Counts"),
    "errors": ("MmdBoundsError", "MmdBoundsWarning"),
    "inference.curve": ("SweepPoint", "SweepResult"),
    "inference.outcome": ("CountTest", "TestResult"),
    "inference.robust": ("robust_test",),
    "kernels": (
        "RBF",
        "Cosine",
        "InverseMultiquadric",
        "Laplacian",
        "Linear",
        "Matern32",
        "Matern52",
        "Polynomial",
    ),
    "mechanisms": ("Simulated", "simulate"),
    "results": ("Bound", "BoundsResult", "Provenance"),
    "search": ("Exhaustive", "Sharp", "StepwiseDominance"),
    "tables": ("Group", "groups"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        msg = f"module 'mmdbounds' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(f"mmdbounds.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(__all__) | set(globals()))
