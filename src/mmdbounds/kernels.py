"""Kernels: small frozen descriptions of k(a, b), each a formula on one number per pair.

A kernel says which number that is (`geometry`): the squared Euclidean distance, the L1
distance or the inner product of the two rows. Everything else, blocks, threads, precision,
is the business of `mmdbounds.sums`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import is_number
from mmdbounds.errors import MmdBoundsError, did_you_mean

Geometry = Literal["distance2", "l1", "inner", "cosine", "function", "matrix", "features"]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Kernel:
    """Base of all kernels.

    Attributes
    ----------
    name
        The name under which `mmd_bounds(kernel=...)` knows it.
    geometry
        The number per pair that `value` takes: ``"distance2"``, ``"l1"``, ``"inner"`` or
        ``"cosine"`` (inner product of rows scaled to length 1). ``"function"``, ``"matrix"`` and
        ``"features"`` kernels have no such number.
    shift_invariant
        Whether subtracting the same vector from all rows leaves every MMD unchanged, so that
        rows may be centred before a matrix product (which loses digits far from the origin).
        A kernel that does not say so is never centred.
    is_positive_definite
        Whether every kernel matrix is positive semidefinite; `None` if nobody knows.
    """

    name: ClassVar[str]
    geometry: ClassVar[Geometry]
    shift_invariant: ClassVar[bool] = False
    is_positive_definite: ClassVar[bool | None] = True

    @property
    def upper_bound(self) -> float:
        """The supremum of k(x, x), kappa in the paper; infinite for unbounded kernels."""
        return 1.0

    @property
    def length(self) -> float | None:
        """The bandwidth, `None` for a kernel that has none."""
        return None

    def options(self) -> dict[str, float | str]:
        """Return what else there is to know to make the kernel again, as plain data."""
        return {}

    @property
    def has_slope(self) -> bool:
        """Whether there is a `slope`, which searches over free points need."""
        return type(self).slope is not Kernel.slope

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the pair number at `t`; a kernel without one says so."""
        msg = f"the {self.name} kernel has no slope. Use one of {', '.join(map(repr, SLOPED_NAMES))}."
        raise MmdBoundsError(msg)


class PairKernel(Kernel, ABC):
    """A kernel that is a formula on one number per pair."""

    @abstractmethod
    def value(self, t: Floats) -> Floats:
        """Return k for the pair numbers `t` (see `geometry`)."""


SMALLEST_BANDWIDTH = 1e-100
"""Squares of bandwidths from here to its inverse are ordinary numbers."""

NOTHING_BEYOND = 1e4
"""Exponentials of minus this are 0; an infinite distance, times an exponential, would be no number."""


@dataclass(frozen=True)
class _WithBandwidth(PairKernel):
    """A kernel of the distance divided by `bandwidth`."""

    bandwidth: float
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not is_number(self.bandwidth) or not 0 < self.bandwidth < math.inf:
            msg = f"`bandwidth` must be a positive finite number; got {self.bandwidth!r}."
            raise MmdBoundsError(msg)
        if not SMALLEST_BANDWIDTH <= self.bandwidth <= 1 / SMALLEST_BANDWIDTH:
            msg = (
                f"`bandwidth` must be between 1e-100 and 1e+100; got {self.bandwidth:g}. Rescale the columns."
            )
            raise MmdBoundsError(msg)
        object.__setattr__(self, "bandwidth", float(self.bandwidth))

    @property
    def length(self) -> float:
        """The bandwidth."""
        return self.bandwidth


