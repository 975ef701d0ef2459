"""What is returned about an audit of records: the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mmdbounds.results.base import Result
from mmdbounds.results.serialize import hold_tuples


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanPoint:
    """How many rows must be checked if so many are misfiled.

    Attributes
    ----------
    n_misfiled
        Rows of Y that belong to X, in all.
    n_checked
        Rows to draw at random and look up.
    most_found
        The breakdown is ruled out if at most so many of them belong to X.
    power
        The probability of that, if `n_misfiled` rows are misfiled.
    """

    n_misfiled: int
    n_checked: int
    most_found: int
    power: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditPlan(Result):
    """How many rows must be checked so that the breakdown is ruled out.

    Attributes
    ----------
    points
        The numbers, see `PlanPoint`.
    n_samples_Y
        Rows filed under Y.
    breakdown_n_moved
        The number of misfiled rows to be ruled out, and with it all larger ones.
    audit_level
        Confidence of the limit on the number misfiled.
    power
        Probability with which the breakdown is to be ruled out.
    anytime
        Whether the limit is looked at after every row; else once, after all.
    """

    PARTS: ClassVar[Mapping[str, type[Any]]] = {}
    LISTS: ClassVar[Mapping[str, type[Any]]] = {"points": PlanPoint}

    points: tuple[PlanPoint, ...]
    n_samples_Y: int  # noqa: N815 -- X and Y are the notation
    breakdown_n_moved: int
    audit_level: float
    power: float
    anytime: bool

    def __post_init__(self) -> None:
        hold_tuples(self, ("points",))

    def __repr__(self) -> str:
        numbers = ", ".join(f"{point.n_misfiled}: {point.n_checked}" for point in self.points)
        out = f"{self.breakdown_n_moved} of {self.n_samples_Y} rows of Y with probability {self.power:g}"
        return f"AuditPlan(rows to check by rows misfiled {{{numbers}}}, to rule out {out})"
