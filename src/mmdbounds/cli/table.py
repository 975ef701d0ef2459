"""The table that a command is given, read once, and what is said about it."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from mmdbounds.errors import MmdBoundsError, counted, listed, quoted, quoted_list

if TYPE_CHECKING:
    from mmdbounds.cli.output import Output
    from mmdbounds.tables.group import Group
    from mmdbounds.tables.grouped_table import Split

STDIN = "-"
"""Name of standard input on the command line; a file of this name is ``./-``."""


def read_split(
    file: str,
    *,
    group: str,
    columns: list[str] | None,
    exclude: list[str] | None,
    na: list[str] | None,
    unit: str | None = None,
    **options: Any,
) -> Split:
    """Return the groups of a table and the units of their rows.

    Parameters
    ----------
    file
        Name of a file, or ``-`` for standard input.
    group, columns, exclude, na, unit, **options
        As `split_table` takes them.
    """
    from mmdbounds.cli.quiet import held_stderr
    from mmdbounds.tables.grouped_table import split_table

    if unit is not None and unit in (group, *(columns or ())):
        msg = f"`--unit` must be neither the group column nor a feature; got {quoted(unit)}."
        raise MmdBoundsError(msg)
    lists: Any = {"columns": columns or None, "exclude": exclude or None, "na": na or None}
    with held_stderr():
        split = split_table(_source(file), group, unit=unit, **lists, **options)
    _require_units(split)
    return split


def _source(file: str) -> Any:
    if file != STDIN:
        return file
    if sys.stdin is None:  # as under a scheduler that gives none
        msg = "there is no standard input to read. Name a file."
        raise MmdBoundsError(msg)
    return getattr(sys.stdin, "buffer", sys.stdin)


def _require_units(split: Split) -> None:
    """Refuse rows whose unit is not named."""
    X, Y = split.X, split.Y
    if split.units is None or X.file_rows is None or Y.file_rows is None:
        return
    of_rows = zip(
        [*X.file_rows.tolist(), *Y.file_rows.tolist()], [*split.units[0], *split.units[1]], strict=True
    )
    if unnamed := [row for row, unit in of_rows if not unit]:
        msg = (
            f"`--unit` must name the unit of each row; got none in row {min(unnamed)}. "
            "Name it, or leave it out."
        )
        raise MmdBoundsError(msg)


def recorded(
    X: Group, Y: Group, *, columns: list[str] | None, unit: str | None = None
) -> tuple[Group, Group]:
    """Return the groups with what makes a command of their record: there was one, and what it named."""
    record = {**X.record, "by_command": True, "asked_columns": columns or None, "unit_column": unit}
    return dataclasses.replace(X, record=record), dataclasses.replace(Y, record=record)


def notes(record: Any) -> list[str]:
    """Say what of a table is not compared as it stands, a sentence each, from the record of it."""
    said = []
    for key, why in (("constant", "constant over the rows of both groups"), ("empty", "empty")):
        if names := record[f"dropped_{key}_columns"]:
            word = "column is" if len(names) == 1 else "columns are"
            said.append(f"{len(names)} {word} {why} and left out: {quoted_list(names)}.")
    of_x, of_y = record["n_dropped_rows"]
    if of_x or of_y:
        groups = f"{of_x:,} of {quoted(record['hidden'])} and {of_y:,} of {quoted(record['among'])}"
        said.append(f"{counted(of_x + of_y, 'row')} with missing cells left out: {groups}.")
    if filled := record["n_filled_cells"]:
        cells = listed([f"{n:,} of {quoted(name)}" for name, n in filled.items()])
        said.append(
            f"missing cells filled, numbers by the median, others by the most frequent value: {cells}."
        )
    return said


def note_changes(X: Group, output: Output) -> None:
    """Say on standard error what of the table is not compared as it stands."""
    for text in notes(X.record):
        output.note(text)


def note_repeated(X: Group, Y: Group, id_: str | None, unit: str | None, output: Output) -> None:
    """Say on standard error that rows share a name, which is what rows of one patient do."""
    if id_ is None or unit is not None or X.ids is None or Y.ids is None:
        return
    names = Counter(name for name in [*X.ids.tolist(), *Y.ids.tolist()] if name)
    repeated = sum(times for times in names.values() if times > 1)
    if repeated:
        output.note(
            f"{repeated:,} rows share their {id_!r} with another one. Rows of one patient "
            f"are not exchangeable, which the test assumes; if they are such rows, add --unit {id_}."
        )
