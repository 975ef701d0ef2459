"""``mmdbounds bounds``: the table in, the two bounds out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mmdbounds.cli.numbers import number, whole_number
from mmdbounds.errors import MmdBoundsError

if TYPE_CHECKING:
    from mmdbounds.search import Method

Names = list[str]
KERNELS = "'rbf', 'laplacian', 'imq', 'matern32', 'matern52', 'polynomial', 'linear' or 'cosine'."
PARSERS = {"SHARE": number, "MIB": number} | dict.fromkeys(("ROWS", "S", "STARTS", "SEED"), whole_number)
CERTIFY: dict[str, Literal["auto"] | bool] = {
    "auto": "auto",
    **dict.fromkeys(("yes", "true"), True),
    **dict.fromkeys(("no", "false"), False),
}


def _option(help: str, metavar: str | None = None, *flags: str, **more: Any) -> Any:
    parser = PARSERS.get(metavar or "")
    return typer.Option(*flags, help=help, metavar=metavar, parser=parser, **more)


def bounds_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="CSV (also gzipped) or Parquet file.")],
    *,
    group: Annotated[str, _option("Column that says in which group a row is filed.", "COL")],
    hidden: Annotated[str, _option("The group whose rows may be hidden (X).", "A")],
    among: Annotated[str, _option("The group among whose rows they hide (Y).", "B")],
    epsilon: Annotated[float | None, _option("Share of the true A that is filed under B.", "SHARE")] = None,
    share_of_y: Annotated[
        float | None, _option("Instead: share of the rows of B that belong to A.", "SHARE")
    ] = None,
    n_moved: Annotated[int | None, _option("Instead: number of rows of B that belong to A.", "ROWS")] = None,
    y_in_x: Annotated[float, _option("Two-way: share of the true B that is filed under A.", "SHARE")] = 0.0,
    n_moved_of_x: Annotated[int, _option("Two-way: number of rows of A that belong to B.", "ROWS")] = 0,
    at_most: Annotated[bool, _option("Up to so many rows, not exactly so many.", None, "--at-most")] = False,
    id_: Annotated[
        str | None, _option("Column with the names of the rows; never a feature.", "COL", "--id")
    ] = None,
    columns: Annotated[Names | None, _option("Compare only this column; repeat for more.", "COL")] = None,
    exclude: Annotated[Names | None, _option("Leave this column out; repeat for more.", "COL")] = None,
    scale: Annotated[str, _option("'standard' (pooled mean and deviation) or 'none'.", "NAME")] = "standard",
    method: Annotated[str, _option("'sharp', 's-sd', 'sd' or 'exhaustive'.", "NAME")] = "sharp",
    n_starts: Annotated[int | None, _option("Starts of sharp on each side; by default 16.", "STARTS")] = None,
    certify: Annotated[
        str, _option("Proofs of sharp: 'auto' (as seconds allow), 'yes' (more) or 'no'.", "WHEN")
    ] = "auto",
    gap: Annotated[
        float | None,
        _option("Share of the width that a proof of sharp may be off; by default 0.001.", "SHARE"),
    ] = None,
    n_steps: Annotated[int | None, _option("Steps of s-sd; by default min(m, 10).", "S")] = None,
    schedule: Annotated[str, _option("Schedule of s-sd: 'even' or 'paper'.", "NAME")] = "even",
    kernel: Annotated[str, _option(KERNELS, "NAME")] = "rbf",
    bandwidth: Annotated[str, _option("'median' or a number.", "LENGTH")] = "median",
    estimator: Annotated[str, _option("'unbiased' or 'biased'.", "NAME")] = "unbiased",
    backend: Annotated[str, _option("Where to compute: 'auto' or 'numpy'.", "NAME")] = "auto",
    dtype: Annotated[str, _option("'float64' or 'float32'.", "NAME")] = "float64",
    working_memory: Annotated[float, _option("Memory budget.", "MIB")] = 1024,
    rng: Annotated[int, _option("Seed of the starts of sharp.", "SEED")] = 0,
    rows: Annotated[
        Path | None, _option("Also write what each row does to the bounds to a CSV file.", "FILE")
    ] = None,
    progress: Annotated[bool | None, _option("Show how far the work is.", show_default=False)] = None,
    json: Annotated[bool, _option("Print the whole result as JSON.", None, "--json")] = False,
) -> None:
    """Bound the squared MMD between two groups of a table.

    Rows of A may be hidden among the rows of B: every row that is filed under B could be one. Say how
    many with --epsilon, --share-of-y or --n-moved.

    \b
    Example:
      mmdbounds bounds patients.csv --group diagnosis --hidden MI --among healthy \\
        --epsilon 0.1 --id patient
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.bounds import mmd_bounds
    from mmdbounds.cli.files import write_whole
    from mmdbounds.cli.quiet import held_stderr
    from mmdbounds.cli.rows import check_rows, rows_csv
    from mmdbounds.contamination import Contamination
    from mmdbounds.tables import groups

    _check_one_amount(epsilon=epsilon, share_of_y=share_of_y, n_moved=n_moved)
    contamination = Contamination(
        epsilon, y_in_x=y_in_x, n_moved=n_moved, n_moved_of_x=n_moved_of_x, share_of_y=share_of_y
    )
    options: dict[str, Any] = {  # names are checked there, with a better message
        "method": _method(method, n_steps, schedule, n_starts, certify, gap),
        "kernel": _kernel(kernel),
        "bandwidth": _bandwidth(bandwidth),
        "estimator": estimator,
        "backend": backend,
        "dtype": dtype,
        "working_memory": working_memory,
        "rng": rng,
    }
    if rows is not None:
        check_rows(rows, file)
    which = {"id": id_, "columns": columns or None, "exclude": exclude or None}
    with held_stderr():
        X, Y = groups(file, group, hidden=hidden, among=among, scale=scale, **which)  # type: ignore[arg-type]
    result = mmd_bounds(X, Y, contamination, at_most=at_most, progress=progress, **options)
    if rows is not None:
        write_whole(rows, rows_csv(result))
    typer.echo(result.to_json() if json else result.summary())
    if rows is not None and not json:
        typer.echo(f"\nWhat each row does to the bounds is in {rows}.")


def _check_one_amount(**amounts: float | None) -> None:
    given = [f"--{name.replace('_', '-')}" for name, amount in amounts.items() if amount is not None]
    if len(given) != 1:
        came = " and ".join(given) if given else "none of them"
        msg = f"give exactly one of --epsilon, --share-of-y and --n-moved; got {came}."
        raise MmdBoundsError(msg)


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


def _kernel(name: str) -> str:
    if name == "precomputed":
        msg = "`--kernel precomputed` needs a matrix, not a table; use it from Python."
        raise MmdBoundsError(msg)
    return name


def _bandwidth(text: str) -> float | Literal["median"]:
    if text == "median":
        return "median"
    try:
        return float(text)
    except ValueError:
        msg = f"`--bandwidth` must be 'median' or a positive number; got {text!r}."
        raise MmdBoundsError(msg) from None
