"""`--unit`: one row per unit, what is refused, and the note about names that are repeated."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import mmdbounds as mb
from mmdbounds.cli.main import run

TABLE = """\
visit,patient,g,x,y
v1,007,A,1,2
v2,007,A,1.1,2.2
v3,8,A,2,1
v4,9.0,A,2,2.5
v5,d,C,9,9
v6,d,B,5,4
v7,d,B,5.2,4
v8,e,B,6,6
v9,f,B,5,7
v10,g,B,4,5
"""
GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--n-permutations", "39", "--rng", "0"]
COMMANDS = {"test": ["--n-moved", "1"], "sweep": ["--epsilons", "0.2"]}
OTHERS = "mmdbounds: note: 1 row of other groups left out: C (1).\n"
X_UNITS, Y_UNITS = ["007", "007", "8", "9.0"], ["d", "d", "e", "f", "g"]
CHANGING = re.compile(r" in [^ ]+ s; mmdbounds [^ ]+\.$")
Refused = Callable[..., str]


def one_line(text: str) -> str:
    return CHANGING.sub("", " ".join(text.split()))


@pytest.fixture
def visits(tmp_path: Path) -> str:
    """A table of visits, several to a patient; one row is of a group that is not compared."""
    path = tmp_path / "visits.csv"
    path.write_text(TABLE)
    return str(path)


def expected(command: str, path: str, **options: str) -> str:
    """The summary of the function on the same rows and units."""
    X, Y = mb.groups(path, "g", hidden="A", among="B", columns=["x", "y"], **options)
    shared = {"unit": (X_UNITS, Y_UNITS), "n_permutations": 39, "rng": 0}
    if command == "test":
        return mb.robust_test(X, Y, mb.Contamination(n_moved=1), **shared).summary()
    return mb.sweep(X, Y, epsilons=[0.2], **shared).summary()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (["--unit", "patient", "--id", "visit"], {"id": "visit"}),
        (["--unit", "patient", "--id", "patient", "--exclude", "visit"], {"id": "patient"}),
        (["--unit", "patient", "--exclude", "visit"], {}),
        (["--unit", "patient", "--columns", "x", "--columns", "y"], {}),
        (["--unit", "patient", "--exclude", "patient", "--exclude", "visit"], {}),
    ],
)
def test_the_units_arrive_and_are_no_feature(
    command: str,
    flags: list[str],
    options: dict[str, str],
    visits: str,
    capsys: pytest.CaptureFixture[str],
):
    assert run([command, visits, *GROUPS, *COMMANDS[command], *flags]) == 0
    out, err = capsys.readouterr()
    assert err == OTHERS
    assert one_line(out) == one_line(expected(command, visits, **options))
    assert "left out: 1 of the 4 rows of A, 1 of the 5 rows of B." in one_line(out)


def test_json_says_what_was_done(visits: str, capsys: pytest.CaptureFixture[str]):
    flags = ["--unit", "patient", "--id", "visit", "--json"]
    assert run(["test", visits, *GROUPS, *COMMANDS["test"], *flags]) == 0
    saved = json.loads(capsys.readouterr().out)
    assert saved["units_note"].startswith("One row per unit was drawn at random (seed 0); left out: ")
    assert saved["provenance"]["data"]["units"]["one row each of"] == 7
    assert (saved["n_samples_X"], saved["n_samples_Y"]) == (3, 4)


@pytest.mark.full
def test_other_kinds_of_files(visits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    import polars as pl

    outs = []
    parquet, packed = tmp_path / "visits.parquet", tmp_path / "visits.csv.gz"
    pl.read_csv(visits, schema_overrides={"patient": pl.String}).write_parquet(parquet)
    packed.write_bytes(gzip.compress(Path(visits).read_bytes()))
    for path in (visits, parquet, packed):
        flags = [*COMMANDS["test"], "--unit", "patient", "--id", "visit"]
        assert run(["test", str(path), *GROUPS, *flags]) == 0
        outs.append(one_line(capsys.readouterr().out))
    assert outs[0] == outs[1] == outs[2]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--unit", "patint"],
            r"^there is no column 'patint', named in `--unit`\. Did you mean 'pat",
        ),
        (["--unit", "g"], r"^`--unit` must be neither the group column nor a feature; got 'g'\.$"),
        (
            ["--unit", "x", "--columns", "x", "--columns", "y"],
            r"^`--unit` must be neither the group column nor a feature; got 'x'\.$",
        ),
        (["--unit"], r"--unit.* requires an argument.* See `mmdbounds"),
    ],
)
def test_refusals(command: str, flags: list[str], message: str, visits: str, refused: Refused):
    said = refused(command, visits, *GROUPS, *COMMANDS[command], "--exclude", "visit", *flags)
    assert re.search(message, said)


@pytest.mark.parametrize("blank", ["", " "])
def test_rows_without_a_unit_are_refused(blank: str, tmp_path: Path, refused: Refused):
    path = tmp_path / "visits.csv"
    arguments = ["test", str(path), *GROUPS, "--n-moved", "1", "--id", "visit", "--unit", "patient"]
    path.write_text(TABLE.replace("v4,9.0,", f"v4,{blank},").replace("v9,f,", f"v9,{blank},"))
    assert refused(*arguments) == (
        "`--unit` must name the unit of each row; got none in row 4. Name it, or leave it out."
    )
    path.write_text(TABLE.replace("v5,d,", f"v5,{blank},"))
    assert run(arguments) == 0  # a row of neither group needs none


def test_a_unit_in_both_groups_is_refused(tmp_path: Path, refused: Refused):
    path = tmp_path / "visits.csv"
    path.write_text(TABLE.replace("v8,e,", "v8,007,"))
    said = refused("test", str(path), *GROUPS, "--n-moved", "1", "--id", "visit", "--unit", "patient")
    assert said.startswith("every unit must be filed under one group; got rows under both A and B for 007.")


def test_there_is_no_file(refused: Refused):
    said = refused("test", "nowhere.csv", *GROUPS, "--n-moved", "1", "--unit", "patient")
    assert said.startswith("there is no file 'nowhere.csv'.")


@pytest.mark.parametrize("command", COMMANDS)
def test_repeated_names_are_noted(command: str, visits: str, capsys: pytest.CaptureFixture[str]):
    def notes(*flags: str) -> str:
        assert run([command, visits, *GROUPS, *COMMANDS[command], *flags]) == 0
        return capsys.readouterr().err.replace(OTHERS, "", 1)

    assert notes("--exclude", "visit", "--id", "patient") == (
        "mmdbounds: note: 4 rows share their 'patient' with another row. The test assumes exchangeable rows, "
        "which rows of one patient are not; if these are such rows, add --unit patient.\n"
    )
    assert notes("--exclude", "visit", "--id", "patient", "--unit", "patient") == ""
    assert notes("--exclude", "patient", "--id", "visit") == ""
    assert notes("--columns", "x") == ""


def test_names_shared_across_the_groups_are_noted_and_blanks_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "visits.csv"
    rows = ["name,g,x", "a,A,1", "b,A,2", "a,B,3", ",B,4", ",B,5"]
    path.write_text("\n".join(rows))
    arguments = ["test", str(path), *GROUPS, "--id", "name", "--n-moved", "0"]
    assert run(arguments) == 0
    assert capsys.readouterr().err.startswith("mmdbounds: note: 2 rows share their 'name' with another")


NOTE = (
    "mmdbounds: note: One row per unit was drawn at random (seed 4); left out: 1 of the 4 rows of A, "
    "1 of the 5 rows of B. Each row stands for one unit: epsilon and all counts refer to units.\n"
)
DRAWN = "Compared: 4 rows of A (X) with 5 of B (Y).\nOf these, one row per patient is drawn at random.\n"
UNITS = [*GROUPS[:6], "--unit", "patient", "--id", "visit", "--rng", "4"]


def test_bounds_of_one_row_per_unit(visits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rows, page = tmp_path / "rows.csv", tmp_path / "page.html"
    arguments = ["bounds", visits, *UNITS, "--n-moved", "1", "--json", "--rows", str(rows)]
    assert run([*arguments, "--report", str(page)]) == 0
    out, err = capsys.readouterr()
    X, Y = mb.groups(visits, "g", hidden="A", among="B", id="visit", columns=["x", "y"])
    drawn = mb.one_row_each(X, Y, X_UNITS, Y_UNITS, rng=4)
    expected = mb.mmd_bounds(drawn.X, drawn.Y, mb.Contamination(n_moved=1), rng=4)
    saved = json.loads(out)
    assert (saved["lower"]["value"], saved["upper"]["value"]) == (expected.lower.value, expected.upper.value)
    assert (saved["n_samples_X"], saved["n_samples_Y"]) == (3, 4)
    assert saved["provenance"]["data"]["unit_column"] == "patient"
    assert saved["provenance"]["data"]["units"]["seed"] == 4
    assert err == OTHERS + NOTE
    assert {line.split(",")[1] for line in rows.read_text().splitlines()[1:]} == set(drawn.Y.ids.tolist())
    assert "<span>--unit</span> patient" in page.read_text()
    assert run([*arguments, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("command", "flags"), [("bounds", ["--n-moved", "1"]), *COMMANDS.items()])
def test_a_dry_run_says_that_rows_will_be_drawn(
    command: str, flags: list[str], visits: str, capsys: pytest.CaptureFixture[str]
):
    assert run([command, visits, *UNITS, *flags, "--dry-run"]) == 0
    assert DRAWN in capsys.readouterr().out


def test_the_command_on_the_page_draws_the_same_rows(visits: str, tmp_path: Path):
    """The search is not random, but the draw is."""
    page = tmp_path / "page.html"
    flags = ["--n-moved", "1", "--method", "s-sd", "--report", str(page), "--quiet"]
    assert run(["bounds", visits, *UNITS, *flags]) == 0
    assert "<span>--rng</span> 4" in page.read_text()


def test_evaluation_of_one_row_per_unit(visits: str, capsys: pytest.CaptureFixture[str]):
    flags = ["--epsilon", "0.4", "--n-trials", "2", "--n-processes", "1", "--json"]
    assert run(["evaluate", visits, *UNITS, *flags]) == 0
    out, err = capsys.readouterr()
    X, Y = mb.groups(visits, "g", hidden="A", among="B", id="visit", columns=["x", "y"], scale="none")
    drawn = mb.one_row_each(X, Y, X_UNITS, Y_UNITS, rng=4)
    expected = mb.evaluate(drawn.X, drawn.Y, 0.4, n_trials=2, scale="standard", rng=4)
    assert mb.results.Evaluation.from_dict(json.loads(out)).trial_table()["lower"] == pytest.approx(
        expected.trial_table()["lower"], rel=0, abs=0
    )
    assert err == OTHERS + NOTE


@pytest.mark.parametrize("command", ["bounds", "evaluate"])
def test_a_unit_in_both_groups_is_refused_everywhere(command: str, tmp_path: Path, refused: Refused):
    path = tmp_path / "visits.csv"
    path.write_text(TABLE.replace("v8,e,", "v8,007,"))
    said = refused(command, str(path), *UNITS, "--epsilon", "0.4")
    assert said.startswith("every unit must be filed under one group; got rows under both A and B for 007.")
    assert refused(command, str(path), *UNITS, "--epsilon", "0.4", "--rng", "-1").startswith("`rng` must be")
