"""From what a user hands in to what can be computed: checked groups, kernel, sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from mmdbounds.checks import check_memory, check_option
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import Kernel
from mmdbounds.objective import GroupSums, group_sums
from mmdbounds.progress import Meter
from mmdbounds.results import Estimator
from mmdbounds.sums import backend_names, make_sums, pooled_groups
from mmdbounds.sums.bandwidth import resolve_kernel
from mmdbounds.sums.checkpoint import Checkpoint
from mmdbounds.sums.features import ApproximateKernel
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import Group

KernelLike = str | Kernel | Callable[[Any, Any], Any]
Bandwidth = float | Literal["median"]
DType = Literal["float64", "float32"]


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
        """Kernel values that one pass over the pairs needs, or values of features that take their place."""
        if isinstance(self.kernel, ApproximateKernel):
            return 2 * len(self.pooled) * self.kernel.size
        return len(self.pooled) * (len(self.pooled) + 1) // 2

    def one_pass(self, meter: Meter, checkpoint: Checkpoint | None = None) -> GroupSums:
        """Make the one pass over the pairs; with a checkpoint, keep its sums and all long ones to come."""
        sums = make_sums(
            self.pooled,
            self.kernel,
            backend=self.backend,
            dtype=self.dtype,
            working_memory=self.working_memory,
            meter=meter,
        )
        if checkpoint is not None and not sums.keep_in(checkpoint):
            msg = (
                f"`checkpoint` cannot keep the sums of the backend {sums.backend!r} with the kernel "
                f"{self.kernel.name!r}. Leave `checkpoint` out."
            )
            raise MmdBoundsError(msg)
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
    check_option(backend, "backend", backend_names())
    check_option(dtype, "dtype", ("float64", "float32"))
    memory = check_memory(working_memory)
    groups = pooled_groups(X, Y, backend, memory)
    resolved = resolve_kernel(kernel, bandwidth, groups.rows, memory)
    return Problem(groups.X, groups.Y, groups.rows, resolved, estimator, groups.backend, dtype, memory)
