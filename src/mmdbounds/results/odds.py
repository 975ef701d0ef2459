"""Estimated ends for the populations when the odds of being misfiled are limited, and curves of them."""

from __future__ import annotations

from dataclasses import dataclass

from mmdbounds.results.base import OfGroups
from mmdbounds.results.provenance import Provenance


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
