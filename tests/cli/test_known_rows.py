"""Columns of verified rows, of rows that may be misfiled, and limits by stratum."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import mmdbounds as mb
from mmdbounds.cli.main import run
from mmdbounds.errors import VerifiedWarning
from mmdbounds.report.of_sweep import bounds_at
from mmdbounds.report.record import recipe
from mmdbounds.results import BoundsResult, RobustTestResult, SweepResult

TABLE = """\
name,g,x,y,review,tested,site
a,A,1,2,,,
b,A,2,1,A,,
c,A,2,2.5,,,
d,B,5,4,B,yes,s1
e,B,6,6,,yes,s1
f,B,5,7,,no,s1
g,B,4,5,,yes,site 2
h,B,1.5,2,A,yes,site 2
i,B,3,2,,yes,site 2
j,B,3,2.2,,yes,site 2
k,C,3,3,,,
"""
GROUPS = ("--group", "g", "--hidden", "A", "--among", "B", "--rng", "0", "--id", "name")
KNOWN = ("--verified", "review", "--may-move", "tested", "--strata", "site")
LIMITS = ("--limit", "s1=1", "--limit", "site 2=34%")
Refused = Callable[..., str]


@pytest.fixture
def known(tmp_path: Path) -> str:
    path = tmp_path / "known.csv"
    path.write_text(TABLE)
    return str(path)


def columns(known: str) -> tuple[mb.Group, mb.Group]:
    return mb.groups(
        known, "g", hidden="A", among="B", id="name", verified="review", may_move="tested", strata="site"
    )


def test_bounds_are_those_of_the_library(known: str, capsys: pytest.CaptureFixture[str]):
    arguments = ["bounds", known, *GROUPS, *KNOWN, *LIMITS, "--n-moved", "2", "--json"]
    assert run([*arguments, "--method", "exhaustive"]) == 0
    out, err = capsys.readouterr()
    assert "1 row refiled, as verified in column 'review': 1 from 'B' to 'A'." in err
    saved = json.loads(out)
    X, Y = columns(known)
    stated = mb.Contamination(n_moved=2, limits={"s1": 1, "site 2": 0.34})
    result = mb.mmd_bounds(X, Y, stated, method="exhaustive", rng=0)
    assert saved["lower"]["value"] == result.lower.value
    assert saved["lower"]["file_rows"] == result.lower.file_rows.tolist()
    assert saved["provenance"]["misfiling"] == {"n_moved": 2, "limits": {"s1": 1, "site 2": 0.34}}
    assert saved["provenance"]["data"]["columns"] == ["x", "y"]
    facts = saved["knowledge"]
    assert facts["limits_of_y"] == [["s1", 1, 1], ["site 2", 3, 1]]
    assert (facts["n_refiled_to_x"], facts["n_verified_y"], facts["n_may_move_y"]) == (1, 1, 4)
    # Only e, g, i and j may move, one of s1 and one of site 2.
    assert set(saved["lower"]["ids"]) <= set("egij")
    assert "review" not in out.split('"data"')[0]


def test_the_sentence_says_it_back(known: str, capsys: pytest.CaptureFixture[str]):
    assert run(["bounds", known, *GROUPS, *KNOWN, *LIMITS, "--n-moved", "2", "--method", "s-sd"]) == 0
    first = " ".join(capsys.readouterr().out.split())
    assert "at most 2 of the 6 rows filed under B, not the one verified, only among the 4" in first
    assert (
        "that may be misfiled, at most 1 from site s1, at most 1 from site 2. Refiled, as verified: 1 row"
        in first
    )


@pytest.mark.parametrize("command", ["test", "sweep"])
def test_tests_and_sweeps_know_it(known: str, command: str, capsys: pytest.CaptureFixture[str]):
    amount = ("--n-moved", "1") if command == "test" else ("--epsilons", "0.2")
    assert run([command, known, *GROUPS, *KNOWN, *LIMITS, *amount, "--n-permutations", "19", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["knowledge"]
    assert (facts["n_may_move_y"], facts["strata_column"]) == (4, "site")


@pytest.mark.parametrize("command", ["bounds", "test", "sweep"])
def test_a_dry_run_knows_it(known: str, command: str, capsys: pytest.CaptureFixture[str]):
    amount = () if command == "sweep" else ("--n-moved", "1")
    assert run([command, known, *GROUPS, *KNOWN, *LIMITS, *amount, "--dry-run"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "1 row refiled, as verified in column 'review': 1 from 'B' to 'A'." in out
    assert "May be misfiled: 4 of the 6 rows of B, not the one verified, only among the 4" in out
    assert "Columns: 2 columns" in out


@pytest.mark.filterwarnings("ignore::mmdbounds.errors.AmountWarning")  # of less than one row
def test_a_report_says_it(known: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page = tmp_path / "page.html"
    arguments = ["sweep", known, *GROUPS, *KNOWN, *LIMITS, "--epsilons", "0.2", "--n-permutations", "19"]
    assert run([*arguments, "--report", str(page)]) == 0
    capsys.readouterr()
    text = page.read_text(encoding="utf-8")
    assert "at most 1 from site s1, at most 1 from site 2" in text
    X, Y = columns(known)
    curve = mb.sweep(X, Y, which=mb.Contamination(limits={"s1": 1}), n_permutations=19, rng=0)
    assert bounds_at(curve, curve.points[-1]).knowledge == curve.knowledge  # what the slider's sentences say
    assert "rows that may be misfiled" in text
    assert "All 4 rows are shown." in text
    assert "3, of which 1 refiled, by column review" in text


@pytest.mark.parametrize("command", ["bounds", "test", "sweep"])
def test_a_recipe_makes_the_same_again(known: str, command: str, capsys: pytest.CaptureFixture[str]):
    amount = ("--epsilons", "0.2") if command == "sweep" else ("--share-of-y", "0.2")
    fast = ("--method", "s-sd") if command == "bounds" else ("--n-permutations", "19")
    kinds = {"bounds": BoundsResult, "test": RobustTestResult, "sweep": SweepResult}
    assert run([command, known, *GROUPS, *KNOWN, *LIMITS, *amount, *fast, "--json"]) == 0
    first = kinds[command].from_dict(json.loads(capsys.readouterr().out))
    _, name, _, *again = shlex.split(recipe(first))
    assert run([name, known, *again, "--json"]) == 0
    second = kinds[command].from_dict(json.loads(capsys.readouterr().out))
    assert second.knowledge == first.knowledge
    assert second.provenance.misfiling == first.provenance.misfiling
    assert second.observed == first.observed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--limit", "s1=1"), "`--limit` says nothing alone; add --strata COL."),
        (("--strata", "site"), "`--strata` says nothing alone; add --limit A=5."),
        (
            ("--strata", "site", "--limit", "s1"),
            "`--limit` must be a stratum and its limit, such as A=5 or A=10%",
        ),
        (("--strata", "site", "--limit", "s1=many"), "such as A=5 or A=10%; got 's1=many'."),
        (("--strata", "site", "--limit", "=5"), "such as A=5 or A=10%; got '=5'."),
        (
            ("--strata", "site", "--limit", "s1=5.5"),
            "the limit of 's1' must be a number of rows (5) or a share",
        ),
        (
            ("--strata", "site", "--limit", "s1=120%"),
            "the limit of 's1' must be a number of rows (5) or a share",
        ),
        (("--strata", "site", "--limit", "s1=1", "--limit", "s1=2"), "`--limit` must name each stratum once"),
        (("--strata", "site", "--limit", "s1=1/0%"), "`--limit` must be a stratum and its limit"),
        (("--strata", "site", "--limit", "S1=1"), "which is no stratum of the rows. Did you mean 's1'?"),
        (
            ("--strata", "tested", "--limit", "no=0", "--exactly", "--n-moved", "7"),
            "`Y` at most 6 rows can be misfiled",
        ),
        (("--verified", "g"), "`group` and `verified` must be different columns; got 'g' for both."),
        (
            ("--verified", "rewiew"),
            "there is no column 'rewiew', named in `--verified`. Did you mean 'review'?",
        ),
        (
            ("--verified", "site"),
            "column 'site' says 's1' in row 4 (and 6 rows more), which is neither 'A' nor 'B'.",
        ),
        (
            ("--may-move", "site"),
            "column 'site' must say true or false, yes or no, 1 or 0 for each row; got 's1'",
        ),
        (
            ("--verified", "review", "--columns", "review"),
            "`columns` names 'review', which is the verified column.",
        ),
    ],
)
def test_slips(known: str, refused: Refused, arguments: tuple[str, ...], message: str):
    amount = () if "--n-moved" in arguments else ("--n-moved", "1")
    only = () if "--columns" in arguments else ("--columns", "x", "--columns", "y")
    assert message in refused("bounds", known, *GROUPS, *amount, *only, *arguments)


def test_a_row_without_a_stratum(known: str, refused: Refused, tmp_path: Path):
    path = tmp_path / "gap.csv"
    path.write_text(TABLE.replace("i,B,3,2,,yes,site 2", "i,B,3,2,,yes,"))
    only = ("--columns", "x", "--strata", "site", "--limit", "s1=1")
    line = refused("bounds", str(path), *GROUPS, "--n-moved", "1", *only)
    assert "every row that may be misfiled needs a stratum; row 9 has none." in line


def test_a_blank_column_and_a_copy_of_the_group_are_noted(tmp_path: Path):
    path = tmp_path / "copied.csv"
    lines = ["g,x,y,none,copy", *(f"{'AB'[i > 5]},{i % 5},{i % 7},,{'AB'[i > 5]}" for i in range(12))]
    path.write_text("\n".join(lines))
    start = ["bounds", str(path), *GROUPS[:6], "--n-moved", "1", "--method", "s-sd"]
    with pytest.warns(VerifiedWarning, match="column 'none' verifies no row: it is blank everywhere"):
        assert run([*start, "--exclude", "copy", "--verified", "none"]) == 0
    with pytest.warns(VerifiedWarning, match="column 'copy' confirms all 6 rows of 'B' as filed"):
        assert run([*start, "--exclude", "none", "--verified", "copy"]) == 0
