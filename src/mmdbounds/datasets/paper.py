"""FOREST and BIO, the open data of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import check_flag, check_option
from mmdbounds.datasets.cards import BIO, FOREST, Card
from mmdbounds.datasets.clean import CleanGroups, clean_groups
from mmdbounds.datasets.fetched import SAMPLES, fetch_bio, fetch_forest
from mmdbounds.datasets.local import PathLike, find_file, read_arrays, require_file

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

SPRUCE_FIR, LODGEPOLE_PINE = 1, 2
"""The two cover types, of seven."""

_Bio = tuple[NDArray[Any], NDArray[np.uint8], tuple[str, ...], NDArray[np.str_]]
"""Values, classes, names of the columns, names of the rows."""

VALUES = ("normal scores", "raw")
"""What `load_bio` offers."""


def load_forest(folder: PathLike | None = None, *, download: bool = False) -> CleanGroups:
    """Load FOREST: cells of forest, Lodgepole Pine as X and Spruce-Fir as Y.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``forest_covertype.npz``; without it the one that the environment
        variable ``MMDBOUNDS_DATA`` names.
    download : bool, default=False
        Ask scikit-learn's `fetch_covtype` if the file is not there. Nothing is downloaded otherwise.

    Returns
    -------
    CleanGroups
        283,301 and 211,840 rows of 54 columns, int16, in raw units and in the order of the source.

    Raises
    ------
    DataError
        If the data are not there, or are others than expected by their digest.
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
        The folder that holds ``bio_golub_leukemia.npz``; without it the one that the environment
        variable ``MMDBOUNDS_DATA`` names.
    values : {"normal scores", "raw"}
        Normal scores of each array over its 7,129 probes, without the one probe whose score never varies:
        7,128 columns, as the paper states, float32. Or all average differences as published, int32.
    download : bool, default=False
        Ask scikit-learn's `fetch_openml` if the file is not there. Nothing is downloaded otherwise.

    Returns
    -------
    CleanGroups
        47 and 25 rows, not standardised; `ids_x` and `ids_y` are Golub's numbers of the samples.

    Raises
    ------
    DataError
        If the data are not there, or are others than expected by their digest.
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
    """Return Phi^-1((rank - 0.5) / d) within each row, ties sharing a rank, and the columns that vary.

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
