"""Open data that stand in for the paper's MIMIC-CXR logits, always under their own names.

MIMIC-CXR is open only to people with credentials. Each of these sets has the same shape, two logits of a
binary classifier and two groups of people, and is something else: results on them are results on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mmdbounds.checks import check_flag, check_option
from mmdbounds.datasets.cards import STANDINS
from mmdbounds.datasets.clean import CleanGroups, clean_groups
from mmdbounds.datasets.local import PathLike, read_arrays, require_file

LOGIT_COLUMNS = ("logit_0", "logit_1")
"""Logits of the classes 0 and 1."""

TEST_PART = 2
"""Number of the rows that neither fitted the classifier nor chose its epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Which arrays of a file hold what."""

    logits: str = "logits"
    outcome: str = "y"
    is_x: str = "black"
    part: str | None = None
    patient: str | None = None
    ids: str | None = None

    def names(self) -> list[str]:
        """Return the arrays that there are."""
        given = (self.logits, self.outcome, self.is_x, self.part, self.patient, self.ids)
        return [name for name in given if name is not None]


_LAYOUTS: Mapping[str, _Layout] = {
    "diabetes130": _Layout(patient="patient"),
    "diabetes130_30d": _Layout(logits="logits_30d", outcome="y_30d", patient="patient"),
    "nih_cxr14": _Layout(is_x="female", part="part", patient="patient", ids="image_index"),
    "compas": _Layout(),
}


def load_standin(name: str, folder: PathLike | None = None, *, one_row_a_patient: bool = True) -> CleanGroups:
    """Load two logits of a classifier for two groups of people, in place of MIMIC-CXR.

    Parameters
    ----------
    name : {"diabetes130", "diabetes130_30d", "nih_cxr14", "compas"}
        Readmission of diabetic patients, at all or within 30 days, Black as X and White as Y; pneumonia on
        chest X-rays, female as X and male as Y; recidivism, African-American as X and Caucasian as Y.
    folder : path, optional
        The folder that holds the file; without it the one that the environment variable
        ``MMDBOUNDS_DATA`` names. These files cannot be downloaded.
    one_row_a_patient : bool, default=True
        Keep the first row of each patient, where the file tells patients apart. Rows of one patient are
        not exchangeable, so a test over all rows rejects too often, and once a simulation has filed a
        patient's rows under both groups no choice of rows repairs it. Bounds need no such thing:
        pass False for all rows, which are 3 to 4 times as many for ``"nih_cxr14"``.

    Returns
    -------
    CleanGroups
        Two columns, float32; `outcomes_x` and `outcomes_y` are what the classifier should have said.

    Raises
    ------
    DataError
        If the file is not there, or is another than expected by its digest.

    Notes
    -----
    The first row of a patient is chosen without a look at values, groups or outcomes. Where one patient
    is recorded under both groups (six in ``"diabetes130"``), that row also decides on the group.
    """
    check_option(name, "name", tuple(STANDINS))
    check_flag(one_row_a_patient, "one_row_a_patient")
    card, layout = STANDINS[name], _LAYOUTS[name]
    arrays = read_arrays(require_file(card, folder, downloadable=False), card, layout.names())
    is_x = arrays[layout.is_x] == 1
    tested = np.ones(len(is_x), dtype=bool) if layout.part is None else arrays[layout.part] == TEST_PART
    return clean_groups(
        arrays[layout.logits],
        tested & is_x,
        tested & ~is_x,
        names=(card.hidden, card.among),
        columns=LOGIT_COLUMNS,
        card=card,
        prepared=f"read from {card.file}" + ("" if layout.part is None else "; its test part"),
        ids=None if layout.ids is None else arrays[layout.ids],
        patients=None if layout.patient is None else arrays[layout.patient],
        outcomes=arrays[layout.outcome],
        one_row_a_patient=one_row_a_patient,
    )
