"""Numbers as people type them: understood where a cell or another column settles it, refused where not."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.tables import groups
from mmdbounds.tables.columns import _number_trouble
from mmdbounds.tables.files import load_file
from mmdbounds.tables.reading import Reading
from tables.workbooks import workbook


def read(*columns: list[str], **options: str) -> list[list]:
    """Return columns of a file as they are read; no cell has a semicolon, and none is the last one."""
    columns = (*columns, ["x"] * len(columns[0]))
    names = [f"c{j}" for j in range(len(columns))]
    lines = [";".join(names), *(";".join(row) for row in zip(*columns, strict=True))]
    table = load_file(io.BytesIO("\n".join(lines).encode()), reading=Reading(**options))
    return [table.columns[name].given() for name in names]


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        (["1,234,567", "900", "-1,000"], [1234567.0, 900.0, -1000.0]),  # two commas settle it
        (["1,234.5", "900", "2,000"], [1234.5, 900.0, 2000.0]),  # so does a point behind a comma
        (["1.234.567", "900", "1.000"], [1234567.0, 900.0, 1000.0]),
        (["1.234,5", "900", "2.000"], [1234.5, 900.0, 2000.0]),
        (["1 234", "900", "12 345,5"], [1234.0, 900.0, 12345.5]),
        (["1'234", "900", "12\u2019345"], [1234.0, 900.0, 12345.0]),
        (["1\u00a0234", "900", "12\u202f345.5"], [1234.0, 900.0, 12345.5]),
        (["12 %", "7%", "-0.5 %"], [12.0, 7.0, -0.5]),
        (["12,5 %", "7%", "NA"], [12.5, 7.0, None]),
        (["$5", "-$1,234.50", "$ 7"], [5.0, -1234.5, 7.0]),
        (["5 €", "1.234,50 €", "-7€"], [5.0, 1234.5, -7.0]),
        (["USD 5", "USD 1,234,000", "USD 7"], [5.0, 1234000.0, 7.0]),
        # What is left as it is.
        (["1,234", "2,500", "900"], ["1,234", "2,500", "900"]),  # may be decimals
        (["1,234", "2.5", "900"], ["1,234", "2.5", "900"]),
        (["1.234", "2,5", "900"], ["1.234", "2,5", "900"]),
        (["12 %", "7", "3 %"], ["12 %", "7", "3 %"]),
        (["$5", "7 €", "$3"], ["$5", "7 €", "$3"]),
        (["030 123", "030 124", "030 125"], ["030 123", "030 124", "030 125"]),  # telephones
        (["1,23,456", "1,2", "3"], ["1,23,456", "1,2", "3"]),
    ],
)
def test_one_column(cells: list, wanted: list):
    assert read(cells, ["x", "y", "x"])[0] == wanted


@pytest.mark.parametrize(
    ("beside", "wanted"),
    [
        (["27.5", "3", "1"], [1234.0, 2500.0]),  # decimals are written with a point here
        (["1,000,000", "3", "1"], [1234.0, 2500.0]),
        (["27,5", "3", "1"], [1.234, 2.5]),
        (["5", "3", "1"], ["1,234", "2,500"]),
        (["1.234", "3.000", "1"], ["1,234", "2,500"]),  # the point may be one of thousands
    ],
)
def test_another_column_settles_it(beside: list, wanted: list):
    assert read(["1,234", "2,500", "7"], beside)[0][:2] == wanted


def test_the_user_settles_it():
    doubtful = ["1,234", "2,500", "900"]
    assert read(doubtful, decimal="point")[0] == [1234.0, 2500.0, 900.0]
    assert read(doubtful, decimal="comma")[0] == [1.234, 2.5, 900.0]
    assert read(["1,234", "2.5", "900"], decimal="point")[0] == [1234.0, 2.5, 900.0]
    # Points that polars has taken for decimals already.
    assert read(["1.234", "2.500", "900"], ["1,5", "2", "3"], decimal="comma")[:2] == [
        [1234.0, 2500.0, 900.0],
        [1.5, 2.0, 3.0],
    ]
    with pytest.raises(MmdBoundsError, match=r"`decimal` must be one of 'point', 'comma'; got 'dot'\."):
        read(doubtful, decimal="dot")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ["1,234", "2,500", "900", "7"],
            (
                r"^1 column .*: 'c' \(numbers with commas\)\. Leave columns out .*, or set `decimal=` "
                r"to 'point' if 1,234 is a thousand, or to 'comma' if it is not\.$"
            ),
        ),
        (["1,234", "2.5", "900", "7"], r"or set `decimal=` to 'point' if commas separate thousands\.$"),
        (["1.234", "2,5", "900", "7"], r"or set `decimal=` to 'comma' if points separate thousands\.$"),
        (["1,2,3", "2", "3", "4"], r"\(numbers and text, 1 word: '.+'\)"),
        (["1,5", "2.5", "9", "7"], r"\(numbers with commas\)\. .*, or write decimals with a point\.$"),
        (["12 %", "7", "3 %", "4 %"], r"\(numbers, not all with the same sign\)\. .*one percent or currency"),
        (["$5", "7 €", "$3", "$4"], r"\(numbers, not all with the same sign\)"),
        (["12 %", "7 %", "3 %", "unknown"], r"\(numbers and text, 1 word: '.+'\)\. .*`na=`"),
    ],
)
def test_what_is_refused_says_which_option_helps(cells: list, message: str):
    lines = ["g;c", *(f"{'AB'[i % 2]};{cell}" for i, cell in enumerate(cells))]
    with pytest.raises(DataError, match=message):
        groups(io.BytesIO("\n".join(lines).encode()), "g", hidden="A", among="B")


@pytest.mark.parametrize(
    ("cells", "remedy"),
    [
        (["1,234", "900"], ("decimal", "point")),  # both would do; the first is that of most files
        (["1,234", "2.5"], ("decimal", "point")),
        (["1.234", "2,5"], ("decimal", "comma")),
        (["1,5", "2.5"], None),
    ],
)
def test_what_helps_is_known_to_programs_too(cells: list, remedy: tuple | None):
    assert _number_trouble(cells).remedy == remedy


def test_who_has_said_what_decimals_are_is_not_told_to():
    table = io.BytesIO(b"g;c\nA;1,5\nB;2,25\nA;3\nB;4")
    with pytest.raises(DataError, match=r"`exclude=`, or write decimals with a point\.$"):
        groups(table, "g", hidden="A", among="B", decimal="point")


VALUES = st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=8)
SWAP = str.maketrans(".,", ",.")


@settings(deadline=None, derandomize=True, max_examples=150)
@given(VALUES, st.integers(0, 3), st.booleans(), st.sampled_from(["{}", "{} %", "${}", "{} EUR"]))
def test_whatever_python_groups_is_read_back(cents: list, places: int, swapped: bool, sign: str):
    values = [1234567, *(cent / 10**places for cent in cents)]  # the first one settles it
    written = [f"{value:,.{places}f}" for value in values]
    cells = [sign.format(text.translate(SWAP) if swapped else text) for text in written]
    found = read(cells, ["x"] * len(cells))[0]
    assert found == [float(f"{value:.{places}f}") for value in values]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    st.lists(st.integers(1000, 999_999), min_size=1, max_size=8), st.lists(st.integers(0, 999), max_size=3)
)
def test_what_can_be_read_in_two_ways_is_not_guessed(large: list, small: list):
    cells = [f"{value:,}" for value in large] + [str(value) for value in small]
    assert read(cells, ["x"] * len(cells))[0] == cells


def test_what_was_understood_is_recorded():
    lines = ["g;income;rate;cost;plain"]
    lines += [f"{'AB'[i % 2]};1,234,{567 + i};{i} %;$1,{i}0.5;{i * i}" for i in range(10, 16)]
    X, Y = groups(io.BytesIO("\n".join(lines).encode()), "g", hidden="A", among="B", scale="none")
    assert X.record["removed_signs"] == {
        "income": "thousands separators",
        "rate": "percent signs",
        "cost": "currency signs ($) and thousands separators",
    }
    np.testing.assert_array_equal(X.values[0], [1234577, 10, 1100.5, 100])
    assert Y.shape == (3, 4)


@pytest.mark.parametrize(
    "doubtful",
    [
        ["1.234", "2.500", "n/a", "3.125"],  # a word for a missing cell makes the column text
        ["1.234", "452", "", "3.125"],
        [" 1.234", "452", "7", "3.125"],
        ["1.234 %", "2.500 %", "12 %", "3.125 %"],
        ["1.234 €", "2.500 €", "12 €", "3.125 €"],
        ["1.234", "2.500", "12", "3.125"],
    ],
)
def test_points_beside_decimal_commas_are_never_taken_for_decimals(doubtful: list):
    lines = ["g;a;b", *(f"{'xxyy'[i]};{i},5;{cell}" for i, cell in enumerate(doubtful))]
    message = r"writes decimals with a comma in 'a' and with a point in 'b'.*`decimal=` to 'comma' if points"
    contents = "\n".join(lines).encode()
    with pytest.raises(DataError, match=message):
        groups(io.BytesIO(contents), "g", hidden="x", among="y", missing="impute")
    X, _ = groups(
        io.BytesIO(contents), "g", hidden="x", among="y", missing="impute", decimal="comma", scale="none"
    )
    assert X.values[0].tolist() == [0.5, 1234.0]


@pytest.mark.full
def test_points_beside_decimal_commas_in_text_cells_of_excel():
    rows = [["x", "1,5", "1.234"], ["x", "2,5", "2.500"], ["y", "3,5", "12"], ["y", "4,5", "9"]]
    data = workbook({"s": [["g", "a", "b"], *rows]})
    with pytest.raises(DataError, match=r"with a comma in 'a' and with a point in 'b'"):
        groups(io.BytesIO(data), "g", hidden="x", among="y")
    X, _ = groups(io.BytesIO(data), "g", hidden="x", among="y", decimal="comma", scale="none")
    assert X.values[0].tolist() == [1.5, 1234.0]


CONTAINERS = [
    "csv",
    "dict",
    "json lines",
    *(
        pytest.param(name, marks=pytest.mark.full)
        for name in ("pandas", "polars", "parquet", "arrow", "excel")
    ),
]


def contained(container: str, columns: dict[str, list[str]]) -> Any:
    """Return a table of text as a file or an object that `groups` takes."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if container == "csv":
        lines = [";".join(columns), *(";".join(row.values()) for row in rows)]
        return io.BytesIO("\n".join(lines).encode())
    if container == "json lines":
        return io.BytesIO("\n".join(map(json.dumps, rows)).encode())
    if container == "excel":
        return io.BytesIO(workbook({"s": [list(columns), *(list(row.values()) for row in rows)]}))
    if container == "pandas":
        return pytest.importorskip("pandas").DataFrame(columns)
    if container == "dict":
        return columns
    frame, file = pytest.importorskip("polars").DataFrame(columns), io.BytesIO()
    if container == "polars":
        return frame
    (frame.write_parquet if container == "parquet" else frame.write_ipc)(file)
    file.seek(0)
    return file


