"""`python -m lab.paper` hands every flag on, lists what there is, and refuses in one line."""

from __future__ import annotations

import inspect

import pytest

from lab.paper import runs
from lab.paper.__main__ import arguments, main
from lab.paper.experiments import EXPERIMENTS
from lab.paper.runs import reproduce


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What the function is asked, instead of an answer."""
    calls = []

    def caught(name, **options):
        calls.append((name, options))
        return tmp_path / "index.md"

    monkeypatch.setattr(runs, "reproduce", caught)
    return calls


def test_every_keyword_is_a_flag():
    flags = set(vars(arguments([]))) - {"list"}
    assert flags == set(inspect.signature(reproduce).parameters)


def test_flags_are_handed_on(asked, tmp_path, capsys):
    words = ["main", "--preset", "paper", "--n-trials", "7", "--out", "there", "--data", "here"]
    assert main([*words, "--n-processes", "2", "--rng", "5", "--no-progress"]) == 0
    ((name, options),) = asked
    assert (name, str(options.pop("out")), str(options.pop("data"))) == ("main", "there", "here")
    assert options == {"preset": "paper", "n_trials": 7, "n_processes": 2, "rng": 5, "progress": False}
    assert capsys.readouterr().out == f"The paper's numbers beside ours: {tmp_path / 'index.md'}\n"


def test_defaults_are_those_of_the_function(asked):
    assert main(["main"]) == 0
    ((_, options),) = asked
    defaults = {
        name: p.default for name, p in inspect.signature(reproduce).parameters.items() if name != "name"
    }
    assert options | {"out": str(options["out"])} == defaults


def test_the_list_names_everything(capsys):
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*EXPERIMENTS, "all"]
    assert all("(about " in line for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a table or figure; `python -m lab.paper --list` shows them."),
        (["nothing"], "`name` must be one of 'main', 'n2000'"),
        (["main", "--n-trials", "0"], "`n_trials` must be a whole number from 1; got 0."),
        (["main", "--preset", "papr"], "Did you mean 'paper'?"),
    ],
)
def test_refusals_are_one_line(words, message, capsys):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


def test_stopped_it_says_how_to_go_on(monkeypatch, capsys, tmp_path):
    def stopped(name, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "reproduce", stopped)
    assert main(["main", "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err == f"lab.paper: interrupted; the same command resumes from {tmp_path}.\n"
