"""Two true groups of real data, before anything is misfiled, and what is known about their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.datasets.cards import Card
from mmdbounds.errors import DataError
from mmdbounds.results.serialize import from_fields
from mmdbounds.tables import Group

FIRST_ROWS = "one row per patient, the first in the file"  # recorded when the other rows were left out
_OF_ROWS = ("ids", "patients", "outcomes")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CleanGroups:
    """Two groups whose rows are all filed correctly.

    Attributes
    ----------
    X, Y
        The rows, in the order and in the type of the file (whole numbers for FOREST, which saves memory);
        read-only, never scaled. X is the group whose rows get misfiled in the experiments.
    names, columns
        What the groups and the columns are called.
    card
        Source, licence, counts, digest of the whole file: ``print(data.card)``.
    prepared
        What was done to the rows of the file.
    ids_x, ids_y
        Names of the rows, if the data have names.
    patients_x, patients_y
        The patient of each row, if known: `units_x` and `units_y` of `one_row_each`.
    outcomes_x, outcomes_y
        True class of each row, 0 or 1; `None` for data that are not logits.
    record
        How the file was made, if it says so (`write_logits`).
    """

    X: NDArray[Any]
    Y: NDArray[Any]
    names: tuple[str, str]
    columns: tuple[str, ...]
    card: Card
    prepared: str
    ids_x: NDArray[np.str_] | None = None
    ids_y: NDArray[np.str_] | None = None
    patients_x: NDArray[Any] | None = None
    patients_y: NDArray[Any] | None = None
    outcomes_x: NDArray[np.uint8] | None = None
    outcomes_y: NDArray[np.uint8] | None = None
    record: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("X", "Y", *(f"{each}_{letter}" for each in _OF_ROWS for letter in "xy")):
            if (given := getattr(self, name)) is not None:
                # A view costs nothing, and the owner of the array can still write to it.
                view = np.asarray(given).view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    def __reduce__(self) -> tuple[Any, ...]:
        return from_fields(self)

    def groups(self) -> tuple[Group, Group]:
        """Return X and Y with their names, as `mmd_bounds` takes and reports them.

        The rows become float64, 204 MiB for all of FOREST; if you need only some, index `X` and `Y` first.
        """
        record = {
            "data": self.card.title,
            "source": self.card.file,
            "sha256": self.card.sha256,
            "prepared": self.prepared,
            "hidden": self.names[0],
            "among": self.names[1],
            "n_hidden": len(self.X),
            "n_among": len(self.Y),
            **({"made": self.record} if self.record else {}),
        }
        X, Y = (
            Group(values.astype(np.float64), name=name, ids=ids, columns=self.columns, record=record)
            for values, name, ids in zip((self.X, self.Y), self.names, (self.ids_x, self.ids_y), strict=True)
        )
        return X, Y

    def __repr__(self) -> str:
        (x, y), d = self.names, len(self.columns)
        return (
            f"CleanGroups({self.card.title!r}, X = {x} ({len(self.X):,} x {d:,}), "
            f"Y = {y} ({len(self.Y):,} x {d:,}))"
        )


def clean_groups(
    values: NDArray[Any],
    in_x: NDArray[np.bool_],
    in_y: NDArray[np.bool_],
    *,
    names: tuple[str, str],
    columns: tuple[str, ...],
    card: Card,
    prepared: str,
    ids: NDArray[np.str_] | None = None,
    patients: NDArray[Any] | None = None,
    outcomes: NDArray[np.uint8] | None = None,
    record: Mapping[str, Any] | None = None,
    one_row_per_patient: bool = False,
) -> CleanGroups:
    """Return two groups of rows of a table: `in_x` and `in_y` tell which rows belong to X and to Y.

    `ids`, `patients` and `outcomes` have one entry for each row; for the others see `CleanGroups`.
    """
    rows = np.flatnonzero(in_x | in_y)
    if one_row_per_patient and patients is not None:
        # The first row of each patient: a choice that ignores values and labels.
        rows = rows[np.sort(np.unique(patients[rows], return_index=True)[1])]
        prepared = f"{prepared}; {FIRST_ROWS}"
    of_x, of_y = rows[in_x[rows]], rows[in_y[rows]]
    for name, chosen in zip(names, (of_x, of_y), strict=True):
        if len(chosen) == 0:
            msg = f"there are no rows of {name!r} to compare ({prepared})."
            raise DataError(msg)
    of_rows: dict[str, Any] = dict(zip(_OF_ROWS, (ids, patients, outcomes), strict=True))
    return CleanGroups(
        X=np.ascontiguousarray(values[of_x]),
        Y=np.ascontiguousarray(values[of_y]),
        names=names,
        columns=columns,
        card=card,
        prepared=prepared,
        record=record or {},
        **{f"{name}_x": each[of_x] for name, each in of_rows.items() if each is not None},
        **{f"{name}_y": each[of_y] for name, each in of_rows.items() if each is not None},
    )
