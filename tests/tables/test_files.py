from __future__ import annotations

import gzip
import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmdbounds.errors import DataError
from mmdbounds.tables.csv_columns import BLOCK_CELLS
from mmdbounds.tables.files import load_file

Write = Callable[[str, str | bytes], Path]


def read_table(source: object, **options: Any) -> dict[str, list]:
    """Return the columns of a file, each as a list."""
    return {name: cells.given() for name, cells in load_file(source, **options).columns.items()}


def rows_of(table: dict[str, list]) -> list[tuple]:
    return list(zip(*table.values(), strict=True))


PLAIN = "a,b\n1,2.5\n3,4\n"
ROWS = [(1, 2.5), (3, 4.0)]


@pytest.mark.parametrize(
    ("name", "contents"),
    [
        ("plain.csv", PLAIN),
        ("no_last_newline.csv", PLAIN.rstrip()),
        ("windows.csv", PLAIN.replace("\n", "\r\n")),
        ("old_mac.csv", PLAIN.replace("\n", "\r")),
        ("bom.csv", b"\xef\xbb\xbf" + PLAIN.encode()),
        ("semicolon.csv", PLAIN.replace(",", ";")),
        ("tab.tsv", PLAIN.replace(",", "\t")),
        ("blank_lines_around.csv", "\n\r\n" + PLAIN + "\n\n\n"),
        ("blanks_in_header.csv", PLAIN.replace("a,b", " a , b ")),
        ("quoted.csv", '"a","b"\n"1","2.5"\n"3","4"\n'),
        ("packed.csv.gz", gzip.compress(PLAIN.encode(), mtime=0)),
        ("packed_but_called.csv", gzip.compress(PLAIN.encode(), mtime=0)),
        ("without_ending", PLAIN),
        ("excel_in_name_only.xlsx", PLAIN),
        ("blanks_before_numbers.csv", "a,b\n1, 2.5\n3, 4\n"),
    ],
)
def test_ways_to_write_the_same_table(write: Write, name: str, contents: str | bytes):
    table = read_table(write(name, contents))
    assert list(table) == ["a", "b"]
    assert rows_of(table) == ROWS


@pytest.mark.full
@pytest.mark.parametrize("name", ["table.parquet", "table.csv"])
def test_parquet_is_told_by_its_contents(tmp_path: Path, name: str):
    import polars as pl

    path = tmp_path / name
    pl.DataFrame({"a": [1, 3], "b": [2.5, 4.0]}).write_parquet(path)
    assert rows_of(read_table(str(path))) == ROWS


