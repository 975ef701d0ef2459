"""Confidence intervals as they are returned: frozen, self-describing, plain data on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from mmdbounds._version import __version__
from mmdbounds.contamination import Counts, check_sizes
from mmdbounds.objective import GroupSums
from mmdbounds.phrases import number, percent, proved_number, rows, shown, wrapped
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.results import Provenance, Result
from mmdbounds.saved import hold_tuples
from mmdbounds.search import Method

Label = Literal["proved", "approximate", "heuristic"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedBounds:
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

    def __post_init__(self) -> None:
        hold_tuples(self, ("n_moved", "n_moved_of_x"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidenceInterval(Result):
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
        proved. ``"heuristic"``: resampling; simulations say how often it covers, nothing promises it.
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
    at_most
        Whether every smaller number was considered too.
    epsilon
        The largest share of the true X taken as misfiled, before rows were held out.
    parts
        The bounds and radii behind a finite-sample interval, see `CountedBounds`.
    n_resamples
        Resamples behind a heuristic one, else `None`.
    name_x, name_y
        What the groups are called.
    provenance
        How the result was made.
    """

    LISTS: ClassVar[Mapping[str, type[Any]]] = {"parts": CountedBounds}

    low: float
    high: float
    level: float
    label: Label
    why: tuple[str, ...] = ()
    n_samples_X: int  # noqa: N815 -- X and Y are the notation
    n_samples_Y: int  # noqa: N815
    n_held_out: int = 0
    n_moved_range: tuple[int, int]
    n_moved_of_x: int = 0
    at_most: bool
    epsilon: float
    parts: tuple[CountedBounds, ...] = ()
    n_resamples: int | None = None
    name_x: str = "X"
    name_y: str = "Y"
    provenance: Provenance

    def __post_init__(self) -> None:
        hold_tuples(self, ("why", "parts", "n_moved_range"))

    @property
    def n_moved(self) -> int:
        """The largest number of misfiled rows of Y considered."""
        return self.n_moved_range[1]

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends, on the root scale."""
        return self.low, self.high

    @property
    def radius(self) -> float | None:
        """The largest radius of `parts`, `None` for a heuristic interval."""
        return max((part.radius for part in self.parts), default=None)

    def summary(self) -> str:
        """Return the result in plain words: statement first, conditions second, settings last."""
        blocks = [_assumption(self), _statement(self), *self.why, _conditions(self), "", _settings(self)]
        return "\n".join(wrapped(block) for block in blocks)

    def __repr__(self) -> str:
        return (
            f"ConfidenceInterval(root MMD in [{self.low:.6g}, {self.high:.6g}] at level {self.level:g}, "
            f"{self.label}, {_how_many(self)} of {self.n_samples_Y} rows of Y misfiled)"
        )


def _how_many(result: ConfidenceInterval) -> str:
    fewest, most = result.n_moved_range
    if result.at_most:
        return f"up to {most:,}"
    return f"exactly {most:,}" if fewest == most else f"{fewest:,} to {most:,}"


def _assumption(result: ConfidenceInterval) -> str:
    x, y = shown(result.name_x), shown(result.name_y)
    assumed = f"Assumed: {_how_many(result)} of the {rows(result.n_samples_Y)} filed under {y} belong to {x}"
    if not result.n_moved_of_x:
        return f"{assumed}."
    return f"{assumed}, and up to {result.n_moved_of_x:,} of the {rows(result.n_samples_X)} of {x} to {y}."


def _statement(result: ConfidenceInterval) -> str:
    low, high = number(result.low), number(result.high)
    if result.label == "proved":
        low, high = proved_number(result.low, "lower"), proved_number(result.high, "upper")
    between = f"the MMD of the two populations (root scale) is between {low} and {high}"
    if result.label == "heuristic":
        return f"Going by {result.n_resamples:,} resamples, {between} ({percent(result.level)} interval)."
    sure = "proved" if result.label == "proved" else "approximately; not proved"
    chance = f"Of that, up to {number(result.radius or 0.0)} at each end is room for chance."
    return f"With {percent(result.level)} confidence {between} ({sure}). {chance}"


def _conditions(result: ConfidenceInterval) -> str:
    if result.label == "heuristic":
        return "A heuristic: repeated rows lift the statistic, and near an MMD of 0 the theory fails."
    return (
        "Conditions: the rows of the true groups are independent draws from their populations; rows were "
        "misfiled, whichever and for whatever reason, but neither lost nor altered; and as many as assumed."
    )


def _settings(result: ConfidenceInterval) -> str:
    made = result.provenance
    seed = "" if made.seed is None else f"; seed {made.seed}"
    length = "" if made.bandwidth is None else f", bandwidth {made.bandwidth:.6g}"
    return (
        f"Bounds by {made.method}{seed}; kernel {made.kernel}{length}; {made.estimator} estimator; "
        f"{made.n_pairs:,} kernel values in {made.seconds:.2g} s; mmdbounds {made.version}."
    )


def checked_counts(admissible: list[Counts], search: Method, problem: Problem) -> list[Counts]:
    """Return the counts, if the estimator and the search can do all of them."""
    p, q = problem.p, problem.q
    for counts in (Counts(0, 0, p, q), *admissible):
        check_sizes(counts, p, q, unbiased=problem.estimator == "unbiased")
        search.check(counts, p, q)
    return admissible


def asked_fields(
    problem: Problem, before: list[Counts], admissible: list[Counts], at_most: bool
) -> dict[str, Any]:
    """Return the fields that say what was asked about whom; `before` rows were held out, and after."""
    moved = [c.n_moved for c in admissible]
    return {
        "n_samples_X": problem.p,
        "n_samples_Y": problem.q,
        "n_moved_range": (min(moved), max(moved)),
        "n_moved_of_x": max(c.n_moved_of_x for c in admissible),
        "at_most": bool(at_most),
        "epsilon": float(max(c.epsilon for c in before)),
        "name_x": problem.X.name,
        "name_y": problem.Y.name,
    }


def provenance_of(
    problem: Problem,
    totals: GroupSums,
    meter: Meter,
    *,
    method: str,
    options: Mapping[str, Any],
    seed: int | None,
    seconds: float,
) -> Provenance:
    """Return how a result of this room was made."""
    return Provenance(
        method=method,
        options=options,
        kernel=problem.kernel.name,
        kernel_options=problem.kernel.options(),
        bandwidth=problem.kernel.length,
        estimator=problem.estimator,
        backend=totals.sums.backend,
        device=totals.sums.device,
        dtype=totals.sums.dtype,
        seed=seed,
        n_pairs=meter.n_pairs,
        seconds=seconds,
        version=__version__,
        data=problem.X.record,
    )
