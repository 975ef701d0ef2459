"""The rows of a CSV file as columns: the csv module cuts them into cells, NumPy parses plain numbers."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import math
import re
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from mmdbounds.errors import DataError, counted
from mmdbounds.tables.cells import EXACT_UP_TO, Cells, Floats, of_floats
from mmdbounds.tables.reading import FURTHER_DOWN
from mmdbounds.tables.text_numbers import NUMBER, has_sure_point, is_missing

BLOCK_CELLS = 1 << 18  # that are read at a time
TITLE_ROWS = 5  # rows below a first one that may be a title, not a header
_NUMBER = re.compile(NUMBER)


def lines_of(data: bytes) -> Iterator[str]:
    """Yield the lines of a file, with their ends."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace", newline="")


def records_of(data: bytes, separator: str, *, strict: bool = True) -> Iterator[list[str]]:
    """Return the fields of each record, none for a blank line."""
    return csv.reader(lines_of(data), delimiter=separator, strict=strict)


@dataclass(frozen=True)
class CsvFile:
    """The rows of a CSV file, read as often as needed.

    The text of a large file is never in memory as a whole.
    """

    data: bytes
    separator: str
    n_columns: int
    label: str

    def blocks(self) -> Iterator[tuple[list[list[str]], list[str]]]:
        """Yield some rows at a time, all of them even, and the lines of the file that they are in."""
        lines: list[str] = []

        def noted() -> Iterator[str]:
            for line in lines_of(self.data):
                lines.append(line)
                yield line

        records = csv.reader(noted(), delimiter=self.separator, strict=True)
        n_rows, size = 0, max(1, BLOCK_CELLS // self.n_columns)
        rows: list[list[str]] = []
        try:
            next(records)
            lines.clear()
            while rows := list(itertools.islice(records, size)):
                if set(map(len, rows)) != {self.n_columns}:
                    rows = self._even(rows, n_rows)
                yield rows, lines
                n_rows += len(rows)
                lines.clear()
        except csv.Error as error:
            raise DataError(self._trouble(error, n_rows)) from None

    def _even(self, rows: list[list[str]], before: int) -> list[list[str]]:
        """Return rows with the cells of blank lines; refuse those with another number of fields."""
        for number, row in enumerate(rows, start=before + 1):
            if row and len(row) != self.n_columns:
                has = f"has {counted(len(row), 'field')}, but the header has {self.n_columns}"
                hint = f" {FURTHER_DOWN}" if self.n_columns < len(row) and number <= TITLE_ROWS else ""
                msg = f"{self.label} is ragged: row {number} below the header {has}.{hint}"
                raise DataError(msg)
        return [row or [""] * self.n_columns for row in rows]

    def _trouble(self, error: csv.Error, before: int) -> str:
        """Return what is wrong, in one of the rows after those that were read."""
        number = before + 1
        with contextlib.suppress(csv.Error):
            for record in itertools.islice(records_of(self.data, self.separator), before + 1, None):
                number += bool(record is not None)
        if "field limit" in str(error):
            most = f"a cell of more than {csv.field_size_limit():,} characters"
            return f"{self.label} has {most} in row {number} below the header. Is a quotation mark missing?"
        return f"{self.label} cannot be read as CSV from row {number} on. Check its quotation marks."

    def texts(self, columns: Collection[int]) -> dict[int, list[str]]:
        """Return the cells of some columns as they are typed."""
        found: dict[int, list[str]] = {j: [] for j in columns}
        same: dict[int, dict[str, str]] = {j: {} for j in columns}
        for rows, _ in self.blocks():
            for j in columns:
                found[j] += _interned(rows, j, same[j])
        return found


def _interned(rows: list[list[str]], j: int, same: dict[str, str]) -> list[str]:
    """Return the cells of a column; equal ones are one object, which saves memory."""
    return [same.setdefault(row[j], row[j]) for row in rows]


@dataclass
class Found:
    """What a first pass has made of the columns, by their places."""

    n_rows: int
    parts: dict[int, list[Floats]]  # numbers, block by block
    texts: dict[int, list[str]]  # cells of columns that were text from the start
    late: set[int]  # columns that turned out to be text later on: their cells are not here
    pointed: set[int]  # columns of numbers that are not all typed as whole ones
    sure_points: set[int]  # of these, those with a point that cannot separate thousands

    def numbers(self, j: int) -> Cells:
        """Return a column of numbers; those typed without a point are whole."""
        floats = np.concatenate([np.empty(0), *self.parts.pop(j)])
        if j in self.pointed or np.isnan(floats).all():
            return of_floats(floats)
        return of_floats(floats, "integer")


def numbers_and_texts(file: CsvFile, kept: Collection[int], na: Collection[str]) -> Found:
    """Read every column as numbers as long as its cells are plain ones or stand for missing ones.

    NumPy parses columns that are nothing but numbers; where a cell is missing, Python does. Other columns are
    text, and so are whole numbers that float64 would round.
    """
    plain = [j for j in range(file.n_columns) if j not in kept]
    found = Found(0, {j: [] for j in plain}, {j: [] for j in kept}, set(), set(), set())
    same = defaultdict[int, dict[str, str]](dict)
    with_gaps: set[int] = set()
    quote = '"' if b'"' in file.data else None
    for rows, lines in file.blocks():
        has_marks = any(mark in line for line in lines for mark in ".eE")
        block = _floats(lines, len(rows), file.separator, quote, plain)
        if block is not None:
            is_plain = np.asarray(np.isfinite(block).all(axis=0))
            for i, j in enumerate(plain):
                if is_plain[i]:
                    _take(found, j, block[:, i].copy(), rows, has_marks=has_marks)
        failed = plain if block is None else [j for i, j in enumerate(plain) if not is_plain[i]]
        for j in [*failed, *sorted(with_gaps)]:
            floats = _floats_with_gaps({row[j] for row in rows}, na)
            if floats is not None:
                _take(found, j, np.array([floats[row[j]] for row in rows]), rows, has_marks=has_marks)
            else:
                _give_up(found, j)
            if j in failed and (floats is None or any(map(math.isnan, floats.values()))):
                with_gaps.add(j)
        with_gaps -= found.late | found.texts.keys()
        plain = [j for j in plain if j in found.parts and j not in with_gaps]
        for j in found.texts:
            found.texts[j] += _interned(rows, j, same[j])
        found.n_rows += len(rows)
    return found


def _floats(
    lines: list[str], n_rows: int, separator: str, quote: str | None, columns: list[int]
) -> Floats | None:
    """Return columns of some lines as numbers, `None` if a cell is none."""
    if not columns:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # of lines that are all blank
            block = np.loadtxt(
                lines, delimiter=separator, quotechar=quote, comments=None, usecols=columns, ndmin=2
            )
    except ValueError:
        return None
    return block if block.shape == (n_rows, len(columns)) else None


def _floats_with_gaps(texts: Collection[str], na: Collection[str]) -> dict[str, float] | None:
    """Return plain numbers by their texts, NaN for missing ones; `None` if one is neither."""
    floats = {}
    for text in texts:
        bare = text.strip()
        if _NUMBER.fullmatch(bare):
            floats[text] = float(bare)
        elif is_missing(bare, na) or bare.lower() == "none":
            floats[text] = math.nan
        else:
            return None
    return floats


def _take(found: Found, j: int, floats: Floats, rows: list[list[str]], *, has_marks: bool) -> None:
    """Add numbers of a block to their column."""
    if has_marks and j not in found.sure_points:
        typed = {row[j] for row in rows}
        if j in found.pointed or any(mark in text for text in typed for mark in ".eE"):
            found.pointed.add(j)
            if has_sure_point(text for text in typed if _NUMBER.fullmatch(text.strip())):
                found.sure_points.add(j)
    if j not in found.pointed and np.fmax.reduce(np.abs(floats), initial=0.0) >= EXACT_UP_TO:
        _give_up(found, j)
    else:
        found.parts[j].append(floats)


def _give_up(found: Found, j: int) -> None:
    """Make a column text."""
    del found.parts[j]
    if found.n_rows:
        found.late.add(j)
    else:
        found.texts[j] = []