def test_names_are_literal(write: Write, monkeypatch: pytest.MonkeyPatch):
    # polars, given these names, reads data1.csv, looks into the home folder or asks the network.
    folder = write("data1.csv", "a\n1\n").parent
    write("data[1].csv", "a\n2\n")
    write("*.csv", "a\n3\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    assert rows_of(read_table("data[1].csv")) == [(2,)]
    assert rows_of(read_table("*.csv")) == [(3,)]
    with pytest.raises(DataError, match=r"there is no file '~/data1\.csv'"):
        read_table("~/data1.csv")
    (folder / "http:").mkdir()
    (folder / "http:" / "host.csv").write_text("a\n4\n")
    assert rows_of(read_table("http://host.csv")) == [(4,)]


def test_header_that_looks_like_parquet(write: Write):
    assert read_table(write("genes.csv", "PAR1,b\n1,2\n"))["PAR1"] == [1]


def test_types_come_from_the_whole_file(write: Write):
    first = BLOCK_CELLS // 2 + 5
    for many, last, wanted in (
        ("1", "0.5", 0.5),
        ("1", "x", "x"),
        ("", "7.5", 7.5),
        ("true", "2", "2"),
        ("1.5", "", None),
    ):
        cells = "\n".join([f"{many},0"] * first + [f"{last},0"])
        found = read_table(write("late.csv", f"a,b\n{cells}\n"))["a"]
        assert found[-1] == wanted
        assert len(found) == first + 1


def test_words_for_missing_cells_and_signs(write: Write):
    table = read_table(write("na.csv", "a,b,c,d\n1,NA,x,\n+2,0.5,NA,\n,n/a,y,.\n"))
    assert table["a"] == [1.0, 2.0, None]
    assert table["b"] == [None, 0.5, None]
    assert table["c"] == ["x", "NA", "y"]  # text stays as it is printed
    assert table["d"] == [None, None, None]


def test_quoted_separators_newlines_and_quotes(write: Write):
    table = read_table(write("quotes.csv", '"a;1";"b\nc";"d""e"\n1;"x;\ny";"q""r"\n'))
    assert list(table) == ["a;1", "b\nc", 'd"e']
    assert rows_of(table) == [(1, "x;\ny", 'q"r')]


def test_separators_within_quotes_do_not_count(write: Write):
    table = read_table(write("quotes.csv", '"dose, mg, daily";b\n1;2\n'))
    assert list(table) == ["dose, mg, daily", "b"]


def test_empty_last_cells_are_not_ragged(write: Write):
    assert rows_of(read_table(write("last.csv", "a,b\n1,\n\n3,4\n"))) == [(1, None), (None, None), (3, 4)]


def test_a_cell_that_is_too_long_is_refused_with_its_row(write: Write):
    contents = f"a,b\n1,x\n2,{'x' * 200_000}\ny,2\n"
    message = r"has a cell of more than 131,072 characters in row 2 below the header\. Is a quotation mark m"
    with pytest.raises(DataError, match=message):
        read_table(write("long.csv", contents))


def test_record_of_the_file(write: Write):
    packed = gzip.compress(PLAIN.encode(), mtime=0)
    loaded = load_file(write("patients.csv.gz", packed))
    assert loaded.name == "patients.csv.gz"
    assert loaded.sha256 == hashlib.sha256(packed).hexdigest()


def test_columns_can_be_kept_as_printed(write: Write):
    assert read_table(write("ids.csv", " id ,a\n007,1\n010,2\n"), text=["id"])["id"] == ["007", "010"]


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("e.csv", "", r"^'e\.csv' is an empty file\.$"),
        ("e.csv", " \n\n ", r"^'e\.csv' holds nothing but blanks\.$"),
        ("e.csv", b"\xef\xbb\xbf", r"holds nothing but blanks"),
        ("e.csv.gz", gzip.compress(b"", mtime=0), r"holds nothing but blanks"),
        ("h.csv", "a,b\n", r"^'h\.csv' has no rows below the header\.$"),
        ("h.csv", "a,b", r"has no rows below the header"),
        (
            "l.csv",
            b"a,b\n1,2\n1,\xff\n",
            (
                r"^'l\.csv' is not UTF-8 text \(line 3\)\. State its encoding with `encoding=` "
                r"\(often 'cp1252'\), or save the file as 'CSV UTF-8'\.$"
            ),
        ),
        ("l.csv", b"a\xff,b\n1,2\n", r"is not UTF-8 text \(line 1\)"),
        ("u.csv", PLAIN.encode("utf-16"), r"is UTF-16 text, not UTF-8"),
        (
            "n.csv",
            b"a,b\n1\0,2\n",
            r"^'n\.csv' \(a \.csv file\) holds binary data, neither CSV nor Parquet\.",
        ),
        ("n", b"\0\0", r"\(an unknown format\) holds binary data"),
        (
            "m.csv",
            "a,b\n1,2\n1,2,3\n",
            r"is ragged: row 2 below the header has 3 fields, but the header has 2\.",
        ),
        (
            "f.csv",
            "a,b\n1,2\n3,4\n5\n",
            r"is ragged: row 3 below the header has 1 field, but the header has 2\.",
        ),
        (
            "d.csv",
            "a,b,a,b,c\n1,2,3,4,5\n",
            r"^'d\.csv' has more than one column called 'a', 'b'\. Give each",
        ),
        ("d.csv", "a, a\n1,2\n", r"more than one column called 'a'"),
        ("q.csv", 'a,b\n1,"secret\n', r"^'q\.csv' cannot be read as CSV from row 1 on\. Check its quot"),
        ("q.csv", 'a,b\n1,"5" secret\n2,x\n', r"^'q\.csv' cannot be read as CSV from row 1 on\. Check its q"),
        ("q.csv", '"a,b', r"has a header that cannot be read"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-6], r"is a damaged or incomplete gzip file"),
        ("t.gz", b"\x1f\x8bgarbage", r"is a damaged or incomplete gzip file"),
        pytest.param(
            "p.parquet",
            b"PAR1\0\0secretPAR1",
            r"is a damaged Parquet file, or one that polars cannot read \(\w+\)\.$",
            marks=pytest.mark.full,
        ),
        pytest.param("p.parquet", b"PAR1\0\0secret", r"is a damaged Parquet file", marks=pytest.mark.full),
        ("x.xlsx", b"PK\x03\x04\0", r"^'x\.xlsx' is a \.xlsx file, damaged or .*Export it to CSV \(in Excel"),
        ("x.sav", b"$FL2\0", r"is a \.sav file.*in SPSS"),
        ("x.DTA", b"<stata_dta>\0", r"is a \.dta file.*in Stata"),
        ("x.sas7bdat", b"\0\0", r"is a \.sas7bdat file.*in SAS"),
        ("x.rds", gzip.compress(b"X\n\0\0", mtime=0), r"is a \.rds file.*in R"),
        ("x.pkl", pickle.dumps({"a": [1]}), r"is a \.pkl file.*pickles are never opened"),
        ("x.npz", b"PK\x03\x04", r"is a \.npz file.*pass the arrays to `mmd_bounds` directly"),
        ("x.zip", b"PK\x03\x04", r"^'x\.zip' is a \.zip file, which is not read here\. Unpack it first"),
        (
            "x",
            b"PK\x03\x04",
            r"^'x' is a \.zip file, .*Unpack it first; the only compression read here is gzip\.$",
        ),
        ("x.csv.zst", b"\x28\xb5\x2f\xfd..", r"is a \.zst file.*Unpack it first"),
        ("x.feather", b"FEA1\0", r"\(a \.feather of version 1 file\) holds binary data"),
        ("x.zsav", b"$FL3\0", r"is a \.zsav file.*in SPSS"),
        ("x.rdata", gzip.compress(b"RDX3\nX\n", mtime=0), r"is a \.rdata file.*in R"),
        ("x.mat", b"\0\0", r"is a \.mat file"),
        (
            "x.json",
            '[{"a": 1}]',
            r"^'x\.json' \(a \.json file\) is JSON, but not JSON lines\. Write one object per line, in Py",
        ),
        ("x", '[{"a": 1}]', r"is JSON, but not JSON lines"),
        ("x.json", '{"a": 1,\n"b": 2}', r"^'x\.json' is not JSON lines: line 1 is not an object\."),
        (
            "x.jsonl",
            '{"a": 1}\n[1]\n',
            r"is not JSON lines: line 2 is not an object\. Write one object per line",
        ),
        ("x.jsonl", '{"a": NaN}\n', r"is not JSON lines: line 1 is not an object"),
        (
            "x.jsonl",
            '{"a": 1, "secret": 2, "a": 3}',
            r"^'x\.jsonl' has an object with more than one 'a' in line 1\.",
        ),
        (
            "x.jsonl",
            '{"a": 1}\n{"a": true}',
            r"^'x\.jsonl' in line 2 has true or false under 'a', after numbers there\. Give each column one",
        ),
        ("x.jsonl", "{}\n{}", r"has no columns: its objects are empty"),
        ("x.jsonl", "a,b\n1,2\n", r"is not JSON lines: line 1"),
        (
            "x.xls",
            "<html><table></table></html>",
            r"\(a \.xls file\) is not CSV, Excel, Parquet, Arrow or JSON lines\.",
        ),
        (
            "r.csv",
            "a,b\n1\r2,3\n4,5\n",
            r"^'r\.csv' ends row 1 with a lone carriage return\. Check its line ends\.$",
        ),
        ("r.csv", "a\n1\r2\n3\n", r"^'r\.csv' ends row 1 with a lone carriage return\."),
        (
            "c.csv",
            "a;b\n1,5;1.234\n2;5.678\n",
            (
                r"^'c\.csv' writes decimals with a comma in 'a' and with a point in 'b'\. Write all of them "
                r"with a point, or set `decimal=` to 'comma' if points separate thousands\.$"
            ),
        ),
        (
            "c.csv",
            "a;b\n1,5;27.5\n2;5.678\n",
            r"^'c\.csv' writes decimals .* with a point in 'b'\. Write all of them with a point\.$",
        ),
    ],
)
def test_what_is_refused(write: Write, name: str, contents: str | bytes, message: str):
    with pytest.raises(DataError, match=message) as caught:
        read_table(write(name, contents))
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_missing_file_suggests_the_nearest(write: Write):
    folder = write("patients.csv", PLAIN).parent
    with pytest.raises(
        DataError, match=r"^there is no file '.*patient\.csv'\. Did you mean 'patients\.csv'\?$"
    ):
        read_table(folder / "patient.csv")


