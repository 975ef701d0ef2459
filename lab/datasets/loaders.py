"""Loaders of the paper's open data, FOREST and BIO, of stand-ins for its MIMIC-CXR logits, and of tumours.

MIMIC-CXR is open only to people with credentials. Each stand-in has the same shape, two logits of a binary
classifier and two groups of people, but is different data: results on it are reported under its own name.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.datasets.cards import BIO, FOREST, STANDINS
from lab.datasets.clean_groups import CleanGroups, clean_groups
from lab.datasets.files import (
    SAMPLES,
    PathLike,
    fetch_bio,
    fetch_forest,
    find_file,
    read_arrays,
    require_file,
)
from mmdbounds.checks import check_flag, check_option, check_share

FOREST_COLUMNS = (
    *("Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology", "Vertical_Distance_To_Hydrology"),
    *("Horizontal_Distance_To_Roadways", "Hillshade_9am", "Hillshade_Noon", "Hillshade_3pm"),
    "Horizontal_Distance_To_Fire_Points",
    *(f"Wilderness_Area{i}" for i in range(1, 5)),
    *(f"Soil_Type{i}" for i in range(1, 41)),
)

SPRUCE_FIR, LODGEPOLE_PINE = 1, 2  # two of the seven cover types
VALUES = ("normal scores", "raw")  # what `load_bio` offers
LOGIT_COLUMNS = ("logit_0", "logit_1")  # logits of the classes 0 and 1
TEST_PART = 2  # code of the rows that were used neither to fit the classifier nor to choose its epoch


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
    path = find_file(FOREST, folder) if download else require_file(FOREST, folder, downloadable=True)
    if path is None:
        (values, types), prepared = fetch_forest(), "downloaded by scikit-learn's fetch_covtype"
    else:
        arrays = read_arrays(path, FOREST, ("X", "y"))
        values, types, prepared = arrays["X"], arrays["y"], f"read from {FOREST.file}"
    is_x, is_y, names = types == LODGEPOLE_PINE, types == SPRUCE_FIR, ("Lodgepole Pine", "Spruce-Fir")
    return clean_groups(
        values, is_x, is_y, names=names, columns=FOREST_COLUMNS, card=FOREST, prepared=prepared
    )


def load_bio(
    folder: PathLike | None = None, *, values: str = "normal scores", download: bool = False
) -> CleanGroups:
    """Load BIO: gene expression in leukaemia, ALL as X and AML as Y.

    Parameters
    ----------
    folder : path, optional
        As in `load_forest`; the file is ``bio_golub_leukemia.npz``.
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
    path = find_file(BIO, folder) if download else require_file(BIO, folder, downloadable=True)
    scored = values == "normal scores"
    table: NDArray[Any]
    if path is None:
        origin, samples = "downloaded by scikit-learn's fetch_openml", np.array(SAMPLES, dtype=np.str_)
        table, classes, probes = fetch_bio()
        genes = np.array(probes)
        if scored:
            table, kept = normal_scores(table)
    else:
        origin, which = f"read from {BIO.file}", "X_ns" if scored else "X_raw"
        arrays = read_arrays(path, BIO, (which, "y", "genes", "ns_gene_index", "sample_id"))
        table, classes, genes, kept = (arrays[name] for name in (which, "y", "genes", "ns_gene_index"))
        samples = arrays["sample_id"].astype(np.str_)
    is_all, is_aml, names = classes == 0, classes == 1, ("ALL", "AML")
    columns = tuple((genes[kept] if scored else genes).tolist())
    prepared = f"{origin}; {'normal scores' if scored else 'raw values'}"
    return clean_groups(
        table, is_all, is_aml, names=names, columns=columns, card=BIO, prepared=prepared, ids=samples
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Which arrays of a file hold what."""

    logits: str = "logits"
    outcome: str = "y"
    is_x: str = "black"
    part: str | None = None
    patient: str | None = None
    ids: str | None = None


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
        As in `load_forest`, but these files cannot be downloaded.
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
    needed = [array for array in astuple(layout) if array is not None]
    arrays = read_arrays(require_file(card, folder, downloadable=False), card, needed)
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


@dataclass(frozen=True, eq=False)
class FiledTumours:
    """Breast tumours (Wisconsin diagnostic data, shipped with scikit-learn), some misfiled, and the truth.

    569 tumours with 30 measurements each, 212 malignant and 357 benign (Wolberg, Street and Mangasarian 1995;
    UCI Machine Learning Repository, CC BY 4.0).

    Attributes
    ----------
    patients
        Names of the rows, P001 to P569.
    values, columns
        Measurements, shape (569, 30), in their own units, and their names.
    filed, truth
        ``"malignant"`` or ``"benign"`` for each row, as filed and in truth.
    """

    patients: tuple[str, ...]
    values: NDArray[np.float64]
    columns: tuple[str, ...]
    filed: NDArray[np.str_]
    truth: NDArray[np.str_]

    @property
    def overlooked(self) -> NDArray[np.intp]:
        """The rows that are misfiled."""
        return np.flatnonzero(self.filed != self.truth)

    def table(self, diagnosis: NDArray[np.str_]) -> dict[str, Any]:
        """Return the columns by name, as `mmdbounds.groups` takes them; the last is `filed` or `truth`."""
        measured = dict(zip(self.columns, self.values.T, strict=True))
        return {"patient": list(self.patients), **measured, "diagnosis": diagnosis}

    def to_csv(self) -> str:
        """Return the table as filed as CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        table = self.table(self.filed)
        writer.writerow(table)
        writer.writerows(zip(*(np.asarray(column).tolist() for column in table.values()), strict=True))
        return text.getvalue()


def overlooked_tumours(epsilon: float = 0.1) -> FiledTumours:
    """Return the tumours, a share `epsilon` of the malignant ones, the smallest, filed as benign."""
    from sklearn.datasets import load_breast_cancer

    check_share(epsilon, "epsilon")
    data = load_breast_cancer()
    values = np.asarray(data.data, dtype=np.float64)
    truth = np.where(data.target == 0, "malignant", "benign")
    malignant = np.flatnonzero(truth == "malignant")
    radius = values[malignant, list(data.feature_names).index("mean radius")]
    n_overlooked = math.floor(epsilon * len(malignant) + 1e-9)
    filed = truth.copy()
    filed[malignant[np.argsort(radius, kind="stable")[:n_overlooked]]] = "benign"
    patients = tuple(f"P{i + 1:03d}" for i in range(len(values)))
    return FiledTumours(patients, values, tuple(str(n) for n in data.feature_names), filed, truth)
