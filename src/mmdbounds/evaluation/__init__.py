"""How often the truth lies outside a method's interval, and how wide that is, where the truth is known."""

from __future__ import annotations

from mmdbounds.evaluation.outcome import Evaluation, MethodCoverage
from mmdbounds.evaluation.records import Trial, TrialBounds
from mmdbounds.evaluation.run import evaluate

__all__ = ["Evaluation", "MethodCoverage", "Trial", "TrialBounds", "evaluate"]
