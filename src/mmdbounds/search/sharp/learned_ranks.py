"""What learned multipliers rank: the partners and rows of a sample at a step, and thresholds for a proof.

With limits, partners of a stratum that is full have a threshold of their own (docs/sharp.md, "Rows that
cannot move, and limits").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmdbounds.objective import Indices
from mmdbounds.search.protocol import Part, limits_within, strata_of, within_limits
from mmdbounds.search.sharp.starting_points import Sample
from mmdbounds.sums.protocol import Float64s

ROWS_WIDTH = 0.5  # as in `ceiling`


@dataclass(frozen=True, eq=False)
class Fitted:
    """A sample with what a step needs of it, in `unit`s of the multipliers."""

    sample: Sample
    features: Float64s  # shape (n, D)
    linear: Float64s  # what each row adds alone
    # (n, groups or, with limits, strata): what the last partner of a row in each had at the last step.
    thresholds: Float64s


def rank(fitted: Fitted, x: Float64s, rows: slice, width: float, scores: Float64s) -> None:
    """Add to the scores of some rows what their partners give; `x` has a row for each."""
    found, first = np.empty(len(x)), 0
    for columns, count in fitted.sample.parts:
        last = first + max(len(limits_within(fitted.sample.limits, columns)), 1)
        thresholds = fitted.thresholds[rows, first:last]
        _find(fitted.sample, columns, count, x[:, columns], width, thresholds, found)
        scores[rows] += fitted.sample.weights[columns.start] * found
        first = last


def _find(
    some: Sample, part: slice, count: int, x: Float64s, width: float, thresholds: Float64s, found: Float64s
) -> None:
    """Find the thresholds of `count` values of one group, and the sums of the best, for each row of `x`."""
    from mmdbounds.search.sharp.multiplier_steps import find_capped, find_thresholds

    counts, limits = np.full((len(x), 1), count), limits_within(some.limits, part)
    edges = np.array([0, *(stratum.stop for stratum, _ in limits)] if limits else [0, x.shape[1]])
    if not limits:
        find_thresholds(x, edges, counts, width, thresholds, found)
        return
    caps = np.repeat([[most for _, most in limits]], len(x), axis=0)
    find_capped(x, edges, np.array([0, len(limits)]), counts, caps, width, thresholds, found)


def chosen(fitted: Fitted, scores: Float64s, width: float) -> tuple[float, Float64s]:
    """Return the bound of a sample and how much of each row is chosen, times what it stands for."""
    some, share, bound, found = fitted.sample, np.empty(len(scores)), 0.0, np.empty(1)
    n_chosen = sum(count * float(some.weights[part.start]) for part, count in some.parts)
    wide = ROWS_WIDTH * width * n_chosen
    for part, count in some.parts:
        here, limits = scores[None, part], limits_within(some.limits, part)
        threshold = np.partition(here, -count, axis=1)[:, [-count]]
        if limits:
            threshold = np.repeat(threshold, len(limits), axis=1)
        _find(some, part, count, here, wide, threshold, found)
        of_rows = threshold[0, strata_of(limits)] if limits else threshold
        share[part] = some.weights[part] * np.clip((here[0] - of_rows) / wide + 0.5, 0.0, 1.0)
        bound += some.weights[part.start] * found[0]
    return float(bound), share


def limits_of_some(limits: list[Part], some: Indices) -> list[Part]:
    """Return the strata of some of the columns, and how many of these partners may be."""
    sampled = []
    for stratum, most in limits:
        start, stop = np.searchsorted(some, [stratum.start, stratum.stop]).tolist()
        scaled = round(most * (stop - start) / (stratum.stop - stratum.start))
        sampled.append((slice(start, stop), min(max(scaled, 1), stop - start)))
    return sampled


def by_stratum(x: Float64s, limits: list[Part], count: int) -> Float64s:
    """Return the threshold of the best `count` values of each row within limits, and those of all strata."""
    left = within_limits(x, limits)
    possible = sum(most for _, most in limits) - 1  # a row is no partner of its own
    first = x.shape[1] - min(count, max(possible, 1))
    common = np.partition(left, first, axis=1)[:, [first]]
    common = np.where(np.isfinite(common), common, left.max(axis=1, initial=0.0, keepdims=True))
    own = [
        np.where(np.isfinite(left[:, stratum]), left[:, stratum], np.inf).min(axis=1, initial=np.inf)
        for stratum, _ in limits
    ]
    higher = np.stack([np.where(np.isfinite(each), each, -np.inf) for each in own], axis=1)
    return np.hstack([common, np.maximum(common, higher)])
