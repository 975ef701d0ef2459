"""Files that commands write: whole or not at all, and refused before the work starts."""

from __future__ import annotations

import os
from pathlib import Path

from mmdbounds.errors import MmdBoundsError
from mmdbounds.written import write_bytes_whole


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
    """Write a text so that it is there completely or not at all."""
    write_bytes_whole(path, text.encode("utf-8"))
