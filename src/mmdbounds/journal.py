"""A log that survives a kill and notices damage: every checkpoint is kept in one.

The first line says what the file is. Each record follows a line with its length, its SHA-256 and a checksum
of that line. A record that was not written to its end, as after a kill, is ignored.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mmdbounds.atomic_write import write_errors
from mmdbounds.errors import MmdBoundsError, file_trouble, shown_path

MAGIC = b"mmdbounds journal 1\n"
_HEAD = re.compile(rb"(\d{1,18} [0-9a-f]{64}) ([0-9a-f]{16})")
_HALF_HEAD = re.compile(rb"\d{0,18}( [0-9a-f]{0,64}( [0-9a-f]{0,16})?)?")
_LONGEST_HEAD = 18 + 1 + 64 + 1 + 16

Record = bytes | memoryview


@dataclass(frozen=True)
class Contents:
    """The whole records in a file, where the last one ends, and whether a half-written one follows."""

    records: list[memoryview]
    n_bytes: int
    is_torn: bool


def framed(records: Iterable[Record]) -> Iterator[Record]:
    """Yield the content of a file with these records, in parts that are not copied."""
    yield MAGIC
    for record in records:
        yield from _frame(record)


def read_journal(path: Path) -> Contents | None:
    """Return the contents of a file, `None` if it is empty or does not exist; refuse a damaged one."""
    try:
        with open(path, "rb", opener=_open_regular) as file:
            content = file.read()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        msg = f"cannot read {shown_path(path)}: {file_trouble(error)}."
        raise MmdBoundsError(msg) from error
    if MAGIC.startswith(content):  # nothing yet, or killed while the first line was written
        return Contents([], 0, True) if content else None
    if not content.startswith(MAGIC):
        raise damaged(path)
    records, start = list[memoryview](), len(MAGIC)
    while start < len(content):
        if (found := _record_at(content, start)) is None:
            raise damaged(path)
        if isinstance(found, bool):
            return Contents(records, start, is_torn=True)
        record, start = found
        records.append(record)
    return Contents(records, start, is_torn=False)


def drop_torn(path: Path, n_bytes: int) -> None:
    """Cut off a half-written record after the first `n_bytes`."""
    with write_errors(path):
        os.truncate(path, n_bytes)


def append(path: Path, record: Record) -> None:
    """Add a record to a file, whole or not at all; the file is made if it does not exist."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    with write_errors(path):
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
    """Return the error for a file that cannot be used."""
    return MmdBoundsError(
        f"{shown_path(path)} is damaged, or is not a checkpoint of this version. "
        "Name another file for `checkpoint`, or remove this one to start again."
    )


def other_problem(path: Path, what: str, differs: Iterable[str]) -> MmdBoundsError:
    """Return the error for a file that keeps something of another problem, and in what that differs."""
    return MmdBoundsError(
        f"{shown_path(path)} has {what} of another problem: it differs in {', '.join(differs)}. "
        "Name another file for `checkpoint`, or remove this one."
    )


def _frame(record: Record) -> Iterator[Record]:
    view = memoryview(record).cast("B")
    head = b"%d %b" % (len(view), _digest(view))
    yield b"%b %b\n" % (head, _digest(head)[:16])
    yield view
    yield b"\n"


def _digest(content: Record) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _record_at(content: bytes, start: int) -> tuple[memoryview, int] | bool | None:
    """Return the record that starts at a place and its end; False if it is half-written, None if damaged."""
    end_of_head = content.find(b"\n", start, start + _LONGEST_HEAD + 1)
    if end_of_head < 0:
        # The line is half-written if what is there can be the beginning of one.
        rest = content[start:]
        return False if len(rest) <= _LONGEST_HEAD and _HALF_HEAD.fullmatch(rest) else None
    head = _HEAD.fullmatch(content[start:end_of_head])
    if head is None or _digest(head[1])[:16] != head[2]:
        return None
    length, digest = head[1].split(b" ")
    first, end = end_of_head + 1, end_of_head + 1 + int(length)
    if len(content) < end + 1:
        return False
    record = memoryview(content)[first:end]
    if content[end : end + 1] != b"\n" or _digest(record) != digest:
        return None
    return record, end + 1


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
