"""How names and counts are put into a message: short, on one line, no cell values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, did_you_mean

EXACT_UP_TO = 2.0**53
"""The first number from which on float64 has not every whole number."""

MAX_NAMED = 5
"""Columns named in one message; the rest are counted."""

MAX_LENGTH = 60
"""Characters of a name that are shown."""


def shown(name: object) -> str:
    """Return a name in quotes, on one line and of bounded length."""
    text = str(name)
    if len(text) > MAX_LENGTH:
        text = text[: MAX_LENGTH - 3] + "..."
    return repr(text)


def counted(number: int, word: str) -> str:
    """Return ``"1 row"``, ``"2 rows"``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def listed(parts: Sequence[str], most: int = MAX_NAMED) -> str:
    """Join the first few parts by commas and count the others."""
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more


def nearest(given: str, known: Iterable[str]) -> str:
    """Suggest the known name that was probably meant; upper and lower case are the first guess."""
    names = list(known)
    same = [name for name in names if name.strip().casefold() == given.strip().casefold()]
    if same:
        return f" Did you mean {shown(same[0])}?"
    # Guessing among long names would put whole sentences into the message.
    return did_you_mean(given, [name for name in names if len(name) <= MAX_LENGTH])


def option(name: str) -> str:
    """Return an option as a Python user and as a command-line user writes it."""
    return f"`{name}=` (`--{name}`)"


def require_finite(
    values: NDArray[np.float64],
    names: Sequence[str] | None,
    subject: str,
    advice: str = "Drop or fill them first.",
    what: str = "missing or infinite",
) -> None:
    """Refuse missing and infinite values, saying in which columns and in how many rows.

    Parameters
    ----------
    values
        The rows.
    names
        Names of the columns; without them they are numbered from 0.
    subject
        What holds the values, as the message calls it.
    advice
        What can be done about it, a sentence.
    what
        What they are, where that is known.
    """
    # A sum is finite almost always, and costs no array of the size of the data.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    bad = {j: n for j in range(values.shape[1]) if (n := _n_bad(values[:, j]))}
    if not bad:
        return
    label = {j: shown(names[j]) if names is not None else f"column {j}" for j in bad}
    parts = [f"{label[j]} ({counted(n, 'row')})" for j, n in bad.items()]
    msg = (
        f"{subject} has {what} values in {len(bad)} of {counted(values.shape[1], 'column')}: "
        f"{listed(parts)}. {advice}"
    )
    raise DataError(msg)


def require_exact(array: NDArray[Any], subject: str) -> None:
    """Refuse whole numbers that float64 does not have; masked cells are no numbers."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return
    whole = np.ma.getdata(array)
    if int(whole.max()) <= EXACT_UP_TO and int(whole.min()) >= -EXACT_UP_TO:
        return
    # Two's complement in unsigned numbers, because the smallest int64 has no positive one.
    size = np.where(whole < 0, ~whole.astype(np.uint64) + np.uint64(1), whole.astype(np.uint64))
    lowest_bit = size & (~size + np.uint64(1))
    is_rounded = size // np.maximum(lowest_bit, np.uint64(1)) > np.uint64(EXACT_UP_TO)
    counts = np.count_nonzero(is_rounded & ~np.ma.getmaskarray(array), axis=0)
    rounded = {f"column {j}": int(counts[j]) for j in np.flatnonzero(counts)}
    if rounded:
        refuse_rounded(rounded, array.shape[1], subject)


def refuse_rounded(rounded: Mapping[str, int], n_columns: int, subject: str) -> NoReturn:
    """Refuse whole numbers that float64 would round: a difference of 1 between them would be lost.

    Parameters
    ----------
    rounded
        Rows with such numbers, by column as messages call it.
    n_columns
        Columns in all.
    subject
        What holds the numbers, as the message calls it.
    """
    parts = [f"{label} ({counted(n, 'row')})" for label, n in rounded.items()]
    msg = (
        f"{subject} has whole numbers beyond 2^53, of which float64 would lose digits, in {len(rounded)} of "
        f"{counted(n_columns, 'column')}: {listed(parts)}. Subtract the same number from that column of both "
        "groups first; if the last digits do not matter, convert it to float64."
    )
    raise DataError(msg)


def _n_bad(column: NDArray[np.float64]) -> int:
    return len(column) - int(np.count_nonzero(np.isfinite(column)))


def option_names(given: Any, name: str) -> tuple[str, ...]:
    """Return the names given for an option: one text or several."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        msg = f"{option(name)} must be a column name or a list of them; got {type(given).__name__}."
        raise DataError(msg)
    return tuple(str(each) for each in given)
