"""A newcomer with a messy table: every stop is one line; its advice, taken literally, ends in a report."""

from __future__ import annotations

import csv
import datetime
import random
import re
import warnings
from pathlib import Path

import pytest

from mmdbounds.cli import app
from mmdbounds.cli.main import run

pytestmark = pytest.mark.filterwarnings("always::mmdbounds.errors.MmdBoundsWarning")

START = ["--group", "diagnosis", "--hidden", "MI", "--among", "healthy", "--epsilon", "0.1"]
QUICK = ["--method", "s-sd", "--progress"]
LONGEST = 25  # stops, from the first command to the report


def messy_rows() -> list[list[str]]:
    """Sixty patients as a hospital exports them, with a column that was recorded together with the group."""
    rng = random.Random(19)
    rows = [
        [
            *("patient", "diagnosis", "admitted", "discharged", "income", "balance", "adherence", "cost"),
            *("sex", "smoker", "visits", "weight", "treatment", "note", "case_id"),
        ]
    ]
    for i in range(60):
        is_case = i % 2 == 0
        day = datetime.date(2021, 1, 1) + datetime.timedelta(days=rng.randrange(300))
        rows.append(
            [
                f"P{i:03}",
                "MI" if is_case else "healthy",
                day.isoformat(),
                (day + datetime.timedelta(days=3)).strftime("%d/%m/%Y"),
                f"{rng.randrange(700, 98_000):,}",
                f"{rng.randrange(-9_000_000, 9_000_000):,}",
                f"{rng.randrange(30, 100)} %",
                f"${rng.uniform(5, 4000):,.2f}",
                rng.choice("mf"),
                rng.choice(["true", "false"]),
                "" if i % 17 == 5 else str(rng.randrange(1, 9)),
                "NA" if i % 23 == 7 else f"{rng.gauss(80 if is_case else 72, 9):.1f}",
                "statin" if is_case else "none given",
                f"note {i}",
                str(1000 + 7 * i),
            ]
        )
    return rows


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(warnings, "showwarning", app._show_warning)  # as in a process of its own
    path = tmp_path / "hospital.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(messy_rows())
    return path


def advice(line: str) -> list[str]:
    """Return the first flag that a line names, with the value that it names: what a literal reader would add.

    "set `--id` to it" and "leave it out with `--exclude`" are about the column in quotes before them.
    """
    setting = re.search(r"[Ss]et `(--[a-z-]+)` to '([a-z-]+)'", line)
    naming = re.search(r"If '([^']+)' names the rows, set `(--id)` to it", line)
    using = re.search(r"column '([^']+)' looks like .* or leave it out with `(--exclude)`", line)
    leaving = re.search(r"'([^']+)'.*[Ll]eave (?:it|columns) out with `(--exclude)`", line)
    if naming:
        return [naming[2], naming[1]]
    if using or (leaving and not setting):
        found = using or leaving
        return [found[2], re.findall(r"'([^']+)'", line)[0]]
    assert setting, f"no advice in: {line}"
    return [setting[1], setting[2]]


def stopped_by(err: str) -> str:
    """Return the line that says what to do: the refusal, else a note that gives advice."""
    lines = [line for line in err.splitlines() if line.startswith("mmdbounds: ")]
    refusals = [line for line in lines if not line.startswith("mmdbounds: note: ")]
    assert len(refusals) <= 1
    return next(iter(refusals), next((line for line in lines if "`--exclude`" in line), ""))


def test_the_advice_taken_literally_ends_in_a_report(hospital: Path, capsys: pytest.CaptureFixture[str]):
    page = hospital.with_name("report.html")
    flags: list[str] = []
    stops = []
    for _ in range(LONGEST):
        code = run(["bounds", str(hospital), *START, *QUICK, *flags, "--report", str(page)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        line = stopped_by(err)
        assert (code, bool(out)) == ((2, False) if "note: " not in line and line else (0, True))
        if not line:
            break
        stops.append(line)
        flags += advice(line)
    told = " ".join(stops)
    for column in ("patient", "admitted", "discharged", "note", "visits", "weight", "treatment", "case_id"):
        assert f"'{column}'" in told
    assert page.exists()
    assert {"--id", "--dates", "--missing", "--exclude"} <= set(flags)
    assert "patient" in flags
    assert "treatment" in flags  # the leaked label
    assert len(stops) == len(flags) // 2 <= 8


def test_what_a_dry_run_says_at_once_is_enough(hospital: Path, capsys: pytest.CaptureFixture[str]):
    command = ["bounds", str(hospital), *START, *QUICK]
    assert run([*command, "--dry-run"]) == 2
    out, err = capsys.readouterr()
    assert "it determines the group" in out
    flags = err.split("add: ")[1].split()
    assert run([*command, *flags, "--report", str(hospital.with_name("report.html"))]) == 0
    notes = capsys.readouterr().err
    assert (
        "numbers are read without thousands separators in 'income', thousands separators in 'balance'"
        in notes
    )
    assert "dates are compared as days since 2000-01-01: 'admitted', 'discharged'." in notes
    assert "column 'treatment' alone determines the group" in notes
