r"""How far an approximate kernel is from the one it stands for: R = K - K~, without all pairs.

Two questions, each at a cost that does not grow with the pairs. What is the squared MMD of R for one
labelling, that is, by how much does the approximation change its value? A U-statistic of a sample of
its rows is right on average, whichever way the labelling was found; several samples give the error. And
how large can it be for any labelling? For `Nystrom` R is positive semidefinite, so

.. math::
    \lambda_{\max}(R) \le \sum_b \lambda_{\max}(R_{bb})

for any partition of the rows into blocks b: with blocks of one row the trace, with larger ones far less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmdbounds.kernels import Kernel
from mmdbounds.progress import Meter
from mmdbounds.sums import plan
from mmdbounds.sums._dask_rows import DaskRows
from mmdbounds.sums._ordered import in_order
from mmdbounds.sums._threads import one_blas_thread, thread_count
from mmdbounds.sums.approximate import ApproximateKernel
from mmdbounds.sums.feature_maps import FeatureMap, cross_values, make_map, own_values
from mmdbounds.sums.protocol import Float64s

SAMPLES, SAMPLE_ROWS = 20, 256
"""Samples of a labelling, and rows of each group in a sample."""

FEW_ROWS = 2048
"""Up to so many pooled rows all are taken at once, which costs no more."""

LEVEL = 0.99
"""Level of the intervals."""

BLOCK_ROWS = 512
"""Rows of a block whose largest eigenvalue is computed."""

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Difference:
    """An estimate of the squared MMD of R for one labelling.

    Attributes
    ----------
    value, margin
        The estimate, and half the width of its confidence interval.
    n_rows
        Rows drawn, over all samples.
    """

    value: float
    margin: float
    n_rows: int


def residual_block(rows: Float64s, feature_map: FeatureMap, exact: Kernel) -> Float64s:
    """Return R for some rows."""
    shifted = rows - feature_map.centre
    features = feature_map(rows)
    R = np.asarray(cross_values(shifted, shifted, exact) - features @ features.T)
    np.fill_diagonal(R, own_values(shifted, exact) - np.einsum("ij,ij->i", features, features))
    return R


def sampled_difference(
    Z: Float64s | DaskRows,
    kernel: ApproximateKernel,
    feature_map: FeatureMap,
    in_x: NDArray[np.bool_],
    own: tuple[float, float] | None,
    rng: np.random.Generator,
) -> Difference:
    """Estimate the squared MMD of R between the pooled rows marked `in_x` and the others.

    `own` is the mean of R's diagonal in each group for the biased estimator, which counts it; it is
    known. `None` stands for the unbiased estimator.
    """
    groups = np.flatnonzero(in_x), np.flatnonzero(~in_x)
    complete = len(in_x) <= FEW_ROWS
    sizes = [len(group) if complete else min(len(group), SAMPLE_ROWS) for group in groups]
    values = []
    with one_blas_thread():
        for _ in range(1 if complete else SAMPLES):
            drawn = [
                rng.choice(group, size, replace=False) for group, size in zip(groups, sizes, strict=True)
            ]
            R = residual_block(Z[np.concatenate(drawn)], feature_map, kernel.exact)
            values.append(_statistic(R, sizes[0], (len(groups[0]), len(groups[1])), own))
    if complete:
        return Difference(values[0], 0.0, sum(sizes))
    from scipy.special import stdtrit

    margin = float(stdtrit(SAMPLES - 1, (1 + LEVEL) / 2)) * float(np.std(values, ddof=1)) / math.sqrt(SAMPLES)
    return Difference(float(np.mean(values)), margin, SAMPLES * sum(sizes))


def _statistic(R: Float64s, n_first: int, sizes: tuple[int, int], own: tuple[float, float] | None) -> float:
    """Return the squared MMD of groups with these sizes, as far as a sample of them tells."""
    parts = R[:n_first, :n_first], R[n_first:, n_first:]
    total = -2.0 * float(R[:n_first, n_first:].mean())
    for k, (part, n) in enumerate(zip(parts, sizes, strict=True)):
        s = len(part)
        apart = float(part.sum() - part.trace()) / (s * (s - 1)) if s > 1 else 0.0
        total += apart if own is None else (1 - 1 / n) * apart + own[k] / n
    return total


def own_residuals(Z: Float64s | DaskRows, kernel: ApproximateKernel, diagonal: Float64s) -> Float64s:
    """Return the diagonal of R; `diagonal` is that of K~."""
    if kernel.exact.geometry in ("distance2", "l1"):
        return 1.0 - diagonal
    each = Z.each(own_values, kernel.exact) if isinstance(Z, DaskRows) else [own_values(Z, kernel.exact)]
    return np.asarray(np.concatenate(each) - diagonal)


def residual_norm(
    Z: Float64s | DaskRows,
    kernel: ApproximateKernel,
    feature_map: FeatureMap,
    own: Float64s,
    error: float,
    meter: Meter,
) -> float:
    """Return a proved bound on the largest eigenvalue of R, in time linear in the rows.

    `own` is the diagonal of R, and `error` bounds the rounding of its entries.
    """
    if isinstance(Z, DaskRows):  # a partition of every block is one of all rows
        return math.fsum(Z.each(norm_of_rows, kernel, error))
    order = np.argsort(-own, kind="stable")  # rows that no landmark is near spoil as few blocks as possible
    largest: list[float] = []

    def work(span: tuple[int, int]) -> float:
        R = residual_block(Z[order[slice(*span)]], feature_map, kernel.exact)
        return float(np.linalg.eigvalsh((R + R.T) / 2)[-1]) + len(R) * error

    def consume(span: tuple[int, int], found: float) -> None:
        largest.append(max(found, 0.0))
        meter.add((span[1] - span[0]) ** 2)

    in_order(plan.strips([0, len(Z)], BLOCK_ROWS), work, consume, thread_count())
    return math.fsum(largest)


def norm_of_rows(rows: Float64s, kernel: ApproximateKernel, error: float) -> float:
    """Return the bound for some rows, from these and the kernel alone: what a worker of a cluster does."""
    feature_map = make_map(kernel, rows.shape[1])
    strips = plan.strips([0, len(rows)], BLOCK_ROWS)
    diagonal = np.concatenate([feature_map.diagonal(rows[i:j]) for i, j in strips])
    return residual_norm(rows, kernel, feature_map, own_residuals(rows, kernel, diagonal), error, Meter())
