"""``mmdbounds columns``: each column's difference, and what misfiling can make of it."""

from __future__ import annotations

from mmdbounds.cli.arguments import KnownRows, Misfiling, Output, Table
from mmdbounds.cli.table import note_changes, read_split, recorded, show_plan
from mmdbounds.errors import MmdBoundsError


def columns_command(table: Table, misfiling: Misfiling, known: KnownRows, output: Output) -> None:
    """Compare two groups of a table column by column, in the units of the table.

    Rows of A may be misfiled under B. Say how many with --epsilon, --share-of-y, --n-moved,
    --sensitivity, --audit or --prevalence. Each column's difference of means (or shares) comes with the
    smallest and the largest that the misfiling allows.

    \b
    Example:
      mmdbounds columns patients.csv --group diagnosis --hidden MI \\
        --among healthy --epsilon 0.1 --id patient
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.columns import column_table

    if table.unit is not None:
        msg = "`--unit` cannot be used with columns, which compares rows. Give a table with one row per unit."
        raise MmdBoundsError(msg)
    amount = known.within(misfiling.contamination())
    split = read_split(table, known, output, amount)
    X, Y = recorded(split, table)
    if output.dry_run:
        show_plan(X, Y, output, {"kernel": "rbf", "estimator": "biased"}, None, amount)
        return
    note_changes(X, output)
    output.show(column_table(X, Y, amount))
