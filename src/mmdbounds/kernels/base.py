"""What a kernel says of itself: the base classes, and the kernels whose values the user computes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import check_flag, is_number
from mmdbounds.errors import MmdBoundsError, shown_value

Geometry = Literal["distance2", "l1", "inner", "function", "matrix"]
Floats = NDArray[np.floating[Any]]

LOG2_E = math.log2(math.e)
SMALLEST_BANDWIDTH = 1e-100  # squares of bandwidths from here to its inverse are ordinary numbers
NOTHING_BEYOND = 1e4  # exp(-this) is 0; an infinite distance, times an exponential, would be no number

# What is true of one formula, and may be wrong for that of a subclass.
_OF_THE_FORMULA = ["forms", "is_nonnegative", "is_positive_definite", "jump", "reach"]
_OF_THE_FORMULA += ["sensitivity", "slope", "squared_scale", "tensor", "upper_bound"]


@dataclass(frozen=True)
class CompiledForms:
    """A kernel's formula for the compilers, as plain functions of its file: no compiler is imported there.

    With x the number that a product of prepared rows gives (see `Kernel.squared_scale`; the squared distance
    for a kernel of distances without one), and two constants
    of the kernel (`Kernel.constants`). Without a `row` (`triton`) the kernel value is x itself.

    ``row(x, offset, degree)`` turns a row of x into kernel values, in place; for numba, which writes `exp2`
    its own way. Used for the kernels of the package only. `far` is the same where rounding is so large that x
    may claim a squared distance well below 0. ``sums(x, partial)`` adds the kernel values to `partial` and
    returns their sum; at most one kernel has it: the default one. ``triton(x, offset, degree)`` returns
    kernel values; `tl` in it is Triton's language. ``array(x)`` turns a NumPy array into kernel values, in
    place, and returns it; without it `PairKernel.value` is taken.
    """

    row: Callable[..., None] | None = None
    far: Callable[..., None] | None = None
    sums: Callable[..., Any] | None = None
    triton: Callable[..., Any] | None = None
    array: Callable[[Floats], Floats] | None = None


def exp2(x: Any) -> Any:
    """2^x for x <= 0, as `CompiledForms` write it."""
    return np.exp2(x)


@dataclass(frozen=True)
class Kernel:
    """Base of all kernels.

    What a class declares of its formula does not pass to a subclass with another `value`.

    Attributes
    ----------
    name
        The name under which `mmd_bounds(kernel=...)` knows it.
    spellings
        Other names that are understood. Case, dashes and underscores never matter.
    geometry
        The number per pair that `value` takes: ``"distance2"``, ``"l1"`` or ``"inner"``.
        ``"function"`` and ``"matrix"`` kernels have no such number.
    shift_invariant
        Whether subtracting the same vector from all rows leaves every MMD unchanged, so that
        rows may be centred before a matrix product (which loses digits far from the origin).
        A kernel that does not say so is never centred.
    is_positive_definite
        Whether every kernel matrix is positive semidefinite; `None` if nobody knows.
    reach
        `None` unless w'Kw >= 0 is known for all weights w that add up to 0, which proofs need. Else how many
        times the largest mean size of a row's values any value can be; 0 if the largest is on the diagonal.
    is_nonnegative
        Whether no value is below 0, as far as is known.
    upper_bound
        The supremum of k(x, x), kappa in the paper; infinite if there is none or nobody knows.
    sensitivity
        If the number of a pair moves by a share s (of itself; an inner product by a share of the largest one
        of a row with itself), the value moves by at most `sensitivity` times s times the largest value. With
        it a certificate covers the rounding of that number. Without it (`None`) every pair is computed by
        itself, and a certificate is about the values as computed, as for functions.
    squared_scale
        For squared distances: rows may be scaled so that this is the squared norm of a row one bandwidth
        from the centre, and x = -|a - b|^2 / 2 taken from a matrix product. Only for a kernel with values
        from 0 to 1 and a `slope` that falls, in size, as the distance grows, or rounding is understated.
        Without it (`None`) distances are taken from differences.
    forms
        Compiled forms, if any.
    """

    name: ClassVar[str]
    spellings: ClassVar[tuple[str, ...]] = ()
    geometry: ClassVar[Geometry]
    shift_invariant: ClassVar[bool] = False
    is_positive_definite: ClassVar[bool | None] = None
    is_nonnegative: ClassVar[bool] = False
    squared_scale: ClassVar[float | None] = None
    forms: ClassVar[CompiledForms | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "value" in vars(cls):
            for name in _OF_THE_FORMULA:
                if name not in vars(cls):
                    setattr(cls, name, vars(Kernel)[name])

    @property
    def upper_bound(self) -> float:
        """The supremum of k(x, x); infinite if there is none or nobody knows."""
        return math.inf

    @property
    def sensitivity(self) -> float | None:
        """How the value follows the number of a pair; `None` if nobody knows."""
        return None

    @property
    def reach(self) -> float | None:
        """0 for a positive definite kernel, whose largest value is on the diagonal; `None` if unknown."""
        return 0.0 if self.is_positive_definite is True else None

    @property
    def is_conditionally_definite(self) -> bool:
        """Whether w'Kw >= 0 is known for all weights w that add up to 0: no squared MMD (biased) is less."""
        return self.reach is not None

    def jump(self, share: float) -> float:
        """Return how far a value can move, beside the largest, if a distance does by a share of the largest.

        Only for a kernel of distances without `squared_scale`, which may be steep at 0.
        """
        return 0.0

    @property
    def length(self) -> float | None:
        """The bandwidth, `None` for a kernel that has none."""
        return None

    @property
    def constants(self) -> tuple[float, int]:
        """Offset and degree, which the compiled forms are given."""
        return 0.0, 1

    def options(self) -> dict[str, float | str]:
        """Return what else there is to know to make the kernel again, as plain data."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "bandwidth"}
        return {name: value for name, value in given.items() if isinstance(value, float | int | str)}

    def for_columns(self, n_columns: int) -> Self:
        """Return the kernel for rows with so many columns."""
        return self

    def row_factor(self, n_columns: int) -> float:
        """Return by what rows are multiplied before their inner products are taken."""
        return 1.0

    @property
    def has_slope(self) -> bool:
        """Whether there is a `slope`, which searches over free points need."""
        return type(self).slope is not Kernel.slope

    def slope(self, t: Floats) -> Floats:
        """Return the derivative of k by the pair number at `t`; a kernel without one says so."""
        from mmdbounds.kernels.registry import kernel_names

        names = ", ".join(map(repr, kernel_names("slope")))
        msg = f"the {self.name} kernel has no slope. Use one of {names}."
        raise MmdBoundsError(msg)

    @property
    def has_tensor(self) -> bool:
        """Whether there is a form for PyTorch."""
        return type(self).tensor is not Kernel.tensor

    def tensor(self, t: Any) -> Any:
        """Return k for a tensor of pair numbers (of x, with a `squared_scale`), which may be overwritten."""
        raise NotImplementedError


class PairKernel(Kernel, ABC):
    """A kernel that is a formula on one number per pair; the base for kernels of your own."""

    @abstractmethod
    def value(self, t: Floats) -> Floats:
        """Return k for the pair numbers `t` (see `geometry`), an array of any shape, one by one."""


@dataclass(frozen=True)
class BandwidthKernel(PairKernel):
    """A kernel of the distance divided by `bandwidth`, which the median distance can set."""

    bandwidth: float
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not is_number(self.bandwidth) or not 0 < self.bandwidth < math.inf:
            msg = f"`bandwidth` must be a positive finite number; got {shown_value(self.bandwidth)}."
            raise MmdBoundsError(msg)
        object.__setattr__(self, "bandwidth", float(self.bandwidth))
        if not SMALLEST_BANDWIDTH <= self.bandwidth <= 1 / SMALLEST_BANDWIDTH:
            came = f"{self.bandwidth:g}"
            msg = f"`bandwidth` must be between 1e-100 and 1e+100; got {came}. Rescale the columns."
            raise MmdBoundsError(msg)

    @property
    def length(self) -> float:
        """The bandwidth."""
        return self.bandwidth


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """A user's function ``k(A, B)`` that returns the block of kernel values, shape (len(A), len(B)).

    With ``is_positive_definite=True`` proofs rely on what the user says of it, and results state that.
    Without it the lower side of many rows stays without a proof.
    """

    function: Callable[[Floats, Floats], Any]
    # Of other kernels it is a fact of their class.
    is_positive_definite: bool | None = field(default=None, kw_only=True)  # type: ignore[misc]
    name = "function"
    geometry = "function"

    def __post_init__(self) -> None:
        if not callable(self.function):
            msg = f"`function` must be a function k(A, B); got {shown_value(self.function)}."
            raise MmdBoundsError(msg)
        if self.is_positive_definite is not None:
            check_flag(self.is_positive_definite, "is_positive_definite")

    def options(self) -> dict[str, float | str]:
        """Return the name of the function, and what was said of it."""
        named = {"function": getattr(self.function, "__qualname__", type(self.function).__name__)}
        return {**named, "is_positive_definite": True} if self.is_positive_definite else named


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The pooled kernel matrix is given instead of rows, X first."""

    name = "precomputed"
    geometry = "matrix"
