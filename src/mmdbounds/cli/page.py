"""The page that a command writes beside what it prints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mmdbounds.cli.side_files import beside_the_answer, plan_file, say
from mmdbounds.cli.table import STDIN
from mmdbounds.errors import MmdBoundsError

if TYPE_CHECKING:
    from mmdbounds.cli.output import Output


@dataclass(frozen=True)
class Page:
    """What was asked for; known before the work, so that what cannot be written is refused there.

    Attributes
    ----------
    path
        Where the page goes, `None` if none was asked for.
    include_rows
        Whether it may hold names and cells of rows.
    file
        The table.
    """

    path: Path | None
    include_rows: bool
    file: str

    @classmethod
    def asked(cls, path: Path | None, file: str, *, include_rows: bool = False) -> Self:
        """Return what the flags ask for."""
        if path is None and include_rows:
            msg = "`--include-rows` needs a page to put them on; add --report FILE."
            raise MmdBoundsError(msg)
        if path is not None:
            from mmdbounds.report.page import check_report

            check_report(path)
            plan_file("--report", path, inputs=[file])
        return cls(path, include_rows, file)

    def write(self, result: Any, output: Output) -> None:
        """Write the page, if one was asked for, and say where it is."""
        if self.path is None:
            return
        from mmdbounds.report import write_report

        # What came through standard input cannot be read again: rows have their names, not their cells.
        data = self.file if self.include_rows and self.file != STDIN else None
        with beside_the_answer():
            write_report(result, self.path, include_rows=self.include_rows, data=data)
        if output.in_words:
            say(f"\nThe report is in {self.path}.")
