"""`mmdbounds confidence`, `test` with several kernels and `plot`: what the library gives, by a command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.cli.main import run

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B"]
SPLIT = {"hidden": "A", "among": "B"}
AMOUNT = ["--n-moved", "1"]
FLAGS = [*GROUPS, *AMOUNT, "--id", "name", "--rng", "0"]
Refused = Callable[..., str]


def answer(capsys: pytest.CaptureFixture[str], *command: str) -> dict:
    assert run([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("more", [[], ["--bandwidth", "1", "--fixed-kernel"], ["--level", "0.8"]])
def test_confidence(table: str, more: list, capsys: pytest.CaptureFixture[str]):
    found = answer(capsys, "confidence", table, *FLAGS, *more)
    how = {"bandwidth": 1.0, "fixed_kernel": True} if "--fixed-kernel" in more else {}
    how |= {"level": 0.8} if "--level" in more else {}
    X, Y = mb.groups(table, "g", **SPLIT, id="name")
    result = mb.confidence_interval(X, Y, mb.Contamination(n_moved=1), rng=0, **how)
    assert (found["low"], found["high"], found["label"]) == (result.low, result.high, result.label)
    assert run(["confidence", table, *FLAGS, *more, "--quiet"]) == 0
    assert capsys.readouterr().out.split() == [repr(result.low), repr(result.high)]
    assert run(["confidence", table, *FLAGS, *more, "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "name_x,name_y,epsilon,low,high,level,label"


@pytest.mark.parametrize(
    ("more", "how"),
    [
        (["--kernel", "rbf,laplacian"], {"kernel": ["rbf", "laplacian"]}),
        (["--bandwidth", "0.5,median,2"], {"bandwidth": [0.5, "median", 2]}),
    ],
)
def test_several_kernels(table: str, more: list, how: dict, capsys: pytest.CaptureFixture[str]):
    flags = [*FLAGS, *more, "--n-permutations", "39"]
    found = answer(capsys, "test", table, *flags)
    X, Y = mb.groups(table, "g", **SPLIT, id="name")
    amount = mb.Contamination(n_moved=1)
    result = mb.robust_test(X, Y, amount, n_permutations=39, rng=0, **how)
    assert (found["pvalue"], len(found["parts"])) == (result.pvalue, len(result.parts))
    assert run(["test", table, *flags, "--dry-run"]) == 0
    assert "Misfiled: 0 to 1 of the 5 rows of B.\n" in capsys.readouterr().out


def test_what_does_not_go_together(table: str, refused: Refused):
    assert refused("confidence", table, *FLAGS, "--estimator", "biased").startswith(
        "`--estimator` cannot be chosen for a confidence interval"
    )
    for flag, value in (("--kernel", "rbf,linear"), ("--bandwidth", "1,2")):
        assert f"`{flag[2:]}` must be a single one here; got a list" in refused(
            "bounds", table, *FLAGS, flag, value
        )


@pytest.mark.full
@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_plot(table: str, tmp_path: Path, ending: str, start: bytes, capsys: pytest.CaptureFixture[str]):
    saved, picture = tmp_path / "result.json", tmp_path / f"picture.{ending}"
    for command in (["bounds", "--method", "s-sd", "--rng", "0"], ["columns"], ["confidence", "--rng", "0"]):
        saved.write_text(json.dumps(answer(capsys, command[0], table, *FLAGS[:-2], *command[1:])))
        assert run(["plot", str(saved), "--out", str(picture)]) == 0
        assert capsys.readouterr().out == f"The picture is in {picture}.\n"
        assert picture.read_bytes().startswith(start)
        picture.unlink()


@pytest.mark.full
def test_plots_that_cannot_be(table: str, tmp_path: Path, refused: Refused):
    saved = tmp_path / "result.json"
    saved.write_text('{"type": "AuditResult"}')
    out = str(tmp_path / "p.png")
    line = refused("plot", str(saved), "--out", out)
    assert line.startswith("a plot needs a saved BoundsResult, ")
    assert line.endswith("got 'AuditResult'. Use `mmdbounds report`, which takes it.")
    saved.write_text('{"type": "BoundsResult"}')
    assert refused("plot", str(saved), "--out", out).startswith("expected a saved BoundsResult with schema")
    assert refused("plot", table, "--out", out).endswith(" makes. Save one with --json.")
    assert refused("plot", str(saved), "--out", "p.gif") == "`--out` must end in .png or .svg; got 'p.gif'."


def test_a_group_called_true_is_named_with_its_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    path.write_text("case,x\n" + "".join(f"{i % 2 == 0},{x}\n" for i, x in enumerate(rng.normal(size=20))))
    flags = ["--group", "case", "--hidden", "true", "--among", "false", "--method", "s-sd"]
    assert run(["bounds", str(path), *flags, "--epsilon", "0.1"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "of the true case = true rows are misfiled" in out
    assert "of the 10 rows filed under case = false" in out


@pytest.mark.filterwarnings("ignore::mmdbounds.errors.AmountWarning")
@pytest.mark.parametrize(
    ("amount", "least"),
    [(["--epsilon", "0.001"], "0.25 (1 of 4)"), (["--share-of-y", "0.01"], "0.2 (1 of 5)")],
)
@pytest.mark.filterwarnings("ignore::mmdbounds.errors.AmountWarning")  # of less than one row
def test_less_than_a_row_is_no_row(table: str, amount: list, least: str, capsys: pytest.CaptureFixture[str]):
    for command in ("bounds", "test", "columns"):
        assert run([command, table, *GROUPS, *amount, "--id", "name"]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "Assumed: no row is misfiled. A share of 0.0" in out
        assert f"is less than one row; the smallest that is one is {least}." in out
        assert " 0 %" not in out
    share = least.split(maxsplit=1)[0]  # and that one is a row indeed
    assert (
        run(["bounds", table, *GROUPS, amount[0], share, "--method", "s-sd", "--json", "--id", "name"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["n_moved"] == 1


@pytest.mark.parametrize("epsilon", ["0.8", "0.62"])
def test_too_large_a_share_says_the_largest(table: str, epsilon: str, refused: Refused):
    line = refused("bounds", table, *GROUPS, "--epsilon", epsilon, "--id", "name")
    assert line.endswith("The largest `epsilon` for groups of 3 and 5 rows is 0.5 (3 rows).")
    command = ["bounds", table, *GROUPS, "--id", "name", "--method", "s-sd", "--epsilon"]
    assert run([*command, "0.5"]) == 0
    assert run([*command, "0.58"]) == 2  # one row more
