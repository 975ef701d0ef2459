"""Data files in a local folder, and downloads through scikit-learn: both are checked by their digests.

A file is opened once: the bytes that were hashed are the bytes that are read, and nothing is ever unpickled.
Since scikit-learn's files are not ours, their digest is that of the *values*.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lab.datasets.cards import BIO, FOREST, Card
from mmdbounds.errors import DataError, file_trouble, shown_path

PathLike = str | os.PathLike[str]

VARIABLE = "MMDBOUNDS_DATA"  # the environment variable that names the folder if no argument does
HASHED_ROWS = 1 << 16  # rows that are converted to C order at a time to be hashed


def find_file(card: Card, folder: PathLike | None) -> Path | None:
    """Return a card's file in `folder`, or in the folder that `VARIABLE` names; `None` if it is missing."""
    place = data_folder(folder)
    return None if place is None or not (place / card.file).exists() else place / card.file


def require_file(card: Card, folder: PathLike | None, *, downloadable: bool) -> Path:
    """Return a card's file, or say where to put it."""
    if (path := find_file(card, folder)) is not None:
        return path
    place = data_folder(folder)
    where = "no data folder is given" if place is None else f"it is not in {str(place)!r}"
    other = ", or pass download=True" if downloadable else "; it cannot be downloaded"
    to_do = f"Name its folder (folder=..., or the environment variable {VARIABLE}){other}."
    msg = f"{card.title} needs the file {card.file}, but {where}. {to_do}"
    raise DataError(msg)


