"""Every way in which a table comes in gives the same rows."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mmdbounds.errors import DataError
from mmdbounds.tables import file_formats, groups
from mmdbounds.tables.files import load_file
from tables.workbooks import workbook

Write = Callable[[str, str | bytes], Path]

ROWS = [
    ("MI", 1, 2.5, "Köln"),
    ("healthy", 3, -4.0, "Bonn"),
    ("MI", 5, 0.125, "Bonn"),
    ("healthy", 7, 8.0, "Köln"),
]
NAMES = ["dx", "a", "b", "town"]


def read_table(source: object) -> dict[str, list]:
    """Return the columns of a file, each as a list."""
    return {name: cells.given() for name, cells in load_file(source).columns.items()}


def split(data: object, **options: object):
    return groups(data, "dx", **{"hidden": "MI", "among": "healthy", "scale": "none", **options})


def csv(separator: str = ",", point: str = ".") -> str:
    lines = [NAMES, *([dx, str(a), str(b).replace(".", point), town] for dx, a, b, town in ROWS)]
    return "\n".join(separator.join(line) for line in lines) + "\n"


def as_bytes(how: str) -> bytes:
    import polars as pl

    file = io.BytesIO()
    getattr(pl.DataFrame(ROWS, schema=NAMES, orient="row"), f"write_{how}")(file)
    return file.getvalue()


JSON_LINES = "\n".join(json.dumps(dict(zip(NAMES, row, strict=True))) for row in ROWS)


@pytest.mark.parametrize(
    ("name", "contents", "options", "read_as"),
    [
        ("t.csv", csv().encode(), {}, "CSV (comma)"),
        ("t.csv", csv(";", ",").encode("utf-8-sig"), {}, "CSV (semicolon, decimal comma)"),
        ("t.tsv", csv("\t", ",").encode(), {}, "CSV (tab, decimal comma)"),
        ("t.csv", csv(";").encode("cp1252"), {"encoding": "cp1252"}, "CSV (semicolon), cp1252"),
        ("t.csv", csv().encode("latin-1"), {"encoding": "Latin1"}, "CSV (comma), iso8859-1"),
        ("t.csv", csv().encode("utf-16"), {"encoding": "utf-16"}, "CSV (comma), utf-16"),
        ("t.csv", csv().encode(), {"encoding": "UTF-8"}, "CSV (comma)"),
        ("t.csv.gz", gzip.compress(csv().encode(), mtime=0), {}, "CSV (comma), gzip"),
        ("t.jsonl", JSON_LINES.encode(), {}, "JSON lines"),
        ("t.json", JSON_LINES.encode("utf-8-sig"), {}, "JSON lines"),
        ("t", JSON_LINES.encode(), {}, "JSON lines"),
        ("t.ndjson.gz", gzip.compress(JSON_LINES.encode(), mtime=0), {}, "JSON lines, gzip"),
        pytest.param("t.parquet", "parquet", {}, "Parquet", marks=pytest.mark.full),
        pytest.param("t.arrow", "ipc", {}, "Arrow", marks=pytest.mark.full),
        pytest.param("t.feather", "ipc", {}, "Arrow", marks=pytest.mark.full),
        pytest.param("t.arrows", "ipc_stream", {}, "Arrow", marks=pytest.mark.full),
        pytest.param("t.parquet.gz", "parquet", {}, "Parquet, gzip", marks=pytest.mark.full),
    ],
)
def test_the_same_rows(write: Write, name: str, contents: bytes | str, options: dict, read_as: str):
    if isinstance(contents, str):  # written by polars
        written = as_bytes(contents)
        contents = gzip.compress(written, mtime=0) if name.endswith(".gz") else written
    file = write(name, contents)
    for source in (file, str(file), io.BytesIO(contents)):
        if isinstance(source, io.BytesIO):
            source.name = name
        X, Y = split(source, **options)
        assert X.columns == ("a", "b", "town=Bonn", "town=Köln")
        assert X.values.tolist() == [[1.0, 2.5, 0.0, 1.0], [5.0, 0.125, 1.0, 0.0]]
        assert Y.values.tolist() == [[3.0, -4.0, 1.0, 0.0], [7.0, 8.0, 0.0, 1.0]]
        assert (X.file_rows.tolist(), Y.file_rows.tolist()) == ([1, 3], [2, 4])
        assert X.record["read_as"] == read_as
        assert X.record["source"] == name


@pytest.mark.full
def test_files_of_pyarrow(tmp_path: Path):
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: [row[j] for row in ROWS] for j, name in enumerate(NAMES)})
    with pa.ipc.new_file(tmp_path / "t.feather", table.schema) as file:
        file.write_table(table)
    parquet.write_table(table, tmp_path / "t.parquet")
    with pa.ipc.new_stream(tmp_path / "t.arrows", table.schema) as stream:
        stream.write_table(table)
    for name in ("t.feather", "t.parquet", "t.arrows"):
        assert split(tmp_path / name)[0].values[:, 1].tolist() == [2.5, 0.125]


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        (["1,5", "2", "-3,25"], [1.5, 2.0, -3.25]),
        (["1,5e3", "NA", ",5"], [1500.0, None, 0.5]),
        (["0,125", "1,234", "12,345"], [0.125, 1.234, 12.345]),
        (["1,2345", "5"], [1.2345, 5.0]),
        (["1234,500", "5"], [1234.5, 5.0]),
    ],
)
def test_decimal_commas(write: Write, cells: list, wanted: list):
    assert read_table(write("t.csv", "a;b\n" + "".join(f"{cell};x\n" for cell in cells)))["a"] == wanted


def test_commas_that_may_be_thousands_stay_text(write: Write):
    doubtful = "a;b\n1,234;x\n12,345;x\n7;x\n"
    assert read_table(write("t.csv", doubtful))["a"] == ["1,234", "12,345", "7"]
    table = read_table(write("t.csv", "a;b\n1,234;0,5\n12,345;1\n7;2\n"))  # b leaves no doubt
    assert table["a"] == [1.234, 12.345, 7.0]
    with pytest.raises(DataError, match=r"'a' \(numbers with commas\)\. .*set `decimal=` to 'point' if"):
        split(write("t.csv", 'dx,a\nMI,"1,234"\nhealthy,"2,345"\nMI,"2,345"\n'))


def test_commas_beside_whole_numbers_are_no_contradiction(write: Write):
    assert read_table(write("t.csv", "a;b;c\n1,5;1;NaN\n2;2;3\n")).keys() == {"a", "b", "c"}


def test_the_separator_is_that_of_all_rows(write: Write):
    table = read_table(write("t.csv", "dx;weight, kg;height, cm, bare\nMI;70,5;1,8\nhealthy;60;1,7\n"))
    assert list(table) == ["dx", "weight, kg", "height, cm, bare"]
    assert table["weight, kg"] == [70.5, 60.0]


def test_numbers_too_large_for_integers(write: Write):
    path = write("t.csv", f"g,a,b\nA,{'9' * 45},1\nB,-1,2\n")
    with pytest.raises(DataError, match=r"'a' \(whole numbers with too many digits\)\. Leave.*, or subtr"):
        groups(path, "g", hidden="A", among="B")
    assert groups(path, "g", hidden="A", among="B", exclude="a")[0].columns == ("b",)


def test_names_of_encodings(write: Write):
    file = write("t.csv", csv())
    for name in ("nonsense", "base64", "rot13", "a\0b", 3):
        with pytest.raises(DataError, match=r"`encoding` must be the name of a text encoding, "):
            split(file, encoding=name)
    with pytest.raises(DataError, match=r"^'t\.csv' is not ascii text \(line 2\)\. State its encoding"):
        split(file, encoding="ascii")
    with pytest.raises(DataError, match=r"holds NUL bytes, which no table has\. Is its encoding right\?$"):
        split(write("t.csv", csv().encode("utf-16-le")), encoding="latin-1")
    with pytest.raises(DataError, match=r"is for text; 't\.parquet' is a Parquet file\. Leave it out\.$"):
        split(write("t.parquet", b"PAR1\0PAR1"), encoding="latin-1")
    with pytest.raises(DataError, match=r"is for files; got 'latin-1' with a DataFrame\. Leave it out\.$"):
        split({"dx": ["MI", "healthy"], "a": [1, 2]}, encoding="latin-1")


def test_text_files_and_closed_files_are_refused(write: Write):
    with pytest.raises(
        DataError, match=r"^a file must be opened for bytes; got str\. Open it with mode 'rb'\.$"
    ):
        split(io.StringIO(csv()))
    file = write("t.csv", csv()).open("rb")
    file.close()
    with pytest.raises(DataError, match=r"^'t\.csv' cannot be read: it is closed\.$"):
        split(file)


def test_json_lines_fill_missing_keys_with_nothing(write: Write):
    file = write(
        "t.jsonl", '{"dx": "MI", "a": 1}\n\n{"a": 2, "dx": "healthy", "b": 5}\n{"dx": "MI", "b": 7}\n'
    )
    X, Y = split(file, missing="impute")
    assert X.columns == ("a", "b")
    assert X.values.tolist() == [[1.0, 6.0], [1.5, 7.0]]
    assert Y.values.tolist() == [[2.0, 5.0]]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['{"a": 1}', '{"a": true}', '{"a": "low"}'], "line 2 has true or false under 'a', after numbers"),
        (['{"a": 1}', '{"a": null}', '{"a": "low"}'], "line 3 has text under 'a', after numbers"),
        (['{"a": "low"}', '{"b": 2}', '{"a": 1.5}'], "line 3 has numbers under 'a', after text"),
        (['{"a": "low"}', '{"a": [1]}'], "line 2 has objects or lists under 'a', after text"),
    ],
)
def test_json_values_of_several_sorts_are_refused(lines: list, words: str):
    rows = [line.replace("{", f'{{"g": "{"AB"[i % 2]}", ') for i, line in enumerate(lines)]
    with pytest.raises(DataError, match=f"^'open file' in {words} there"):
        groups(io.BytesIO("\n".join(rows).encode()), "g", hidden="A", among="B")


def test_json_groups_and_names_may_mix_numbers_and_text():
    rows = ['{"g": 1, "id": 7, "x": 1}', '{"g": "B", "id": "B7", "x": 2.5}', '{"g": "1", "id": null, "x": 4}']
    X, Y = groups(io.BytesIO("\n".join(rows).encode()), "g", hidden=1, among="B", id="id", scale="none")
    assert (X.ids.tolist(), Y.ids.tolist()) == (["7", ""], ["B7"])
    assert X.values.tolist() == [[1.0], [4.0]]


@pytest.mark.full
def test_an_incomplete_stream_is_refused(write: Write):
    # Cut between two batches it would read well, with rows missing.
    with pytest.raises(DataError, match=r"^'t' is an incomplete Arrow stream: its end is missing\.$"):
        read_table(write("t", as_bytes("ipc_stream")[:-8]))


@pytest.mark.full
def test_two_columns_of_one_name_in_a_binary_file(write: Write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_formats, "failure_elsewhere", lambda *_: "DuplicateError")
    with pytest.raises(DataError, match=r"has more than one column of the same name"):
        read_table(write("t", as_bytes("parquet")))


@pytest.mark.usefixtures("another_process")
class TestAnotherProcess:
    """Damaged binary files meet another process first."""

    @pytest.mark.full
    def test_what_is_wrong_is_told_without_a_word_of_polars(self, capfd: pytest.CaptureFixture[str]):
        data = as_bytes("parquet")
        assert file_formats.failure_elsewhere(data, "read_parquet", "t") is None
        torn = file_formats.failure_elsewhere(data[:40] + b"PAR1", "read_parquet", "t")
        assert torn is not None
        assert torn.endswith(("Error", "Exception"))
        assert capfd.readouterr() == ("", "")

    @pytest.mark.full
    @pytest.mark.parametrize(
        "trial",
        [
            "import os, sys; os.write(2, b'memory allocation of 800000000 bytes failed'); os.abort()",
            "import sys; print('MemoryError'); sys.exit(3)",
            "import os; os.kill(os.getpid(), 9)",
        ],
    )
    def test_little_memory_is_no_damaged_file(
        self, write: Write, monkeypatch: pytest.MonkeyPatch, trial: str
    ):
        monkeypatch.setattr(file_formats, "_TRIAL", trial)
        with pytest.raises(
            MemoryError, match=r"^there is not enough memory to read 't\.parquet', a file of 0\.0 MiB"
        ):
            read_table(write("t.parquet", as_bytes("parquet")))

    @pytest.mark.full
    def test_a_file_that_asks_for_more_than_anybody_has_is_damaged(
        self, write: Write, monkeypatch: pytest.MonkeyPatch
    ):
        words = f"memory allocation of {2**61} bytes failed"
        monkeypatch.setattr(file_formats, "_TRIAL", f"import os; os.write(2, b'{words}'); os.abort()")
        with pytest.raises(DataError, match=r"^'t\.parquet' is a damaged Parquet file"):
            read_table(write("t.parquet", as_bytes("parquet")))

    @pytest.mark.full
    def test_a_process_that_ends_is_a_damaged_file(self, write: Write, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(file_formats, "_TRIAL", "import os; os.abort()")
        with pytest.raises(
            DataError, match=r"damaged Parquet file, or one that polars cannot read \(the process ended\)\.$"
        ):
            read_table(write("t.parquet", as_bytes("parquet")))

    @pytest.mark.full
    def test_where_no_process_can_be_started_the_file_is_read_here(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        assert load_file(io.BytesIO(as_bytes("parquet"))).n_rows == len(ROWS)


@pytest.mark.full
def test_polars_is_loaded_after_another_process_has_read_the_file(
    write: Write, monkeypatch: pytest.MonkeyPatch
):
    """Where memory is short, loading it ends the process."""

    def run_out(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(file_formats.frames, "import_polars", lambda: pytest.fail("loaded too early"))
    monkeypatch.setattr(file_formats, "failure_elsewhere", run_out)
    with pytest.raises(MemoryError):
        read_table(write("t", b"PAR1\0PAR1"))


BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("polars", "narwhals", "sklearn", "fastexcel", "pandas", "pyarrow"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
import mmdbounds as mb
for data in ({"dx": ["MI", "healthy"], "a": [1, 2]}, *sys.argv[1:]):
    try:
        print(mb.groups(data, "dx", hidden="MI", among="healthy", columns="a")[0].columns)
    except mb.MmdBoundsError as error:
        print(error)
"""


