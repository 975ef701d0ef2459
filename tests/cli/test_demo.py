"""`mmdbounds demo`: a story that is true, and commands in it that work."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from mmdbounds.bounds import mmd2, mmd_bounds
from mmdbounds.cli import demo
from mmdbounds.cli.main import run
from mmdbounds.contamination import Contamination
from mmdbounds.datasets import overlooked_tumours
from mmdbounds.words import number


def test_story(capsys: pytest.CaptureFixture[str]):
    assert run(["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert max(len(line) for line in out.splitlines()) <= 100
    assert out.startswith(
        "Real data: 569 breast tumours with 30 measurements each, 191 filed as malignant and 378 as benign."
    )
    text = " ".join(out.split())
    tumours = overlooked_tumours(0.1)
    result = mmd_bounds(*demo._groups(tumours, tumours.filed), Contamination(n_moved=21))
    truth = mmd2(*demo._groups(tumours, tumours.truth))
    low, high = map(number, result.interval)
    assert result.lower.value < truth < result.upper.value
    assert f"the squared MMD is {number(truth)}, inside the range from {low} to {high}." in text
    assert (
        f"can be as small as {low} or as large as {high}; as filed it is {number(result.observed)}." in text
    )
    assert (
        "exactly 9.91 % of the true malignant rows, 21 of the 378 filed under benign, are misfiled." in text
    )
    first = ", ".join(result.lower.ids[:3])
    assert re.fullmatch(r"P\d{3}, P\d{3}, P\d{3}", first)
    assert f"    moves 21 rows filed under benign: {first}, P" in out
    assert out.endswith("  mmdbounds bounds --help\n")


def test_ending_when_the_truth_is_outside():
    assert "is 0.5, outside the range from 0.1 to 0.4." in demo._ending(0.5, (0.1, 0.4), 21)
    assert "is 0.1, inside the range from 0.1 to 0.4." in demo._ending(0.1, (0.1, 0.4), 21)


def commands(text: str) -> list[list[str]]:
    """Return the commands that the story ends with, ready to run."""
    tail = text[text.index("Try next:") :].replace("\\\n", "")
    return [shlex.split(line) for line in tail.splitlines()[1:]]


def test_what_to_try_next_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    suggested = commands(capsys.readouterr().out)
    assert [words[:2] for words in suggested] == [
        ["mmdbounds", "demo"],
        ["mmdbounds", "bounds"],
        ["mmdbounds", "bounds"],
        ["mmdbounds", "bounds"],
    ]
    for program, *arguments in suggested:
        assert program == "mmdbounds"
        assert run(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "Assumed: exactly 9.91 % of the true malignant rows, 21 of the 378 filed under benign" in out
    assert "Assumed: up to 29.8 % of the true malignant rows, 81 of the 378 filed under benign" in out


def test_save(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "my tumours.csv"
    assert run(["demo", "--save", str(path)]) == 0
    out = capsys.readouterr().out
    assert f"\nThe table as filed is in {path}.\n" in out
    assert path.read_text() == overlooked_tumours(0.1).to_csv()
    assert [words[2] for words in commands(out)] == [str(path), str(path), "--help"]
    assert [each.name for each in tmp_path.iterdir()] == ["my tumours.csv"]


def test_save_is_refused_before_the_work(
    tmp_path: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mmdbounds.datasets.overlooked_tumours", None)  # calling it would be a TypeError
    assert refused("demo", "--save", str(tmp_path)) == f"cannot write {tmp_path}: it is a folder."
    gone = tmp_path / "gone" / "t.csv"
    assert refused("demo", "--save", str(gone)) == f"cannot write {gone}: there is no folder {gone.parent}."
    assert refused("demo", "--save", "no\nfolder/t.csv") == (
        "cannot write no folder/t.csv: there is no folder no folder."
    )
