"""`mmdbounds test` says what the function returns, hands every flag on and refuses in one line."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mmdbounds as mb
import mmdbounds.inference.robust
from mmdbounds.cli.compare import robust_test_command
from mmdbounds.cli.main import run
from mmdbounds.cli.options import defaults_of
from mmdbounds.contamination import Contamination

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--rng", "0", "--id", "name"]
CHANGING = re.compile(r" in [^ ]+ s; mmdbounds [^ ]+\.$")
Refused = Callable[..., str]


def one_line(text: str) -> str:
    return CHANGING.sub("", " ".join(text.split()))


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ([], {}),
        (["--rng", "7", "--n-permutations", "19"], {"rng": 7, "n_permutations": 19}),
        (["--exactly"], {"exactly": True}),
        (["--beta", "0.01"], {"beta": 0.01}),
    ],
)
def test_summary_is_that_of_the_function(
    flags: list[str], options: dict[str, Any], table: str, capsys: pytest.CaptureFixture[str]
):
    assert run(["test", table, *GROUPS, "--epsilon", "0.4", *flags]) == 0
    out, err = capsys.readouterr()
    X, Y = mb.groups(table, "g", hidden="A", among="B", id="name")
    result = mb.robust_test(X, Y, 0.4, **{"rng": 0, **options})
    assert one_line(out) == one_line(result.summary())
    assert err == ""
    how = "exactly" if "--exactly" in flags else "at most"
    assert one_line(out).startswith(
        f"Assumed: {how} 40 % of the true A rows are misfiled, that is {how} 2 of the 5 rows filed under B. "
    )


def test_json_is_to_json(table: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    made = []
    function = mmdbounds.inference.robust.robust_test

    def remember(*arguments: Any, **options: Any) -> mb.results.RobustTestResult:
        made.append(function(*arguments, **options))
        return made[0]

    monkeypatch.setattr(mmdbounds.inference.robust, "robust_test", remember)
    assert run(["test", table, *GROUPS, "--n-moved", "2", "--n-permutations", "19", "--json"]) == 0
    out, err = capsys.readouterr()
    assert out == made[0].to_json() + "\n"
    assert err == ""
    back = mb.results.RobustTestResult.from_dict(json.loads(out))
    assert back.n_moved_range == (0, 2)
    assert back.provenance.data["source"] == Path(table).name


def test_every_flag_arrives(table: str, monkeypatch: pytest.MonkeyPatch):
    calls: list[Any] = []

    def stop(X: Any, Y: Any, contamination: Any, **options: Any) -> None:
        calls.append((X, Y, contamination, options))
        raise KeyboardInterrupt

    monkeypatch.setattr(mmdbounds.inference.robust, "robust_test", stop)
    flags = (
        "--n-moved 2 --n-moved-of-x 1 --exactly --n-permutations 49 --beta 0.25 --columns y "
        "--columns x --scale none --rng 3 --kernel laplacian --bandwidth 2.5 --estimator biased "
        "--backend numpy --dtype float32 --working-memory 64 --no-progress "
        "--level 0.01"
    )
    assert run(["test", table, *GROUPS, *flags.split()]) == 130
    X, Y, contamination, options = calls[0]
    assert contamination == Contamination(n_moved=2, n_moved_of_x=1, exactly=True)
    assert (X.columns, X.values[0].tolist(), X.ids.tolist()) == (("y", "x"), [2.0, 1.0], ["a", "b", "c"])
    assert len(Y) == 5
    assert options == {
        "n_permutations": 49,
        "level": 0.01,
        "beta": 0.25,
        "kernel": "laplacian",
        "bandwidth": 2.5,
        "estimator": "biased",
        "backend": "numpy",
        "dtype": "float32",
        "working_memory": 64.0,
        "unit": None,
        "rng": 3,
        "progress": False,
    }
    assert run(["test", table, *GROUPS, "--epsilon", "0.3", "--y-in-x", "0.1", "--exclude", "y"]) == 130
    X, _, contamination, options = calls[1]
    assert contamination == Contamination(0.3, y_in_x=0.1)
    assert X.columns == ("x",)
    assert run(["test", table, *GROUPS, "--share-of-y", "0.4"]) == 130
    assert calls[2][2] == Contamination(share_of_y=0.4)


@pytest.mark.parametrize(
    ("options", "amount"),
    [
        (["--sensitivity", "0.9"], Contamination(0.1)),
        (["--sensitivity", "0.9", "--specificity", "0.98"], Contamination(0.1, y_in_x=0.02)),
        (["--audit", "1/4"], Contamination.from_audit(4, 1)),
        (
            ["--audit", "1 / 4", "--anytime", "--confidence", "0.9"],
            Contamination.from_audit(4, 1, 0.9, anytime=True),
        ),
        (["--prevalence", "0.6"], Contamination.from_prevalence(0.6)),
        (
            ["--prevalence", "0.5-0.6", "--confidence", "0.9"],
            Contamination.from_prevalence((0.5, 0.6), level=0.9),
        ),
        (["--prevalence", "0.6", "--prevalence-error", "0.01"], Contamination.from_prevalence(0.6, 0.01)),
    ],
)
def test_other_ways_to_say_how_much(options, amount, table, monkeypatch):
    seen = []

    def called(X, Y, contamination, **_):
        seen.append(contamination)
        raise KeyboardInterrupt

    monkeypatch.setattr("mmdbounds.inference.robust.robust_test", called)
    assert run(["test", table, *GROUPS, *options]) == 130
    assert seen == [amount]


@pytest.mark.parametrize("command", ["bounds", "test", "sweep"])
def test_a_seed_is_drawn_and_shown_and_taken_back(
    command: str, table: str, capsys: pytest.CaptureFixture[str]
):
    asked = [command, table, *GROUPS[:6], "--id", "name", *([] if command == "sweep" else ["--n-moved", "1"])]

    def seed(*flags: str) -> int:
        assert run([*asked, *flags, "--json"]) == 0
        return int(json.loads(capsys.readouterr().out)["provenance"]["seed"])

    drawn = seed()
    assert seed() != drawn
    assert seed("--rng", str(drawn)) == drawn
    assert run([*asked, "--rng", str(drawn)]) == 0
    assert f"seed {drawn};" in " ".join(capsys.readouterr().out.split())


def test_every_keyword_is_a_flag_with_the_same_default():
    function = inspect.signature(mb.robust_test).parameters
    command = defaults_of(robust_test_command)
    keywords = {name for name, p in function.items() if p.kind is p.KEYWORD_ONLY}
    keywords -= {"sample_weight"}  # there to be refused
    assert keywords <= set(command)
    for name in keywords - {"rng"}:
        assert command[name] == function[name].default
    assert command["rng"] is None  # a seed is drawn


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], r"^give exactly one of --epsilon, --share-of-y, .* and --prevalence; got none of them\.$"),
        (["--epsilon", "0.2", "--n-moved", "1"], r"got --epsilon and --n-moved\.$"),
        (["--epsilon", "20"], r"^`epsilon` must be in \[0, 1\); got 20\. Did you mean 0\.2\?$"),
        (["--n-moved", "4"], r"the true `Y` would have 1 row; the unbiased estimator needs at least 2\."),
        (
            ["--n-moved", "1", "--n-permutations", "0"],
            r"^`n_permutations` must be a whole number from 1; got 0",
        ),
        (
            ["--n-moved", "1", "--n-permutations", "1e3"],
            r"'--n-permutations': must be a whole number; got '1e3'",
        ),
        (["--n-moved", "1", "--beta", "5%"], r"'--beta': must be a number; got '5%'\. Did you mean 0\.05\?"),
        (["--n-moved", "1", "--beta", "1"], r"^`beta` must be in \[0, 1\); got 1\.$"),
        (["--n-moved", "1", "--kernel", "precomputed"], r"^`--kernel precomputed` needs a matrix"),
        (["--n-moved", "1", "--bandwidth", "wide"], r"^`--bandwidth` must be 'median', a multiple"),
        (["--n-moved", "1", "--rng", "-1"], r"^`rng` must be a whole number from 0, .*; got -1\.$"),
        (["--n-moved", "1", "--exact"], r"^No such option: --exact.* See `mmdbounds test --help`\.$"),
        (["--n-moved", "1", "--columns", "z"], r"^there is no column 'z'"),
    ],
)
def test_refusals(options: list[str], message: str, table: str, refused: Refused):
    assert re.search(message, refused("test", table, *GROUPS, *options))
