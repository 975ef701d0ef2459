"""What is returned for several groups: bounds on HSIC, a test of independence, and all pairs of groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.results.base import OneSide, Result, TwoSided
from mmdbounds.results.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelBound(OneSide):
    """One side of the interval.

    Attributes
    ----------
    side
        ``"lower"`` or ``"upper"``.
    value
        HSIC with the labels below (attained).
    certified
        A number proved to lie beyond every admissible labelling, or `None` where nothing was proved.
    rows
        Positions, from 0, of the rows whose label is changed to reach `value`.
    labels
        Their new labels.
    ids, file_rows
        Names of these rows where the data have names, and their numbers in the file.
    status
        In words how the search ended.
    """

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Labelled(Result):
    """What all results about the labels of several groups say of them."""

    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    transitions: tuple[tuple[str, str], ...]
    n_moved: int
    exactly: bool
    observed: float
    provenance: Provenance

    @property
    def n_samples(self) -> int:
        """Rows of all groups."""
        return sum(self.sizes)

    @property
    def is_any(self) -> bool:
        """Whether every group may stand for every other."""
        return len(self.transitions) == len(self.groups) * (len(self.groups) - 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HsicResult(TwoSided, _Labelled):
    """The smallest and the largest HSIC of rows and true labels that the wrong labels allow.

    Attributes
    ----------
    lower, upper
        The two sides, see `LabelBound`.
    observed
        HSIC of rows and labels as recorded.
    groups, sizes
        Names of the groups, and the number of rows recorded under each.
    transitions
        Pairs of recorded and true group that were taken as possible.
    n_moved, exactly
        Rows taken as wrongly labelled: at most so many or, if `exactly`, neither more nor fewer.
    provenance
        How the result was made.
    """

    lower: LabelBound
    upper: LabelBound

    def __repr__(self) -> str:
        low, high = self.interval
        how = "exactly" if self.exactly else "at most"
        proved = "certified" if self.is_certified else "attained"
        return (
            f"HsicResult({low:.4g} to {high:.4g} {proved}, observed {self.observed:.4g}, {how} "
            f"{self.n_moved} of {self.n_samples} labels wrong)"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndependenceResult(_Labelled):
    """A test of independence of rows and true labels; unpacks as ``statistic, pvalue = result``.

    Attributes
    ----------
    statistic
        The proved lower bound of HSIC at the worst sizes (the value found, if nothing is proved).
    pvalue
        The largest p-value over all true sizes of the groups that were considered.
    is_valid
        Whether the p-value is valid under the conditions in `conditions`: the lower bound is proved, and no
        admissible sizes were left out.
    worst_sizes
        The true sizes of the groups at which the p-value is largest.
    n_sizes, n_considered
        How many different true sizes the wrong labels allow (`None`: more than 10,000), and how many were
        considered.
    null
        HSIC with random labels of the worst sizes.
    pvalue_as_filed
        The ordinary permutation test, which takes the labels for the truth.
    n_permutations
        Random labellings.
    conditions
        What the validity rests on, one sentence each.
    groups, sizes, transitions, n_moved, exactly, observed, provenance
        As in `HsicResult`.
    """

    statistic: float
    pvalue: float
    is_valid: bool
    worst_sizes: tuple[int, ...]
    n_sizes: int | None
    n_considered: int
    null: NDArray[np.float64]
    pvalue_as_filed: float
    n_permutations: int
    conditions: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[float]:
        # `statistic, pvalue = result`, as people know it from SciPy.
        return iter((self.statistic, self.pvalue))

    def __repr__(self) -> str:
        how = "exactly" if self.exactly else "at most"
        valid = "valid" if self.is_valid else "validity not guaranteed"
        return (
            f"IndependenceResult(pvalue={self.pvalue:.4g} ({valid}), statistic={self.statistic:.4g}, {how} "
            f"{self.n_moved} of {self.n_samples} labels wrong)"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairRow:
    """Two of the groups.

    Attributes
    ----------
    name_x, name_y, n_samples_X, n_samples_Y
        The groups and their rows as filed.
    n_moved, n_moved_of_x
        Rows taken as misfiled, at most unless `PairwiseTable.exactly`: of Y, and of X.
    observed, lower, upper, lower_certified, upper_certified
        Squared MMD as filed, the smallest and largest found, and numbers proved to lie beyond (or `None`).
    pvalue, is_valid
        Of `robust_test` for this pair alone.
    adjusted
        The p-value adjusted for all pairs (Holm).
    """

    name_x: str
    name_y: str
    n_samples_X: int  # noqa: N815 -- X and Y are the notation
    n_samples_Y: int  # noqa: N815
    n_moved: int
    n_moved_of_x: int
    observed: float
    lower: float
    upper: float
    lower_certified: float | None
    upper_certified: float | None
    pvalue: float
    is_valid: bool
    adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairwiseTable(Result):
    """All pairs of several groups.

    Attributes
    ----------
    rows
        One for each pair, see `PairRow`.
    level
        Joint level: the probability that any pair is declared different whose groups are not.
    exactly
        Whether exactly the stated numbers of rows were taken as misfiled; else at most.
    misfiling
        How much misfiling was stated, and how.
    n_permutations, seed
        Random labellings of each test, and the seed.
    kernel
        The kernel that all pairs were compared with.
    """

    rows: tuple[PairRow, ...]
    level: float
    exactly: bool
    misfiling: Mapping[str, Any]
    n_permutations: int
    seed: int
    kernel: str

    @property
    def different(self) -> tuple[tuple[str, str], ...]:
        """The pairs that differ at the joint level."""
        return tuple((row.name_x, row.name_y) for row in self.rows if row.adjusted <= self.level)

    @property
    def is_valid(self) -> bool:
        """Whether all p-values are valid."""
        return all(row.is_valid for row in self.rows)

    def __repr__(self) -> str:
        return f"PairwiseTable({len(self.rows)} pairs, {len(self.different)} differ at level {self.level:g})"
