"""From the MIMIC-CXR images to the logits that the paper compares, for people with credentialed access.

Frontal chest X-rays with a pneumonia label and the patient's race are split 60/20/20 by patient. A
DenseNet-121 with ImageNet weights is fine-tuned on the first part, its best epoch is chosen on the second,
and the logits of the third are written to a file. Nothing is downloaded: you provide data and weights.

This program is not installed with the package: run ``python -m lab.paper.mimic --help`` in a clone. PyTorch,
MONAI and Pillow (the dependency group ``mimic``) are imported only where they are used.
"""

from __future__ import annotations

from lab.paper.mimic.cohort import CohortRules
from lab.paper.mimic.pipeline import run
from lab.paper.mimic.plan import Plan, make_plan
from lab.paper.mimic.train import TrainingRules

__all__ = ["CohortRules", "Plan", "TrainingRules", "make_plan", "run"]