@dataclass(frozen=True)
class RBF(_WithBandwidth):
    r"""Gaussian kernel, :math:`\exp(-\|a - b\|^2 / (2\,\mathrm{bandwidth}^2))`."""

    name: ClassVar[str] = "rbf"
    geometry: ClassVar[Geometry] = "distance2"

    def value(self, t: Floats) -> Floats:
        """Return k for squared distances `t`."""
        return np.asarray(np.exp(t * (-0.5 / self.bandwidth**2)))

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the squared distance."""
        rate = -0.5 / self.bandwidth**2
        return np.asarray(rate * np.exp(t * rate))


@dataclass(frozen=True)
class InverseMultiquadric(_WithBandwidth):
    r"""Inverse multiquadric kernel, :math:`(1 + \|a - b\|^2 / \mathrm{bandwidth}^2)^{-1/2}`."""

    name: ClassVar[str] = "imq"
    geometry: ClassVar[Geometry] = "distance2"

    def value(self, t: Floats) -> Floats:
        """Return k for squared distances `t`."""
        return np.asarray(1.0 / np.sqrt(1.0 + t * self.bandwidth**-2))

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the squared distance."""
        rate = self.bandwidth**-2
        return np.asarray(-0.5 * rate * (1.0 + t * rate) ** -1.5)


@dataclass(frozen=True)
class Matern32(_WithBandwidth):
    r"""Matern kernel with smoothness 3/2, :math:`(1 + s)\,e^{-s}`.

    Here :math:`s = \sqrt3\,\|a - b\| / \mathrm{bandwidth}`.
    """

    name: ClassVar[str] = "matern32"
    geometry: ClassVar[Geometry] = "distance2"

    def value(self, t: Floats) -> Floats:
        """Return k for squared distances `t`."""
        s = np.minimum(np.sqrt(t * (3.0 * self.bandwidth**-2)), NOTHING_BEYOND)
        return np.asarray((1.0 + s) * np.exp(-s))

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the squared distance; there is one at 0 too."""
        rate = 3.0 * self.bandwidth**-2
        return np.asarray(-0.5 * rate * np.exp(-np.sqrt(t * rate)))


@dataclass(frozen=True)
class Matern52(_WithBandwidth):
    r"""Matern kernel with smoothness 5/2, :math:`(1 + s + s^2/3)\,e^{-s}`.

    Here :math:`s = \sqrt5\,\|a - b\| / \mathrm{bandwidth}`.
    """

    name: ClassVar[str] = "matern52"
    geometry: ClassVar[Geometry] = "distance2"

    def value(self, t: Floats) -> Floats:
        """Return k for squared distances `t`."""
        s = np.minimum(np.sqrt(t * (5.0 * self.bandwidth**-2)), NOTHING_BEYOND)
        return np.asarray((1.0 + s + s * s / 3.0) * np.exp(-s))

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the squared distance."""
        rate = 5.0 * self.bandwidth**-2
        s = np.minimum(np.sqrt(t * rate), NOTHING_BEYOND)
        return np.asarray((-rate / 6.0) * (1.0 + s) * np.exp(-s))


@dataclass(frozen=True)
class Laplacian(_WithBandwidth):
    r"""Laplacian kernel, :math:`\exp(-\|a - b\|_1 / \mathrm{bandwidth})`."""

    name: ClassVar[str] = "laplacian"
    geometry: ClassVar[Geometry] = "l1"

    def value(self, t: Floats) -> Floats:
        """Return k for L1 distances `t`."""
        return np.asarray(np.exp(t * (-1.0 / self.bandwidth)))


