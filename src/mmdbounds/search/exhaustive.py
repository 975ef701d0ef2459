"""All labellings, one by one: the exact answer for a handful of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Any, ClassVar

import numpy as np

from mmdbounds.contamination import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import GroupSums, Indices, Labelling, Mask, Quadratic
from mmdbounds.results import Estimator, Side
from mmdbounds.search.found import Found
from mmdbounds.search.sides import EachSide

MOST_LABELLINGS = 2_000_000
MOST_ROWS = 2_000
"""Rows of a group: a matrix of their kernel values is kept, and a chunk of labellings marks each row."""

CHUNK = 2048


@dataclass(frozen=True)
class Exhaustive(EachSide):
    """Try every labelling, which proves that none lies beyond; refused where there are over two million."""

    name: ClassVar[str] = "exhaustive"

    def options(self) -> dict[str, Any]:
        """Return the options as plain data, for the record: there are none."""
        return {}

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse, before the work, counts with too many labellings or rows."""
        n_labellings = math.comb(q, counts.n_moved) * math.comb(p, counts.n_moved_of_x)
        if n_labellings > MOST_LABELLINGS:
            msg = (
                f"`method='exhaustive'` tries every labelling, at most {MOST_LABELLINGS:,}; "
                f"here there are {_readable(n_labellings)}. Use method='sharp'."
            )
            raise MmdBoundsError(msg)
        if counts.n_moved + counts.n_moved_of_x and max(p, q) > MOST_ROWS:
            msg = (
                f"`method='exhaustive'` takes groups of at most {MOST_ROWS:,} rows; got {p:,} and {q:,}. "
                "Use method='sharp'."
            )
            raise MmdBoundsError(msg)

    def search(self, totals: GroupSums, counts: Counts, estimator: Estimator, side: Side) -> Found:
        """Return the extreme of all labellings."""
        f = Quadratic(totals, counts, estimator)
        labelling = Labelling(f)
        outwards = 1.0 if side == "upper" else -1.0
        rows, gain, n_labellings = _best(labelling, outwards)
        labelling.move(rows)
        return Found(
            labelling.value(),
            labelling,
            status=f"all {n_labellings:,} labelling{'' if n_labellings == 1 else 's'} tried",
            certified=f.value_as_filed + outwards * (gain + f.margin),  # nothing beyond but rounding
        )


def _best(labelling: Labelling, outwards: float) -> tuple[Indices, float, int]:
    """Return the movers with the extreme value (places among the active rows), it, and how many were tried.

    Of labellings whose values differ by rounding only the first one is returned.
    """
    f, sign = labelling.quadratic, labelling.sign
    if not (f.counts.n_moved or f.counts.n_moved_of_x):
        return np.empty(0, dtype=np.intp), 0.0, 1
    linear = sign * f.gradient_as_filed[labelling.active]
    signed = sign[:, None] * f.totals.sums.block(labelling.active, labelling.active) * sign
    extreme, chosen, rows, tried = -math.inf, -math.inf, np.empty(0, dtype=np.intp), 0
    for movers in _chunks(labelling):
        t = movers.astype(np.float64)
        gains = outwards * (t @ linear + f.c * np.einsum("ij,ij->i", t @ signed, t))
        tried += len(gains)
        extreme = max(extreme, float(gains.max()))
        place = int(np.argmax(gains >= gains.max() - f.tie_width))
        if gains[place] > chosen + f.tie_width:
            chosen, rows = float(gains[place]), np.flatnonzero(movers[place])
    return rows, extreme, tried


def _chunks(labelling: Labelling) -> Iterator[Mask]:
    """Yield all labellings, some thousand at a time, one row each."""
    counts, n_x, n = labelling.quadratic.counts, labelling.n_active_x, len(labelling.sign)
    of_x = combinations(range(n_x), counts.n_moved_of_x)
    of_y = combinations(range(n_x, n), counts.n_moved)
    everything = (a + b for a, b in product(of_x, of_y))
    width = counts.n_moved + counts.n_moved_of_x
    while chunk := list(islice(everything, CHUNK)):
        movers = np.zeros((len(chunk), n), dtype=np.bool_)
        np.put_along_axis(movers, np.array(chunk, dtype=np.intp).reshape(len(chunk), width), True, axis=1)
        yield movers


def _readable(count: int) -> str:
    return f"{count:,}" if count < 10**12 else f"about 10^{len(str(count)) - 1}"
