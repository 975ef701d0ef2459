"""Estimated ends for the populations when the odds of being misfiled are limited, and curves of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mmdbounds.results.base import Result
from mmdbounds.results.provenance import Provenance, Side
from mmdbounds.results.serialize import from_fields, hold_tuples, read_only


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OddsEnd:
    """One end of the range.

    Attributes
    ----------
    side
        ``"lower"`` or ``"upper"``.
    value
        The squared MMD that `weights` give.
    certified
        A number that no admissible weights go beyond, or `None` where that was not proved.
    n_moved
        The number of misfiled rows of Y at which the value is reached.
    weights
        For each row of X how much more frequent (above 1) or less frequent rows like it are among the
        misfiled rows than among the rows filed under X. Their mean is 1.
    """

    side: Side
    value: float
    certified: float | None
    n_moved: int
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", read_only(self.weights, np.float64))

    def __reduce__(self) -> tuple[Any, ...]:
        return from_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OddsResult(Result):
    """The range of the squared MMD of the populations if odds of being misfiled differ by a limited factor.

    Attributes
    ----------
    lower, upper
        The two ends, see `OddsEnd`. They are estimates from the samples: sampling error comes on top.
    point
        The estimate if misfiling was random (odds 1) and the number is the largest considered.
    observed
        Squared MMD of the groups as filed.
    odds
        The factor G: the odds of being misfiled lie within a factor of G of one reference.
    n_moved, n_moved_range, exactly, epsilon, share_of_y
        How many rows of Y are taken as misfiled: the largest number considered and its shares, the smallest
        and the largest, and whether no smaller number was considered.
    n_samples_X, n_samples_Y, name_x, name_y, provenance
        As in `BoundsResult`.
    """

    PARTS: ClassVar[Mapping[str, type[Any]]] = {"lower": OddsEnd, "upper": OddsEnd, **Result.PARTS}

    lower: OddsEnd
    upper: OddsEnd
    point: float
    observed: float
    odds: float
    n_moved: int
    n_moved_range: tuple[int, int]
    exactly: bool
    epsilon: float
    share_of_y: float
    n_samples_X: int  # noqa: N815 -- X and Y are the notation
    n_samples_Y: int  # noqa: N815
    name_x: str = "X"
    name_y: str = "Y"
    provenance: Provenance

    def __post_init__(self) -> None:
        hold_tuples(self, ("n_moved_range",))

    @property
    def is_certified(self) -> bool:
        """Whether no admissible weights go beyond either end of `interval`."""
        return self.lower.certified is not None and self.upper.certified is not None

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends as proved if both are, else both as found."""
        if self.lower.certified is not None and self.upper.certified is not None:
            return self.lower.certified, self.upper.certified
        return self.lower.value, self.upper.value

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"OddsResult(population mmd2 estimated in [{low:.6g}, {high:.6g}] for odds within a factor of "
            f"{self.odds:g}, {self.point:.6g} if random, {'exactly' if self.exactly else 'at most'} "
            f"{self.n_moved} of {self.n_samples_Y} rows of Y misfiled)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OddsPoint:
    """The range at one share and one factor; fields as in `OddsResult` and `OddsEnd`."""

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
class OddsSweepResult(Result):
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
        As in `OddsResult` and `SweepResult`.
    """

    LISTS: ClassVar[Mapping[str, type[Any]]] = {"points": OddsPoint, "breakdown": OddsBreakdown}

    points: tuple[OddsPoint, ...]
    breakdown: tuple[OddsBreakdown, ...]
    chance: float
    observed: float
    exactly: bool
    n_permutations: int
    n_samples_X: int  # noqa: N815 -- X and Y are the notation
    n_samples_Y: int  # noqa: N815
    name_x: str = "X"
    name_y: str = "Y"
    provenance: Provenance

    def __post_init__(self) -> None:
        hold_tuples(self, ("points", "breakdown"))

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
