"""Data that come with the package."""

from __future__ import annotations

from mmdbounds.datasets.breast_cancer import FiledTumours, overlooked_tumours

__all__ = ["FiledTumours", "overlooked_tumours"]
