"""A file, a DataFrame or a dict of columns is opened as a `Table`; its contents say what a file is."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError, did_you_mean, file_trouble, quoted, shown_path, shown_value
from mmdbounds.file_bytes import read_whole
from mmdbounds.tables import file_formats, frames
from mmdbounds.tables.cells import Cells
from mmdbounds.tables.csv_files import check_encoding, clean_text, read_csv
from mmdbounds.tables.excel_files import read_excel
from mmdbounds.tables.file_formats import FORMATS
from mmdbounds.tables.group_column import as_text
from mmdbounds.tables.json_lines import read_json_lines
from mmdbounds.tables.reading import Reading
from mmdbounds.tables.text_numbers import Understood, numbers_from_text

_GZIP = b"\x1f\x8b"
_STDIN = "<stdin>"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Named columns, and the file that they came from, if they did."""

    columns: Mapping[str, Cells]
    n_rows: int
    name: str | None = None  # of the file, without folders
    sha256: str | None = None
    read_as: str | None = None  # in words
    removed: Mapping[str, str] = field(default_factory=dict)  # signs taken off numbers, by column, in words
    index: NDArray[np.str_] | None = None  # the names that the rows of a pandas DataFrame have

    @property
    def subject(self) -> str:
        """What messages call the table."""
        return "`data`" if self.name is None else quoted(self.name)

    def texts(self, column: str, rows: NDArray[np.intp] | None = None) -> list[str]:
        """Return cells of a column as they are printed; `rows` are all of them by default."""
        return [as_text(cell) for cell in self.columns[column].given(rows)]

    def row_names(self, id_: str | None) -> NDArray[np.str_] | None:
        """Return the names of all rows: those in the id column, else the index of a pandas DataFrame."""
        return self.index if id_ is None else np.array(self.texts(id_), dtype=np.str_)


def open_table(data: Any, text: Collection[Any], reading: Reading) -> Table:
    """Return the table in a file, a DataFrame or a dict of columns; for the options see `load_file`."""
    kept = [str(name) for name in text if name is not None]
    if isinstance(data, str | os.PathLike) or callable(getattr(data, "read", None)):
        return load_file(data, kept, reading)
    if not (isinstance(data, Mapping) or frames.is_frame(data)):
        wanted = f"a DataFrame or the name of a {FORMATS} file; got {type(data).__name__}"
        msg = f"`data` must be {wanted}. Pass arrays to `mmd_bounds(X, Y, ...)` directly."
        raise DataError(msg)
    check_encoding(reading.encoding)
    for name in ("encoding", "sheet", "header_row"):
        if (given := getattr(reading, name)) is not None:
            msg = f"`{name}` is for files; got {shown_value(given)} with a DataFrame. Leave it out."
            raise DataError(msg)
    index = None
    if isinstance(data, Mapping):
        columns = frames.columns_of(data, "data")
    else:
        frame = frames.as_frame(data, "data")
        columns, index = frames.as_columns(frame), frames.index_labels(frame)
    n_rows = len(next(iter(columns.values()), ()))
    if not n_rows:
        msg = "`data` has no rows."
        raise DataError(msg)
    found = _understood(columns, kept, reading, "`data`")
    return Table(found.columns, n_rows, removed=found.removed, index=index)


def _understood(
    columns: Mapping[str, Cells], kept: Collection[str], reading: Reading, label: str
) -> Understood:
    """Return columns of which text that is numbers has become numbers, but for those that are kept."""
    names = [name for name in columns if name not in kept]
    return numbers_from_text(columns, names, reading.na, reading.decimal, label)


