"""``mmdbounds bounds``: the table in, the two bounds out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mmdbounds.cli.numbers import number, whole_number
from mmdbounds.errors import MmdBoundsError

if TYPE_CHECKING:
    from mmdbounds.search import Method

Names = list[str]
KERNELS = "'rbf', 'laplacian', 'imq', 'matern32', 'matern52', 'polynomial', 'linear' or 'cosine'."


def _option(help: str, metavar: str | None = None, *flags: str, **more: Any) -> Any:
    parser = {"SHARE": number, "MIB": number, "ROWS": whole_number, "S": whole_number}.get(metavar or "")
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
    method: Annotated[str, _option("'s-sd', 'sd' or 'exhaustive'.", "NAME")] = "s-sd",
    n_steps: Annotated[int | None, _option("Steps of s-sd; by default min(m, 10).", "S")] = None,
    schedule: Annotated[str, _option("Schedule of s-sd: 'even' or 'paper'.", "NAME")] = "even",
    kernel: Annotated[str, _option(KERNELS, "NAME")] = "rbf",
    bandwidth: Annotated[str, _option("'median' or a number.", "LENGTH")] = "median",
    estimator: Annotated[str, _option("'unbiased' or 'biased'.", "NAME")] = "unbiased",
    backend: Annotated[str, _option("Where to compute: 'auto' or 'numpy'.", "NAME")] = "auto",
    dtype: Annotated[str, _option("'float64' or 'float32'.", "NAME")] = "float64",
    working_memory: Annotated[float, _option("Memory budget.", "MIB")] = 1024,
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
    from mmdbounds.cli.quiet import held_stderr
    from mmdbounds.contamination import Contamination
    from mmdbounds.tables import groups

    _check_one_amount(epsilon=epsilon, share_of_y=share_of_y, n_moved=n_moved)
    contamination = Contamination(
        epsilon, y_in_x=y_in_x, n_moved=n_moved, n_moved_of_x=n_moved_of_x, share_of_y=share_of_y
    )
    options: dict[str, Any] = {  # names are checked there, with a better message
        "method": _method(method, n_steps, schedule),
        "kernel": _kernel(kernel),
        "bandwidth": _bandwidth(bandwidth),
        "estimator": estimator,
        "backend": backend,
        "dtype": dtype,
        "working_memory": working_memory,
    }
    which = {"id": id_, "columns": columns or None, "exclude": exclude or None}
    with held_stderr():
        X, Y = groups(file, group, hidden=hidden, among=among, scale=scale, **which)  # type: ignore[arg-type]
    result = mmd_bounds(X, Y, contamination, at_most=at_most, progress=progress, **options)
    typer.echo(result.to_json() if json else result.summary())


def _check_one_amount(**amounts: float | None) -> None:
    given = [f"--{name.replace('_', '-')}" for name, amount in amounts.items() if amount is not None]
    if len(given) != 1:
        came = " and ".join(given) if given else "none of them"
        msg = f"give exactly one of --epsilon, --share-of-y and --n-moved; got {came}."
        raise MmdBoundsError(msg)


def _method(name: str, n_steps: int | None, schedule: str) -> Method:
    from mmdbounds.search import StepwiseDominance, as_method

    method = as_method(name)
    if n_steps is None and schedule == "even":
        return method
    if name != "s-sd":
        msg = f"`--n-steps` and `--schedule` go with `--method s-sd`; got --method {name}."
        raise MmdBoundsError(msg)
    return StepwiseDominance(n_steps=n_steps, schedule=schedule)  # type: ignore[arg-type]  # checked there


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
