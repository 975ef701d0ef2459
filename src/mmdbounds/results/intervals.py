"""Confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mmdbounds.results.base import OfGroups
from mmdbounds.results.provenance import Provenance
from mmdbounds.results.serialize import Held

Label = Literal["proved", "approximate"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedBounds(Held):
    """Bounds on the squared MMD (biased) for some counts of misfiled rows, and what chance adds.

    Attributes
    ----------
    n_moved, n_moved_of_x
        Fewest and most rows of Y, and of X, that these bounds take as misfiled.
    lower, upper
        The bounds on the squared MMD of the true samples.
    radius
        How far the root MMD of the populations may be from that of the true samples; the largest of these
        counts' radii, which differ by 1 % at most.
    """

    n_moved: tuple[int, int]
    n_moved_of_x: tuple[int, int]
    lower: float
    upper: float
    radius: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidenceInterval(OfGroups):
    """Where the root MMD of the two populations lies, with a stated confidence.

    Attributes
    ----------
    low, high
        The interval, on the root scale: its ends are distances, not squares.
    level
        The confidence.
    label
        ``"proved"``: the coverage is at least `level`, at any sample size, under the conditions that
        `summary` states. ``"approximate"``: the same formula, but what `why` says keeps it from being
        proved.
    why
        What the label rests on, or what is missing; one sentence each.
    n_samples_X, n_samples_Y
        Rows, as filed, that the interval rests on.
    n_held_out
        Rows set aside to choose the kernel; they are not among the former.
    n_moved_range
        The smallest and the largest number of misfiled rows of Y considered among these rows.
    n_moved_of_x
        The largest number of misfiled rows of X considered.
    exactly
        Whether an exact number was stated; else every smaller one (or those of a range) was considered too.
    epsilon
        The largest share of the true X taken as misfiled, before rows were held out.
    parts
        The bounds and radii behind the interval, see `CountedBounds`.
    name_x, name_y
        What the groups are called.
    provenance
        How the result was made.
    """

    low: float
    high: float
    level: float
    label: Label
    why: tuple[str, ...] = ()
    n_held_out: int = 0
    n_moved_range: tuple[int, int]
    n_moved_of_x: int = 0
    exactly: bool
    epsilon: float
    parts: tuple[CountedBounds, ...]
    provenance: Provenance

    @property
    def n_moved(self) -> int:
        """The largest number of misfiled rows of Y considered."""
        return self.n_moved_range[1]

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends, on the root scale."""
        return self.low, self.high

    @property
    def radius(self) -> float:
        """The largest radius of `parts`."""
        return max(part.radius for part in self.parts)

    def __repr__(self) -> str:
        fewest, most = self.n_moved_range
        how = "exactly " if fewest == most else f"{fewest} to " if fewest or self.exactly else "at most "
        return (
            f"ConfidenceInterval(root MMD in [{self.low:.6g}, {self.high:.6g}] at level {self.level:g}, "
            f"{self.label}, {how}{most} of {self.n_samples_Y} rows of Y misfiled)"
        )
