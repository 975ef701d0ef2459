"""Columns that name rows instead of measuring them: a patient number must not become a feature."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import IdentifierWarning, warn
from mmdbounds.tables import frames
from mmdbounds.tables.columns import Column
from mmdbounds.tables.phrases import listed, option, shown

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw

# Capitals start a word (PatientID), digits end it: ID1 is a gene, not an identifier.
_WORD = re.compile(r"[A-Z]+[0-9]*(?![a-z0-9])|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_ID_WORDS = frozenset({"id", "uid", "uuid", "guid", "identifier", "mrn", "ssn"})
_WHO = (
    "patient|subject|participant|person|proband|respondent|record|row|case|sample|specimen|visit|"
    "encounter|admission|stay|study|chart|medicalrecord|accession"
)
_ID_NAME = re.compile(
    rf"({_WHO})(id|uid|no|nr|num|number|key)|patient|subject|participant|person|record|row|rownames?|index|"
    r"unnamed0?|mrnumber"
)

MIN_COUNTING = 6
"""Rows from which on consecutive numbers are taken for a count."""

MIN_INCREASING = 10
"""Rows from which on ever larger numbers are taken for a count: by chance 1 of 10! columns is."""


def is_called_identifier(name: str) -> bool:
    """Tell whether a column is called like an identifier: id, patient_id, PatientID, mrn, subject, ..."""
    words = [word.casefold() for word in _WORD.findall(name)]
    return bool(_ID_WORDS.intersection(words) or _ID_NAME.fullmatch("".join(words)))


def counts_through(values: NDArray[Any]) -> bool:
    """Tell whether integers count up (or down) through the rows, one by one or with gaps."""
    n = len(values)
    if n < MIN_COUNTING:
        return False
    steady = bool(np.all(values[1:] > values[:-1])) or bool(np.all(values[1:] < values[:-1]))
    return steady and (n >= MIN_INCREASING or abs(int(values[-1]) - int(values[0])) == n - 1)


def looks_like_identifier(name: str, values: NDArray[Any]) -> bool:
    """Tell whether a column of whole numbers looks like an identifier, by its name or by its order.

    Parameters
    ----------
    name
        Name of the column.
    values
        Its cells through the whole file, the missing ones left out.
    """
    if counts_through(values):
        return True
    # Two values distinguish no patients, whatever the column is called.
    return is_called_identifier(name) and len(np.unique(values)) > 2


def warn_of_identifiers(frame: nw.DataFrame[Any], columns: Sequence[Column], id_column: str | None) -> None:
    """Warn if features are whole numbers that look like identifiers, judged by the whole table.

    Parameters
    ----------
    frame
        The table.
    columns
        The features.
    id_column
        The column that names the rows, if one was given.
    """
    if found := _suspects(frame, columns):
        warn(_suspicion(found, id_column), IdentifierWarning)


def _suspects(frame: nw.DataFrame[Any], columns: Sequence[Column]) -> list[str]:
    found = []
    for name, kind in ((column.name, column.kind) for column in columns):
        if kind == "integer":
            if looks_like_identifier(name, frames.column_integers(frame.get_column(name))):
                found.append(name)
        elif kind == "number" and is_called_identifier(name):
            # Integers with a gap are floats in pandas.
            cells = frames.column_numbers(frame[name])
            cells = cells[np.isfinite(cells)]
            if np.array_equal(cells, np.round(cells)) and looks_like_identifier(name, cells):
                found.append(name)
    return found


def _suspicion(found: Sequence[str], id_column: str | None) -> str:
    """Return the warning about columns that look like identifiers."""
    names = listed([shown(name) for name in found])
    start = (
        f"column {names} looks like an identifier"
        if len(found) == 1
        else f"columns {names} look like identifiers"
    )
    use = f"Pass {option('id')} to name the rows by it, or leave" if id_column is None else "Leave"
    return (
        f"{start} and {'is' if len(found) == 1 else 'are'} used as a feature. {use} it out with "
        f"{option('exclude')}; naming the features with {option('columns')} silences this."
    )
