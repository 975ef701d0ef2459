"""CSV files: polars parses the rows; whatever can be read in two ways is refused here."""

from __future__ import annotations

import codecs
import csv
import functools
import io
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from mmdbounds.errors import DataError, counted, shown_value
from mmdbounds.tables.frames import import_polars, require_unique_names
from mmdbounds.tables.reading import Reading
from mmdbounds.tables.text_numbers import (
    Understood,
    has_decimal_point,
    numbers_from_text,
    require_one_decimal,
)

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}  # the first one wins a tie
HEAD_RECORDS, HEAD_BYTES = 20, 1 << 16  # the part of a file that decides on the separator
CHUNK = 1 << 22  # bytes that are decoded at a time: the text of a large file is never in memory as a whole
FIRST_ROWS = 10_000  # rows that suggest the types of the columns; all rows decide


def check_encoding(encoding: object) -> str | None:
    """Return the name of an encoding as Python calls it, `None` for the default, UTF-8."""
    if encoding is None:
        return None
    try:
        name = codecs.lookup(str(encoding)).name
        io.TextIOWrapper(io.BytesIO(), encoding=name)  # some codecs are not encodings of text
    except (LookupError, ValueError):
        wanted = "the name of a text encoding, such as 'cp1252', 'latin-1' or 'utf-16'"
        msg = f"`encoding` must be {wanted}; got {shown_value(encoding)}."
        raise DataError(msg) from None
    return None if name in ("utf-8", "utf-8-sig") else name


def clean_text(data: bytes, label: str, encoding: str | None = None) -> bytes:
    """Return the text of a file in UTF-8, without byte-order mark and without blank lines around it."""
    if encoding is not None:
        try:
            data = data.decode(encoding).encode("utf-8")
        except UnicodeError as error:
            line = data.count(b"\n", 0, getattr(error, "start", 0)) + 1
            msg = f"{label} is not {encoding} text (line {line}). State its encoding with `encoding=`."
            raise DataError(msg) from None
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        msg = f"{label} is UTF-16 text, not UTF-8. Set `encoding=` to 'utf-16', or save the file as UTF-8."
        raise DataError(msg)
    elif not data.isascii():
        _require_utf8(data, label)
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\n" not in data:  # the line ends of old Macs
        data = data.replace(b"\r", b"\n")
    # Blank lines at the end would count as rows without a group. A single line end is not a blank line, and
    # cutting it off would copy the file.
    is_padded = data.startswith((b"\n", b"\r")) or data.endswith((b"\n\n", b"\n\r\n", b"\r\r\n"))
    return data.strip(b"\r\n") if is_padded else data


