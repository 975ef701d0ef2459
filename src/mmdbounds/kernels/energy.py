"""The kernel whose squared MMD is the energy distance."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mmdbounds.checks import is_number
from mmdbounds.errors import MmdBoundsError, shown_value
from mmdbounds.kernels.base import CompiledForms, Floats, PairKernel


def _row(row, offset, degree):
    # Roots are far faster than powers.
    if offset == 1.0:
        for j in range(len(row)):
            row[j] = -np.sqrt(row[j])
    elif offset == 0.5:
        for j in range(len(row)):
            row[j] = -np.sqrt(np.sqrt(row[j]))
    elif offset == 1.5:
        for j in range(len(row)):
            s = np.sqrt(row[j])
            row[j] = -s * np.sqrt(s)
    else:
        for j in range(len(row)):
            row[j] = -(row[j] ** (0.5 * offset))


@dataclass(frozen=True)
class Energy(PairKernel):
    r"""Energy kernel, :math:`-\|a - b\|^{\mathrm{exponent}}`.

    The squared MMD is then the energy distance, twice the mean distance between the groups less the mean
    distances within them. The kernel is positive semidefinite on weights that add up to 0.
    """

    exponent: float = 1.0
    name = "energy"
    spellings = ("energy_distance",)
    geometry = "distance2"
    shift_invariant = True
    is_positive_definite = False
    forms = CompiledForms(_row)

    def __post_init__(self) -> None:
        if not (is_number(self.exponent) and 0 < self.exponent < 2):
            came = shown_value(self.exponent)
            msg = f"`exponent` must be a number between 0 and 2, both excluded; got {came}."
            raise MmdBoundsError(msg)
        object.__setattr__(self, "exponent", float(self.exponent))

    @property
    def sensitivity(self) -> float:
        """Half the exponent: the value is a power of the squared distance."""
        return self.exponent / 2

    @property
    def reach(self) -> float:
        """2, or 2 to the power of an exponent above 1: a triangle inequality, averaged over its third row."""
        return float(2.0 ** max(1.0, self.exponent))

    def jump(self, share: float) -> float:
        """Return the share to the power of the exponent or, if that is above 1, both multiplied."""
        return float(max(self.exponent, 1.0) * share ** min(self.exponent, 1.0))

    @property
    def constants(self) -> tuple[float, int]:
        """The exponent."""
        return self.exponent, 1

    def value(self, t: Floats) -> Floats:
        """Return k for squared distances `t`."""
        return np.asarray(-np.sqrt(t) if self.exponent == 1.0 else -(t ** (0.5 * self.exponent)))

    def tensor(self, t: Any) -> Any:
        """Return k for a tensor of squared distances."""
        return t.pow_(0.5 * self.exponent).neg_()
