"""Files of bytes, written whole or not at all."""

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


def write_bytes_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there completely or not at all, and an old one stays until then."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a possible name"
        msg = f"cannot write {path}: {reason}."
        raise MmdBoundsError(msg) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
