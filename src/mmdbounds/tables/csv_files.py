"""CSV files: the csv module cuts rows into cells; whatever can be read in two ways is refused here."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
from collections.abc import Collection, Iterator

from mmdbounds.errors import DataError, counted, shown_value
from mmdbounds.tables.cells import of_texts
from mmdbounds.tables.csv_columns import CsvFile, lines_of, numbers_and_texts, records_of
from mmdbounds.tables.frames import require_unique_names
from mmdbounds.tables.reading import Reading, refuse_unnamed
from mmdbounds.tables.text_numbers import Understood, numbers_from_text

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}  # the first one wins a tie
HEAD_RECORDS, HEAD_BYTES = 20, 1 << 16  # the part of a file that decides on the separator
CHUNK = 1 << 22  # bytes that are decoded at a time: the text of a large file is never in memory as a whole


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
    """Return the table in a CSV file in UTF-8, and in words how it was read; for options see `load_file`.

    Cells of the columns in `text` are kept as they are typed.
    """
    if (at := reading.header_row) is not None:
        lines = data.rstrip(b"\n").count(b"\n") + 1
        if at > lines:
            msg = f"{label} has {counted(lines, 'row')}; `header_row` must be one of them, got {at}."
            raise DataError(msg)
        data = data.split(b"\n", at - 1)[-1]
    separator = sniff_separator(data)
    names = read_header(data, separator, reading.header_row, label)
    if data.count(b"\r") != data.count(b"\r\n"):
        _require_one_line_end(data, separator, label)
    file = CsvFile(data, separator, len(names), label)
    kept = {j for j, name in enumerate(names) if name in text}
    found = numbers_and_texts(file, kept, reading.na)
    doubtful = set(found.pointed if reading.decimal == "comma" else found.pointed - found.sure_points)
    late = found.late | doubtful
    texts = found.texts | (file.texts(late) if late else {})
    columns = {
        name: of_texts(texts[j], found.n_rows) if j in texts else found.numbers(j)
        for j, name in enumerate(names)
    }
    understood = numbers_from_text(
        columns,
        [name for name in names if name not in text],
        reading.na,
        reading.decimal,
        label,
        sure_points=[names[j] for j in sorted(found.sure_points - late - kept)],
    )
    commas = ", decimal comma" if understood.commas else ""
    return understood, f"CSV ({SEPARATORS[separator]}{commas})"


def sniff_separator(data: bytes) -> str:
    """Return the separator that cuts the first records into the same number of fields, the most of them."""
    head = data[:HEAD_BYTES]
    if len(data) > HEAD_BYTES:
        head = head[: head.rfind(b"\n") + 1] or head

    def evenness(separator: str) -> tuple[bool, int]:
        sizes: list[int] = []
        with contextlib.suppress(csv.Error):  # a cell that is too long; whoever reads the rows says where
            records = itertools.islice(records_of(head, separator, strict=False), HEAD_RECORDS)
            sizes += (len(record) for record in records if record)
        return len(set(sizes)) == 1 and sizes[0] > 1, sizes[0] if sizes else 0

    return max(SEPARATORS, key=evenness)


def read_header(data: bytes, separator: str, header_row: int | None, label: str) -> list[str]:
    """Return the column names without blanks around them; refuse names that occur twice."""
    try:
        names = [name.strip() for name in next(records_of(data, separator))]
    except (csv.Error, StopIteration):
        msg = f"{label} has a header that cannot be read. Check its quotation marks."
        raise DataError(msg) from None
    refuse_unnamed(names, header_row, label)
    require_unique_names(names, label)
    return names


def _require_one_line_end(data: bytes, separator: str, label: str) -> None:
    """Refuse a lone carriage return that ends a row: where others end otherwise, it may be part of a cell."""
    last = ""

    def noted() -> Iterator[str]:
        nonlocal last
        for line in lines_of(data):
            last = line
            yield line

    try:
        for number, _ in enumerate(csv.reader(noted(), delimiter=separator, strict=True)):
            if last.endswith("\r"):
                msg = f"{label} ends row {number} with a lone carriage return. Check its line ends."
                raise DataError(msg)
    except csv.Error:
        return  # whoever reads the rows says where
