"""Data that come with the package, and loaders for data that do not; downloads happen only on request."""

from lab.datasets.cards import CARDS, Card
from lab.datasets.clean_groups import CleanGroups
from lab.datasets.loaders import FiledTumours, load_bio, load_forest, load_standin, overlooked_tumours
from lab.datasets.logits import load_logits, write_logits

__all__ = ["CARDS", "Card", "CleanGroups", "FiledTumours"]
__all__ += ["load_bio", "load_forest", "load_logits", "load_standin", "overlooked_tumours", "write_logits"]
