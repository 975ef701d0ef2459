"""Options that several commands share, written once, and what they become."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mmdbounds.cli.numbers import number, whole_number
from mmdbounds.errors import MmdBoundsError

if TYPE_CHECKING:
    from mmdbounds.contamination import Contamination
    from mmdbounds.tables import Group

KERNELS = "'rbf', 'laplacian', 'imq', 'matern32', 'matern52', 'polynomial', 'linear' or 'cosine'."
PARSERS = {
    **dict.fromkeys(("SHARE", "MIB", "VALUE"), number),
    **dict.fromkeys(("ROWS", "S", "STARTS", "SEED", "NUMBER"), whole_number),
}


def option(help: str, metavar: str | None = None, *flags: str, **more: Any) -> Any:
    """Return an option; its `metavar` says how it is read."""
    parser = PARSERS.get(metavar or "")
    return typer.Option(*flags, help=help, metavar=metavar, parser=parser, **more)


# The table and its groups.
File = Annotated[str, typer.Argument(metavar="FILE", help="CSV (also gzipped) or Parquet file.")]
By = Annotated[str, option("Column that says in which group a row is filed.", "COL")]
Hidden = Annotated[str, option("The group whose rows may be hidden (X).", "A")]
Among = Annotated[str, option("The group among whose rows they hide (Y).", "B")]
Id = Annotated[str | None, option("Column with the names of the rows; never a feature.", "COL", "--id")]
Unit = Annotated[
    str | None,
    option("Column with the unit (patient, household) of each row: one row a unit is drawn.", "COL"),
]
Columns = Annotated[list[str] | None, option("Compare only this column; repeat for more.", "COL")]
Exclude = Annotated[list[str] | None, option("Leave this column out; repeat for more.", "COL")]
Scale = Annotated[str, option("'standard' (pooled mean and deviation) or 'none'.", "NAME")]

# How much is misfiled.
Epsilon = Annotated[float | None, option("Share of the true A that is filed under B.", "SHARE")]
ShareOfY = Annotated[float | None, option("Instead: share of the rows of B that belong to A.", "SHARE")]
NMoved = Annotated[int | None, option("Instead: number of rows of B that belong to A.", "ROWS")]
YInX = Annotated[float, option("Two-way: share of the true B that is filed under A.", "SHARE")]
NMovedOfX = Annotated[int, option("Two-way: number of rows of A that belong to B.", "ROWS")]

# How the groups are compared.
KernelName = Annotated[str, option(KERNELS, "NAME")]
Bandwidth = Annotated[str, option("'median' or a number.", "LENGTH")]
Estimator = Annotated[str, option("'unbiased' or 'biased'.", "NAME")]
Backend = Annotated[str, option("Where to compute: 'auto' or 'numpy'.", "NAME")]
DType = Annotated[str, option("'float64' or 'float32'.", "NAME")]
WorkingMemory = Annotated[float, option("Memory budget.", "MIB")]

# The permutation test.
NPermutations = Annotated[
    int, option("Random labellings; the smallest p-value is 1 / (NUMBER + 1).", "NUMBER")
]
TestSeed = Annotated[int, option("Seed of the permutations; not to be chosen by the result.", "SEED")]

# What is shown.
Progress = Annotated[bool | None, option("Show how far the work is.", show_default=False)]
Json = Annotated[bool, option("Print the whole result as JSON.", None, "--json")]


def contamination(
    *,
    epsilon: float | None,
    share_of_y: float | None,
    n_moved: int | None,
    y_in_x: float,
    n_moved_of_x: int,
) -> Contamination:
    """Return how much is misfiled, said in exactly one way."""
    from mmdbounds.contamination import Contamination

    amounts = {"--epsilon": epsilon, "--share-of-y": share_of_y, "--n-moved": n_moved}
    given = [flag for flag, amount in amounts.items() if amount is not None]
    if len(given) != 1:
        came = " and ".join(given) if given else "none of them"
        msg = f"give exactly one of --epsilon, --share-of-y and --n-moved; got {came}."
        raise MmdBoundsError(msg)
    return Contamination(
        epsilon, y_in_x=y_in_x, n_moved=n_moved, n_moved_of_x=n_moved_of_x, share_of_y=share_of_y
    )


def comparison(
    *, kernel: str, bandwidth: str, estimator: str | None, backend: str, dtype: str, working_memory: float
) -> dict[str, Any]:
    """Return how the groups are compared; names are checked by the function, with a better message."""
    return {
        "kernel": _kernel(kernel),
        "bandwidth": _bandwidth(bandwidth),
        "estimator": estimator,
        "backend": backend,
        "dtype": dtype,
        "working_memory": working_memory,
    }


def read_groups(
    file: str,
    *,
    group: str,
    hidden: str,
    among: str,
    id_: str | None,
    columns: list[str] | None,
    exclude: list[str] | None,
    scale: str,
) -> tuple[Group, Group]:
    """Return the groups of a table."""
    from mmdbounds.cli.quiet import held_stderr
    from mmdbounds.tables import groups

    which: Any = {"id": id_, "columns": columns or None, "exclude": exclude or None, "scale": scale}
    with held_stderr():
        return groups(file, group, hidden=hidden, among=among, **which)


def read_units(file: str, unit: str | None, taken: list[str]) -> list[str] | None:
    """Return the unit of every row of a table, `None` if no column was named.

    `taken` are the columns that hold something else.
    """
    from mmdbounds.cli.quiet import held_stderr
    from mmdbounds.tables.files import load_file
    from mmdbounds.tables.matching import as_text
    from mmdbounds.tables.phrases import listed, nearest, shown

    if unit is None:
        return None
    if unit in taken:
        msg = f"`--unit` must be neither the group column nor a feature; got {shown(unit)}."
        raise MmdBoundsError(msg)
    with held_stderr():
        frame = load_file(file, text=[unit]).frame
    if unit not in frame.columns:
        there = listed([shown(name) for name in frame.columns], 10)
        near = nearest(unit, frame.columns)
        msg = f"there is no column {shown(unit)}, asked for with `--unit`.{near} The columns are {there}."
        raise MmdBoundsError(msg)
    return [as_text(cell) for cell in frame.get_column(unit).to_list()]


def units_of(units: list[str] | None, X: Group, Y: Group) -> tuple[list[str], list[str]] | None:
    """Return the units of the rows of each group, from those of the whole table."""
    if units is None or X.file_rows is None or Y.file_rows is None:
        return None
    for row in sorted([*X.file_rows.tolist(), *Y.file_rows.tolist()]):
        if not units[row - 1]:
            msg = f"`--unit` must name the unit of each row; got none in row {row}. Name it, or leave it out."
            raise MmdBoundsError(msg)
    return [units[row - 1] for row in X.file_rows], [units[row - 1] for row in Y.file_rows]


def note_repeated(X: Group, Y: Group, id_: str | None, unit: str | None) -> None:
    """Say on standard error that rows share a name, which is what rows of one patient do."""
    if id_ is None or unit is not None or X.ids is None or Y.ids is None:
        return
    names = Counter(name for name in [*X.ids.tolist(), *Y.ids.tolist()] if name)
    repeated = sum(times for times in names.values() if times > 1)
    if repeated:
        typer.echo(
            f"mmdbounds: note: {repeated:,} rows share their {id_!r} with another one. Rows of one patient "
            f"are not exchangeable, which the test assumes; if they are such rows, add --unit {id_}.",
            err=True,
        )


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
