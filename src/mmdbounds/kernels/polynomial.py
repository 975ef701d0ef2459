"""Kernels of the inner product: polynomial, and linear, of degree 1."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mmdbounds.checks import is_number
from mmdbounds.errors import MmdBoundsError, shown_value
from mmdbounds.kernels.base import CompiledForms, Floats, PairKernel

if TYPE_CHECKING:
    import triton.language as tl


def _row(row, offset, degree):
    for j in range(len(row)):
        base = row[j] + offset
        power = base
        for _ in range(degree - 1):
            power *= base
        row[j] = power


def _triton(t, offset, degree):
    value = t + offset
    base = value
    for _ in tl.static_range(degree - 1):
        value *= base
    return value


@dataclass(frozen=True)
class Polynomial(PairKernel):
    r"""Polynomial kernel, :math:`(\gamma\, a \cdot b + c_0)^{\mathrm{degree}}`.

    `gamma=None` stands for one over the number of columns.
    """

    degree: int = 3
    gamma: float | None = None
    coef0: float = 1.0
    name = "polynomial"
    spellings = ("poly",)
    geometry = "inner"
    is_positive_definite = True
    forms = CompiledForms(_row, triton=_triton)

    def __post_init__(self) -> None:
        if not (isinstance(self.degree, int | np.integer) and self.degree >= 1):
            msg = f"`degree` must be a whole number from 1; got {shown_value(self.degree)}."
            raise MmdBoundsError(msg)
        if self.gamma is not None and not (is_number(self.gamma) and 0 < self.gamma < math.inf):
            msg = f"`gamma` must be a positive finite number or None; got {shown_value(self.gamma)}."
            raise MmdBoundsError(msg)
        if not is_number(self.coef0) or not 0 <= self.coef0 < math.inf:
            came = shown_value(self.coef0)
            msg = f"`coef0` must be finite and at least 0, or the kernel is not definite; got {came}."
            raise MmdBoundsError(msg)

    @property
    def sensitivity(self) -> float:
        """The degree, since `coef0` is not negative."""
        return float(self.degree)

    @property
    def constants(self) -> tuple[float, int]:
        """`coef0` and the degree."""
        return self.coef0, self.degree

    def options(self) -> dict[str, float | str]:
        """Return degree, gamma and coef0."""
        return {"degree": self.degree, "gamma": float(self.gamma or 0.0), "coef0": float(self.coef0)}

    def for_columns(self, n_columns: int) -> Self:
        """Return the kernel with its `gamma`."""
        return replace(self, gamma=1.0 / n_columns) if self.gamma is None else self

    def row_factor(self, n_columns: int) -> float:
        """Return the root of `gamma`."""
        return math.sqrt(1.0 / n_columns if self.gamma is None else self.gamma)

    def value(self, t: Floats) -> Floats:
        """Return k for inner products `t` of rows that were multiplied by the root of `gamma`."""
        return (t + self.coef0) ** self.degree

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the inner product of the multiplied rows."""
        return np.asarray(self.degree * (t + self.coef0) ** (self.degree - 1))

    def tensor(self, t: Any) -> Any:
        """Return k for a tensor of inner products."""
        return t.add_(self.coef0).pow_(self.degree)


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
