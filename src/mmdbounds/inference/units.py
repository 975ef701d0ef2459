"""One row per unit, if rows share a unit (a patient, a household) and so are not exchangeable.

A permutation test takes every labelling of the rows as equally likely if the groups do not differ. Rows of
one patient carry one label between them, so most labellings of the rows were never possible, and the test
rejects too often. With one row per patient the labels are exchangeable again. The row is drawn at random
among the patient's rows, whatever the labels, the values or the order of the rows.

Why not permute whole patients? As a null that would do, but there would be no proof to compare it with.
Patients have different numbers of rows, so the sizes of the groups in rows, and with them the constants of
the quadratic that is bounded, would depend on which patients are misfiled; floors are proved for fixed
sizes. With one row per patient all sizes are numbers of patients, and everything that holds for rows
holds for patients. The price is power: rows that are not drawn say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import check_seed
from mmdbounds.contamination import Contamination
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.kernels import is_precomputed
from mmdbounds.knowledge import Known, Refiled, in_search_order, refiled, units_of
from mmdbounds.objective import Indices
from mmdbounds.results.serialize import from_fields, read_only
from mmdbounds.sums.bandwidth import canonical_order
from mmdbounds.tables import Group, as_groups
from mmdbounds.tables.group import CONFIRMED, NOT_LOOKED_UP
from mmdbounds.words.phrases import rows, shown

STREAM = 11  # keeps the draw apart from the permutations that the same seed gives
UNITS_NAMED = 3  # units named in a message

Units = Sequence[Any] | NDArray[Any]

OF_UNITS = "Each row stands for one unit: epsilon and all counts refer to units."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OneRowEach:
    """The groups with one row per unit.

    Attributes
    ----------
    X, Y
        The rows drawn, in the order in which they stood. Their record says under ``"units"`` what was done.
    rows_of_x, rows_of_y
        Where these rows stood in the groups handed in.
    n_left_out_of_x, n_left_out_of_y
        How many rows were not drawn.
    seed
        Draws the same rows again.
    """

    X: Group
    Y: Group
    rows_of_x: NDArray[np.intp]
    rows_of_y: NDArray[np.intp]
    n_left_out_of_x: int
    n_left_out_of_y: int
    seed: int

    def __post_init__(self) -> None:
        for name in ("rows_of_x", "rows_of_y"):
            object.__setattr__(self, name, read_only(getattr(self, name), np.intp))

    def __reduce__(self) -> tuple[Any, ...]:
        return from_fields(self)

    @property
    def n_left_out(self) -> int:
        """Rows not drawn, of both groups."""
        return self.n_left_out_of_x + self.n_left_out_of_y

    def note(self) -> str:
        """Say in one sentence what was done."""
        if self.n_left_out == 0:
            return "Every unit has one row; none was left out."
        of_x, of_y = (
            f"{left:,} of the {rows(left + len(group))} of {shown(group.name)}"
            for left, group in ((self.n_left_out_of_x, self.X), (self.n_left_out_of_y, self.Y))
        )
        return f"One row per unit was drawn at random (seed {self.seed}); left out: {of_x}, {of_y}."

    def __repr__(self) -> str:
        return (
            f"OneRowEach({len(self.X)} and {len(self.Y)} units, {self.n_left_out_of_x} and "
            f"{self.n_left_out_of_y} rows left out, seed {self.seed})"
        )


def one_row_each(
    X: Any,
    Y: Any,
    units_x: Units,
    units_y: Units,
    rng: int | np.random.Generator | None = None,
) -> OneRowEach:
    """Draw one row of every unit.

    Parameters
    ----------
    X, Y
        The groups as filed, as in `mmd_bounds`.
    units_x, units_y
        The unit of each row: numbers or names, one for each row of `X` and of `Y`. A whole number and its
        name are the same (7, 7.0 and "7").
    rng : int or Generator, optional
        Seed; without it one is drawn, and the result records it.

    Returns
    -------
    OneRowEach
        The groups, which rows they are, and how many were left out. Which rows are drawn depends on the
        seed, the names of the units and the rows of each, not on their groups or on their order.

    Raises
    ------
    DataError
        If a row has no unit, or a unit is filed under both groups: then its label is not one.

    Examples
    --------
    >>> drawn = one_row_each([[0.0], [0.1], [2.0]], [[3.0], [4.0]], ["a", "a", "b"], ["c", "d"], rng=0)
    >>> drawn
    OneRowEach(2 and 2 units, 1 and 0 rows left out, seed 0)
    """
    return _one_row_each(X, Y, {"units_x": units_x, "units_y": units_y}, check_seed(rng))


def by_units(
    X: Any, Y: Any, unit: tuple[Units, Units] | None, kernel: object, seed: int
) -> tuple[Any, Any, str]:
    """Return one row per unit of each group, and a note about it; the groups as they are without units."""
    if unit is None:
        return X, Y, ""
    if not isinstance(unit, tuple | list) or len(unit) != 2:
        size = f" of length {len(unit)}" if isinstance(unit, tuple | list) else ""
        came = f"{type(unit).__name__}{size}"
        msg = f"`unit` must be a pair: the units of the rows of `X`, and those of `Y`; got {came}."
        raise MmdBoundsError(msg)
    if is_precomputed(kernel):
        msg = (
            "`unit` must go with rows to draw from; got kernel='precomputed'. "
            "Keep one row and one column per unit of the matrix instead."
        )
        raise MmdBoundsError(msg)
    drawn = _one_row_each(X, Y, {"unit[0]": unit[0], "unit[1]": unit[1]}, seed)
    return drawn.X, drawn.Y, f"{drawn.note()} {OF_UNITS}"


def known_units(
    X: Any,
    Y: Any,
    contamination: Contamination,
    verified: Any,
    unit: tuple[Units, Units] | None,
    kernel: object,
    seed: int,
) -> tuple[Any, Any, Known, str]:
    """Return the groups as a search takes them, one row per unit of each, what is known, and a note.

    Rows are refiled before one of each unit is drawn. Where one was, rows count by their places in the draw.
    """
    filed = refiled(X, Y, contamination, verified, kernel, unit)
    X, Y, note = by_units(filed.X, filed.Y, filed.unit, kernel, seed)
    return (*in_search_order(Refiled(X, Y) if note else filed, contamination, kernel), note)


def _one_row_each(X: Any, Y: Any, units: dict[str, Units], seed: int) -> OneRowEach:
    """Draw one row of every unit; `units` has those of X and of Y under the names of their arguments."""
    group_x, group_y = as_groups(X, Y)
    of_x, of_y = (
        _names(given, argument, letter, group)
        for (argument, given), letter, group in zip(units.items(), "XY", (group_x, group_y), strict=True)
    )
    _check_apart(of_x, of_y, group_x.name, group_y.name)
    pooled = np.concatenate([group_x.values, group_y.values])
    drawn = _drawn(np.concatenate([of_x, of_y]), canonical_order(pooled), seed)
    p = len(group_x)
    in_x, in_y = drawn[drawn < p], drawn[drawn >= p] - p
    left = len(group_x) - len(in_x), len(group_y) - len(in_y)
    record = {"one row each of": len(drawn), "rows left out of X, of Y": list(left), "seed": seed}
    return OneRowEach(
        X=_selected(_of_units(group_x, of_x), in_x, record),
        Y=_selected(_of_units(group_y, of_y), in_y, record),
        rows_of_x=in_x,
        rows_of_y=in_y,
        n_left_out_of_x=left[0],
        n_left_out_of_y=left[1],
        seed=seed,
    )


def _drawn(units: NDArray[np.str_], order: Indices, seed: int) -> Indices:
    """Return one row of each unit, uniform among its rows, ascending.

    Units are drawn from by name, and rows within them stand in an order of their values: whoever
    files or sorts the rows differently gets the same ones.
    """
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    _, code, sizes = np.unique(units, return_inverse=True, return_counts=True)
    by_unit = np.lexsort((rank, code))
    first = np.cumsum(sizes) - sizes
    chosen = np.random.default_rng([seed, STREAM]).integers(0, sizes)
    return np.sort(by_unit[first + chosen])


def _names(units: Any, argument: str, letter: str, group: Group) -> NDArray[np.str_]:
    """Return the units of a group's rows as text, or say what is wrong with them."""
    given = units_of(group, units, argument, letter)
    for place, unit in enumerate(given):
        if _is_missing(unit):
            wanted = f"`{argument}` must name the unit of each of the {rows(len(group))} of `{letter}`"
            msg = f"{wanted}; got none for row {place}. Name a unit for every row."
            raise DataError(msg)
    return np.array([_text(unit) for unit in given], dtype=np.str_)


