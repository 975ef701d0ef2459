"""Kernels that are products of features: k~(a, b) = phi(a) . phi(b), so that sums are linear in the rows.

Each stands for another kernel. It is positive semidefinite itself: whatever is searched, proved or tested
with it holds for k~. `residual` says how far k~ is from the kernel that it stands for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import MOST_SEED, check_count, is_number
from mmdbounds.errors import MmdBoundsError, shown_value
from mmdbounds.kernels import Geometry, Kernel, Linear, kernel_class, kernel_names, lists_kernels
from mmdbounds.kernels.registry import takes_bandwidth
from mmdbounds.results.serialize import from_fields

POOL, POOL_PER_LANDMARK = 4096, 4  # rows from which landmarks are chosen, at the least and for each landmark


def pair_price(n_features: int) -> float:
    """Return what a product of features costs, in exact kernel values."""
    return max(1.0, n_features / 16)


@dataclass(frozen=True)
class ApproximateKernel(Kernel):
    """What both approximations share; a name or "median" stands for what the pooled rows decide.

    So does `centre`, which is subtracted from every row first, where that does not change the kernel.
    """

    geometry: ClassVar[Geometry] = "features"
    is_positive_definite: ClassVar[bool | None] = True
    kernel: str | Kernel = "rbf"
    bandwidth: float | Literal["median"] = field(default="median", kw_only=True)
    seed: int = field(default=0, kw_only=True)
    centre: NDArray[np.float64] | None = field(default=None, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", check_count(self.seed, "seed", most=MOST_SEED))
        exact = self._class_of_kernel()
        if isinstance(self.kernel, str):
            object.__setattr__(self, "kernel", exact.name)
        if not self.can_approximate(exact):
            known = ", ".join(
                repr(name) for name in kernel_names() if self.can_approximate(kernel_class(name))
            )
            msg = f"{type(self).__name__} takes the kernels {known}; got {exact.name!r}.{self.reason(exact)}"
            raise MmdBoundsError(msg)
        by_rows = isinstance(self.bandwidth, str) and self.bandwidth == "median"
        if not by_rows and not isinstance(self.kernel, str):
            msg = (
                f"`bandwidth` goes with a kernel given by name; got {self.bandwidth!r} with {self.kernel!r}."
            )
            raise MmdBoundsError(msg)
        if not by_rows and not (is_number(self.bandwidth) and 0 < float(self.bandwidth) < math.inf):
            msg = f"`bandwidth` must be 'median' or a positive number; got {shown_value(self.bandwidth)}."
            raise MmdBoundsError(msg)

    def _class_of_kernel(self) -> type[Kernel]:
        if isinstance(self.kernel, str):
            return kernel_class(self.kernel)
        if isinstance(self.kernel, Kernel):
            return type(self.kernel)
        msg = f"`kernel` must be a name or a kernel object; got {type(self.kernel).__name__}."
        raise MmdBoundsError(msg)

    @classmethod
    def can_approximate(cls, exact: type[Kernel]) -> bool:
        """Return whether a kernel can be approximated."""
        raise NotImplementedError

    @classmethod
    def reason(cls, exact: type[Kernel]) -> str:
        """Say why a kernel cannot be approximated."""
        if issubclass(exact, Linear):
            return " The linear kernel compares the means of the columns, and needs no approximation."
        return ""

    @property
    def size(self) -> int:
        """Features of a row."""
        raise NotImplementedError

    @property
    def exact(self) -> Kernel:
        """The kernel that this one stands for."""
        if isinstance(self.kernel, str):
            msg = f"the kernel {self.kernel!r} has no bandwidth yet; it follows from the rows."
            raise MmdBoundsError(msg)
        return self.kernel

    @property
    def upper_bound(self) -> float:
        """At most that of the kernel it stands for."""
        return 1.0 if isinstance(self.kernel, str) else self.kernel.upper_bound

    @property
    def length(self) -> float | None:
        """The bandwidth, once it is known."""
        return None if isinstance(self.kernel, str) else self.kernel.length

    @property
    def follows_rows(self) -> bool:
        """Whether the kernel depends on the rows it is used for: by its bandwidth or its landmarks."""
        return takes_bandwidth(self.kernel) and isinstance(self.bandwidth, str)

    @property
    def is_ready(self) -> bool:
        """Whether all that the rows decide is known."""
        return not isinstance(self.kernel, str) and self.centre is not None

    def options(self) -> dict[str, float | str]:
        """Return the kernel that it stands for, the number of features and the seed."""
        base: dict[str, Any] = {} if isinstance(self.kernel, str) else dict(self.kernel.options())
        name = self.kernel if isinstance(self.kernel, str) else self.kernel.name
        return {"kernel": name, **base, "n_features": self.size, "seed": self.seed}


@lists_kernels
@dataclass(frozen=True)
class RandomFeatures(ApproximateKernel):
    r"""A distance kernel by random Fourier features.

    With frequencies :math:`w_1, \dots, w_J` drawn from the kernel's spectral distribution,

    .. math::
        \tilde k(a, b) = \frac1J \sum_{j=1}^J \cos(w_j \cdot (a - b)),

    which is :math:`k(a, b)` on average over the draw, with a standard error of at most
    :math:`1/\sqrt{J}`, and 1 for equal rows.

    Parameters
    ----------
    kernel
        Name or object of a kernel of distances:
        <kernels having frequencies>.
    n_features
        Features of a row: a cosine and a sine for each of the J = `n_features` / 2 frequencies.
    bandwidth
        Length of a kernel given by name, or ``"median"``.
    seed
        Of the frequencies.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(300, 2)), rng.normal(1, 1, size=(400, 2))
    >>> features = mb.RandomFeatures("rbf", n_features=4096, bandwidth=2.0)
    >>> abs(mb.mmd2(X, Y, kernel=features) - mb.mmd2(X, Y, kernel=mb.kernels.RBF(2.0))) < 0.02
    True
    """

    name: ClassVar[str] = "random features"
    n_features: int = 2048

    def __post_init__(self) -> None:
        super().__post_init__()
        size = check_count(self.n_features, "n_features", least=4)
        if size % 2:
            msg = f"`n_features` must be even, a cosine and a sine each; got {size}. Use {size + 1}."
            raise MmdBoundsError(msg)
        object.__setattr__(self, "n_features", size)

    @classmethod
    def can_approximate(cls, exact: type[Kernel]) -> bool:
        """Return whether frequencies can be drawn."""
        return exact.frequencies is not Kernel.frequencies

    @classmethod
    def reason(cls, exact: type[Kernel]) -> str:
        """Say why a kernel cannot be approximated."""
        has_landmarks = Nystrom.can_approximate(exact)
        return f" Use Nystrom({exact.name!r})." if has_landmarks else super().reason(exact)

    @property
    def size(self) -> int:
        """Features of a row."""
        return self.n_features


@dataclass(frozen=True)
class Nystrom(ApproximateKernel):
    r"""A kernel by its values at landmarks (Nystrom's method).

    With L the landmarks, :math:`\tilde k(a, b) = k(a, L)\,(K_{LL} + \mathrm{jitter})^{-1}\,k(L, b)`. The
    residual :math:`k - \tilde k` is positive semidefinite, which turns a proof for :math:`\tilde k` into one
    for k.

    Parameters
    ----------
    kernel
        Name or object of a positive definite kernel, apart from the linear one.
    n_landmarks
        Rows to be chosen as landmarks: one after the other with a chance in proportion to what those before
        leave of it (randomly pivoted Cholesky), among 4,096 rows or more drawn at random from the pooled
        ones, until nothing is left. Labels are not looked at.
    bandwidth
        Length of a kernel given by name, or ``"median"``.
    seed
        Of the choice.
    landmarks : array of shape (n, d), optional
        The landmarks themselves, if they are not to be chosen.
    """

    name: ClassVar[str] = "nystrom"
    n_landmarks: int = 1000
    landmarks: NDArray[np.float64] | None = field(default=None, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_landmarks", check_count(self.n_landmarks, "n_landmarks", least=1))
        if self.landmarks is None:
            return
        rows = np.array(self.landmarks, dtype=np.float64)
        if rows.ndim != 2 or len(rows) == 0 or not np.isfinite(rows).all():
            msg = f"`landmarks` must be rows of finite numbers; got an array of shape {rows.shape}."
            raise MmdBoundsError(msg)
        rows.flags.writeable = False
        object.__setattr__(self, "landmarks", rows)
        object.__setattr__(self, "n_landmarks", len(rows))

    def __reduce__(self) -> tuple[Any, ...]:
        return from_fields(self)

    @classmethod
    def can_approximate(cls, exact: type[Kernel]) -> bool:
        """Return whether a kernel is definite, and says what rounding does to it; both stand in proofs."""
        stated = exact.sensitivity is not Kernel.sensitivity
        return exact.is_positive_definite is True and stated and not issubclass(exact, Linear)

    @property
    def follows_rows(self) -> bool:
        """Whether the kernel depends on the rows it is used for."""
        return super().follows_rows or self.landmarks is None

    @property
    def is_ready(self) -> bool:
        """Whether all that the rows decide is known."""
        return super().is_ready and self.landmarks is not None

    @property
    def size(self) -> int:
        """Features of a row: one for each landmark."""
        return self.n_landmarks

    @property
    def pool_size(self) -> int:
        """Rows among which the landmarks are chosen."""
        return max(POOL, POOL_PER_LANDMARK * self.n_landmarks)