def test_names_that_are_no_files(tmp_path: Path):
    with pytest.raises(
        DataError, match=r"is a folder; name a CSV, Excel, Parquet, Arrow or JSON lines file in it"
    ):
        read_table(tmp_path)
    with pytest.raises(DataError, match=r"^'a\\x00b' cannot be read: this is not a valid file name\.$"):
        read_table("a\0b")
    with pytest.raises(DataError, match=r"^there is no file ''\.$"):
        read_table("")
    with pytest.raises(DataError, match=r"^'\.\.\.x{80}' cannot be read: "):
        read_table("x" * 5000)


def test_unreadable_file(write: Write, monkeypatch: pytest.MonkeyPatch):
    path = write("closed.csv", PLAIN)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)  # root may read everything, so chmod would show nothing
    with pytest.raises(DataError, match=r"closed\.csv' cannot be read: Permission denied\.$"):
        read_table(path)


@pytest.mark.full
def test_panic_of_polars_is_rephrased(write: Write, monkeypatch: pytest.MonkeyPatch):
    import polars as pl

    def panic(*_: object, **__: object) -> None:
        raise pl.exceptions.PanicException("secret")

    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(
        DataError, match=r"damaged Parquet file, or one that polars cannot read \(PanicException\)"
    ):
        read_table(write("a.parquet", b"PAR1\0PAR1"))  # should another process have read it


@pytest.mark.full
def test_parquet_without_rows(tmp_path: Path):
    import polars as pl

    pl.DataFrame({"a": []}).write_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match=r"'none\.parquet' has no rows"):
        read_table(tmp_path / "none.parquet")


FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=64)


@settings(deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(FLOATS, FLOATS, st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=30),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_numbers_read_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, rows: list, separator: str, end: str
):
    path = tmp_path_factory.mktemp("csv") / "numbers.csv"
    lines = [separator.join("xyz"), *(separator.join(repr(cell) for cell in row) for row in rows)]
    path.write_bytes(end.join(lines).encode())
    table = read_table(os.fspath(path))
    for j, name in enumerate("xyz"):
        np.testing.assert_array_equal(table[name], np.array([row[j] for row in rows]))
