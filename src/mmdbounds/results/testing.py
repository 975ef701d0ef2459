"""What the tests return: one kernel, or several together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.results.base import OfLabellings, ReportedResult
from mmdbounds.results.provenance import Knowledge, Provenance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountTest:
    """The test for one count of misfiled rows; two-way, for all pairs of counts with the same true sizes.

    Attributes
    ----------
    n_moved, n_moved_of_x
        Misfiled rows of Y, and of X; of several pairs with the same true sizes the largest.
    lower
        The smallest statistic found over all labellings with these counts.
    certified
        A number proved to be no larger than any of them, or `None`.
    pvalue
        At `certified`: no labelling has a larger one. At `lower` where nothing is proved.
    attained
        At `lower`, which some labelling reaches: no better proof gives less.
    """

    n_moved: int
    n_moved_of_x: int
    lower: float
    certified: float | None
    pvalue: float
    attained: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelPart:
    """One of the kernels, at the worst count.

    Attributes
    ----------
    kernel, kernel_options, bandwidth
        Its name, options and length, as in `Provenance`.
    lower, certified
        The smallest squared MMD found with this kernel, and a number proved to be no larger, or `None`.
    centre, spread
        Mean and standard deviation of the squared MMD over random labellings other than those counted.
    standardised
        `certified` less the centre, over the spread: what enters the maximum. `None` where nothing is
        proved, 0 for a kernel that tells no two labellings apart.
    """

    kernel: str
    kernel_options: Mapping[str, Any] = field(default_factory=dict)
    bandwidth: float | None
    lower: float
    certified: float | None
    centre: float
    spread: float
    standardised: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RobustTestResult(OfLabellings, ReportedResult):
    """A two-sample test under misfiling; unpacks as ``statistic, pvalue = result``.

    Attributes
    ----------
    statistic
        The proved lower bound of the squared MMD at the worst count (the value found, if nothing is proved).
        With several kernels of the largest over them, each in standard deviations of its null.
    pvalue
        Valid whichever rows are misfiled: the largest over all counts considered, plus `beta`.
    is_valid
        Whether the p-value is valid under the conditions in `conditions`: every count has a proof, and none
        was left out.
    is_tight
        Whether some labelling reaches this p-value, or one within 5 % of it: no better proof gives much less.
    n_moved, n_moved_of_x
        The worst count; of several with the same p-value the one whose floor is nearest to the null.
    null
        The statistic on labellings of the sizes at the worst count: random ones in the order in which they
        were drawn, or all that differ (`is_exact`).
    null_weights
        The share of all labellings that each of `null` stands for; `None` if they were drawn.
    is_exact, n_labellings
        Whether all labellings were counted, so that no seed plays a part in the p-values. The number of
        labellings drawn, or of those that differ, over all sizes.
    null_quantile
        Its 95 % quantile: a larger statistic is significant at the 5 % level. `None` where it is not
        positive, or where no statistic could be significant: with fewer than 19 random labellings.
        Not computed with several kernels.
    observed, pvalue_as_filed, null_quantile_as_filed
        Statistic and p-value of the ordinary permutation test, which takes the filing for the truth, and the
        quantile of its null.
    counts, n_admissible
        Every count considered, see `CountTest`, and how many counts (two-way: pairs) there are in all: more
        if one entry stands for several pairs, or if only a grid was considered.
    n_permutations
        Random labellings asked for.
    level
        Level of the decision.
    beta
        Probability that the true count is outside the range considered; part of `pvalue`.
    exactly, epsilon, share_of_y
        The misfiling considered; the largest shares.
    n_samples_X, n_samples_Y, name_x, name_y
        The groups as filed.
    conditions
        What the validity rests on, one sentence each.
    units_note
        What was done about rows that share a unit; empty if no units were named.
    parts
        The kernels, see `KernelPart`, if there are several; the options of `provenance` name them.
    knowledge
        What was known of the rows, in numbers; `None` if nothing was.
    provenance
        How the result was made.
    """

    statistic: float
    pvalue: float
    is_valid: bool
    is_tight: bool
    n_moved: int
    n_moved_of_x: int = 0
    null: NDArray[np.float64]
    null_weights: NDArray[np.float64] | None = None
    observed: float
    pvalue_as_filed: float
    counts: tuple[CountTest, ...]
    n_admissible: int
    level: float = 0.05
    beta: float = 0.0
    exactly: bool
    epsilon: float
    share_of_y: float
    units_note: str = ""
    knowledge: Knowledge | None = None
    provenance: Provenance
    null_quantile: float | None = None
    null_quantile_as_filed: float | None = None
    parts: tuple[KernelPart, ...] = ()

    def __iter__(self) -> Iterator[float]:
        # `statistic, pvalue = result`, as people know it from SciPy.
        return iter((self.statistic, self.pvalue))

    @property
    def is_significant(self) -> bool | None:
        """Whether the groups differ at `level`, whichever rows are misfiled; `None` if undecided.

        False if some labelling has a p-value above the level. Undecided if none was found, but none is
        proved not to exist either.
        """
        if self.is_valid and self.pvalue <= self.level:
            return True
        return False if max(count.attained for count in self.counts) + self.beta > self.level else None

    @property
    def n_moved_range(self) -> tuple[int, int]:
        """The smallest and the largest number of misfiled rows of Y considered."""
        moved = [count.n_moved for count in self.counts]
        return min(moved), max(moved)

    @property
    def most_moved_of_x(self) -> int:
        """The largest number of misfiled rows of X considered."""
        return max(count.n_moved_of_x for count in self.counts)

    def _assumed(self) -> str:
        """Return the numbers of misfiled rows for the one-line form."""
        (_, most), of_x = self.n_moved_range, self.most_moved_of_x
        how = "exactly" if self.exactly else "at most"
        other = f" and {how} {of_x} of {self.n_samples_X} rows of X"
        return f"{how} {most} of {self.n_samples_Y} rows of Y{other if of_x else ''} misfiled"

    @property
    def _validity(self) -> str:
        return "valid" if self.is_valid else "validity not guaranteed"

    @property
    def in_null_quantiles(self) -> float | None:
        """`statistic` as a multiple of `null_quantile`: up to 1, chance alone makes as much."""
        return None if self.null_quantile is None else self.statistic / self.null_quantile

    @property
    def as_filed_in_null_quantiles(self) -> float | None:
        """`observed` as a multiple of `null_quantile_as_filed`."""
        quantile = self.null_quantile_as_filed
        return None if quantile is None else self.observed / quantile

    @property
    def decisive(self) -> KernelPart | None:
        """Of several kernels the one whose proved statistic is the largest, `None` if none has any."""
        proved = [part for part in self.parts if part.standardised is not None]
        return max(proved, key=lambda part: part.standardised or 0.0, default=None)

    def __repr__(self) -> str:
        scale = f" sd of the null, {len(self.parts)} kernels" if self.parts else ""
        return (
            f"RobustTestResult(pvalue {self.pvalue:.4g} ({self._validity}), "
            f"statistic {self.statistic:.6g}{scale}, {self._assumed()}, "
            f"as filed pvalue {self.pvalue_as_filed:.4g})"
        )
