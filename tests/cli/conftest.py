from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mmdbounds.cli.main import run

TABLE = """\
name,g,x,y
a,A,1,2
b,A,2,1
c,A,2,2.5
d,B,5,4
e,B,6,6
f,B,5,7
g,B,4,5
h,B,1.5,2
"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    """A small table, rows a to h, groups A and B."""
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return str(path)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must fail, and return its one line without the program's name.

    Notes about the table may stand before it.
    """

    def run_it(*arguments: str) -> str:
        assert run(list(arguments)) == 2
        out, err = capsys.readouterr()
        assert out == ""
        *notes, error = err.splitlines()
        assert all(line.startswith("mmdbounds: note: ") for line in notes)
        assert error.startswith("mmdbounds: ")
        return error.removeprefix("mmdbounds: ")

    return run_it


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must succeed, and return what it says."""

    def run_it(*arguments: str) -> str:
        assert run(list(arguments)) == 0
        return capsys.readouterr().out

    return run_it
