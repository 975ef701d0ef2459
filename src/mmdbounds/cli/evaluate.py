"""``mmdbounds evaluate``: a table whose groups are right in, how often each method misses the truth out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mmdbounds.cli import options
from mmdbounds.cli.numbers import whole_number
from mmdbounds.cli.options import option
from mmdbounds.cli.output import Output
from mmdbounds.errors import MmdBoundsError, shown_value


def evaluate_command(
    file: options.File,
    *,
    group: options.By,
    hidden: options.Hidden,
    among: options.Among,
    epsilon: Annotated[float, option("Share of the rows of A to file under B.", "SHARE")],
    methods: Annotated[
        list[str] | None,
        option(
            "Method to evaluate; repeat for more. [default: sharp, s-sd]", "NAME", "--method", "--methods"
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        option("Rows of A and B to draw in each trial, as in 50,50; 'all' takes all of them.", "A,B"),
    ] = None,
    replace: Annotated[bool, option("Draw the rows with replacement.", None, "--replace")] = False,
    n_trials: Annotated[int, option("Number of trials.", "NUMBER", "--n-trials", "--trials")] = 100,
    only: Annotated[
        list[int] | None, option("Number of a trial to run alone, from 0; repeat for more.", "NUMBER")
    ] = None,
    mechanism: Annotated[
        str, option("Who is misfiled: 'nonrandom' (rows typical of A) or 'random'.", "NAME")
    ] = "nonrandom",
    id_: options.Id = None,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    scale: Annotated[
        str | None,
        option("'standard' (over the rows of both groups, in each trial, the default) or 'none'.", "NAME"),
    ] = None,
    missing: options.Missing = "refuse",
    na: options.Na = None,
    encoding: options.Encoding = None,
    preset: Annotated[
        str | None,
        option("'paper', 'paper-bio' or 'ours', in place of --method, --scale and --estimator.", "NAME"),
    ] = None,
    at_most: Annotated[
        bool,
        option("Tell the methods a maximum of misfiled rows, not their exact number.", None, "--at-most"),
    ] = False,
    kernel: options.KernelName = "rbf",
    bandwidth: options.Bandwidth = "median",
    estimator: Annotated[str | None, option("'unbiased' (the default) or 'biased'.", "NAME")] = None,
    backend: options.Backend = "auto",
    dtype: options.DType = "float64",
    working_memory: Annotated[float, option("Memory budget of each process.", "MIB")] = 1024,
    n_processes: Annotated[
        int | None,
        option("Trials at the same time; by default one per core.", "NUMBER", "--n-processes", "--processes"),
    ] = None,
    checkpoint: Annotated[
        Path | None, option("Keep every trial in this file; the same command resumes from it.", "FILE")
    ] = None,
    rng: Annotated[int, option("Seed of all trials.", "SEED")] = 0,
    dry_run: options.DryRun = False,
    progress: options.Progress = None,
    json: options.Json = False,
    csv: options.Csv = False,
    quiet: options.Quiet = False,
) -> None:
    """Simulate misfiling in a table whose groups are right, and see how often each method misses the truth.

    Each trial draws rows, files a share of those of A under B, and bounds the squared MMD by every method,
    which is told how many rows that were, not which. The truth is known.

    \b
    Example:
      mmdbounds evaluate patients.csv --group diagnosis --hidden MI \\
        --among healthy --epsilon 0.2 --method sharp --method s-sd --sizes 50,50
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.cli.dry_run import SEARCH_EACH, show_plan
    from mmdbounds.cli.side_files import plan_file
    from mmdbounds.cli.table import note_changes, read_split
    from mmdbounds.evaluation import run

    output = Output.asked(json=json, csv=csv, quiet=quiet, progress=progress)
    how = options.comparison(
        kernel=kernel,
        bandwidth=bandwidth,
        estimator=estimator,
        backend=backend,
        dtype=dtype,
        working_memory=working_memory,
    )
    drawn = _sizes(sizes)
    plan_file("--checkpoint", checkpoint, inputs=[file], is_read=True)
    split = read_split(
        file,
        group=group,
        hidden=hidden,
        among=among,
        id_=id_,
        columns=columns,
        exclude=exclude,
        scale="none",  # scaled in each trial
        missing=missing,
        na=na,
        encoding=encoding,
    )
    X, Y = split.X, split.Y
    if dry_run:
        n_rows = sum(size or len(each) for size, each in zip(drawn or (None, None), (X, Y), strict=True))
        passes = n_trials * max(1, len(methods or (1, 2))) * n_rows * (n_rows + 1) // 2
        show_plan(X, Y, output, {**how, "estimator": estimator or "unbiased"}, lambda _: passes, SEARCH_EACH)
        return
    note_changes(X, output)
    with options.interruptible(checkpoint):
        result = run.evaluate(
            X,
            Y,
            epsilon,
            methods=methods or None,
            sizes=drawn,
            replace=replace,
            n_trials=n_trials,
            only=only or None,
            mechanism=mechanism,
            scale="standard" if scale is None and preset is None else scale,
            preset=preset,
            at_most=at_most,
            n_processes=n_processes,
            checkpoint=checkpoint,
            rng=rng,
            progress=output.progress,
            **how,
        )
    output.show(result)


def _sizes(text: str | None) -> tuple[int | None, int | None] | None:
    """Return how many rows of each group are drawn, `None` for all."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(part == "all" or part.isdecimal() for part in parts):
        msg = f"`--sizes` must be two numbers with a comma, such as 50,50 or all,50; got {shown_value(text)}."
        raise MmdBoundsError(msg)
    of_x, of_y = (None if part == "all" else whole_number(part) for part in parts)
    return of_x, of_y
