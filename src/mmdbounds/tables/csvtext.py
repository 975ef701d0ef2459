"""What a text file says about itself: encoding, separator, header, and where its rows go wrong."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator

from mmdbounds.errors import DataError
from mmdbounds.tables.phrases import counted, listed, option, shown

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
"""Separators that are told apart, and what they are called; the first wins a tie."""

HEAD_RECORDS, HEAD_BYTES = 20, 1 << 16
"""Of a file, as much as is looked at to tell the separator."""

CHUNK = 1 << 22
"""Bytes that are decoded at a time: the text of a large file is never there as a whole."""


def check_encoding(encoding: object) -> str | None:
    """Return the name of an encoding as Python calls it, `None` for the default."""
    if encoding is None:
        return None
    try:
        name = codecs.lookup(str(encoding)).name
        io.TextIOWrapper(io.BytesIO(), encoding=name)  # some codecs are no encodings of text
    except (LookupError, ValueError):
        msg = (
            f"{option('encoding')} must be the name of a text encoding, such as 'cp1252', 'latin-1' or "
            f"'utf-16'; got {shown(encoding)}."
        )
        raise DataError(msg) from None
    return None if name in ("utf-8", "utf-8-sig") else name


def clean_text(data: bytes, label: str, encoding: str | None = None) -> bytes:
    """Return the text of a file in UTF-8, without byte-order mark and blank lines around it.

    Parameters
    ----------
    data
        The bytes of the file.
    label
        The file, as messages call it.
    encoding
        Its encoding, UTF-8 if `None`.

    Raises
    ------
    DataError
        If this is not text in this encoding.
    """
    if encoding is not None:
        data = _recoded(data, label, encoding)
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        msg = (
            f"{label} is not UTF-8 text but UTF-16. Pass {option('encoding')} 'utf-16', or save it as UTF-8."
        )
        raise DataError(msg)
    elif not data.isascii():
        _require_utf8(data, label)
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\n" not in data:  # the line ends of old Macs
        data = data.replace(b"\r", b"\n")
    # Blank lines at the end would count as rows without a group; one line end is no blank line, and
    # cutting it off would copy the file.
    blank = data.startswith((b"\n", b"\r")) or data.endswith((b"\n\n", b"\n\r\n", b"\r\r\n"))
    return data.strip(b"\r\n") if blank else data


def _recoded(data: bytes, label: str, encoding: str) -> bytes:
    """Return text of another encoding in UTF-8."""
    try:
        return data.decode(encoding).encode("utf-8")
    except UnicodeError as error:
        line = data.count(b"\n", 0, getattr(error, "start", 0)) + 1
        msg = f"{label} is not {encoding} text (line {line}). Give its encoding with {option('encoding')}."
        raise DataError(msg) from None


def _require_utf8(data: bytes, label: str) -> None:
    """Refuse what is not UTF-8, and say in which line."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), CHUNK):
        try:
            decoder.decode(data[start : start + CHUNK], final=start + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, start) + error.object.count(b"\n", 0, error.start) + 1
            msg = (
                f"{label} is not UTF-8 text (line {line}). Give its encoding with {option('encoding')}, "
                "often cp1252, or save it as 'CSV UTF-8'."
            )
            raise DataError(msg) from None


def sniff_separator(data: bytes) -> str:
    """Return the separator that cuts the first records into the same number of fields, most of them."""
    head = data[:HEAD_BYTES]
    if len(data) > HEAD_BYTES:
        head = head[: head.rfind(b"\n") + 1] or head

    def evenness(separator: str) -> tuple[bool, int]:
        records = itertools.islice(_records(head, separator, strict=False), HEAD_RECORDS)
        sizes = [len(record) for record in records if record]
        return len(set(sizes)) == 1 and sizes[0] > 1, sizes[0] if sizes else 0

    return max(SEPARATORS, key=evenness)


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


def may_mislead(data: bytes) -> bool:
    """Tell whether quotation marks or lone carriage returns could be read in two ways."""
    return b'"' in data or data.count(b"\r") != data.count(b"\r\n")


def require_even_rows(data: bytes, separator: str, n_columns: int, n_rows: int | None, label: str) -> None:
    """Refuse a file in which a row has more or fewer fields than the header; blank lines pass.

    The file is read a second time, by the csv module: where it finds another number of rows than `n_rows`
    (unless `None`), quotation marks or line ends can be taken in two ways.
    """
    records, number = _records(data, separator), 0
    try:
        next(records)
        for number, record in enumerate(records, start=1):  # the last one counts them
            if record and len(record) != n_columns:
                msg = (
                    f"{label} is ragged: row {number} below the header has "
                    f"{counted(len(record), 'field')} where the header has {n_columns}."
                )
                raise DataError(msg)
    except csv.Error:
        msg = f"{label} cannot be read as CSV from row {number + 1} on. Check its quotation marks."
        raise DataError(msg) from None
    if n_rows is not None and n_rows != number:
        msg = (
            f"{label} can be read as {counted(n_rows, 'row')} or as {counted(number, 'row')}. Check its "
            "quotation marks and line ends."
        )
        raise DataError(msg)


def _records(data: bytes, separator: str, *, strict: bool = True) -> Iterator[list[str]]:
    """Return the fields of each record, none for a blank line.

    The csv module reads them as long as no cell is longer than its limit (131,072 characters), which
    belongs to the whole process and is not for us to change. From there on they are read here, more slowly.
    """
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace", newline="")
    number = 0
    try:
        for record in csv.reader(text, delimiter=separator, strict=strict):
            number += 1
            yield record
    except csv.Error as error:
        if "field limit" not in str(error):
            raise
        yield from itertools.islice(_long_records(data, separator, strict=strict), number, None)


def _long_records(data: bytes, separator: str, *, strict: bool) -> Iterator[list[str]]:
    """Return the fields of each record, however long they are, as the csv module would."""
    cut = re.escape(separator.encode())
    field = re.compile(
        rb'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"\r\n'
        + cut
        + rb"][^\r\n"
        + cut
        + rb"]*+))?("
        + cut
        + rb"|\r?\n|\r|\Z)"
    )
    place, record = 0, list[str]()
    while place < len(data) or record:
        found = field.match(data, place)
        if found is None:
            if strict:
                raise csv.Error
            return
        quoted, plain, end = found.groups()
        cell = plain or b"" if quoted is None else quoted.replace(b'""', b'"')
        is_blank = not record and found.start(3) == place and end != separator.encode()
        if not is_blank:
            record.append(cell.decode("utf-8", errors="replace"))
        if end != separator.encode():
            yield record
            record = []
        place = found.end()
