"""`--dry-run`, the table options and standard input: what is said before and about the work."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mmdbounds import costs
from mmdbounds.cli import plan
from mmdbounds.cli.main import run

TABLE = """\
patient;dx;age;bmi;sex;site;smoker;always;note
P1;MI;61;27,5;m;A;true;1;x
P2;MI;70;31,25;f;B;true;1;x
P3;healthy;55;22,1;f;A;false;1;y
P4;healthy;48;24;m;C;false;1;x
P5;other;48;24;m;C;false;1;y
P6;healthy;52;unknown;m;A;true;1;x
P7;MI;66;29,9;m;B;false;1;y
P8;healthy;39;21,0;f;C;false;1;y
P9;;39;21,0;f;C;false;1;y
"""
GROUPS = ["--group", "dx", "--hidden", "MI", "--among", "healthy"]
FLAGS = [*GROUPS, "--id", "patient", "--exclude", "note", "--na", "unknown"]
AMOUNTS = {
    "bounds": ["--n-moved", "1"],
    "test": ["--n-moved", "1"],
    "sweep": [],
    "evaluate": ["--epsilon", "0.4", "--n-trials", "3"],
}
Refused = Said = Callable[..., str]


@pytest.fixture
def patients(tmp_path: Path) -> str:
    """A table with numbers, categories, truth, a constant column and a missing cell."""
    path = tmp_path / "patients.csv"
    path.write_text(TABLE)
    return str(path)


@pytest.fixture
def _known_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million kernel values a second, whatever else the machine does."""
    monkeypatch.setattr(costs, "values_a_second", lambda _: 1e6)


