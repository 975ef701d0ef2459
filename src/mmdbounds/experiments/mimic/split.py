"""Patients into training, validation and test, each by a hash of its own number.

The part of a patient hangs on the patient's number and the seed alone: not on the order of the tables, not on
who else is in the cohort. So a patient who was trained on under one set of rules is never tested under
another. The sizes of the parts are 60/20/20 only nearly: of 10,000 patients to about one percent.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import is_number
from mmdbounds.errors import MmdBoundsError

PARTS = ("training", "validation", "test")

SHARES = (0.6, 0.2, 0.2)
"""The paper's."""


def split_patients(
    subjects: Sequence[str], *, seed: int = 0, shares: Sequence[float] = SHARES
) -> NDArray[np.int8]:
    """Return the part of each image, a place in `PARTS`, all images of a patient in the same.

    Parameters
    ----------
    subjects
        The patient of each image.
    seed
        Another seed, another split.
    shares
        Of the patients in each part.
    """
    cuts = np.cumsum(check_shares(shares)[:-1])
    part = {s: np.searchsorted(cuts, _unit(f"part|{seed}|{s}"), side="right") for s in set(subjects)}
    return np.array([part[s] for s in subjects], dtype=np.int8)


def patient_numbers(subjects: Sequence[str], *, seed: int = 0) -> NDArray[np.int64]:
    """Return running numbers from 0 for the patients, in an order that says nothing about who they are."""
    order = sorted(set(subjects), key=lambda subject: _unit(f"number|{seed}|{subject}"))
    number = {subject: place for place, subject in enumerate(order)}
    return np.array([number[subject] for subject in subjects], dtype=np.int64)


def check_shares(shares: Any) -> tuple[float, ...]:
    """Return three positive shares that add up to 1."""
    given = tuple(shares) if isinstance(shares, Sequence) and not isinstance(shares, str) else ()
    if len(given) == len(PARTS) and all(is_number(share) and share > 0 for share in given):
        values = tuple(float(share) for share in given)
        if math.isclose(sum(values), 1.0, rel_tol=0.0, abs_tol=1e-9):
            return values
    msg = f"`shares` must be three positive numbers that add up to 1, like {SHARES}; got {shares!r}."
    raise MmdBoundsError(msg)


def _unit(text: str) -> float:
    """Return a number in [0, 1) that hangs on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]) / 2**48
