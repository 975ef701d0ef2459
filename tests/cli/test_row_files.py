"""`--rows`: the rows as CSV, by their names in the file, with nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mmdbounds as mb
import mmdbounds.bounds
from made import LOWER, UPPER, bound, result
from mmdbounds.cli.formats import no_formula, rows_csv
from mmdbounds.cli.main import run
from mmdbounds.errors import shown_path

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--rng", "0", "--n-moved", "2"]
NAMED = [*GROUPS, "--id", "name"]
CHANGES = ["in_lower", "in_upper", "lower_change", "upper_change"]


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_table_of_the_result(table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "rows.csv"
    assert run(["bounds", table, *NAMED, "--rows", str(path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.endswith(f"\n\nThe effect of each row on the bounds is in {path}.\n")
    X, Y = mb.groups(table, "g", hidden="A", among="B", id="name")
    found = mb.mmd_bounds(X, Y, mb.Contamination(n_moved=2), rng=0)
    expected = found.row_table()
    rows = read(path.read_text())
    assert list(rows[0]) == ["group", "id", "file_row", *CHANGES]
    assert [row["id"] for row in rows] == expected["id"].tolist()
    assert sorted(row["id"] for row in rows) == list("defgh")
    assert {row["id"]: row["file_row"] for row in rows} == {c: str(i) for i, c in enumerate("defgh", start=4)}
    assert {row["group"] for row in rows} == {"B"}
    for name in ("lower_change", "upper_change"):
        assert [float(row[name]) for row in rows] == expected[name].tolist()  # to the last bit
    for side, which in (("lower", found.lower), ("upper", found.upper)):
        assert {row["id"] for row in rows if row[f"in_{side}"] == "true"} == set(which.ids)
        assert {row[f"in_{side}"] for row in rows} == {"true", "false"}


@pytest.mark.full
def test_polars_reads_numbers_and_truths(table: str, tmp_path: Path):
    import polars as pl

    path = tmp_path / "rows.csv"
    assert run(["bounds", table, *NAMED, "--rows", str(path)]) == 0
    schema = pl.read_csv(path).schema
    assert (schema["in_lower"], schema["upper_change"]) == (pl.Boolean, pl.Float64)
    assert schema["file_row"] == pl.Int64


def test_json_stays_json(table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    import json

    path = tmp_path / "rows.csv"
    assert run(["bounds", table, *NAMED, "--rows", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_moved"] == 2
    assert len(read(path.read_text())) == 5


def test_rows_of_the_file_where_there_are_no_names(tmp_path: Path):
    table, path = tmp_path / "t.csv", tmp_path / "rows.csv"
    table.write_text("g,x\nB,1\nA,2\nB,4\nA,4\nB,5\nA,1\nB,0.5\n")
    assert run(["bounds", str(table), *GROUPS, "--rows", str(path)]) == 0
    rows = read(path.read_text())
    assert list(rows[0]) == ["group", "file_row", *CHANGES]
    assert sorted(int(row["file_row"]) for row in rows) == [1, 3, 5, 7]


def test_places_only_where_there_is_nothing_else():
    plain = result(
        lower=bound(LOWER, rows=[1], effects=[0.25, 0.5]), upper=bound(UPPER, rows=[0]), n_samples_Y=2
    )
    assert rows_csv(plain) == (
        "group,row,in_lower,in_upper,lower_change,upper_change\n"
        "healthy,1,true,false,0.5,\n"
        "healthy,0,false,true,0.25,\n"
    )


def test_two_way_has_both_groups(table: str, tmp_path: Path):
    path = tmp_path / "rows.csv"
    assert run(["bounds", table, *NAMED, "--n-moved-of-x", "1", "--rows", str(path)]) == 0
    found = {(row["group"], row["id"]) for row in read(path.read_text())}
    assert found == {("A", c) for c in "abc"} | {("B", c) for c in "defgh"}


def test_no_value_of_a_feature_leaves(tmp_path: Path):
    table, path = tmp_path / "t.csv", tmp_path / "rows.csv"
    table.write_text("g,salary\nB,71234.5\nA,61234.5\nB,41234.5\nA,51234.5\nB,31234.5\nA,21234.5\nB,1234.5\n")
    assert run(["bounds", str(table), *GROUPS, "--scale", "none", "--rows", str(path)]) == 0
    assert "1234.5" not in path.read_text()
    assert "salary" not in path.read_text()


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+49 30 12", "'+49 30 12"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t'=1"),
        ("\r1", "'\r1"),
        ("\n=1", "'\n'=1"),
        ("  =1", "'  =1"),
        ("\uff1d1", "'\uff1d1"),
        ("\uff0b1", "'\uff0b1"),
        ("\uff0d1", "'\uff0d1"),
        ("\uff201", "'\uff201"),
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("a;=1+1", "a;'=1+1"),  # a spreadsheet may take a semicolon for the separator
        ("a\n-1", "a\n'-1"),
        ("-", "'-"),
        ("-1e5", "'-1e5"),
        ("-12", "-12"),
        ("-0.5", "-0.5"),
        ("P-12", "P-12"),
        ("a=b", "a=b"),
        ("a; b", "a; b"),
        ("", ""),
    ],
)
def test_formulas_are_defused(text: str, cell: str):
    assert no_formula(text) == cell


def test_no_formula_reaches_the_file(tmp_path: Path):
    table, path = tmp_path / "t.csv", tmp_path / "rows.csv"
    bad = ["=1+1", "+x", "-2+3", "@a", "\uff1d1", 'b",=1', "ok", "-12"]
    written = io.StringIO()
    csv.writer(written).writerows(
        [["g", "name", "x"], *(["=B", name, i] for i, name in enumerate(bad))]
        + [["A", f"a{i}", i % 3] for i in range(4)]
    )
    table.write_text(written.getvalue(), encoding="utf-8")
    groups = ["--group", "g", "--hidden", "A", "--among", "=B", "--n-moved", "2", "--id", "name"]
    assert run(["bounds", str(table), *groups, "--rows", str(path)]) == 0
    rows = read(path.read_text(encoding="utf-8"))
    assert {row["group"] for row in rows} == {"'=B"}
    assert {row["id"] for row in rows} == {"'=1+1", "'+x", "'-2+3", "'@a", "'\uff1d1", 'b",=1', "ok", "-12"}
    # Our own numbers stay numbers, those below zero too.
    assert all(float(row["upper_change"]) < 1e-12 for row in rows)
    assert any(row["upper_change"].startswith("-0.") for row in rows)


def stopped(*_: Any, **__: Any) -> None:
    pytest.fail("the work has begun")


def test_refused_before_the_work(
    table: str, tmp_path: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mmdbounds.bounds, "mmd_bounds", stopped)
    monkeypatch.setattr("mmdbounds.tables.groups", stopped)
    gone = tmp_path / "gone" / "rows.csv"
    before = Path(table).read_text()
    assert refused("bounds", table, *NAMED, "--rows", str(gone)) == (
        f"cannot write {shown_path(gone)}: there is no folder {shown_path(gone.parent)}."
    )
    assert refused("bounds", table, *NAMED, "--rows", str(tmp_path)) == (
        f"cannot write {tmp_path}: it is a folder."
    )
    assert refused("bounds", table, *NAMED, "--rows", table) == (
        f"cannot write {table}: the table is read from it."
    )
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    assert refused("bounds", table, *NAMED, "--rows", str(link)).endswith("the table is read from it.")
    assert Path(table).read_text() == before


def test_written_whole_or_not_at_all_and_after_the_answer(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "rows.csv"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    assert run(["bounds", table, *NAMED]) == 0
    answer = capsys.readouterr().out
    monkeypatch.setattr(os, "replace", full)
    assert run(["bounds", table, *NAMED, "--rows", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out.split("kernel values")[0] == answer.split("kernel values")[0]
    assert err == (
        f"mmdbounds: cannot write {shown_path(path)}: No space left on device. "
        "The answer was printed; only this file is missing.\n"
    )
    assert path.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["rows.csv", "table.csv"]


def test_nothing_is_written_when_the_work_fails(table: str, tmp_path: Path, refused: Callable[..., str]):
    path = tmp_path / "rows.csv"
    assert "cannot be among" in refused("bounds", table, *NAMED, "--n-moved", "6", "--rows", str(path))
    assert not path.exists()
