r"""HSIC as a function of the labels: one quadratic (docs/several_groups.md, "One quadratic again").

With the kernel [same label] on the labels, HSIC is a sum over the pairs of rows with the same label,

.. math::
    \mathrm{HSIC} = \mathrm{constant} + w \sum_{i \ne j} [l_i = l_j]\, M_{ij}, \qquad
    M_{ij} = k_{ij} - a_i - a_j .

Both estimators have this form. `biased`: w = 1/N^2, M = HKH, and the constant is w times the sum of its
diagonal. `unbiased`: w = 1/(N(N-3)), M is the U-centred matrix, and the constant is 0. Sums of kernel values
to each group, K @ u with G columns, are all that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmdbounds.objective import GroupSums, Indices, check_sums
from mmdbounds.results import Estimator
from mmdbounds.sums.protocol import Float64s, KernelSums


class Dependence:
    """The matrix M, its factor and its constant, for one kernel matrix; from a pass with G columns."""

    def __init__(self, sums: KernelSums, codes: Indices, n_groups: int, estimator: Estimator) -> None:
        n, o = sums.n_rows, 1 if estimator == "unbiased" else 0
        everyone = slice(0, n)
        self.n_rows, self.n_groups, self._o, self._estimator = n, n_groups, o, estimator
        # K @ u as recorded; rows of one label after the other only need to be added up.
        order = everyone if sums.holds_matrix else np.argsort(codes, kind="stable")
        self.filed: Float64s = np.empty((n, n_groups))
        self.filed[order] = sums.apply(order, order, np.eye(n_groups)[codes[order]])
        own = sums.diagonal(everyone)
        check_sums(self.filed, own)
        self.sums, self.codes = sums, codes
        self.totals = GroupSums(sums, n, 0, self.filed.sum(axis=1), np.zeros(n), own)
        row_sums = self.totals.to_x - o * own
        self.a: Float64s = (row_sums - row_sums.sum() / (2 * (n - o))) / (n - 2 * o)
        self.diagonal: Float64s = own - 2 * self.a  # of M, if M had one by the same formula
        self.w = 1 / (n * (n - 3 * o))
        self.constant = 0.0 if o else self.w * float(self.diagonal.sum())

    @cached_property
    def precise(self) -> Dependence:
        """The same from sums in float64, of which proofs are made."""
        sums = self.sums.precise
        return self if sums is self.sums else Dependence(sums, self.codes, self.n_groups, self._estimator)

    @cached_property
    def relief(self) -> float:
        """What must be added to the diagonal of M to make it positive semidefinite.

        HKH is, if K is on vectors that sum to zero. M differs from it by -b1' - 1b', whose smallest
        eigenvalue is known.
        """
        n, t = self.n_rows, self.totals
        means = t.to_x / n
        b = self.a - (means - means.mean() / 2)
        return max(0.0, float(b.sum() + np.sqrt(n) * np.linalg.norm(b))) if self._o else 0.0

    @property
    def pair_margin(self) -> float:
        """How far rounding can move an entry of M: a kernel value, and two shares of means."""
        n, o = self.n_rows, self._o
        return self.totals.value_margin * (1 + 3 * n / (n - 2 * o))

    def margin(self, n_moved: int = 0, *, by_gradient: bool = False) -> float:
        """Return how far rounding can move HSIC, or a proof about all labels with so many changed.

        As for two groups (docs/rounding.md, "One proof"), with 2 entries of u for each row that moves.
        """
        filed, moved = self.n_rows, 2 * n_moved
        return self.w * self.pair_margin * (filed + moved) * (filed + (5 if by_gradient else 1) * moved)

    @property
    def tie_width(self) -> float:
        """Changes of HSIC by one row that differ by less are tied."""
        return 2 * self.w * self.n_rows * 4 * self.totals.tie_width

    @property
    def tie_margin(self) -> float:
        """Values of HSIC that differ by less are tied: by rounding, also that of sums over all pairs."""
        added = 8 * self.n_groups * self.n_rows * float(np.finfo(np.float64).eps) * self.totals.scale
        return 2 * self.margin() + added

    def values(self, A: Indices, B: Indices) -> Float64s:
        """Return M[A, B]; where a row meets itself, by the same formula."""
        return self.sums.block(A, B) - self.a[A][:, None] - self.a[B]


@dataclass(eq=False)
class Arrangement:
    """Labels in progress, with the sums that belong to them."""

    of: Dependence
    codes: Indices  # the number of each row's group
    to_groups: Float64s  # K @ u, shape (N, G)

    @classmethod
    def filed(cls, of: Dependence) -> Arrangement:
        """Return the labels as recorded."""
        return cls(of, of.codes.copy(), of.filed.copy())

    @classmethod
    def of_moves(cls, of: Dependence, rows: Indices, targets: Indices) -> Arrangement:
        """Return the labels as recorded but for some rows."""
        found = cls.filed(of)
        found.move(rows, targets)
        return found

    def move(self, rows: Indices, targets: Indices) -> None:
        """Give rows other labels."""
        change = np.eye(self.of.n_groups)[targets] - np.eye(self.of.n_groups)[self.codes[rows]]
        self.to_groups += self.of.sums.apply(slice(0, self.of.n_rows), rows, change)
        self.codes[rows] = targets

    def within(self) -> Float64s:
        """Return for each row and group the sum of M over the other rows of that group, shape (N, G)."""
        f, own = self.of, np.eye(self.of.n_groups)[self.codes]
        sizes = own.sum(axis=0)
        whole = self.to_groups - f.a[:, None] * sizes - f.a @ own
        return np.asarray(whole - own * f.diagonal[:, None])

    def changes(self) -> Float64s:
        """Return by how much HSIC changes if one row gets another label, shape (N, G)."""
        inside = self.within()
        return np.asarray(2 * self.of.w * (inside - np.take_along_axis(inside, self.codes[:, None], 1)))

    def value(self) -> float:
        """Return HSIC."""
        inside = np.take_along_axis(self.within(), self.codes[:, None], 1)
        return float(self.of.constant + self.of.w * inside.sum())

    def moved(self) -> Indices:
        """Return the rows whose label is not the recorded one."""
        return np.flatnonzero(self.codes != self.of.codes)
