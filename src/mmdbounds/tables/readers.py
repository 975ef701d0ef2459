"""CSV, Parquet, Arrow and JSON lines into polars DataFrames.

polars gets bytes, never a name: given one, it expands patterns and ``~`` and fetches addresses, so that
``data[1].csv`` would read ``data1.csv``.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mmdbounds.errors import DataError
from mmdbounds.tables.csvtext import (
    SEPARATORS,
    may_mislead,
    read_header,
    require_even_rows,
    sniff_separator,
)
from mmdbounds.tables.formats import BinaryFormat
from mmdbounds.tables.libraries import import_polars
from mmdbounds.tables.numerals import numbers_from_text
from mmdbounds.tables.phrases import listed, shown

if TYPE_CHECKING:
    import polars as pl

READERS: dict[BinaryFormat, str] = {
    "Parquet": "read_parquet",
    "Arrow": "read_ipc",
    "Arrow stream": "read_ipc_stream",
}
"""Functions of polars that read each format."""

FIRST_ROWS = 10_000
"""Rows that suggest the types of the columns of a CSV file; all rows decide."""

_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_TRIAL = """\
import io, sys, polars
try:
    getattr(polars, sys.argv[1])(io.BytesIO(sys.stdin.buffer.read()))
except BaseException as error:
    print(type(error).__name__)
    sys.exit(3)