def test_without_the_packages_that_read_other_formats(write: Write):
    """Dicts, CSV and JSON lines need none; for the others the message says what to install."""
    parquet, excel = b"PAR1\0PAR1", workbook({"s": [["dx", "a"], ["MI", 1], ["healthy", 2]]})
    files = [write("t.csv", csv()), write("t.jsonl", JSON_LINES), write("t.parquet", parquet)]
    files += [write("t.arrow", b"ARROW1\0"), write("t.xlsx", excel)]
    said = subprocess.run(
        [sys.executable, "-c", BLOCKED, *map(str, files)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert said[:3] == ["('a',)"] * 3
    for line, which in zip(said[3:], ("a Parquet", "an Arrow", "an Excel"), strict=True):
        assert f"is {which} file, which needs polars. Install it with: pip install 'mmdbounds[files]'" in line


def test_blanks_around_numbers_change_nothing(write: Write):
    numbers = ["1", "-2.5", "1e-7", "123456789.123456789", "0.1", "+3"]
    bare = read_table(write("a.csv", "a\n" + "\n".join(numbers)))["a"]
    blank = read_table(write("b.csv", "a\n" + "\n".join(f" {number} " for number in numbers)))["a"]
    np.testing.assert_array_equal(blank, [float(number) for number in numbers])
    np.testing.assert_array_equal(np.asarray(bare, dtype=float), blank)
