"""Files are written whole or not at all, what cannot be written is found before, nothing else is replaced."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from mmdbounds.atomic_write import check_writable, is_regular, write_whole
from mmdbounds.errors import MmdBoundsError

posix = pytest.mark.skipif(os.name == "nt", reason="no modes, devices and named pipes")

CHECKED = """
import os, sys
from mmdbounds.atomic_write import check_writable, write_whole
os.setgid(65534)
os.setuid(65534)
for do in (check_writable, lambda path: write_whole(path, b"new")):
    try:
        do(sys.argv[1])
    except ValueError as error:
        print(error)
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_written(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    check_writable(path)
    assert path.read_text() == "old"
    check_writable(tmp_path / "new.csv")
    write_whole(path, "é\r\nnew\n".encode())
    assert path.read_bytes() == "é\r\nnew\n".encode()
    assert os.listdir(tmp_path) == ["a.csv"]


def test_parts_are_joined(tmp_path: Path):
    write_whole(tmp_path / "a", (part for part in (b"one ", memoryview(b"two"), b"")))
    assert (tmp_path / "a").read_bytes() == b"one two"


@posix
def test_mode_of_a_new_file_is_that_of_any(tmp_path: Path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a.csv", b"x")
    finally:
        assert os.umask(before) == 0o027
    assert mode(tmp_path / "a.csv") == 0o640


@posix
@pytest.mark.parametrize("kept", [0o600, 0o640, 0o664])
def test_mode_of_an_old_file_is_kept(kept: int, tmp_path: Path):
    path = tmp_path / "private"
    path.touch()
    path.chmod(kept)
    write_whole(path, b"x")
    assert (mode(path), path.read_bytes()) == (kept, b"x")


@posix
def test_links_are_followed_and_stay(tmp_path: Path):
    folder = tmp_path / "there"
    folder.mkdir()
    target, link, second = folder / "target", tmp_path / "link", tmp_path / "second"
    link.symlink_to("there/target")
    second.symlink_to("link")
    for content in (b"a new file", b"an old one"):
        check_writable(second)
        write_whole(second, content)
        assert target.read_bytes() == content
        assert (os.readlink(link), os.readlink(second)) == ("there/target", "link")
    (tmp_path / "lost").symlink_to("nowhere/target")
    with pytest.raises(MmdBoundsError, match=r"lost: there is no folder .*nowhere\.$"):
        check_writable(tmp_path / "lost")
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(MmdBoundsError, match=r"round: "):
        check_writable(tmp_path / "round")


@posix
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_writable(pipe)  # without a reader
    with pytest.raises(MmdBoundsError, match=r"pipe: it must be a regular file, because it is read again\.$"):
        check_writable(pipe, is_read=True)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, [b"for ", b"the reader"])
    reader.join(60)
    assert read == [b"for the reader"]
    assert pipe.is_fifo()


@posix
def test_devices_are_written_to_and_not_replaced(tmp_path: Path):
    link = tmp_path / "nothing"
    link.symlink_to(os.devnull)
    for path in (Path(os.devnull), link):
        check_writable(path)
        write_whole(path, b"x")
        assert path.is_char_device()
        assert not is_regular(path)
    if Path("/dev/full").exists():
        check_writable("/dev/full")
        with pytest.raises(MmdBoundsError, match=r"^cannot write /dev/full: No space left on device\.$"):
            write_whole("/dev/full", b"x")


@posix
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "{0}", "{0}.link"])
def test_the_file_that_output_goes_to_is_added_to(name: str, tmp_path: Path):
    """As in `--rows /dev/stdout > all.txt` and `--rows all.txt > all.txt`: what was printed stays."""
    path = tmp_path / "all.txt"
    (tmp_path / "all.txt.link").symlink_to(path)
    code = (
        "import sys\nfrom mmdbounds.atomic_write import check_writable, write_whole\n"
        "check_writable(sys.argv[1])\nprint('first')\nwrite_whole(sys.argv[1], b'second\\n')\nprint('third')"
    )
    with path.open("wb") as output:
        subprocess.run([sys.executable, "-c", code, name.format(path)], stdout=output, check=True, timeout=60)
    assert path.read_text() == "first\nsecond\nthird\n"