@pytest.mark.parametrize("container", CONTAINERS)
class TestWhereverATableComesFrom:
    """Text is read alike in every container."""

    GROUPS = ("A", "B", "A", "B")

    def values(self, container: str, *columns: list[str], **options: Any) -> list[list[float]]:
        named = {"g": list(self.GROUPS)} | {f"c{j}": cells for j, cells in enumerate(columns)}
        X, Y = groups(contained(container, named), "g", hidden="A", among="B", scale="none", **options)
        rows = np.empty((4, len(columns)))
        rows[::2], rows[1::2] = X.values, Y.values
        return rows.T.tolist()

    def test_what_is_understood(self, container: str):
        given = [["12 %", "7 %", "-0,5 %", "3 %"], ["5 €", "1.234,50 €", "-7 €", "8€"], ["1", "3", "2", "5"]]
        given += [["1 234", "900", "12 345,5", "7"], ["0,25", "1e3", "-7", "+1,5"]]
        assert self.values(container, *given) == [
            [12.0, 7.0, -0.5, 3.0],
            [5.0, 1234.5, -7.0, 8.0],
            [1.0, 3.0, 2.0, 5.0],
            [1234.0, 900.0, 12345.5, 7.0],
            [0.25, 1000.0, -7.0, 1.5],
        ]

    @pytest.mark.parametrize("doubtful", [["452", "1.435", "12", "9"], ["1,234", "2,500", "900", "7"]])
    def test_what_is_asked(self, container: str, doubtful: list):
        with pytest.raises(
            DataError, match=r"'c0' \((points that may separate thousands|numbers with commas)"
        ):
            self.values(container, doubtful)
        point, comma = (
            self.values(container, doubtful, decimal=decimal)[0] for decimal in ("point", "comma")
        )
        one, other = (
            [float(cell.replace(",", "")) for cell in doubtful],
            [float(cell.replace(".", "").replace(",", ".")) for cell in doubtful],
        )
        assert (point, comma) == (one, other)
        beside = ["0.5", "1", "2", "3"]
        assert self.values(container, doubtful, beside)[0] == one

    def test_both_marks_are_refused(self, container: str):
        with pytest.raises(DataError, match=r"writes decimals with a comma in 'c0' and with a point in 'c1'"):
            self.values(
                container, ["1,5", "2", "3", "4"], ["1.234", "2.500", "n/a", "3.125"], missing="impute"
            )