def _require_utf8(data: bytes, label: str) -> None:
    """Refuse what is not UTF-8, and say in which line."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), CHUNK):
        try:
            decoder.decode(data[start : start + CHUNK], final=start + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, start) + error.object.count(b"\n", 0, error.start) + 1
            to_do = "State its encoding with `encoding=` (often 'cp1252'), or save the file as 'CSV UTF-8'"
            msg = f"{label} is not UTF-8 text (line {line}). {to_do}."
            raise DataError(msg) from None


def read_csv(data: bytes, text: Collection[str], reading: Reading, label: str) -> tuple[Understood, str]:
    """Return the table in a CSV file in UTF-8, and in words how it was read; for options see `load_file`."""
    separator = sniff_separator(data)
    names = read_header(data, separator, label)
    frame = _parsed(data, separator, names, text)
    if frame is None:
        require_even_rows(data, separator, len(names), None, label)
        msg = f"{label} cannot be read as CSV. Check its quotation marks."
        raise DataError(msg)
    # Quotation marks and lone carriage returns can be read in two ways. polars fills short rows up with
    # missing cells: only then is a cell of the last column missing.
    may_mislead = b'"' in data or data.count(b"\r") != data.count(b"\r\n")
    if may_mislead or frame.get_column(names[-1]).null_count():
        require_even_rows(data, separator, len(names), frame.height, label)
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]

    @functools.cache
    def typed() -> pl.DataFrame:
        """Return the columns that polars has read as numbers with decimals, as they are typed."""
        raw = _parsed(data, separator, names, names)
        return import_polars().DataFrame() if raw is None else raw.select(floats)

    if reading.decimal == "comma":  # 1.234 is a thousand
        frame = frame.with_columns(typed())
    found = numbers_from_text(
        frame,
        [name for name in names if name not in text],
        reading.na,
        reading.decimal,
        lambda: has_decimal_point(typed()),
    )
    if found.commas and reading.decimal is None:
        require_one_decimal(found, typed(), label)
    return found, f"CSV ({SEPARATORS[separator]}{', decimal comma' if found.commas else ''})"


def sniff_separator(data: bytes) -> str:
    """Return the separator that cuts the first records into the same number of fields, the most of them."""
    head = data[:HEAD_BYTES]
    if len(data) > HEAD_BYTES:
        head = head[: head.rfind(b"\n") + 1] or head

    def evenness(separator: str) -> tuple[bool, int]:
        records = itertools.islice(_records(head, separator, strict=False), HEAD_RECORDS)
        sizes = [len(record) for record in records if record]
        return len(set(sizes)) == 1 and sizes[0] > 1, sizes[0] if sizes else 0

    return max(SEPARATORS, key=evenness)


def read_header(data: bytes, separator: str, label: str) -> list[str]:
    """Return the column names without blanks around them; refuse names that occur twice."""
    try:
        names = [name.strip() for name in next(_records(data, separator))]
    except (csv.Error, StopIteration):
        msg = f"{label} has a header that cannot be read. Check its quotation marks."
        raise DataError(msg) from None
    require_unique_names(names, label)
    return names


def _parsed(data: bytes, separator: str, names: Sequence[str], text: Collection[str]) -> pl.DataFrame | None:
    """Return the table as polars reads it, `None` if it cannot."""
    polars = import_polars()
    read = functools.partial(polars.read_csv, separator=separator)
    # If a later row contradicts the types that the first rows suggest, they are inferred from all rows,
    # which takes many times as long. Numbers that no integer type holds are left to us, as text.
    for how in ({"infer_schema_length": FIRST_ROWS}, {"infer_schema_length": None}, {"infer_schema": False}):
        try:
            # The columns by their places: names may have blanks around them, or be the same without these.
            # As text: before 2.0 polars parses rows even if asked for none.
            header = read(io.BytesIO(data), n_rows=0, infer_schema=False).columns
            kept = {raw: polars.String for raw, name in zip(header, names, strict=True) if name in text}
            frame: pl.DataFrame = read(io.BytesIO(data), schema_overrides=kept, **how)
            frame.columns = list(names)
        except MemoryError:
            raise
        except (Exception, polars.exceptions.PanicException):
            continue  # its messages quote cells: the caller finds the reason
        return frame
    return None


def require_even_rows(data: bytes, separator: str, n_columns: int, n_rows: int | None, label: str) -> None:
    """Refuse a row with more or fewer fields than the header (blank lines pass), or not `n_rows` of them.

    The csv module reads the file a second time. If it finds another number of rows, quotation marks or line
    ends can be taken in two ways.
    """
    records, number = _records(data, separator), 0
    try:
        next(records)
        for number, record in enumerate(records, start=1):  # the last one counts them
            if record and len(record) != n_columns:
                has = f"has {counted(len(record), 'field')}, but the header has {n_columns}"
                msg = f"{label} is ragged: row {number} below the header {has}."
                raise DataError(msg)
    except csv.Error:
        msg = f"{label} cannot be read as CSV from row {number + 1} on. Check its quotation marks."
        raise DataError(msg) from None
    if n_rows is not None and n_rows != number:
        counts = f"{counted(n_rows, 'row')} or as {counted(number, 'row')}"
        msg = f"{label} can be read as {counts}. Check its quotation marks and line ends."
        raise DataError(msg)


def _records(data: bytes, separator: str, *, strict: bool = True) -> Iterator[list[str]]:
    """Yield the fields of each record, none for a blank line."""
    # The csv module has a limit for cells (131,072 characters), which belongs to the whole process and is not
    # ours to change. Beyond it records are read here, more slowly.
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
    """Yield the fields of each record, however long they are, as the csv module would."""
    cut = separator.encode()
    field = re.compile(
        rb'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"\r\n%b][^\r\n%b]*+))?(%b|\r?\n|\r|\Z)' % ((re.escape(cut),) * 3)
    )
    place, record = 0, list[str]()
    while place < len(data) or record:
        found = field.match(data, place)
        if found is None:
            if strict:
                raise csv.Error
            return
        in_quotes, plain, end = found.groups()
        cell = plain or b"" if in_quotes is None else in_quotes.replace(b'""', b'"')
        is_blank_line = not record and found.start(3) == place and end != cut
        if not is_blank_line:
            record.append(cell.decode("utf-8", errors="replace"))
        if end != cut:
            yield record
            record = []
        place = found.end()
