"""Files of data in a folder of the user's: found, checked by their digest, then read.

A file is opened once. What was hashed is what is read, and nothing in it is ever unpickled.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.datasets.cards import Card
from mmdbounds.errors import DataError, file_trouble, shown_path

PathLike = str | os.PathLike[str]

VARIABLE = "MMDBOUNDS_DATA"
"""The environment variable that names the folder where no argument does."""

HASHED_ROWS = 1 << 16
"""Rows that are brought into C order at a time to be hashed."""


def find_file(card: Card, folder: PathLike | None) -> Path | None:
    """Return a card's file, in `folder` or else in the folder that `VARIABLE` names; `None` if not there."""
    place = data_folder(folder)
    return None if place is None or not (place / card.file).exists() else place / card.file


def require_file(card: Card, folder: PathLike | None, *, downloadable: bool) -> Path:
    """Return a card's file, or say where to put it."""
    path = find_file(card, folder)
    if path is not None:
        return path
    place = data_folder(folder)
    where = "no folder with data is named" if place is None else f"it is not in {str(place)!r}"
    other = ", or pass download=True" if downloadable else "; it cannot be downloaded"
    msg = (
        f"{card.title} needs the file {card.file}, and {where}. Name the folder that holds it (folder=..., "
        f"or the variable {VARIABLE}){other}."
    )
    raise DataError(msg)


def read_arrays(path: Path, card: Card, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return arrays of a card's file, if its digest is the card's."""
    data = read_bytes(path)
    require_digest(hashlib.sha256(data).hexdigest(), card.sha256, str(path))
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in names}


def data_folder(folder: PathLike | None) -> Path | None:
    """Return the folder given, else the one that the variable names, else `None`."""
    name, given = ("`folder`", folder) if folder is not None else (VARIABLE, os.environ.get(VARIABLE))
    if given is None or (folder is None and given == ""):
        return None
    path = as_path(given, name)
    if not os.path.isdir(path):  # of whatever length its name is
        msg = (
            f"{name} must name the folder with the data files; got {shown_path(path)!r}, "
            "which is not a folder."
        )
        raise DataError(msg)
    return path


def as_path(given: Any, name: str) -> Path:
    """Return `given` as a path, taken literally."""
    if not isinstance(given, str | os.PathLike) or not os.fspath(given):
        msg = f"{name} must be a path; got {given!r}."
        raise DataError(msg)
    return Path(os.fsdecode(given))


def read_bytes(path: Path) -> bytes:
    """Return what is in a file, or say why it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        msg = f"there is no file {str(path)!r}."
    except (OSError, ValueError) as error:
        msg = f"{str(path)!r} cannot be read: {file_trouble(error)}."
    raise DataError(msg) from None


def require_digest(found: str, expected: str, what: str) -> None:
    """Refuse data with another digest than expected."""
    if found != expected:
        msg = f"{what} is not the data expected: its sha256 is {found}, not {expected}. Get it anew."
        raise DataError(msg)


def digest_of_arrays(*arrays: NDArray[Any]) -> str:
    """Return the SHA-256 digest of type, shape and values, whatever the order in memory and of bytes."""
    digest = hashlib.sha256()
    for array in arrays:
        dtype = array.dtype.newbyteorder("<")
        digest.update(f"{dtype.kind}{dtype.itemsize} {array.shape}\n".encode())
        for start in range(0, len(array), HASHED_ROWS):
            digest.update(array[start : start + HASHED_ROWS].astype(dtype, order="C", copy=False).tobytes())
    return digest.hexdigest()
