"""Files of records that survive a kill and notice damage: what every checkpoint is kept in.

A line that says what the file is, then the records: a line with the length and the SHA-256 of the record,
and a checksum of that line itself; the record; a line end. Any change is found before anything is read from a
record. Records can be added: one that was not written to its end, as after a kill, counts for nothing.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmdbounds.atomic_write import check_writable
from mmdbounds.errors import MmdBoundsError

MAGIC = b"mmdbounds journal 1\n"
_HEAD = re.compile(rb"(\d{1,18} [0-9a-f]{64}) ([0-9a-f]{16})")
_LONGEST_HEAD = 18 + 1 + 64 + 1 + 16

Record = bytes | memoryview


@dataclass(frozen=True)
class Contents:
    """What is in a file.

    Attributes
    ----------
    records
        The records in their order.
    n_bytes
        Where the last whole record ends: there the next one belongs.
    is_torn
        Whether something follows that was not written to its end.
    """

    records: list[memoryview]
    n_bytes: int
    is_torn: bool


def checked_path(path: Any) -> Path:
    """Return the path of a checkpoint, which must be the name of a file."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        msg = f"`checkpoint` must be the name of a file; got {path!r}."
        raise MmdBoundsError(msg)
    return Path(os.fsdecode(path))


def check_usable(path: Path) -> None:
    """Say now, not after the work, that a checkpoint cannot be kept in a file."""
    check_writable(path, is_read=True)


def framed(records: Iterable[Record]) -> Iterator[Record]:
    """Yield the content of a file with these records, in parts that are not copies of them."""
    yield MAGIC
    for record in records:
        yield from _frame(record)


def read_journal(path: Path) -> Contents | None:
    """Return what is in a file, `None` if it is not there or empty; a damaged one is refused."""
    content = _content(path)
    if MAGIC.startswith(content):  # nothing yet, or killed while the first line was written
        return Contents([], 0, True) if content else None
    if not content.startswith(MAGIC):
        raise damaged(path)
    records: list[memoryview] = []
    start = len(MAGIC)
    while start < len(content):
        found = _record_at(content, start)
        if found is None:
            raise damaged(path)
        if isinstance(found, bool):
            return Contents(records, start, is_torn=True)
        record, start = found
        records.append(record)
    return Contents(records, start, is_torn=False)


def drop_torn(path: Path, n_bytes: int) -> None:
    """Cut off what was not written to its end, behind the first `n_bytes`."""
    with _said(path):
        os.truncate(path, n_bytes)


def append(path: Path, record: Record) -> None:
    """Add a record to a file, which is made if need be; whole or not at all."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    with _said(path):
        file = os.open(path, flags, 0o666)
        try:
            before = os.fstat(file).st_size
            content = b"".join([b"" if before else MAGIC, *_frame(record)])
            if os.write(file, content) != len(content):  # the disk is full
                os.ftruncate(file, before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(file)


def damaged(path: Path) -> MmdBoundsError:
    """Return the refusal of a file that cannot be used, with what to do."""
    return MmdBoundsError(
        f"{path} is damaged, or no checkpoint of this version. "
        "Name another file for `checkpoint`, or remove this one; the work then starts afresh."
    )


@contextmanager
def _said(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        msg = f"cannot write {path}: {error.strerror or error}."
        raise MmdBoundsError(msg) from error


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb", opener=_open_regular) as file:
            return file.read()
    except FileNotFoundError:
        return b""
    except (OSError, ValueError) as error:
        msg = f"cannot read {path}: {getattr(error, 'strerror', None) or 'not a possible name'}."
        raise MmdBoundsError(msg) from error


def _frame(record: Record) -> Iterator[Record]:
    view = memoryview(record).cast("B")
    said = f"{len(view)} {hashlib.sha256(view).hexdigest()}".encode()
    yield said + b" " + _checksum(said) + b"\n"
    yield view
    yield b"\n"


def _record_at(content: bytes, start: int) -> tuple[memoryview, int] | bool | None:
    """Return the record that begins at a place and where it ends, False if it is torn, None if damaged."""
    end_of_head = content.find(b"\n", start, start + _LONGEST_HEAD + 1)
    if end_of_head < 0:
        # The line was not written to its end, if what is there can be the beginning of one.
        return False if len(content) - start <= _LONGEST_HEAD and _is_begun(content[start:]) else None
    head = _HEAD.fullmatch(content[start:end_of_head])
    if head is None or _checksum(head[1]) != head[2]:
        return None
    said, digest = head[1].split(b" ")
    first, end = end_of_head + 1, end_of_head + 1 + int(said)
    if len(content) < end + 1:
        return False
    record = memoryview(content)[first:end]
    if content[end : end + 1] != b"\n" or hashlib.sha256(record).hexdigest().encode() != digest:
        return None
    return record, end + 1


def _is_begun(head: bytes) -> bool:
    return re.fullmatch(rb"\d{0,18}( [0-9a-f]{0,64}( [0-9a-f]{0,16})?)?", head) is not None


def _checksum(said: bytes) -> bytes:
    return hashlib.sha256(said).hexdigest()[:16].encode()


def _open_regular(path: str, flags: int) -> int:
    """Open a file, without waiting for a writer if it is a pipe."""
    file = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        is_folder = stat.S_ISDIR(os.fstat(file).st_mode)
        os.close(file)
        if is_folder:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file
