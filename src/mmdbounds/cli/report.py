"""``mmdbounds report``: a saved result in, one self-contained page out."""

# ruff: noqa: RUF009 -- an option is a field
from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmdbounds.cli.options import REQUIRED, SHOWN, TABLE, argument, grouped, option
from mmdbounds.cli.side_files import STDIN, plan_file, say
from mmdbounds.errors import DataError, MmdBoundsError

if TYPE_CHECKING:
    from mmdbounds.results import Result

DAMAGED = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError)
"""What comes of numbers that are no numbers, or lists of the wrong length, in a file of somebody else."""


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A saved result, and the page that it becomes."""

    result: str = argument(REQUIRED, "Output of --json; - for standard input.", "RESULT.json")
    data: str | None = option(None, "Table with the cells of the rows, for --include-rows.", "FILE", TABLE)
    out: Path = option(REQUIRED, "File to write the page to.", "FILE", SHOWN)
    include_rows: bool = option(
        False, "Show names and cells of individual rows on the page.", None, SHOWN, "--include-rows"
    )


@grouped
def report_command(saved: Saved) -> None:
    """Write a saved result as a self-contained HTML page, to read and print offline.

    The page of a sweep has a slider for the share of misfiled rows. Rows are identified by their numbers in
    the file, unless --include-rows is given.

    \b
    Example:
      mmdbounds sweep patients.csv --group diagnosis --hidden MI --among healthy \\
        --json > result.json
      mmdbounds report result.json --out report.html
    """  # noqa: D301 -- click's mark of lines that are not to be wrapped
    from mmdbounds.report import write_report
    from mmdbounds.report.page import check_report

    check_report(saved.out)
    plan_file("--out", saved.out, inputs=[saved.result, saved.data])
    text = _read(saved.result)
    try:
        write_report(_result(text), saved.out, include_rows=saved.include_rows, data=saved.data)
    except MmdBoundsError:
        raise
    except DAMAGED as error:
        msg = f"the saved result is damaged ({type(error).__name__}). Save it again with --json."
        raise DataError(msg) from error
    say(f"The report is in {saved.out}.")


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == STDIN else Path(name).read_text(encoding="utf-8")
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
        content: Any = json.loads(text)
    except (ValueError, RecursionError):
        msg = "the saved result is not JSON. Make it with --json or `to_json`."
        raise DataError(msg) from None
    kinds = {kind.__name__: kind for kind in KINDS}
    named = content.get("type") if isinstance(content, dict) else None
    if not isinstance(named, str) or named not in kinds:
        msg = f"a report needs a saved {', '.join(kinds)}; got {named!r}."
        raise DataError(msg)
    return kinds[named].from_dict(content)
