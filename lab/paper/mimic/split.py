"""Patients split into training, validation and test by a hash of their numbers; the parts are counted.

The part of a patient depends only on the patient's number and the seed, not on the order of the tables or on
who else is in the cohort. So a patient who is used for training under one set of rules is never tested under
another. The sizes of the parts are 60/20/20 only approximately: to about one percent of 10,000 patients.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.paper.mimic.cohort import Cohort
from mmdbounds.checks import is_number
from mmdbounds.errors import DataError, MmdBoundsError

PARTS = ("training", "validation", "test")

SHARES = (0.6, 0.2, 0.2)
"""The paper's."""


def split_patients(
    subjects: Sequence[str], *, seed: int = 0, shares: Sequence[float] = SHARES
) -> NDArray[np.int8]:
    """Return the part of each image, an index into `PARTS`; all images of a patient are in the same part.

    Parameters
    ----------
    subjects
        The patient of each image.
    seed
        Seed of the split.
    shares
        Of the patients in each part.
    """
    cuts = np.cumsum(check_shares(shares)[:-1])
    part = {s: np.searchsorted(cuts, _unit(f"part|{seed}|{s}"), side="right") for s in set(subjects)}
    return np.array([part[s] for s in subjects], dtype=np.int8)


def patient_numbers(subjects: Sequence[str], *, seed: int = 0) -> NDArray[np.int64]:
    """Return running numbers from 0 for the patients, in an order that does not reveal who they are."""
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
    """Return a number in [0, 1) that depends only on the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]) / 2**48


def part_counts(
    cohort: Cohort, part: NDArray[np.int8], group_names: tuple[str, str]
) -> dict[str, dict[str, int]]:
    """Return for each part how many images, patients and positive images it has, and images of each group."""
    subjects = np.array(cohort.subjects)
    counts = {}
    for place, name in enumerate(PARTS):
        rows = part == place
        counts[name] = {
            "images": int(np.sum(rows)),
            "patients": len(np.unique(subjects[rows])),
            "positive": int(np.sum(cohort.y[rows])),
            group_names[1]: int(np.sum(cohort.group[rows])),
            group_names[0]: int(np.sum(cohort.group[rows] == 0)),
        }
    return counts


def parts_table(cohort: Cohort, part: NDArray[np.int8], group_names: tuple[str, str]) -> list[str]:
    """Return the counts as lines of a table."""
    counts = part_counts(cohort, part, group_names)
    width = max(map(len, PARTS))
    head = "".join(f"{name:>10}" for name in counts[PARTS[0]])
    rows = [f"{name:<{width}}" + "".join(f"{n:>10,}" for n in row.values()) for name, row in counts.items()]
    return [" " * width + head, *rows]


def require_parts(cohort: Cohort, part: NDArray[np.int8], group_names: tuple[str, str]) -> None:
    """Refuse a split whose first two parts lack a label, or whose last part lacks a group."""
    for place, name in enumerate(PARTS):
        rows = part == place
        needs = {"positive images": cohort.y == 1, "negative images": cohort.y == 0}
        if name == PARTS[2]:
            needs |= {f"images of {n} patients": cohort.group == g for g, n in enumerate(group_names)}
        for what, mask in needs.items():
            if not np.any(rows & mask):
                msg = f"the {name} part must have {what}; got none among {np.sum(rows):,}. Use more patients."
                raise DataError(msg)
