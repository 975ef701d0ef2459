"""Files are read whole: regular ones, pipes and terminals, up to a limit; never a device without end."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from mmdbounds import file_bytes
from mmdbounds.errors import DataError
from mmdbounds.file_bytes import read_whole
from mmdbounds.tables.files import load_file

posix = pytest.mark.skipif(os.name == "nt", reason="no devices and named pipes")
CONTENT = b"g,x\n" + b"A,1\n" * 1000


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_bytes, "PART", 100)


def test_a_regular_file(tmp_path: Path):
    (tmp_path / "a").write_bytes(CONTENT)
    with open(tmp_path / "a", "rb") as file:
        assert read_whole(file) == CONTENT
        assert read_whole(file) == b""


@posix
def test_a_pipe(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(CONTENT,))
    writer.start()
    with open(tmp_path / "pipe", "rb") as file:
        assert read_whole(file) == CONTENT
    writer.join()


@posix
def test_a_device_has_no_end():
    with pytest.raises(DataError, match=r"^'/dev/zero' cannot be read: it is a device, neither .*pipe\.$"):
        load_file("/dev/zero")
    with (
        open("/dev/zero", "rb") as file,
        pytest.raises(DataError, match=r"^'zero' cannot be read: it is a device"),
    ):
        load_file(file)


def test_more_than_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_bytes, "MOST_BYTES", len(CONTENT) - 1)
    (tmp_path / "a.csv").write_bytes(CONTENT)
    with pytest.raises(DataError, match=r"^'.*a\.csv' cannot be read: it has more than .* GiB\.$"):
        load_file(tmp_path / "a.csv")
    reading, writing = os.pipe()
    os.write(writing, CONTENT)
    os.close(writing)
    with open(reading, "rb") as file, pytest.raises(OSError, match=r"it has more than"):
        read_whole(file)
