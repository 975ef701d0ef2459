"""Exchanges of a row that has moved for one that has not: to refine a labelling, and to tell what a row does.

See docs/sharp.md, "Refinement: from a start to a local optimum". Exchanges are sought among the rows with the
most promising gradients, many at a time; where there are few rows, among all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.objective import Indices, Labelling, Mask, Quadratic
from mmdbounds.results import Side
from mmdbounds.search.protocol import largest, leading, limits_left, outwards, strata_of
from mmdbounds.sums.plan import MIB, strips
from mmdbounds.sums.protocol import Float64s

CANDIDATES = 512  # rows on either side of an exchange that are considered together
MOST_ROUNDS = 1000
EXCHANGES, FEWEST_PARTNERS = 1 << 25, 64  # about how many exchanges `row_effects` considers
SHARE_OF_MEMORY = 0.25  # share of the budget that the kernel values of one strip of rows may take


def refine(labelling: Labelling, side: Side, worth: float = 0.0) -> None:
    """Bring a labelling to a local optimum, in place; a round that gains less than `worth` is the last."""
    if side == "upper":
        _ascend(labelling)
    for _ in range(MOST_ROUNDS):
        before = labelling.value()
        improved = [_exchange(labelling, part, outwards(side)) for part, _ in labelling.parts()]
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
    """Make the best exchanges among the most promising rows of one group; return whether there were any."""
    f, moved = labelling.quadratic, labelling.moved[part]
    scores = out * (labelling.sign * labelling.gradient())[part]
    inside, outside = np.flatnonzero(moved), np.flatnonzero(~moved)
    both = _first(inside, scores[inside], CANDIDATES), _first(outside, -scores[outside], CANDIDATES)
    candidates = part.start + np.concatenate(both)
    here = labelling.pooled(candidates)
    k = f.totals.sums.block(here, here)
    now, own = labelling.moved[candidates], out * f.c * f.totals.diagonal[here]
    limits, room = labelling.limits(), None
    if limits:
        left = np.array([most for _, most in limits_left(limits, labelling.moved)])
        room = strata_of(limits)[candidates], left
    swapped = _best_swaps(now, scores[candidates - part.start], out * f.c * k, own, f.totals.margin, room)
    labelling.move(candidates[swapped])
    return len(swapped) > 0


def _first(rows: Indices, keys: Float64s, count: int) -> Indices:
    """Return the `count` rows with the smallest keys, or all of them if there are no more."""
    return rows if len(rows) <= count else rows[np.argpartition(keys, count)[:count]]


def _best_swaps(
    moved: Mask,
    scores: Float64s,
    pairs: Float64s,
    own: Float64s,
    least: float,
    room: tuple[Indices, Indices] | None = None,
) -> Indices:
    """Exchange the best pair again and again; return the rows that ended on the other side.

    Row i leaves and row j enters at a gain of s_j - s_i + w_ii + w_jj - 2 w_ij; after that every score
    changes by 2 (w_.j - w_.i). With `room`, the stratum of each row and how many more rows of each stratum
    may move, a row enters a full stratum only if one of it leaves.
    """
    now, scores = moved.copy(), scores.copy()
    stratum, left = room or (np.zeros(len(moved), dtype=np.intp), np.ones(1, dtype=np.intp))
    left, shape = left.copy(), (np.count_nonzero(now), np.count_nonzero(~now))
    # Used again for every exchange: fresh memory would take longer than what is done in it.
    alone, gain, places = np.empty(shape), np.empty(shape), np.empty(shape, dtype=np.intp)
    while min(shape) > 0:
        inside, outside = np.flatnonzero(now), np.flatnonzero(~now)
        np.add((own[inside] - scores[inside])[:, None], own[outside] + scores[outside], out=alone)
        np.add(inside[:, None] * len(pairs), outside, out=places)
        np.take(pairs, places, out=gain, mode="clip")  # which, unlike "raise", needs no buffer
        np.multiply(gain, 2, out=gain)
        np.subtract(alone, gain, out=gain)
        if room is not None:
            gain[(left[stratum[outside]] <= 0) & (stratum[inside, None] != stratum[outside])] = -np.inf
        place = int(np.argmax(gain))
        if gain.flat[place] <= least:
            break
        i, j = inside[place // len(outside)], outside[place % len(outside)]
        now[i], now[j] = False, True
        left[stratum[i]] += 1
        left[stratum[j]] -= 1
        scores += 2 * (pairs[j] - pairs[i])
    return np.flatnonzero(now ^ moved)


def row_effects(labelling: Labelling, side: Side) -> Float64s:
    """Return the change of the squared MMD if a row were on the other side, for each active row.

    A row that has moved goes back and the best other row of its group moves in its place, or the
    other way round: of all exchanges with that row, the one after which the value is largest (upper
    side) or smallest (lower side). Where more than `CANDIDATES` rows could take its place, those with the
    most promising gradients are considered. Limits hold after the exchange as well. Rows that no exchange
    can concern get NaN: those of a group from which all rows have moved, or none.
    """
    f = labelling.quadratic
    scores = labelling.sign * labelling.gradient()
    # delta_ij = g_j - g_i + c (k_ii + k_jj - 2 k_ij): a term of each row alone, and -2 c k_ij.
    alone = np.where(labelling.moved, -scores, scores) + f.c * f.totals.diagonal[labelling.active]
    effects = np.full(len(scores), np.nan)
    for rows, others in _exchangeable(labelling):
        if len(rows) and len(others):
            effects[rows] = _changes(labelling, alone, rows, others, outwards(side))
    return effects


def _exchangeable(labelling: Labelling) -> Iterator[tuple[Indices, Indices]]:
    """Yield rows, and those for which each may be exchanged: moved for stayed, and stayed for moved."""
    limits = labelling.limits()
    for part, _ in labelling.parts():
        moved = part.start + np.flatnonzero(labelling.moved[part])
        stayed = part.start + np.flatnonzero(~labelling.moved[part])
        if not limits:
            yield moved, stayed
            yield stayed, moved
            continue
        stratum, left = strata_of(limits), [most for _, most in limits_left(limits, labelling.moved)]
        has_room = np.array(left)[stratum] > 0
        for k in np.unique(stratum[part]):
            yield moved[stratum[moved] == k], stayed[has_room[stayed] | (stratum[stayed] == k)]
            yield stayed[stratum[stayed] == k], moved[(left[k] > 0) | (stratum[moved] == k)]


def effects_by_group(
    labelling: Labelling, side: Side, admissible: Iterable[Counts] = ()
) -> tuple[Float64s, Float64s]:
    """Return the effects of all rows of Y, and of all rows of X.

    A row that no exchange can concern changes sides alone, where one row more or less is admissible: its
    effect is NaN only if that is not so either.
    """
    t, out = labelling.quadratic.totals, outwards(side)
    effects = np.full(t.p + t.q, np.nan)
    effects[labelling.active] = row_effects(labelling, side)
    is_open = np.isnan(effects)
    for counts in _neighbours(labelling.quadratic.counts, admissible) if is_open.any() else ():
        rows, changes = _alone(labelling, counts)
        changes[~is_open[rows]] = np.nan
        effects[rows] = out * np.fmax(out * effects[rows], out * changes)
    return effects[t.p :], effects[: t.p]


def _neighbours(here: Counts, admissible: Iterable[Counts]) -> list[Counts]:
    """Return the admissible counts with one row more, or one less, of one of the groups."""

    def distance(counts: Counts) -> int:
        return abs(counts.n_moved - here.n_moved) + abs(counts.n_moved_of_x - here.n_moved_of_x)

    return [counts for counts in admissible if distance(counts) == 1]


def _alone(labelling: Labelling, counts: Counts) -> tuple[Indices, Float64s]:
    """Return the pooled rows of which one alone can change sides, to these counts, and what that changes."""
    f, before = labelling.quadratic, labelling.quadratic.counts
    there = Labelling(Quadratic(f.totals, counts, "unbiased" if f.o else "biased"))
    if labelling.moved.any():
        if there.active != labelling.active:  # rows of X begin to move, or end: their sums are not at hand
            return np.empty(0, dtype=np.intp), np.empty(0)
        there.moved, there.shift = labelling.moved.copy(), labelling.shift.copy()
    step = counts.n_moved - before.n_moved + counts.n_moved_of_x - before.n_moved_of_x
    in_group = (there.sign > 0) == (counts.n_moved != before.n_moved)
    may = in_group & (there.moved if step < 0 else ~there.moved)
    if step > 0 and (limits := there.limits()):
        left = np.array([most for _, most in limits_left(limits, there.moved)])
        may &= left[strata_of(limits)] > 0
    rows = np.flatnonzero(may)
    # The quadratic of the new sizes, at the old labelling and one step from there.
    own = there.quadratic.c * f.totals.diagonal[there.active][rows]
    slope = step * (there.sign * there.gradient())[rows]
    return there.active.start + rows, there.value() - labelling.value() + slope + own


def _n_partners(n_rows: int, n_others: int) -> int:
    return min(n_others, CANDIDATES, max(FEWEST_PARTNERS, EXCHANGES // n_rows))


def _changes(labelling: Labelling, alone: Float64s, rows: Indices, others: Indices, out: float) -> Float64s:
    """Return for each of `rows` the change by its best exchange with one of `others`."""
    f = labelling.quadratic
    everyone = np.ones(len(others), dtype=np.bool_)
    count = _n_partners(len(rows), len(others))
    partners = others[largest(out * alone[others], count, everyone, f.tie_width)]
    best = np.empty(len(rows))
    room = SHARE_OF_MEMORY * f.totals.sums.working_memory * MIB
    for start, stop in strips([0, len(rows)], max(1, int(room / (8 * len(partners))))):
        here = rows[start:stop]
        gains = f.totals.sums.block(labelling.pooled(here), labelling.pooled(partners))
        gains *= -2 * out * f.c
        gains += out * alone[partners]
        best[start:stop] = alone[here] + out * gains.max(axis=1)
    return best
