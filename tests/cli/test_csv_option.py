"""`--csv`: the numbers of a result as a table, to the last bit, with nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import dataclasses
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mmdbounds as mb
from mmdbounds.cli.main import run

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--rng", "0", "--id", "name"]
WHO = ["name_x", "name_y", "n_samples_X", "n_samples_Y", "epsilon", "n_moved", "n_moved_of_x", "exactly"]
FLAGS: dict[str, list[str]] = {
    "bounds": ["--n-moved", "1"],
    "test": ["--n-moved", "1", "--n-permutations", "19"],
    "sweep": ["--n-permutations", "19"],
    "evaluate": ["--epsilon", "0.4", "--n-trials", "2", "--n-processes", "1"],
}


@pytest.fixture
def printed(table: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[dict[str, str]]]:
    """Run a command on the small table with `--csv`, and return the rows that it prints."""

    def run_it(command: str, *flags: str) -> list[dict[str, str]]:
        assert run([command, table, *GROUPS, *FLAGS[command], *flags, "--csv"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert out.endswith("\n")
        assert not out.endswith("\n\n")
        return list(csv.DictReader(io.StringIO(out), strict=True))

    return run_it


@pytest.fixture
def groups(table: str) -> tuple[Any, Any]:
    return mb.groups(table, "g", hidden="A", among="B", id="name")


def number(cell: str) -> float | None:
    return float(cell) if cell else None


def test_bounds_are_one_row(printed: Any, groups: Any):
    (row,) = printed("bounds")
    result = mb.mmd_bounds(*groups, mb.Contamination(n_moved=1), rng=0)
    assert list(row) == [
        *WHO,
        *("observed", "lower", "upper", "lower_certified", "upper_certified", "kind", "method"),
    ]
    assert (row["name_x"], row["name_y"], row["n_samples_X"], row["n_samples_Y"]) == ("A", "B", "3", "5")
    assert (row["n_moved"], row["n_moved_of_x"], row["exactly"]) == ("1", "0", "false")
    assert (row["kind"], row["method"]) == ("labelling", "sharp")
    assert [float(row[name]) for name in ("epsilon", "observed")] == [0.25, result.observed]
    for side in ("lower", "upper"):
        assert float(row[side]) == getattr(result, side).value
        assert float(row[f"{side}_certified"]) == getattr(result, side).certified


def test_what_is_not_proved_is_empty(printed: Any):
    (row,) = printed("bounds", "--method", "sd")
    assert (row["lower_certified"], row["upper_certified"]) == ("", "")


def test_a_test_is_one_row(printed: Any, groups: Any):
    (row,) = printed("test", "--beta", "0.01")
    options = {"n_permutations": 19, "beta": 0.01, "rng": 0}
    result = mb.robust_test(*groups, mb.Contamination(n_moved=1), **options)
    numbers = ("observed", "statistic", "pvalue", "pvalue_as_filed", "beta", "n_permutations", "n_moved")
    assert {name: float(row[name]) for name in numbers} == {name: getattr(result, name) for name in numbers}
    assert (row["is_valid"], row["is_tight"]) == (str(result.is_valid).lower(), str(result.is_tight).lower())
    assert list(row)[: len(WHO)] == WHO


def test_a_sweep_has_a_row_for_each_point(printed: Any, groups: Any):
    rows = printed("sweep")
    points = mb.sweep(*groups, n_permutations=19, rng=0).points
    names = [f.name for f in dataclasses.fields(points[0]) if "float" in str(f.type) or "int" in str(f.type)]
    assert list(rows[0]) == names
    assert len(rows) == len(points) > 2
    for row, point in zip(rows, points, strict=True):
        assert {name: number(cell) for name, cell in row.items()} == {
            name: getattr(point, name) for name in row
        }


def test_an_evaluation_has_the_columns_of_its_table(printed: Any, groups: Any, table: str):
    rows = printed("evaluate")
    raw = mb.groups(table, "g", hidden="A", among="B", id="name", scale="none")
    expected = mb.evaluate(*raw, 0.4, n_trials=2, scale="standard", rng=0).trial_table()
    assert list(rows[0]) == list(expected)
    assert [(row["trial"], row["method"]) for row in rows] == [
        ("0", "sharp"),
        ("0", "s-sd"),
        ("1", "sharp"),
        ("1", "s-sd"),
    ]
    assert [float(row["truth"]) for row in rows] == expected["truth"].tolist()
    assert [row["covers"] for row in rows] == [str(each).lower() for each in expected["covers"].tolist()]
    assert [row["lower_certified"] == "" for row in rows] == [False, True, False, True]


@pytest.mark.full
@pytest.mark.parametrize("command", FLAGS)
def test_polars_reads_numbers_and_truths(command: str, table: str, capsys: pytest.CaptureFixture[str]):
    import polars as pl

    assert run([command, table, *GROUPS, *FLAGS[command], "--csv"]) == 0
    frame = pl.read_csv(io.StringIO(capsys.readouterr().out))
    truths = [name for name in frame.columns if name.startswith(("is_", "exactly", "covers"))]
    assert all(frame.schema[name] == pl.Boolean for name in truths)
    assert frame.schema["n_moved"] == pl.Int64
    assert frame.schema["upper" if command != "test" else "pvalue"] == pl.Float64


def test_names_of_groups_are_no_formulas(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "t.csv"
    path.write_text('g,x\n"=1+1,",1\n"=1+1,",2\n@x,4\n@x,4.5\n@x,5\n"=1+1,",1.5\n')
    flags = ["--group", "g", "--hidden", "=1+1,", "--among", "@x", "--n-moved", "1", "--csv"]
    assert run(["bounds", str(path), *flags]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["name_x"], row["name_y"]) == ("'=1+1,", "'@x")


def test_rows_go_to_their_own_file(table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "rows.csv"
    assert run(["bounds", table, *GROUPS, "--n-moved", "1", "--csv", "--rows", str(path)]) == 0
    assert capsys.readouterr().out.count("\n") == 2
    assert path.read_text().startswith("group,id,")


@pytest.mark.parametrize("command", FLAGS)
def test_one_form_at_a_time(command: str, refused: Callable[..., str]):
    """Found before the table is looked at: there is none."""
    message = refused(command, "none.csv", *GROUPS, *FLAGS[command], "--csv", "--json")
    assert message == "`--json` and `--csv` exclude each other; leave one of them out."


def test_a_reader_that_has_left(table: str):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "mmdbounds", "sweep", table, *GROUPS, *FLAGS["sweep"], "--csv"],
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
