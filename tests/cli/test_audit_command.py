"""`mmdbounds audit`: a newcomer's way from a table without a column of the truth to a decision."""

from __future__ import annotations

import csv
import inspect
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.cli.auditing import audit_command
from mmdbounds.cli.main import run
from mmdbounds.cli.options import defaults_of
from mmdbounds.report.record import recipe

GROUPS = ["--group", "where", "--hidden", "case", "--among", "control", "--id", "name"]
QUICK = ["--n-permutations", "39", "--bandwidth", "1.5", "--rng", "0"]
CHANGING = re.compile(r" in [^ ]+ s; mmdbounds [^ ]+\.$")
Refused = Callable[..., str]


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    """A table of 20 cases and 30 controls, of whom p21 and p33 are cases."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 2)) + np.repeat([0.0, 1.6], [20, 30])[:, None]
    rows[[21, 33]] -= 1.6
    lines = ["name,where,a,b"]
    lines += [f"p{i},{'case' if i < 20 else 'control'},{a:.6f},{b:.6f}" for i, (a, b) in enumerate(rows)]
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def filled_in(patients: Path, names: list[str]) -> Path:
    """Return the table with a column of the truth, filled in for these rows."""
    truth = {name: "case" if name in ("p21", "p33") else "control" for name in names}
    first, *rows = patients.read_text().splitlines()
    lines = [f"{first},chart"] + [f"{row},{truth.get(row.split(',')[0], '')}" for row in rows]
    path = patients.with_name("filled.csv")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_from_a_table_to_a_decision(patients: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["audit", str(patients), *GROUPS, *QUICK, "--next", "20", "--csv"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    names = [row["id"] for row in csv.DictReader(io.StringIO(out))]
    assert len(set(names)) == 20
    assert all(int(name[1:]) >= 20 for name in names)
    table = filled_in(patients, names)
    assert run(["audit", str(table), *GROUPS, *QUICK, "--verified", "chart", "--json"]) == 0
    result = mb.results.AuditResult.from_dict(json.loads(capsys.readouterr().out))
    assert (result.n_random, result.n_found) == (20, len({"p21", "p33"} & set(names)))
    assert result.decision == "the difference stands"


def test_the_summary_is_that_of_the_function(patients: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["audit", str(patients), *GROUPS, *QUICK, "--next", "3", "--rng", "5"]) == 0
    out, err = capsys.readouterr()
    X, Y = mb.groups(patients, "where", hidden="case", among="control", id="name")
    result = mb.audit(X, Y, n_next=3, rng=5, n_permutations=39, bandwidth=1.5)
    assert CHANGING.sub("", " ".join(out.split())) == CHANGING.sub("", " ".join(result.summary().split()))
    assert err == ""
    assert out.startswith(f"Check more: {result.n_more} of the ")
    assert "should be enough if they are drawn at random and none of them is misfiled." in " ".join(
        out.split()
    )
    assert all(name in out for name in result.ids_next.tolist())


def test_an_empty_column_is_how_an_audit_begins(patients: Path, capsys: pytest.CaptureFixture[str]):
    table = filled_in(patients, [])
    assert run(["audit", str(table), *GROUPS, *QUICK, "--verified", "chart", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"check more \d+\n", out)
    assert err == ""


def test_what_would_be_done(patients: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["audit", str(patients), *GROUPS, *QUICK, "--dry-run"]) == 0
    assert "Compared: 20 rows of case (X) with 30 of control (Y)." in capsys.readouterr().out


def test_a_dry_run_misses_the_seed_too(patients: Path, refused: Refused):
    table = filled_in(patients, ["p20"])
    command = ["audit", str(table), *GROUPS, "--verified", "chart", "--dry-run"]
    assert "must be the seed with which the audit began" in refused(*command)


def test_rows_are_named_in_the_order_of_a_column(
    patients: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(patients.parent)  # the command that repeats a result names the file alone
    first, *rows = patients.read_text().splitlines()
    lines = [f"{first},quality", *(f"{row},{'' if i < 20 else (7 * i) % 31}" for i, row in enumerate(rows))]
    patients.write_text("\n".join(lines) + "\n")
    named = sorted(range(20, 50), key=lambda i: (7 * i) % 31)[:5]
    command = ["audit", str(patients), *GROUPS, *QUICK, "--order", "quality", "--next", "5"]
    assert run([*command, "--json"]) == 0
    result = mb.results.AuditResult.from_dict(json.loads(capsys.readouterr().out))
    assert result.ids_next.tolist() == [f"p{i}" for i in named]
    assert (result.by, result.provenance.data["columns"]) == ("order", ["a", "b"])
    assert run([*command, "--dry-run"]) == 0
    assert run([*shlex.split(recipe(result))[1:], "--next", "5", "--json"]) == 0
    *_, again = capsys.readouterr().out.partition("{")
    assert json.loads("{" + again)["ids_next"] == [f"p{i}" for i in named]


def test_every_keyword_is_a_flag_with_the_same_default():
    function = inspect.signature(mb.audit).parameters
    command = defaults_of(audit_command)
    keywords = {name for name, p in function.items() if p.kind is p.KEYWORD_ONLY}
    assert keywords <= set(command)
    for name in keywords:
        assert command[name] == function[name].default


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--unit", "name"], "`--unit` cannot be used in an audit, which looks up rows."),
        (["--order", "b", "--by", "effect"], "`--by effect` and `order` name different rows first."),
        (["--by", "chance"], "`by` must be one of 'random', 'effect'; got 'chance'."),
        (
            ["--audit-level", "95"],
            "`audit_level` must be a number between 0 and 1; got 95. Did you mean 0.95?",
        ),
        (["--verified", "chart"], "there is no column 'chart', named in `--verified`."),
    ],
)
def test_refusals(options: list[str], message: str, patients: Path, refused: Refused):
    assert message.rstrip(".") in refused("audit", str(patients), *GROUPS, *options)


def test_advice_about_repeated_names_is_no_option_that_an_audit_refuses(
    patients: Path, capsys: pytest.CaptureFixture[str]
):
    patients.write_text(patients.read_text().replace("\np1,", "\np0,").replace("\np22,", "\np0,"))
    run(["audit", str(patients), *GROUPS, *QUICK])
    err = capsys.readouterr().err
    assert "3 rows share their 'name' with another row." in err
    assert "if these are such rows, give a table with one row per name." in err
    assert "--unit" not in err
