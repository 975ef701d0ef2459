"""Files of bytes, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from mmdbounds.errors import MmdBoundsError


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
