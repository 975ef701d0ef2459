"""The bandwidth, from the pooled rows alone: no label and no row order may touch it.

The validity of a permutation test rests on that. Where pairs are sampled they are drawn
from the rows in an order of their own (`canonical_order`), so that shuffling the rows of a
file, or filing them differently, changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import BandwidthWarning, DataError, MmdBoundsError, warn
from mmdbounds.kernels import BandwidthKernel, FunctionKernel, Kernel, kernel_class, kernel_names
from mmdbounds.sums import points
from mmdbounds.sums.features import ApproximateKernel, Nystrom
from mmdbounds.sums.features.residual import chosen_landmarks, fixed_features
from mmdbounds.sums.plan import MIB, SMALL_ROWS
from mmdbounds.sums.protocol import Float64s, PooledRows, RemoteRows

SAMPLED_PAIRS = 200_000  # drawn for the median beyond `SMALL_ROWS` rows; its standard error is about 0.2 %
SHARE = 1 / 32  # of the budget, for one side of the pairs whose distances are computed at a time
VANISHING = 1e-150  # distances, relative to the largest value, whose squares are no normal numbers
_SAMPLE_SEED = 20_230_807


def resolve_kernel(
    kernel: str | Kernel | Callable[[Any, Any], Any],
    bandwidth: float | str,
    Z: PooledRows,
    working_memory: float = 1024,
) -> Kernel:
    """Return the kernel object that `kernel` and `bandwidth` ask for, on the pooled rows `Z`.

    `working_memory` is the budget in MiB for a median; it changes no number.
    """
    if isinstance(kernel, str):
        make = kernel_class(kernel)
        if issubclass(make, BandwidthKernel):
            if isinstance(bandwidth, str) and bandwidth == "median":
                return make(median_distance(Z, l1=make.geometry == "l1", working_memory=working_memory))
            return make(_bandwidth_number(bandwidth))
        resolved: Kernel = make()
    elif isinstance(kernel, Kernel):
        resolved = kernel
    elif isinstance(kernel, type) and issubclass(kernel, Kernel):
        name = kernel.__name__
        msg = f"`kernel` must be a kernel object; got the class {name}. Did you mean {name}(...)?"
        raise MmdBoundsError(msg)
    elif callable(kernel):
        resolved = FunctionKernel(kernel)
    else:
        msg = f"`kernel` must be a name, a kernel object or a function k(A, B); got {type(kernel).__name__}."
        raise MmdBoundsError(msg)
    if not (isinstance(bandwidth, str) and bandwidth == "median"):
        known = ", ".join(map(repr, kernel_names("bandwidth")))
        msg = (
            f"`bandwidth` goes with a distance kernel given by name ({known}); "
            f"got bandwidth={bandwidth!r} with the kernel {resolved.name!r}."
        )
        raise MmdBoundsError(msg)
    if isinstance(resolved, ApproximateKernel):
        return resolved_features(resolved, Z, working_memory)
    return resolved.for_columns(Z.shape[1])


def resolved_features(kernel: ApproximateKernel, Z: PooledRows, working_memory: float) -> ApproximateKernel:
    """Return the same with its bandwidth, its centre and its landmarks, on the pooled rows `Z`."""
    if kernel.is_ready:
        return kernel
    exact = resolve_kernel(kernel.kernel, kernel.bandwidth, Z, working_memory)
    if not isinstance(kernel, Nystrom):
        return fixed_features(kernel, exact, Z[:: -(-len(Z) // SMALL_ROWS)])
    if kernel.landmarks is not None:
        return fixed_features(kernel, exact, kernel.landmarks, Z.shape[1])
    rng = np.random.default_rng(kernel.seed)
    places = rng.choice(len(Z), min(len(Z), kernel.pool_size), replace=False)
    return chosen_landmarks(kernel, exact, Z[canonical_order(Z)[places]], rng)


def median_distance(Z: PooledRows, *, l1: bool = False, working_memory: float = 1024) -> float:
    """Return the median distance over distinct pairs of rows, Euclidean or L1.

    All pairs up to 4,096 rows, else 200,000 pairs drawn with a fixed seed, as many at a time as
    `working_memory` (MiB) allows. If more than half of the distances are 0 (many duplicates), the median of
    the others, with a warning.
    """
    if all(_each_part(Z, _is_constant, Z[:1])):
        msg = "all rows are equal, so there is no bandwidth. Check the columns, or give a `bandwidth`."
        raise DataError(msg)
    # By a power of two, which is exact: then squares neither overflow nor vanish.
    power = math.frexp(max(_each_part(Z, _largest)))[1]
    distances = _distances(Z, power, l1, working_memory)
    median = float(np.median(distances))
    if median > (0.0 if l1 else VANISHING):
        return math.ldexp(median, power)
    if not l1 and np.median(_distances(Z, power, True, working_memory)) > 0:  # no squares in these
        msg = (
            "most distances between rows are below 1e-150 of the largest value, so their squares vanish. "
            "Check the columns for stray values, or give a `bandwidth`."
        )
        raise DataError(msg)
    positive = distances[distances > 0]
    if positive.size == 0:
        msg = "nearly all rows are equal: no two rows that were compared differ. Give a `bandwidth`."
        raise DataError(msg)
    fallback = math.ldexp(float(np.median(positive)), power)
    warn(
        f"more than half of the pairs of rows are duplicates; the bandwidth is the median of the other "
        f"distances, {fallback:.6g}.",
        BandwidthWarning,
    )
    return fallback


def _distances(Z: PooledRows, power: int, l1: bool, working_memory: float) -> Float64s:
    """Return the distances of all pairs, or of many of them, divided by 2 to a power."""
    if len(Z) <= SMALL_ROWS:
        found = _all_distances(np.ldexp(Z[:], -power), l1)
        if found is not None:
            return found
    return _sampled_distances(Z, power, l1, working_memory)


def _each_part(Z: PooledRows, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Return what a function says of the rows: of all of them, or of each block where these lie apart."""
    return Z.each(function, *arguments) if isinstance(Z, RemoteRows) else [function(Z, *arguments)]


