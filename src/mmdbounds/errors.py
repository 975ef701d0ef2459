"""Errors and warnings, and the pieces of their messages: what is wrong, which value came, what to do.

Every message is one line. It shows names and counts, and of the cells of a table only those that an option
has to name.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

LONGEST_VALUE, LONGEST_NAME, LONGEST_PATH = 80, 60, 80  # characters that a message shows
MAX_NAMED = 5  # names listed in one message; the others are counted
_PACKAGE = str(Path(__file__).parent)


class MmdBoundsError(ValueError):
    """Base of every error that a user's input can cause."""


class DataError(MmdBoundsError):
    """The rows, columns or files given cannot be used as they are."""


class BrokenProofError(Exception):
    """A proof that a labelling contradicts: a fault of this package, never of its input."""


class MmdBoundsWarning(UserWarning):
    """Base of every warning of this package."""


class AmountWarning(MmdBoundsWarning):
    """A share that is less than one row: nothing is taken as mislabelled."""


class BandwidthWarning(MmdBoundsWarning):
    """The median heuristic could not be used as usual."""


class IdentifierWarning(MmdBoundsWarning):
    """A column that looks like an identifier is about to be used as a feature."""


class GroupColumnWarning(MmdBoundsWarning):
    """A column that determines the group of nearly every row is about to be used as a feature."""


class MissingCodeWarning(MmdBoundsWarning):
    """Numbers such as -99 or 999, far from all other cells, that may stand for missing ones."""


class VerifiedWarning(MmdBoundsWarning):
    """A column of verified rows that says nothing, or that looks like a copy of the group column."""


def shown_value(value: Any) -> str:
    """Return a value of any type as a message shows it, cut to a bounded length."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whole numbers of thousands of digits are not printed, and objects may refuse it
        return "a number with thousands of digits" if isinstance(value, int) else type(value).__name__
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def quoted(name: object) -> str:
    """Return a name in quotes, on one line and cut to a bounded length."""
    text = str(name)
    return repr(text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}...")


def shown_path(path: Any) -> str:
    """Return the path of a file or folder as a message shows it; only the end of a very long one."""
    text = str(path)
    return text if len(text) <= LONGEST_PATH else f"...{text[-LONGEST_PATH:]}"


def file_trouble(error: Exception) -> str:
    """Return why the system cannot open, read or write a file."""
    return getattr(error, "strerror", None) or "this is not a valid file name"


def counted(number: int, word: str) -> str:
    """Return ``"1 row"``, ``"2 rows"``."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def listed(parts: Sequence[str], most: int = MAX_NAMED) -> str:
    """Join the first few parts with commas and count the others."""
    more = f" and {len(parts) - most:,} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more


def quoted_list(names: Iterable[object], most: int = MAX_NAMED) -> str:
    """Join the first few names, in quotes, with commas and count the others."""
    return listed([quoted(name) for name in names], most)


def repeated(names: Iterable[str]) -> str:
    """Return the names that occur more than once as a list in words; an empty string if none does."""
    return quoted_list(name for name, n in Counter(names).items() if n > 1)


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known name, or an empty string."""
    names = list(known)
    # A name that differs only in upper and lower case is the first guess.
    near = [name for name in names if name.strip().casefold() == given.strip().casefold()]
    if not near:
        # Guessing among long names would put whole sentences into the message.
        short = [name for name in names if len(name) <= LONGEST_NAME]
        import difflib

        near = difflib.get_close_matches(given, short, n=1, cutoff=0.6)
    return f" Did you mean {quoted(near[0])}?" if near else ""


def warn(message: str, category: type[MmdBoundsWarning]) -> None:
    """Warn at the line outside this package that called into it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
