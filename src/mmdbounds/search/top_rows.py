"""The rows with the largest scores: with ties that do not depend on rounding, or just fast."""

from __future__ import annotations

import numpy as np

from mmdbounds.objective import Indices, Labelling, Mask
from mmdbounds.sums.protocol import Float64s

Part = tuple[slice, int]
"""Rows of one group, and how many of them are to be chosen."""


def largest(scores: Float64s, count: int, eligible: Mask, tie_width: float) -> Indices:
    """Return the `count` eligible rows with the largest scores, in the order of the rows.

    Scores within `tie_width` of the last one to be taken are tied with it, and the lowest
    rows of these are taken: duplicates get scores that differ by rounding only, and the choice
    must not depend on the order in which a sum was added up.
    """
    if count == 0:
        return np.empty(0, dtype=np.intp)
    masked = np.where(eligible, scores, -np.inf)
    cut = masked.max() if count == 1 else np.partition(masked, len(masked) - count)[len(masked) - count]
    sure = masked > cut + tie_width
    tied = np.flatnonzero((masked >= cut - tie_width) & ~sure)
    return np.sort(np.concatenate([np.flatnonzero(sure), tied[: count - np.count_nonzero(sure)]]))


def at_least(scores: Float64s, rank: int, eligible: Mask, tie_width: float) -> Indices:
    """Return the eligible rows whose score is no less than the `rank`-th largest, ties included."""
    masked = np.where(eligible, scores, -np.inf)
    cut = np.partition(masked, len(masked) - rank)[len(masked) - rank]
    return np.flatnonzero(masked >= cut - tie_width)


def leading(labelling: Labelling, scores: Float64s) -> Indices:
    """Return the active rows with the largest scores, as many of each group as are to move."""
    tie_width = labelling.quadratic.tie_width
    everyone = np.ones(len(scores), dtype=np.bool_)
    rows = [
        part.start + largest(scores[part], quota, everyone[part], tie_width)
        for part, quota in labelling.parts()
    ]
    return np.concatenate(rows) if rows else np.empty(0, dtype=np.intp)


def largest_sums(values: Float64s, count: int) -> Float64s:
    """Return for each row of `values`, shape (n, d), the sum of its `count` largest entries."""
    if count == 0:
        return np.zeros(len(values))
    first = values.shape[1] - count
    return np.asarray(np.partition(values, first, axis=1)[:, first:].sum(axis=1))


def largest_places(values: Float64s, count: int) -> Indices:
    """Return for each row of `values`, shape (n, d), where its `count` largest entries are: (n, count)."""
    if count == 0:
        return np.empty((len(values), 0), dtype=np.intp)
    first = values.shape[1] - count
    return np.asarray(np.argpartition(values, first, axis=1)[:, first:])


def top_sum(scores: Float64s, parts: list[Part]) -> float:
    """Return the sum of the largest scores, as many in each part as its quota says."""
    return float(sum(largest_sums(scores[None, part], quota)[0] for part, quota in parts))


def top_places(scores: Float64s, parts: list[Part]) -> Indices:
    """Return where the largest scores are, as many in each part as its quota says."""
    return np.concatenate(
        [part.start + largest_places(scores[None, part], quota)[0] for part, quota in parts]
    )
