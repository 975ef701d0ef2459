"""The table that a command is given, read once, what is said about it, and what ``--dry-run`` prints."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any

from mmdbounds.cli.side_files import STDIN, say
from mmdbounds.errors import DataError, MmdBoundsError, counted, listed, quoted, quoted_list

if TYPE_CHECKING:
    from mmdbounds.cli.arguments import KnownRows, Output, Table
    from mmdbounds.contamination import Contamination
    from mmdbounds.costs import Estimate
    from mmdbounds.problem import Problem
    from mmdbounds.progress import Phase
    from mmdbounds.results import Knowledge, Result
    from mmdbounds.tables.group import Group
    from mmdbounds.tables.grouped_table import Split

STDERR = 2
USUAL_SHARE = 0.1  # of the true X, where a page is about every share, or none was named
COLUMNS_SHOWN = 40  # columns that are listed; of more, the rest are counted
PHASES = {  # in words, where a phase's name does not say enough
    "pass": "pass over all pairs",
    "permutation": "permutations",
    "count": "floors for every count",
    "worst count": "floor of the worst count",
    "best case": "ceilings for every count",
    "bounds, share": "bounds of the curve",
    "effects": "effect of each row",
    "trial": "trials",
}


def read_split(table: Table, known: KnownRows | None = None, *, scale: str | None = None) -> Split:
    """Return the groups of a table and the units of their rows; `scale` in place of the one asked for."""
    from mmdbounds.tables.grouped_table import split_table
    from mmdbounds.tables.row_columns import RowColumns

    if table.unit is not None and table.unit in (table.group, *(table.columns or ())):
        msg = f"`--unit` must be neither the group column nor a feature; got {quoted(table.unit)}."
        raise MmdBoundsError(msg)
    about = RowColumns(id=table.id, unit=table.unit)
    if known is not None:
        columns = {"verified": known.verified, "may_move": known.may_move, "strata": known.strata}
        about = dataclasses.replace(about, **columns)
    with held_stderr():
        split = split_table(
            _source(table.file),
            table.group,
            hidden=table.hidden,
            among=table.among,
            about=about,
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
    rows, units = [*X.file_rows.tolist(), *Y.file_rows.tolist()], [*split.units[0], *split.units[1]]
    if unnamed := [row for row, unit in zip(rows, units, strict=True) if not unit]:
        got = f"none in row {min(unnamed)}"
        msg = f"`--unit` must name the unit of each row; got {got}. Name it, or leave it out."
        raise MmdBoundsError(msg)


def recorded(split: Split, table: Table, **more: Any) -> tuple[Group, Group]:
    """Return the groups with what makes a command of their record: there was one, and what it named."""
    named = {"by_command": True, "asked_columns": table.columns, "unit_column": table.unit}
    record = {**split.X.record, **named, **more}
    return dataclasses.replace(split.X, record=record), dataclasses.replace(split.Y, record=record)


def one_row_per_unit(X: Group, Y: Group, split: Split, rng: int, output: Output) -> tuple[Group, Group]:
    """Return one row of each unit, drawn at random, and note it; the groups as they are without units."""
    from mmdbounds.inference.units import OF_UNITS, one_row_each

    if split.units is None:
        return X, Y
    drawn = one_row_each(X, Y, *split.units, rng)
    output.note(f"{drawn.note()} {OF_UNITS}")
    return drawn.X, drawn.Y


def drawn_rows(X: Group, Y: Group, split: Split, rng: int) -> tuple[Group, Group]:
    """Return the rows that a command with units compares: one of each, the same that it draws."""
    from mmdbounds.inference.units import one_row_each

    if split.units is None:
        return X, Y
    drawn = one_row_each(X, Y, *split.units, rng)
    return drawn.X, drawn.Y


def table_one(X: Group, Y: Group, amount: Contamination | None) -> list[Result]:
    """Return the columns one by one, for a page; where no amount is assumed, for that of its slider."""
    from mmdbounds.columns import column_table
    from mmdbounds.contamination import Contamination

    if amount is None or not amount.says_how_many:
        limits = None if amount is None else amount.limits
        share = min(USUAL_SHARE, (len(Y) - 1) / (len(X) + len(Y) - 1))
        amount = Contamination(share, limits=limits)
    return [column_table(X, Y, amount)]


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
        how = "numbers by the median, others by the most frequent value"
        sentences.append(f"missing cells filled, {how}: {cells}.")
    return sentences + _refiled(record)


def _refiled(record: Any) -> list[str]:
    """Say how many rows are compared as members of another group than the one they are filed under."""
    to_x, to_y = record.get("n_refiled", (0, 0))
    if not to_x + to_y:
        return []
    x, y = quoted(record["hidden"]), quoted(record["among"])
    moved = [f"{n:,} from {a} to {b}" for n, a, b in ((to_x, y, x), (to_y, x, y)) if n]
    where = f"as verified in column {quoted(record['verified_column'])}"
    return [f"{counted(to_x + to_y, 'row')} refiled, {where}: {' and '.join(moved)}."]


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


def show_plan(
    X: Group,
    Y: Group,
    output: Output,
    how: Any,
    work: Callable[[Problem], Iterable[Phase]],
    amount: Contamination | None = None,
) -> None:
    """Print what a command would do, and how long that takes; nothing but rates is computed.

    `how` are the keywords of `pose`, and `work` returns the phases of the command. `amount` says which rows
    can be misfiled.
    """
    from mmdbounds import costs
    from mmdbounds.contamination import Contamination
    from mmdbounds.knowledge import known_rows
    from mmdbounds.problem import Comparison, pose

    started = time.perf_counter()
    ordered_x, ordered_y, known = known_rows(X, Y, amount or Contamination(0.0), None, how["kernel"])
    problem = pose(ordered_x, ordered_y, Comparison(**how), known)
    preparing = time.perf_counter() - started
    expected = costs.estimate(problem, work(problem), preparing)
    if output.json:
        plan = {
            "data": X.record,
            "n_samples_X": len(X),
            "n_samples_Y": len(Y),
            "features": list(X.columns or ()),
            "kernel": problem.kernel.name,
            "bandwidth": problem.kernel.length,
            **({} if known.facts is None else {"knowledge": dataclasses.asdict(known.facts)}),
            **expected.as_dict(),
        }
        say(json.dumps(plan, indent=2, ensure_ascii=False))
        return
    say("\n".join([*rows_in_words(X.record), *known_in_words(known.facts, Y), *columns_in_words(X)]))
    say("\n" + "\n".join(time_in_words(expected)))


def rows_in_words(record: Any) -> list[str]:
    """Return the lines about the rows."""
    from mmdbounds.words.phrases import rows, shown, wrapped

    x, y = shown(record["hidden"]), shown(record["among"])
    source = f"{shown(record['source'])}, {record['read_as']}, {rows(record['n_rows'])}."
    compared = f"Compared: {rows(record['n_hidden'])} of {x} (X) with {record['n_among']:,} of {y} (Y)."
    lines = [wrapped(f"Table: {source}"), f"  sha256 {record['sha256']}", wrapped(compared)]
    if record.get("unit_column") is not None:
        lines += [f"Of these, one row per {shown(record['unit_column'])} is drawn at random."]
    others = {"of other groups": record["n_other_groups"], "without a group": record["n_missing_group"]}
    if left := [f"{rows(n)} {which}" for which, n in others.items() if n]:
        lines += [f"Not compared: {', '.join(left)}."]
    return lines + [wrapped(text[0].upper() + text[1:]) for text in notes(record)]


def known_in_words(known: Knowledge | None, Y: Group) -> list[str]:
    """Return the line about what is known of single rows, if anything is."""
    from mmdbounds.words.phrases import restrictions, rows, shown, wrapped

    if known is None:
        return []
    which = restrictions(known, "y") or ", all of them"
    return [
        wrapped(f"May be misfiled: {known.n_may_move_y:,} of the {rows(len(Y))} of {shown(Y.name)}{which}.")
    ]


def columns_in_words(X: Group) -> list[str]:
    """Return the lines about the columns."""
    from mmdbounds.words.phrases import shown, wrapped

    kinds: dict[str, str] = X.record["kinds"]
    scaled = {
        "standard": "mean 0 and deviation 1 over these rows",
        "robust": "median 0 and normal quartiles over these rows",
        "rank": "ranks over these rows",
        "none": "as they are",
    }
    names = [(shown(name), kind) for name, kind in kinds.items()]
    widest = max(len(name) for name, _ in names[:COLUMNS_SHOWN])
    many = f"{len(kinds)} column{'' if len(kinds) == 1 else 's'}"
    n_features = X.values.shape[1]
    as_many = "" if n_features == len(kinds) else f" as {n_features} features"
    lines = [f"Columns: {many}{as_many}, {X.record['scale']} ({scaled[X.record['scale']]})."]
    for name, kind in names[:COLUMNS_SHOWN]:
        each = ", one 0-1 column each" if kind.endswith("categories") else ""
        lines.append(f"  {name:<{widest}}  {kind}{each}")
    if len(names) > COLUMNS_SHOWN:
        lines.append(f"  and {len(names) - COLUMNS_SHOWN} more (all of them: --json)")
    if excluded := X.record["excluded_columns"]:
        lines.append(wrapped(f"Left out by --exclude: {', '.join(map(shown, excluded))}."))
    if X.record["id_column"] is not None:
        lines.append(f"Rows are identified by {shown(X.record['id_column'])}.")
    return lines


def time_in_words(expected: Estimate) -> list[str]:
    """Return the lines about the time, one for each phase."""
    whole = about(expected.seconds, expected.most)
    if not expected.is_complete:
        whole = f"not estimated; what can be foreseen takes {whole}"
    lines = [f"Time: {whole}, as measured just now on these rows."]
    width = max(len(PHASES.get(phase.name, phase.name)) for phase in expected.phases)
    for phase in expected.phases:
        seconds = phase.seconds(expected.rates)
        took = "not estimated" if phase.is_open else about(seconds, phase.most * seconds)
        lines.append(f"  {PHASES.get(phase.name, phase.name):<{width}}  {took}")
    return lines


def about(likely: float, most: float) -> str:
    """Return a time in words, with its limit where that is much longer."""
    from mmdbounds.progress import duration

    if most < 1:
        return "under a second"
    first = "under a second" if likely < 1 else f"about {duration(likely)}"
    return f"{first}, at most {duration(most)}" if most > 1.5 * likely else first
