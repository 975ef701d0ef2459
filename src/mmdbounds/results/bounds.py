"""Both sides of the interval, and the rows that reach them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.results.base import OfGroups, OneSide, ReportedResult, TwoSided
from mmdbounds.results.provenance import Knowledge, Provenance
from mmdbounds.results.row_table import ranked, row_columns

KINDS = ("labelling", "resized labelling", "weights")
"""What the value of a bound is the value of."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bound(OneSide):
    """One side of the interval.

    Attributes
    ----------
    side
        ``"lower"`` or ``"upper"``.
    value
        The squared MMD reached by the rows below (attained), for ``kind="labelling"``. For other kinds
        it is neither attained with the stated counts nor proved.
    certified
        A number proved to lie beyond every labelling, or `None` where nothing was proved.
    rows
        Positions in `Y`, from 0, of the rows that are moved to X to reach `value`.
    rows_of_x
        Positions in `X` of the rows moved to Y (two-way misfiling only).
    ids, ids_of_x
        Names of these rows where the data have names.
    file_rows, file_rows_of_x
        Their numbers in the file, the first row below the header being 1.
    effects, effects_of_x
        One number for each row of `Y` (two-way: and of `X`) that may be misfiled: the change of `value` if
        that row were on the other side of the filing than here, and the row of its group that suits best
        took its place. So by at most so much `value` falls (on the lower side rises) once that row is known
        to be there, and `certified` by at most the distance between the two more. With the other sign it is
        an exchange that the search has missed. If all rows of the group move, or none, the row changes sides
        alone, to another admissible number; NaN if there is none. `None` if nothing is misfiled and for other
        kinds than ``"labelling"``.
    kind
        ``"labelling"``: the value of one labelling with the stated counts.
        ``"resized labelling"``: the value of a labelling that moves another number of
        rows than stated (``schedule="paper"``), which bounds nothing.
        ``"weights"``: an estimate for the populations, reached by weights (limited odds); it has no `rows`.
    weights
        For limited odds: how much more frequent (above 1) or less frequent rows like each row of X are among
        the misfiled rows than among the rows filed under X. Their mean is 1.
    status
        In words how the search ended.
    """

    rows_of_x: NDArray[np.intp]
    ids_of_x: NDArray[np.str_] | None = None
    file_rows_of_x: NDArray[np.intp] | None = None
    effects: NDArray[np.float64] | None = None
    effects_of_x: NDArray[np.float64] | None = None
    kind: str = "labelling"
    weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        OneSide.__post_init__(self)
        if self.kind not in KINDS:
            msg = f"`kind` must be one of {', '.join(map(repr, KINDS))}; got {self.kind!r}."
            raise DataError(msg)
        if not self.has_rows and (n_rows := self.n_moved + self.n_moved_of_x):
            msg = f"`rows` must be empty for kind={self.kind!r}, which no rows reach; got {n_rows}."
            raise DataError(msg)

    @property
    def has_rows(self) -> bool:
        """Whether rows reach `value`; not so for weights."""
        return self.kind != "weights"

    @property
    def n_moved_of_x(self) -> int:
        """Rows moved from X to Y."""
        return len(self.rows_of_x)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundsResult(TwoSided, OfGroups, ReportedResult):
    """The smallest and the largest squared MMD that the misfiling allows.

    Attributes
    ----------
    lower, upper
        The two sides, see `Bound`.
    observed
        Squared MMD of the groups as filed.
    n_samples_X, n_samples_Y
        Rows of the groups as filed.
    n_moved, n_moved_of_x
        Rows assumed to be misfiled: rows of Y that belong to X, and rows of X that belong to Y.
        Unless `exactly`, the largest numbers considered.
    exactly
        Whether exactly these numbers were considered; else every smaller one too.
    epsilon
        Share of the true X that was filed under Y, ``n_moved / (n_samples_X + n_moved - n_moved_of_x)``;
        where several counts were considered, the largest share.
    share_of_y
        Share of the rows of Y that are misfiled, ``n_moved / n_samples_Y``.
    odds
        For limited odds, the factor: the odds of being misfiled lie within it of one value. Both sides are
        then estimates for the populations, and proofs are about the odds. Otherwise `None`.
    name_x, name_y
        What the groups are called in the table they came from.
    ids_of_y, ids_of_x
        Names of the rows of `Y` (two-way: and of `X`) that may be misfiled, where the data have names.
    file_rows_of_y, file_rows_of_x
        Their numbers in the file.
    places_of_y, places_of_x
        Places in `Y` (two-way: and in `X`) of the rows that may be misfiled, to which names, numbers and
        `Bound.effects` belong. `None`: all rows.
    knowledge
        What was known of the rows, in numbers; `None` if nothing was.
    provenance
        How the result was made.
    """

    lower: Bound
    upper: Bound
    observed: float
    n_moved: int
    n_moved_of_x: int = 0
    exactly: bool = False
    epsilon: float
    share_of_y: float
    odds: float | None = None
    ids_of_y: NDArray[np.str_] | None = None
    ids_of_x: NDArray[np.str_] | None = None
    file_rows_of_y: NDArray[np.intp] | None = None
    file_rows_of_x: NDArray[np.intp] | None = None
    places_of_y: NDArray[np.intp] | None = None
    places_of_x: NDArray[np.intp] | None = None
    knowledge: Knowledge | None = None
    provenance: Provenance

    @property
    def n_listed(self) -> int:
        """How many rows may be misfiled: of Y and, in two-way misfiling, of X."""
        of_y = self.n_samples_Y if self.places_of_y is None else len(self.places_of_y)
        of_x = self.n_samples_X if self.places_of_x is None else len(self.places_of_x)
        return of_y + (of_x if self.n_moved_of_x else 0)

    @property
    def if_random(self) -> float:
        """Squared MMD of the populations, estimated, if `n_moved` rows of X were misfiled at random."""
        estimate = self.observed / (1 - self.share_of_y) ** 2
        # Equal odds are among limited ones, whose range is cut off where no population has a value beyond.
        return estimate if self.odds is None else min(max(estimate, self.lower.value), self.upper.value)

    @property
    def is_crossed(self) -> bool:
        """Whether the lower end of `interval` is above the upper one, by more than rounding."""
        low, high = self.interval
        return low - high > 1e-12 * max(abs(low), abs(high), abs(self.observed))

    def row_table(self) -> dict[str, Any]:
        """Return what each row that may be misfiled does to the bounds, the rows to be checked first on top.

        Returns
        -------
        dict
            Columns of equal length, ready for ``pandas.DataFrame`` or ``polars.DataFrame``: ``group``
            (its name), ``row`` (place in the group, from 0), ``id`` and ``file_row`` (`None` where the
            data have none), ``in_lower`` and ``in_upper`` (whether the labelling of that side moves the
            row), ``lower_change`` and ``upper_change`` (`Bound.effects`).
            In the order of the change of the lower bound, the largest first; where it is the same or not
            known, rows that the upper bound moves come first, by its change; then by row, and in two-way
            misfiling rows of X after equal ones of Y. Refused where neither side has rows (limited odds).

        Notes
        -----
        The first rows are those whose true group would tell most about the lower bound. They are not thereby
        misfiled. Where the groups differ clearly, misfiled rows are mostly among the first. Where they hardly
        differ, or where rows were misfiled because they look like Y, this order does not find them.
        """
        both = (self.lower, self.upper)
        if not any(b.has_rows for b in both):
            msg = (
                f"there is no table of rows: no rows reach the values of method {self.provenance.method!r} "
                f"({self.lower.kind}). Leave out `odds`."
            )
            raise MmdBoundsError(msg)
        of_y: dict[str, Any] = {b.side: (b.rows, b.effects) for b in both}
        places = np.arange(self.n_samples_Y) if self.places_of_y is None else self.places_of_y
        tables = [row_columns(self.name_y, places, self.ids_of_y, self.file_rows_of_y, of_y)]
        if self.n_moved_of_x:
            of_x: dict[str, Any] = {b.side: (b.rows_of_x, b.effects_of_x) for b in both}
            places = np.arange(self.n_samples_X) if self.places_of_x is None else self.places_of_x
            tables.append(row_columns(self.name_x, places, self.ids_of_x, self.file_rows_of_x, of_x))
        return ranked(tables)

    def _proof(self) -> str:
        """Say that both sides are proved, and how far from what is reached."""
        gap = max(self.lower.gap or 0.0, self.upper.gap or 0.0)
        if self.width <= 0:
            return "certified"
        share = gap / self.width
        how_far = (
            "below 0.1 %" if share < 1e-3 else f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"
        )
        return f"certified, gap {how_far} of the width"

    def __repr__(self) -> str:
        low, high = self.interval
        proof = self._proof() if self.is_certified else "attained"
        others = [b.kind for b in (self.lower, self.upper) if b.kind != "labelling"]
        if self.odds is not None:
            proof = f"estimated for odds within a factor of {self.odds:g}, {self.if_random:.6g} if random"
        elif others:
            proof = f"by {others[0]}, neither attained nor proved"
        crossed = ", crossed" if self.is_crossed else ""
        how = "exactly" if self.exactly else "at most"
        count = f"{how} {self.n_moved}"
        other = f" and {how} {self.n_moved_of_x} of {self.n_samples_X} rows of X" if self.n_moved_of_x else ""
        return (
            f"BoundsResult(mmd2 in [{low:.6g}, {high:.6g}] {proof}{crossed}, observed {self.observed:.6g}, "
            f"{count} of {self.n_samples_Y} rows of Y{other} misfiled, method {self.provenance.method!r})"
        )
