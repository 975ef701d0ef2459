"""``mmdbounds bounds``, ``test`` and ``sweep``: how much two groups of a table really differ."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mmdbounds.cli import formats
from mmdbounds.cli.arguments import (
    EXACTLY,
    Comparison,
    KnownRows,
    Misfiling,
    MisfilingOrOdds,
    Output,
    Page,
    PageWithRows,
    Permutations,
    Search,
    Table,
)
from mmdbounds.cli.main import interruptible
from mmdbounds.cli.options import (
    DONE,
    MISFILED,
    SHOWN,
    option,
    options,
)
from mmdbounds.cli.several import SeveralGroups, several_groups
from mmdbounds.cli.side_files import plan_file, say, write_beside
from mmdbounds.cli.table import (
    drawn_rows,
    note_changes,
    note_repeated_ids,
    one_row_per_unit,
    read_split,
    recorded,
    show_plan,
    table_one,
)
from mmdbounds.errors import MmdBoundsError

if TYPE_CHECKING:
    from mmdbounds.costs import Work
    from mmdbounds.problem import Problem


@options(SHOWN)
class BoundsFiles(PageWithRows):
    """The files that are also written."""

    rows: Path | None = option(None, "Also write the effect of each row on the bounds to a CSV file.", "FILE")

    def plan(self, table: Table) -> None:
        """Refuse what cannot be written, before the work."""
        plan_file("--rows", self.rows, inputs=[table.file])
        super().plan(table)


def bounds_command(
    table: SeveralGroups,
    misfiling: MisfilingOrOdds,
    known: KnownRows,
    search: Search,
    comparison: Comparison,
    files: BoundsFiles,
    output: Output,
) -> None:
    """Bound the squared MMD between two groups of a table.

    Rows of A may be misfiled under B: each row filed under B could be one of them. Say how many with
    --epsilon, --share-of-y, --n-moved, --sensitivity, --audit or --prevalence. With --wrong, bound the
    dependence (HSIC) between the rows and all groups of the table instead.

    \b
    Example:
      mmdbounds bounds patients.csv --group diagnosis --hidden MI \\
        --among healthy --epsilon 0.1 --id patient
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds import costs
    from mmdbounds.bounds import method_for, mmd_bounds
    from mmdbounds.search.protocol import check_exact_count

    if table.are_several():
        from mmdbounds.several.measure import hsic_bounds

        several_groups(hsic_bounds, table, misfiling, [known, search, files], comparison, output)
        return
    files.plan(table)
    amount, method, how = known.within(misfiling.contamination()), search.chosen(), comparison.keywords()
    split = read_split(table, known, output, amount)
    X, Y = recorded(split, table)
    if output.dry_run:
        check_exact_count(asked := method_for(amount, method), amount)
        work = partial(costs.of_bounds, method=asked)
        show_plan(X, Y, output, how, lambda problem: work(problem.n_pairs), amount, asked.check)
        return
    note_changes(X, output)
    X, Y = one_row_per_unit(X, Y, split, comparison.seed, output)
    with interruptible():
        how |= {"rng": comparison.seed, "progress": output.progress}
        result = mmd_bounds(X, Y, amount, method=method, **how)
    output.show(result)
    if files.rows is not None:
        write_beside(files.rows, lambda: formats.rows_csv(result).encode())
    files.write(result, table, output, beside=lambda: table_one(X, Y, amount))
    if files.rows is not None and output.in_words:
        say(f"\nThe effect of each row on the bounds is in {files.rows}.")


@options(DONE)
class Testing(Permutations):
    """Options of `robust_test`, under their names there."""

    level: float = option(0.05, "Significance level of the test.", "SHARE")
    beta: float = option(0.0, "Probability that the stated amount is wrong; added to the p-value.", "SHARE")


