"""The Laplacian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mmdbounds.kernels.base import BandwidthKernel, Floats


@dataclass(frozen=True)
class Laplacian(BandwidthKernel):
    r"""Laplacian kernel, :math:`\exp(-\|a - b\|_1 / \mathrm{bandwidth})`."""

    name = "laplacian"
    spellings = ("laplace", "l1")
    geometry = "l1"
    is_positive_definite = is_nonnegative = True
    upper_bound = sensitivity = 1.0

    def value(self, t: Floats) -> Floats:
        """Return k for L1 distances `t`."""
        return np.asarray(np.exp(t * (-1.0 / self.bandwidth)))

    def tensor(self, t: Any) -> Any:
        """Return k for a tensor of L1 distances."""
        return t.div_(-self.bandwidth).exp_()
