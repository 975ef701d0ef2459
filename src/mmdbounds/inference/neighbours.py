"""What was found for one count of misfiled rows as a start for another.

Neighbours on a curve have nearly the same extreme rows, and each has had starts of its own. So what one
of them found helps the others: up along the counts, rows are added to it, and down, taken away.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mmdbounds.objective import Labelling, Mask, Quadratic
from mmdbounds.results import Side
from mmdbounds.search.choice import outwards
from mmdbounds.search.found import Found
from mmdbounds.search.ranking import largest
from mmdbounds.search.refine import labelled, parts_of, refine
from mmdbounds.sums.threads import one_blas_thread

SIDES: tuple[Side, Side] = ("lower", "upper")

Ends = tuple[Found, Found]
"""What was found for one count, on the lower and on the upper side; one-way."""


def along(ends: list[Ends]) -> list[Ends]:
    """Return what was found for each count of a curve, once each has learnt from its neighbours.

    No end is less extreme than it was, and what is proved stays: it holds for every labelling.
    """
    ends = list(ends)
    up = range(1, len(ends))
    for here, there in [(i, i - 1) for i in up] + [(i - 1, i) for i in reversed(up)]:
        lower, upper = (
            from_neighbour(own, other, side)
            for own, other, side in zip(ends[here], ends[there], SIDES, strict=True)
        )
        ends[here] = lower, upper
    return ends


def from_neighbour(found: Found, neighbour: Found, side: Side) -> Found:
    """Return what was found, or what the rows of a neighbour lead to if that is more extreme."""
    own, other = found.labelling, neighbour.labelling
    if own is None or other is None or not parts_of(own) or _is_proved(found, own.quadratic):
        return found
    with one_blas_thread():  # two threads would add in another order than one
        started = resized(own.quadratic, other.moved, side)
        refine(started, side)
    value = started.value()
    if outwards(side) * (value - found.value) <= own.quadratic.totals.margin:  # the same, but for rounding
        return found
    return replace(found, value=value, labelling=started)


def resized(quadratic: Quadratic, moved: Mask, side: Side) -> Labelling:
    """Return a labelling near one of another count: the best rows are added, or the worst given back."""
    labelling = labelled(quadratic, np.flatnonzero(moved))
    scores = outwards(side) * labelling.sign * labelling.gradient()
    missing = quadratic.counts.n_moved - int(np.count_nonzero(moved))
    if missing >= 0:
        changed = largest(scores, missing, ~moved, quadratic.tie_width)
    else:
        changed = largest(-scores, -missing, moved, quadratic.tie_width)
    labelling.move(changed)
    return labelling


def _is_proved(found: Found, quadratic: Quadratic) -> bool:
    """Return whether there is nothing left to find, but for rounding."""
    return (
        found.certified is not None and abs(found.certified - found.value) <= 2 * quadratic.margin_by_gradient
    )
