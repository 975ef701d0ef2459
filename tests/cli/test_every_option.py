"""Every option of every command takes anything that can be typed: an answer, or one line; never a bug."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from mmdbounds.cli.amounts import WAYS
from mmdbounds.cli.app import app, command_named, run
from mmdbounds.cli.options import PARSERS

TYPED = ("99999999999999999999", "9" * 5000, "-1", "", "nan", "inf", "1e308", "²,²")
NEEDED = {
    "n_steps": ["--method", "s-sd"],
    "specificity": ["--sensitivity", "0.9"],
    "prevalence_error": ["--prevalence", "0.6"],
    "confidence": ["--audit", "0/4"],
}
"""What an option goes with."""


def numeric_options() -> Iterator[tuple[str, str, str]]:
    """Yield command, flag and parameter of each option that is a number, from the commands as they are."""
    for name in app.list_commands(click.Context(app)):
        for parameter in command_named(name).params:
            metavar = getattr(parameter, "metavar", None) or ""
            if metavar in PARSERS or metavar in ("LENGTH", "A,B"):
                yield name, parameter.opts[0], parameter.name


OPTIONS = list(numeric_options())


def first_of_each(pairs: Iterable[tuple[str, ...]]) -> list[Any]:
    """Return the pairs; commands that share an option with one before them are tried by `make full` alone."""
    cases, seen = [], set()
    for command, flag, *more in pairs:
        cases.append(pytest.param(command, flag, *more, marks=[pytest.mark.long] if flag in seen else []))
        seen.add(flag)
    return cases


AMOUNT_NEEDED = ("bounds", "test", "confidence")


@pytest.fixture
def start(table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Each command with what it must have; nothing takes longer than a moment."""
    monkeypatch.setenv("MMDBOUNDS_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)  # files may get names that were meant otherwise
    groups = [table, "--group", "g", "--hidden", "A", "--among", "B", "--id", "name"]
    return {
        "bounds": ["bounds", *groups],
        "test": ["test", *groups, "--n-permutations", "9"],
        "sweep": ["sweep", *groups, "--n-permutations", "9", "--epsilons", "0.2"],
        "columns": ["columns", *groups],
        "confidence": ["confidence", *groups],
        "odds": ["odds", *groups, "--n-permutations", "19"],
        "report": ["report", *groups, "--n-permutations", "9", "--out", str(tmp_path / "page.html")],
        "audit": ["audit", *groups, "--n-permutations", "9"],
        "evaluate": ["evaluate", *groups, "--epsilon", "0.3", "--n-trials", "1", "--n-processes", "1"],
    }


def test_the_numbers_are_found():
    flags = {(command, name) for command, _, name in OPTIONS}
    assert {("bounds", "n_moved"), ("bounds", "bandwidth"), ("evaluate", "sizes"), ("test", "rng")} <= flags
    assert {("sweep", "level"), ("evaluate", "n_processes"), ("bounds", "working_memory")} <= flags
    assert len(flags) > 40


@pytest.mark.filterwarnings("ignore::mmdbounds.errors.MmdBoundsWarning")
@pytest.mark.parametrize(("command", "flag", "name"), first_of_each(OPTIONS))
def test_numbers(
    command: str, flag: str, name: str, start: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
):
    needed = NEEDED.get(name, [])
    named = name in WAYS or (needed and needed[0].removeprefix("--") in WAYS)
    amount = command in AMOUNT_NEEDED and not named
    words = [*start[command], *needed, *(["--n-moved", "1"] if amount else [])]
    for text in TYPED:
        code = run([*words, f"{flag}={text}"])
        err = capsys.readouterr().err
        assert code in (0, 2), (text, err)
        if code == 2:
            assert err.startswith("mmdbounds: "), text
            assert err.count("\n") == 1, text
            assert len(err) < 500, text


def texts() -> Iterator[tuple[str, str]]:
    for name in app.list_commands(click.Context(app)):
        for parameter in command_named(name).params:
            is_flag = getattr(parameter, "is_flag", True)
            if (name, parameter.opts[0], parameter.name) not in OPTIONS and not is_flag:
                yield name, parameter.opts[0]


@pytest.mark.filterwarnings("ignore::mmdbounds.errors.MmdBoundsWarning")
@pytest.mark.parametrize(
    ("command", "flag"),
    first_of_each(pair for pair in texts() if pair[0] not in ("demo", "report", "plot")),
)
def test_texts(command: str, flag: str, start: dict[str, list[str]], capsys: pytest.CaptureFixture[str]):
    named = flag.removeprefix("--") in WAYS
    words = [*start[command], *(["--n-moved", "1"] if command in AMOUNT_NEEDED and not named else [])]
    for text in ("", "99999999999999999999", "a\nb", "x" * 5000):
        code = run([*words, f"{flag}={text}"])
        err = capsys.readouterr().err
        assert code in (0, 2), (text[:40], err)
        said = [line for line in err.splitlines() if not line.startswith("mmdbounds: note: ")]
        assert len(said) == (code == 2), (text[:40], err)
