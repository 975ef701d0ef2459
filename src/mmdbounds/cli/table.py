"""The table that a command is given, read once, what is said about it, and what ``--dry-run`` prints."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from mmdbounds.cli import plan
from mmdbounds.cli.side_files import STDIN, say
from mmdbounds.cli.spoken import as_flags
from mmdbounds.errors import MmdBoundsError, counted, quoted

if TYPE_CHECKING:
    from mmdbounds.cli.arguments import KnownRows, Output, Table
    from mmdbounds.contamination import Contamination
    from mmdbounds.costs import Work
    from mmdbounds.counts import Counts
    from mmdbounds.problem import Problem
    from mmdbounds.results import Result
    from mmdbounds.tables.group import Group
    from mmdbounds.tables.grouped_table import Split
    from mmdbounds.tables.table_rows import Survey

STDERR = 2
ALL_PROBLEMS = "Add --dry-run to see all problems at once, and the flags that solve them."
USUAL_SHARE = 0.1  # of the true X, where a page is about every share, or none was named


def read_split(
    table: Table,
    known: KnownRows | None = None,
    output: Output | None = None,
    amount: Contamination | None = None,
    *,
    scale: str | None = None,
    order: str | None = None,
) -> Split:
    """Return the groups of a table and the units of their rows; `scale` in place of the one asked for.

    `order` is the column by which an audit takes the rows. In a dry run all problems of the table and of the
    amount are listed.
    """
    with refusals_in_full(output, amount):
        split = _split(table, known, scale, order)
    _require_units(split)
    return split


@contextmanager
def refusals_in_full(output: Output | None, amount: Contamination | None = None) -> Iterator[None]:
    """List all problems of a table in a dry run; else say how they are listed."""
    from mmdbounds.tables.table_rows import TableError

    try:
        yield
    except TableError as error:
        if output is None or not output.dry_run:
            msg = f"{error} {ALL_PROBLEMS}"
            raise MmdBoundsError(msg) from None
        refuse_all(error.survey, output, amount)


def refuse_all(survey: Survey, output: Output, amount: Contamination | None) -> NoReturn:
    """Print what is known of a table that cannot be compared; say in one line how many problems there are."""
    more = []
    try:
        if amount is not None and amount.says_how_many:
            amount.how_many().admissible(survey.record["n_hidden"], survey.record["n_among"])
    except MmdBoundsError as error:
        more.append(str(error))
    survey = dataclasses.replace(survey, problems=[*survey.problems, *more])
    flags = plan.flags_to_add(survey)
    if output.json:
        known = {"data": survey.record, "problems": list(map(as_flags, survey.problems)), "add": flags}
        say(json.dumps(known, indent=2, ensure_ascii=False))
    else:
        say("\n".join(plan.problems_in_words(survey)))
    to_do = f" For example, add: {flags}" if flags else ""
    msg = f"{counted(len(survey.problems), 'problem')}, listed in the output.{to_do}"
    raise MmdBoundsError(msg) from None


def _split(table: Table, known: KnownRows | None, scale: str | None, order: str | None) -> Split:
    from mmdbounds.tables.grouped_table import split_table
    from mmdbounds.tables.row_columns import RowColumns

    if table.unit is not None and table.unit in (table.group, *(table.columns or ())):
        msg = f"`--unit` must be neither the group column nor a feature; got {quoted(table.unit)}."
        raise MmdBoundsError(msg)
    about = RowColumns(id=table.id, unit=table.unit, order=order)
    if known is not None:
        columns = {"verified": known.verified, "may_move": known.may_move, "strata": known.strata}
        about = dataclasses.replace(about, **columns)
    return split_table(
        source_of(table.file),
        table.group,
        hidden=table.hidden,
        among=table.among,
        about=about,
        columns=table.columns or None,
        exclude=table.exclude or None,
        scale=scale or table.scale or "",
        missing=table.missing,
        reading=table.reading(),
    )


def source_of(file: str) -> Any:
    """Return what is read: the name of a file, or standard input."""
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


def recorded(split: Split, table: Table) -> tuple[Group, Group]:
    """Return the groups with what makes a command of their record: there was one, and what it named."""
    named = {"by_command": True, "asked_columns": table.columns, "unit_column": table.unit}
    record = {**split.X.record, **named}
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


def note_changes(X: Group, output: Output) -> None:
    """Say on standard error what of the table is not compared as it stands."""
    for text in plan.notes(X.record):
        output.note(text)


def note_repeated_ids(X: Group, Y: Group, table: Table, output: Output, *, takes_units: bool = True) -> None:
    """Say on standard error that rows share a name, which is what rows of one patient do."""
    if table.id is None or table.unit is not None or X.ids is None or Y.ids is None:
        return
    names = Counter(name for name in [*X.ids.tolist(), *Y.ids.tolist()] if name)
    repeated = sum(times for times in names.values() if times > 1)
    if repeated:
        to_do = f"add --unit {table.id}" if takes_units else f"give a table with one row per {table.id}"
        output.note(
            f"{repeated:,} rows share their {table.id!r} with another row. The test assumes exchangeable "
            f"rows, which rows of one patient are not; if these are such rows, {to_do}."
        )


def show_plan(
    X: Group,
    Y: Group,
    output: Output,
    how: Any,
    work: Callable[[Problem], Work | None] | None,
    amount: Contamination | None = None,
    check: Callable[[Counts, int, int], None] | None = None,
) -> None:
    """Print what a command would do, and how long that takes; nothing but rates is computed.

    `how` are the keywords of `pose`. `work` returns what the command computes, or `None` if nobody
    knows; it is `None` itself if that takes no kernel value. Counts of `amount` that the command would
    refuse, with the `check` of its method, are refused.
    """
    from mmdbounds import costs
    from mmdbounds.contamination import Contamination
    from mmdbounds.knowledge import known_rows
    from mmdbounds.problem import Comparison, pose

    started = time.perf_counter()
    ordered_x, ordered_y, known = known_rows(X, Y, amount or Contamination(0.0), None, how["kernel"])
    problem = pose(ordered_x, ordered_y, Comparison(**how), known)
    preparing = time.perf_counter() - started
    counts: list[Counts] = []
    if amount is not None and amount.says_how_many:
        counts = problem.checked_counts(problem.counts(amount), check)
    expected = None if work is None else work(problem)
    seconds = None if expected is None else preparing + costs.seconds(problem, expected)
    if output.json:
        made = {
            "data": X.record,
            "n_samples_X": len(X),
            "n_samples_Y": len(Y),
            "features": list(X.columns or ()),
            **({} if not counts else {"n_moved_range": [counts[0].n_moved, counts[-1].n_moved]}),
            **({} if known.facts is None else {"knowledge": dataclasses.asdict(known.facts)}),
        }
        if work is not None:
            made |= {"kernel": problem.kernel.name, "bandwidth": problem.kernel.length}
        if seconds is not None:
            made |= {"seconds": seconds}
        say(json.dumps(made, indent=2, ensure_ascii=False))
        return
    lines = [*plan.rows_in_words(X.record), *plan.known_in_words(known.facts, Y)]
    lines += [plan.features_in_words(X), *plan.columns_in_words(X.record), *plan.roles_in_words(X.record)]
    lines += [] if not counts else [plan.misfiled_in_words(counts, Y)]
    if work is not None:
        length = problem.kernel.length
        lines.append(f"Kernel: {problem.kernel.name}{'' if length is None else f', bandwidth {length:.6g}'}.")
    if seconds is not None:
        lines += ["", f"Time: {plan.about(seconds)}."]
    say("\n".join(lines))