def _is_missing(unit: Any) -> bool:
    try:
        return unit is None or unit == "" or bool(unit != unit)  # noqa: PLR0124 -- NaN is not equal to itself
    except TypeError:  # pandas.NA says neither yes nor no
        return True


def _text(unit: Any) -> str:
    """Return a unit as text; a whole number the same whether it came as one or not."""
    return str(int(unit)) if isinstance(unit, float) and unit.is_integer() else str(unit)


def _check_apart(of_x: NDArray[np.str_], of_y: NDArray[np.str_], name_x: str, name_y: str) -> None:
    """Refuse units that are filed under both groups.

    They cannot be left out either: whoever misfiles rows would then choose which units are lost.
    """
    both = np.intersect1d(of_x, of_y)
    if len(both) == 0:
        return
    named = ", ".join(shown(unit) for unit in both[:UNITS_NAMED])
    more = f" and {len(both) - UNITS_NAMED:,} more" if len(both) > UNITS_NAMED else ""
    msg = (
        f"every unit must be filed under one group; got rows under both {shown(name_x)} and {shown(name_y)} "
        f"for {named}{more}. Decide on one group for each; leaving them out would bias the test."
    )
    raise DataError(msg)


def _of_units(group: Group, units: NDArray[np.str_]) -> Group:
    """Return a group in which what is known of one row of a unit is known of all: they share their label."""
    if group.verified is None and group.may_move is None:
        return group
    known: dict[str, Any] = {}
    if group.verified is not None:
        looked_up = np.isin(units, units[group.verified != NOT_LOOKED_UP])
        unsaid = looked_up & (group.verified == NOT_LOOKED_UP)
        known["verified"] = np.where(unsaid, CONFIRMED, group.verified)
    if group.may_move is not None:
        known["may_move"] = ~np.isin(units, units[~group.may_move])
    return replace(group, **known)


def _selected(group: Group, places: Indices, record: dict[str, Any]) -> Group:
    """Return some rows of a group, with their names."""
    return replace(group[places], record={**group.record, "units": record})
