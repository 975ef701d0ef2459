"""Labellings from which the search of a side starts; where rows are many, optima of a sample of them.

The upper side has many local optima in different regions of the data. Which starts pay was measured on draws
of FOREST, BIO and two-dimensional logits, as the share of problems whose best labelling was found from twelve
starts: random sets 92 %, the rows drawn to one random row 97 %, to about the square root of m random rows
99 %, farthest points 84 %, S-SD alone 46 %. The lower side is nearly convex: any start comes within 1 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mmdbounds.objective import Indices, Labelling, Quadratic
from mmdbounds.results import Side
from mmdbounds.search.protocol import (
    NO_ROWS,
    Part,
    largest_places,
    leading,
    limits_within,
    top_places,
    within_limits,
)
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.sums.plan import MIB
from mmdbounds.sums.protocol import Float64s

SAMPLED = 4000  # rows of a sample whose optima are sought
CONTINUED = 5  # of these optima so many are continued on all rows...
ALIKE = 0.98  # ... that share at most this part of their rows
MOST_ROUNDS = 100
MATRICES = 4  # of a sample's size that the budget has room for


@dataclass(frozen=True, eq=False)
class Sample:
    """Some active rows in place of all, in order: those of a group are next to each other."""

    rows: Indices  # places among the active rows
    parts: list[Part]  # rows of each group in the sample, and how many of them move
    weights: Float64s  # how many rows each stands for
    values: Float64s  # kernel values with the signs of both rows, shape (n, n)
    limits: list[Part]  # strata of the sample, and how many of each may move; empty: no limits


def sample(
    labelling: Labelling, n_rows: int, rng: np.random.Generator, groups: list[Part] | None = None
) -> Sample:
    """Draw about `n_rows` of the active rows, the same share of each group, or take all.

    `groups` have the number of rows that are chosen; by default those that move.
    """
    share, rows, parts, weights = n_rows / len(labelling.sign), [NO_ROWS], [], [np.empty(0)]
    limits: list[Part] = []
    for part, quota in groups or labelling.parts():
        size, start = part.stop - part.start, sum(map(len, rows))
        drawn = rng.choice(size, int(np.clip(round(share * size), min(4, size), size)), replace=False)
        rows.append(part.start + np.sort(drawn))
        moved = int(np.clip(round(quota * len(drawn) / size), 1, max(len(drawn) - 1, 1)))
        parts.append((slice(start, start + len(drawn)), moved))
        weights.append(np.full(len(drawn), size / len(drawn)))
        limits += _sampled_limits(limits_within(labelling.limits(), part), np.sort(drawn), start, moved)
    everyone = np.concatenate(rows)
    here, sign = labelling.pooled(everyone), labelling.sign[everyone]
    values = labelling.quadratic.totals.sums.block(here, here)
    values *= sign[:, None] * sign
    return Sample(everyone, parts, np.concatenate(weights), values, limits)


def _sampled_limits(limits: list[Part], drawn: Indices, start: int, moved: int) -> list[Part]:
    """Return the strata of the rows drawn of a group, which begin at `start`, so that `moved` can move."""
    sampled: list[Part] = []
    for stratum, most in limits:
        first, last = np.searchsorted(drawn, [stratum.start, stratum.stop]).tolist()
        scaled = math.ceil(most * (last - first) / (stratum.stop - stratum.start))
        if last > first:
            sampled.append((slice(start + first, start + last), scaled))
    if sampled and sum(most for _, most in sampled) < moved:
        return [(slice(start, start + len(drawn)), len(drawn))]
    return sampled


def starts(quadratic: Quadratic, side: Side, rng: np.random.Generator) -> Iterator[Labelling]:
    """Yield labellings to start from, S-SD first, without end."""
    for n_steps in (None, max(quadratic.counts.n_moved, 1), 1) if side == "lower" else (None,):
        yield StepwiseDominance(n_steps).from_quadratic(quadratic, side)
    most = max(quadratic.counts.n_moved, quadratic.counts.n_moved_of_x)
    while True:
        if side == "lower":
            yield Labelling(quadratic, _random_rows(Labelling(quadratic), rng, most))
        else:
            yield _gathered(quadratic, rng, 1)
            yield _gathered(quadratic, rng, max(2, math.isqrt(most)))


def upper_starts_from_sample(
    quadratic: Quadratic, rng: np.random.Generator, n_starts: int
) -> Iterator[Labelling]:
    """Yield S-SD's labelling, and those that the best of `n_starts` local optima of a sample ask for."""
    yield StepwiseDominance().from_quadratic(quadratic, "upper")
    filed = Labelling(quadratic)
    room = quadratic.totals.sums.working_memory * MIB / MATRICES
    some = sample(filed, min(SAMPLED, math.isqrt(int(room / 8))), rng)
    seeds = rng.choice(len(some.rows), min(n_starts, len(some.rows)), replace=False)
    for chosen in _optima(filed, some, seeds):
        signed = filed.sign[some.rows[chosen]] * some.weights[chosen]
        pull = quadratic.totals.sums.apply(filed.active, filed.pooled(some.rows[chosen]), signed)
        gradient = filed.gradient() + 2 * quadratic.c * pull
        yield Labelling(quadratic, leading(filed, filed.sign * gradient))