@pytest.mark.usefixtures("_known_rate")
def test_what_would_be_done(patients: str, capsys: pytest.CaptureFixture[str]):
    how = ["--method", "s-sd", "--missing", "drop", "--dry-run"]
    assert run(["bounds", patients, *FLAGS, *AMOUNTS["bounds"], *how]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert re.sub(r"(sha256|bandwidth) [0-9a-f.]+[0-9a-f]", r"\1 ...", out) == (
        "Table: patients.csv, CSV (semicolon, decimal comma), 9 rows.\n"
        "  sha256 ...\n"
        "Compared: 3 rows of MI (X) with 3 of healthy (Y).\n"
        "1 row of other groups left out: other (1).\n"
        "1 row without a label in 'dx' left out.\n"
        "1 column is constant over the rows of both groups and left out: 'always'.\n"
        "1 row with missing cells left out: 0 of 'MI' and 1 of 'healthy'.\n"
        "Columns: 5 columns as 8 features, standard (mean 0 and deviation 1 over these rows).\n"
        "  column  holds          missing  what is done\n"
        "  age     whole numbers        0  compared\n"
        "  bmi     numbers              1  compared, rows with missing cells left out\n"
        "  sex     2 categories         0  compared, one 0-1 column each\n"
        "  site    3 categories         0  compared, one 0-1 column each\n"
        "  smoker  true or false        0  compared\n"
        "  always  one value            0  left out\n"
        "Left out by --exclude: note.\n"
        "Rows are identified by patient.\n"
        "Misfiled: 0 to 1 of the 3 rows of healthy.\n"
        "Kernel: rbf, bandwidth ....\n"
        "\n"
        "Time: under a second.\n"
    )


@pytest.mark.usefixtures("_known_rate")
@pytest.mark.parametrize("command", AMOUNTS)
def test_every_command_says_it_and_does_not_do_it(
    command: str, patients: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    # The first part of a proof is tried; nothing of the rest is.
    one_pass = "mmdbounds.problem.Problem.one_pass"
    work = "mmdbounds.bounds.effects_by_group" if command == "bounds" else one_pass
    monkeypatch.setattr(work, refuse)
    flags = [*FLAGS, *AMOUNTS[command], "--missing", "impute", "--dry-run"]
    assert run([command, patients, *flags]) == 0
    out = capsys.readouterr().out
    assert "Compared: 3 rows of MI (X) with 4 of healthy (Y).\n" in out
    assert (
        "Missing cells filled, numbers by the median, others by the most frequent value: 1 of 'bmi'.\n" in out
    )
    assert run([command, patients, *flags, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["data"]["n_filled_cells"] == {"bmi": 1}
    assert (plan["n_samples_X"], plan["n_samples_Y"]) == (3, 4)
    assert plan["features"][:4] == ["age", "bmi", "sex=f", "sex=m"]
    assert 0 < plan["seconds"] < 10


def test_what_is_wrong_is_found_by_a_dry_run_too(patients: str, refused: Refused):
    flags = [*FLAGS, "--dry-run", "--missing", "drop"]
    assert refused("bounds", patients, *flags, "--n-moved", "9").startswith("9 misfiled rows cannot be among")
    assert refused("bounds", patients, *flags, "--n-moved", "1", "--kernel", "rbg").startswith(
        "`kernel` must be"
    )
    assert refused("sweep", patients, *flags, "--epsilons", "20").startswith("`epsilon` must be in [0, 1)")


def test_columns_need_no_kernel_and_no_pass(patients: str, said: Said):
    command = ["columns", patients, *FLAGS, "--n-moved", "1", "--missing", "drop", "--dry-run"]
    told = said(*command)
    assert told.endswith("Rows are identified by patient.\nMisfiled: 0 to 1 of the 3 rows of healthy.\n")
    plan = json.loads(said(*command, "--json"))
    assert plan["n_moved_range"] == [0, 1]
    assert not {"kernel", "seconds"} & set(plan)


@pytest.mark.parametrize("command", ["bounds", "report", "test"])
def test_a_dry_run_refuses_what_leaves_too_few_rows(command: str, tmp_path: Path, refused: Refused):
    path = tmp_path / "two.csv"
    path.write_text("g,a,b\nA,1,2\nA,2,1\nA,3,4\nA,0,1\nB,1.5,2.5\nB,2.5,1.5\n")
    groups = ["--group", "g", "--hidden", "A", "--among", "B"]
    out = ["--out", str(tmp_path / "page.html")] if command == "report" else []
    why = refused(command, str(path), *groups, "--n-moved", "1", "--dry-run", *out)
    assert why.startswith("with 1 of the 2 rows of `Y` moved to `X`, the true `Y` would have 1 row;")


@pytest.mark.usefixtures("_known_rate")
def test_a_refusal_says_how_to_see_all_problems_and_the_flags_solve_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refused: Refused
):
    path = tmp_path / "words.csv"
    rows = ["MI,1,n/a", "MI,2,2", "MI,unknown,3", "healthy,3,pending", "healthy,lost,5", "healthy,4,6"]
    path.write_text("\n".join(["dx,a,b", *rows, "MI,7,8", "healthy,8,9"]))
    command = ["bounds", str(path), *GROUPS, "--n-moved", "1"]
    message = refused(*command)
    assert (
        "'a' (numbers and text, 2 words: 'lost', 'unknown'), 'b' (numbers and text, 1 word: 'pending')"
        in message
    )
    assert message.endswith("Add --dry-run to see all problems at once, and the flags that solve them.")
    assert run([*command, "--dry-run"]) == 2
    flags = capsys.readouterr().err.rstrip("\n").split("For example, add: ")[1]
    assert flags == "--na lost --na unknown --missing impute --na pending"
    assert run([*command, *flags.split(), "--dry-run"]) == 0


MESSY = """\
patient;dx;seen;income;rate;fee;sex;bmi;note
P1;MI;2020-01-31;1,234;12 %;$5;m;27.5;a
P2;MI;2020-02-01;2,500;30 %;$7;f;31.25;b
P3;healthy;2020-03-04;900;7 %;9;f;;c
P4;healthy;2020-03-05;12,000;50 %;$8;m;22.5;d
P5;healthy;2020-03-06;1,100;51 %;$8;m;24;e
"""


def test_a_dry_run_lists_all_problems_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "messy.csv"
    path.write_text(MESSY)
    command = ["bounds", str(path), *GROUPS, "--epsilon", "0.9", "--dry-run"]
    assert run(command) == 2
    out, err = capsys.readouterr()
    told = " ".join(out.split())
    columns = "'patient' (text, different in every row), 'seen' (text, dates), 'fee' (numbers, not all with"
    for line in (
        "income numbers 0 compared",
        "rate numbers 0 compared",
        "bmi numbers 1 refused: missing cells",
        "seen text, dates 0 refused",
        "patient text, different in every row 0 refused",
        f"1. 4 columns cannot be compared: {columns} the same sign), 'note' (text, different in every row).",
        "2. 'messy.csv' has missing or infinite values in 1 of 4 columns: 'bmi' (1 row).",
        "3. 18 misfiled rows cannot be among the 3 rows of `Y`. The largest `epsilon` for groups of 2 and 3",
        "rows is 0.334 (1 row).",
    ):
        assert line in told
    flags = "--id patient --dates days --missing impute --exclude fee,note"
    assert err == f"mmdbounds: 3 problems, listed in the output. For example, add: {flags}\n"
    assert run([*command, "--json"]) == 2
    plan = json.loads(capsys.readouterr().out)
    assert (len(plan["problems"]), plan["add"]) == (3, flags)
    assert plan["data"]["refused_columns"]["seen"] == "text, dates"
    assert plan["data"]["removed_signs"] == {"income": "thousands separators", "rate": "percent signs"}
    # With the flags nothing but the amount is left.
    assert run([*command, *flags.split()]) == 2
    assert capsys.readouterr().err.startswith(
        "mmdbounds: 18 misfiled rows cannot be among the 3 rows of `Y`."
    )
    assert run([*command, *flags.split(), "--epsilon", "0.334"]) == 0
    assert "dates, as days since 2000-01-01        0  compared" in capsys.readouterr().out


def test_lists_with_commas(tmp_path: Path, refused: Refused, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "t.csv"
    lines = [f"{'MI' if i % 2 else 'healthy'};{i % 5};{i * i};{i % 3}\n" for i in range(12)]
    path.write_text('dx;a;b;"c,d"\n' + "".join(lines))
    command = ["sweep", str(path), *GROUPS, "--n-permutations", "19", "--json"]
    found = {}
    for names in ("a,b", "a, b", "c,d"):  # the last one is the name of a column
        assert run([*command, "--columns", names, "--epsilons", "0,0.15", "--epsilons", "0.3"]) == 0
        result = json.loads(capsys.readouterr().out)
        found[names] = result["provenance"]["data"]["columns"]
        assert [point["n_moved"] for point in result["points"]] == [0, 1, 2]
    assert found == {"a,b": ["a", "b"], "a, b": ["a", "b"], "c,d": ["c,d"]}
    assert "there is no column 'e', named in `--exclude`" in refused(*command, "--exclude", "a,e")
    for shares, wrong in (("0,1", "0,1'. Did you mean 0.1?"), ("0.1,x", "x'"), ("0.1,", "'")):
        assert f"must be a number; got '{wrong}" in refused(*command, "--epsilons", shares)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.9, "under a second"),
        (1.4, "about 1 second"),
        (80, "about 80 seconds"),
        (120, "about 2 minutes"),
        (7200, "about 2 hours"),
        (200_000, "about 2 days"),
    ],
)
def test_times_in_words(seconds: float, words: str):
    assert plan.about(seconds) == words


def test_where_the_time_is_not_known_nothing_is_said(patients: str, capsys: pytest.CaptureFixture[str]):
    how = ["--method", "exhaustive", "--missing", "drop", "--dry-run"]
    assert run(["bounds", patients, *FLAGS, "--n-moved", "1", *how]) == 0
    assert "Time" not in capsys.readouterr().out
    assert run(["bounds", patients, *FLAGS, "--n-moved", "1", *how, "--json"]) == 0
    assert "seconds" not in json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("_known_rate")
def test_many_columns_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "genes.csv"
    names = [f"gene{j}" for j in range(60)]
    rows = [[f"{((i - 3.3) ** 2 + j):.3f}" for j in range(60)] for i in range(8)]
    lines = [["dx", *names], *(["MI" if i % 2 else "healthy", *row] for i, row in enumerate(rows))]
    path.write_text("\n".join(",".join(line) for line in lines))
    assert run(["bounds", str(path), *GROUPS, "--n-moved", "1", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "  gene39  numbers        0  compared\n  and 20 more (all of them: --json)\n" in out
    assert "gene40" not in out


def test_the_options_arrive(patients: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    other = tmp_path / "latin.csv"
    other.write_bytes(TABLE.replace("note", "größe").encode("cp1252"))
    flags = ["--exclude", "größe", "--encoding", "cp1252", "--scale", "rank", "--missing", "impute"]
    assert (
        run(
            [
                "bounds",
                str(other),
                *GROUPS,
                "--id",
                "patient",
                "--na",
                "unknown",
                "--n-moved",
                "1",
                *flags,
                "--json",
            ]
        )
        == 0
    )
    out, err = capsys.readouterr()
    data = json.loads(out)["provenance"]["data"]
    assert (data["scale"], data["missing"], data["na"]) == ("rank", "impute", ["unknown"])
    assert data["read_as"] == "CSV (semicolon, decimal comma), cp1252"
    assert data["excluded_columns"] == ["größe"]
    assert err.splitlines() == [
        "mmdbounds: note: 1 row of other groups left out: other (1).",
        "mmdbounds: note: 1 row without a label in 'dx' left out.",
        "mmdbounds: note: 1 column is constant over the rows of both groups and left out: 'always'.",
        (
            "mmdbounds: note: missing cells filled, numbers by the median, others by the most frequent "
            "value: 1 of 'bmi'."
        ),
    ]


def test_notes_can_be_silenced(patients: str, capsys: pytest.CaptureFixture[str]):
    assert run(["bounds", patients, *FLAGS, "--n-moved", "1", "--missing", "drop", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


class Stdin:
    """Standard input that holds some bytes."""

    def __init__(self, contents: bytes) -> None:
        self.buffer = io.BytesIO(contents)
        self.buffer.name = "<stdin>"


def test_standard_input(patients: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    flags = [*FLAGS, "--n-moved", "1", "--missing", "drop", "--method", "s-sd"]
    outs = []
    for source in (patients, "-"):
        monkeypatch.setattr("sys.stdin", Stdin(TABLE.encode()))
        assert run(["bounds", source, *flags, "--json"]) == 0
        outs.append(json.loads(capsys.readouterr().out))
    assert outs[0]["lower"]["value"] == outs[1]["lower"]["value"]
    assert outs[0]["provenance"]["data"]["sha256"] == outs[1]["provenance"]["data"]["sha256"]
    assert outs[1]["provenance"]["data"]["source"] == "<stdin>"


def test_standard_input_that_is_no_table(refused: Refused, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", Stdin(b""))
    assert refused("bounds", "-", *FLAGS, "--n-moved", "1") == "standard input is an empty file."
    monkeypatch.setattr("sys.stdin", None)
    assert (
        refused("bounds", "-", *FLAGS, "--n-moved", "1") == "there is no standard input to read. Name a file."
    )


def test_a_file_called_minus(patients: str, refused: Refused, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(Path(patients).parent)
    Path("-").write_text("dx\n")
    assert refused("bounds", "./-", *FLAGS, "--n-moved", "1") == "'-' has no rows below the header."
