"""Excel files: the same rows as from CSV, one sheet, and one line where something is wrong."""

from __future__ import annotations

import datetime
import io
import sys
from typing import Any

import numpy as np
import pytest

from mmdbounds.errors import DataError
from mmdbounds.tables import groups
from mmdbounds.tables.files import load_file
from mmdbounds.tables.reading import Reading
from tables.workbooks import workbook

DAY = datetime.date(2020, 1, 31)
ROWS = [
    ["code", "g", "age", " bmi ", "seen", "smoker", "income", "rate", "site"],
    ["007", "A", 61, 27.5, DAY, True, "1,234,567", "12 %", "north"],
    ["x1", "B", 55, "NA", DAY + datetime.timedelta(2), False, "900", "7 %", "south"],
    ["x2", "A", 70, 31.25, DAY, True, "2,000", "30 %", "south"],
    ["x3", "B", 48, 24, None, False, "1,500", "50 %", "north"],
    ["x4", "B", 39, 21, DAY, False, "700", "51 %", "north"],
]
NOT_HERE = [["nothing"], ["of", "interest"]]


def split(contents: bytes, **options: Any):
    return groups(io.BytesIO(contents), "g", hidden="A", among="B", **options)


def as_csv() -> bytes:
    cells = [["" if cell is None else str(cell) for cell in row] for row in ROWS]
    return "\n".join(";".join(row) for row in cells).encode()


@pytest.mark.full
@pytest.mark.usefixtures("another_process")
def test_a_workbook_gives_the_groups_of_its_csv():
    options: dict[str, Any] = {"id": "code", "dates": "days", "missing": "impute"}
    ours = split(workbook({"first": ROWS, "second": NOT_HERE}), **options)
    for mine, its in zip(ours, split(as_csv(), **options), strict=True):
        np.testing.assert_array_equal(mine.values, its.values)
        assert mine.columns == its.columns
        assert mine.ids.tolist() == its.ids.tolist()
        assert mine.record["removed_signs"] == its.record["removed_signs"]
    assert ours[0].record["read_as"] == "Excel (sheet 'first' of 2)"


@pytest.mark.full
def test_another_sheet():
    book = workbook({"about": NOT_HERE, "data": ROWS, "void": []})
    X, _ = split(book, sheet="data", id="code", dates="drop", missing="drop")
    assert (len(X), X.record["sheet"]) == (2, "data")
    for sheet, message in {
        "date": r"has no sheet 'date', named in `sheet=`\. Did you mean 'data'\? The sheets are 'about',",
        "void": r"has an empty sheet 'void'\. Name another one with `sheet=`\.",
    }.items():
        with pytest.raises(DataError, match=message):
            split(book, sheet=sheet)
    with pytest.raises(DataError, match=r"there is no column 'g'"):
        split(book)


@pytest.mark.full
def test_workbooks_that_cannot_be_read():
    twice = workbook({"s": [["a", "a"], [1, 2]]})
    with pytest.raises(DataError, match=r"has more than one column called 'a'\. Give each its own name"):
        load_file(io.BytesIO(twice))
    whole = workbook({"s": ROWS})
    torn = whole[: len(whole) // 2] + b"xl/workbook"
    with pytest.raises(DataError, match=r"^'open file' is a damaged Excel file, or one that calamine"):
        load_file(io.BytesIO(torn))
    with pytest.raises(DataError, match=r"`encoding` is for text; 'open file' is an Excel file"):
        load_file(io.BytesIO(whole), reading=Reading(encoding="cp1252"))


def test_without_the_extra_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(
        DataError, match=r"is an Excel file, which needs (polars|fastexcel)\. .*pip install 'mmdb"
    ):
        load_file(io.BytesIO(workbook({"s": ROWS})))
    with pytest.raises(DataError, match=r"^`sheet` is for Excel files; 'open file' is none\."):
        load_file(io.BytesIO(as_csv()), reading=Reading(sheet="s"))
