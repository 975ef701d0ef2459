"""Where an audit stands: which of the rows looked up were drawn at random, and what follows about the others.

The rows of Y as filed have one order, drawn from a seed and their names: a hash of both decides where a row
stands, so that it depends neither on the other rows nor on what was looked up. The rows drawn at random
are the first ones in this order, as far as all of them have been looked up; whoever fills in more of them
continues the same audit. Rows beyond them were chosen by somebody. Their truth counts, but they say nothing
about the rest.

This is right however the chosen rows were chosen, and whenever: the limits after 1, 2, 3, ... rows of a
random order all hold together (`anytime_limits`), so it does not matter how far it was followed, and why. A
chosen row that the order comes to later is one of its rows, without any more work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mmdbounds.number_limits import Limits, anytime_limits
from mmdbounds.objective import Indices

NOT_LOOKED_UP, BELONGS_TO_Y, BELONGS_TO_X = -1, 0, 1
"""What is known of a row of Y as filed."""


def audit_order(names: Sequence[str], seed: int) -> Indices:
    """Return the rows in the order in which they are to be checked, the same for the same names and seed."""
    keys = [hashlib.sha256(f"{seed}\n{name}".encode(errors="surrogatepass")).digest() for name in names]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)


def order_digest(names: Sequence[str], order: Indices) -> str:
    """Return what tells one order from another, to be noted before the first row is looked up."""
    listed = "\n".join(names[row] for row in order)
    return hashlib.sha256(listed.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, eq=False)
class AuditState:
    """What has been looked up, in a recorded order.

    Attributes
    ----------
    order
        The rows of Y as filed, in the order in which they are to be checked.
    truth
        What is known of each row (in the order of Y): `BELONGS_TO_X`, `BELONGS_TO_Y` or `NOT_LOOKED_UP`.
    """

    order: Indices
    truth: NDArray[np.intp]

    @property
    def n_rows(self) -> int:
        """Rows of Y as filed."""
        return len(self.order)

    @property
    def n_random(self) -> int:
        """The first rows in the order, as far as all of them were looked up."""
        unknown = np.flatnonzero(self.truth[self.order] == NOT_LOOKED_UP)
        return int(unknown[0]) if len(unknown) else self.n_rows

    @property
    def found_at_random(self) -> Indices:
        """How many belong to X among the first one, two, three, ... of these rows."""
        return np.cumsum(self.truth[self.order[: self.n_random]] == BELONGS_TO_X)

    @property
    def n_found_random(self) -> int:
        """How many of them belong to X."""
        return int((self.truth[self.order[: self.n_random]] == BELONGS_TO_X).sum())

    @property
    def n_chosen(self) -> int:
        """Rows that were looked up out of order."""
        return int((self.truth[self.order[self.n_random :]] != NOT_LOOKED_UP).sum())

    @property
    def n_found_chosen(self) -> int:
        """How many of them belong to X."""
        return int((self.truth[self.order[self.n_random :]] == BELONGS_TO_X).sum())

    @property
    def n_found(self) -> int:
        """Rows that belong to X, however they were come upon."""
        return int((self.truth == BELONGS_TO_X).sum())

    @property
    def n_unknown(self) -> int:
        """Rows that were not looked up."""
        return int((self.truth == NOT_LOOKED_UP).sum())

    def misfiled(self, alpha: Fraction) -> Limits:
        """Return the fewest and the most rows of Y that belong to X, wrong with at most `alpha`.

        What was looked up is certain. Limits that it contradicts have failed, and it alone is left.
        """
        known = self.n_found, self.n_found + self.n_unknown
        if not self.n_random:
            return known
        low, high = anytime_limits(self.n_rows, np.arange(1, self.n_random + 1), self.found_at_random, alpha)
        if low > known[1] or high < known[0]:
            return known
        return max(low, known[0]), min(high, known[1])

    def next_rows(self, count: int) -> Indices:
        """Return the next rows to look up in the recorded order."""
        return np.asarray(self.order[self.truth[self.order] == NOT_LOOKED_UP][:count])

    def n_unknown_before(self, place: int) -> int:
        """Return how many of the first `place` rows in the order were not looked up."""
        return int((self.truth[self.order[:place]] == NOT_LOOKED_UP).sum())
