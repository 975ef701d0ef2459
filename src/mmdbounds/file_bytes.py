"""The one way to read a file whole: a regular file, a pipe or what somebody types, up to a limit.

A device such as ``/dev/zero`` has no end, and Python waits for it without looking at signals.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from typing import BinaryIO

MOST_BYTES = 16 * 2**30  # more than any table that fits the memory of the machines that we know
PART = 1 << 24  # bytes that are read before signals are looked at


def read_whole(file: BinaryIO) -> bytes:
    """Return what is in an open file; an `OSError` says why it is not read."""
    found = os.fstat(file.fileno())
    kind = stat.S_IFMT(found.st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFIFO, stat.S_IFSOCK) and not file.isatty():
        raise OSError(errno.EINVAL, "it is a device, neither a regular file nor a pipe")
    _require_few(found.st_size if kind == stat.S_IFREG else 0)
    content = io.BytesIO()
    while part := file.read(PART):
        _require_few(content.tell() + len(part))
        content.write(part)
    return content.getvalue()


def _require_few(n_bytes: int) -> None:
    if n_bytes > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it has more than {MOST_BYTES / 2**30:g} GiB")
