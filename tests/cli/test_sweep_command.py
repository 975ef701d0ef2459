"""`mmdbounds sweep` says what the function returns, hands every flag on and refuses in one line."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

import mmdbounds as mb
import mmdbounds.inference.breakdown
from mmdbounds.cli.compare import sweep_command
from mmdbounds.cli.main import run
from mmdbounds.cli.options import defaults_of

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--rng", "0", "--id", "name"]
CHANGING = re.compile(r" in [^ ]+ s; mmdbounds [^ ]+\.$")
Refused = Callable[..., str]


def one_line(text: str) -> str:
    return CHANGING.sub("", " ".join(text.split()))


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ([], {}),
        (["--level", "0.2", "--rng", "3", "--value", "0.1"], {"level": 0.2, "rng": 3, "value": 0.1}),
        (["--epsilons", "0", "--epsilons", "0.4"], {"epsilons": [0, 0.4]}),
    ],
)
def test_summary_is_that_of_the_function(
    flags: list[str], options: dict[str, Any], table: str, capsys: pytest.CaptureFixture[str]
):
    assert run(["sweep", table, *GROUPS, "--n-permutations", "59", *flags]) == 0
    out, err = capsys.readouterr()
    X, Y = mb.groups(table, "g", hidden="A", among="B", id="name")
    result = mb.sweep(X, Y, **{"rng": 0, "n_permutations": 59, **options})
    assert one_line(out) == one_line(result.summary())
    assert err == ""
    assert re.match(
        r"Tried: from no misfiled rows up to \S+ % of the true A rows, that is [23] of the 5", out
    )


def test_the_frontier_is_that_of_the_function(table: str, capsys: pytest.CaptureFixture[str]):
    flags = ["sweep", table, *GROUPS, "--n-permutations", "59", "--level", "0.3", "--y-in-x", "0.3"]
    X, Y = mb.groups(table, "g", hidden="A", among="B", id="name")
    result = mb.sweep(X, Y, y_in_x=0.3, level=0.3, n_permutations=59, rng=0)
    assert run(flags) == 0
    assert one_line(capsys.readouterr().out) == one_line(result.summary())
    assert run([*flags, "--quiet"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    ends = [None if share == "none" else float(share) for _, share in lines]
    assert ends == [point.y_in_x for point in result.points]
    assert run([*flags, "--csv"]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head == "epsilon,y_in_x,n_moved,n_moved_of_x,breakdown_y_in_x,is_tight"
    assert first.startswith("0.0,")
    assert run([*flags, "--dry-run"]) == 0
    assert "B" in capsys.readouterr().out


def test_json_is_to_json(table: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    made = []
    function = mmdbounds.inference.breakdown.sweep

    def remember(*arguments: Any, **options: Any) -> mb.results.SweepResult:
        made.append(function(*arguments, **options))
        return made[0]

    monkeypatch.setattr(mmdbounds.inference.breakdown, "sweep", remember)
    assert run(["sweep", table, *GROUPS, "--n-permutations", "19", "--json"]) == 0
    out, err = capsys.readouterr()
    assert out == made[0].to_json() + "\n"
    assert err == ""
    assert mb.results.SweepResult.from_dict(json.loads(out)).most_moved == 3


def test_every_flag_arrives(table: str, monkeypatch: pytest.MonkeyPatch):
    calls: list[Any] = []

    def stop(X: Any, Y: Any, **options: Any) -> None:
        calls.append((X, Y, options))
        raise KeyboardInterrupt

    monkeypatch.setattr(mmdbounds.inference.breakdown, "sweep", stop)
    flags = (
        "--epsilons 0.1 --epsilons 0.25 --level 0.01 --value -0.5 --n-permutations 49 --columns y "
        "--columns x --scale none --rng 3 --kernel laplacian --bandwidth 2.5 --estimator biased "
        "--backend numpy --dtype float32 --working-memory 64 --progress --exactly "
        ""
    )
    assert run(["sweep", table, *GROUPS, *flags.split()]) == 130
    X, Y, options = calls[0]
    assert (X.columns, X.values[0].tolist(), len(Y)) == (("y", "x"), [2.0, 1.0], 5)
    assert options == {
        "epsilons": [0.1, 0.25],
        "which": None,
        "exactly": True,
        "y_in_x": 0.0,
        "level": 0.01,
        "value": -0.5,
        "n_permutations": 49,
        "kernel": "laplacian",
        "bandwidth": 2.5,
        "estimator": "biased",
        "backend": "numpy",
        "dtype": "float32",
        "working_memory": 64.0,
        "unit": None,
        "rng": 3,
        "progress": True,
    }


def test_every_keyword_is_a_flag_with_the_same_default():
    function = inspect.signature(mb.sweep).parameters
    command = defaults_of(sweep_command)
    keywords = {name for name, p in function.items() if p.kind is p.KEYWORD_ONLY}
    keywords -= {"which"}  # made of --strata and --limit
    assert keywords <= set(command)
    for name in keywords - {"rng"}:
        assert command[name] == function[name].default
    assert command["rng"] is None  # a seed is drawn


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--level", "5"], r"^`level` must be in \[0, 1\); got 5\. Did you mean 0\.05\?$"),
        (["--level", "0"], r"^`level` must be larger than 0, or nothing is ever rejected; got 0\.$"),
        (["--epsilons", "x"], r"'--epsilons': must be a number; got 'x'\. See `mmdbounds sweep --help`\.$"),
        (["--epsilons", "20"], r"^`epsilons` must be in \[0, 1\); got 20\. Did you mean 0\.2\?$"),
        (["--epsilons", "0.9"], r"^27 misfiled rows cannot be among the 5 rows of `Y`\."),
        (["--y-in-x", "20"], r"^`y_in_x` must be in \[0, 1\); got 20\. Did you mean 0\.2\?$"),
        (
            ["--y-in-x", "0.1", "--value", "0.2"],
            r"^`value` is for the one-way curve; got 0\.2 with a `y_in_x`",
        ),
        (
            ["--y-in-x", "0.1", "--report", "page.html"],
            r"^`--report` shows one-way sweeps; got --y-in-x too\.",
        ),
        (["--value", "nan"], r"^`value` must be a number; got nan\.$"),
        (["--value", "low"], r"'--value': must be a number; got 'low'\."),
        (["--n-permutations", "0"], r"^`n_permutations` must be a whole number from 1; got 0\.$"),
        (["--kernel", "precomputed"], r"^`--kernel precomputed` needs a matrix"),
        (["--epsilon", "0.2"], r"^No such option: --epsilon.*--epsilons.* See `mmdbounds sweep --help`\.$"),
    ],
)
def test_refusals(options: list[str], message: str, table: str, refused: Refused):
    assert re.search(message, refused("sweep", table, *GROUPS, *options))