"""
_REFUSED = 3
_KILLED = -9  # by the system, when memory runs out
_ALLOCATION = re.compile(rb"memory allocation of ([0-9]{1,30}) bytes failed")

MOST_AT_ONCE = 2**40
"""Bytes: who asks for more at once reads a damaged file, and not one that is too large for this machine."""

_SORTS = {bool: "true or false", int: "numbers", float: "numbers", str: "text"}


def read_csv(data: bytes, text: Collection[str], na: Collection[str], label: str) -> tuple[pl.DataFrame, str]:
    """Read CSV; the whole file decides on the types of its columns.

    Parameters
    ----------
    data
        The file in UTF-8.
    text
        Columns to be kept as they are printed (``007`` stays ``007``).
    na
        Words for missing cells, beside the usual ones.
    label
        The file, as messages call it.

    Returns
    -------
    frame, how
        The table, and in words how it was read.
    """
    separator = sniff_separator(data)
    names = read_header(data, separator, label)
    frame = _parsed(data, separator, names, text)
    if frame is None:
        require_even_rows(data, separator, len(names), None, label)
        msg = f"{label} cannot be read as CSV. Check its quotation marks."
        raise DataError(msg)
    # polars fills short rows up with missing cells: only then is one of the last column missing.
    if may_mislead(data) or frame.get_column(names[-1]).null_count():
        require_even_rows(data, separator, len(names), frame.height, label)
    points = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    frame, commas = numbers_from_text(frame, [name for name in names if name not in text], na)
    if commas and points:
        _require_no_points(data, separator, names, points, commas[0], label)
    decimals = ", decimal comma" if commas else ""
    return frame, f"CSV ({SEPARATORS[separator]}{decimals})"


def _parsed(data: bytes, separator: str, names: Sequence[str], text: Collection[str]) -> pl.DataFrame | None:
    """Return the table as polars reads it, `None` if it cannot."""
    polars = import_polars()
    # Types that the first rows suggest and a later one contradicts are an error, and inferred from all rows,
    # which takes many times as long. Numbers that no integer type holds are left to us, as text.
    for how in ({"infer_schema_length": FIRST_ROWS}, {"infer_schema_length": None}, {"infer_schema": False}):
        try:
            # The columns by their places: names may have blanks around them, or be repeated but for these.
            # As text: before 2.0 polars parses rows even if asked for none.
            found = polars.read_csv(
                io.BytesIO(data), separator=separator, n_rows=0, infer_schema=False
            ).columns
            kept = {raw: polars.String for raw, name in zip(found, names, strict=True) if name in text}
            frame: pl.DataFrame = polars.read_csv(
                io.BytesIO(data), separator=separator, schema_overrides=kept, **how
            )
            frame.columns = list(names)
        except MemoryError:
            raise
        except (Exception, polars.exceptions.PanicException):
            continue  # its messages quote cells: whoever asked looks for the reason
        return frame
    return None


def _require_no_points(
    data: bytes, separator: str, names: Sequence[str], points: Sequence[str], comma: str, label: str
) -> None:
    """Refuse points beside decimal commas: ``1.234`` could be a thousand there."""
    text = _parsed(data, separator, names, names)
    for name in points:
        if text is not None and text.get_column(name).str.contains(".", literal=True).any():
            msg = (
                f"{label} writes decimals with a comma in {shown(comma)} and with a point in {shown(name)}. "
                "Write all of them with a point."
            )
            raise DataError(msg)


def read_binary(data: bytes, which: BinaryFormat, label: str) -> pl.DataFrame:
    """Read a Parquet or Arrow file."""
    polars = import_polars()
    if which == "Arrow stream" and not data.endswith(_END_OF_STREAM):
        msg = f"{label} is an incomplete Arrow stream: its end is missing."
        raise DataError(msg)
    trouble = _trouble(data, READERS[which], label)
    if trouble is None:
        try:
            frame: pl.DataFrame = getattr(polars, READERS[which])(io.BytesIO(data))
        except MemoryError:
            raise
        except (Exception, polars.exceptions.PanicException) as error:
            trouble = type(error).__name__
        else:
            return frame
    if "Duplicate" in trouble:
        msg = f"{label} has more than one column of the same name. Give each its own name."
    else:
        file = which.removesuffix(" stream")
        msg = f"{label} is a damaged {file} file, or one that polars cannot read ({trouble})."
    raise DataError(msg)


def _trouble(data: bytes, reader: str, label: str) -> str | None:
    """Return what goes wrong when another process reads the file, `None` if nothing does.

    One damaged file in a thousand makes polars ask for more memory than there is, which ends the process;
    others make its threads write their stacks to standard error. Neither shall happen in this process.
    A sound file that is too large for this machine is no damaged one: that is a `MemoryError`.
    """
    command = [sys.executable, "-P", "-c", _TRIAL, reader]  # -P: no module of the working directory
    try:
        tried = subprocess.run(command, input=data, capture_output=True, check=False)
    except OSError:  # no Python to start, as in a frozen application
        return None
    said = tried.stdout.decode("utf-8", errors="replace").strip()
    asked_for = [int(n) for n in _ALLOCATION.findall(tried.stderr)]
    if tried.returncode == _KILLED or said == "MemoryError" or (asked_for and max(asked_for) < MOST_AT_ONCE):
        msg = f"there is not enough memory to read {label}, {len(data) / 2**20:,.1f} MiB as a file."
        raise MemoryError(msg)
    if tried.returncode == _REFUSED:
        return said
    # A negative code is a signal's; Windows has large ones. 1 and 2 mean that Python itself did not start.
    return "the process ended" if tried.returncode < 0 or tried.returncode > _REFUSED else None


def read_json_lines(data: bytes, text: Collection[str], label: str) -> pl.DataFrame:
    """Read a file with one JSON object a line; keys that a line lacks are missing cells.

    Parameters
    ----------
    data
        The file in UTF-8.
    text
        Columns that are kept as they are printed, and so may mix numbers and text.
    label
        The file, as messages call it.
    """
    polars = import_polars()
    _require_objects(data, text, label)
    try:
        frame: pl.DataFrame = polars.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except MemoryError:
        raise
    except (Exception, polars.exceptions.PanicException):
        msg = f"{label} has a key with values of different types. Give each column one type."
        raise DataError(msg) from None
    if not frame.width:
        msg = f"{label} has no columns: its objects are empty."
        raise DataError(msg)
    return frame


def _require_objects(data: bytes, text: Collection[str], label: str) -> None:
    """Refuse lines that are no JSON object, objects with a key twice, and keys whose values are of two sorts.

    Of a key that comes twice one value would win; 1, true and "low" under one key would all become text.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            twice = [shown(key) for key, n in Counter(key for key, _ in pairs).items() if n > 1]
            msg = f"{label} has an object with more than one {listed(twice)}{where}. Give each its own name."
            raise DataError(msg)
        return made

    decode = json.JSONDecoder(object_pairs_hook=unique, parse_constant=_refuse).decode
    sorts: dict[str, str] = {}
    last: list[type] = []
    for number, line in enumerate(io.BytesIO(data), start=1):
        where = f" in line {number}"
        if not line.strip():
            continue
        try:
            found = decode(line.decode("utf-8"))
        except DataError:
            raise
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            msg = f"{label} is not JSON lines: line {number} is no JSON object. Write one object a line."
            raise DataError(msg)
        shape = list(map(type, found.values()))
        if shape != last or found.keys() != sorts.keys():  # most lines are like the one before
            _require_one_sort(found, sorts, text, f"{label}{where}")
            last = shape


def _require_one_sort(
    found: Mapping[str, Any], sorts: dict[str, str], text: Collection[str], where: str
) -> None:
    """Refuse a value of another sort than those seen under the same key before, which are in `sorts`."""
    for key, value in found.items():
        sort = _SORTS.get(type(value), "objects or lists")
        if value is not None and sorts.setdefault(key, sort) != sort and key not in text:
            msg = (
                f"{where} has {sort} under {shown(key)}, after {sorts[key]} there. Give each column one type."
            )
            raise DataError(msg)


def _refuse(constant: str) -> None:
    """Refuse NaN and infinities, which JSON does not have."""
    raise ValueError(constant)
