"""Files are opened here, by their literal names, unpacked, told by their contents and read."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from mmdbounds.errors import DataError
from mmdbounds.tables import readers
from mmdbounds.tables.csvtext import check_encoding, clean_text
from mmdbounds.tables.formats import (
    EXPORT,
    READ,
    binary_format,
    ending,
    not_read,
    require_text,
    text_format,
)
from mmdbounds.tables.phrases import nearest, option, shown

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class TableFile:
    """A table that was read from a file, and which file that was.

    Attributes
    ----------
    frame
        The table.
    name, sha256
        Name of the file, without folders, and the hash of its bytes.
    read_as
        In words how it was read.
    """

    frame: pl.DataFrame
    name: str
    sha256: str
    read_as: str


def is_file(source: Any) -> bool:
    """Tell names of files and open files from everything else."""
    return isinstance(source, str | os.PathLike) or callable(getattr(source, "read", None))


def load_file(
    source: Any, text: Collection[str] = (), na: Collection[str] = (), encoding: str | None = None
) -> TableFile:
    """Read a CSV, Parquet, Arrow or JSON lines file.

    Parameters
    ----------
    source
        Name of a local file, taken literally, or a file opened for reading bytes.
    text
        Columns of a CSV file to be kept as they are printed (``007`` stays ``007``).
    na
        Words for missing cells, beside the usual ones.
    encoding
        Encoding of a text file, by default UTF-8.

    Raises
    ------
    DataError
        If there is no such file, or it is not a table with at least one row.
    """
    coding = check_encoding(encoding)
    raw, name = _read_stream(source) if hasattr(source, "read") else _read_named(source)
    label = "standard input" if name == _STDIN else shown(name)
    if not raw:
        msg = f"{label} is an empty file."
        raise DataError(msg)
    sha256, packed = hashlib.sha256(raw).hexdigest(), raw.startswith(b"\x1f\x8b")
    data = _unpacked(raw, label)
    del raw  # a large file shall not be there twice
    if (which := binary_format(data)) is not None:
        if encoding is not None:
            msg = f"{option('encoding')} goes with text; {label} is a {which} file. Leave it out."
            raise DataError(msg)
        frame, how = readers.read_binary(data, which, label), which.removesuffix(" stream")
    else:
        frame, how = _read_text(data, name, label, text, na, coding)
    if frame.height == 0:
        msg = f"{label} has no rows below the header."
        raise DataError(msg)
    how = ", ".join([how, *(["gzip"] if packed else []), *([coding] if coding else [])])
    return TableFile(frame, name, sha256, how)


def _read_text(
    data: bytes, name: str, label: str, text: Collection[str], na: Collection[str], coding: str | None
) -> tuple[pl.DataFrame, str]:
    """Return a table from a text file, and how it was read."""
    require_text(data, name, label, coded=coding is not None)
    try:
        data = clean_text(data, label, coding)
    except DataError:
        if ending(name) not in EXPORT:
            raise
        raise DataError(not_read(ending(name), "", label)) from None
    if text_format(data, name, label) == "JSON lines":
        return readers.read_json_lines(data, text, label), "JSON lines"
    return readers.read_csv(data, text, na, label)


_STDIN = "<stdin>"


def _read_stream(source: Any) -> tuple[bytes, str]:
    """Return what is in an open file, and its name."""
    name = getattr(source, "name", None)
    name = os.path.basename(name) if isinstance(name, str) else "open file"
    try:
        data = source.read()
    except (OSError, ValueError) as error:
        msg = f"{shown(name)} cannot be read: {getattr(error, 'strerror', None) or type(error).__name__}."
        raise DataError(msg) from None
    if not isinstance(data, bytes):
        msg = f"a file must be open for bytes; got {type(data).__name__}. Open it with mode 'rb'."
        raise DataError(msg)
    return data, name


def _read_named(source: str | os.PathLike[str]) -> tuple[bytes, str]:
    """Return what is in the file of this name, and its name without folders."""
    path = os.fsdecode(source)
    try:
        with open(path, "rb") as file:
            return file.read(), PurePath(path).name
    except FileNotFoundError:
        msg = f"there is no file {_shown_path(path)}.{_similar_file(path)}"
    except IsADirectoryError:
        msg = f"{_shown_path(path)} is a directory; name a {READ} file in it."
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a possible file name"
        # Windows answers a directory with "permission denied".
        msg = f"{_shown_path(path)} cannot be read: {reason}."
    raise DataError(msg) from None


def _shown_path(path: str) -> str:
    """Return a path in quotes; of a very long one the end, which tells the files apart."""
    return repr(path if len(path) <= 160 else "..." + path[-157:])


def _similar_file(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        return nearest(name, os.listdir(folder or "."))
    except (OSError, ValueError):
        return ""


def _unpacked(data: bytes, label: str) -> bytes:
    """Return the contents of a gzip file, and other bytes as they are."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        msg = f"{label} is a damaged or incomplete gzip file."
        raise DataError(msg) from None
