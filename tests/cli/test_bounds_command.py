"""`mmdbounds bounds` says what the function returns, and hands every flag on."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import mmdbounds as mb
import mmdbounds.bounds
from mmdbounds.cli.compare import bounds_command
from mmdbounds.cli.main import run
from mmdbounds.cli.options import defaults_of
from mmdbounds.contamination import Contamination
from mmdbounds.results import BoundsResult
from mmdbounds.search import Exhaustive, Sharp, StepwiseDominance

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--rng", "0", "--id", "name"]
CHANGING = re.compile(r" in [^ ]+ s; mmdbounds [^ ]+\.$")


def test_words_by_hand(table: str, capsys: pytest.CaptureFixture[str]):
    how = ["--n-moved", "1", "--exactly", "--method", "sd", "--bandwidth", "2"]
    assert run(["bounds", table, *GROUPS, *how]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == (
        "Assumed: exactly 25 % of the true A rows are misfiled, that is exactly 1 of the 5 rows filed under"
    )
    assert lines[2].startswith("Depending on which rows they are, the squared MMD of the true groups can be")
    assert re.fullmatch(r"  smallest found +-?[\d.]+   1 step; nothing proved", lines[6])
    # Of B, h lies among the rows of A: without it the groups are furthest apart.
    assert "    moves 1 row filed under B: h (row 8)" in lines
    assert lines[-1].startswith("kernel values in ") or " kernel values in " in out
    assert "Method sd (n_steps=1, schedule=even); kernel rbf, bandwidth 2; unbiased estimator" in out


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ([], {"rng": 0}),
        (["--rng", "7"], {"rng": 7}),
        (["--method", "s-sd"], {"method": "s-sd"}),
    ],
)
def test_summary_is_that_of_the_function(
    flags: list[str], options: dict[str, Any], table: str, capsys: pytest.CaptureFixture[str]
):
    assert run(["bounds", table, *GROUPS, "--epsilon", "0.4", *flags]) == 0
    X, Y = mb.groups(table, "g", hidden="A", among="B", id="name")
    summary = mb.mmd_bounds(X, Y, 0.4, **options).summary()
    printed = capsys.readouterr().out.rstrip("\n")
    said = summary.replace("`row_table()`", "`--rows FILE`")
    assert CHANGING.sub("", printed) == CHANGING.sub("", said)
    assert CHANGING.search(printed)
    assert (f"seed {options.get('rng')};" in " ".join(printed.split())) == ("rng" in options)


def test_sharp_is_the_default_and_proves(table: str, capsys: pytest.CaptureFixture[str]):
    assert run(["bounds", table, *GROUPS, "--n-moved", "2"]) == 0
    out = capsys.readouterr().out
    assert "the squared MMD of the true groups is between " in " ".join(out.split())
    assert "(proved)" in out
    assert "Method sharp (n_starts=16, certify=auto, gap=0.001); seed 0; kernel rbf" in " ".join(out.split())


def test_json_is_to_json(table: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    made = []
    function = mmdbounds.bounds.mmd_bounds

    def remember(*arguments: Any, **options: Any) -> BoundsResult:
        made.append(function(*arguments, **options))
        return made[0]

    monkeypatch.setattr(mmdbounds.bounds, "mmd_bounds", remember)
    assert run(["bounds", table, *GROUPS, "--n-moved", "2", "--json"]) == 0
    out, err = capsys.readouterr()
    assert out == made[0].to_json() + "\n"
    assert err == ""
    back = BoundsResult.from_dict(json.loads(out))
    assert back.n_moved == 2
    assert back.lower.ids is not None
    assert back.provenance.data["source"] == Path(table).name


def test_every_flag_arrives(table: str, monkeypatch: pytest.MonkeyPatch):
    calls: list[Any] = []

    def stop(X: Any, Y: Any, contamination: Any, **options: Any) -> None:
        calls.append((X, Y, contamination, options))
        raise KeyboardInterrupt

    monkeypatch.setattr(mmdbounds.bounds, "mmd_bounds", stop)
    flags = (
        "--n-moved 2 --n-moved-of-x 1 --exactly --columns y --columns x --scale none --method s-sd "
        "--n-steps 2 --schedule even --rng 3 --kernel laplacian --bandwidth 2.5 --estimator biased "
        "--backend numpy --dtype float32 --working-memory 64 --no-progress"
    )
    assert run(["bounds", table, *GROUPS, *flags.split()]) == 130
    X, Y, contamination, options = calls[0]
    assert contamination == Contamination(n_moved=2, n_moved_of_x=1, exactly=True)
    assert (X.columns, X.values[0].tolist(), X.ids.tolist()) == (("y", "x"), [2.0, 1.0], ["a", "b", "c"])
    assert len(Y) == 5
    assert options == {
        "method": StepwiseDominance(n_steps=2),
        "kernel": "laplacian",
        "bandwidth": 2.5,
        "estimator": "biased",
        "backend": "numpy",
        "dtype": "float32",
        "working_memory": 64.0,
        "rng": 3,
        "progress": False,
    }
    assert run(["bounds", table, *GROUPS, "--epsilon", "0.3", "--y-in-x", "0.1", "--exclude", "y"]) == 130
    X, _, contamination, options = calls[1]
    assert contamination == Contamination(0.3, y_in_x=0.1)
    assert X.columns == ("x",)
    assert X.record["scale"] == "standard"
    assert (options["method"], options["bandwidth"], options["progress"]) == (Sharp(), "median", None)
    assert (options["working_memory"], options["rng"]) == (1024.0, 0)
    paper = ["--method", "s-sd", "--schedule", "paper"]
    assert run(["bounds", table, *GROUPS, "--share-of-y", "0.4", *paper, "--progress"]) == 130
    _, _, contamination, options = calls[2]
    assert contamination == Contamination(share_of_y=0.4)
    assert options["method"] == StepwiseDominance(schedule="paper")
    assert options["progress"] is True


@pytest.mark.parametrize(
    ("flags", "method"),
    [
        ("--n-starts 4 --certify yes --gap 0.01", Sharp(n_starts=4, certify=True, gap=0.01)),
        ("--method sharp --certify no", Sharp(certify=False)),
        ("--certify TRUE", Sharp(certify=True)),
        ("--certify False --gap 0", Sharp(certify=False, gap=0.0)),
        ("--certify auto --method sd", StepwiseDominance(n_steps=1)),
        ("--method s-sd --n-steps 3", StepwiseDominance(n_steps=3)),
        ("--method exhaustive", Exhaustive()),
    ],
)
def test_options_of_the_methods_arrive(flags: str, method: Any, table: str, monkeypatch: pytest.MonkeyPatch):
    calls: list[Any] = []

    def stop(*_: Any, **options: Any) -> None:
        calls.append(options["method"])
        raise KeyboardInterrupt

    monkeypatch.setattr(mmdbounds.bounds, "mmd_bounds", stop)
    assert run(["bounds", table, *GROUPS, "--n-moved", "1", *flags.split()]) == 130
    assert calls == [method]


def test_help_states_the_defaults_of_sharp(capsys: pytest.CaptureFixture[str]):
    assert run(["bounds", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"Starting points of sharp, per side. [default: {Sharp().n_starts}]" in text
    assert f"as a share of the width. [default: {Sharp().gap}]" in text


@pytest.mark.parametrize("function", [mb.mmd_bounds, mb.groups])
def test_every_keyword_is_a_flag_with_the_same_default(function: Any):
    command = defaults_of(bounds_command)
    parameters = inspect.signature(function).parameters.values()
    keywords = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    keywords.pop("sample_weight", None)  # there to be refused
    keywords.pop("order", None)  # of audits
    assert set(keywords) <= set(command)
    others = {"hidden": "", "among": ""}  # groups are not named with --wrong
    for name, default in keywords.items():
        assert command[name] == others.get(name, default), name


def test_an_amount_is_a_limit(table: str, capsys: pytest.CaptureFixture[str]):
    assert run(["bounds", table, *GROUPS, "--n-moved", "2"]) == 0
    assert " ".join(capsys.readouterr().out.split()).startswith(
        "Assumed: at most 40 % of the true A rows are misfiled, that is at most 2 of the 5 rows filed under B"
    )


def test_the_hint_names_the_flag(table: str, capsys: pytest.CaptureFixture[str]):
    for dry in ([], ["--dry-run"]):
        paper = ["--method", "s-sd", "--schedule", "paper"]
        assert run(["bounds", table, *GROUPS, "--n-moved", "2", *paper, *dry]) == 2
        assert capsys.readouterr().err == (
            "mmdbounds: `--schedule paper` is defined for an exact number of misfiled rows, not for a limit. "
            "Pass `--exactly`, or use `--schedule even`.\n"
        )


def test_printed_schedule_bounds_nothing(table: str, capsys: pytest.CaptureFixture[str]):
    paper = ["--method", "s-sd", "--schedule", "paper", "--n-steps", "1"]
    assert run(["bounds", table, *GROUPS, "--n-moved", "2", "--exactly", *paper]) == 0
    out = capsys.readouterr().out
    assert "(n_steps=1, schedule=paper, weights=sums)" in out


def test_warning_is_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    import warnings

    from mmdbounds.cli.app import _show_warning

    path = tmp_path / "ids.csv"
    path.write_text("g,mrn,x\n" + "".join(f"{'AB'[i % 2]},{(i * 37) % 101},{i % 7}\n" for i in range(20)))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", _show_warning)
        assert run(["bounds", str(path), *GROUPS[:-2], "--n-moved", "2"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Assumed: ")
    assert err.startswith("mmdbounds: note: column 'mrn' looks like an identifier")
    assert "--id" in err
    assert err.count("\n") == 1
