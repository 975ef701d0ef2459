"""Options that several commands share, written once, and what they become."""

from __future__ import annotations

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
    *, kernel: str, bandwidth: str, estimator: str, backend: str, dtype: str, working_memory: float
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
