"""Excel files: the same rows as from CSV, one sheet, and one line where something is wrong."""

from __future__ import annotations

import datetime
import io
import sys
from typing import Any

import numpy as np
import pytest

from mmdbounds.errors import DataError, MmdBoundsError
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


@pytest.mark.full
@pytest.mark.usefixtures("another_process")
@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([["g", "", "a"], ["A", None, 1], ["B", None, 2]], [1.0]),  # an empty column between two others
        ([["g", None, "a"], ["A", None, 1], ["B", None, 2]], [1.0]),
        ([["g", "a"], ["A", 10**19], ["B", 3]], [1e19]),
        ([["g", "a", "void"], ["A", 7, None], ["B", 3, None], [None, None, None]], [7.0]),
    ],
)
def test_sound_workbooks_are_read(rows: list, wanted: list, capfd: pytest.CaptureFixture[str]):
    X, _ = split(workbook({"s": rows}), scale="none", columns="a")
    assert X.values.tolist() == [wanted]
    assert capfd.readouterr() == ("", "")


@pytest.mark.full
def test_title_rows_above_the_header():
    rows = [["Study 7"], [None], ["g", "age"], ["A", 61], ["B", 55]]
    book = workbook({"s": [[*row, *[None] * (2 - len(row))] for row in rows]})
    X, Y = split(book, header_row=3, scale="none")
    assert (X.values.tolist(), Y.values.tolist(), X.file_rows.tolist()) == ([[61.0]], [[55.0]], [1])
    assert X.record["header_row"] == 3
    with pytest.raises(DataError, match=r"has 5 rows; `header_row` must be one of them, got 9\."):
        split(book, header_row=9)
    three = workbook({"s": [[*row, *["x"] * (3 - len(row))] if i > 1 else row for i, row in enumerate(rows)]})
    with pytest.raises(DataError, match=r"2 columns without a name\. .*further down, set `header_row=`\.$"):
        split(three)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Study 7\n\ng,age\nA,61\nB,55\n", r"is ragged: row 2 .*further down, set `header_row=`\.$"),
        ("Study 7,\n,\ng,age\nA,61\nB,55\n", r"no column 'g', named in `group=`"),
        ("Study 7,,\n,,\ng,age,b\nA,61,1\nB,55,2\n", r"2 columns without a name\. .*set `header_row=`\.$"),
        ("Study 7\n\ng;age\nA;61\nB;55\n", r"no column 'g'.* further down, set `header_row=`\.$"),
    ],
)
def test_title_rows_of_text_files(text: str, message: str):
    with pytest.raises(DataError, match=message):
        split(text.encode())
    X, Y = split(text.encode(), header_row=3, scale="none", columns="age")
    assert (X.values.tolist(), Y.values.tolist(), X.file_rows.tolist()) == ([[61.0]], [[55.0]], [1])


def test_rows_of_a_header_that_cannot_be():
    with pytest.raises(DataError, match=r"has 3 rows; `header_row` must be one of them, got 4\."):
        split(b"g,a\nA,1\nB,2\n", header_row=4)
    with pytest.raises(MmdBoundsError, match=r"`header_row` must be"):
        split(b"g,a\nA,1\nB,2\n", header_row=0)
    with pytest.raises(DataError, match=r"`header_row` is for files; got 2 with a DataFrame"):
        groups({"g": ["A", "B"], "a": [1, 2]}, "g", hidden="A", among="B", header_row=2)
    lines = b'{"g": "A", "a": 1}\n{"g": "B", "a": 2}'
    with pytest.raises(DataError, match=r"`header_row` is for CSV and Excel files; 'open file' is none"):
        split(lines, header_row=2)