@pytest.mark.parametrize("separator", [",", ";"])
def test_three_decimals_in_every_cell_are_asked(separator: str):
    lines = ["g,c", *(f"{'AB'[i % 2]},{cell}" for i, cell in enumerate(["1.435", "2.500", "9.125", "3.000"]))]
    data = "\n".join(lines).replace(",", separator).encode()
    with pytest.raises(DataError, match=r"'c' \(points that may separate thousands\)\. .*set `decimal=` to"):
        groups(io.BytesIO(data), "g", hidden="A", among="B")
    X, _ = groups(io.BytesIO(data), "g", hidden="A", among="B", scale="none", decimal="point")
    assert X.values[:, 0].tolist() == [1.435, 9.125]


@pytest.mark.parametrize(
    ("cells", "wanted", "removed"),
    [
        (["\u22121.5", "2", "\u22123", "4"], [-1.5, 2, -3, 4], None),
        (["\u20131.5", "2", "3", "4"], [-1.5, 2, 3, 4], None),  # a dash
        (["\uff11\uff12", "\uff13.5", "4", "\uff0d5"], [12, 3.5, 4, -5], None),
        (["\u0661\u0662", "\u0663", "\u0664", "\u0665"], [12, 3, 4, 5], None),
        (["\u096b.5", "3", "4", "5"], [5.5, 3, 4, 5], None),
        (["1,00,000", "12,34,567.5", "900", "2,000"], [100000, 1234567.5, 900, 2000], "thousands separators"),
        (["1.5 kg", "2 kg", "3kg", "4 kg"], [1.5, 2, 3, 4], "units (kg)"),
        (["1,5 mg/dL", "2 mg/dL", "3 mg/dL", "4 mg/dL"], [1.5, 2, 3, 4], "units (mg/dL)"),
        (["37\u00b0C", "38.5\u00b0C", "36\u00b0C", "37\u00b0C"], [37, 38.5, 36, 37], "units (\u00b0C)"),
        (["10h", "12h", "9h", "8h"], [10, 12, 9, 8], "units (h)"),
    ],
)
def test_numbers_in_other_spellings(cells: list, wanted: list, removed: str | None):
    X, Y = groups({"g": ["A", "A", "B", "B"], "c": cells}, "g", hidden="A", among="B", scale="none")
    assert [*X.values[:, 0], *Y.values[:, 0]] == wanted
    assert X.record["removed_signs"] == ({} if removed is None else {"c": removed})


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["(1.5)", "2", "3", "4"], r"'c' \(numbers in parentheses\)\. .*write negative numbers with a minus"),
        (["1.5-", "2", "3", "4"], r"'c' \(numbers with a minus behind\)"),
        (["1_000", "2", "3", "4"], r"'c' \(numbers with underscores\)"),
        (["10:30", "11:45", "9:10", "10:30"], r"'c' \(times of day\)\. .*set `dates=` to 'drop'"),
        (["1.5 kg", "800 g", "2 kg", "3 kg"], r"'c' \(numbers, not all with the same unit\)\. .*one unit"),
        (["1.5 kg", "2", "3", "4"], r"'c' \(numbers, not all with the same unit\)"),
        (["12 kg", "13 kg", "2", "14 kg"], r"'c' \(numbers, not all with the same unit\)"),
    ],
)
def test_spellings_that_are_no_categories(cells: list, message: str):
    with pytest.raises(DataError, match=message):
        groups({"g": ["A", "A", "B", "B"], "c": cells}, "g", hidden="A", among="B")


@pytest.mark.parametrize(
    "cells", [["1st", "2nd", "1st", "2nd"], ["3a", "3b", "2", "3a"], ["2+", "3+", "2+", "1+"]]
)
def test_names_with_digits_stay_categories(cells: list):
    X, _ = groups({"g": ["A", "A", "B", "B"], "c": cells}, "g", hidden="A", among="B")
    assert X.record["kinds"]["c"].endswith("categories")
