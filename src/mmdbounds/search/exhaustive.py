"""All labellings, one by one: the exact answer for a handful of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import ClassVar

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import GroupSums, Indices, Labelling, Mask, Quadratic
from mmdbounds.results import Estimator, Side
from mmdbounds.search.protocol import NO_ROWS, EachSide, Found, Part, outwards

MOST_LABELLINGS = 2_000_000
MOST_ROWS = 2_000  # rows of a group: their kernel matrix is held in memory, and so are chunks of labellings
CHUNK = 2048


@dataclass(frozen=True)
class Exhaustive(EachSide):
    """Try every labelling, which proves that none lies beyond; refused where there are over two million."""

    name: ClassVar[str] = "exhaustive"

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse counts with too many labellings or rows."""
        active = counts.may_move(p, q)
        of_x, of_y = _strata(counts, p - active.start, active.stop - active.start)
        count = _n_choices(of_y, counts.n_moved) * _n_choices(of_x, counts.n_moved_of_x)
        if count > MOST_LABELLINGS:
            here = f"{count:,}" if count < 10**12 else f"about 10^{len(str(count)) - 1}"
            most = f"`method='exhaustive'` tries every labelling, at most {MOST_LABELLINGS:,}"
            msg = f"{most}; here there are {here}. Use method='sharp'."
            raise MmdBoundsError(msg)
        if counts.n_moved + counts.n_moved_of_x and max(p - active.start, active.stop - p) > MOST_ROWS:
            groups = f"groups of at most {MOST_ROWS:,} rows; got {p:,} and {q:,}"
            msg = f"`method='exhaustive'` takes {groups}. Use method='sharp'."
            raise MmdBoundsError(msg)

    def search(self, totals: GroupSums, counts: Counts, estimator: Estimator, side: Side) -> Found:
        """Return the extreme of all labellings."""
        f, out = Quadratic(totals, counts, estimator), outwards(side)
        rows, gain, n = _best(Labelling(f), out)
        status = f"all {n:,} labelling{'' if n == 1 else 's'} tried"
        certified = f.value_as_filed + out * (gain + f.margin)  # nothing beyond but rounding
        return Found.at(Labelling(f, rows), status=status).proved(certified, side)


def _best(labelling: Labelling, out: float) -> tuple[Indices, float, int]:
    """Return the movers with the largest gain (places among the active rows), the gain, and the number tried.

    Of labellings whose values differ by rounding only, the first one is returned. `out` is the side's sign.
    """
    f, sign = labelling.quadratic, labelling.sign
    if not (f.counts.n_moved or f.counts.n_moved_of_x):
        return NO_ROWS, 0.0, 1
    linear = sign * f.gradient_as_filed[labelling.active]
    signed = sign[:, None] * f.totals.sums.block(labelling.active, labelling.active) * sign
    extreme, chosen, rows, tried = -math.inf, -math.inf, NO_ROWS, 0
    for movers in _chunks(labelling):
        t = movers.astype(np.float64)
        gains = out * (t @ linear + f.c * np.einsum("ij,ij->i", t @ signed, t))
        tried += len(gains)
        extreme = max(extreme, float(gains.max()))
        place = int(np.argmax(gains >= gains.max() - f.tie_width))
        if gains[place] > chosen + f.tie_width:
            chosen, rows = float(gains[place]), np.flatnonzero(movers[place])
    return rows, extreme, tried


def _chunks(labelling: Labelling) -> Iterator[Mask]:
    """Yield all labellings in chunks of shape (`CHUNK`, active rows), a labelling a row."""
    counts, n = labelling.quadratic.counts, len(labelling.sign)
    of_x, of_y = _strata(counts, labelling.n_active_x, n)
    both = product(_choices(of_x, counts.n_moved_of_x), _choices(of_y, counts.n_moved))
    everything = (rows_of_x + rows_of_y for rows_of_x, rows_of_y in both)
    width = counts.n_moved + counts.n_moved_of_x
    while chunk := list(islice(everything, CHUNK)):
        movers = np.zeros((len(chunk), n), dtype=np.bool_)
        np.put_along_axis(movers, np.array(chunk, dtype=np.intp).reshape(len(chunk), width), True, axis=1)
        yield movers


def _strata(counts: Counts, n_x: int, n: int) -> tuple[list[Part], list[Part]]:
    """Return the strata of the active rows of X, and of those of Y: without limits one each."""
    strata = counts.limits() or [(slice(0, n_x), n_x), (slice(n_x, n), n - n_x)]
    return [each for each in strata if each[0].stop <= n_x], [each for each in strata if each[0].stop > n_x]


def _choices(strata: list[Part], count: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to choose `count` rows, no more of a stratum than its limit."""
    if not strata:
        yield from [()] if count == 0 else []
        return
    (rows, most), rest = strata[0], strata[1:]
    fewest = max(0, count - sum(limit for _, limit in rest))
    for here in range(min(most, count), fewest - 1, -1):
        for first in combinations(range(rows.start, rows.stop), here):
            for others in _choices(rest, count - here):
                yield first + others


def _n_choices(strata: list[Part], count: int) -> int:
    """Return how many ways `_choices` yields: products of one polynomial for each stratum."""
    ways = [1] + [0] * count  # to choose 0, 1, ... rows of the strata so far
    for rows, most in strata:
        own = [math.comb(rows.stop - rows.start, k) for k in range(min(most, count) + 1)]
        ways = [sum(w * ways[k - i] for i, w in enumerate(own[: k + 1])) for k in range(count + 1)]
    return ways[count]