def _is_constant(Z: Float64s, row: Float64s) -> bool:
    return all((Z[:, column] == value).all() for column, value in enumerate(row[0]))


def _largest(Z: Float64s) -> float:
    return max(float(Z.max()), -float(Z.min()))  # without a copy of the rows


def canonical_order(Z: PooledRows, power: int = 0) -> NDArray[np.intp]:
    """Return an order of the rows, times 2 to a power, that depends on their values only, not their places.

    Rows are sorted by a 64-bit hash: equal rows are interchangeable, and different rows get
    different hashes but for a chance of about N^2 / 2^65. A lexicographic sort of half a
    million rows would take longer than the sums on a GPU.
    """
    return np.argsort(np.concatenate(_each_part(Z, _hashes, power)), kind="stable")


def _hashes(Z: Float64s, power: int) -> NDArray[np.uint64]:
    keys = np.asarray(np.random.default_rng(_SAMPLE_SEED).integers(2**63, size=Z.shape[1]), dtype=np.uint64)
    total = np.zeros(len(Z), dtype=np.uint64)
    for column in range(Z.shape[1]):
        values = np.ldexp(Z[:, column], power) + 0.0  # -0 and 0 are the same value
        total += _mixed(values.view(np.uint64) ^ keys[column])
    return total


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit numbers so that one bit changes half of the others (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _all_distances(Z: Float64s, l1: bool) -> Float64s | None:
    """Return the distances of all pairs; `None` where they are too many to be told from 0."""
    above = np.triu_indices(len(Z), k=1)
    if l1:
        return np.asarray(points.pair_numbers(Z, Z, "l1")[above])
    if len(Z) ** 2 * Z.shape[1] > points.QUICK_DIFFERENCES:
        squared = points.squared_products(points.centred(Z))[above]
        # A product cannot tell a tiny distance from none; with many duplicates that matters.
        if np.median(squared) > 1e-6 * squared.max():
            return np.asarray(np.sqrt(squared))
        if not points.differences_are_affordable(*Z.shape):
            return None
    return np.asarray(np.sqrt(points.squared_distances(Z)[above]))


def _sampled_distances(Z: PooledRows, power: int, l1: bool, working_memory: float) -> Float64s:
    order = canonical_order(Z, -power)
    rng = np.random.default_rng(_SAMPLE_SEED)
    first = rng.integers(len(Z), size=SAMPLED_PAIRS)
    second = (first + rng.integers(1, len(Z), size=SAMPLED_PAIRS)) % len(Z)  # never the same row
    distances = np.empty(SAMPLED_PAIRS)
    step = max(1, int(working_memory * MIB * SHARE) // (8 * Z.shape[1]))
    for start in range(0, SAMPLED_PAIRS, step):
        here = slice(start, start + step)
        gaps, others = (np.ldexp(Z[order[each[here]]], -power) for each in (first, second))
        gaps -= others
        distances[here] = np.abs(gaps).sum(axis=1) if l1 else np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
    return distances


def _bandwidth_number(value: object) -> float:
    if isinstance(value, str):
        msg = f"`bandwidth` must be 'median' or a positive number; got {value!r}."
        raise MmdBoundsError(msg)
    return value  # type: ignore[return-value]  # checked by the kernel itself