def robust_test_command(
    table: SeveralGroups,
    misfiling: Misfiling,
    known: KnownRows,
    testing: Testing,
    comparison: Comparison,
    page: Page,
    output: Output,
) -> None:
    """Test whether two groups of a table differ, even though rows may be misfiled.

    Rows of A may be misfiled under B. Say how many with --epsilon, --share-of-y, --n-moved,
    --sensitivity, --audit or --prevalence. The p-value is the largest over all sets of rows that they might
    be. With --wrong, test whether the rows depend on their group, with all groups of the table, instead.

    \b
    Example:
      mmdbounds test patients.csv --group diagnosis --hidden MI --among healthy \\
        --epsilon 0.1 --id patient
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds import costs
    from mmdbounds.inference.robust import robust_test
    from mmdbounds.inference.several_kernels import resolved_kernels
    from mmdbounds.problem import is_list

    if table.are_several():
        from mmdbounds.several.independence import independence_test

        tested = partial(independence_test, n_permutations=testing.n_permutations)
        several_groups(tested, table, misfiling, [known, testing, page], comparison, output)
        return
    page.plan(table)
    amount, how = known.within(misfiling.contamination()), comparison.keywords()
    split = read_split(table, known, output, amount)
    X, Y = recorded(split, table)
    note_repeated_ids(X, Y, table, output)
    if output.dry_run:

        def work(problem: Problem) -> Work:
            n_kernels = len(resolved_kernels(*lists, problem)) if any(map(is_list, lists)) else 1
            return costs.of_test(problem.n_pairs, testing.n_permutations, n_kernels)

        lists = how["kernel"], how["bandwidth"]
        first = how | {"kernel": "rbf", "bandwidth": "median"} if any(map(is_list, lists)) else how
        show_plan(X, Y, output, first, work, amount)
        return
    note_changes(X, output)
    with interruptible():
        how |= {"rng": comparison.seed, "progress": output.progress}
        result = robust_test(X, Y, amount, unit=split.units, **vars(testing), **how)
    output.show(result)
    page.write(
        result, table, output, beside=lambda: table_one(*drawn_rows(X, Y, split, comparison.seed), amount)
    )


@options(DONE)
class Sweeping(Permutations):
    """Options of `sweep`, under their names there."""

    epsilons: list[float] | None = option(
        None,
        "Shares of the true A rows to try, separated by commas.  [default: 0 to 0.5, or to the breakdown]",
        "SHARE,...",
        MISFILED,
    )
    y_in_x: float = option(
        0.0,
        "Two-way: up to this share of the true B rows may be filed under A. Shows the largest survived.",
        "SHARE",
        MISFILED,
    )
    exactly: bool | None = option(None, *EXACTLY)
    level: float = option(0.05, "Significance level of the test.", "SHARE")
    value: float = option(0.0, "Also say where the lower bound reaches this value.", "VALUE")


def sweep_command(
    table: Table,
    sweeping: Sweeping,
    known: KnownRows,
    comparison: Comparison,
    page: PageWithRows,
    output: Output,
) -> None:
    """Find how many rows must be misfiled to explain away the difference between two groups.

    Rows of A may be misfiled under B. The result has bounds and p-values for a range of shares, and the first
    share at which the difference is no longer significant. With --y-in-x rows of B may be misfiled under A
    too: for each share of A the result has the largest share of B with which the difference is still
    significant.

    \b
    Example:
      mmdbounds sweep patients.csv --group diagnosis --hidden MI --among healthy \\
        --id patient
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds import costs
    from mmdbounds.inference.breakdown import count_points, sweep

    page.plan(table)
    if sweeping.y_in_x and page.report is not None:
        msg = "`--report` shows one-way sweeps; got --y-in-x too. Leave one of them out, or use --json."
        raise MmdBoundsError(msg)
    how, which = comparison.keywords(), known.which()
    split = read_split(table, known, output)
    X, Y = recorded(split, table)
    note_repeated_ids(X, Y, table, output)
    if output.dry_run:

        def work(problem: Problem) -> Work:
            n_points = count_points(problem, sweeping.epsilons, sweeping.y_in_x)
            return costs.of_sweep(problem.n_pairs, sweeping.n_permutations, n_points)

        show_plan(X, Y, output, how, work, which)
        return
    note_changes(X, output)
    with interruptible():
        how |= {"rng": comparison.seed, "progress": output.progress}
        result = sweep(X, Y, which=which, unit=split.units, **vars(sweeping), **how)
    output.show(result)
    page.write(
        result, table, output, beside=lambda: table_one(*drawn_rows(X, Y, split, comparison.seed), which)
    )