@dataclass(frozen=True)
class Linear(PairKernel):
    r"""Linear kernel, :math:`a \cdot b`: the MMD is the distance of the two means.

    Rows are centred at the pooled mean first, which changes no MMD. It can change which rows S-SD
    moves, because the gradient before the last step depends on the origin.
    """

    name: ClassVar[str] = "linear"
    geometry: ClassVar[Geometry] = "inner"
    shift_invariant: ClassVar[bool] = True

    @property
    def upper_bound(self) -> float:
        """Infinite."""
        return math.inf

    def value(self, t: Floats) -> Floats:
        """Return k for inner products `t`."""
        return t

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the inner product."""
        return np.ones_like(t)


@dataclass(frozen=True)
class Polynomial(PairKernel):
    r"""Polynomial kernel, :math:`(\gamma\, a \cdot b + c_0)^{\mathrm{degree}}`.

    `gamma=None` stands for one over the number of columns.
    """

    degree: int = 3
    gamma: float | None = None
    coef0: float = 1.0
    name: ClassVar[str] = "polynomial"
    geometry: ClassVar[Geometry] = "inner"

    def __post_init__(self) -> None:
        if not (isinstance(self.degree, int | np.integer) and self.degree >= 1):
            msg = f"`degree` must be a whole number from 1; got {self.degree!r}."
            raise MmdBoundsError(msg)
        if self.gamma is not None and not (is_number(self.gamma) and 0 < self.gamma < math.inf):
            msg = f"`gamma` must be a positive finite number or None; got {self.gamma!r}."
            raise MmdBoundsError(msg)
        if not is_number(self.coef0) or not 0 <= self.coef0 < math.inf:
            msg = f"`coef0` must be finite and at least 0, or the kernel is not definite; got {self.coef0!r}."
            raise MmdBoundsError(msg)

    @property
    def upper_bound(self) -> float:
        """Infinite."""
        return math.inf

    def options(self) -> dict[str, float | str]:
        """Return degree, gamma and coef0."""
        return {"degree": self.degree, "gamma": float(self.gamma or 0.0), "coef0": float(self.coef0)}

    def value(self, t: Floats) -> Floats:
        """Return k for inner products `t` of rows that were multiplied by the root of `gamma`."""
        return (t + self.coef0) ** self.degree

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the inner product of the multiplied rows."""
        return np.asarray(self.degree * (t + self.coef0) ** (self.degree - 1))


@dataclass(frozen=True)
class Cosine(PairKernel):
    r"""Cosine kernel, :math:`a \cdot b / (\|a\| \|b\|)`; a row of zeros has similarity 0 to all others."""

    name: ClassVar[str] = "cosine"
    geometry: ClassVar[Geometry] = "cosine"

    def value(self, t: Floats) -> Floats:
        """Return k for inner products `t` of rows of length 1."""
        return t


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """A user's function ``k(A, B)`` that returns the block of kernel values, shape (len(A), len(B))."""

    function: Callable[[Floats, Floats], Any]
    name: ClassVar[str] = "function"
    geometry: ClassVar[Geometry] = "function"
    is_positive_definite: ClassVar[bool | None] = None

    @property
    def upper_bound(self) -> float:
        """Unknown, hence infinite."""
        return math.inf

    def options(self) -> dict[str, float | str]:
        """Return the name of the function."""
        return {"function": getattr(self.function, "__qualname__", type(self.function).__name__)}


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The pooled kernel matrix is given instead of rows, X first."""

    name: ClassVar[str] = "precomputed"
    geometry: ClassVar[Geometry] = "matrix"
    is_positive_definite: ClassVar[bool | None] = None

    @property
    def upper_bound(self) -> float:
        """Unknown, hence infinite."""
        return math.inf


WITH_BANDWIDTH: dict[str, type[_WithBandwidth]] = {
    cls.name: cls for cls in (RBF, Laplacian, InverseMultiquadric, Matern32, Matern52)
}
WITHOUT_BANDWIDTH: dict[str, type[Kernel]] = {
    cls.name: cls for cls in (Polynomial, Linear, Cosine, Precomputed)
}
KERNEL_NAMES = (*WITH_BANDWIDTH, *WITHOUT_BANDWIDTH)
SLOPED_NAMES = tuple(
    name
    for name, cls in {**WITH_BANDWIDTH, **WITHOUT_BANDWIDTH}.items()
    if cls.slope is not Kernel.slope  # they say themselves whether they have one
)
"""Kernels that have a slope."""


_BUILT_IN: tuple[type[Kernel], ...] = (*WITH_BANDWIDTH.values(), *WITHOUT_BANDWIDTH.values())


def is_built_in(kernel: Kernel) -> bool:
    """Return whether a kernel is one of these: a subclass that somebody else has defined may be anything."""
    return type(kernel) in _BUILT_IN


def check_kernel_name(name: str) -> str:
    """Return `name` if a kernel is called so, else say which there are."""
    if name not in KERNEL_NAMES:
        msg = (
            f"`kernel` must be one of {', '.join(map(repr, KERNEL_NAMES))}, a kernel object or a function "
            f"k(A, B); got {name!r}.{did_you_mean(name, KERNEL_NAMES)}"
        )
        raise MmdBoundsError(msg)
    return name