def _optima(filed: Labelling, some: Sample, seeds: Indices) -> list[Indices]:
    """Return the best of the local optima that begin with the rows of a sample nearest to each seed."""
    f = filed.quadratic
    linear = (filed.sign * filed.gradient())[some.rows, None]
    scores, labels = some.values[:, seeds], np.zeros((len(some.rows), len(seeds)))
    for _ in range(MOST_ROUNDS):
        last, labels = labels, np.zeros_like(labels)
        for part, quota in some.parts:
            places = part.start + largest_places(within_limits(scores.T, some.limits)[:, part], quota).T
            np.put_along_axis(labels, places, 1.0, axis=0)
        if np.array_equal(last, labels):
            break
        pull = f.c * (some.values @ (some.weights[:, None] * labels))
        gains = ((some.weights[:, None] * labels) * (linear + pull)).sum(axis=0)
        scores = linear + 2 * pull
    found: list[Indices] = []
    for k in np.argsort(-gains, kind="stable"):
        chosen = np.flatnonzero(labels[:, k])
        if all(np.isin(chosen, other).mean() <= ALIKE for other in found):
            found.append(chosen)
        if len(found) == CONTINUED:
            break
    return found


def _gathered(quadratic: Quadratic, rng: np.random.Generator, n_seeds: int) -> Labelling:
    """Return the labelling that the gradient asks for when all movers are placed on a few random rows."""
    filed = Labelling(quadratic)
    seeds = _random_rows(filed, rng, n_seeds)
    share = np.ones(len(seeds))
    for part, quota in filed.parts():
        here = (seeds >= part.start) & (seeds < part.stop)
        share[here] = quota / max(int(np.count_nonzero(here)), 1)
    pull = quadratic.totals.sums.apply(filed.active, filed.pooled(seeds), filed.sign[seeds] * share)
    gradient = filed.gradient() + 2 * quadratic.c * pull
    return Labelling(quadratic, leading(filed, filed.sign * gradient))


def _random_rows(filed: Labelling, rng: np.random.Generator, most: int) -> Indices:
    """Return random rows of each group, no more than are to move, within limits."""
    drawn = [np.empty(0, dtype=np.intp)]
    if limits := filed.limits():
        parts = [(part, min(quota, most)) for part, quota in filed.parts()]
        return np.sort(top_places(rng.random(len(filed.sign)), parts, limits))
    for part, quota in filed.parts():
        drawn.append(part.start + rng.choice(part.stop - part.start, min(quota, most), replace=False))
    return np.sort(np.concatenate(drawn))
