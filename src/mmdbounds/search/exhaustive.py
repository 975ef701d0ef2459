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

MOST_LABELLINGS = 2_000_000
CHUNK = 8192


@dataclass(frozen=True)
class Exhaustive:
    """Try every labelling, which proves that none lies beyond; refused where there are over two million."""

    name: ClassVar[str] = "exhaustive"

    def options(self) -> dict[str, Any]:
        """Return the options as plain data, for the record: there are none."""
        return {}

    def search(
        self, totals: GroupSums, counts: Counts, estimator: Estimator, side: Side, working_memory: float
    ) -> Found:
        """Return the extreme of all labellings."""
        n_labellings = math.comb(totals.q, counts.n_moved) * math.comb(totals.p, counts.n_moved_of_x)
        if n_labellings > MOST_LABELLINGS:
            msg = (
                f"`method='exhaustive'` tries every labelling, at most {MOST_LABELLINGS:,}; "
                f"here there are {_readable(n_labellings)}. Use method='s-sd'."
            )
            raise MmdBoundsError(msg)
        labelling = Labelling(Quadratic(totals, counts, estimator))
        outwards = 1.0 if side == "upper" else -1.0
        labelling.move(_best(labelling, outwards))
        value = labelling.value()
        return Found(
            value,
            labelling.rows_of_y(),
            labelling.rows_of_x(),
            status=f"all {n_labellings:,} labellings tried",
            certified=value + outwards * totals.tolerance,  # nothing lies beyond but for rounding
        )


def _best(labelling: Labelling, towards: float) -> Indices:
    """Return the movers (places among the active rows) with the extreme value; the first one on ties."""
    f, sign = labelling.quadratic, labelling.sign
    linear = sign * f.gradient_as_filed[labelling.active]
    signed = sign[:, None] * f.totals.sums.block(labelling.active, labelling.active) * sign
    best, rows = -math.inf, np.empty(0, dtype=np.intp)
    for movers in _chunks(labelling):
        t = movers.astype(np.float64)
        gains = towards * (t @ linear + f.c * np.einsum("ij,ij->i", t @ signed, t))
        # The earlier of two labellings that differ by rounding only.
        place = int(np.argmax(gains >= gains.max() - f.tolerance))
        if gains[place] > best + f.tolerance:
            best, rows = float(gains[place]), np.flatnonzero(movers[place])
    return rows


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
