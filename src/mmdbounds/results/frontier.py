"""How much misfiling both ways a finding survives, as it is returned."""

from __future__ import annotations

from dataclasses import dataclass

from mmdbounds.results.base import OfLabellings
from mmdbounds.results.provenance import NullRule, Provenance


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
    n_solved
        Pairs of counts that were solved; the proofs of all others follow from them.
    n_permutations, null_rule, is_exact, n_labellings, n_samples_X, n_samples_Y, name_x, name_y
        As in `RobustTestResult`.
    conditions, units_note, provenance
        As in `RobustTestResult`.
    """

    points: tuple[FrontierPoint, ...]
    observed: float
    level: float
    most_y_in_x: float
    is_valid: bool
    n_solved: int
    null_rule: NullRule = "labellings"
    units_note: str = ""
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
