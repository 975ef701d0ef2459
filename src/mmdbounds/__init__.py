"""Bounds on the kernel two-sample statistic (MMD) when some rows are filed under the wrong group.

The names below are loaded on first use, so that importing the package costs no more than
importing NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mmdbounds._version import __version__

if TYPE_CHECKING:
    from mmdbounds.approximation import Approximation, Compared
    from mmdbounds.bounds import mmd2, mmd_bounds
    from mmdbounds.breakdown import sweep
    from mmdbounds.contamination import Contamination, Counts
    from mmdbounds.datasets import (
        Card,
        CleanGroups,
        load_bio,
        load_forest,
        load_logits,
        load_standin,
        write_logits,
    )
    from mmdbounds.errors import MmdBoundsError, MmdBoundsWarning
    from mmdbounds.estimator import MMDBounds, RobustTest
    from mmdbounds.evaluation import Evaluation, MethodCoverage, Trial, TrialBounds, evaluate
    from mmdbounds.inference.aggregate import aggregated_test
    from mmdbounds.inference.aggregated import AggregatedResult, KernelPart
    from mmdbounds.inference.concentration import (
        Concentration,
        deviation_radius,
        gretton_radius,
        proposition_1,
        proposition_3,
        rows_for_radius,
    )
    from mmdbounds.inference.confidence import confidence_interval
    from mmdbounds.inference.curve import SweepPoint, SweepResult
    from mmdbounds.inference.intervals import ConfidenceInterval, CountedBounds
    from mmdbounds.inference.mixture import MixtureCeiling, mixture_ceiling
    from mmdbounds.inference.outcome import CountTest, TestResult
    from mmdbounds.inference.resampling import resampling_interval
    from mmdbounds.inference.robust import robust_test
    from mmdbounds.inference.units import OneRowEach, one_row_each
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
    from mmdbounds.plotting import (
        plot_bounds,
        plot_coverage,
        plot_null,
        plot_pvalues,
        plot_rows,
        plot_witness,
    )
    from mmdbounds.report import write_report
    from mmdbounds.results import Bound, BoundsResult, Provenance
    from mmdbounds.search import Bootstrap, Exhaustive, QuasiNewton, Sharp, StepwiseDominance, Submodular
    from mmdbounds.sums.features import Nystrom, RandomFeatures
    from mmdbounds.tables import Group, groups

__all__ = [
    "RBF",
    "AggregatedResult",
    "Approximation",
    "Bootstrap",
    "Bound",
    "BoundsResult",
    "Card",
    "CleanGroups",
    "Compared",
    "Concentration",
    "ConfidenceInterval",
    "Contamination",
    "Cosine",
    "CountTest",
    "CountedBounds",
    "Counts",
    "Evaluation",
    "Exhaustive",
    "Group",
    "InverseMultiquadric",
    "KernelPart",
    "Laplacian",
    "Linear",
    "MMDBounds",
    "Matern32",
    "Matern52",
    "MethodCoverage",
    "MixtureCeiling",
    "MmdBoundsError",
    "MmdBoundsWarning",
    "Nystrom",
    "OneRowEach",
    "Polynomial",
    "Provenance",
    "QuasiNewton",
    "RandomFeatures",
    "RobustTest",
    "Sharp",
    "Simulated",
    "StepwiseDominance",
    "Submodular",
    "SweepPoint",
    "SweepResult",
    "TestResult",
    "Trial",
    "TrialBounds",
    "__version__",
    "aggregated_test",
    "confidence_interval",
    "deviation_radius",
    "evaluate",
    "gretton_radius",
    "groups",
    "load_bio",
    "load_forest",
    "load_logits",
    "load_standin",
    "mixture_ceiling",
    "mmd2",
    "mmd_bounds",
    "one_row_each",
    "plot_bounds",
    "plot_coverage",
    "plot_null",
    "plot_pvalues",
    "plot_rows",
    "plot_witness",
    "proposition_1",
    "proposition_3",
    "resampling_interval",
    "robust_test",
    "rows_for_radius",
    "simulate",
    "sweep",
    "write_logits",
    "write_report",
]

_HOME = {
    "approximation": ("Approximation", "Compared"),
    "bounds": ("mmd2", "mmd_bounds"),
    "breakdown": ("sweep",),
    "contamination": ("Contamination", "Counts"),
    "datasets": (
        "Card",
        "CleanGroups",
        "load_bio",
        "load_forest",
        "load_logits",
        "load_standin",
        "write_logits",
    ),
    "errors": ("MmdBoundsError", "MmdBoundsWarning"),
    "estimator": ("MMDBounds", "RobustTest"),
    "evaluation": ("Evaluation", "MethodCoverage", "Trial", "TrialBounds", "evaluate"),
    "inference.aggregate": ("aggregated_test",),
    "inference.aggregated": ("AggregatedResult", "KernelPart"),
    "inference.concentration": (
        "Concentration",
        "deviation_radius",
        "gretton_radius",
        "proposition_1",
        "proposition_3",
        "rows_for_radius",
    ),
    "inference.confidence": ("confidence_interval",),
    "inference.curve": ("SweepPoint", "SweepResult"),
    "inference.intervals": ("ConfidenceInterval", "CountedBounds"),
    "inference.mixture": ("MixtureCeiling", "mixture_ceiling"),
    "inference.outcome": ("CountTest", "TestResult"),
    "inference.resampling": ("resampling_interval",),
    "inference.robust": ("robust_test",),
    "inference.units": ("OneRowEach", "one_row_each"),
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
    "plotting": (
        "plot_bounds",
        "plot_coverage",
        "plot_null",
        "plot_pvalues",
        "plot_rows",
        "plot_witness",
    ),
    "report": ("write_report",),
    "results": ("Bound", "BoundsResult", "Provenance"),
    "search": ("Bootstrap", "Exhaustive", "QuasiNewton", "Sharp", "StepwiseDominance", "Submodular"),
    "sums.features": ("Nystrom", "RandomFeatures"),
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
