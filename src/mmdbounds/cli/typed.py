"""The command as it was typed, kept in the record of the table: how to make a result again."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mmdbounds.tables import Group

FILES = ("--rows", "--report", "--checkpoint")
"""Options that name a file; where it lies says something of the user and nothing of the result."""

_typed: ContextVar[tuple[str, ...]] = ContextVar("_typed", default=())


def remember(arguments: Sequence[str] | None) -> None:
    """Keep what was typed behind ``mmdbounds``; `None` is what the process was started with."""
    _typed.set(tuple(sys.argv[1:] if arguments is None else arguments))


def command(file: str) -> str:
    """Return the command that was typed, with the table and all other files by their names alone."""
    words, last = ["mmdbounds"], ""
    for word in _typed.get():
        flag, sign, value = word.partition("=")
        if word == file or last in FILES:
            words.append(PurePath(word).name)
        elif sign and flag in FILES:
            words.append(f"{flag}={PurePath(value).name}")
        else:
            words.append(word)
        last = word
    return shlex.join(words)


def recorded(X: Group, Y: Group, file: str) -> tuple[Group, Group]:
    """Return the groups with the command in their record."""
    record = {**X.record, "command": command(file)}
    return dataclasses.replace(X, record=record), dataclasses.replace(Y, record=record)
