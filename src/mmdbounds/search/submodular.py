r"""Submodular selection, SM: the paper's baseline after MMD-critic (Kim, Khanna and Koyejo, 2016).

The witness of X against Y as filed is computed once,

.. math::
    f'(y) = \frac{1}{p} \sum_i k(x_i, y) - \frac{1}{q} \sum_i k(y_i, y),

with the pair of y and itself, as in the paper. Then rows of Y are taken one by one, each time the row that
adds most to the witness plus w times the log-determinant of the rows taken, C:

.. math::
    \pm f'(y) + w \log\left(k_{yy} - k_{yC} K_{CC}^{-1} k_{Cy}\right).

The log-determinant drives the rows apart. Neither part considers what the rows taken do to the MMD.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mmdbounds.checks import check_flag, check_number
from mmdbounds.contamination import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import GroupSums, Indices, Labelling, Quadratic
from mmdbounds.results import Estimator, Side
from mmdbounds.search.protocol import EachSide, Found, Task, outwards
from mmdbounds.search.top_rows import largest
from mmdbounds.sums.plan import MIB
from mmdbounds.sums.protocol import Float64s

SHARE_OF_MEMORY = 0.25  # share of the budget for the factor of one side; both sides may run at once


@dataclass(frozen=True)
class Submodular(EachSide):
    """Submodular selection (SM): greedy by the witness as filed and a log-determinant.

    Parameters
    ----------
    weight
        Weight w of the log-determinant. The paper prints 1, which leaves little to the witness: a mean of
        kernel values is small beside a logarithm. With 0 the rows are those with the most extreme witness.
    absolute
        Whether the size of the witness counts, as in MMD-critic, instead of the witness itself. The upper
        side then looks for rows where X and Y differ either way, the lower side for rows where they do not.
    jitter
        Added to the diagonal of K in the log-determinant, relative to the largest kernel value; at least
        the rounding of a kernel value. Without it, a copy of a row already taken would have the logarithm
        of 0. No logarithm is taken of less than the jitter.

    Notes
    -----
    The rows do not depend on the estimator, their value does. It is the value of a labelling: attained,
    with no proof that none lies beyond. A smaller count takes the first of the rows of a larger one.

    The log-determinant is meant for positive definite kernels. With others a row is worth the jitter as
    soon as its logarithm does not exist. A linear kernel's is that of the centred rows.

    It stores m x q numbers per side, and takes about m^2 q / 2 multiplications.

    References
    ----------
    B. Kim, R. Khanna and O. Koyejo, Examples are not enough, learn to criticize! Criticism for
    interpretability. NIPS 2016.
    """

    weight: float = 1.0
    absolute: bool = False
    jitter: float = 1e-8
    name: ClassVar[str] = "sm"

    def __post_init__(self) -> None:
        weight = check_number(self.weight, "weight", "a number from 0", lambda size: 0 <= size < math.inf)
        jitter = check_number(self.jitter, "jitter", "a number in [0, 1)", lambda size: 0 <= size < 1)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "jitter", jitter)
        object.__setattr__(self, "absolute", check_flag(self.absolute, "absolute"))

    def check(self, counts: Counts, p: int, q: int) -> None:
        """Refuse two-way counts."""
        if counts.n_moved_of_x:
            msg = "`method='sm'` is for one-way misfiling. Use method='s-sd' or 'sharp' for two-way."
            raise MmdBoundsError(msg)

    def search(self, totals: GroupSums, counts: Counts, estimator: Estimator, side: Side) -> Found:
        """Return the rows that this method moves on one side, and their value."""
        return self.search_counts(Task(totals, [counts], estimator), side)[0]

    def search_counts(self, task: Task, side: Side) -> list[Found]:
        """Return what is found for each count; the rows are put in order once for all of them."""
        totals, numbers = task.totals, [counts.n_moved for counts in task.admissible]
        if self.weight:
            order = self.order(totals, max(numbers), side)
            chosen = [order[:m] for m in numbers]
            how = "taken one by one"
        else:
            worth, everyone = self._worth(totals, side), np.ones(totals.q, dtype=np.bool_)
            chosen = [largest(worth, m, everyone, totals.tie_width) for m in numbers]
            how = "taken by the witness"
        return [
            Found.at(
                Labelling(Quadratic(totals, counts, task.estimator), rows),
                status=f"{len(rows):,} row{'' if len(rows) == 1 else 's'} {how}",
            )
            for counts, rows in zip(task.admissible, chosen, strict=True)
        ]

    def order(self, totals: GroupSums, count: int, side: Side) -> Indices:
        """Return the first `count` rows of Y that are taken, in order."""
        worth = self._worth(totals, side)
        free = np.ones(totals.q, dtype=np.bool_)
        jitter = max(self.jitter, totals.sums.tie_width) * (totals.scale or 1.0)
        own = _Complements(totals, max(count - 1, 0), jitter)
        order = np.empty(count, dtype=np.intp)
        for i in range(count):
            if i:
                own.take(int(order[i - 1]))
            scores = worth + self.weight * np.log(own.left)
            # A logarithm makes rounding larger where little is left.
            leader = int(np.argmax(np.where(free, scores, -np.inf)))
            tie_width = totals.tie_width * (1 + self.weight / float(own.left[leader]))
            order[i] = largest(scores, 1, free, tie_width)[0]
            free[order[i]] = False
        return order

    def _worth(self, totals: GroupSums, side: Side) -> Float64s:
        """Return the witness of each row of Y, or its size, with the side's sign."""
        witness = totals.to_x[totals.p :] / totals.p - totals.to_y[totals.p :] / totals.q
        return outwards(side) * (np.abs(witness) if self.absolute else witness)


class _Complements:
    """Schur complements of the rows of Y given the rows taken, `left`, from a growing Cholesky factor.

    The factor has shape (`count`, q), for `count` rows to be taken. The jitter is added to the diagonal of
    K; no complement of a positive definite matrix is smaller.
    """

    def __init__(self, totals: GroupSums, count: int, jitter: float) -> None:
        _check_room(count, totals)
        self._totals, self._jitter = totals, jitter
        self._factor: Float64s = np.empty((count, totals.q))
        self._rank = 0
        self.left: Float64s = np.maximum(totals.diagonal[totals.p :] + jitter, jitter)

    def take(self, row: int) -> None:
        """Take a row of Y, and reduce the complements of the others by what they share with it.

        A row at the jitter shares nothing more: it is a combination of those taken, up to rounding, or K is
        not definite.
        """
        if self.left[row] <= self._jitter:
            return
        p, q = self._totals.p, self._totals.q
        earlier, here = self._factor[: self._rank], self._factor[self._rank : self._rank + 1]
        self._totals.sums.block(np.array([p + row]), slice(p, p + q), here)
        entry = here[0]
        entry -= earlier[:, row] @ earlier
        entry /= math.sqrt(self.left[row])
        self.left = np.maximum(self.left - entry**2, self._jitter)
        self._rank += 1


def _check_room(count: int, totals: GroupSums) -> None:
    """Refuse a factor that does not fit the budget."""
    needed = 8 * count * totals.q / (SHARE_OF_MEMORY * MIB)
    memory = totals.sums.working_memory
    if needed > memory:
        msg = (
            f"`method='sm'` stores {count:,} x {totals.q:,} numbers per side, too many for `working_memory` "
            f"= {memory:g} MiB. Give working_memory={math.ceil(needed)}, or use method='s-sd'."
        )
        raise MmdBoundsError(msg)
