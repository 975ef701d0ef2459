"""Files that commands write: whole or not at all, and refused before the work starts."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from mmdbounds.errors import MmdBoundsError


def check_writable(path: Path) -> None:
    """Say now, not after the work, that a file cannot be written."""
    folder = path.parent
    if path.is_dir():
        msg = f"cannot write {path}: it is a folder."
    elif not folder.is_dir():
        msg = f"cannot write {path}: there is no folder {folder}."
    elif not os.access(path if path.exists() else folder, os.W_OK):
        msg = f"cannot write {path}: permission denied."
    else:
        return
    raise MmdBoundsError(msg)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there completely or not at all."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        msg = f"cannot write {path}: {error.strerror or error}."
        raise MmdBoundsError(msg) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
