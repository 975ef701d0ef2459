"""What the test over several kernels returns: frozen, self-describing, plain data on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mmdbounds.inference.outcome import CountTest
from mmdbounds.phrases import number, percent, rows, shown, wrapped
from mmdbounds.results import Provenance, Result
from mmdbounds.saved import hold_tuples, read_only


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
class AggregatedResult(Result):
    """A two-sample test under misfiling over several kernels.

    Statistics are maxima over the kernels of the squared MMD in standard deviations of its null. It unpacks
    as ``statistic, pvalue = result``.

    Attributes
    ----------
    statistic
        The proved lower bound of the maximum at the worst count (the value found, if nothing is proved).
    pvalue
        The largest p-value over all counts and labellings considered, plus `beta`. It needs no correction
        for the number of kernels.
    is_valid, is_tight, n_moved, n_moved_of_x, n_permutations, beta, at_most, epsilon, share_of_y
        As in `TestResult`.
    null
        The maximum on random labellings of the sizes at the worst count.
    observed, pvalue_as_filed
        Statistic and p-value of the groups as filed; valid only if nothing is misfiled.
    counts, n_admissible
        Every count considered, see `CountTest` (its statistics are maxima, too), and how many there are.
    parts
        The kernels, see `KernelPart`.
    n_samples_X, n_samples_Y, name_x, name_y, conditions, units_note, provenance
        As in `TestResult`; the options of `provenance` name the kernels.
    """

    LISTS: ClassVar[Mapping[str, type[Any]]] = {"counts": CountTest, "parts": KernelPart}

    statistic: float
    pvalue: float
    is_valid: bool
    is_tight: bool
    n_moved: int
    n_moved_of_x: int = 0
    null: NDArray[np.float64]
    observed: float
    pvalue_as_filed: float
    counts: tuple[CountTest, ...]
    n_admissible: int
    parts: tuple[KernelPart, ...]
    n_permutations: int
    beta: float = 0.0
    at_most: bool
    epsilon: float
    share_of_y: float
    n_samples_X: int  # noqa: N815 -- X and Y are the notation
    n_samples_Y: int  # noqa: N815
    name_x: str = "X"
    name_y: str = "Y"
    conditions: tuple[str, ...] = ()
    units_note: str = ""
    provenance: Provenance

    def __post_init__(self) -> None:
        object.__setattr__(self, "null", read_only(self.null, np.float64))
        hold_tuples(self, ("counts", "parts", "conditions"))

    def __iter__(self) -> Iterator[float]:
        # `statistic, pvalue = result`, as people know it from SciPy.
        return iter((self.statistic, self.pvalue))

    @property
    def n_moved_range(self) -> tuple[int, int]:
        """The smallest and the largest number of misfiled rows of Y considered."""
        moved = [count.n_moved for count in self.counts]
        return min(moved), max(moved)

    @property
    def most_moved_of_x(self) -> int:
        """The largest number of misfiled rows of X considered."""
        return max(count.n_moved_of_x for count in self.counts)

    @property
    def decisive(self) -> KernelPart | None:
        """The kernel whose proved statistic is the largest, `None` if none has any."""
        proved = [part for part in self.parts if part.standardised is not None]
        return max(proved, key=lambda part: part.standardised or 0.0, default=None)

    def summary(self) -> str:
        """Return the result in plain words: statement first, kernels second, conditions and settings last."""
        return _summary(self)

    def __repr__(self) -> str:
        valid = "valid" if self.is_valid else "validity not guaranteed"
        return (
            f"AggregatedResult(pvalue {self.pvalue:.4g} ({valid}), {len(self.parts)} kernels, "
            f"{_how_many(self)} misfiled, as filed pvalue {self.pvalue_as_filed:.4g})"
        )


def _how_many(result: AggregatedResult) -> str:
    """Say how many rows were taken as misfiled."""
    (fewest, most), of_x = result.n_moved_range, result.most_moved_of_x
    how = "up to " if result.at_most else f"{fewest:,} to " if fewest < most else "exactly "
    other = f" and {'up to' if result.at_most else 'exactly'} {of_x:,} of {result.n_samples_X:,} of X"
    return f"{how}{most:,} of {result.n_samples_Y:,} rows of Y{other if of_x else ''}"


def _summary(result: AggregatedResult) -> str:
    made = result.provenance
    names = f"X is {shown(result.name_x)}, Y is {shown(result.name_y)}"
    assumed = f"Assumed: {_how_many(result)} misfiled, {percent(result.epsilon)} of the true X ({names})."
    settings = (
        f"{result.n_permutations:,} permutations, seed {made.seed}; {made.estimator} estimator; "
        f"{made.dtype}, {made.backend} on {made.device}; {made.seconds:.2g} s; mmdbounds {made.version}."
    )
    noted = [result.units_note] if result.units_note else []
    sentences = [assumed, *noted, _statement(result), ""]
    conditions = ["", "Valid if", *(f"- {condition}" for condition in result.conditions), "", settings]
    return "\n".join([*map(wrapped, sentences), *_kernels(result), *map(wrapped, conditions)])


def _statement(result: AggregatedResult) -> str:
    n, pvalue = len(result.parts), number(result.pvalue)
    if not result.is_valid:
        missing = (
            "Not every possible number of misfiled rows was tested"
            if len(result.counts) < result.n_admissible
            else "That no labelling has a larger one is not proved"
        )
        return f"The largest p-value found over {n} kernels is {pvalue}. {missing}: validity not guaranteed."
    others = "more" if result.at_most else "more or fewer"
    as_filed = f"As filed it is {number(result.pvalue_as_filed)}, valid only if nothing is misfiled."
    return (
        f"Whichever rows they are, the p-value for no difference between the true groups, over {n} kernels "
        f"together, is at most {pvalue} (proved). If {others} rows are misfiled, it can be larger. {as_filed}"
    )


def _kernels(result: AggregatedResult) -> list[str]:
    """Return a table of the kernels."""
    lines = [f"With {rows(result.n_moved)} misfiled, the worst count:"]
    lines.append(f"  {'kernel':<14}{'bandwidth':>11}{'squared MMD at least':>23}{'in sd of the null':>20}")
    for part in result.parts:
        length = "-" if part.bandwidth is None else number(part.bandwidth)
        least = "not proved" if part.certified is None else number(part.certified)
        size = "-" if part.standardised is None else number(part.standardised)
        mark = "  decisive" if part is result.decisive else ""
        lines.append(f"  {part.kernel:<14}{length:>11}{least:>23}{size:>20}{mark}")
    return lines
