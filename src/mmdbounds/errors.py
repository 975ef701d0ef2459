"""Errors and warnings: one clear line each, saying what came, what was expected and what to do."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LONGEST_SHOWN = 80
"""Letters of a value in a message."""

LONGEST_PATH = 300
"""Letters of the name of a file in a message."""

_PACKAGE = str(Path(__file__).parent)


class MmdBoundsError(ValueError):
    """Base of every error that a user's input can cause."""


class DataError(MmdBoundsError):
    """The rows, columns or files given cannot be used as they are."""


class MmdBoundsWarning(UserWarning):
    """Base of every warning of this package."""


class BandwidthWarning(MmdBoundsWarning):
    """The median heuristic could not be used as usual."""


class IdentifierWarning(MmdBoundsWarning):
    """A column that looks like an identifier is about to be used as a feature."""


class GroupColumnWarning(MmdBoundsWarning):
    """A column that tells nearly every row's group by itself is about to be used as a feature."""


def came(value: Any) -> str:
    """Return a value as a message shows it: whatever it is, and not for ever."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of so many digits
        return "a number with thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def shown_path(path: Any) -> str:
    """Return the name of a file or folder as a message shows it; of a very long one, its end."""
    text = str(path)
    return text if len(text) <= LONGEST_PATH else f"...{text[-LONGEST_PATH:]}"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known name, or an empty string."""
    near = difflib.get_close_matches(given, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def warn(message: str, category: type[MmdBoundsWarning]) -> None:
    """Warn at the line outside this package that called into it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
