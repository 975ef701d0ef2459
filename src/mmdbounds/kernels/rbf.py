"""The Gaussian kernel."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mmdbounds.kernels.base import LOG2_E, BandwidthKernel, CompiledForms, Floats, exp2

if TYPE_CHECKING:
    import triton.language as tl


def _row(row, offset, degree):
    for j in range(len(row)):
        row[j] = exp2(row[j])


def _far_row(row, offset, degree):
    zero = row.dtype.type(0)
    for j in range(len(row)):
        row[j] = exp2(min(row[j], zero))


def _sums(row, partial):
    total = row.dtype.type(0)
    for j in range(len(row)):
        value = exp2(row[j])
        total += value
        partial[j] += value
    return total


def _triton(t, offset, degree):
    return tl.exp2(tl.minimum(t, 0.0))


def _array(x):
    return np.exp2(x, out=x)


@dataclass(frozen=True)
class RBF(BandwidthKernel):
    r"""Gaussian kernel, :math:`\exp(-\|a - b\|^2 / (2\,\mathrm{bandwidth}^2))`."""

    name = "rbf"
    spellings = ("gaussian", "gauss", "squared_exponential", "radial_basis_function")
    geometry = "distance2"
    is_positive_definite = is_nonnegative = True
    upper_bound = sensitivity = 1.0
    squared_scale = LOG2_E  # exp2(x) is the kernel
    forms = CompiledForms(_row, _far_row, _sums, _triton, _array)

    def value(self, t: Floats) -> Floats:
        """Return k for squared distances `t`."""
        return np.asarray(np.exp(t * (-0.5 / self.bandwidth**2)))

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the squared distance."""
        rate = -0.5 / self.bandwidth**2
        return np.asarray(rate * np.exp(t * rate))

    def tensor(self, t: Any) -> Any:
        """Return k for a tensor of scaled numbers."""
        return t.exp2_()
