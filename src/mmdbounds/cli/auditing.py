"""``mmdbounds audit``: from rows that were looked up to a decision, and to the rows to look up next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmdbounds.cli.arguments import (
    N_PERMUTATIONS,
    Comparison,
    KnownRows,
    Output,
    PageWithRows,
    Table,
)
from mmdbounds.cli.main import interruptible
from mmdbounds.cli.options import DONE, SHOWN, TABLE, option, options
from mmdbounds.cli.table import (
    note_changes,
    note_repeated_ids,
    read_split,
    recorded,
    show_plan,
    table_one,
)
from mmdbounds.errors import MmdBoundsError

if TYPE_CHECKING:
    from mmdbounds.costs import Work
    from mmdbounds.problem import Problem


@options(DONE)
class Auditing:
    """Options of `audit`, under their names there."""

    verified: str | None = option(
        None,
        "Column with the true group of rows that were looked up, blank in others; never a feature. Leave it "
        "out at the beginning.",
        "COL",
        TABLE,
    )
    level: float = option(0.05, "Significance level of the test.", "SHARE")
    audit_level: float = option(0.95, "Confidence of the limits on the number of misfiled rows.", "SHARE")
    by: str = option(
        "random",
        "Which rows to name: 'random' (in the recorded order) or 'effect' (on the lower bound).",
        "NAME",
    )
    order: str | None = option(
        None,
        "Column with a number for each row, such as a label-quality score: rows are named in this order, the "
        "smallest first; never a feature.",
        "COL",
        TABLE,
    )
    n_next: int = option(20, "How many rows to name.", "NUMBER", SHOWN, "--next")
    n_permutations: int = option(999, *N_PERMUTATIONS)


def audit_command(
    table: Table, auditing: Auditing, comparison: Comparison, page: PageWithRows, output: Output
) -> None:
    """Decide from rows that were looked up whether a difference stands, and name the rows to look up next.

    Rows of A may be misfiled under B. Rows filed under B are looked up in a random order, which the seed and
    the names of the rows (--id) determine. The first call draws the seed and shows it: nobody who files or
    sorts the rows may know it. Write the true group of the rows into a column, name it with --verified, and
    run the command again with that seed (--rng): it continues the same audit. Stop whenever you like.

    \b
    Example:
      mmdbounds audit patients.csv --group diagnosis --hidden MI --among healthy \\
        --id patient --next 20
      mmdbounds audit patients.csv --group diagnosis --hidden MI --among healthy \\
        --id patient --verified chart_review --rng 12345 --next 20
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.contamination import Contamination
    from mmdbounds.inference.audited_rows import nothing_looked_up_yet
    from mmdbounds.inference.auditing import audit, check_audit
    from mmdbounds.search import as_method

    if table.unit is not None:
        msg = "`--unit` cannot be used in an audit, which looks up rows. Give a table with one row per unit."
        raise MmdBoundsError(msg)
    given = {name: value for name, value in vars(auditing).items() if name not in ("verified", "order")}
    page.plan(table)
    how = comparison.keywords()
    with nothing_looked_up_yet():
        split = read_split(
            table,
            KnownRows(verified=auditing.verified, may_move=None, strata=None, limit=None),
            output,
            order=auditing.order,
        )
    X, Y = recorded(split, table)
    note_repeated_ids(X, Y, table, output, takes_units=False)
    if output.dry_run:
        from mmdbounds import costs

        def work(problem: Problem) -> Work | None:
            asked = {"audit_level": auditing.audit_level, "by": given["by"], "rng": comparison.rng}
            check_audit(X, Y, kernel=problem.kernel, **asked)
            test = costs.of_test(problem.n_pairs, auditing.n_permutations)
            return costs.together(test, test, costs.of_bounds(problem.n_pairs, as_method("sharp")))

        show_plan(X, Y, output, how, work)
        return
    note_changes(X, output)
    with interruptible():
        result = audit(X, Y, **given, rng=comparison.rng, progress=output.progress, **how)
    output.show(result)
    limit = None if result.lower is None else Contamination(n_moved=result.n_left)
    page.write(result, table, output, beside=lambda: table_one(X, Y, limit))
