"""Kernels whose values the user computes: a function, or the whole matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mmdbounds.kernels.base import Floats, Kernel


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """A user's function ``k(A, B)`` that returns the block of kernel values, shape (len(A), len(B))."""

    function: Callable[[Floats, Floats], Any]
    name = "function"
    geometry = "function"

    def options(self) -> dict[str, float | str]:
        """Return the name of the function."""
        return {"function": getattr(self.function, "__qualname__", type(self.function).__name__)}


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The pooled kernel matrix is given instead of rows, X first."""

    name = "precomputed"
    geometry = "matrix"
