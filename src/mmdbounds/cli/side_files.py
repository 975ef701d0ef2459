"""Files that a command writes beside what it prints: tried before the work, written after the answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import typer

from mmdbounds.atomic_write import check_writable, is_regular, write_whole
from mmdbounds.errors import MmdBoundsError

Signature = tuple[int, int, int] | None

STDIN = "-"
"""Name of standard input on the command line; a file of this name is ``./-``."""


@dataclass(frozen=True)
class _Planned:
    """A file that is to be written, and what was there before."""

    flag: str
    path: Path
    is_regular: bool
    before: Signature


@dataclass(frozen=True)
class _Outputs:
    """What a run of the command line has put out so far."""

    printed: list[str]
    planned: list[_Planned]


_outputs: ContextVar[_Outputs | None] = ContextVar("_outputs", default=None)


def begin() -> None:
    """Forget what an earlier run has written."""
    _outputs.set(_Outputs([], []))


def note_printed(what: str) -> None:
    """Remember that something is on its way to standard output."""
    _now().printed.append(what)


def plan_file(
    flag: str, path: Path | None, *, inputs: Iterable[str | None] = (), is_read: bool = False
) -> None:
    """Refuse a file that cannot be written, before the work; `None` is a file that nobody wants.

    It must differ from the `inputs`; a checkpoint `is_read` as well.
    """
    if path is None:
        return
    check_writable(path, is_read=is_read)
    regular = is_regular(path)
    for taken in inputs if regular else ():
        if taken is not None and _is_same(path, Path(taken)):
            msg = f"cannot write {path}: the table is read from it."
            raise MmdBoundsError(msg)
    for other in _now().planned:
        if regular and other.is_regular and _is_same(path, other.path):
            msg = f"`{other.flag}` and `{flag}` must be two different files; got {other.path} for both."
            raise MmdBoundsError(msg)
    _now().planned.append(_Planned(flag, path, regular, _signature(path)))


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


def so_far() -> str:
    """Return what an interrupted run has written, as people say it."""
    outputs = _now()
    files = [str(each.path) for each in outputs.planned if each.is_regular and _is_changed(each)]
    written = list(dict.fromkeys([*outputs.printed, *files]))
    return f"written so far: {', '.join(written)}" if written else "nothing was written"


def say(text: str, what: str = "the answer") -> None:
    """Print to standard output; a full disk is one line, and a reader that has left is typer's to handle."""
    note_printed(what)
    try:
        typer.echo(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        msg = f"cannot write the output: {error.strerror or type(error).__name__}."
        raise MmdBoundsError(msg) from error


def _now() -> _Outputs:
    if (outputs := _outputs.get()) is None:
        begin()
        return _now()
    return outputs


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


def _is_changed(planned: _Planned) -> bool:
    return _signature(planned.path) != planned.before
