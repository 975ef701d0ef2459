"""``mmdbounds sweep``: the table in, how much misfiling it takes to explain a difference away out."""

from __future__ import annotations

from typing import Annotated

import typer

from mmdbounds.cli import options
from mmdbounds.cli.options import option


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
    kernel: options.KernelName = "rbf",
    bandwidth: options.Bandwidth = "median",
    estimator: options.Estimator = "unbiased",
    backend: options.Backend = "auto",
    dtype: options.DType = "float64",
    working_memory: options.WorkingMemory = 1024,
    rng: options.TestSeed = 0,
    progress: options.Progress = None,
    json: options.Json = False,
) -> None:
    """Say how many rows must be misfiled to explain the difference between two groups away.

    Rows of A may be hidden among the rows of B. The result are bounds and p-values for a range of shares, and
    the first share at which the difference is no longer significant.

    \b
    Example:
      mmdbounds sweep patients.csv --group diagnosis --hidden MI --among healthy --id patient
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.breakdown import sweep

    how = options.comparison(
        kernel=kernel,
        bandwidth=bandwidth,
        estimator=estimator,
        backend=backend,
        dtype=dtype,
        working_memory=working_memory,
    )
    units = options.read_units(file, unit, [group, *(columns or [])])
    left_out = exclude if unit is None else [*(exclude or []), unit]
    which = {"id_": id_, "columns": columns, "exclude": left_out, "scale": scale}
    X, Y = options.read_groups(file, group=group, hidden=hidden, among=among, **which)  # type: ignore[arg-type]
    options.note_repeated(X, Y, id_, unit)
    result = sweep(
        X,
        Y,
        epsilons=epsilons or None,
        level=level,
        value=value,
        n_permutations=n_permutations,
        unit=options.units_of(units, X, Y),
        rng=rng,
        progress=progress,
        **how,
    )
    typer.echo(result.to_json() if json else result.summary())
