"""``mmdbounds sweep``: the table in, how much misfiling it takes to explain a difference away out."""

from __future__ import annotations

from typing import Annotated

from mmdbounds.cli import options
from mmdbounds.cli.options import option
from mmdbounds.cli.output import Output
from mmdbounds.cli.page import Page


def sweep_command(
    file: options.File,
    *,
    group: options.By,
    hidden: options.Hidden,
    among: options.Among,
    epsilons: Annotated[
        list[float] | None,
        option("Share of the true A at which to look; repeat for more. By default up to 0.5.", "SHARE"),
    ] = None,
    level: Annotated[float, option("Level of the test.", "SHARE")] = 0.05,
    value: Annotated[float, option("Also say when the lower bound reaches this.", "VALUE")] = 0.0,
    n_permutations: options.NPermutations = 999,
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
    include_rows: options.IncludeRows = False,
    dry_run: options.DryRun = False,
    progress: options.Progress = None,
    json: options.Json = False,
    csv: options.Csv = False,
    quiet: options.Quiet = False,
) -> None:
    """Say how many rows must be misfiled to explain the difference between two groups away.

    Rows of A may be hidden among the rows of B. What comes out are bounds and p-values for a range of shares,
    and the first share at which the difference is no longer significant.

    \b
    Example:
      mmdbounds sweep patients.csv --group diagnosis --hidden MI --among healthy \\
        --id patient
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.cli.dry_run import show_plan
    from mmdbounds.cli.table import note_changes, note_repeated, read_split, recorded
    from mmdbounds.contamination import Contamination
    from mmdbounds.inference.breakdown import LARGEST_SHARE, sweep
    from mmdbounds.inference.worst_case import expected_pairs

    output = Output.asked(json=json, csv=csv, quiet=quiet, progress=progress)
    page = Page.asked(report, file, include_rows=include_rows)
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
        most = min(Contamination(max(epsilons or [LARGEST_SHARE])).n_moved_for(len(X)), len(Y) - 1)
        counts = [Contamination(n_moved=moved).counts(len(X), len(Y)) for moved in (0, most)]
        show_plan(X, Y, output, how, lambda problem: expected_pairs(problem, counts, n_permutations))
        return
    note_changes(X, output)
    with options.interruptible():
        result = sweep(
            X,
            Y,
            epsilons=epsilons or None,
            level=level,
            value=value,
            n_permutations=n_permutations,
            unit=split.units,
            rng=rng,
            progress=output.progress,
            **how,
        )
    output.show(result)
    page.write(result, output)
