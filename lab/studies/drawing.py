"""True groups for a trial, drawn from real data.

A source is a function ``(folder, N, rng) -> (X_clean, Y_clean)``. N counts the rows of both groups, half of
them each; BIO has 72 rows and all are used.

- FOREST: Covertype, Lodgepole Pine (class 2) as X and Spruce-Fir (class 1) as Y, drawn without replacement;
  in raw units, or standardised over the drawn pooled rows.
- Chest X-ray stand-in: two logits of a pneumonia classifier on the test part of NIH ChestX-ray14 (not
  MIMIC-CXR), female as X and male as Y, drawn without replacement.
- BIO: Golub's leukaemia data, normal scores standardised, 47 ALL as X and 25 AML as Y.
- made up: two normal groups, without any file; for tests of the programs.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

import mmdbounds as mb
from lab.datasets import CARDS, load_bio, load_forest, load_standin
from lab.studies.records import fail

N_BIO = 72
MADE_UP = "made up"


def ends(method, X, Y, amount, **how):
    """Return the two values of a method or of a baseline."""
    if isinstance(method, mb.baselines.Baseline):
        found = method.interval(X, Y, amount, **how)
        return found.lower, found.upper
    found = mb.mmd_bounds(X, Y, amount, method=method, progress=False, **how)
    return found.lower.value, found.upper.value


def draw(source, folder, n_rows, rng):
    """Return the true groups of one trial."""
    return SOURCES[source](folder, n_rows, rng)


def check_folder(folder, sources):
    """End the program with a line that says what is missing, before hours of work."""
    if set(sources) <= {MADE_UP}:
        return
    if folder is None:
        fail("name the folder with the data: --data FOLDER, or MMDBOUNDS_DATA.")
    missing = [name for name in (FOREST_FILE, BIO_FILE, CHEST_FILE) if not (Path(folder) / name).is_file()]
    if missing:
        fail(f"{folder} does not hold {', '.join(missing)}.")


def standardised(X, Y):
    """Return the groups with every column standardised over the rows of both; constant columns become 0."""
    Z = np.concatenate([X, Y])
    spread = Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return Z[: len(X)], Z[len(X) :]


def forest_raw(folder, n_rows, rng):
    return _half_each(_forest(folder), n_rows, rng)


def forest_standardised(folder, n_rows, rng):
    return standardised(*forest_raw(folder, n_rows, rng))


def chest(folder, n_rows, rng):
    return _half_each(_chest(folder), n_rows, rng)


def bio(folder, n_rows, rng):
    """Return all 72 rows; only the misfiling is left to chance."""
    if n_rows != N_BIO:
        msg = f"BIO has {N_BIO} rows, all of which are used; got {n_rows}."
        raise ValueError(msg)
    return _bio(folder)


def made_up(folder, n_rows, rng):
    half = n_rows // 2
    return rng.normal(size=(half, 2)), rng.normal(0.8, 1.0, size=(half, 2))


def _half_each(groups, n_rows, rng):
    half = n_rows // 2
    return tuple(group[rng.choice(len(group), half, replace=False)].astype(np.float64) for group in groups)


# Read once in every process.
@functools.cache
def _forest(folder):
    data = load_forest(folder)
    return data.X, data.Y


@functools.cache
def _chest(folder):
    data = load_standin("nih_cxr14", folder, one_row_per_patient=False)
    return data.X, data.Y


@functools.cache
def _bio(folder):
    data = load_bio(folder)
    return standardised(data.X.astype(np.float64), data.Y.astype(np.float64))


FOREST_FILE, BIO_FILE, CHEST_FILE, COMPAS_FILE = (
    CARDS[name].file for name in ("forest", "bio", "nih_cxr14", "compas")
)

SOURCES = {
    "FOREST raw": forest_raw,
    "FOREST standardised": forest_standardised,
    "chest X-ray stand-in": chest,
    "BIO": bio,
    MADE_UP: made_up,
}
