r"""The statistic on random labellings of the pooled rows: what it would be if there were no difference.

Misfiling moves rows between the groups, so the pooled rows are observed without error. If the groups do not
differ,
every labelling with the true sizes was equally likely, and random ones show how large the squared
MMD then is. Each is a permutation of the pooled rows whose first n_X rows are X: the same
permutations serve all sizes, and all of them one product of the kernel matrix with many columns,

.. math::
    q_n = q_{n-1} + k_{nn} + 2 \sum_{i < n} k_{in}, \qquad q_n = u'Ku \text{ for the first } n \text{ rows}.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mmdbounds.objective import GroupSums, Indices
from mmdbounds.results import Estimator
from mmdbounds.sums.plan import MIB
from mmdbounds.sums.protocol import Float64s


class PermutationNull:
    """The statistic on random labellings.

    Parameters
    ----------
    totals
        The sums over the pairs.
    estimator
        Whose value.
    order
        An order of the pooled rows that does not depend on labels or on where they stand.
    n_permutations
        How many labellings.
    rng
        Draws them: uniform, each on its own.
    """

    def __init__(
        self,
        totals: GroupSums,
        estimator: Estimator,
        order: Indices,
        n_permutations: int,
        rng: np.random.Generator,
    ) -> None:
        self._totals = totals
        self._o = 1 if estimator == "unbiased" else 0
        self._permutations: NDArray[np.intp] = np.stack(
            [order[rng.permutation(len(order))] for _ in range(n_permutations)]
        )

    def values(self, sizes: list[int]) -> Float64s:
        """Return the statistic, one row for each labelling and one column for each size n_X (ascending)."""
        quadratic = np.empty((len(self._permutations), len(sizes)))
        width = max(1, int(self._totals.sums.working_memory * MIB / 2) // (3 * 8 * self._totals.sums.n_rows))
        for start in range(0, len(quadratic), width):
            part = slice(start, start + width)
            quadratic[part] = self._quadratic(self._permutations[part], sizes)
        to_all = self._totals.to_x + self._totals.to_y
        linear, own = (
            np.cumsum(values[self._permutations], axis=1)[:, np.array(sizes) - 1]
            for values in (to_all, self._totals.diagonal)
        )
        return self._statistic(quadratic, linear, own, np.array(sizes))

    def _quadratic(self, permutations: NDArray[np.intp], sizes: list[int]) -> Float64s:
        """Return u'Ku, one row for each permutation and one column for each size."""
        sums = self._totals.sums
        everyone, first = slice(0, sums.n_rows), permutations[:, : sizes[0]]
        labels = np.zeros((sums.n_rows, len(permutations)))
        np.put_along_axis(labels, first.T, 1.0, axis=0)
        to_first = sums.apply(everyone, everyone, labels)
        result = np.empty((len(permutations), len(sizes)))
        result[:, 0] = np.einsum("ij,ij->j", labels, to_first)
        if len(sizes) == 1:
            return result
        for b, permutation in enumerate(permutations):
            rows = permutation[sizes[0] : sizes[-1]]
            among = np.tril(sums.block(rows, rows), -1).sum(axis=1)
            more = np.cumsum(2 * (to_first[rows, b] + among) + self._totals.diagonal[rows])
            result[b, 1:] = result[b, 0] + more[np.array(sizes[1:]) - sizes[0] - 1]
        return result

    def _statistic(
        self, quadratic: Float64s, linear: Float64s, own: Float64s, sizes: NDArray[np.intp]
    ) -> Float64s:
        """Return the squared MMD from u'Ku, (K1)'u and d'u."""
        t, o = self._totals, self._o
        n_x, n_y = sizes, t.sums.n_rows - sizes
        everything, diagonal = float((t.to_x + t.to_y).sum()), float(t.diagonal.sum())
        within_x = quadratic - o * own
        within_y = everything - 2 * linear + quadratic - o * (diagonal - own)
        between = linear - quadratic
        return np.asarray(
            within_x / (n_x * (n_x - o)) + within_y / (n_y * (n_y - o)) - 2 * between / (n_x * n_y)
        )
