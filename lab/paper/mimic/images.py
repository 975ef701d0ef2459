"""JPEG files into one array of grey values on disk, so that no epoch decodes them again.

The only file that imports Pillow. A killed run resumes where it stopped: a second array records which rows
are filled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.paper.mimic.packages import require_packages
from mmdbounds.errors import DataError

MAX_PIXELS = 80_000_000
"""More than any X-ray has, and below the number at which Pillow warns."""

BATCH = 1024
"""Images read between two updates of the record on disk."""

_WAITING, _READ, _DAMAGED = 0, 1, 2

Pixels = NDArray[np.uint8]


def read_image(path: Path, size: int) -> Pixels:
    """Return an image as `size` by `size` grey values.

    The whole image is scaled to a square, whatever its proportions. JPEG can be decoded cheaply at an eighth,
    a quarter or a half of its size; that is done down to twice the size wanted, the rest is averaged.

    Raises
    ------
    DataError
        If this is not a JPEG image, is damaged, or has more than `MAX_PIXELS`.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path, formats=["JPEG"]) as image:
            if image.width * image.height <= MAX_PIXELS:
                image.draft("L", (2 * size, 2 * size))
                small = image.convert("L").resize((size, size), Image.Resampling.BILINEAR)
                return np.asarray(small, dtype=np.uint8)
            reason = f"{image.width} x {image.height} pixels are too many for an X-ray"
    except UnidentifiedImageError:
        reason = "it is not a JPEG image"
    except OSError as error:
        reason = error.strerror or str(error)
    except (SyntaxError, ValueError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        reason = str(error)
    msg = f"the image {str(path)!r} cannot be read: {reason}. Download it again."
    raise DataError(msg)


def read_images(
    paths: Sequence[Path],
    size: int,
    work: Path,
    *,
    max_damaged: int = 0,
    say: Callable[[str], None] | None = None,
) -> tuple[Pixels, NDArray[np.bool_]]:
    """Read the images that are not yet in the array in the folder `work`.

    Parameters
    ----------
    paths
        The files.
    size
        Pixels of a side.
    work
        The folder; what it holds must have been made from the same `paths`.
    max_damaged
        How many files may be unreadable. One more ends the run with an error that names the last.
    say
        Is called with lines about the progress.

    Returns
    -------
    pixels : array of shape (images, size, size)
        Memory-mapped; zeros for files that cannot be read.
    readable : array of bool
    """
    require_packages()
    pixels = _array(work / f"images-{size}.npy", (len(paths), size, size))
    state = _array(work / f"images-{size}-state.npy", (len(paths),))
    waiting = np.flatnonzero(state != _READ)  # a damaged file may have been replaced
    state[waiting] = _WAITING
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for start in range(0, len(waiting), BATCH):
            rows = waiting[start : start + BATCH]
            for row, found in zip(rows, threads.map(lambda r: _try(paths[r], size), rows), strict=True):
                if isinstance(found, DataError):
                    state[row] = _DAMAGED
                    _require_few(int(np.sum(state == _DAMAGED)), max_damaged, found)
                else:
                    pixels[row] = found
                    state[row] = _READ
            for array in (pixels, state):  # in this order: what counts as read is on disk
                array.flush()
            if say is not None:
                say(f"{start + len(rows):,} of {len(waiting):,} images read")
    return pixels, state == _READ


def _array(path: Path, shape: tuple[int, ...]) -> np.memmap[tuple[int, ...], np.dtype[np.uint8]]:
    """Open an array on disk, or make it, all zeros."""
    if not path.exists():
        return np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
    try:
        array = np.lib.format.open_memmap(path, mode="r+")
    except (OSError, ValueError):
        array = None
    if array is None or array.shape != shape or array.dtype != np.uint8:
        msg = f"{str(path)!r} is damaged or belongs to another run. Remove it to read the images again."
        raise DataError(msg)
    return array


def _try(path: Path, size: int) -> Pixels | DataError:
    try:
        return read_image(path, size)
    except DataError as error:
        return error


def _require_few(n_damaged: int, max_damaged: int, last: DataError) -> None:
    if n_damaged > max_damaged:
        msg = f"{last} Unreadable so far: {n_damaged:,}, and `max_damaged` is {max_damaged:,}."
        raise DataError(msg)
