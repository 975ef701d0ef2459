"""Curves over shares of misfiled rows, as they are returned: one-way, both ways, and with limited odds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mmdbounds.results.base import OfGroups, OfLabellings, ReportedResult
from mmdbounds.results.provenance import Knowledge, Provenance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SweepPoint:
    """One share of misfiled rows.

    Attributes
    ----------
    epsilon, n_moved
        Share of the true X, and number of rows of Y, taken as misfiled: at most this number, or exactly
        (`SweepResult.exactly`).
    lower, upper
        The smallest and the largest squared MMD found.
    lower_certified, upper_certified
        Numbers proved to lie beyond every labelling, or `None`.
    pvalue
        No labelling has a larger one, if `lower_certified` is known; else the largest found.
    null_quantile
        The 95 % quantile of the statistic on random labellings of these sizes; as in `RobustTestResult`.
    rows
        What single rows do to the two bounds: the columns of `BoundsResult.row_table` that are known, for
        the 30 rows to be checked first. Empty if nothing is misfiled.
    """

    epsilon: float
    n_moved: int
    lower: float
    upper: float
    lower_certified: float | None
    upper_certified: float | None
    pvalue: float
    null_quantile: float | None = None
    rows: Mapping[str, Any] = field(default_factory=dict)

    @property
    def in_null_quantiles(self) -> tuple[float, float] | None:
        """Lower and upper bound, proved where they are, as multiples of `null_quantile`."""
        if self.null_quantile is None:
            return None
        low = self.lower if self.lower_certified is None else self.lower_certified
        high = self.upper if self.upper_certified is None else self.upper_certified
        return low / self.null_quantile, high / self.null_quantile


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SweepResult(OfLabellings, ReportedResult):
    """Bounds and p-values over shares of misfiled rows, and where the finding breaks down.

    Attributes
    ----------
    points
        The curve, see `SweepPoint`.
    exactly
        Whether each point assumes exactly its number of misfiled rows, or at most that many.
    observed
        Squared MMD of the groups as filed.
    level
        Level of the test.
    breakdown_n_moved
        The first number of misfiled rows tested with a p-value above the level, `None` if there is none up
        to `most_moved`.
    holds_n_moved
        The largest number tested below it: up to this number of misfiled rows the test rejects. `None` if it
        does not even reject the groups as filed.
    is_confirmed
        Whether every number up to there was tested, so that the two are neighbours.
    is_tight
        Whether some labelling with `breakdown_n_moved` rows has a p-value above the level: that many rows can
        really explain the finding away. If false, the proof was not good enough to say more.
    is_valid
        Whether every p-value and lower bound rests on a proof.
    value, breakdown_of_value
        The first number of misfiled rows at which the lower bound is no larger than `value`, or `None`.
    most_moved
        The largest number of misfiled rows tried.
    n_permutations, is_exact, n_labellings, n_samples_X, n_samples_Y, name_x, name_y
        As in `RobustTestResult`.
    conditions, units_note, knowledge, provenance
        As in `RobustTestResult`.
    """

    points: tuple[SweepPoint, ...]
    exactly: bool = False
    observed: float
    level: float
    breakdown_n_moved: int | None
    holds_n_moved: int | None
    is_confirmed: bool
    is_tight: bool
    is_valid: bool
    value: float = 0.0
    breakdown_of_value: int | None
    most_moved: int
    units_note: str = ""
    knowledge: Knowledge | None = None
    provenance: Provenance

    @property
    def n_listed(self) -> int:
        """How many rows of Y may be misfiled."""
        return self.n_samples_Y if self.knowledge is None else self.knowledge.n_may_move_y

    @property
    def breakdown_epsilon(self) -> float | None:
        """The first share of the true X with which the test does not reject, `None` if above all tried."""
        return None if self.breakdown_n_moved is None else self.share(self.breakdown_n_moved)

    def __repr__(self) -> str:
        where = (
            f"above {self.share(self.most_moved):.4g}"
            if self.breakdown_epsilon is None
            else f"{self.breakdown_epsilon:.4g}"
        )
        proved = "" if self.is_valid and self.is_confirmed else " (not proved)"
        return (
            f"SweepResult(breakdown epsilon {where}{proved} at level {self.level:g}, {len(self.points)} "
            f"points up to {self.most_moved} of {self.n_samples_Y} rows of Y, observed {self.observed:.6g})"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrontierPoint:
    """One share of misfiled rows of X, and how many of Y the finding survives beside it.

    Attributes
    ----------
    epsilon
        Share of the true X filed under Y: up to this share.
    y_in_x
        The largest share of the true Y filed under X with which the test still rejects, whatever the numbers
        up to both shares are. `None` if it does not reject even if no row of Y is misfiled.
    n_moved, n_moved_of_x
        The rows of Y and of X that both shares together make up, at the most.
    breakdown_y_in_x
        The first share of the true Y with which the test does not reject; `None` if above all tried.
    is_tight
        Whether some labelling then, or with at most 2 % more rows, has a p-value above the level: so much
        misfiling can really explain the finding away.
    """

    epsilon: float
    y_in_x: float | None
    n_moved: int
    n_moved_of_x: int
    breakdown_y_in_x: float | None
    is_tight: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrontierResult(OfLabellings):
    """The frontier of misfiling both ways: up to where a finding holds.

    Attributes
    ----------
    points
        The frontier, see `FrontierPoint`.
    observed
        Squared MMD of the groups as filed.
    level
        Level of the test.
    most_y_in_x
        The largest share of the true Y tried.
    is_valid
        Whether every p-value rests on a proof.
    n_permutations, is_exact, n_labellings, n_samples_X, n_samples_Y, name_x, name_y
        As in `RobustTestResult`.
    conditions, units_note, knowledge, provenance
        As in `RobustTestResult`.
    """

    points: tuple[FrontierPoint, ...]
    observed: float
    level: float
    most_y_in_x: float
    is_valid: bool
    units_note: str = ""
    knowledge: Knowledge | None = None
    provenance: Provenance

    def __repr__(self) -> str:
        first, last = self.points[0], self.points[-1]
        ends = [
            f"{point.epsilon:.4g} and {'none' if point.y_in_x is None else f'{point.y_in_x:.4g}'}"
            for point in (first, last)
        ]
        return (
            f"FrontierResult({len(self.points)} points from {ends[0]} to {ends[1]} at level {self.level:g}, "
            f"{self.n_samples_X} rows of X and {self.n_samples_Y} of Y, observed {self.observed:.6g})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OddsPoint:
    """The range at one share and one factor; fields as in `BoundsResult` and `Bound`."""

    epsilon: float
    n_moved: int
    odds: float
    lower: float
    lower_certified: float | None
    upper: float
    upper_certified: float | None
    point: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OddsBreakdown:
    """How far from random misfiling must be for the finding to break down, at one share.

    Attributes
    ----------
    epsilon, n_moved
        The share, and the number of misfiled rows of Y.
    odds
        The smallest factor, to within 1 %, at which the lower end is no larger than what chance alone
        would give; `None` if it is above the largest factor tried.
    """

    epsilon: float
    n_moved: int
    odds: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OddsSweepResult(OfGroups):
    """Ranges over shares of misfiled rows and factors of the odds, and where the finding breaks down.

    Attributes
    ----------
    points
        See `OddsPoint`: for each share all factors, in ascending order.
    breakdown
        For each share, see `OddsBreakdown`.
    chance
        What counts as chance: the 95 % quantile of the squared MMD of random labellings with the sizes as
        filed. The lower end is compared with it on the scale of the groups as filed.
    observed, exactly, n_permutations, n_samples_X, n_samples_Y, name_x, name_y, provenance
        As in `SweepResult`.
    """

    points: tuple[OddsPoint, ...]
    breakdown: tuple[OddsBreakdown, ...]
    chance: float
    observed: float
    exactly: bool
    n_permutations: int
    provenance: Provenance

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The shares."""
        return tuple(each.epsilon for each in self.breakdown)

    @property
    def odds(self) -> tuple[float, ...]:
        """The factors."""
        return tuple(point.odds for point in self.points[: len(self.points) // len(self.breakdown)])

    def __repr__(self) -> str:
        return (
            f"OddsSweepResult({len(self.epsilons)} shares up to {self.epsilons[-1]:.4g}, {len(self.odds)} "
            f"factors up to {self.odds[-1]:g}, observed {self.observed:.6g}, chance {self.chance:.6g})"
        )
