"""What the functions return: frozen, read-only, self-describing; no numerics here.

Every result knows how it was made (`Provenance`), prints in one line, turns into plain data (`to_dict`,
`to_json`) and back (`from_dict`), and computes nothing when printed.
"""

from mmdbounds.results.base import ReportedResult, Result
from mmdbounds.results.bounds import Approximation, Bound, BoundsResult, Compared
from mmdbounds.results.curve import SweepPoint, SweepResult
from mmdbounds.results.evaluation import Evaluation, MethodCoverage, Trial, TrialBounds
from mmdbounds.results.intervals import ConfidenceInterval, CountedBounds, MixtureCeiling
from mmdbounds.results.provenance import Estimator, Provenance, Side
from mmdbounds.results.testing import AggregatedResult, CountTest, KernelPart, RobustTestResult

__all__ = [
    "AggregatedResult",
    "Approximation",
    "Bound",
    "BoundsResult",
    "Compared",
    "ConfidenceInterval",
    "CountTest",
    "CountedBounds",
    "Estimator",
    "Evaluation",
    "KernelPart",
    "MethodCoverage",
    "MixtureCeiling",
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
