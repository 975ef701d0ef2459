"""Options that several commands share, written once, and what they become."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mmdbounds.cli import stopped
from mmdbounds.cli.numbers import number, whole_number
from mmdbounds.cli.sections import Interrupted
from mmdbounds.errors import MmdBoundsError, came
from mmdbounds.kernels import SHIPPED

if TYPE_CHECKING:
    from mmdbounds.contamination import Contamination
    from mmdbounds.kernels import Kernel

*_SOME, _LAST = [repr(name) for name in SHIPPED if name != "precomputed"]
KERNELS = f"{', '.join(_SOME)} or {_LAST}."
PARSERS = {
    **dict.fromkeys(("SHARE", "MIB", "VALUE"), number),
    **dict.fromkeys(("ROWS", "S", "STARTS", "SEED", "NUMBER"), whole_number),
}


def option(help: str, metavar: str | None = None, *flags: str, **more: Any) -> Any:
    """Return an option; its `metavar` says how it is read, and names quoted in its help can be completed."""
    parser, names = PARSERS.get(metavar or ""), re.findall(r"'([\w-]+)'", help)

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    more = {"autocompletion": complete, **more} if names else more
    return typer.Option(*flags, help=help, metavar=metavar, parser=parser, **more)


# The table and its groups.
File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="CSV, Parquet, Arrow or JSON lines file, also gzipped; - for standard input."
    ),
]
By = Annotated[str, option("Column that says in which group a row is filed.", "COL")]
Hidden = Annotated[str, option("The group whose rows may be hidden (X).", "A")]
Among = Annotated[str, option("The group among whose rows they hide (Y).", "B")]
Id = Annotated[str | None, option("Column with the names of the rows; never a feature.", "COL", "--id")]
Unit = Annotated[
    str | None,
    option("Column with the unit (patient, household) of each row: one row per unit is drawn.", "COL"),
]
Columns = Annotated[list[str] | None, option("Compare only this column; repeat for more.", "COL")]
Exclude = Annotated[list[str] | None, option("Leave this column out; repeat for more.", "COL")]
Scale = Annotated[
    str,
    option(
        "Scaling of numeric columns, over both groups: 'standard', 'robust' (quartiles), 'rank' or 'none'.",
        "NAME",
    ),
]
Missing = Annotated[
    str, option("Missing cells: 'refuse', 'drop' (their rows) or 'impute' (median, mode).", "NAME")
]
Na = Annotated[list[str] | None, option("Text or number that means a missing cell; repeat for more.", "TEXT")]
Encoding = Annotated[str | None, option("Encoding of a text file, such as cp1252.  [default: utf-8]", "NAME")]

# How much is misfiled.
Epsilon = Annotated[float | None, option("Share of the true A that is filed under B.", "SHARE")]
ShareOfY = Annotated[float | None, option("Instead: share of the rows of B that belong to A.", "SHARE")]
NMoved = Annotated[int | None, option("Instead: number of rows of B that belong to A.", "ROWS")]
YInX = Annotated[float, option("Two-way: share of the true B that is filed under A.", "SHARE")]
NMovedOfX = Annotated[int, option("Two-way: number of rows of A that belong to B.", "ROWS")]

# How the groups are compared.
KernelName = Annotated[str, option(KERNELS, "NAME")]
Bandwidth = Annotated[str, option("'median' or a number.", "LENGTH")]
Features = Annotated[
    int | None,
    option("Approximate the kernel by this many random features: linear in the rows.", "NUMBER"),
]
Landmarks = Annotated[
    int | None, option("Instead: by its values at this many landmarks (Nystrom), with a proof.", "NUMBER")
]
Estimator = Annotated[str, option("'unbiased' or 'biased'.", "NAME")]
Backend = Annotated[str, option("Where: 'auto', 'numpy', 'torch' (a GPU) or 'dask' (a cluster).", "NAME")]
DType = Annotated[str, option("'float64' or 'float32'.", "NAME")]
WorkingMemory = Annotated[float, option("Memory budget.", "MIB")]

# The permutation test.
NPermutations = Annotated[
    int, option("Random labellings; the smallest p-value is 1 / (NUMBER + 1).", "NUMBER")
]
TestSeed = Annotated[int, option("Seed of the permutations; choose it before you see a result.", "SEED")]

# What is shown.
DryRun = Annotated[
    bool,
    option("Say which rows and columns would be compared, how, and how long it takes.", None, "--dry-run"),
]
Report = Annotated[Path | None, option("Also write one self-contained page: HTML, offline.", "FILE")]
IncludeRows = Annotated[
    bool, option("Put names and cells of single rows on the page.", None, "--include-rows")
]
Progress = Annotated[bool | None, option("Show how far the work is.", show_default=False)]
Json = Annotated[bool, option("Print the whole result as JSON.", None, "--json")]
Csv = Annotated[bool, option("Print the numbers as CSV.", None, "--csv")]
Quiet = Annotated[bool, option("Print the answer alone: no words, notes or progress.", None, "--quiet", "-q")]


@contextmanager
def interruptible(checkpoint: Path | None = None) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the work; say that the same command goes on from a file if one was kept."""
    if hasattr(signal, "siginterrupt"):  # polars, once imported, makes waiting for a thread go on regardless
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.siginterrupt(number, True)
    try:
        yield
    except BaseException as error:
        if not (isinstance(error, KeyboardInterrupt) or stopped.by()):
            raise
        ended = Interrupted()
        if checkpoint is not None and checkpoint.exists():
            ended.continues = f"the same command resumes from {checkpoint}"
        raise ended from error


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
    *,
    kernel: str,
    bandwidth: str,
    features: int | None = None,
    landmarks: int | None = None,
    estimator: str | None,
    backend: str,
    dtype: str,
    working_memory: float,
) -> dict[str, Any]:
    """Return how the groups are compared; names are checked by the function, with a better message."""
    chosen: Any = _kernel(kernel)
    length = _bandwidth(bandwidth)
    if features is not None or landmarks is not None:
        chosen, length = _approximate(kernel, length, features, landmarks), "median"
    return {
        "kernel": chosen,
        "bandwidth": length,
        "estimator": estimator,
        "backend": backend,
        "dtype": dtype,
        "working_memory": working_memory,
    }


def _kernel(name: str) -> str:
    from mmdbounds.kernels import is_precomputed

    if is_precomputed(name):
        msg = "`--kernel precomputed` needs a matrix, not a table; use it from Python."
        raise MmdBoundsError(msg)
    return name


def _approximate(
    name: str, bandwidth: float | Literal["median"], features: int | None, landmarks: int | None
) -> Kernel:
    """Return the kernel by its features, which carries its bandwidth itself."""
    from mmdbounds.sums.features import Nystrom, RandomFeatures

    if features is not None and landmarks is not None:
        msg = f"give --features or --landmarks, not both; got {features} and {landmarks}."
        raise MmdBoundsError(msg)
    if landmarks is not None:
        return Nystrom(name, landmarks, bandwidth=bandwidth)
    return RandomFeatures(name, features or 0, bandwidth=bandwidth)


def _bandwidth(text: str) -> float | Literal["median"]:
    if text == "median":
        return "median"
    try:
        return float(text)
    except ValueError:
        msg = f"`--bandwidth` must be 'median' or a positive number; got {came(text)}."
        raise MmdBoundsError(msg) from None