def read_arrays(path: Path, card: Card, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return arrays of a card's file, whose digest must be the card's."""
    data = read_bytes(path)
    require_digest(hashlib.sha256(data).hexdigest(), card.sha256, str(path))
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in names}


def data_folder(folder: PathLike | None) -> Path | None:
    """Return the given folder, else the one that the variable names, else `None`."""
    name, given = ("`folder`", folder) if folder is not None else (VARIABLE, os.environ.get(VARIABLE))
    if given is None or (folder is None and given == ""):
        return None
    path = as_path(given, name)
    if not os.path.isdir(path):  # unlike Path.is_dir, also for names that are too long
        given = f"got {shown_path(path)!r}, which is not a folder"
        msg = f"{name} must name the folder with the data files; {given}."
        raise DataError(msg)
    return path


def as_path(given: Any, name: str) -> Path:
    """Return `given` as a path, taken literally."""
    if not isinstance(given, str | os.PathLike) or not os.fspath(given):
        msg = f"{name} must be a path; got {given!r}."
        raise DataError(msg)
    return Path(os.fsdecode(given))


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, or say why it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        msg = f"there is no file {str(path)!r}."
    except (OSError, ValueError) as error:
        msg = f"{str(path)!r} cannot be read: {file_trouble(error)}."
    raise DataError(msg) from None


def require_digest(found: str, expected: str, what: str) -> None:
    """Refuse data whose digest is not the expected one."""
    if found != expected:
        msg = f"{what} is not the expected data: its sha256 is {found}, not {expected}. Download it again."
        raise DataError(msg)


def digest_of_arrays(*arrays: NDArray[Any]) -> str:
    """Return the SHA-256 digest of type, shape and values, independent of memory layout and byte order."""
    digest = hashlib.sha256()
    for array in arrays:
        dtype = array.dtype.newbyteorder("<")
        digest.update(f"{dtype.kind}{dtype.itemsize} {array.shape}\n".encode())
        for start in range(0, len(array), HASHED_ROWS):
            digest.update(array[start : start + HASHED_ROWS].astype(dtype, order="C", copy=False).tobytes())
    return digest.hexdigest()


# Of the values as int16 and the cover types as uint8, in the original order.
FOREST_DIGEST = "ab3609cb1053a32d40f9268acb3d27234ff31876fe9f827a71d6aceeb4d37964"
# Of the raw values as int32 with the class as last column; rows sorted, as their order differs by source.
BIO_DIGEST = "7a2bc1290e6435c3e3255da94625ad41d28cf52b1915c7d25238e0c31eb880dc"
OPENML_LEUKEMIA = 1104  # OpenML's number of the data set: 72 samples x 7,129 probes, classes ALL and AML

# Golub's sample numbers: in the order of our file, and in the order of the sorted raw rows.
# fmt: off
SAMPLES = (
    39, 40, 42, 47, 48, 49, 41, 43, 44, 45, 46, 70, 71, 72, 68, 69, 67, 55, 56, 59, 52, 53, 51, 50,
    54, 57, 58, 60, 61, 65, 66, 63, 64, 62, *range(1, 28), *range(34, 39), *range(28, 34),
)
SORTED_SAMPLES = (
    17, 8, 39, 30, 27, 49, 22, 47, 1, 36, 53, 45, 62, 60, 11, 63, 58, 68, 44, 21, 2, 6, 57, 33,
    4, 72, 48, 32, 24, 50, 16, 14, 26, 51, 15, 5, 56, 13, 54, 10, 40, 18, 25, 69, 67, 3, 23, 7,
    38, 12, 65, 41, 71, 66, 46, 70, 64, 61, 19, 55, 31, 37, 52, 34, 59, 28, 9, 35, 29, 20, 42, 43,
)
# fmt: on


def fetch_forest() -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """Return the values and the cover types of all rows, in the original order."""
    from sklearn.datasets import fetch_covtype

    data, what = _downloaded(FOREST, fetch_covtype), f"{FOREST.title} as downloaded"
    values = whole_numbers(data.data, np.int16, what)
    types = whole_numbers(data.target, np.uint8, what)
    require_digest(digest_of_arrays(values, types), FOREST_DIGEST, what)
    return values, types


def fetch_bio() -> tuple[NDArray[np.int32], NDArray[np.uint8], tuple[str, ...]]:
    """Return raw values, classes (0 = ALL, 1 = AML) and probes, the rows in the order of our file."""
    from sklearn.datasets import fetch_openml

    # This parser does not need pandas.
    data = _downloaded(BIO, fetch_openml, data_id=OPENML_LEUKEMIA, as_frame=False, parser="liac-arff")
    what = f"{BIO.title} as downloaded"
    values = whole_numbers(data.data, np.int32, what)
    classes = [("ALL", "AML").index(name) if name in ("ALL", "AML") else -1 for name in data.target]
    rows = np.column_stack([values, np.array(classes, dtype=np.int32)])
    rows = rows[np.lexsort(rows.T[::-1])]
    require_digest(digest_of_arrays(rows), BIO_DIGEST, what)
    rows = rows[[SORTED_SAMPLES.index(sample) for sample in SAMPLES]]
    return rows[:, :-1], rows[:, -1].astype(np.uint8), tuple(str(name) for name in data.feature_names)


def whole_numbers(values: Any, dtype: DTypeLike, what: str) -> NDArray[Any]:
    """Return numbers as an integer type, if that is exact."""
    given = np.asarray(values)
    if given.dtype.kind in "fiu":
        with np.errstate(invalid="ignore"):
            numbers = given.astype(dtype)
        if np.array_equal(given, numbers):
            return numbers
    reason = f"its values are not all whole numbers of type {np.dtype(dtype).name}"
    msg = f"{what} is not the expected data: {reason}. Name a folder that holds its file (folder=...)."
    raise DataError(msg)


def _downloaded(card: Card, fetch: Callable[..., Any], **options: Any) -> Any:
    """Return what scikit-learn downloads, or say that the download failed."""
    try:
        return fetch(**options)
    except Exception as error:  # scikit-learn passes on every error of the network
        to_do = f"Check the network, or name a folder that holds {card.file} (folder=...)."
        msg = f"{card.title} cannot be downloaded ({type(error).__name__}). {to_do}"
        raise DataError(msg) from error
