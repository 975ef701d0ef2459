"""What every result can do: describe itself, draw itself, be saved and come back."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.results.provenance import Side
from mmdbounds.results.serialize import Held, Saved


class Result(Saved, abc.ABC):
    """Base of all results: frozen, with provenance, printed in one line, computing nothing when printed."""

    __slots__ = ()

    def summary(self) -> str:
        """Return the result in plain words: statement first, numbers second, settings last."""
        import mmdbounds  # by the front door, as a user would: words and pictures are made from results

        return str(mmdbounds.words.summary(self))

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the picture that goes with this kind of result, and return the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if none is given.
        **options
            Options of the function that draws: `plot_bounds` for bounds, sweeps and confidence intervals,
            `plot_frontier` for two-way sweeps, `plot_null` for tests, `plot_columns` for tables of columns,
            `plot_odds` for limited odds, `plot_plan` for plans of audits, `plot_coverage` for evaluations.
        """
        import mmdbounds

        return mmdbounds.plotting.plot_result(self, ax, **options)

    def _repr_html_(self) -> str:
        import mmdbounds

        return str(mmdbounds.words.in_notebook(self))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfGroups(Result):
    """A result about two groups as filed."""

    n_samples_X: int  # noqa: N815 -- X and Y are the notation
    n_samples_Y: int  # noqa: N815
    name_x: str = "X"
    name_y: str = "Y"

    def share(self, n_moved: int) -> float:
        """Return the share of the true X that this number of misfiled rows makes up."""
        return n_moved / (self.n_samples_X + n_moved)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfLabellings(OfGroups):
    """A result whose p-values come from labellings drawn at random, or from all that differ."""

    n_permutations: int
    is_exact: bool = False
    n_labellings: int = 0  # as many as were asked for, where their number is not stated
    conditions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        if not self.n_labellings:
            object.__setattr__(self, "n_labellings", self.n_permutations)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneSide(Held):
    """One side of an interval, and the rows that reach it."""

    side: Side
    value: float
    certified: float | None = None
    rows: NDArray[np.intp]
    ids: NDArray[np.str_] | None = None
    file_rows: NDArray[np.intp] | None = None
    status: str = ""

    @property
    def n_moved(self) -> int:
        """How many `rows` there are."""
        return len(self.rows)

    @property
    def gap(self) -> float | None:
        """Distance between the proved and the attained value, `None` without a proof."""
        return None if self.certified is None else abs(self.certified - self.value)


class TwoSided:
    """A result with a lower and an upper side, each found and perhaps proved (`value`, `certified`)."""

    __slots__ = ()

    lower: Any
    upper: Any

    @property
    def is_certified(self) -> bool:
        """Whether both ends of `interval` are proved."""
        return self.lower.certified is not None and self.upper.certified is not None

    @property
    def interval(self) -> tuple[float, float]:
        """Both sides certified if both are proved, else both as found: never one of each, never reordered."""
        if self.is_certified:
            return self.lower.certified, self.upper.certified
        return self.lower.value, self.upper.value

    @property
    def width(self) -> float:
        """Attained width, ``upper.value - lower.value``; negative where the values cross."""
        return float(self.upper.value - self.lower.value)


class ReportedResult(Result):
    """A result that can be written as a page."""

    __slots__ = ()

    def report(self, path: Any, **options: Any) -> Any:
        """Write the result as one self-contained page.

        Parameters
        ----------
        path : path-like
            Where the page is written.
        **options
            Options of `write_report`.
        """
        import mmdbounds

        return mmdbounds.write_report(self, path, **options)