def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(MmdBoundsError, match=r"^cannot write .*a\.csv: No space left on device\.$"):
        write_whole(path, b"new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_only_closed_files_are_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As on Windows, which neither renames nor removes a file that is open."""
    opened, real_open, real_close, real_replace = dict[int, str](), os.open, os.close, os.replace

    def open_it(path: str | os.PathLike[str], *how: int) -> int:
        opened[file := real_open(path, *how)] = os.fspath(path)
        return file

    def close_it(file: int) -> None:
        opened.pop(file, None)
        real_close(file)

    def replace_it(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
        if os.fspath(source) in opened.values():
            raise OSError(13, "The process cannot access the file because it is being used")
        real_replace(source, target)

    for name, one in (("open", open_it), ("close", close_it), ("replace", replace_it)):
        monkeypatch.setattr(os, name, one)
    for content in (b"new", b"replaced"):
        check_writable(tmp_path / "a.csv")
        write_whole(tmp_path / "a.csv", content)
        assert (tmp_path / "a.csv").read_bytes() == content
    assert opened == {}
    assert os.listdir(tmp_path) == ["a.csv"]


def test_what_cannot_be_written(tmp_path: Path):
    with pytest.raises(MmdBoundsError, match=r"^cannot write .*: it is a folder\.$"):
        check_writable(tmp_path)
    with pytest.raises(MmdBoundsError, match=r"a\.csv: there is no folder .*none\.$"):
        check_writable(tmp_path / "none" / "a.csv")
    (tmp_path / "file").touch()
    with pytest.raises(MmdBoundsError, match=r"cannot write .*a\.csv: Not a directory\.$"):
        check_writable(tmp_path / "file" / "a.csv")
    with pytest.raises(MmdBoundsError, match=r"cannot write .*: this is not a valid file name\.$"):
        check_writable("a\0b")


@posix
@pytest.mark.parametrize("length", [238, 250, 255])
def test_the_longest_names_can_be_written(length: int, tmp_path: Path):
    path = tmp_path / ("é" * (length // 4) + "n" * (length - 2 * (length // 4)))
    check_writable(path)
    write_whole(path, b"x")
    write_whole(path, b"y")
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"y"]


@posix
def test_longer_names_are_found_before(tmp_path: Path):
    with pytest.raises(MmdBoundsError, match=r"^cannot write .*n: File name too long\.$"):
        check_writable(tmp_path / ("n" * 256))


@posix
def test_a_disk_without_room_is_found_before(tmp_path: Path):
    """A limit on the size of files stands for a disk that is full."""
    code = (
        "import resource, sys\nfrom mmdbounds.atomic_write import check_writable\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try:\n    check_writable(sys.argv[1])\nexcept ValueError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == f"cannot write {tmp_path / 'a'}: File too large.\n"
    assert os.listdir(tmp_path) == []


@posix
@pytest.mark.skipif(os.name != "nt" and os.getuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "owner", "message"),
    [
        (0o555, 0o666, 65534, "its folder {0} is not writable, so no new file can replace it"),
        (0o555, None, 65534, "Permission denied"),
        (0o777, 0o444, 0, "permission denied"),
        (0o1777, 0o666, 0, "it belongs to another user, and only its owner may replace it in {0}"),
        (0o1777, 0o666, 65534, None),
        (0o777, 0o666, 0, None),
    ],
)
def test_what_another_user_may_write(
    folder_mode: int, file_mode: int | None, owner: int, message: str | None
):
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # pytest's own folders are closed to others
        Path(place).chmod(0o755)
        folder = Path(place) / "folder"
        folder.mkdir()
        path = folder / "a"
        if file_mode is not None:
            path.write_text("old")
            path.chmod(file_mode)
            os.chown(path, owner, owner)
        folder.chmod(folder_mode)
        done = subprocess.run(
            [sys.executable, "-c", CHECKED, str(path)],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        said = "" if message is None else f"cannot write {path}: {message.format(folder)}.\n" * 2
        assert done.stdout == said
        if file_mode is not None:
            assert path.read_text() == ("new" if message is None else "old")
