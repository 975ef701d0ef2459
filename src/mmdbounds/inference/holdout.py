"""Rows that are set aside to choose the kernel, so that the others meet one that has not seen them.

Which rows are set aside is drawn at random from all rows together, without looking at their groups. A share
of each group as filed would not do: if the misfiled rows are special, and the groups give up different
shares, special rows would be too many or too few among the rest of the true X. Drawn from all rows alike,
what is left of each true group is a sample of its population as before, whatever the misfiling did.

How many of the misfiled rows are among those set aside is not known. So a count of misfiled rows becomes
a range: from all of them that could have been set aside, to none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.errors import DataError
from mmdbounds.objective import Indices
from mmdbounds.problem import KernelLike
from mmdbounds.sums.bandwidth import canonical_order, resolve_kernel
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import Group

FEWEST = 2  # rows that a median distance needs
STREAM = 7  # keeps the draw apart from what the search draws with the same seed


@dataclass(frozen=True, eq=False)
class Kept:
    """What is left of the groups, and the kernel that the rows set aside have chosen (or as given)."""

    X: Group
    Y: Group
    kernel: KernelLike
    held_of_x: int = 0
    held_of_y: int = 0

    @property
    def n_held(self) -> int:
        """Rows set aside."""
        return self.held_of_x + self.held_of_y

    @property
    def n_before(self) -> tuple[int, int]:
        """Rows filed under X and Y before any were set aside."""
        return len(self.X) + self.held_of_x, len(self.Y) + self.held_of_y

    def counts(self, before: list[Counts]) -> list[Counts]:
        """Return every pair of counts that the rows left can have, given those that all rows can have."""
        p, q = len(self.X), len(self.Y)
        pairs = {
            (m, m_d)
            for c in before
            for m in range(max(0, c.n_moved - self.held_of_y), min(c.n_moved, q) + 1)
            for m_d in range(max(0, c.n_moved_of_x - self.held_of_x), min(c.n_moved_of_x, p) + 1)
        }
        return [Counts(m, m_d, p + m - m_d, q - m + m_d) for m, m_d in sorted(pairs)]


def hold_out(X: Group, Y: Group, share: float, kernel: str, seed: int, working_memory: float = 1024) -> Kept:
    """Set a share of all rows aside, choose the kernel on them, and return what is left.

    The groups have the same columns, as `as_groups` returns them. Rows of a table that was standardised
    are standardised anew, by the mean and the deviation of the rows set aside; a column that is constant
    among these is left out.
    """
    pooled = np.concatenate([X.values, Y.values])
    held = drawn_rows(pooled, share, seed)
    is_kept = np.ones(len(pooled), dtype=np.bool_)
    is_kept[held] = False
    of_x, of_y = is_kept[: len(X)], is_kept[len(X) :]
    if not (of_x.any() and of_y.any()):
        group = "Y" if of_x.any() else "X"
        msg = f"`holdout` must leave rows in both groups; got {share:g}, which leaves none in `{group}`."
        raise DataError(msg)
    record = dict(X.record)
    if record.get("scale") == "standard":
        pooled = _rescaled(pooled, held)
        record["scale"] = "standard, by the rows held out"
        record.pop("scaling", None)
    return Kept(
        X=Group(pooled[: len(X)][of_x], name=X.name, record=record),
        Y=Group(pooled[len(X) :][of_y], name=Y.name, record=record),
        kernel=resolve_kernel(kernel, "median", pooled[held], working_memory),
        held_of_x=int(np.count_nonzero(~of_x)),
        held_of_y=int(np.count_nonzero(~of_y)),
    )


def drawn_rows(pooled: Float64s, share: float, seed: int) -> Indices:
    """Return the places of a random share of the rows, the same rows in whatever order they stand.

    The draw is over an order that depends on the values alone, and independent of them: every set of rows
    is as likely as any other. (A threshold on a hash of the values would not do: of rows that are
    equal it takes all or none.)
    """
    n_held = int(share * len(pooled) + 1e-9)
    if n_held < FEWEST:
        msg = f"`holdout` must set at least {FEWEST} of the {len(pooled)} rows aside; got {share:g}."
        raise DataError(msg)
    places = np.random.default_rng([seed, STREAM]).choice(len(pooled), n_held, replace=False)
    return np.sort(canonical_order(pooled)[places])


def _rescaled(pooled: Float64s, held: Indices) -> Float64s:
    """Return all rows on the scale of those held out."""
    reference = np.sort(pooled[held], axis=0)  # sorted: not even the last bit hangs on the order of the rows
    varies = reference[0] != reference[-1]
    mean, deviation = reference[:, varies].mean(axis=0), reference[:, varies].std(axis=0)
    if not varies.any():
        msg = "all rows held out are equal, so there is no scale. Give a larger `holdout`, or a `bandwidth`."
        raise DataError(msg)
    return np.ascontiguousarray((pooled[:, varies] - mean) / deviation)
