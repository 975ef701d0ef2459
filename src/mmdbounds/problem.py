"""From what a user hands in to what can be computed: checked groups, kernel, sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mmdbounds.checks import check_memory, check_option
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import Kernel
from mmdbounds.objective import GroupSums, group_sums
from mmdbounds.progress import Meter
from mmdbounds.results import Estimator
from mmdbounds.sums import make_sums
from mmdbounds.sums.bandwidth import resolve_kernel
from mmdbounds.sums.checkpoint import Checkpoint, fingerprint
from mmdbounds.sums.cpu.blocked import BlockedSums
from mmdbounds.sums.cpu.matrix import MatrixSums
from mmdbounds.sums.dask.client import current_client, is_collection, require_client
from mmdbounds.sums.dask.rows import cluster_groups
from mmdbounds.sums.features.kernels import ApproximateKernel
from mmdbounds.sums.protocol import Float64s, KernelSums
from mmdbounds.sums.torch.rows import device_groups, on_one_device
from mmdbounds.tables import Group, as_groups

KernelLike = str | Kernel | Callable[[Any, Any], Any]
Bandwidth = float | Literal["median"]
DType = Literal["float64", "float32"]
BACKENDS = ("auto", "numpy", "torch", "dask")


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
        if checkpoint is not None:
            self._keep(sums, checkpoint)
        return group_sums(sums, self.p, self.q)

    def _keep(self, sums: KernelSums, checkpoint: Checkpoint) -> None:
        """Let long sums be kept, where they grow strip by strip; a matrix needs no keeping."""
        if isinstance(sums, BlockedSums):
            checkpoint.attach(fingerprint(self.pooled, self.kernel, sums.dtype), self.working_memory)
            sums.checkpoint = checkpoint
        elif not isinstance(sums, MatrixSums):
            msg = (
                f"`checkpoint` keeps sums over pairs of rows that backend='numpy' computes; got backend "
                f"{sums.backend!r} with the kernel {self.kernel.name!r}. Leave `checkpoint` out."
            )
            raise MmdBoundsError(msg)


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
    backend, client = _cluster(X, Y, backend)
    if client is not None:
        group_x, group_y, pooled = cluster_groups(X, Y, client, memory)
    elif backend in ("auto", "torch") and on_one_device(X, Y):
        backend = "torch"
        group_x, group_y, pooled = device_groups(X, Y)
    else:
        group_x, group_y = as_groups(X, Y)
        pooled = np.concatenate([group_x.values, group_y.values])
    resolved = resolve_kernel(kernel, bandwidth, pooled, memory)
    return Problem(group_x, group_y, pooled, resolved, estimator, backend, dtype, memory)


def _cluster(X: Any, Y: Any, backend: str) -> tuple[str, Any | None]:
    """Return the backend, and the client of the cluster that has the rows if they are Dask collections."""
    if not (is_collection(X) or is_collection(Y)):
        if backend == "dask":
            require_client()
        return backend, None
    client = current_client() if backend in ("auto", "dask") else None
    if client is None:  # Dask computes the rows in this process, where the pairs are computed as well
        return "numpy" if backend == "dask" else backend, None
    return "dask", client
