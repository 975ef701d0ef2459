"""A newcomer's audit, from a table to a decision on a page; each answer says what to type next."""

from __future__ import annotations

import csv
import random
import re
from pathlib import Path
from typing import Any

import pytest

from mmdbounds.cli.main import run
from report.browser import Opened

pytestmark = pytest.mark.full

GROUPS = ["--group", "diagnosis", "--hidden", "MI", "--among", "healthy", "--id", "patient"]
QUICK = ["--n-permutations", "99"]
N_X, N_Y, OVERLOOKED = 24, 36, "p30"  # with 20 of Y looked up, those left are too few to change the decision


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    rng = random.Random(5)
    rows = [["patient", "diagnosis", "troponin", "age"]]
    for i in range(N_X + N_Y):
        is_case = i < N_X or f"p{i}" == OVERLOOKED
        values = [f"{rng.gauss(9 if is_case else 1, 1):.2f}", f"{rng.gauss(70 if is_case else 50, 5):.0f}"]
        rows.append([f"p{i}", "MI" if i < N_X else "healthy", *values])
    return written(tmp_path / "patients.csv", rows)


def written(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def reviewed(table: Path, names: list[str]) -> Path:
    """Return the table with a column for what the records say about these patients."""
    head, *rows = csv.reader(table.read_text().splitlines())
    truth = {name: "MI" if name == OVERLOOKED else "healthy" for name in names}
    filled = [[*row, truth.get(row[0], "")] for row in rows]
    return written(table.with_name("reviewed.csv"), [[*head, "chart_review"], *filled])


def test_from_a_table_to_a_decision_in_the_browser(
    patients: Path, browser: Any, capsys: pytest.CaptureFixture[str]
):
    assert run(["sweep", str(patients), *GROUPS, *QUICK]) == 0
    assert "the groups differ even if up to" in " ".join(capsys.readouterr().out.split())

    assert run(["audit", str(patients), *GROUPS, *QUICK, "--next", "20"]) == 0
    begun = capsys.readouterr().out
    assert begun.startswith("Check more: ")
    names = re.findall(r"(?m)^  (p\d+) \(row \d+\)$", begun)
    assert len(set(names)) == 20
    [seed] = re.findall(r"Recorded order: seed (\d+)", " ".join(begun.split()))

    page = patients.with_name("audit.html")
    again = ["--verified", "chart_review", "--rng", seed, "--report", str(page)]
    assert run(["audit", str(reviewed(patients, names)), *GROUPS, *QUICK, *again]) == 0
    decided = " ".join(capsys.readouterr().out.split())
    assert decided.startswith("The difference stands: at the 5 % level the groups differ even if ")

    view = Opened(browser, page)
    decision, looked_up = view.text("#answer").split("\n\n")[:2]
    assert decision in decided
    assert f"20 in the recorded random order ({int(OVERLOOKED in names)} belong" in looked_up
    rows = [row.inner_text().split("\t") for row in view.page.query_selector_all("#looked tbody tr")]
    assert rows[0] == ["in the recorded random order", "20", str(int(OVERLOOKED in names))]
    assert rows[1][1] == "0"
    assert view.page.query_selector("#chart-audit svg.marks path")
    assert f"seed {seed}" in view.text("main")
    assert not re.search(r"\bp\d+\b", view.text("main"))  # rows by number: names were not asked for
    assert view.page.query_selector("#next") is None  # nothing is left to look up
    assert view.requests == [view.address]
    assert view.wrong == []
    view.context.close()
