"""PhysioNet's layout: where the tables and images of MIMIC-CXR-JPG and MIMIC-IV are, and how they are read.

The tables have a few hundred thousand rows: Python's own reader takes seconds.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lab.datasets.files import PathLike, as_path, read_bytes
from mmdbounds.errors import DataError

IMAGES = "files"
"""The folder of the images, inside the folder of MIMIC-CXR-JPG."""

ADMISSIONS = ("admissions", "hosp/admissions", "core/admissions")
"""Where MIMIC-IV has its admissions: in `hosp`, before version 2.0 in `core`."""

ENDINGS = (".csv.gz", ".csv")


@dataclass(frozen=True, slots=True)
class Places:
    """The folder of MIMIC-CXR-JPG and the three tables that the cohort is made from."""

    root: Path
    metadata: Path
    labels: Path
    admissions: Path


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of a table as text, with the name and digest of the file."""

    name: str
    sha256: str
    columns: Mapping[str, list[str]]


def find_places(folder: PathLike, admissions: PathLike | None = None) -> Places:
    """Find the tables, or say which one is missing.

    Parameters
    ----------
    folder
        The folder of MIMIC-CXR-JPG, with ``files`` and the tables in it.
    admissions
        The table of admissions, or the folder of MIMIC-IV; `None` looks in `folder`.
    """
    root = as_path(folder, "`folder`")
    if not (root / IMAGES).is_dir():
        msg = f"{str(root)!r} is not the folder of MIMIC-CXR-JPG: there is no folder {IMAGES!r} in it."
        raise DataError(msg)
    metadata, labels = _only_table(root, "metadata"), _only_table(root, "chexpert")
    return Places(root, metadata, labels, _find_admissions(root, admissions))


def _only_table(root: Path, what: str) -> Path:
    """Return the one table ``mimic-cxr-<version>-<what>``, packed or not."""
    found = sorted(p for end in ENDINGS for p in root.glob(f"mimic-cxr-*-{what}{end}") if p.is_file())
    if len(found) != 1:
        names = f"{len(found)} files" if found else "no file"
        msg = (
            f"{str(root)!r} must hold one table mimic-cxr-2.0.0-{what}.csv.gz; got {names} with such a name."
        )
        raise DataError(msg)
    return found[0]


def _find_admissions(root: Path, given: PathLike | None) -> Path:
    place = root if given is None else as_path(given, "`admissions`")
    if place.is_file():
        return place
    for name in (f"{stem}{end}" for stem in ADMISSIONS for end in ENDINGS):
        if (place / name).is_file():
            return place / name
    msg = (
        f"there is no table of admissions at {str(place)!r}. Set `admissions` to MIMIC-IV's "
        "hosp/admissions.csv.gz, which holds the race of the patients."
    )
    raise DataError(msg)


def image_file(subject: str, study: str, dicom: str) -> PurePosixPath:
    """Return the path of an image, relative to the folder of MIMIC-CXR-JPG."""
    return PurePosixPath(IMAGES, f"p{subject[:2]}", f"p{subject}", f"s{study}", f"{dicom}.jpg")


def read_table(path: Path, wanted: Mapping[str, tuple[str, ...]]) -> Table:
    """Read columns of a CSV file, compressed by gzip or not.

    Parameters
    ----------
    path
        The file.
    wanted
        For each column the names that it may have in the file; the first one present is used.

    Raises
    ------
    DataError
        If the file is damaged, a column is missing, or a row has more or fewer fields than the header.
    """
    raw = read_bytes(path)
    try:
        columns = _read_columns(raw, wanted, path.name)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        msg = f"{path.name} is a damaged or incomplete gzip file. Download it again."
    except UnicodeDecodeError:
        msg = f"{path.name} is not UTF-8 text. Download it again."
    except csv.Error as error:
        msg = f"{path.name} cannot be read as CSV: {error}. Download it again."
    else:
        return Table(path.name, hashlib.sha256(raw).hexdigest(), columns)
    raise DataError(msg)


def _read_columns(raw: bytes, wanted: Mapping[str, tuple[str, ...]], label: str) -> dict[str, list[str]]:
    binary = io.BytesIO(raw)
    packed = raw.startswith(b"\x1f\x8b")
    text = io.TextIOWrapper(gzip.GzipFile(fileobj=binary) if packed else binary, "utf-8-sig", newline="")
    rows = csv.reader(text, strict=True)
    header = next(rows, [])
    places = [_column(header, names, label) for names in wanted.values()]
    columns: list[list[str]] = [[] for _ in places]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            msg = f"{label} is ragged: row {number} has {len(row)} fields where the header has {len(header)}."
            raise DataError(msg)
        for column, place in zip(columns, places, strict=True):
            column.append(row[place].strip())
    return dict(zip(wanted, columns, strict=True))


def _column(header: list[str], names: tuple[str, ...], label: str) -> int:
    for name in names:
        if name in header:
            return header.index(name)
    msg = f"{label} has no column {' or '.join(map(repr, names))}; it begins with {', '.join(header[:6])!r}."
    raise DataError(msg)
