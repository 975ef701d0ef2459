"""What a command says, and files that it writes beside: tried before the work, written after the answer."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from mmdbounds.atomic_write import check_writable, is_regular, write_whole
from mmdbounds.errors import MmdBoundsError


class NobodyReads(Exception):  # noqa: N818 -- no error of the command
    """Standard output is closed, or its reader has left, as `head` does."""


Signature = tuple[int, int, int] | None

STDIN = "-"  # name of standard input on the command line; a file of this name is ``./-``


class _Planned(NamedTuple):
    """A file that is to be written, and what was there before."""

    flag: str
    path: Path
    is_regular: bool
    before: Signature


_printed: list[str] = []
_noted: list[str] = []
_planned: list[_Planned] = []


def begin() -> None:
    """Forget what an earlier run has written."""
    _printed.clear()
    _noted.clear()
    _planned.clear()


def plan_file(
    flag: str, path: Path | None, *, inputs: Iterable[str | None] = (), is_read: bool = False
) -> None:
    """Refuse a file that cannot be written, before the work; a checkpoint `is_read` too."""
    if path is None:
        return
    check_writable(path, is_read=is_read)
    regular = is_regular(path)
    for taken in inputs if regular else ():
        if taken is not None and _is_same(path, Path(taken)):
            msg = f"cannot write {path}: the table is read from it."
            raise MmdBoundsError(msg)
    for other in _planned:
        if regular and other.is_regular and _is_same(path, other.path):
            msg = f"`{other.flag}` and `{flag}` must be two different files; got {other.path} for both."
            raise MmdBoundsError(msg)
    _planned.append(_Planned(flag, path, regular, _signature(path)))


def write_beside(path: Path, content: Callable[[], bytes]) -> None:
    """Write a file behind the answer."""
    with beside_the_answer():
        write_whole(path, content())


@contextmanager
def beside_the_answer() -> Iterator[None]:
    """If a file cannot be written now, say that the answer itself is complete."""
    try:
        yield
    except MmdBoundsError as error:
        msg = f"{error} The answer was printed; only this file is missing."
        raise MmdBoundsError(msg) from error


def note(text: str) -> None:
    """Say something about the work on standard error; a page that is written shows it, too."""
    _noted.append(text)
    click.echo(f"mmdbounds: note: {text}", err=True)


def noted() -> list[str]:
    """Return what was said about the work so far, as sentences."""
    return [f"{text[:1].upper()}{text[1:]}" for text in dict.fromkeys(_noted)]


def so_far() -> str:
    """Return what an interrupted run has written, as people say it."""
    files = [str(each.path) for each in _planned if each.is_regular and _signature(each.path) != each.before]
    written = list(dict.fromkeys([*_printed, *files]))
    return f"written so far: {', '.join(written)}" if written else "nothing was written"


def say(text: str, what: str = "the answer") -> None:
    """Print to standard output; a full disk is one line."""
    if sys.stdout is None:  # closed, as by `>&-`
        raise NobodyReads
    _printed.append(what)
    try:
        click.echo(text)
    except OSError as error:
        if error.errno == errno.EPIPE or (sys.platform == "win32" and error.errno == errno.EINVAL):
            raise NobodyReads from error
        msg = f"cannot write the output: {error.strerror or type(error).__name__}."
        raise MmdBoundsError(msg) from error


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # not there yet
        return os.path.realpath(one) == os.path.realpath(other)


def _signature(path: Path) -> Signature:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
