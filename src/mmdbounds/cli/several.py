"""Several groups on the command line: `bounds --wrong` and `test --wrong`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mmdbounds.cli.arguments import Comparison, Misfiling, Output, Table
from mmdbounds.cli.main import interruptible
from mmdbounds.cli.options import TABLE, option, options
from mmdbounds.cli.plan import columns_in_words, notes, roles_in_words
from mmdbounds.cli.side_files import say
from mmdbounds.cli.table import refusals_in_full, source_of
from mmdbounds.errors import MmdBoundsError, counted, shown_value

if TYPE_CHECKING:
    from mmdbounds.results import Result
    from mmdbounds.tables.group import Group

TAKEN = ("epsilon", "n_moved", "exactly", "n_permutations")  # options that mean something with --wrong


@options(TABLE)
class SeveralGroups(Table):
    """The table, and either two of its groups or the errors that are possible between all of them."""

    hidden: str = option("", "Group whose rows may be misfiled (X).", "A", show_default=False)
    among: str = option("", "Group they may be misfiled under (Y).", "B", show_default=False)
    wrong: str | None = option(
        None,
        "Several groups, in place of --hidden and --among: 'any', or the errors that are possible, as "
        "recorded>true: A>B,B>A. Here --epsilon is a share of all rows.",
        "ERRORS",
    )

    def are_several(self) -> bool:
        """Return whether all groups are meant; refuse a table of two groups that are not named."""
        if self.wrong is None:
            for name in ("hidden", "among"):
                if not getattr(self, name):
                    msg = f"`--{name}` is missing. Name two groups with --hidden and --among, or use --wrong."
                    raise MmdBoundsError(msg)
        elif self.hidden or self.among:
            msg = "`--wrong` is about all groups; leave out --hidden and --among, or --wrong."
            raise MmdBoundsError(msg)
        return self.wrong is not None

    def transitions(self) -> str | list[tuple[str, str]]:
        """Return the errors that are possible."""
        text = (self.wrong or "").strip()
        if text.casefold() == "any":
            return "any"
        pairs = [tuple(name.strip() for name in each.split(">")) for each in text.split(",")]
        if any(len(pair) != 2 or not all(pair) for pair in pairs):
            wanted = "'any' or errors as recorded>true, such as 'A>B,B>A'"
            msg = f"`--wrong` must be {wanted}; got {shown_value(self.wrong)}."
            raise MmdBoundsError(msg)
        return [(recorded, true) for recorded, true in pairs]


def several_groups(
    function: Callable[..., Result],
    table: SeveralGroups,
    misfiling: Misfiling,
    others: list[Any],
    comparison: Comparison,
    output: Output,
) -> None:
    """Show what a function says of all groups; `others` are groups of options that must not be used here."""
    from mmdbounds.tables.grouped_table import labelled_table

    for group in (misfiling, *others):
        for each in fields(group):
            if each.name not in TAKEN and getattr(group, each.name) != each.default:
                msg = f"`--{each.name.replace('_', '-')}` cannot be used with --wrong. Leave it out."
                raise MmdBoundsError(msg)
    if table.unit is not None:
        msg = "`--unit` cannot be used with --wrong. Give a table with one row per unit."
        raise MmdBoundsError(msg)
    how, transitions = comparison.keywords(), table.transitions()
    with refusals_in_full(output):
        Z, labels = labelled_table(
            source_of(table.file),
            table.group,
            id=table.id,
            columns=table.columns or None,
            exclude=table.exclude or None,
            scale=table.scale or "",
            missing=table.missing,
            reading=table.reading(),
        )
    if output.dry_run:
        _show_plan(Z, output)
        return
    for text in _notes(Z.record):
        output.note(text)
    how |= {"rng": comparison.seed, "progress": output.progress, "exactly": bool(misfiling.exactly)}
    amount: Any = {"n_moved": misfiling.n_moved, "epsilon": misfiling.epsilon}
    try:
        with interruptible():
            result = function(Z, labels, **amount, transitions=transitions, **how)
    except MmdBoundsError as error:
        raise type(error)(str(error).replace("`transitions", "`wrong")) from None
    output.show(result)


def _notes(record: Any) -> list[str]:
    """Say what of the table is not compared as it stands."""
    dropped = record["n_dropped_rows"]
    rest = notes({**record, "n_dropped_rows": (0, 0)})
    return [f"{counted(dropped, 'row')} with missing cells left out.", *rest] if dropped else rest


def _show_plan(Z: Group, output: Output) -> None:
    """Print what would be compared."""
    record = Z.record
    if output.json:
        plan = {"data": record, "n_samples": len(Z), "features": list(Z.columns or ())}
        say(json.dumps(plan, indent=2, ensure_ascii=False))
        return
    from mmdbounds.words.phrases import rows, shown, wrapped

    source = f"Table: {shown(record['source'])}, {record['read_as']}, {rows(record['n_rows'])}."
    groups = ", ".join(f"{shown(name)} ({n:,})" for name, n in record["n_of_groups"].items())
    lines = [wrapped(source), f"  sha256 {record['sha256']}", wrapped(f"Groups: {groups}.")]
    lines += [wrapped(text[0].upper() + text[1:]) for text in _notes(record)]
    say("\n".join([*lines, *columns_in_words(record), *roles_in_words(record)]))
