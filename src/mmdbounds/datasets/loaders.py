"""Loaders of the paper's open data, FOREST and BIO, and of open stand-ins for its MIMIC-CXR logits.

MIMIC-CXR is open only to people with credentials. Each stand-in has the same shape, two logits of a binary
classifier and two groups of people, but is different data: results on it are reported under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import check_flag, check_option
from mmdbounds.datasets.cards import BIO, FOREST, STANDINS, Card
from mmdbounds.datasets.clean_groups import CleanGroups, clean_groups
from mmdbounds.datasets.files import (
    SAMPLES,
    PathLike,
    fetch_bio,
    fetch_forest,
    find_file,
    read_arrays,
    require_file,
)

FOREST_COLUMNS = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
    *(f"Wilderness_Area{i}" for i in range(1, 5)),
    *(f"Soil_Type{i}" for i in range(1, 41)),
)

SPRUCE_FIR, LODGEPOLE_PINE = 1, 2  # two of the seven cover types
_Bio = tuple[NDArray[Any], NDArray[np.uint8], tuple[str, ...], NDArray[np.str_]]
"""Values, classes, names of the columns, names of the rows."""

VALUES = ("normal scores", "raw")  # what `load_bio` offers


def load_forest(folder: PathLike | None = None, *, download: bool = False) -> CleanGroups:
    """Load FOREST: cells of forest, Lodgepole Pine as X and Spruce-Fir as Y.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``forest_covertype.npz``; by default the one that the environment
        variable ``MMDBOUNDS_DATA`` names.
    download : bool, default=False
        Use scikit-learn's `fetch_covtype` if the file is missing. Nothing is downloaded otherwise.

    Returns
    -------
    CleanGroups
        283,301 and 211,840 rows of 54 columns, int16, in raw units and in the order of the source.

    Raises
    ------
    DataError
        If the data are missing or have an unexpected digest.
    """
    check_flag(download, "download")
    path = _file_or_none(FOREST, folder, download)
    if path is None:
        (values, types), prepared = fetch_forest(), "downloaded by scikit-learn's fetch_covtype"
    else:
        arrays = read_arrays(path, FOREST, ("X", "y"))
        values, types, prepared = arrays["X"], arrays["y"], f"read from {FOREST.file}"
    return clean_groups(
        values,
        types == LODGEPOLE_PINE,
        types == SPRUCE_FIR,
        names=("Lodgepole Pine", "Spruce-Fir"),
        columns=FOREST_COLUMNS,
        card=FOREST,
        prepared=prepared,
    )


def load_bio(
    folder: PathLike | None = None, *, values: str = "normal scores", download: bool = False
) -> CleanGroups:
    """Load BIO: gene expression in leukaemia, ALL as X and AML as Y.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``bio_golub_leukemia.npz``; by default the one that the environment
        variable ``MMDBOUNDS_DATA`` names.
    values : {"normal scores", "raw"}
        Normal scores of each array over its 7,129 probes, without the one probe whose score never varies:
        7,128 columns, as in the paper, float32. Or all average differences as published, int32.
    download : bool, default=False
        Use scikit-learn's `fetch_openml` if the file is missing. Nothing is downloaded otherwise.

    Returns
    -------
    CleanGroups
        47 and 25 rows, not standardised; `ids_x` and `ids_y` are Golub's sample numbers.

    Raises
    ------
    DataError
        If the data are missing or have an unexpected digest.
    """
    check_option(values, "values", VALUES)
    check_flag(download, "download")
    path = _file_or_none(BIO, folder, download)
    scored = values == "normal scores"
    table, classes, genes, samples = _fetched_bio(scored) if path is None else _read_bio(path, scored)
    origin = "downloaded by scikit-learn's fetch_openml" if path is None else f"read from {BIO.file}"
    return clean_groups(
        table,
        classes == 0,
        classes == 1,
        names=("ALL", "AML"),
        columns=genes,
        card=BIO,
        prepared=f"{origin}; {'normal scores' if scored else 'raw values'}",
        ids=samples,
    )


def _file_or_none(card: Card, folder: PathLike | None, download: bool) -> Path | None:
    """Return the file, or `None` if it has to be downloaded."""
    return find_file(card, folder) if download else require_file(card, folder, downloadable=True)


def _read_bio(path: Path, scored: bool) -> _Bio:
    values = "X_ns" if scored else "X_raw"
    arrays = read_arrays(path, BIO, (values, "y", "genes", "ns_gene_index", "sample_id"))
    table, genes = arrays[values], arrays["genes"]
    if scored:
        genes = genes[arrays["ns_gene_index"]]
    return table, arrays["y"], tuple(genes.tolist()), arrays["sample_id"].astype(np.str_)


def _fetched_bio(scored: bool) -> _Bio:
    table, classes, genes = fetch_bio()
    if scored:
        scores, kept = normal_scores(table)
        return scores, classes, tuple(genes[i] for i in kept), np.array(SAMPLES, dtype=np.str_)
    return table, classes, genes, np.array(SAMPLES, dtype=np.str_)


def normal_scores(table: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Return Phi^-1((rank - 0.5) / d) within each row, and the columns that vary; ties share a rank.

    A column that is first (or last) in every row has the same score everywhere and is left out.
    """
    from scipy.special import ndtri

    ranks = np.empty(table.shape)
    for row, into in zip(table, ranks, strict=True):
        _, place, count = np.unique(row, return_inverse=True, return_counts=True)
        into[:] = (np.cumsum(count) - (count - 1) / 2)[place]
    scores = ndtri((ranks - 0.5) / table.shape[1]).astype(np.float32)
    kept = np.flatnonzero((scores != scores[0]).any(axis=0))
    return scores[:, kept], kept


