"""Pictures of results: each function takes a result and axes, draws, and returns the axes.

Nothing is computed here that the result does not hold, but for the witness, which needs the rows. Pictures
can be read in grey: lines differ in style, groups in markers, and colours in lightness.
"""

from __future__ import annotations

from mmdbounds.plotting.bounds import plot_bounds
from mmdbounds.plotting.choice import plot_result
from mmdbounds.plotting.coverage import plot_coverage
from mmdbounds.plotting.null import plot_null
from mmdbounds.plotting.pvalues import plot_pvalues
from mmdbounds.plotting.rows import plot_rows
from mmdbounds.plotting.witness import plot_witness

__all__ = [
    "plot_bounds",
    "plot_coverage",
    "plot_null",
    "plot_pvalues",
    "plot_result",
    "plot_rows",
    "plot_witness",
]
