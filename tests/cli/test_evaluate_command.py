"""`mmdbounds evaluate` says what the function returns, hands every flag on and refuses in one line."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mmdbounds as mb
from mmdbounds.cli.known_truth import evaluate_command
from mmdbounds.cli.main import run
from mmdbounds.cli.options import defaults_of
from mmdbounds.evaluation import Evaluation, evaluate
from mmdbounds.evaluation import run as evaluation_run
from mmdbounds.journal import read_journal

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--rng", "0", "--id", "name", "--epsilon", "0.34"]
HERE = ["--n-processes", "1", "--n-trials", "4"]
CHANGING = re.compile(r" in [^ ]+ s; mmdbounds [^ ]+\.$")
Refused = Callable[..., str]


def constant(text: str) -> str:
    """The text without seconds, nor the line breaks that hang on their digits."""
    return CHANGING.sub("", " ".join(text.split()))


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ([], {}),
        (["--sizes", "3,4", "--replace", "--rng", "5"], {"sizes": (3, 4), "replace": True, "rng": 5}),
        (["--sizes", "all, 4", "--mechanism", "random"], {"sizes": (None, 4), "mechanism": "random"}),
        (["--scale", "none"], {"scale": "none"}),
    ],
)
def test_summary_is_that_of_the_function(
    flags: list[str], options: dict[str, Any], table: str, capsys: pytest.CaptureFixture[str]
):
    methods = ["--methods", "exhaustive", "--methods", "s-sd"]
    assert run(["evaluate", table, *GROUPS, *methods, *HERE, *flags]) == 0
    out, err = capsys.readouterr()
    X, Y = mb.groups(table, "g", hidden="A", among="B", id="name", scale="none")
    settings = {"methods": ["exhaustive", "s-sd"], "scale": "standard", "n_trials": 4, "rng": 0, **options}
    assert constant(out) == constant(evaluate(X, Y, 0.34, **settings).summary())
    assert err == ""
    assert "In 4 trials the truth lay outside the certified interval" in out


def test_json_is_to_json(table: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    made = []

    def remember(*arguments: Any, **options: Any) -> Evaluation:
        made.append(evaluate(*arguments, **options))
        return made[0]

    monkeypatch.setattr(evaluation_run, "evaluate", remember)
    assert run(["evaluate", table, *GROUPS, *HERE, "--methods", "s-sd", "--json"]) == 0
    out, err = capsys.readouterr()
    assert out == made[0].to_json() + "\n"
    assert err == ""
    assert Evaluation.from_dict(json.loads(out)).n_trials == 4


def test_every_flag_arrives(table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    calls: list[Any] = []

    def stop(X: Any, Y: Any, epsilon: float, **options: Any) -> None:
        calls.append((X, Y, epsilon, options))
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluation_run, "evaluate", stop)
    flags = (
        "--methods sd --sizes 2,all --replace --n-trials 7 --mechanism random --columns y "
        "--columns x --scale none --at-most --kernel laplacian --bandwidth 2.5 --estimator biased "
        "--backend numpy --dtype float32 --working-memory 64 --n-processes 3 --rng 3 --progress"
    )
    assert run(["evaluate", table, *GROUPS, *flags.split()]) == 130
    X, Y, epsilon, options = calls[0]
    assert (X.columns, X.values[0].tolist(), len(Y), epsilon) == (("y", "x"), [2.0, 1.0], 5, 0.34)
    assert options == {
        "methods": ["sd"],
        "sizes": (2, None),
        "replace": True,
        "n_trials": 7,
        "mechanism": "random",
        "scale": "none",
        "exactly": False,
        "kernel": "laplacian",
        "bandwidth": 2.5,
        "estimator": "biased",
        "backend": "numpy",
        "dtype": "float32",
        "working_memory": 64.0,
        "n_processes": 3,
        "checkpoint": None,
        "rng": 3,
        "progress": True,
    }


def test_every_keyword_is_a_flag_with_the_same_default():
    function = inspect.signature(evaluate).parameters
    command = defaults_of(evaluate_command)
    keywords = {name for name, p in function.items() if p.kind is p.KEYWORD_ONLY}
    assert keywords <= set(command)
    others = {"n_processes": None, "scale": "standard"}  # commands use all cores, and scale what is in files
    for name in keywords:
        assert command[name] == others.get(name, function[name].default)


@pytest.mark.parametrize(("flags", "scale"), [("", "standard"), ("--scale none", "none")])
def test_files_are_scaled_unless_told_otherwise(
    table: str, monkeypatch: pytest.MonkeyPatch, flags: str, scale: str
):
    calls: list[dict[str, Any]] = []

    def stop(*_: Any, **options: Any) -> None:
        calls.append(options)
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluation_run, "evaluate", stop)
    assert run(["evaluate", table, *GROUPS, *flags.split()]) == 130
    assert (calls[0]["scale"], calls[0]["methods"]) == (scale, None)


def test_stopped_with_a_checkpoint_it_says_where_it_goes_on(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    path = str(tmp_path / "trials.journal")

    def stop(*_: Any, **__: Any) -> None:
        Path(path).touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(evaluation_run, "evaluate", stop)
        assert run(["evaluate", table, *GROUPS, "--checkpoint", path]) == 130
        out, err = capsys.readouterr()
        assert (out, err) == ("", f"mmdbounds: interrupted; the same command resumes from {path}.\n")
        assert run(["evaluate", table, *GROUPS]) == 130
        assert capsys.readouterr().err.strip() == "mmdbounds: interrupted; nothing was written."
    Path(path).unlink()
    command = ["evaluate", table, *GROUPS, *HERE, "--methods", "s-sd", "--checkpoint", path]
    assert [run(command), run(command)] == [0, 0]
    found = read_journal(Path(path))
    assert found is not None
    assert len(found.records) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "34"], r"^`epsilon` must be in \[0, 1\); got 34\. Did you mean 0\.34\?$"),
        (["--epsilon", "x"], r"'--epsilon': must be a number; got 'x'\. See `mmdbounds evaluate --help`\.$"),
        (
            ["--sizes", "3"],
            r"^`--sizes` must be two numbers with a comma, such as 50,50 or all,50; got '3'\.$",
        ),
        (["--sizes", "3,-4"], r"^`--sizes` must be two numbers"),
        (["--sizes", "3,9"], r"^`sizes` must not exceed the 5 rows of `Y_clean`"),
        (["--methods", "shrp"], r"got 'shrp'\. Did you mean 'sharp'\?$"),
        (["--methods", "sd", "--methods", "sd"], r"different labels; got 'sd' twice"),
        (["--n-trials", "0"], r"^`n_trials` must be a whole number from 1; got 0\.$"),
        (["--n-processes", "0"], r"^`n_processes` must be a whole number from 1; got 0\.$"),
        (["--mechanism", "biased"], r"^`mechanism` must be one of 'nonrandom', 'random'"),
        (["--scale", "max"], r"must be one of 'standard', 'none'; got 'max'"),
        (["--kernel", "precomputed"], r"^`--kernel precomputed` needs a matrix"),
    ],
)
def test_refusals(options: list[str], message: str, table: str, refused: Refused):
    assert re.search(message, refused("evaluate", table, *GROUPS, *options))


def test_a_checkpoint_that_is_the_table_is_left_alone(table: str, refused: Refused):
    before = Path(table).read_text()
    said = refused("evaluate", table, *GROUPS, *HERE, "--checkpoint", table)
    assert said == f"cannot write {table}: the table is read from it."
    assert Path(table).read_text() == before
