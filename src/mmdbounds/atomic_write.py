"""The one way to write a file: whole or not at all, tried before the work; only regular files are replaced.

A regular file is written beside its place and then moved there; links are followed, and the mode of an old
file is kept. Pipes, terminals and ``/dev/null`` are written to. So is a file that this process has open as
its output: ``/dev/stdout``, or ``all.txt`` in ``command > all.txt``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mmdbounds.errors import MmdBoundsError, file_trouble, shown_path

Parts = Iterable[bytes | memoryview]

ROOM = 1 << 16  # bytes that are written as a trial, so that a full disk is found before the work
STDOUT, STDERR = 1, 2
BINARY = getattr(os, "O_BINARY", 0)  # of Windows; elsewhere every file is binary
NOT_ON_THIS_DISK = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)  # answers of file systems without fsync


def check_writable(path: str | os.PathLike[str], *, is_read: bool = False) -> None:
    """Refuse a file that cannot be written; one that `is_read` again, as a checkpoint is, must be regular."""
    with write_errors(path):
        if (stream := _stream(path)) is not None:
            if is_read:
                raise OSError(errno.EINVAL, "it must be a regular file, because it is read again")
            if not isinstance(stream, int) and not os.access(stream, os.W_OK):
                raise OSError(errno.EINVAL, "permission denied")
            return
        target = _target(path)
        with _beside(target) as temporary, _opened_new(temporary, target) as file:
            _write_all(file, bytes(ROOM))


def write_whole(path: str | os.PathLike[str], content: bytes | Parts) -> None:
    """Write a file, given whole or in parts, completely or not at all; an old one stays until then."""
    parts = [content] if isinstance(content, bytes) else content
    with write_errors(path):
        if (stream := _stream(path)) is not None:
            _write_through(stream, parts)
            return
        target = _target(path)
        with _beside(target) as temporary:
            with _opened_new(temporary, target) as file:
                for part in parts:
                    _write_all(file, part)
                try:
                    os.fsync(file)  # some disks report only here that they are full
                except OSError as error:
                    if error.errno not in NOT_ON_THIS_DISK:
                        raise
                _keep_mode(target, file)
            os.replace(temporary, target)  # Windows renames no open file


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is, or would be, a regular one that is replaced."""
    with write_errors(path):
        return _stream(path) is None


@contextmanager
def write_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the system into one line: which file cannot be written, and why."""
    try:
        yield
    except (OSError, ValueError) as error:
        msg = f"cannot write {shown_path(path)}: {file_trouble(error)}."
        raise MmdBoundsError(msg) from error


def _stream(path: str | os.PathLike[str]) -> int | str | None:
    """Return the descriptor or the name of what is written to and not replaced, `None` for regular files."""
    if (descriptor := _descriptor(path)) is not None:
        os.fstat(descriptor)  # fails if it is not open
        return descriptor
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    for output in (STDOUT, STDERR):
        with contextlib.suppress(OSError):  # closed
            # Windows gives pipes and consoles no number: they are not all the same.
            if found.st_ino and os.path.samestat(found, os.fstat(output)):
                return output
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFBLK: "a disk device", stat.S_IFSOCK: "a socket"}
    if kind := kinds.get(stat.S_IFMT(found.st_mode)):
        raise OSError(errno.EINVAL, f"it is {kind}")
    return None if stat.S_ISREG(found.st_mode) else os.fspath(path)


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of an open file that a name stands for, such as 1 for ``/dev/stdout``."""
    name, pattern = os.path.abspath(path), rf"/(?:dev|proc/self|proc/{os.getpid()})/fd/(\d+)"
    for _ in range(40):  # as many links as the system follows
        if found := re.fullmatch(pattern, name):
            return int(found[1])
        try:
            name = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(name)))
        except OSError:
            return None
    return None


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the file that a name stands for, links followed; refuse one that cannot be made or replaced."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        parent = Path(path).parent if target == Path(path).absolute() else target.parent
        raise OSError(errno.EINVAL, f"there is no folder {shown_path(parent)}")
    try:
        found = target.lstat()
    except FileNotFoundError:
        return target
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.EINVAL, "its symbolic links form a loop")
    if not os.access(target, os.W_OK):
        raise OSError(errno.EINVAL, "permission denied")
    if sys.platform == "win32":  # a file that another program has open cannot be replaced
        os.close(os.open(target, os.O_WRONLY))
    if not os.access(target.parent, os.W_OK | os.X_OK):
        reason = f"its folder {shown_path(target.parent)} is not writable, so no new file can replace it"
        raise OSError(errno.EACCES, reason)
    folder = target.parent.stat()
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    if folder.st_mode & stat.S_ISVTX and user not in (0, found.st_uid, folder.st_uid):
        reason = (
            f"it belongs to another user, and only its owner may replace it in {shown_path(target.parent)}"
        )
        raise OSError(errno.EPERM, reason)
    return target


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Return the name of a file in the folder of another one, as long as that one's; remove it at the end."""
    # Systems limit names by their bytes, Windows by their characters.
    length = len(target.name if sys.platform == "win32" else os.fsencode(target.name))
    temporary = target.with_name(f".{secrets.token_hex(8)}".ljust(length, "_"))
    try:
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def _opened_new(path: Path, target: Path) -> Iterator[int]:
    """Make and open a file that will replace another one."""
    mode = 0o600 if target.exists() else 0o666  # what replaces a private file is private from the start
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode)
    try:
        yield file
    finally:
        os.close(file)


def _write_all(file: int, part: bytes | memoryview) -> None:
    left = memoryview(part).cast("B")
    while left:
        left = left[os.write(file, left) :]


def _keep_mode(target: Path, file: int) -> None:
    """Give a new file the owner and the mode of the one it replaces."""
    if sys.platform == "win32" or not target.exists():  # Windows has no owners and modes in this sense
        return
    old, new = target.stat(), os.fstat(file)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with contextlib.suppress(OSError):  # only root may give files away
            os.fchown(file, old.st_uid, old.st_gid)
    os.fchmod(file, stat.S_IMODE(old.st_mode))


def _write_through(stream: int | str, parts: Parts) -> None:
    """Write to an output that is already open, after what was printed, or to a pipe or device."""
    for printed in (sys.stdout, sys.stderr):
        if printed is not None:
            printed.flush()
    file = os.dup(stream) if isinstance(stream, int) else os.open(stream, os.O_WRONLY | BINARY)
    try:
        for part in parts:
            _write_all(file, part)
    finally:
        os.close(file)
