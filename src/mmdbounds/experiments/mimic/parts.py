"""The parts of the cohort counted, and refused where they are too poor to be used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.experiments.mimic.cohort import Cohort
from mmdbounds.experiments.mimic.split import PARTS


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
