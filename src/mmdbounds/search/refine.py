"""From a start to a labelling that no single exchange improves.

Upper side first: all rows are chosen anew by their gradient, which never loses because the
squared MMD is convex in the labels. Then, on both sides, the best exchange of a row that has moved
for one that has not, again and again. Exchanges are looked for among the rows whose gradients promise
most, many at a time; where there are few rows, among all.
"""

from __future__ import annotations

import numpy as np

from mmdbounds.objective import Indices, Labelling, Mask, Quadratic
from mmdbounds.results import Side
from mmdbounds.search.choice import outwards
from mmdbounds.search.ranking import largest
from mmdbounds.sums.protocol import Float64s

CANDIDATES = 512
"""Rows on either side of an exchange that are looked at together; all of them if there are no more."""

MOST_ROUNDS = 1000


def labelled(quadratic: Quadratic, rows: Indices) -> Labelling:
    """Return the labelling that moves `rows` (places among the active ones)."""
    labelling = Labelling(quadratic)
    labelling.move(rows)
    return labelling


def parts_of(labelling: Labelling) -> list[tuple[slice, int]]:
    """Return the active rows of each group from which rows are to move, with their number."""
    counts, n_x = labelling.quadratic.counts, labelling.n_active_x
    both = ((slice(0, n_x), counts.n_moved_of_x), (slice(n_x, len(labelling.sign)), counts.n_moved))
    return [(part, quota) for part, quota in both if quota]


def leading(labelling: Labelling, scores: Float64s) -> Indices:
    """Return the rows with the largest scores, as many of each group as are to move."""
    tie_width = labelling.quadratic.tie_width
    everyone = np.ones(len(scores), dtype=np.bool_)
    rows = [
        part.start + largest(scores[part], quota, everyone[part], tie_width)
        for part, quota in parts_of(labelling)
    ]
    return np.concatenate(rows) if rows else np.empty(0, dtype=np.intp)


def refine(labelling: Labelling, side: Side, worth: float = 0.0) -> None:
    """Bring a labelling to a local optimum, in place.

    A round of exchanges that gains less than `worth` is the last one.
    """
    if side == "upper":
        _ascend(labelling)
    for _ in range(MOST_ROUNDS):
        before = labelling.value()
        improved = [_exchange(labelling, part, outwards(side)) for part, _ in parts_of(labelling)]
        if not any(improved) or abs(labelling.value() - before) < worth:
            return


def _ascend(labelling: Labelling) -> None:
    """Choose all rows anew by their gradient, as long as the value rises."""
    value = labelling.value()
    while True:
        chosen: Mask = np.zeros(len(labelling.sign), dtype=np.bool_)
        chosen[leading(labelling, labelling.sign * labelling.gradient())] = True
        changed = np.flatnonzero(chosen ^ labelling.moved)
        if len(changed) == 0:
            return
        labelling.move(changed)
        # With duplicate rows the set can change for ever; the value decides.
        last, value = value, labelling.value()
        if value <= last + labelling.quadratic.totals.margin:
            labelling.move(changed)
            return


def _exchange(labelling: Labelling, part: slice, out: float) -> bool:
    """Make the best exchanges among the most promising rows of one group; return whether there were any.

    `out` is +1 to raise the value and -1 to lower it.
    """
    f = labelling.quadratic
    scores = out * (labelling.sign * labelling.gradient())[part]
    moved = labelling.moved[part]
    inside, outside = np.flatnonzero(moved), np.flatnonzero(~moved)
    candidates = part.start + np.concatenate(
        [_first(inside, scores[inside], CANDIDATES), _first(outside, -scores[outside], CANDIDATES)]
    )
    here = labelling.pooled(candidates)
    k = f.totals.sums.block(here, here)
    swapped = _best_swaps(
        labelling.moved[candidates],
        scores[candidates - part.start],
        out * f.c * k,
        out * f.c * f.totals.diagonal[here],
        f.totals.margin,
    )
    labelling.move(candidates[swapped])
    return len(swapped) > 0


def _first(rows: Indices, keys: Float64s, count: int) -> Indices:
    """Return the `count` rows with the smallest keys, or all of them if there are no more."""
    return rows if len(rows) <= count else rows[np.argpartition(keys, count)[:count]]


def _best_swaps(moved: Mask, scores: Float64s, pairs: Float64s, own: Float64s, least: float) -> Indices:
    """Exchange the best pair again and again; return the rows that ended on the other side.

    Row i leaves and row j enters at a gain of s_j - s_i + w_ii + w_jj - 2 w_ij; after that
    every score changes by 2 (w_.j - w_.i).
    """
    now, scores = moved.copy(), scores.copy()
    while True:
        inside, outside = np.flatnonzero(now), np.flatnonzero(~now)
        if len(inside) == 0 or len(outside) == 0:
            break
        leave, enter = own[inside] - scores[inside], own[outside] + scores[outside]
        gain = leave[:, None] + enter - 2 * pairs[np.ix_(inside, outside)]
        place = int(np.argmax(gain))
        if gain.flat[place] <= least:
            break
        i, j = inside[place // len(outside)], outside[place % len(outside)]
        now[i], now[j] = False, True
        scores += 2 * (pairs[j] - pairs[i])
    return np.flatnonzero(now ^ moved)
