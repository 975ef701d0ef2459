"""The table that a command is given, read once, and what is said about it."""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any

from mmdbounds.cli.side_files import STDIN
from mmdbounds.errors import DataError, MmdBoundsError, counted, listed, quoted, quoted_list

if TYPE_CHECKING:
    from mmdbounds.cli.arguments import Output, Table
    from mmdbounds.tables.group import Group
    from mmdbounds.tables.grouped_table import Split

STDERR = 2


def read_split(table: Table, *, scale: str | None = None) -> Split:
    """Return the groups of a table and the units of their rows; `scale` in place of the one asked for."""
    from mmdbounds.tables.grouped_table import split_table

    if table.unit is not None and table.unit in (table.group, *(table.columns or ())):
        msg = f"`--unit` must be neither the group column nor a feature; got {quoted(table.unit)}."
        raise MmdBoundsError(msg)
    with held_stderr():
        split = split_table(
            _source(table.file),
            table.group,
            hidden=table.hidden,
            among=table.among,
            id_=table.id,
            unit=table.unit,
            columns=table.columns or None,
            exclude=table.exclude or None,
            scale=scale or table.scale or "",
            missing=table.missing,
            na=table.na or None,
            encoding=table.encoding,
        )
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


def recorded(split: Split, table: Table) -> tuple[Group, Group]:
    """Return the groups with what makes a command of their record: there was one, and what it named."""
    record = {**split.X.record, "by_command": True, "asked_columns": table.columns, "unit_column": table.unit}
    return dataclasses.replace(split.X, record=record), dataclasses.replace(split.Y, record=record)


def one_row_per_unit(X: Group, Y: Group, split: Split, rng: int, output: Output) -> tuple[Group, Group]:
    """Return one row of each unit, drawn at random, and note it; the groups as they are without units."""
    from mmdbounds.inference.units import OF_UNITS, one_row_each

    if split.units is None:
        return X, Y
    drawn = one_row_each(X, Y, *split.units, rng)
    output.note(f"{drawn.note()} {OF_UNITS}")
    return drawn.X, drawn.Y


def notes(record: Any) -> list[str]:
    """Say what of a table is not compared as it stands, a sentence each, from the record of it."""
    sentences = []
    for key, why in (("constant", "constant over the rows of both groups"), ("empty", "empty")):
        if names := record[f"dropped_{key}_columns"]:
            word = "column is" if len(names) == 1 else "columns are"
            sentences.append(f"{len(names)} {word} {why} and left out: {quoted_list(names)}.")
    of_x, of_y = record["n_dropped_rows"]
    if of_x or of_y:
        groups = f"{of_x:,} of {quoted(record['hidden'])} and {of_y:,} of {quoted(record['among'])}"
        sentences.append(f"{counted(of_x + of_y, 'row')} with missing cells left out: {groups}.")
    if filled := record["n_filled_cells"]:
        cells = listed([f"{n:,} of {quoted(name)}" for name, n in filled.items()])
        sentences.append(
            f"missing cells filled, numbers by the median, others by the most frequent value: {cells}."
        )
    return sentences


def note_changes(X: Group, output: Output) -> None:
    """Say on standard error what of the table is not compared as it stands."""
    for text in notes(X.record):
        output.note(text)


def note_repeated_ids(X: Group, Y: Group, table: Table, output: Output) -> None:
    """Say on standard error that rows share a name, which is what rows of one patient do."""
    if table.id is None or table.unit is not None or X.ids is None or Y.ids is None:
        return
    names = Counter(name for name in [*X.ids.tolist(), *Y.ids.tolist()] if name)
    repeated = sum(times for times in names.values() if times > 1)
    if repeated:
        output.note(
            f"{repeated:,} rows share their {table.id!r} with another row. The test assumes exchangeable "
            f"rows, which rows of one patient are not; if these are such rows, add --unit {table.id}."
        )


@contextmanager
def held_stderr() -> Iterator[None]:
    """Hold back what compiled code writes to standard error; drop it if a `DataError` says it in one line.

    A damaged Parquet file makes polars print the stack of its threads before it raises.
    """
    with ExitStack() as stack:
        try:
            held = stack.enter_context(_unnamed_file())
            shown: int | None = os.dup(STDERR)
        except OSError:  # nowhere to hold it, or closed: nothing to keep clean
            shown = None
        if shown is None:
            yield
            return
        os.dup2(held.fileno(), STDERR)
        explained = False
        try:
            yield
        except DataError:
            explained = True
            raise
        finally:
            os.dup2(shown, STDERR)
            os.close(shown)
            if not explained:
                held.seek(0)
                _pass_on(held.read())


def _unnamed_file() -> IO[bytes]:
    """Return a file without a name: in memory where the system has that, else in the temporary folder."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("stderr"), "w+b")
    return tempfile.TemporaryFile()


def _pass_on(text: bytes) -> None:
    while text:
        try:
            text = text[os.write(STDERR, text) :]
        except OSError:
            return
