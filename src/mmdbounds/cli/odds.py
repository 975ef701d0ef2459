"""``mmdbounds odds``: how far from random misfiling must be to explain a difference away."""

from __future__ import annotations

from mmdbounds.cli.arguments import EXACTLY, Comparison, Output, Table
from mmdbounds.cli.options import DONE, MISFILED, option, options
from mmdbounds.cli.table import note_changes, one_row_per_unit, read_split, recorded, show_plan


@options(MISFILED)
class SharesAndFactors:
    """Options of `odds_sweep`, under their names there."""

    epsilons: list[float] | None = option(
        None, "Shares of the true A rows to try, separated by commas.  [default: 0.05 to 0.3]", "SHARE,..."
    )
    odds: list[float] | None = option(
        None, "Factors of the odds to try, separated by commas; 1 is random.  [default: 1 to 5]", "VALUE,..."
    )
    exactly: bool | None = option(None, *EXACTLY)
    n_permutations: int = option(999, "Random labellings, for what chance gives.", "NUMBER", DONE)


def odds_command(table: Table, tried: SharesAndFactors, comparison: Comparison, output: Output) -> None:
    """Estimate what is left of a difference if rows were misfiled at random, or nearly.

    The odds that a row of A was filed under B may differ from row to row, up to a factor. For each share of
    misfiled rows the result has the factor at which misfiling alone could explain the difference. That is a
    guide for the populations, and not a test.

    \b
    Example:
      mmdbounds odds patients.csv --group diagnosis --hidden MI --among healthy \\
        --epsilons 0.1,0.2 --id patient
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds import costs
    from mmdbounds.inference.odds import odds_sweep

    how = comparison.keywords()
    split = read_split(table, None, output)
    X, Y = recorded(split, table)
    if output.dry_run:
        show_plan(X, Y, output, how, lambda problem: costs.of_test(problem.n_pairs, tried.n_permutations))
        return
    note_changes(X, output)
    X, Y = one_row_per_unit(X, Y, split, comparison.seed, output)
    given = {name: value for name, value in vars(tried).items() if value is not None}
    output.show(odds_sweep(X, Y, rng=comparison.seed, progress=output.progress, **given, **how))
