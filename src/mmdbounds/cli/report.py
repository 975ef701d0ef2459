"""``mmdbounds report``: a saved result in, one self-contained page out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmdbounds.cli import options
from mmdbounds.cli.options import option
from mmdbounds.errors import DataError, MmdBoundsError

if TYPE_CHECKING:
    from mmdbounds.results import Result

DAMAGED = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError)
"""What comes of numbers that are no numbers, or lists of the wrong length, in a file of somebody else."""


def report_command(
    result: Annotated[
        str, typer.Argument(metavar="RESULT.json", help="What --json printed; - for standard input.")
    ],
    *,
    out: Annotated[Path, option("Where the page is written.", "FILE")],
    include_rows: options.IncludeRows = False,
    data: Annotated[
        str | None, option("The table, for the cells of the rows; with --include-rows.", "FILE")
    ] = None,
) -> None:
    """Write a saved result as one HTML page that can be read and printed anywhere, offline.

    A sweep becomes a page with a slider over the shares of misfiled rows. Rows are identified by
    their numbers in the file, unless --include-rows asks for more.

    \b
    Example:
      mmdbounds sweep patients.csv --group diagnosis --hidden MI --among healthy \\
        --json > result.json
      mmdbounds report result.json --out report.html
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.cli.side_files import plan_file, say
    from mmdbounds.report import write_report
    from mmdbounds.report.page import check_report

    check_report(out)
    plan_file("--out", out, inputs=[result, data])
    text = _read(result)
    try:
        write_report(_result(text), out, include_rows=include_rows, data=data)
    except MmdBoundsError:
        raise
    except DAMAGED as error:
        msg = f"the saved result is damaged ({type(error).__name__}). Save it again with --json."
        raise DataError(msg) from error
    say(f"The report is in {out}.")


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except FileNotFoundError:
        msg = f"there is no file {name!r}."
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        msg = f"cannot read {name!r}: {reason}."
    raise DataError(msg)


def _result(text: str) -> Result:
    """Return the result that the text is."""
    from mmdbounds.report.page import KINDS

    try:
        saved: Any = json.loads(text)
    except (ValueError, RecursionError):
        msg = "the saved result is not JSON. Make it with --json or `to_json`."
        raise DataError(msg) from None
    kinds = {kind.__name__: kind for kind in KINDS}
    named = saved.get("type") if isinstance(saved, dict) else None
    if not isinstance(named, str) or named not in kinds:
        msg = f"a report is written of a saved {', '.join(kinds)}; got {named!r}."
        raise DataError(msg)
    return kinds[named].from_dict(saved)
