"""Files that commands write: whole or not at all, and refused before the work starts."""

from __future__ import annotations

from pathlib import Path

from mmdbounds.written import check_writable, write_bytes_whole

__all__ = ["check_writable", "write_whole"]


def write_whole(path: Path, text: str) -> None:
    """Write a text so that it is there completely or not at all."""
    write_bytes_whole(path, text.encode("utf-8"))
