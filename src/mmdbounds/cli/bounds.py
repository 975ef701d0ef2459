"""``mmdbounds bounds``: the table in, the two bounds out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mmdbounds.cli import options
from mmdbounds.cli.options import option
from mmdbounds.cli.output import Output
from mmdbounds.cli.page import Page
from mmdbounds.errors import MmdBoundsError

if TYPE_CHECKING:
    from mmdbounds.search import Method

CERTIFY: dict[str, Literal["auto"] | bool] = {
    "auto": "auto",
    **dict.fromkeys(("yes", "true"), True),
    **dict.fromkeys(("no", "false"), False),
}


def bounds_command(
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
    at_most: Annotated[bool, option("Up to so many rows, not exactly so many.", None, "--at-most")] = False,
    id_: options.Id = None,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    scale: options.Scale = "standard",
    missing: options.Missing = "refuse",
    na: options.Na = None,
    encoding: options.Encoding = None,
    method: Annotated[
        str, option("'sharp', 's-sd', 'sd', 's-qno', 'qno', 'sm', 'bootstrap' or 'exhaustive'.", "NAME")
    ] = "sharp",
    n_starts: Annotated[int | None, option("Starts of sharp on each side; by default 16.", "STARTS")] = None,
    certify: Annotated[
        str, option("Proofs of sharp: 'auto' (as seconds allow), 'yes' (more) or 'no'.", "WHEN")
    ] = "auto",
    gap: Annotated[
        float | None,
        option("Share of the width that a proof of sharp may be off; by default 0.001.", "SHARE"),
    ] = None,
    n_steps: Annotated[int | None, option("Steps of s-sd; by default min(m, 10).", "S")] = None,
    schedule: Annotated[str, option("Schedule of s-sd: 'even' or 'paper'.", "NAME")] = "even",
    kernel: options.KernelName = "rbf",
    bandwidth: options.Bandwidth = "median",
    features: options.Features = None,
    landmarks: options.Landmarks = None,
    estimator: options.Estimator = "unbiased",
    backend: options.Backend = "auto",
    dtype: options.DType = "float64",
    working_memory: options.WorkingMemory = 1024,
    rng: Annotated[int, option("Seed of the starts of sharp.", "SEED")] = 0,
    rows: Annotated[
        Path | None, option("Also write what each row does to the bounds to a CSV file.", "FILE")
    ] = None,
    checkpoint: Annotated[
        Path | None, option("Keep long sums in this file; the same command resumes from it.", "FILE")
    ] = None,
    report: options.Report = None,
    include_rows: options.IncludeRows = False,
    dry_run: options.DryRun = False,
    progress: options.Progress = None,
    json: options.Json = False,
    csv: options.Csv = False,
    quiet: options.Quiet = False,
) -> None:
    """Bound the squared MMD between two groups of a table.

    Rows of A may be hidden among the rows of B: every row that is filed under B could be one. Say how
    many with --epsilon, --share-of-y or --n-moved.

    \b
    Example:
      mmdbounds bounds patients.csv --group diagnosis --hidden MI \\
        --among healthy --epsilon 0.1 --id patient
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.bounds import expected_pairs, mmd_bounds
    from mmdbounds.cli.dry_run import show_plan
    from mmdbounds.cli.rows import rows_csv
    from mmdbounds.cli.side_files import plan_file, say, write_beside
    from mmdbounds.cli.table import note_changes, read_split, recorded

    output = Output.asked(json=json, csv=csv, quiet=quiet, progress=progress)
    plan_file("--rows", rows, inputs=[file])
    plan_file("--checkpoint", checkpoint, inputs=[file], is_read=True)
    page = Page.asked(report, file, include_rows=include_rows)
    amount = options.contamination(
        epsilon=epsilon, share_of_y=share_of_y, n_moved=n_moved, y_in_x=y_in_x, n_moved_of_x=n_moved_of_x
    )
    search = _method(method, n_steps, schedule, n_starts, certify, gap)
    how = options.comparison(
        kernel=kernel,
        bandwidth=bandwidth,
        features=features,
        landmarks=landmarks,
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
    )
    X, Y = recorded(split.X, split.Y, columns=columns)
    if dry_run:
        counts = amount.admissible(len(X), len(Y), at_most=at_most)
        more = ("This is nearly all.",) if method in ("s-sd", "sd") else ()
        show_plan(X, Y, output, how, lambda problem: expected_pairs(problem, counts), *more)
        return
    note_changes(X, output)
    with options.interruptible(checkpoint):
        result = mmd_bounds(
            X,
            Y,
            amount,
            method=search,
            at_most=at_most,
            rng=rng,
            checkpoint=checkpoint,
            progress=output.progress,
            **how,
        )
    output.show(result)
    if rows is not None:
        write_beside(rows, lambda: rows_csv(result).encode())
    page.write(result, output)
    if rows is not None and output.in_words:
        say(f"\nWhat each row does to the bounds is in {rows}.")


def _method(
    name: str, n_steps: int | None, schedule: str, n_starts: int | None, certify: str, gap: float | None
) -> Method:
    """Return the method with its options, which go with that method only."""
    from mmdbounds.search import Sharp, StepwiseDominance, as_method

    method = as_method(name)
    sharp: dict[str, Any] = {"n_starts": n_starts, "gap": gap, "certify": _certify(certify)}
    if name != "s-sd" and (n_steps is not None or schedule != "even"):
        msg = f"`--n-steps` and `--schedule` go with `--method s-sd`; got --method {name}."
        raise MmdBoundsError(msg)
    if name != "sharp" and (n_starts is not None or gap is not None or sharp["certify"] != "auto"):
        msg = f"`--n-starts`, `--certify` and `--gap` go with `--method sharp`; got --method {name}."
        raise MmdBoundsError(msg)
    if name == "sharp":
        return Sharp(**{option: value for option, value in sharp.items() if value is not None})
    if name == "s-sd":
        return StepwiseDominance(n_steps=n_steps, schedule=schedule)  # type: ignore[arg-type]  # checked there
    return method


def _certify(text: str) -> Literal["auto"] | bool:
    if text.casefold() not in CERTIFY:
        msg = f"`--certify` must be 'auto', 'yes' or 'no'; got {text!r}."
        raise MmdBoundsError(msg)
    return CERTIFY[text.casefold()]
