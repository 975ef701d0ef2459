"""``mmdbounds test``: the table in, a p-value out that stays valid when rows are misfiled."""

from __future__ import annotations

from typing import Annotated

from mmdbounds.cli import options
from mmdbounds.cli.options import option
from mmdbounds.cli.output import Output
from mmdbounds.cli.page import Page


def robust_command(
    file: options.File,
    *,
    group: options.By,
    hidden: options.Hidden,
    among: options.Among,
    epsilon: options.Epsilon = None,
    share_of_y: options.ShareOfY = None,
    n_moved: options.NMoved = None,
    y_in_x: options.YInX = 0.0,
    n_moved_of_x: options.NMovedOfX = 0,
    at_most: Annotated[
        bool, option("Take the amount as a maximum, or as exact.", None, "--at-most/--exactly")
    ] = True,
    n_permutations: options.NPermutations = 999,
    best_case: Annotated[
        bool, option("Also prove how small the p-value could be; takes longer.", None, "--best-case")
    ] = False,
    beta: Annotated[
        float, option("Probability that another number is misfiled; added to the p-value.", "SHARE")
    ] = 0.0,
    id_: options.Id = None,
    unit: options.Unit = None,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    scale: options.Scale = "standard",
    missing: options.Missing = "refuse",
    na: options.Na = None,
    encoding: options.Encoding = None,
    kernel: options.KernelName = "rbf",
    bandwidth: options.Bandwidth = "median",
    estimator: options.Estimator = "unbiased",
    backend: options.Backend = "auto",
    dtype: options.DType = "float64",
    working_memory: options.WorkingMemory = 1024,
    rng: options.TestSeed = 0,
    report: options.Report = None,
    dry_run: options.DryRun = False,
    progress: options.Progress = None,
    json: options.Json = False,
    csv: options.Csv = False,
    quiet: options.Quiet = False,
) -> None:
    """Test whether two groups of a table differ, although rows may be misfiled.

    Rows of A may be hidden among the rows of B. The p-value is the largest over every set of rows that they
    might be, up to as many as you say with --epsilon, --share-of-y or --n-moved.

    \b
    Example:
      mmdbounds test patients.csv --group diagnosis --hidden MI --among healthy \\
        --epsilon 0.1 --id patient
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.cli.dry_run import show_plan
    from mmdbounds.cli.table import note_changes, note_repeated, read_split, recorded
    from mmdbounds.inference.robust import robust_test
    from mmdbounds.inference.worst_case import expected_pairs

    output = Output.asked(json=json, csv=csv, quiet=quiet, progress=progress)
    page = Page.asked(report, file)
    amount = options.contamination(
        epsilon=epsilon, share_of_y=share_of_y, n_moved=n_moved, y_in_x=y_in_x, n_moved_of_x=n_moved_of_x
    )
    how = options.comparison(
        kernel=kernel,
        bandwidth=bandwidth,
        estimator=estimator,
        backend=backend,
        dtype=dtype,
        working_memory=working_memory,
    )
    split = read_split(
        file,
        group=group,
        hidden=hidden,
        among=among,
        id_=id_,
        columns=columns,
        exclude=exclude,
        scale=scale,
        missing=missing,
        na=na,
        encoding=encoding,
        unit=unit,
    )
    X, Y = recorded(split.X, split.Y, columns=columns, unit=unit)
    note_repeated(X, Y, id_, unit, output)
    if dry_run:
        counts = amount.admissible(len(X), len(Y), at_most=at_most)
        show_plan(X, Y, output, how, lambda problem: expected_pairs(problem, counts, n_permutations))
        return
    note_changes(X, output)
    with options.interruptible():
        result = robust_test(
            X,
            Y,
            amount,
            n_permutations=n_permutations,
            at_most=at_most,
            best_case=best_case,
            beta=beta,
            unit=split.units,
            rng=rng,
            progress=output.progress,
            **how,
        )
    output.show(result)
    page.write(result, output)
