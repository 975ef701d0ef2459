"""Files are written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mmdbounds.cli.files import check_writable, write_whole
from mmdbounds.errors import MmdBoundsError


def test_written(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    check_writable(path)
    check_writable(tmp_path / "new.csv")
    write_whole(path, "é\r\nnew\n")
    assert path.read_bytes() == "é\r\nnew\n".encode()
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.skipif(os.name == "nt", reason="no modes")
def test_mode_is_that_of_any_new_file(tmp_path: Path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a.csv", "x")
    finally:
        assert os.umask(before) == 0o027
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o640


def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(MmdBoundsError, match=r"^cannot write .*a\.csv: No space left on device\.$"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_what_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(MmdBoundsError, match=r"^cannot write .*: it is a folder\.$"):
        check_writable(tmp_path)
    with pytest.raises(MmdBoundsError, match=r"a\.csv: there is no folder .*none\.$"):
        check_writable(tmp_path / "none" / "a.csv")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(MmdBoundsError, match=r"a\.csv: permission denied\.$"):
        check_writable(tmp_path / "a.csv")
