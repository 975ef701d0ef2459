"""CSV and Parquet files; the only file that imports polars.

The file is opened here and polars gets its bytes: given a name, polars expands patterns and
``~`` and fetches addresses, so that ``data[1].csv`` would read ``data1.csv``.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from mmdbounds.errors import DataError
from mmdbounds.tables.csvtext import clean_text, read_header, require_even_rows, sniff_separator
from mmdbounds.tables.phrases import nearest, shown

if TYPE_CHECKING:
    import polars as pl

_EXPORT = {
    ".xlsx": "in Excel: File > Save As > 'CSV UTF-8'",
    ".xls": "in Excel: File > Save As > 'CSV UTF-8'",
    ".ods": "in LibreOffice: File > Save As > 'Text CSV'",
    ".sav": "in SPSS: SAVE TRANSLATE /TYPE=CSV /FIELDNAMES",
    ".dta": "in Stata: export delimited",
    ".sas7bdat": "in SAS: PROC EXPORT with DBMS=CSV",
    ".rds": "in R: write.csv(x, 'file.csv', row.names = FALSE)",
    ".rdata": "in R: write.csv(x, 'file.csv', row.names = FALSE)",
    ".pkl": "in Python: df.to_parquet(...); pickles are never opened",
    ".pickle": "in Python: df.to_parquet(...); pickles are never opened",
    ".feather": "in Python: df.to_parquet(...)",
    ".arrow": "in Python: df.to_parquet(...)",
}
_OTHER_TEXT = (".json", ".jsonl", ".ndjson", ".html", ".htm", ".xml", ".yaml", ".yml", ".arff")
_MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none", ".")


@dataclass(frozen=True, slots=True, eq=False)
class TableFile:
    """A table that was read from a file, and which file that was."""

    frame: pl.DataFrame
    name: str
    sha256: str


def load_file(source: str | os.PathLike[str], text: Collection[str] = ()) -> TableFile:
    """Read a CSV or Parquet file.

    Parameters
    ----------
    source
        Name of a local file, taken literally.
    text
        Columns of a CSV file to be kept as they are printed (``007`` stays ``007``).

    Raises
    ------
    DataError
        If there is no such file, or it is not a table with at least one row.
    """
    raw, path = _read_bytes(source)
    label = shown(PurePath(path).name)
    if not raw:
        msg = f"{label} is an empty file."
        raise DataError(msg)
    data = _unpacked(raw, label)
    if _is_parquet(data):
        frame = _parse_parquet(data, label)
    else:
        frame = _parse_csv(_require_csv(data, path, label), text, label)
    if frame.height == 0:
        msg = f"{label} has no rows below the header."
        raise DataError(msg)
    return TableFile(frame, PurePath(path).name, hashlib.sha256(raw).hexdigest())


def _read_bytes(source: str | os.PathLike[str]) -> tuple[bytes, str]:
    """Return what is in the file, and its name as text."""
    path = os.fsdecode(source)
    try:
        with open(path, "rb") as file:
            return file.read(), path
    except FileNotFoundError:
        msg = f"there is no file {_shown_path(path)}.{_similar_file(path)}"
    except IsADirectoryError:
        msg = f"{_shown_path(path)} is a directory; name a CSV or Parquet file in it."
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


def _is_parquet(data: bytes) -> bool:
    """Tell Parquet by its first bytes; a CSV header may start with PAR1 too, but has no NUL bytes."""
    return data.startswith(b"PAR1") and (data.endswith(b"PAR1") or b"\0" in data)


def _require_csv(data: bytes, path: str, label: str) -> bytes:
    """Return the text of a CSV file, or say what the file seems to be instead."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    ending = next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), "")
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    binary = (b"\0" in data and not utf16) or data.startswith((b"PK\x03\x04", b"RDX", b"$FL2"))
    known = f"a {ending} file" if ending else "an unknown format"
    if binary and ending in _EXPORT:
        msg = f"{label} is {known}, which is not read here. Export it to CSV ({_EXPORT[ending]})."
        raise DataError(msg)
    if binary:
        msg = f"{label} ({known}) holds binary data, neither CSV nor Parquet. Export it to CSV."
        raise DataError(msg)
    try:
        text = clean_text(data, label)
    except DataError:
        if ending not in _EXPORT:
            raise
        msg = f"{label} is {known}, which is not read here. Export it to CSV ({_EXPORT[ending]})."
        raise DataError(msg) from None
    if ending in _OTHER_TEXT or text.lstrip().startswith(b"<"):
        msg = f"{label} ({known}) is neither CSV nor Parquet. Export it to CSV."
        raise DataError(msg)
    if not text.strip():
        msg = f"{label} is empty but for blanks."
        raise DataError(msg)
    return text


def _parse_csv(data: bytes, text: Collection[str], label: str) -> pl.DataFrame:
    """Read CSV with types inferred from the whole file."""
    import polars as pl

    separator = sniff_separator(data)
    names = read_header(data, separator, label)
    try:
        found = pl.read_csv(io.BytesIO(data), separator=separator, n_rows=0).columns
        kept = {raw: pl.String for raw, name in zip(found, names, strict=True) if name in text}
        frame = pl.read_csv(
            io.BytesIO(data), separator=separator, infer_schema_length=None, schema_overrides=kept
        )
    except (Exception, pl.exceptions.PanicException):
        # polars quotes cells in its messages: look for the reason ourselves.
        line = require_even_rows(data, separator, len(names), label)
        where = "" if line is None else f" from line {line} on"
        msg = f"{label} cannot be read as CSV{where}. Check its quotation marks."
        raise DataError(msg) from None
    frame.columns = names
    # polars fills short rows up with missing values: only then is the last one missing.
    if frame.height and frame.get_column(names[-1]).null_count():
        require_even_rows(data, separator, len(names), label)
    return _numbers_from_text(frame, [name for name in names if name not in text])


def _numbers_from_text(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Turn text columns into numbers where every cell is a number or a word for a missing one."""
    import polars as pl

    numbers: list[Any] = []
    for name in names:
        column = frame.get_column(name)
        if column.dtype != pl.String:
            continue
        cells = column.str.strip_chars()
        number = cells.cast(pl.Float64, strict=False)
        missing = cells.is_null() | cells.str.to_lowercase().is_in(_MISSING_WORDS)
        if (missing | number.is_not_null()).all():
            numbers.append(number)
    return frame.with_columns(numbers)


def _parse_parquet(data: bytes, label: str) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.read_parquet(io.BytesIO(data))
    except (Exception, pl.exceptions.PanicException) as error:
        msg = f"{label} is a damaged Parquet file, or one that polars cannot read ({type(error).__name__})."
        raise DataError(msg) from None
