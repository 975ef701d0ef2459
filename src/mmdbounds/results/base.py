"""What every result can do: describe itself, draw itself, be saved and come back."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

from mmdbounds.results.provenance import Provenance
from mmdbounds.results.serialize import Saved


class Result(Saved, abc.ABC):
    """Base of all results: frozen, with provenance, printed in one line, computing nothing when printed."""

    __slots__ = ()

    PARTS: ClassVar[Mapping[str, type[Any]]] = {"provenance": Provenance}

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
