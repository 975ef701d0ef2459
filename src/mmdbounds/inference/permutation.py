r"""The statistic on random labellings of the pooled rows: what it would be if there were no difference.

Misfiling moves rows between the groups, so the pooled rows are observed without error. If the groups do
not differ, every labelling with the true sizes was equally likely, and random ones show how large the
squared MMD then is. Each is a permutation of the pooled rows whose first n_X rows are X: the same
permutations serve all sizes. Those with the fewest rows in X take one product of the kernel matrix with
a column for each permutation, and larger ones follow row by row,

.. math::
    q_n = q_{n-1} + k_{nn} + 2 \sum_{i < n} k_{in}, \qquad q_n = u'Ku \text{ for the first } n \text{ rows},

until another product is cheaper than going on. One or two sizes take products of their own, with half of the
matrix where that is all that is needed.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from mmdbounds.inference.null import DistinctRows, Null
from mmdbounds.inference.random_orders import RandomOrders
from mmdbounds.kernels import Precomputed
from mmdbounds.objective import GroupSums, Indices
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.results import Estimator
from mmdbounds.sums import plan
from mmdbounds.sums.bandwidth import canonical_order
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.threads import in_order, thread_count

LABELS = 3
"""Numbers for each pooled row and permutation that a product holds: labels, result and order."""

REACH = 0.15
"""Rows added to X one by one before a new product is cheaper, as a share of the pooled rows.

L rows cost L^2 / 2 kernel values a permutation, a product N^2 multiplications: at 54 features a kernel value
takes as long as eighty of these. Many sizes cost least where both are equal.
"""

FOR_A_MATRIX = 1 << 19  # labels in a product with a matrix: more fill fresh memory, which takes longer


class PermutationNull:
    """The statistic on random labellings of the pooled rows, for every size of X at once."""

    def __init__(
        self,
        totals: GroupSums,
        estimator: Estimator,
        order: Indices,
        n_permutations: int,
        rng: np.random.Generator,
        meter: Meter | None = None,
    ) -> None:
        self._totals, self._n_permutations = totals, n_permutations
        self._meter = meter or Meter()
        self.orders = RandomOrders(order, n_permutations, rng, totals.sums.working_memory)
        self._o = 1 if estimator == "unbiased" else 0

    def values(self, sizes: list[int]) -> Float64s:
        """Return the statistic, one row for each labelling and one column for each size n_X (ascending)."""
        sums, n = self._totals.sums, self._n_permutations
        width = chunk_width(sums.working_memory, sums.n_rows)
        width = min(width, max(FOR_A_MATRIX // sums.n_rows, 1)) if sums.holds_matrix else width
        spans = plan.strips([0, n], width)
        parts, found = self.orders.parts(stop - start for start, stop in spans), []
        for start, _ in spans:
            self._meter.phase("permutation", start, n)
            found.append(self._values(next(parts), sizes))
        return np.concatenate(found)

    def null(self, rows: DistinctRows, sizes: list[int]) -> Null:
        """Return the statistic on labellings of some sizes: on all, where they are few, or on random ones."""
        width, counted, drawn = chunk_width(self._totals.sums.working_memory, len(rows.order)), {}, []
        for place, number in enumerate(rows.n_labellings(sizes, self._n_permutations)):
            if number is None:
                drawn.append(sizes[place])
                continue
            orders, weights = rows.labellings(sizes[place])
            parts = [orders[start : start + width] for start in range(0, number, width)]
            values = np.concatenate([self._values(part, [sizes[place]])[:, 0] for part in parts])
            counted[place] = values, weights
        return Null(len(sizes), counted, self.values(drawn) if drawn else np.empty((0, 0)))

    def _values(self, permutations: Indices, sizes: list[int]) -> Float64s:
        """Return the statistic for some of the permutations."""
        t, used = self._totals, permutations[:, : sizes[-1]]
        linear, own = (_first_sums(each[used], sizes) for each in (t.to_x + t.to_y, t.diagonal))
        return self._statistic(self._quadratic(used, sizes), linear, own, np.array(sizes))

    def _quadratic(self, used: Indices, sizes: list[int]) -> Float64s:
        """Return u'Ku, one row for each permutation and one column for each size."""
        reach = REACH * self._totals.sums.n_rows
        result = np.empty((len(used), len(sizes)))
        start = 0
        while start < len(sizes):
            stop = bisect_right(sizes, sizes[start] + reach)
            result[:, start:stop] = self._growing(used, sizes[start:stop])
            start = stop
        return result

    def _growing(self, used: Indices, sizes: list[int]) -> Float64s:
        """Return u'Ku for sizes near each other: by products, or row by row from the first."""
        sums = self._totals.sums
        if len(sizes) == 1 or (len(sizes) == 2 and sums.halves_quadratics):
            return sums.quadratic(_labels(used, sizes, sums.n_rows)).reshape(len(sizes), -1).T
        everyone, labels = slice(0, sums.n_rows), _labels(used, sizes[:1], sums.n_rows)
        to_first = sums.apply(everyone, everyone, labels)
        result = np.empty((len(used), len(sizes)))
        result[:, 0] = np.einsum("ij,ij->j", labels, to_first)
        places = np.array(sizes[1:]) - sizes[0] - 1

        def grown(b: int) -> Float64s:
            rows = used[b, sizes[0] : sizes[-1]]
            more = 2 * (to_first[rows, b] + sums.earlier(rows)) + self._totals.diagonal[rows]
            return np.asarray(np.cumsum(more)[places])

        # Each permutation has one thread, so its sums have the same bits for any number of them.
        n_threads = thread_count() if sums.is_compiled and not sums.holds_matrix else 1
        for b, added in in_order(range(len(used)), grown, n_threads):
            result[b, 1:] = result[b, 0] + added
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


def _labels(used: Indices, sizes: list[int], n_rows: int) -> Float64s:
    """Return a column for each size and permutation: 1 for the first rows of the permutation, else 0."""
    labels = np.zeros((len(sizes), len(used), n_rows))
    for of_size, size in zip(labels, sizes, strict=True):
        of_size.ravel()[used[:, :size] + n_rows * np.arange(len(used))[:, None]] = 1.0
    return labels.reshape(-1, n_rows).T


def _first_sums(values: Float64s, sizes: list[int]) -> Float64s:
    """Return for each row of `values` the sums of its first n entries, n from `sizes` (ascending)."""
    first = values[:, : sizes[0]].sum(axis=1, keepdims=True)
    more = np.cumsum(values[:, sizes[0] : sizes[-1]], axis=1)
    return np.concatenate([first, first + more[:, np.array(sizes[1:], dtype=np.intp) - sizes[0] - 1]], axis=1)


def chunk_width(working_memory: float, n_rows: int) -> int:
    """Return how many permutations one product takes: half of the budget (in MiB)."""
    return max(1, int(working_memory * plan.MIB / 2) // (LABELS * 8 * n_rows))


def blind_order(problem: Problem) -> Indices:
    """Return an order of the pooled rows in which neither labels nor places have a part."""
    if not isinstance(problem.kernel, Precomputed):
        return canonical_order(problem.pooled)
    # All that is known of a row are its kernel values, whose order is that of the rows: sorted, they are not.
    spans = plan.strips([0, len(problem.pooled)], plan.BLOCK_ROWS)
    sums = [np.sort(problem.pooled[i:j], axis=1).sum(axis=1) for i, j in spans]
    return np.lexsort([problem.pooled.diagonal(), np.concatenate(sums)])
