"""Exit codes, help, and what happens when the output goes wrong; in this process."""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import mmdbounds.bounds
from mmdbounds import __version__
from mmdbounds.cli import main as cli

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--id", "name", "--n-moved", "1"]
COMMANDS = (
    "bounds",
    "test",
    "sweep",
    "columns",
    "odds",
    "audit",
    "confidence",
    "report",
    "plot",
    "evaluate",
    "demo",
    "backends",
)


def test_version(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"mmdbounds {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    assert cli.run(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert re.findall(r"^  (\w+)  +[A-Z]", out.split("Options:")[0], flags=re.M) == list(COMMANDS)
    assert "Start with `mmdbounds demo`." in out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(command: str, capsys: pytest.CaptureFixture[str]):
    assert cli.run([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"^  Example:\n(    .*\n)*?    mmdbounds {command}( |$)", out, flags=re.M)
    assert max(len(line) for line in out.splitlines()) <= 100


def test_example_of_bounds_names_real_flags(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["bounds", "-h"]) == 0
    usage, options = capsys.readouterr().out.split("Arguments:")
    flags = set(re.findall(r"--[a-z-]+", usage.split("Example:")[1]))
    assert flags == {"--group", "--hidden", "--among", "--epsilon", "--id"}
    assert all(f"  {flag} " in options for flag in flags)


def test_interrupted(table: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(mmdbounds.bounds, "mmd_bounds", stop)
    assert cli.run(["bounds", table, *GROUPS]) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err.strip() == "mmdbounds: interrupted; nothing was written."


NO_MEMORY = [MemoryError(), OSError(errno.ENOMEM, "no room"), RuntimeError("can't start new thread")]


@pytest.mark.parametrize("error", NO_MEMORY)
def test_out_of_memory(
    error: Exception, table: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def stop(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(mmdbounds.bounds, "mmd_bounds", stop)
    assert cli.run(["bounds", table, *GROUPS]) == 2
    assert capsys.readouterr().err == (
        "mmdbounds: not enough memory. Give a smaller `--working-memory`, or fewer rows.\n"
    )


@pytest.mark.parametrize("error", [*NO_MEMORY, ImportError("libopenblas.so: cannot map")])
def test_an_error_while_loading_is_one_line(
    error: Exception, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """Nothing of the commands is there yet, so not their last resort either."""

    def fails() -> None:
        raise error

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr("mmdbounds.cli.app.prepare", fails)
    with pytest.raises(SystemExit, match=r"^(2|70)$") as left:
        cli.main(["--version"])
    err = capfd.readouterr().err
    if error in NO_MEMORY:
        assert err == "mmdbounds: not enough memory. Give a smaller `--working-memory`, or fewer rows.\n"
        assert left.value.code == 2
    else:
        (log,) = tmp_path.glob("mmdbounds-*.log")
        assert err.startswith("mmdbounds: unexpected error (ImportError). Its details are in ")
        assert "cannot map" in log.read_text()
        assert left.value.code == 70


class Panic(BaseException):
    """What compiled packages raise: no Exception."""


def with_a_bug(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def bug(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(mmdbounds.bounds, "mmd_bounds", bug)


@pytest.mark.parametrize(
    "error",
    [ZeroDivisionError("of\nours"), OSError(5, "of ours"), RecursionError("of ours"), Panic("of ours")],
)
def test_a_bug_is_one_line_and_its_details_are_in_a_log_file(
    error: BaseException,
    table: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    with_a_bug(monkeypatch, error)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cli.run(["bounds", table, *GROUPS]) == 70
    out, err = capsys.readouterr()
    (log,) = tmp_path.glob("mmdbounds-*.log")
    assert out == ""
    assert err == (
        f"mmdbounds: unexpected error ({type(error).__name__}). Its details are in {log}; "
        "please report it and attach that file.\n"
    )
    told = log.read_text()
    assert told.startswith(f"mmdbounds {__version__}, Python ")
    assert "Traceback (most recent call last):" in told
    assert "in bug\n" in told
    assert str(error) in told
    assert os.name == "nt" or stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_log_file_that_cannot_be_written(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    with_a_bug(monkeypatch, ZeroDivisionError("a bug of ours"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    assert cli.run(["bounds", table, *GROUPS]) == 70
    assert capsys.readouterr().err == (
        "mmdbounds: unexpected error (ZeroDivisionError). "
        "Its details could not be written to a log file: No such file or directory.\n"
    )


def test_disk_full(table: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    assert cli.run(["bounds", table, *GROUPS]) == 2
    assert capsys.readouterr().err == "mmdbounds: cannot write the output: No space left on device.\n"


def test_no_standard_output(table: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.run(["bounds", table, *GROUPS]) == 1  # nobody gets an answer
    assert capsys.readouterr().err == ""


@pytest.fixture
def _signals() -> Iterator[None]:
    """Put back what the end of a process does with signals."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_signals")
def test_main_leaves_with_the_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back afterwards
    with pytest.raises(SystemExit, match=r"^2$"):
        cli.main(["nothing"])
    with pytest.raises(SystemExit, match=r"^0$"):
        cli.main(["--version"])
    capsys.readouterr()
    warnings.showwarning("two\nlines", UserWarning, "f.py", 1)
    assert capsys.readouterr().err == "mmdbounds: note: two lines\n"
