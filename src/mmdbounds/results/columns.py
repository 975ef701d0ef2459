"""Each column's difference with its bounds, as it is returned."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mmdbounds.errors import MmdBoundsError, shown_value
from mmdbounds.results.base import OfGroups
from mmdbounds.results.provenance import Knowledge


@dataclass(frozen=True, slots=True, eq=False)
class ColumnRow:
    """One column.

    Attributes
    ----------
    name
        Of the column; ``"site=A"`` is the share of rows with that category.
    mean_x, mean_y
        Means of the groups as filed, in the units of the data; for a column of 0 and 1 these are shares.
    difference, difference_lower, difference_upper
        Mean of X less mean of Y as filed, and the smallest and largest one that the misfiling allows.
    standardised, standardised_lower, standardised_upper
        The same, divided by the standard deviation over the rows of both groups, which no misfiling changes.
    auc, auc_lower, auc_upper
        Probability that a row of X exceeds one of Y, ties half: as filed, smallest and largest.
    sign_lost
        The smallest number of rows of Y that could take away the sign of the difference if they belonged to
        X, whatever was assumed; `None` where no number does.
    is_share
        Whether the column holds nothing but 0 and 1 (or one of them), so that its means are shares.
    in_units
        Whether means and differences are in the units of the data; not so if `groups` took ranks.
    n_missing
        Cells that were missing and have been filled.
    """

    name: str
    mean_x: float
    mean_y: float
    difference: float
    difference_lower: float
    difference_upper: float
    standardised: float
    standardised_lower: float
    standardised_upper: float
    auc: float
    auc_lower: float
    auc_upper: float
    sign_lost: int | None = None
    is_share: bool = False
    in_units: bool = True
    n_missing: int = 0

    @property
    def keeps_sign(self) -> bool:
        """Whether no admissible misfiling takes the sign of the difference away."""
        return self.difference_lower > 0 or self.difference_upper < 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnTable(OfGroups):
    """The groups compared column by column.

    Attributes
    ----------
    rows
        One for each column, see `ColumnRow`.
    n_moved, n_moved_of_x, exactly, epsilon, knowledge
        As in `BoundsResult`.
    n_samples_X, n_samples_Y, name_x, name_y
        As in `BoundsResult`.
    misfiling
        How much misfiling was stated, and how.
    n_dropped
        Rows of X and of Y that were left out because a cell was missing.
    """

    rows: tuple[ColumnRow, ...]
    n_moved: int
    n_moved_of_x: int
    exactly: bool
    epsilon: float
    knowledge: Knowledge | None = None
    misfiling: Mapping[str, Any] = field(default_factory=dict)
    n_dropped: tuple[int, int] = (0, 0)

    def to_frame(self, library: str | None = None) -> Any:
        """Return the rows as a DataFrame.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default pandas where it is installed, else polars.
        """
        chosen = library or ("pandas" if importlib.util.find_spec("pandas") else "polars")
        if chosen not in ("pandas", "polars"):
            msg = f"`library` must be 'pandas' or 'polars'; got {shown_value(chosen)}."
            raise MmdBoundsError(msg)
        names = [f.name for f in dataclasses.fields(ColumnRow)]
        columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in self.rows] for name in names}
        lost = columns["sign_lost"]
        columns["sign_lost_share"] = [None if m is None else self.share(m) for m in lost]
        return importlib.import_module(chosen).DataFrame(columns)

    def __repr__(self) -> str:
        kept = sum(row.keeps_sign for row in self.rows)
        return f"ColumnTable({len(self.rows)} columns, {kept} keep the sign of their difference)"
