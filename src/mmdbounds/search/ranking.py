"""Who comes first: the rows with the largest scores, ties by the lowest row."""

from __future__ import annotations

import numpy as np

from mmdbounds.objective import Indices, Mask
from mmdbounds.sums.protocol import Float64s


def largest(scores: Float64s, count: int, eligible: Mask, tie_width: float) -> Indices:
    """Return the `count` eligible rows with the largest scores, in the order of the rows.

    Scores within `tie_width` of the last one to be taken are tied with it, and the lowest
    rows of these are taken: duplicates get scores that differ by rounding only, and the choice
    must not hang on the order in which a sum was added up.
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
