"""Columns that name rows instead of measuring them: a patient number must not become a feature."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
