"""Which format a file has; Parquet and Arrow by polars; how to export all others.

polars gets bytes, never a name: given a name, it expands patterns and ``~`` and fetches addresses, so that
``data[1].csv`` would read ``data1.csv``.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import PurePath
from typing import Literal

from mmdbounds.errors import DataError
from mmdbounds.tables import frames
from mmdbounds.tables.cells import Cells

BinaryFormat = Literal["Parquet", "Arrow", "Arrow stream", "Excel"]

FORMATS = "CSV, Excel, Parquet, Arrow or JSON lines"
_POLARS_READER = {"Parquet": "read_parquet", "Arrow": "read_ipc", "Arrow stream": "read_ipc_stream"}
_TO_PARQUET = "in Python: df.to_parquet(...)"
_UNPACK = "unpack it first; the only compression read here is gzip"
_WORKBOOK = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
EXPORT = {  # how files of other programs become CSV, by their ending
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb"), "in Excel: File > Save As > 'CSV UTF-8'"),
    ".ods": "in LibreOffice: File > Save As > 'Text CSV'",
    ".numbers": "in Numbers: File > Export To > CSV",
    **dict.fromkeys((".sav", ".zsav", ".por"), "in SPSS: SAVE TRANSLATE /TYPE=CSV /FIELDNAMES"),
    ".dta": "in Stata: export delimited",
    **dict.fromkeys((".sas7bdat", ".xpt"), "in SAS: PROC EXPORT with DBMS=CSV"),
    **dict.fromkeys((".rds", ".rdata", ".rda"), "in R: write.csv(x, 'file.csv', row.names = FALSE)"),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), f"{_TO_PARQUET}; pickles are never opened"),
    **dict.fromkeys((".npz", ".npy", ".mat"), "in Python: pass the arrays to `mmd_bounds` directly"),
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".orc", ".avro"), _TO_PARQUET),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "in SQLite: .mode csv, .headers on, .output file.csv"),
    ".duckdb": "in DuckDB: COPY (SELECT ...) TO 'file.csv'",
    ".arff": "in R: foreign::read.arff, then write.csv",
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar", ".tgz", ".bz2", ".xz", ".zst"), _UNPACK),
}
_OTHER_TEXT = (".html", ".htm", ".xml", ".yaml", ".yml", ".arff")
_MARKUP = (b"<!doctype", b"<html", b"<?xml", b"<table", b"<!--")
_CSV_ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".dat")
_JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
_FIRST_BYTES = {  # of formats that are not read
    b"PK\x03\x04": ".zip",
    b"BZh": ".bz2",
    b"\xfd7zXZ": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"RDX": ".rdata",
    b"$FL2": ".sav",
    b"$FL3": ".zsav",
    b"\x93NUMPY": ".npy",
    b"\x89HDF": ".h5",
    b"FEA1": ".feather of version 1",
}
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_TRIAL = """\
import io, sys
try:
    import polars
    data = sys.stdin.buffer.read()
    if sys.argv[1] == "read_excel":
        import fastexcel
        fastexcel.read_excel(data).load_sheet(0, header_row=None, dtypes="string").to_polars()
    else:
        getattr(polars, sys.argv[1])(io.BytesIO(data))
except BaseException as error:
    print(type(error).__name__)
    sys.exit(3)
"""
_REFUSED = 3
_KILLED = -9  # by the system, when memory runs out
_ALLOCATION = re.compile(rb"memory allocation of ([0-9]{1,30}) bytes failed")
MOST_AT_ONCE = 2**40  # bytes: a file that asks for more at once is damaged, not merely too large


def ending(name: str) -> str:
    """Return the ending of a file's name in lower case, without ``.gz``."""
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), "")


def binary_format(data: bytes) -> BinaryFormat | None:
    """Tell binary formats by their bytes; a CSV header may begin like one, but has no NUL bytes."""
    if data.startswith(b"PAR1") and (data.endswith(b"PAR1") or b"\0" in data):
        return "Parquet"
    if data.startswith(b"ARROW1") and b"\0" in data:
        return "Arrow"
    if _is_workbook(data):
        return "Excel"
    return "Arrow stream" if data.startswith(b"\xff\xff\xff\xff") else None


def _is_workbook(data: bytes) -> bool:
    """Tell workbooks of Excel, old and new, and of OpenDocument."""
    if data.startswith(b"PK\x03\x04"):
        return b"xl/workbook" in data or b"opendocument.spreadsheet" in data[:200]
    return data.startswith(b"\xd0\xcf\x11\xe0") and "Workbook".encode("utf-16-le") in data


