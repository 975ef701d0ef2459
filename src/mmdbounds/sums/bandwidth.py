"""The bandwidth, from the pooled rows alone: no label and no row order may touch it.

The validity of a permutation test rests on that. Where pairs are sampled they are drawn
from the rows in an order of their own (`canonical_order`), so that shuffling the rows of a
file, or filing them differently, changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import BandwidthWarning, DataError, MmdBoundsError, shown_value, warn
from mmdbounds.kernels import BandwidthKernel, FunctionKernel, Kernel, kernel_class, kernel_names
from mmdbounds.sums import plan, points, rounding
from mmdbounds.sums.plan import MIB, SMALL_ROWS
from mmdbounds.sums.protocol import Float64s, PooledRows, RemoteRows
from mmdbounds.sums.threads import in_order, threads_for

SAMPLED_PAIRS = 200_000  # drawn for the median beyond `SMALL_ROWS` rows; its standard error is about 0.2 %
TRIED_PAIRS = 4096  # that say where about the median of all pairs is
MOST_NEAR = 1 / 32  # share of the pairs near the median beyond which differences of all pairs are as fast
SHARE = 1 / 32  # of the budget, for one side of the pairs whose distances are computed at a time
VANISHING = 1e-150  # distances, relative to the largest value, whose squares are no normal numbers
_SAMPLE_SEED = 20_230_807
Places = NDArray[np.intp]


def resolve_kernel(
    kernel: object,
    bandwidth: object,
    Z: PooledRows,
    working_memory: float = 1024,
) -> Kernel:
    """Return the kernel object that `kernel` and `bandwidth` ask for, on the pooled rows `Z`.

    `working_memory` is the budget in MiB for a median; it changes no number.
    """
    if isinstance(kernel, str):
        make = kernel_class(kernel)
        if issubclass(make, BandwidthKernel):
            if (factor := median_factor(bandwidth)) is not None:
                median = median_distance(Z, l1=make.geometry == "l1", working_memory=working_memory)
                return make(factor * median)
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
            f"got bandwidth={shown_value(bandwidth)} with the kernel {resolved.name!r}."
        )
        raise MmdBoundsError(msg)
    return resolved.for_columns(Z.shape[1])


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
    found = _median_by_products(np.ldexp(Z[:], -power)) if len(Z) <= SMALL_ROWS and not l1 else None
    if found is not None:
        return math.ldexp(found, power)
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


def _median_by_products(Z: Float64s) -> float | None:
    """Return the median Euclidean distance of all pairs, `None` where products cannot tell which it is.

    Products say which pairs are near the median. Only these are computed, from differences, so that the order
    of the rows changes no bit. The pairs below are only counted, block by block while they are in the cache;
    a sample says where to look.
    """
    rows = points.centred(Z)
    norms, ones = np.einsum("ij,ij->i", rows, rows)[:, None], np.ones((len(Z), 1))
    factors = np.hstack([-2.0 * rows, norms, ones]), np.hstack([rows, ones, norms])
    n_pairs = len(Z) * (len(Z) - 1) // 2
    ranks = np.array([(n_pairs - 1) // 2, n_pairs // 2])
    # Twice what a product and a difference, which loses less, can be off.
    window = 8 * rounding.lost_by_product(Z.shape[1]) * float(norms.max())
    first_try = _about_the_median(Z, n_pairs)
    if first_try is None:
        return None
    for low, high in (first_try, (-math.inf, math.inf)):
        near = _between(*factors, low, high)
        places = ranks - near.n_below
        if not 0 <= places[0] <= places[1] < len(near.squared):
            continue
        first, last = np.partition(near.squared, places)[places] + [-window, window]
        if first < low or last > high:
            continue
        chosen = np.flatnonzero((near.squared >= first) & (near.squared <= last))
        if len(chosen) > MOST_NEAR * n_pairs + 16:
            return None
        places -= int(np.count_nonzero(near.squared < first))
        i, j = near.pairs(chosen)
        distances = np.sort(_lengths(Z[i] - Z[j]))
        median = float(distances[places].mean())
        return median if median > VANISHING else None
    return None


def _about_the_median(Z: Float64s, n_pairs: int) -> tuple[float, float] | None:
    """Return squared distances between which the median lies, but for a chance of 1 in 10,000.

    `None` if so many are tied with it that all pairs may as well be computed from differences.
    """
    tried = min(n_pairs // 16, TRIED_PAIRS)
    if tried < 64:
        return -math.inf, math.inf
    first, second = _drawn_pairs(len(Z), tried)
    squared = np.sort(_lengths(Z[first] - Z[second])) ** 2
    if np.count_nonzero(squared == squared[tried // 2]) > max(MOST_NEAR * tried, 4):
        return None
    four_deviations = 2 * math.isqrt(tried)  # of the rank of the median among those tried
    return float(squared[tried // 2 - four_deviations]), float(squared[tried // 2 + four_deviations])


class _Near(NamedTuple):
    """Squared distances in a range, by product, and of which pairs they are."""

    n_below: int  # so many are below the range
    squared: Float64s
    places: Places  # of each in its block of the distances of all rows
    starts: Places  # of the distances of each block
    blocks: Places  # its first row, its first column, its width

    def pairs(self, chosen: Places) -> tuple[Places, Places]:
        """Return the rows and columns of some of the distances."""
        block = np.searchsorted(self.starts, chosen, side="right") - 1
        i0, j0, width = self.blocks[block].T
        return i0 + self.places[chosen] // width, j0 + self.places[chosen] % width


def _between(left: Float64s, right: Float64s, low: float, high: float) -> _Near:
    """Return the squared distances from `low` to `high`, each pair once."""
    spans = plan.strips([0, len(left)], points.TILE)[::-1]  # the longest strip first: threads end together
    mirrored = np.triu(np.ones((points.TILE, points.TILE), dtype=np.bool_))

    def work(span: tuple[int, int]) -> list[tuple[int, Float64s, Places, tuple[int, int, int]]]:
        (i0, i1), found = span, []
        for j0, j1 in plan.strips([0, i1], points.TILE):
            squared = left[i0:i1] @ right[j0:j1].T
            if j0 == i0:
                np.copyto(squared, math.nan, where=mirrored[: i1 - i0, : i1 - i0])
            n_below = int(np.count_nonzero(squared < low))
            places = np.flatnonzero((squared >= low) & (squared <= high))
            found.append((n_below, squared.ravel()[places], places, (i0, j0, j1 - j0)))
        return found

    strips = in_order(spans, work, threads_for(len(left) ** 2))
    n_below, squared, places, blocks = zip(*(block for _, strip in strips for block in strip), strict=True)
    starts = np.cumsum([0, *map(len, places)])[:-1]
    return _Near(sum(n_below), np.concatenate(squared), np.concatenate(places), starts, np.array(blocks))


def _lengths(gaps: Float64s) -> Float64s:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", gaps, gaps)))


def _distances(Z: PooledRows, power: int, l1: bool, working_memory: float) -> Float64s:
    """Return the distances of all pairs, or of many of them, divided by 2 to a power."""
    if len(Z) > SMALL_ROWS or not (l1 or points.differences_are_affordable(*Z.shape)):
        return _sampled_distances(Z, power, l1, working_memory)
    numbers = points.pair_matrix(np.ldexp(Z[:], -power), "l1" if l1 else "distance2")
    distances = np.concatenate([numbers[i, :i] for i in range(len(Z))])  # each pair once
    return distances if l1 else np.sqrt(distances, out=distances)


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


def _drawn_pairs(n_rows: int, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rng = np.random.default_rng(_SAMPLE_SEED)
    first = rng.integers(n_rows, size=count)
    return first, (first + rng.integers(1, n_rows, size=count)) % n_rows  # never the same row


def _sampled_distances(Z: PooledRows, power: int, l1: bool, working_memory: float) -> Float64s:
    order = canonical_order(Z, -power)
    first, second = _drawn_pairs(len(Z), SAMPLED_PAIRS)
    distances = np.empty(SAMPLED_PAIRS)
    step = max(1, int(working_memory * MIB * SHARE) // (8 * Z.shape[1]))
    for start in range(0, SAMPLED_PAIRS, step):
        here = slice(start, start + step)
        gaps, others = (np.ldexp(Z[order[each[here]]], -power) for each in (first, second))
        gaps -= others
        distances[here] = np.abs(gaps).sum(axis=1) if l1 else _lengths(gaps)
    return distances


def median_factor(bandwidth: object) -> float | None:
    """Return how many times the median distance a bandwidth is: 0.5 for "0.5 median"; `None` if it is not."""
    if not isinstance(bandwidth, str) or not (text := bandwidth.strip()).endswith("median"):
        return None
    before = text.removesuffix("median").strip()
    try:
        factor = float(before) if before else 1.0
    except ValueError:
        return None
    return factor if 0 < factor < math.inf else None


def _bandwidth_number(value: object) -> float:
    if isinstance(value, str):
        known = "'median', a multiple such as '0.5 median', or a positive number"
        msg = f"`bandwidth` must be {known}; got {shown_value(value)}."
        raise MmdBoundsError(msg)
    return value  # type: ignore[return-value]  # checked by the kernel itself
