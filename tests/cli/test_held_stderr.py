"""What compiled code writes to standard error: dropped where a `DataError` says it, else shown."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import nullcontext

import pytest

from mmdbounds.cli.table import held_stderr
from mmdbounds.errors import DataError


def write_and(error: BaseException | None) -> None:
    with held_stderr():
        os.write(2, b"thread panicked\n")
        if error is not None:
            raise error


def test_dropped_with_an_explanation(capfd: pytest.CaptureFixture[str]):
    with pytest.raises(DataError, match="damaged"):
        write_and(DataError("damaged"))
    assert capfd.readouterr().err == ""
    os.write(2, b"later\n")
    assert capfd.readouterr().err == "later\n"


@pytest.mark.parametrize("error", [None, KeyError("bug"), KeyboardInterrupt("stop")])
def test_shown_otherwise(error: BaseException | None, capfd: pytest.CaptureFixture[str]):
    if error is None:
        write_and(None)
    else:
        with pytest.raises(type(error), match=r"bug|stop"):
            write_and(error)
    assert capfd.readouterr().err == "thread panicked\n"


def test_without_standard_error(monkeypatch: pytest.MonkeyPatch):
    def closed(_: int) -> int:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(os, "dup", closed)
    ran = []
    with held_stderr():
        ran.append(1)
    assert ran == [1]


@pytest.mark.parametrize("platform", ["linux", "other"])
def test_without_a_temporary_folder(
    platform: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    """In memory where the system has that; elsewhere what is written is shown, and the work goes on."""

    def nowhere() -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    in_memory = platform == sys.platform
    for error in (None, DataError("damaged")):
        with (
            monkeypatch.context() as changed,
            nullcontext() if error is None else pytest.raises(DataError, match="damaged"),
        ):
            changed.setattr(sys, "platform", platform)
            changed.setattr(tempfile, "TemporaryFile", nowhere)
            write_and(error)
        assert capfd.readouterr().err == ("" if error and in_memory else "thread panicked\n")
