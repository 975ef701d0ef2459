"""From the MIMIC-CXR images to the logits that the experiments compare, for people with credentialed access.

Frontal chest X-rays with a pneumonia label and the patient's race, split 60/20/20 by patient; a DenseNet-121
with ImageNet weights is fine-tuned on the first part, its best epoch chosen on the second, and the logits
of the third are written to a file. Nothing is downloaded: data and weights are files of the user's.

PyTorch, MONAI and Pillow come with the extra ``mimic`` and are imported only where they are used.
"""

from __future__ import annotations

from mmdbounds.experiments.mimic.pipeline import run
from mmdbounds.experiments.mimic.plan import Plan, make_plan
from mmdbounds.experiments.mimic.rules import CohortRules
from mmdbounds.experiments.mimic.train import TrainingRules

__all__ = ["CohortRules", "Plan", "TrainingRules", "make_plan", "run"]