LOGIT_COLUMNS = ("logit_0", "logit_1")  # logits of the classes 0 and 1
TEST_PART = 2  # code of the rows that were used neither to fit the classifier nor to choose its epoch


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
        """Return the names of the arrays."""
        given = (self.logits, self.outcome, self.is_x, self.part, self.patient, self.ids)
        return [name for name in given if name is not None]


_LAYOUTS: Mapping[str, _Layout] = {
    "diabetes130": _Layout(patient="patient"),
    "diabetes130_30d": _Layout(logits="logits_30d", outcome="y_30d", patient="patient"),
    "nih_cxr14": _Layout(is_x="female", part="part", patient="patient", ids="image_index"),
    "compas": _Layout(),
}


def load_standin(
    name: str, folder: PathLike | None = None, *, one_row_per_patient: bool = True
) -> CleanGroups:
    """Load two logits of a classifier for two groups of people, as a stand-in for MIMIC-CXR.

    Parameters
    ----------
    name : {"diabetes130", "diabetes130_30d", "nih_cxr14", "compas"}
        Readmission of diabetic patients, at all or within 30 days, Black as X and White as Y; pneumonia on
        chest X-rays, female as X and male as Y; recidivism, African-American as X and Caucasian as Y.
    folder : path, optional
        The folder that holds the file; by default the one that the environment variable
        ``MMDBOUNDS_DATA`` names. These files cannot be downloaded.
    one_row_per_patient : bool, default=True
        Keep the first row of each patient, if the file identifies patients. Rows of one patient are not
        exchangeable, so a test over all rows rejects too often; and once a simulation has filed a patient's
        rows under both groups, no choice of rows repairs that. Bounds do not need this: pass False for all
        rows, which are 3 to 4 times as many for ``"nih_cxr14"``.

    Returns
    -------
    CleanGroups
        Two columns, float32; `outcomes_x` and `outcomes_y` are the true classes.

    Raises
    ------
    DataError
        If the file is missing or has an unexpected digest.

    Notes
    -----
    The choice of the first row ignores values, groups and outcomes. If a patient is recorded under both
    groups (six in ``"diabetes130"``), that row also decides the group.
    """
    check_option(name, "name", tuple(STANDINS))
    check_flag(one_row_per_patient, "one_row_per_patient")
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
        one_row_per_patient=one_row_per_patient,
    )
