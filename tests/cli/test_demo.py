"""`mmdbounds demo`: an example that is true, and commands in it that work."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from made import LOWER, UPPER, bound, result
from mmdbounds.bounds import mmd2, mmd_bounds
from mmdbounds.cli import getting_started as demo
from mmdbounds.cli.main import run
from mmdbounds.contamination import Contamination
from mmdbounds.errors import shown_path
from mmdbounds.words.bounds import ends
from mmdbounds.words.phrases import number


def test_story(capsys: pytest.CaptureFixture[str]):
    assert run(["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert max(len(line) for line in out.splitlines()) <= 100
    assert out.startswith(
        "Real data: 569 breast tumours with 30 measurements each, 191 filed as malignant and 378 as benign."
    )
    text = " ".join(out.split())
    X, Y, overlooked = demo.example()
    assert overlooked.sum() == 21
    found = mmd_bounds(X, Y, Contamination(n_moved=21), rng=0)
    truth = mmd2(np.concatenate([X.values, Y.values[overlooked]]), Y.values[~overlooked])
    assert found.is_certified
    assert found.lower.value < truth < found.upper.value
    low, high = ends(found)
    assert float(low) <= found.lower.certified
    assert float(high) >= found.upper.certified
    assert f"the squared MMD is {number(truth)}, inside the range from {low} to {high}." in text
    assert f"is between {low} and {high} (proved); as filed it is {number(found.observed)}." in text
    assert (
        "at most 9.91 % of the true malignant rows are misfiled, that is at most 21 of "
        "the 378 rows filed under benign." in text
    )
    first = ", ".join(found.lower.ids[:3])
    assert re.fullmatch(r"P\d{3}, P\d{3}, P\d{3}", first)
    assert f"    moves 21 rows filed under benign: {first}, P" in out
    assert "; seed 0; " in text  # the same story every time
    assert out.endswith("  mmdbounds --help\n")


@pytest.mark.parametrize(
    ("truth", "certified", "text"),
    [
        (0.5, None, "is 0.5, outside the range from 0.276 to 0.3974."),
        (0.3974, None, "is 0.3974, inside the range from 0.276 to 0.3974."),
        (0.4, 0.41001, "is 0.4, inside the range from 0.2 to 0.4101."),
        (0.42, 0.41001, "is 0.42, outside the range from 0.2 to 0.4101."),
    ],
)
def test_ending_says_where_the_truth_is(truth: float, certified: float | None, text: str):
    low = bound(LOWER, certified=None if certified is None else 0.20001)
    told = demo._ending(truth, result(lower=low, upper=bound(UPPER, certified=certified)), 21)
    assert text in told


def commands(text: str) -> list[list[str]]:
    """Return the commands that the story ends with, ready to run."""
    tail = text[text.index("Try next:") :].replace("\\\n", "")
    return [shlex.split(line) for line in tail.splitlines()[1:]]


@pytest.mark.full  # half a minute
def test_what_to_try_next_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    suggested = commands(capsys.readouterr().out)
    assert [words[:2] for words in suggested] == [
        ["mmdbounds", "demo"],
        ["mmdbounds", "bounds"],
        ["mmdbounds", "test"],
        ["mmdbounds", "report"],
        ["mmdbounds", "--help"],
    ]
    for program, *arguments in suggested:
        assert program == "mmdbounds"
        assert run(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert (
        "Assumed: at most 9.91 % of the true malignant rows are misfiled, that is at most 21 of the 378"
        in out
    )
    assert (tmp_path / "rows.csv").read_text().startswith("group,id,file_row,in_lower,in_upper,")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (
        "Assumed: at most 30 % of the true malignant rows are misfiled, that is at most 81 of the 378" in out
    )


def test_save(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "my tumours.csv"
    assert run(["demo", "--save", str(path)]) == 0
    out = capsys.readouterr().out
    assert f"\nThe table as filed is in {path}.\n" in out
    assert path.read_bytes() == demo.TUMOURS.read_bytes()
    assert [words[2] for words in commands(out)[:-1]] == [str(path)] * 3
    assert [each.name for each in tmp_path.iterdir()] == ["my tumours.csv"]


def test_save_is_refused_before_the_work(
    tmp_path: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(demo, "example", None)  # calling it would be a TypeError
    assert refused("demo", "--save", str(tmp_path)) == f"cannot write {tmp_path}: it is a folder."
    gone = tmp_path / "gone" / "t.csv"
    assert refused("demo", "--save", str(gone)) == (
        f"cannot write {shown_path(gone)}: there is no folder {shown_path(gone.parent)}."
    )
    assert refused("demo", "--save", "no\nfolder/t.csv") == (
        "cannot write no folder/t.csv: there is no folder no folder."
    )


def test_commands_are_called_as_the_demo_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`make demo` calls a program that the shell would not find by its name."""
    folder = tmp_path / "my venv"
    folder.mkdir()
    program = folder / "mmdbounds"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", "")
    assert f"\n  '{program}' report tumours.csv --group" in demo._try_next(None)
    monkeypatch.setenv("PATH", str(folder))
    assert "\n  mmdbounds report tumours.csv --group" in demo._try_next(None)
    monkeypatch.setattr("sys.argv", ["-c"])
    assert "\n  mmdbounds report tumours.csv --group" in demo._try_next(None)
    monkeypatch.setattr("sys.argv", [str(folder / "mmdbounds" / "__main__.py"), "demo"])
    assert "\n  mmdbounds report tumours.csv --group" in demo._try_next(None)
    monkeypatch.setenv("PATH", "")
    by_module = f"{shlex.quote(sys.executable)} -m mmdbounds"
    assert f"\n  {by_module} report tumours.csv --group" in demo._try_next(None)
