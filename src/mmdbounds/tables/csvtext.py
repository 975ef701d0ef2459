"""What a CSV file says about itself: separator, header, and where its rows go wrong."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import TYPE_CHECKING

from mmdbounds.errors import DataError
from mmdbounds.tables.phrases import counted, listed, shown

if TYPE_CHECKING:
    from _csv import Reader

SEPARATORS = (",", ";", "\t")
"""Separators that are told apart by the header; the first wins a tie."""


def clean_text(data: bytes, label: str) -> bytes:
    """Return the text of a CSV file without byte-order mark and blank lines around it.

    Parameters
    ----------
    data
        The bytes of the file.
    label
        The file, as messages call it.

    Raises
    ------
    DataError
        If this is not text in UTF-8.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        msg = f"{label} is not UTF-8 text but UTF-16. Save it as 'CSV UTF-8'."
        raise DataError(msg)
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            msg = f"{label} is not UTF-8 text (line {line}). Save it as 'CSV UTF-8'."
            raise DataError(msg) from None
    if b"\n" not in data:  # the line ends of old Macs
        data = data.replace(b"\r", b"\n")
    # Blank lines at the end would count as rows without a group.
    return data.removeprefix(b"\xef\xbb\xbf").strip(b"\r\n")


def sniff_separator(data: bytes) -> str:
    """Return the separator that the header has most of, quoted text aside."""
    end = data.find(b"\n")
    line = (data if end < 0 else data[:end]).decode("utf-8", errors="replace")
    bare = re.sub(r'"[^"]*("|$)', "", line)
    return max(SEPARATORS, key=bare.count)


def read_header(data: bytes, separator: str, label: str) -> list[str]:
    """Return the column names, blanks around them removed, each only once or an error."""
    try:
        names = [name.strip() for name in next(_records(data, separator))]
    except (csv.Error, StopIteration):
        msg = f"{label} has a header that cannot be read. Check its quotation marks."
        raise DataError(msg) from None
    twice = [shown(name) for name, n in Counter(names).items() if n > 1]
    if twice:
        msg = f"{label} has more than one column called {listed(twice)}. Give each its own name."
        raise DataError(msg)
    return names


def require_even_rows(data: bytes, separator: str, n_columns: int, label: str) -> int | None:
    """Refuse a file in which some row has more or fewer fields than the header; blank lines pass.

    Returns
    -------
    int or None
        The line at which the quotation marks stopped making sense, if they did.
    """
    records = _records(data, separator)
    try:
        next(records)
        for number, record in enumerate(records, start=1):
            if record and len(record) != n_columns:
                msg = (
                    f"{label} is ragged: row {number} below the header has "
                    f"{counted(len(record), 'field')} where the header has {n_columns}."
                )
                raise DataError(msg)
    except csv.Error:
        return records.line_num
    return None


def _records(data: bytes, separator: str) -> Reader:
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    return csv.reader(text, delimiter=separator, strict=True)
