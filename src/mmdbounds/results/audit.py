"""What is returned about an audit of records: the plan, and where the audit stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mmdbounds.results.base import OfLabellings, ReportedResult, Result
from mmdbounds.results.provenance import Provenance

Decision = Literal["the difference stands", "explained away", "check more", "no difference shown"]
By = Literal["random", "effect", "order"]


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

    points: tuple[PlanPoint, ...]
    n_samples_Y: int  # noqa: N815 -- X and Y are the notation
    breakdown_n_moved: int
    audit_level: float
    power: float
    anytime: bool

    def __repr__(self) -> str:
        numbers = ", ".join(f"{point.n_misfiled}: {point.n_checked}" for point in self.points)
        out = f"{self.breakdown_n_moved} of {self.n_samples_Y} rows of Y with probability {self.power:g}"
        return f"AuditPlan(rows to check by rows misfiled {{{numbers}}}, to rule out {out})"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditResult(OfLabellings, ReportedResult):
    """Where an audit of the rows filed under Y stands, and what is to be done next.

    Attributes
    ----------
    decision
        ``"the difference stands"``: the groups differ whichever of the rows not looked up are misfiled, as
        many as the audit allows. ``"explained away"``: once the rows found are refiled, no difference is
        shown, even if no other row is misfiled. ``"check more"``: not decided yet.
        ``"no difference shown"``: there is none to begin with.
    n_more
        How many more rows, in the recorded order, are expected to decide it with a probability of 0.9, if
        misfiled rows are as frequent as among those checked at random. All that are left, if it then
        looks as if the difference does not stand. 0 once it is decided.
    n_random, n_found_random
        Rows looked up in the recorded order without a gap, and how many of them belong to X.
    n_chosen, n_found_chosen
        The same for all other rows looked up. They narrow the bounds, but say nothing about the number.
    n_unknown
        Rows not looked up.
    n_misfiled_range
        The fewest and the most rows of Y, as filed, that belong to X: with confidence `audit_level`, however
        often one looks.
    n_left
        How many of the rows not looked up are misfiled at the most.
    level, audit_level
        Level of the test, and confidence of the limits on the number.
    pvalue
        The largest p-value over all numbers up to `n_left` and all labellings, plus the error of the audit,
        1 - `audit_level`. `None` where the limit leaves too few rows in Y.
    pvalue_of_test
        The same without the error of the audit; the difference stands if it is at most `level`.
    is_valid
        Whether every p-value rests on a proof.
    lower, upper, is_certified
        Bounds on the squared MMD with at most `n_left` of these rows misfiled, and whether they are proved.
    observed
        Squared MMD once the rows found are refiled.
    breakdown_n_moved
        The first number of misfiled rows, among those not looked up, with which the test does not reject.
        `None` if there is none up to `most_moved`.
    most_moved
        The largest number of misfiled rows tried.
    by
        How the next rows are chosen: ``"random"`` (in the recorded order), ``"effect"`` or
        ``"order"`` (one that was handed in).
    effects_at
        The largest number of misfiled rows at which effects were compared, if rows are chosen by effect.
    next_rows, ids_next, file_rows_next
        Places in Y of the rows to look up next, in this order, their names and rows in the file.
    order_digest
        Tells the recorded order from any other; note it before the first row is looked up.
    drew_seed
        Whether this call drew the seed of the order. One that was given may have been known to whoever filed
        or sorted the rows, who could then choose which are looked up.
    n_samples_X, n_samples_Y, name_x, name_y
        The groups as they were filed.
    conditions
        What this rests on, one sentence each.
    n_permutations, is_exact, n_labellings, provenance
        How the result was made, as in `SweepResult`; the seed is that of the order, too.
    """

    decision: Decision
    n_more: int
    n_random: int
    n_found_random: int
    n_chosen: int
    n_found_chosen: int
    n_unknown: int
    n_misfiled_range: tuple[int, int]
    n_left: int
    level: float
    audit_level: float
    pvalue: float | None
    pvalue_of_test: float | None
    is_valid: bool
    lower: float | None
    upper: float | None
    is_certified: bool
    observed: float
    breakdown_n_moved: int | None
    most_moved: int
    by: By
    effects_at: int | None = None
    next_rows: NDArray[np.intp]
    ids_next: NDArray[np.str_] | None = None
    file_rows_next: NDArray[np.intp] | None = None
    order_digest: str
    drew_seed: bool
    provenance: Provenance

    @property
    def n_found(self) -> int:
        """Rows that were found to belong to X, however they were come upon."""
        return self.n_found_random + self.n_found_chosen

    @property
    def is_decided(self) -> bool:
        """Whether nothing more needs to be checked."""
        return self.decision != "check more"

    def __repr__(self) -> str:
        more = f" ({self.n_more} rows)" if self.n_more else ""
        low, high = self.n_misfiled_range
        at_random = f"{self.n_random} rows at random with {self.n_found_random} found"
        chosen = f"{self.n_chosen} chosen with {self.n_found_chosen}"
        misfiled = f"{low} to {high} of {self.n_samples_Y} misfiled"
        return f"AuditResult({self.decision}{more}, {at_random}, {chosen}, {misfiled})"
