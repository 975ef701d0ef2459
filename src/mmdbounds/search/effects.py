"""What each row does to an extreme: the best exchange that takes it to the other side of the filing."""

from __future__ import annotations

import numpy as np

from mmdbounds.objective import Indices, Labelling
from mmdbounds.results import Side
from mmdbounds.search.choice import outwards
from mmdbounds.search.ranking import largest
from mmdbounds.search.refine import CANDIDATES, parts_of
from mmdbounds.sums.plan import MIB, strips
from mmdbounds.sums.protocol import Float64s

SHARE_OF_MEMORY = 0.25
"""Share of the budget that the kernel values of one strip of rows may take."""


EXCHANGES, FEWEST_PARTNERS = 1 << 25, 64
"""Exchanges that are looked at, about: with more rows each has fewer partners than `CANDIDATES`."""


def row_effects(labelling: Labelling, side: Side) -> Float64s:
    """Return the change of the squared MMD if a row were on the other side, for each active row.

    A row that has moved goes back and the best other row of its group moves in its place, or the
    other way round: of all exchanges with that row the one after which the value is largest (upper
    side) or smallest (lower side). Where more than `CANDIDATES` rows could take its place, those with the
    most promising gradients are looked at. Rows of a group from which all rows have moved, or none, get NaN.
    """
    f = labelling.quadratic
    scores = labelling.sign * labelling.gradient()
    # delta_ij = g_j - g_i + c (k_ii + k_jj - 2 k_ij) is a number for each of the two rows, and -2 c k_ij.
    alone = np.where(labelling.moved, -scores, scores) + f.c * f.totals.diagonal[labelling.active]
    effects = np.full(len(scores), np.nan)
    for part, _ in parts_of(labelling):
        moved = part.start + np.flatnonzero(labelling.moved[part])
        stayed = part.start + np.flatnonzero(~labelling.moved[part])
        if len(stayed):
            effects[moved] = _best_exchanges(labelling, alone, moved, stayed, outwards(side))
            effects[stayed] = _best_exchanges(labelling, alone, stayed, moved, outwards(side))
    return effects


def _best_exchanges(
    labelling: Labelling, alone: Float64s, rows: Indices, others: Indices, out: float
) -> Float64s:
    """Return for each of `rows` the change by its best exchange with one of `others`.

    `out` is +1 to raise the value and -1 to lower it.
    """
    f = labelling.quadratic
    everyone = np.ones(len(others), dtype=np.bool_)
    count = min(len(others), CANDIDATES, max(FEWEST_PARTNERS, EXCHANGES // len(rows)))
    chosen = largest(out * alone[others], count, everyone, f.tie_width)
    partners = others[chosen]
    best = np.empty(len(rows))
    room = SHARE_OF_MEMORY * f.totals.sums.working_memory * MIB
    for start, stop in strips([0, len(rows)], max(1, int(room / (8 * len(partners))))):
        here = rows[start:stop]
        gains = f.totals.sums.block(labelling.pooled(here), labelling.pooled(partners))
        gains *= -2 * out * f.c
        gains += out * alone[partners]
        best[start:stop] = alone[here] + out * gains.max(axis=1)
    return best
