"""From what a user hands in to what can be computed: checked groups, kernel, sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mmdbounds.checks import check_memory, check_option, check_same_columns
from mmdbounds.kernels import Kernel
from mmdbounds.objective import GroupSums, group_sums
from mmdbounds.progress import Meter
from mmdbounds.results import Estimator
from mmdbounds.sums import make_sums
from mmdbounds.sums.bandwidth import resolve_kernel
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import Group, as_group

KernelLike = str | Kernel | Callable[[Any, Any], Any]
Bandwidth = float | Literal["median"]
DType = Literal["float64", "float32"]
BACKENDS = ("auto", "numpy", "torch")


@dataclass(frozen=True, eq=False)
class Problem:
    """Two groups and how they are to be compared.

    Attributes
    ----------
    X, Y
        The groups as filed.
    pooled
        Their rows, X first.
    kernel
        With its bandwidth.
    """

    X: Group
    Y: Group
    pooled: Float64s
    kernel: Kernel
    estimator: Estimator
    backend: str
    dtype: DType
    working_memory: float

    @property
    def p(self) -> int:
        """Rows filed under X."""
        return len(self.X)

    @property
    def q(self) -> int:
        """Rows filed under Y."""
        return len(self.Y)

    @property
    def n_pairs(self) -> int:
        """Kernel values that one pass over the pairs needs."""
        return len(self.pooled) * (len(self.pooled) + 1) // 2

    def one_pass(self, meter: Meter) -> GroupSums:
        """Make the one pass over the pairs."""
        sums = make_sums(
            self.pooled,
            self.kernel,
            backend=self.backend,
            dtype=self.dtype,
            working_memory=self.working_memory,
            meter=meter,
        )
        return group_sums(sums, self.p, self.q)


def pose(
    X: Any,
    Y: Any,
    *,
    kernel: KernelLike,
    bandwidth: Bandwidth,
    estimator: Estimator,
    backend: str,
    dtype: DType,
    working_memory: float,
) -> Problem:
    """Check the arguments that every function shares and pose the problem."""
    check_option(estimator, "estimator", ("unbiased", "biased"))
    check_option(backend, "backend", BACKENDS)
    check_option(dtype, "dtype", ("float64", "float32"))
    memory = check_memory(working_memory)
    group_x, group_y = as_group(X, "X"), as_group(Y, "Y")
    check_same_columns(group_x.values.shape[1], group_y.values.shape[1])
    pooled = np.concatenate([group_x.values, group_y.values])
    resolved = resolve_kernel(kernel, bandwidth, pooled)
    return Problem(group_x, group_y, pooled, resolved, estimator, backend, dtype, memory)
