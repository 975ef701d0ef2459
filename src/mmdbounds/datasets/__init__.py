"""Data that come with the package, and loaders for data that do not.

Importing this package loads NumPy alone, and nothing is ever downloaded unless that is asked for.
"""

from __future__ import annotations

from mmdbounds.datasets.breast_cancer import FiledTumours, overlooked_tumours
from mmdbounds.datasets.cards import CARDS, Card
from mmdbounds.datasets.clean import CleanGroups
from mmdbounds.datasets.logits import load_logits, write_logits
from mmdbounds.datasets.paper import load_bio, load_forest
from mmdbounds.datasets.standins import load_standin

__all__ = [
    "CARDS",
    "Card",
    "CleanGroups",
    "FiledTumours",
    "load_bio",
    "load_forest",
    "load_logits",
    "load_standin",
    "overlooked_tumours",
    "write_logits",
]