def require_text(data: bytes, name: str, label: str, *, has_encoding: bool) -> None:
    """Refuse what is not text; in an encoding that the user named, NUL bytes may be text."""
    seen = next((which for start, which in _FIRST_BYTES.items() if data.startswith(start)), "")
    is_utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if seen or (b"\0" in data and not is_utf16 and not has_encoding):
        raise DataError(binary_refusal(ending(name), seen, label))


def binary_refusal(given: str, seen: str, label: str) -> str:
    """Say how to export a binary file whose name ends in `given`; its first bytes belong to `seen`, or ""."""
    which = given if given in EXPORT else seen
    if which in EXPORT:
        is_packed = EXPORT[which] == _UNPACK
        to_do = _UNPACK.capitalize() if is_packed else f"Export it to CSV ({EXPORT[which]})"
        why = "damaged or protected by a password" if which in _WORKBOOK else "which is not read here"
        return f"{label} is a {which} file, {why}. {to_do}."
    subject = f"{label} ({_described(seen or given)})"
    return f"{subject} holds binary data, neither CSV nor Parquet. Export it to CSV."


def _described(file_ending: str) -> str:
    return f"a {file_ending} file" if file_ending else "an unknown format"


def text_format(text: bytes, name: str, label: str) -> Literal["CSV", "JSON lines"]:
    """Tell JSON lines from CSV, and refuse text that is neither; `text` is the cleaned file."""
    given, start = ending(name), text[:100].lstrip()
    if not start and not text.strip():
        msg = f"{label} holds nothing but blanks."
        raise DataError(msg)
    known = f"{label} ({_described(given)})"
    if b"\0" in text:
        msg = f"{known} holds NUL bytes, which no table has. Is its encoding right?"
    elif given in _OTHER_TEXT or start.lower().startswith(_MARKUP):
        msg = f"{known} is not {FORMATS}. Export it to CSV."
    elif given in _CSV_ENDINGS:
        return "CSV"
    elif start.startswith(b"[{") or (start.startswith(b"[") and given in _JSON_ENDINGS):
        how = "in Python: df.to_json(..., orient='records', lines=True)"
        msg = f"{known} is JSON, but not JSON lines. Write one object per line, {how}."
    else:
        return "JSON lines" if start.startswith(b"{") or given in _JSON_ENDINGS else "CSV"
    raise DataError(msg)


def read_binary(data: bytes, which: BinaryFormat, label: str) -> dict[str, Cells]:
    """Return the columns of a Parquet or Arrow file."""
    frames.require_polars(label, which.removesuffix(" stream"))
    if which == "Arrow stream" and not data.endswith(_END_OF_STREAM):
        msg = f"{label} is an incomplete Arrow stream: its end is missing."
        raise DataError(msg)
    failure = failure_elsewhere(data, _POLARS_READER[which], label)
    if failure is None:
        polars = frames.import_polars()
        try:
            frame = getattr(polars, _POLARS_READER[which])(io.BytesIO(data))
        except MemoryError:
            raise
        except (Exception, polars.exceptions.PanicException) as error:
            failure = type(error).__name__
        else:
            return frames.as_columns(frames.as_frame(frame, "data"))
    if "Duplicate" in failure:
        msg = f"{label} has more than one column of the same name. Give each its own name."
    else:
        file = which.removesuffix(" stream")
        msg = f"{label} is a damaged {file} file, or one that polars cannot read ({failure})."
    raise DataError(msg)


def failure_elsewhere(data: bytes, reader: str, label: str) -> str | None:
    """Return what goes wrong when another process reads the file, `None` if nothing does.

    One damaged file in a thousand makes polars ask for more memory than there is, which ends the process;
    others make its threads write their stacks to standard error. Neither may happen in this process.
    A sound file that is too large for this machine is not damaged: that is a `MemoryError`.
    """
    command = [sys.executable, "-P", "-c", _TRIAL, reader]  # -P: no module of the working directory
    try:
        tried = subprocess.run(command, input=data, capture_output=True, check=False)
    except OSError:  # no Python to start, as in a frozen application
        return None
    printed = tried.stdout.decode("utf-8", errors="replace").strip()
    sizes = [int(n) for n in _ALLOCATION.findall(tried.stderr)]
    if tried.returncode == _KILLED or printed == "MemoryError" or (sizes and max(sizes) < MOST_AT_ONCE):
        msg = f"there is not enough memory to read {label}, a file of {len(data) / 2**20:,.1f} MiB."
        raise MemoryError(msg)
    if tried.returncode == _REFUSED:
        return printed
    # A negative code is a signal's; Windows has large ones. 1 and 2 mean that Python itself did not start.
    return "the process ended" if tried.returncode < 0 or tried.returncode > _REFUSED else None
