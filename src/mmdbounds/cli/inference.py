"""``mmdbounds confidence``: about the populations."""

from __future__ import annotations

from functools import partial

from mmdbounds.cli.arguments import (
    Comparison,
    Misfiling,
    Output,
    Table,
)
from mmdbounds.cli.main import interruptible
from mmdbounds.cli.options import DONE, option, options
from mmdbounds.cli.table import (
    note_changes,
    one_row_per_unit,
    read_split,
    recorded,
    show_plan,
)
from mmdbounds.errors import MmdBoundsError


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
    from mmdbounds import costs
    from mmdbounds.inference.confidence import ENOUGH, confidence_interval
    from mmdbounds.search import as_method

    amount, how = misfiling.contamination(), comparison.keywords()
    if how.pop("estimator") != "unbiased":
        msg = "`--estimator` cannot be chosen for a confidence interval, which takes the biased one."
        raise MmdBoundsError(msg)
    split = read_split(table, None, output, amount)
    X, Y = recorded(split, table)
    if output.dry_run:
        work = partial(costs.of_bounds, method=as_method(ENOUGH))
        how |= {"estimator": "biased"}
        show_plan(X, Y, output, how, lambda problem: work(problem.n_pairs), amount)
        return
    note_changes(X, output)
    X, Y = one_row_per_unit(X, Y, split, comparison.seed, output)
    with interruptible():
        how |= {"rng": comparison.seed, "progress": output.progress}
        output.show(confidence_interval(X, Y, amount, **vars(confident), **how))
