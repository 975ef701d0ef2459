"""Where a run writes: the file it ends with, and the folder that lets a killed run go on."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmdbounds.atomic_write import write_whole
from mmdbounds.errors import DataError

SETTINGS = "run.json"
"""What the folder was made with: a run with other settings must not go on from it."""

BESIDE_IMAGES = 500_000_000
"""Bytes for the checkpoint, twice while it is written, and what else is small."""


def check_out(out: Path) -> Path:
    """Refuse a file that exists already or cannot be written."""
    if out.suffix != ".npz":
        msg = f"`out` must name a file that ends with .npz; got {str(out)!r}."
        raise DataError(msg)
    if out.exists():
        msg = f"{str(out)!r} exists already. Remove it, or name another file (`out`)."
        raise DataError(msg)
    _require_writable(out.parent)
    return out


def check_work(work: Path, n_images: int, size: int) -> Path:
    """Refuse a folder that cannot be written or has too little room for the images."""
    if work.exists() and not work.is_dir():
        msg = f"{str(work)!r} is not a folder. Name another one (`work`)."
        raise DataError(msg)
    there = next(folder for folder in (work, *work.absolute().parents) if folder.is_dir())
    _require_writable(there)
    if not (work / SETTINGS).exists():  # otherwise most of it is there already
        needed, free = n_images * size * size + BESIDE_IMAGES, shutil.disk_usage(there).free
        if needed > free:
            room = f"{gigabytes(needed)}, and {gigabytes(free)} are free"
            msg = f"{str(work)!r} needs {room}. Name another (`work`)."
            raise DataError(msg)
    return work


def claim(work: Path, settings: Mapping[str, Any]) -> None:
    """Make the folder of a run, or refuse one that was made with other settings."""
    file = work / SETTINGS
    now = json.loads(json.dumps(settings))
    if not file.exists():
        work.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(now, indent=1).encode())
        return
    try:
        before = json.loads(file.read_bytes())
        other = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    except (OSError, ValueError, AttributeError):
        msg = f"{str(file)!r} cannot be read. Remove the folder, or name another (`work`)."
        raise DataError(msg) from None
    if other:
        name = other[0]
        what = f"`{name}` was {_short(before.get(name))} and is {_short(now.get(name))}"
        msg = f"{str(work)!r} belongs to another run: {what}. Remove it, or name another (`work`)."
        raise DataError(msg)


def gigabytes(n_bytes: int) -> str:
    """Return a size as people say it."""
    return f"{n_bytes / 1e9:,.1f} GB"


def _require_writable(folder: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        msg = (
            f"nothing can be written in the folder {str(folder)!r}: {error.strerror or type(error).__name__}."
        )
    raise DataError(msg)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
