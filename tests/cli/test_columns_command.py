"""``mmdbounds columns``."""

import csv
import io
import json

import pytest

import mmdbounds as mb

ASKED = ["--group", "group", "--hidden", "case", "--among", "control", "--id", "patient"]
TABLE = """patient,group,age,smoker,looked_up
a,case,70,yes,
b,case,65,no,case
c,case,80,yes,
d,control,50,no,
e,control,40,no,control
f,control,60,yes,case
g,control,72,no,
h,control,45,no,
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    return str(path)


def expected(path, **known):
    X, Y = mb.groups(path, "group", hidden="case", among="control", id="patient", **known)
    return mb.column_table(X, Y, mb.Contamination(n_moved=1))


def test_every_form_shows_the_table(said, table):
    asked = ["columns", table, *ASKED, "--exclude", "looked_up", "--n-moved", "1"]
    want = expected(table, exclude="looked_up")
    assert said(*asked).strip() == want.summary().strip()
    rows = list(csv.DictReader(io.StringIO(said(*asked, "--csv"))))
    assert [row["name"] for row in rows] == ["age", "smoker=no", "smoker=yes"]
    assert float(rows[0]["difference_upper"]) == want.rows[0].difference_upper
    assert json.loads(said(*asked, "--json")) == json.loads(want.to_json())
    first = said(*asked, "-q").splitlines()[0].split()
    assert first == ["age", *map(repr, (want.rows[0].difference, *bounds(want.rows[0])))]


def bounds(row):
    return row.difference_lower, row.difference_upper


def test_verified_rows_narrow_it(said, table):
    asked = ["columns", table, *ASKED, "--n-moved", "1"]
    result = json.loads(said(*asked, "--verified", "looked_up", "--json"))
    want = expected(table, verified="looked_up")
    assert (result["n_samples_X"], result["n_samples_Y"]) == (4, 4)
    assert result["knowledge"]["n_refiled_to_x"] == 1
    assert [row["difference_lower"] for row in result["rows"]] == [row.difference_lower for row in want.rows]


def test_units_are_refused(refused, table):
    line = refused("columns", table, *ASKED[:6], "--n-moved", "1", "--unit", "patient")
    assert line.startswith("`--unit` cannot be used with columns")
