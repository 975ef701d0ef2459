"""JPEG files into one array of grey values, read once and kept, so that no epoch decodes them again.

The only file that imports Pillow. A run that is killed goes on where it was: which rows of the array are
filled is kept beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.experiments.mimic.extras import require_extra

MAX_PIXELS = 80_000_000
"""More than any X-ray has, and fewer than Pillow warns of."""

BATCH = 1024
"""Images that are read before what is done is written down."""

_WAITING, _READ, _DAMAGED = 0, 1, 2

Pixels = NDArray[np.uint8]


def read_image(path: Path, size: int) -> Pixels:
    """Return an image as `size` by `size` grey values.

    The whole image is shown, without regard to its proportions. JPEG can be decoded at an eighth, a quarter
    or a half of its size at little cost; that is done down to twice the size wanted, the rest is averaged.

    Raises
    ------
    DataError
        If this is no JPEG image, or a damaged one, or one with more than `MAX_PIXELS`.
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
        reason = "it is no JPEG image"
    except OSError as error:
        reason = error.strerror or str(error)
    except (SyntaxError, ValueError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        reason = str(error)
    msg = f"the image {str(path)!r} cannot be read: {reason}. Get it anew."
    raise DataError(msg)


def read_images(
    paths: Sequence[Path],
    size: int,
    work: Path,
    *,
    max_damaged: int = 0,
    say: Callable[[str], None] | None = None,
) -> tuple[Pixels, NDArray[np.bool_]]:
    """Read images into an array in the folder `work`, or what is not yet in it.

    Parameters
    ----------
    paths
        The files.
    size
        Pixels of a side.
    work
        The folder; what it holds must have been made from the same `paths`.
    max_damaged
        How many files may be unreadable. With one more, the work ends with a line that names the last.
    say
        Is told how far the work is.

    Returns
    -------
    pixels : array of shape (images, size, size)
        On disk, read where it is used; zeros for files that cannot be read.
    readable : array of bool
    """
    require_extra()
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
        msg = f"{str(path)!r} is damaged or of another run. Remove it, and the images are read again."
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
