"""How often the truth lies outside a method's interval, and how wide that is, where the truth is known."""

from __future__ import annotations

from mmdbounds.evaluation.run import evaluate
from mmdbounds.results.evaluation import Evaluation, MethodCoverage, Trial, TrialBounds

__all__ = ["Evaluation", "MethodCoverage", "Trial", "TrialBounds", "evaluate"]
