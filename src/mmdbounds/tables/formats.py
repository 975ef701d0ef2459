"""What a file is, told by its first bytes and its ending, and how to export what is not read here."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal

from mmdbounds.errors import DataError

BinaryFormat = Literal["Parquet", "Arrow", "Arrow stream"]
TextFormat = Literal["CSV", "JSON lines"]

READ = "CSV, Parquet, Arrow or JSON lines"
"""The formats that are read, in words."""

_R = "in R: write.csv(x, 'file.csv', row.names = FALSE)"
_EXCEL = "in Excel: File > Save As > 'CSV UTF-8'"
_PICKLE = "in Python: df.to_parquet(...); pickles are never opened"
_ARRAYS = "in Python: give the arrays to `mmd_bounds` directly"
_SAS = "in SAS: PROC EXPORT with DBMS=CSV"
_UNPACK = "unpack it first; of packed files only gzip is read"
EXPORT = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb"), _EXCEL),
    ".ods": "in LibreOffice: File > Save As > 'Text CSV'",
    ".numbers": "in Numbers: File > Export To > CSV",
    **dict.fromkeys((".sav", ".zsav", ".por"), "in SPSS: SAVE TRANSLATE /TYPE=CSV /FIELDNAMES"),
    ".dta": "in Stata: export delimited",
    **dict.fromkeys((".sas7bdat", ".xpt"), _SAS),
    **dict.fromkeys((".rds", ".rdata", ".rda"), _R),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), _PICKLE),
    **dict.fromkeys((".npz", ".npy", ".mat"), _ARRAYS),
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".orc", ".avro"), "in Python: df.to_parquet(...)"),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "in SQLite: .mode csv, .headers on, .output file.csv"),
    ".arff": "in R: foreign::read.arff, then write.csv",
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar", ".tgz", ".bz2", ".xz", ".zst"), _UNPACK),
}
"""How files of other programs become CSV, by their ending."""

_JSON = "one object a line, in Python: df.to_json(..., orient='records', lines=True)"
_OTHER_TEXT = (".html", ".htm", ".xml", ".yaml", ".yml", ".arff")
_MARKUP = (b"<!doctype", b"<html", b"<?xml", b"<table", b"<!--")
_CSV_ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".dat")
_JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
_MAGIC = {
    b"PK\x03\x04": ".zip",
    b"RDX": ".rdata",
    b"$FL2": ".sav",
    b"$FL3": ".zsav",
    b"BZh": ".bz2",
    b"\xfd7zXZ": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"\x93NUMPY": ".npy",
    b"\x89HDF": ".h5",
    b"FEA1": ".feather of version 1",
}
"""First bytes of formats that are not read."""


def ending(name: str) -> str:
    """Return the ending of a file's name in lower case, without ``.gz``."""
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), "")


def binary_format(data: bytes) -> BinaryFormat | None:
    """Tell Parquet and Arrow by their bytes; a CSV header may begin like them, but has no NUL bytes."""
    if data.startswith(b"PAR1") and (data.endswith(b"PAR1") or b"\0" in data):
        return "Parquet"
    if data.startswith(b"ARROW1") and b"\0" in data:
        return "Arrow"
    return "Arrow stream" if data.startswith(b"\xff\xff\xff\xff") else None


def require_text(data: bytes, name: str, label: str, *, coded: bool) -> None:
    """Refuse what is no text, and say how to export it.

    Parameters
    ----------
    data
        Contents of the file.
    name
        Its name.
    label
        The file, as messages call it.
    coded
        Whether an encoding was named, in which NUL bytes may be text.
    """
    seen = next((which for start, which in _MAGIC.items() if data.startswith(start)), "")
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if seen or (b"\0" in data and not utf16 and not coded):
        raise DataError(not_read(ending(name), seen, label))


def not_read(given: str, seen: str, label: str) -> str:
    """Say that a binary file is not read, and how to export it.

    Parameters
    ----------
    given
        Ending of its name.
    seen
        Ending that goes with its first bytes, if these are known.
    label
        The file, as messages call it.
    """
    told = given if given in EXPORT else seen
    if told in EXPORT:
        unpack = EXPORT[told] == _UNPACK
        what_to_do = f"{_UNPACK.capitalize()}." if unpack else f"Export it to CSV ({EXPORT[told]})."
        return f"{label} is a {told} file, which is not read here. {what_to_do}"
    known = f"a {seen or given} file" if seen or given else "an unknown format"
    return f"{label} ({known}) holds binary data, neither CSV nor Parquet. Export it to CSV."


def text_format(text: bytes, name: str, label: str) -> TextFormat:
    """Tell JSON lines from CSV, and refuse text that is neither.

    Parameters
    ----------
    text
        The file in UTF-8, blank lines around it removed.
    name
        Its name.
    label
        The file, as messages call it.
    """
    given, start = ending(name), text[:100].lstrip()
    known = f"a {given} file" if given else "an unknown format"
    if not start and not text.strip():
        msg = f"{label} is empty but for blanks."
        raise DataError(msg)
    if b"\0" in text:
        msg = f"{label} ({known}) holds NUL bytes, which no table has. Is its encoding right?"
        raise DataError(msg)
    if given in _OTHER_TEXT or start.lower().startswith(_MARKUP):
        msg = f"{label} ({known}) is not {READ}. Export it to CSV."
        raise DataError(msg)
    if given in _CSV_ENDINGS:
        return "CSV"
    if start.startswith(b"[{") or (start.startswith(b"[") and given in _JSON_ENDINGS):
        msg = f"{label} ({known}) is JSON, but not JSON lines. Write {_JSON}."
        raise DataError(msg)
    return "JSON lines" if start.startswith(b"{") or given in _JSON_ENDINGS else "CSV"
