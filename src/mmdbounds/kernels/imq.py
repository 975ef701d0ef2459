"""The inverse multiquadric kernel."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mmdbounds.kernels.base import BandwidthKernel, CompiledForms, Floats

if TYPE_CHECKING:
    import triton.language as tl


def _row(row, offset, degree):
    zero, one, minus_two = row.dtype.type(0), row.dtype.type(1), row.dtype.type(-2)
    for j in range(len(row)):
        row[j] = one / np.sqrt(one + max(minus_two * row[j], zero))


def _triton(t, offset, degree):
    return tl.rsqrt(1.0 + tl.maximum(-2.0 * t, 0.0))


@dataclass(frozen=True)
class InverseMultiquadric(BandwidthKernel):
    r"""Inverse multiquadric kernel, :math:`(1 + \|a - b\|^2 / \mathrm{bandwidth}^2)^{-1/2}`."""

    name = "imq"
    spellings = ("inverse_multiquadric", "inverse_multiquadratic")
    geometry = "distance2"
    is_positive_definite = is_nonnegative = True
    upper_bound = sensitivity = 1.0
    squared_scale = 1.0
    forms = CompiledForms(_row, triton=_triton)

    def value(self, t: Floats) -> Floats:
        """Return k for squared distances `t`."""
        return np.asarray(1.0 / np.sqrt(1.0 + t * self.bandwidth**-2))

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the squared distance."""
        rate = self.bandwidth**-2
        return np.asarray(-0.5 * rate * (1.0 + t * rate) ** -1.5)

    def tensor(self, t: Any) -> Any:
        """Return k for a tensor of scaled numbers."""
        return t.mul_(-2.0).add_(1.0).rsqrt_()
