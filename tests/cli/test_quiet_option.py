"""`--quiet`: the answer alone on standard output, nothing but errors on standard error."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mmdbounds as mb
import mmdbounds.bounds
from mmdbounds.cli import app as cli
from mmdbounds.cli.main import run
from mmdbounds.errors import BandwidthWarning

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--rng", "0", "--id", "name"]
FLAGS: dict[str, list[str]] = {
    "bounds": ["--n-moved", "1"],
    "test": ["--n-moved", "1", "--n-permutations", "19"],
    "sweep": ["--n-permutations", "19"],
    "evaluate": ["--epsilon", "0.4", "--n-trials", "2", "--n-processes", "1"],
}


@pytest.fixture
def quietly(table: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command on the small table with `--quiet`, and return what it prints."""

    def run_it(command: str, *flags: str) -> str:
        assert run([command, table, *GROUPS, *FLAGS[command], *flags, "--quiet"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run_it


@pytest.fixture
def groups(table: str) -> tuple[Any, Any]:
    return mb.groups(table, "g", hidden="A", among="B", id="name")


def test_bounds_are_two_numbers(quietly: Any, groups: Any):
    result = mb.mmd_bounds(*groups, mb.Contamination(n_moved=1), rng=0)
    low, high = quietly("bounds").removesuffix("\n").split(" ")
    assert (float(low), float(high)) == result.interval
    assert result.is_certified
    found = mb.mmd_bounds(*groups, mb.Contamination(n_moved=1), method="sd")
    assert quietly("bounds", "--method", "sd") == f"{found.lower.value!r} {found.upper.value!r}\n"


def test_a_test_is_its_p_value(quietly: Any, groups: Any):
    result = mb.robust_test(*groups, mb.Contamination(n_moved=1), n_permutations=19, rng=0)
    assert quietly("test") == f"{result.pvalue!r}\n"
    assert float(quietly("test")) in {n / 70 for n in range(1, 71)}  # of the C(8, 4) labellings


def test_a_sweep_is_its_breakdown(quietly: Any, groups: Any):
    result = mb.sweep(*groups, n_permutations=19, rng=0)
    assert result.breakdown_epsilon is not None
    assert float(quietly("sweep")) == result.breakdown_epsilon


def test_a_sweep_without_a_breakdown_says_how_far_it_went(quietly: Any):
    assert quietly("sweep", "--level", "0.99", "--epsilons", "0.25") == "above 0.25\n"  # 1 of 4 rows


def test_an_evaluation_is_a_line_for_each_method(quietly: Any):
    lines = [line.split(" ") for line in quietly("evaluate").splitlines()]
    assert [label for label, *_ in lines] == ["sharp", "s-sd"]
    for _, rate, width in lines:
        assert float(rate) in (0, 0.5, 1)
        assert float(width) > 0


def test_short_flag(quietly: Any, table: str, capsys: pytest.CaptureFixture[str]):
    expected = quietly("bounds")
    assert run(["bounds", table, *GROUPS, "--n-moved", "1", "-q"]) == 0
    assert capsys.readouterr().out == expected


def test_forms_for_machines_stay_whole(quietly: Any):
    assert json.loads(quietly("bounds", "--json"))["n_moved"] == 1
    assert quietly("bounds", "--csv").count("\n") == 2


def test_no_word_about_files(quietly: Any, tmp_path: Path):
    path = tmp_path / "rows.csv"
    assert quietly("bounds", "--rows", str(path)).count("\n") == 1
    assert path.exists()


@pytest.fixture
def noted(tmp_path: Path) -> list[str]:
    """A command that has a note to make, and a warning: names that repeat, and rows that do."""
    path = tmp_path / "repeated.csv"
    path.write_text("name,g,x\n" + "".join(f"{g},{g},1\n" for g in "AAAAABBBBB") + "a,A,2\nb,B,3\n")
    return ["test", str(path), *GROUPS, "--n-moved", "1", "--n-permutations", "19"]


def test_notes_are_dropped(
    noted: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(warnings, "showwarning", cli._show_warning)  # as in a process of its own
    monkeypatch.setattr(warnings, "filters", [])
    assert run(noted) == 0
    err = capsys.readouterr().err
    assert "mmdbounds: note: 10 rows share their 'name'" in err
    assert "duplicates" in err
    assert run([*noted, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_warnings_come_back_afterwards(noted: list[str]):
    assert run([*noted, "--quiet"]) == 0
    with pytest.warns(BandwidthWarning):
        run(noted)


def test_no_progress(table: str, monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []

    def stop(*_: Any, progress: bool | None, **__: Any) -> None:
        asked.append(progress)
        raise KeyboardInterrupt

    monkeypatch.setattr(mmdbounds.bounds, "mmd_bounds", stop)
    for flags in ([], ["--quiet"], ["--progress"], ["--no-progress", "-q"]):
        assert run(["bounds", table, *GROUPS, "--n-moved", "1", *flags]) == 130
    assert asked == [None, False, True, False]


def test_errors_are_not_dropped(refused: Callable[..., str], table: str):
    assert refused("bounds", table, *GROUPS, "--n-moved", "9", "--quiet").startswith("9 misfiled rows cannot")


@pytest.mark.parametrize("command", FLAGS)
def test_not_with_progress(command: str, refused: Callable[..., str]):
    message = refused(command, "none.csv", *GROUPS, *FLAGS[command], "--quiet", "--progress")
    assert message == "`--quiet` and `--progress` exclude each other; leave one of them out."
