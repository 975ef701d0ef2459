"""``mmdbounds confidence`` and ``aggregated``: about the populations, and with several kernels at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmdbounds.cli.arguments import (
    N_PERMUTATIONS,
    STOP_AFTER,
    Comparison,
    KnownRows,
    Misfiling,
    Output,
    Table,
)
from mmdbounds.cli.main import interruptible
from mmdbounds.cli.options import COMPARED, DONE, option, options
from mmdbounds.cli.table import (
    note_changes,
    note_repeated_ids,
    one_row_per_unit,
    read_split,
    recorded,
    show_plan,
)
from mmdbounds.errors import MmdBoundsError

if TYPE_CHECKING:
    from mmdbounds.counts import Counts
    from mmdbounds.problem import Problem
    from mmdbounds.progress import Phase


@options(DONE)
class Confident:
    """Options of `confidence_interval`, under their names there."""

    level: float = option(0.95, "Confidence of the interval.", "SHARE")
    holdout: float | None = option(
        None, "Share of all rows to set aside for the bandwidth, so that coverage can be proved.", "SHARE"
    )
    fixed_kernel: bool = option(
        False, "Kernel, --bandwidth and scaling were fixed before anybody looked at these rows."
    )


def confidence_command(
    table: Table, misfiling: Misfiling, confident: Confident, comparison: Comparison, output: Output
) -> None:
    """Bound the root MMD of the two populations, with a confidence that holds at any sample size.

    Rows of A may be misfiled under B. Say how many with --epsilon, --share-of-y, --n-moved,
    --sensitivity, --audit or --prevalence. The output says whether the confidence is proved, and if not, why.

    \b
    Example:
      mmdbounds confidence patients.csv --group diagnosis --hidden MI \\
        --among healthy --epsilon 0.1 --id patient --holdout 0.2
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.costs import one_pass
    from mmdbounds.inference.confidence import confidence_interval

    amount, how = misfiling.contamination(), comparison.keywords()
    if how.pop("estimator") != "unbiased":
        msg = "`--estimator` cannot be chosen for a confidence interval, which takes the biased one."
        raise MmdBoundsError(msg)
    split = read_split(table, None, output, amount)
    X, Y = recorded(split, table)
    if output.dry_run:
        show_plan(
            X, Y, output, {**how, "estimator": "biased"}, lambda problem, _: [one_pass(problem)], amount
        )
        return
    note_changes(X, output)
    X, Y = one_row_per_unit(X, Y, split, comparison.seed, output)
    with interruptible():
        how |= {"rng": comparison.seed, "progress": output.progress}
        output.show(confidence_interval(X, Y, amount, **vars(confident), **how))


@options(DONE)
class Aggregated:
    """Options of `aggregated_test`, under their names there."""

    kernels: list[str] | None = option(
        None, "Kernels, separated by commas: {kernels}; each with its median bandwidth.", "NAME,...", COMPARED
    )
    bandwidths: list[float] | None = option(
        None,
        "Instead: bandwidths of the rbf kernel, separated by commas.  [default: the median distance times "
        "1/4, 1/2, 1, 2 and 4]",
        "VALUE,...",
        COMPARED,
    )
    n_permutations: int = option(999, *N_PERMUTATIONS)
    stop_after: int | None = option(None, *STOP_AFTER)
    level: float = option(0.05, "Significance level of the test.", "SHARE")
    beta: float = option(0.0, "Probability that the stated amount is wrong; added to the p-value.", "SHARE")


def aggregated_command(
    table: Table,
    misfiling: Misfiling,
    known: KnownRows,
    aggregated: Aggregated,
    comparison: Comparison,
    output: Output,
) -> None:
    """Test with several kernels at once whether two groups differ, even though rows may be misfiled.

    Rows of A may be misfiled under B. Say how many with --epsilon, --share-of-y, --n-moved,
    --sensitivity, --audit or --prevalence. No kernel has to be chosen. The one p-value is the largest over
    all sets of rows that they might be.

    \b
    Example:
      mmdbounds aggregated patients.csv --group diagnosis --hidden MI \\
        --among healthy --epsilon 0.1 --id patient --kernels rbf,laplacian
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.inference.aggregate import aggregated_test
    from mmdbounds.inference.robust import expected_test

    amount, how = known.within(misfiling.contamination()), comparison.keywords()
    if comparison.kernel != "rbf" or comparison.bandwidth != "median":
        msg = "`--kernel` and `--bandwidth` are for one kernel; use `--kernels` or `--bandwidths` here."
        raise MmdBoundsError(msg)
    split = read_split(table, known, output, amount)
    X, Y = recorded(split, table)
    note_repeated_ids(X, Y, table, output)
    if output.dry_run:

        def work(problem: Problem, counts: list[Counts]) -> list[Phase]:
            return expected_test(problem, counts, aggregated.n_permutations, False)

        show_plan(X, Y, output, how, work, amount)
        return
    note_changes(X, output)
    how = {name: value for name, value in how.items() if name not in ("kernel", "bandwidth")}
    with interruptible():
        how |= {"rng": comparison.seed, "progress": output.progress}
        output.show(aggregated_test(X, Y, amount, unit=split.units, **vars(aggregated), **how))
