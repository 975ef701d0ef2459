"""The Matern kernel with smoothness 5/2."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mmdbounds.kernels.base import LOG2_E, NOTHING_BEYOND, BandwidthKernel, CompiledForms, Floats, exp2

if TYPE_CHECKING:
    import triton.language as tl


# In the compiled forms s = sqrt(-2 x), with rows scaled to s = sqrt(5) r.


def _row(row, offset, degree):
    # Constants of the row's own type: a plain number would make everything float64.
    zero, one, minus_two = row.dtype.type(0), row.dtype.type(1), row.dtype.type(-2)
    third, minus_log2_e = row.dtype.type(1 / 3), row.dtype.type(-LOG2_E)
    for j in range(len(row)):
        s2 = max(minus_two * row[j], zero)
        s = np.sqrt(s2)
        row[j] = (one + s + s2 * third) * exp2(minus_log2_e * s)


def _triton(t, offset, degree):
    s2 = tl.maximum(-2.0 * t, 0.0)
    s = tl.sqrt(s2)
    return (1.0 + s + s2 / 3.0) * tl.exp2(-1.4426950408889634 * s)


@dataclass(frozen=True)
class Matern52(BandwidthKernel):
    r"""Matern kernel with smoothness 5/2, :math:`(1 + s + s^2/3)\,e^{-s}`.

    Here :math:`s = \sqrt5\,\|a - b\| / \mathrm{bandwidth}`.
    """

    name = "matern52"
    spellings = ("matern_5/2", "matern_2.5")
    geometry = "distance2"
    is_positive_definite = is_nonnegative = True
    upper_bound = sensitivity = 1.0
    squared_scale = 5.0
    forms = CompiledForms(_row, triton=_triton)

    def value(self, t: Floats) -> Floats:
        """Return k for squared distances `t`."""
        s = np.minimum(np.sqrt(t * (5.0 * self.bandwidth**-2)), NOTHING_BEYOND)
        return np.asarray((1.0 + s + s * s / 3.0) * np.exp(-s))

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the squared distance."""
        rate = 5.0 * self.bandwidth**-2
        s = np.minimum(np.sqrt(t * rate), NOTHING_BEYOND)
        return np.asarray((-rate / 6.0) * (1.0 + s) * np.exp(-s))

    def tensor(self, t: Any) -> Any:
        """Return k for a tensor of scaled numbers."""
        squared = t.mul_(-2.0).clamp_(max=NOTHING_BEYOND**2)
        s = squared.sqrt()
        return (1.0 + s).add_(squared, alpha=1 / 3).mul_(s.neg_().exp_())
