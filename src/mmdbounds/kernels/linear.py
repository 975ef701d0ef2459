"""Kernels that are an inner product: linear and cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mmdbounds.kernels.base import CompiledForms, Floats, PairKernel


@dataclass(frozen=True)
class Linear(PairKernel):
    r"""Linear kernel, :math:`a \cdot b`: the MMD is the distance of the two means.

    Rows are centred at the pooled mean first, which changes no MMD. It can change which rows S-SD
    moves, because the gradient before the last step depends on the origin.
    """

    name = "linear"
    spellings = ("dot", "dot_product")
    geometry = "inner"
    shift_invariant = True
    is_positive_definite = True
    sensitivity = 1.0
    forms = CompiledForms()

    def value(self, t: Floats) -> Floats:
        """Return k for inner products `t`."""
        return t

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the inner product."""
        return np.ones_like(t)

    def tensor(self, t: Any) -> Any:
        """Return k for a tensor of inner products."""
        return t


@dataclass(frozen=True)
class Cosine(PairKernel):
    r"""Cosine kernel, :math:`a \cdot b / (\|a\| \|b\|)`; a row of zeros has similarity 0 to all others."""

    name = "cosine"
    spellings = ("cosine_similarity",)
    geometry = "cosine"
    is_positive_definite = True
    upper_bound = sensitivity = 1.0
    forms = CompiledForms()

    def value(self, t: Floats) -> Floats:
        """Return k for inner products `t` of rows of length 1."""
        return t

    def tensor(self, t: Any) -> Any:
        """Return k for a tensor of inner products."""
        return t