def load_file(source: Any, text: Collection[str] = (), reading: Reading | None = None) -> Table:
    """Read a file with at least one row, given by its name or opened for reading bytes.

    The columns in `text` are kept as they are printed (``007`` stays ``007``).
    """
    reading = reading or Reading()
    coding = check_encoding(reading.encoding)
    raw, name = _read_stream(source) if hasattr(source, "read") else _read_named(source)
    label = "standard input" if name == _STDIN else quoted(name)
    if not raw:
        msg = f"{label} is an empty file."
        raise DataError(msg)
    sha256, is_packed = hashlib.sha256(raw).hexdigest(), raw.startswith(_GZIP)
    try:
        data = gzip.decompress(raw) if is_packed else raw
    except (OSError, EOFError, zlib.error):
        msg = f"{label} is a damaged or incomplete gzip file."
        raise DataError(msg) from None
    del raw  # a large file must not be in memory twice
    which = file_formats.binary_format(data)
    _require_fitting(reading, which, label)
    if which == "Excel":
        columns, how = read_excel(data, text, reading, label)
        found = _understood(columns, text, reading, label)
    elif which is not None:
        found = _understood(file_formats.read_binary(data, which, label), text, reading, label)
        how = which.removesuffix(" stream")
    else:
        found, how = _read_text(data, name, label, text, reading)
    n_rows = len(next(iter(found.columns.values()), ()))
    if not n_rows:
        msg = f"{label} has no rows below the header."
        raise DataError(msg)
    how = ", ".join([how, *(["gzip"] if is_packed else []), *([coding] if coding else [])])
    return Table(found.columns, n_rows, name, sha256, how, found.removed)


def _require_fitting(reading: Reading, which: str | None, label: str) -> None:
    """Refuse options that say nothing about a file of this format."""
    if which not in ("JSON lines", None) and reading.encoding is not None:
        article = "an" if which[0] in "AE" else "a"
        msg = f"`encoding` is for text; {label} is {article} {which} file. Leave it out."
        raise DataError(msg)
    if which not in ("Excel", None) and reading.header_row is not None:
        msg = f"`header_row` is for CSV and Excel files; {label} is none. Leave it out."
        raise DataError(msg)
    if which != "Excel" and reading.sheet is not None:
        msg = f"`sheet` is for Excel files; {label} is none. Leave it out."
        raise DataError(msg)


def _read_text(
    data: bytes, name: str, label: str, text: Collection[str], reading: Reading
) -> tuple[Understood, str]:
    """Return the table in a text file, and how it was read."""
    coding = check_encoding(reading.encoding)
    file_formats.require_text(data, name, label, has_encoding=coding is not None)
    try:
        data = clean_text(data, label, coding)
    except DataError:
        if file_formats.ending(name) not in file_formats.EXPORT:
            raise
        raise DataError(file_formats.binary_refusal(file_formats.ending(name), "", label)) from None
    if (which := file_formats.text_format(data, name, label)) == "JSON lines":
        _require_fitting(reading, which, label)
        return _understood(read_json_lines(data, text, label), text, reading, label), "JSON lines"
    return read_csv(data, text, reading, label)


def _read_stream(source: Any) -> tuple[bytes, str]:
    """Return what is in an open file, and its name."""
    name = getattr(source, "name", None)
    name = os.path.basename(name) if isinstance(name, str) else "open file"
    try:
        data = read_whole(source) if _is_of_the_system(source) else source.read()
    except (OSError, ValueError) as error:
        reason = "it is closed" if getattr(source, "closed", False) else type(error).__name__
        msg = f"{quoted(name)} cannot be read: {getattr(error, 'strerror', None) or reason}."
        raise DataError(msg) from None
    if not isinstance(data, bytes):
        msg = f"a file must be opened for bytes; got {type(data).__name__}. Open it with mode 'rb'."
        raise DataError(msg)
    return data, name


def _is_of_the_system(source: Any) -> bool:
    """Return whether an open file is one of the system, opened for bytes, and none made in memory."""
    try:
        return isinstance(source, io.RawIOBase | io.BufferedIOBase) and source.fileno() >= 0
    except (OSError, ValueError):
        return False


def _read_named(source: str | os.PathLike[str]) -> tuple[bytes, str]:
    """Return what is in the file of this name, and its name without folders."""
    path = os.fsdecode(source)
    try:
        with open(path, "rb") as file:
            return read_whole(file), PurePath(path).name
    except FileNotFoundError:
        folder, name = os.path.split(path)
        try:
            hint = did_you_mean(name, os.listdir(folder or "."))
        except (OSError, ValueError):
            hint = ""
        msg = f"there is no file {shown_path(path)!r}.{hint}"
    except IsADirectoryError:
        msg = f"{shown_path(path)!r} is a folder; name a {FORMATS} file in it."
    except (OSError, ValueError) as error:
        # Windows answers a folder with "permission denied".
        msg = f"{shown_path(path)!r} cannot be read: {file_trouble(error)}."
    raise DataError(msg) from None
