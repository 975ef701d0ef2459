r"""Which rows move, as a choice with quotas: the form in which extremes are proved.

Let t mark the rows that change group and :math:`\sigma` be +1 for rows of Y and -1 for rows
of X. Up to the side's sign the squared MMD is exactly

.. math::
    \mathrm{gain}(t) = \mathrm{constant} + \sum_i a_i t_i + \sum_{i \ne j} w_{ij} t_i t_j,
    \qquad a_i = \sigma_i g_i(u_0) + c\,k_{ii}, \quad w_{ij} = c\,\sigma_i \sigma_j k_{ij},

and m rows of Y and m_D rows of X are to be chosen. Both sides maximise the gain: on the
lower side it is minus the squared MMD. The diagonal of K is in the linear part, so nothing
here depends on whether K is definite.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mmdbounds.objective import Indices, Labelling, Mask
from mmdbounds.results import Side
from mmdbounds.sums.protocol import Float64s

Part = tuple[slice, int]
"""Rows of one group among those still open, and how many of them are to be chosen."""


def outwards(side: Side) -> float:
    """Return +1 for the upper side, -1 for the lower: the factor that makes either a maximum."""
    return 1.0 if side == "upper" else -1.0


@dataclass(frozen=True, eq=False)
class Choice:
    """Rows still open, and what choosing them gains.

    Attributes
    ----------
    constant
        The gain of what is settled already.
    linear, pairs
        a and w of the module's docstring for the open rows; `pairs` is symmetric with 0 on its diagonal.
    rows
        The open rows, as places among the active rows; those filed under X come first.
    settled
        The rows settled as chosen.
    n_x
        How many of the open rows are filed under X.
    quotas
        How many open rows of X and of Y are still to be chosen.
    """

    constant: float
    linear: Float64s
    pairs: Float64s
    rows: Indices
    settled: Indices
    n_x: int
    quotas: tuple[int, int]

    def parts(self) -> list[Part]:
        """Return the groups that have open rows, with their quotas."""
        edges = (0, self.n_x, len(self.rows))
        return [
            (slice(i, j), quota) for (i, j), quota in zip(pairwise(edges), self.quotas, strict=True) if j > i
        ]

    def is_possible(self) -> bool:
        """Return whether the quotas can be met."""
        n_y = len(self.rows) - self.n_x
        return 0 <= self.quotas[0] <= self.n_x and 0 <= self.quotas[1] <= n_y

    def fixed(self, chosen: Mask, rejected: Mask) -> tuple[Choice, Indices]:
        """Settle rows; return what is left to choose, and the places of its rows among the open ones."""
        taken, left = np.flatnonzero(chosen), np.flatnonzero(~(chosen | rejected))
        with_taken = self.pairs[:, taken].sum(axis=1)
        taken_of_x = int(np.count_nonzero(taken < self.n_x))
        rest = Choice(
            constant=float(self.constant + self.linear[taken].sum() + with_taken[taken].sum()),
            linear=self.linear[left] + 2 * with_taken[left],
            pairs=self.pairs[np.ix_(left, left)],
            rows=self.rows[left],
            settled=np.concatenate([self.settled, self.rows[taken]]),
            n_x=int(np.count_nonzero(left < self.n_x)),
            quotas=(self.quotas[0] - taken_of_x, self.quotas[1] - (len(taken) - taken_of_x)),
        )
        return rest, left

    def forced(self) -> tuple[Choice, Indices]:
        """Settle the groups in which nothing is left to choose: all of their rows, or none."""
        if all(0 < quota < part.stop - part.start for part, quota in self.parts()):
            return self, np.arange(len(self.rows))
        chosen, rejected = (np.zeros(len(self.rows), dtype=np.bool_) for _ in range(2))
        for part, quota in self.parts():
            chosen[part] = quota == part.stop - part.start
            rejected[part] = quota == 0
        return self.fixed(chosen, rejected)

    def top_sum(self, scores: Float64s) -> float:
        """Return the sum of the largest scores that the quotas allow."""
        return float(sum(largest_sums(scores[None, part], quota)[0] for part, quota in self.parts()))

    def best_rows(self, scores: Float64s) -> Indices:
        """Return the open rows with the largest scores that the quotas allow."""
        return np.concatenate(
            [part.start + largest_places(scores[None, part], quota)[0] for part, quota in self.parts()]
        )

    def gain(self, chosen: Indices) -> float:
        """Return the gain when these of the open rows are chosen."""
        with_chosen = self.pairs[:, chosen].sum(axis=1)
        return float(self.constant + self.linear[chosen].sum() + with_chosen[chosen].sum())


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A proof: whatever is chosen, the gain is at most `base` plus the chosen rows' `scores`.

    Attributes
    ----------
    base, scores
        The proof; one score for each open row.
    bound
        The largest gain that it leaves possible.
    share
        How much of each open row the relaxation chooses, between 0 and 1.
    state
        Arrays from which the relaxation of a smaller choice goes on, one entry (or row and
        column) for each open row.
    """

    base: float
    scores: Float64s
    bound: float
    share: Float64s
    state: tuple[Float64s, ...]

    def state_of(self, places: Indices) -> tuple[Float64s, ...]:
        """Return the state for some of the rows."""
        return kept(self.state, places)


def kept(state: tuple[Float64s, ...], places: Indices) -> tuple[Float64s, ...]:
    """Return the entries (or rows and columns) at `places` of each array."""
    return tuple(a[places] if a.ndim == 1 else a[np.ix_(places, places)] for a in state)


def relaxed(choice: Choice, base: float, scores: Float64s, share: Float64s, *state: Float64s) -> Relaxed:
    """Return the proof with its bound."""
    return Relaxed(base, scores, base + choice.top_sum(scores), share, state)


def choice_of(labelling: Labelling, side: Side) -> Choice:
    """Return the choice of all movers, from the labelling as filed; it holds n x n numbers."""
    f, sign = labelling.quadratic, labelling.sign
    out = outwards(side)
    pairs = f.totals.sums.block(labelling.active, labelling.active)
    pairs *= out * f.c * sign[:, None]
    pairs *= sign
    np.fill_diagonal(pairs, 0.0)
    own = f.c * f.totals.diagonal[labelling.active]
    return Choice(
        constant=out * f.value_as_filed,
        linear=out * (sign * f.gradient_as_filed[labelling.active] + own),
        pairs=pairs,
        rows=np.arange(len(sign)),
        settled=np.empty(0, dtype=np.intp),
        n_x=labelling.n_active_x,
        quotas=(f.counts.n_moved_of_x, f.counts.n_moved),
    )


def largest_sums(values: Float64s, count: int) -> Float64s:
    """Return for each row of `values` the sum of its `count` largest entries."""
    if count == 0:
        return np.zeros(len(values))
    first = values.shape[1] - count
    return np.asarray(np.partition(values, first, axis=1)[:, first:].sum(axis=1))


def largest_places(values: Float64s, count: int) -> Indices:
    """Return for each row of `values` where its `count` largest entries stand."""
    if count == 0:
        return np.empty((len(values), 0), dtype=np.intp)
    first = values.shape[1] - count
    return np.asarray(np.argpartition(values, first, axis=1)[:, first:])
