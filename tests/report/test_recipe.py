"""What the page shows under "Reproduce this result" does that."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from made import make_provenance, make_result
from mmdbounds.cli.main import run
from mmdbounds.errors import MmdBoundsError
from mmdbounds.report.record import METHOD_CLASSES, recipe
from mmdbounds.search import METHODS
from report.made import GROUP, HIDDEN

VARY = {"seconds", "n_pairs"}


def made_again(text: str, **given: Any) -> Any:
    """Run the lines and return what the last one gives."""
    *before, last = text.splitlines()
    scope = dict(given)
    exec("\n".join(before), scope)
    return eval(last, scope)


def compared(result: Any) -> dict[str, Any]:
    plain = result.to_dict()
    plain["provenance"] = {k: v for k, v in plain["provenance"].items() if k not in VARY}
    return plain


@pytest.mark.parametrize("kind", ["swept", "bounded", "tested"])
def test_from_a_file(kind: str, table: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    result = request.getfixturevalue(kind)
    text = recipe(result)
    assert os.sep not in text.split("hidden=")[0]
    monkeypatch.chdir(table.parent)
    assert compared(made_again(text)) == compared(result)


def test_how_a_table_was_read_is_part_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    lines = [f"{'AB'[i % 2]};1,23{i};{i + 1}/2/2020;{i % 3}" for i in range(10)]
    (tmp_path / "t.csv").write_text("\n".join(["g;fee;seen;x", *lines]))
    monkeypatch.chdir(tmp_path)
    how = {"decimal": "point", "dates": "day-first"}
    columns = ["fee", "seen", "x"]
    read = mb.groups("t.csv", "g", hidden="A", among="B", columns=columns, **how)
    result = mb.mmd_bounds(*read, 0.2, method="s-sd")
    assert "decimal='point'" in recipe(result)
    assert "dates='day-first'" in recipe(result)
    assert compared(made_again(recipe(result)))["lower"] == compared(result)["lower"]
    flags = [word for name, value in how.items() for word in (f"--{name}", value)]
    named = ["--group", "g", "--hidden", "A", "--among", "B", "--columns", "fee,seen,x"]
    assert run(["bounds", "t.csv", *named, *flags, "--epsilon", "0.2", "--method", "s-sd", "--json"]) == 0
    saved = mb.results.BoundsResult.from_dict(json.loads(capsys.readouterr().out))
    assert run([*shlex.split(recipe(saved))[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lower"]["value"] == saved.lower.value == result.lower.value


rng = np.random.default_rng(0)
X, Y = rng.normal(size=(9, 2)), rng.normal(size=(12, 2))
EXACT = mb.Contamination(0.3, exactly=True)


@pytest.mark.parametrize(
    ("function", "amount", "options"),
    [
        (mb.mmd_bounds, 0.3, {"rng": 2, "kernel": "laplacian", "estimator": "biased"}),
        (mb.mmd_bounds, mb.Contamination(n_moved=2, n_moved_of_x=1), {"exactly": False, "rng": 0}),
        (mb.mmd_bounds, EXACT, {"rng": 1, "dtype": "float32"}),
        (mb.mmd_bounds, EXACT, {"rng": 1, "kernel": mb.kernels.Polynomial(degree=2)}),
        (mb.mmd_bounds, 0.3, {"method": "exhaustive"}),
        (mb.mmd_bounds, 0.3, {"method": "s-sd"}),
        # Of 9 rows, 0.25 is 3 of 12, but 0.28 is 3 as well: the printed schedule takes the share as stated.
        (mb.mmd_bounds, 0.28, {"method": mb.StepwiseDominance(schedule="paper"), "exactly": True}),
        (
            mb.mmd_bounds,
            mb.Contamination(0.31, exactly=True),
            {"method": mb.StepwiseDominance(schedule="paper", weights="means")},
        ),
        # Shares and counts allow other pairs of counts.
        (mb.mmd_bounds, mb.Contamination(0.3, y_in_x=0.2), {"exactly": False, "rng": 0}),
        (mb.mmd_bounds, mb.Contamination(np.float64(0.3), y_in_x=np.float64(0.1)), {"rng": 0}),
        (mb.robust_test, 0.2, {"n_permutations": 19, "rng": 3, "exactly": True, "beta": 0.01}),
        (mb.robust_test, mb.Contamination(0.2, y_in_x=0.2), {"n_permutations": 19, "rng": 3}),
        (
            mb.robust_test,
            mb.Contamination.from_audit(9, 1, 0.9),
            {"n_permutations": 19, "rng": 3, "beta": 0.01},
        ),
        (mb.robust_test, mb.Contamination.from_prevalence((0.2, 0.5)), {"n_permutations": 19, "rng": 3}),
    ],
)
def test_from_arrays(function: Any, amount: Any, options: dict[str, Any]):
    result = function(X, Y, amount, **options)
    assert compared(made_again(recipe(result), X=X, Y=Y)) == compared(result)


def test_an_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    truth = ["Y"] * 8 + [""] * 4
    audit = mb.audit(X, Y, verified=(None, truth), n_permutations=19, rng=7)
    assert compared(made_again(recipe(audit), X=X, Y=Y, verified_of_y=truth)) == compared(audit)
    rows = zip("A" * 9 + "B" * 12, [*X.tolist(), *Y.tolist()], [""] * 9 + ["B"] * 11 + [""], strict=True)
    lines = [f"{group},{u!r},{v!r},{truth}" for group, (u, v), truth in rows]
    (tmp_path / "t.csv").write_text("\n".join(["g,u,v,chart", *lines]))
    monkeypatch.chdir(tmp_path)
    named = ["--group", "g", "--hidden", "A", "--among", "B", "--verified", "chart", "--n-permutations", "19"]
    assert run(["audit", "t.csv", *named, "--rng", "7", "--json"]) == 0
    saved = mb.results.AuditResult.from_dict(json.loads(capsys.readouterr().out))
    assert run([*shlex.split(recipe(saved))[1:], "--json"]) == 0
    assert compared(mb.results.AuditResult.from_dict(json.loads(capsys.readouterr().out))) == compared(saved)


def test_what_only_its_author_has_is_named():
    mine = mb.mmd_bounds(X, Y, 0.2, kernel=lambda A, B: A @ B.T, method="s-sd")
    assert "kernel=your_kernel" in recipe(mine)
    units = mb.sweep(X, Y, unit=(range(9), range(20, 32)), epsilons=[0.1], n_permutations=19, rng=0)
    assert "unit=(units_of_x, units_of_y)" in recipe(units)
    assert "method=your_method" in recipe(make_result(provenance=make_provenance(method="mine")))


def test_every_method_is_known_by_its_public_class():
    assert {name: type(method).__name__ for name, method in METHODS.items()} == METHOD_CLASSES
    assert all(hasattr(mb, name) for name in METHOD_CLASSES.values())


def test_groups_named_by_zero_or_nothing_are_kept(bounded: mb.results.BoundsResult):
    data = {**bounded.provenance.data, "hidden": 0, "among": ""}
    assert "hidden=0, among=''" in recipe(forged(bounded, data=data))
    words = shlex.split(recipe(forged(bounded, data={**data, "by_command": True})))
    assert words[5:9] == ["--hidden", "0", "--among", ""]


def test_an_amount_that_was_not_recorded_is_named():
    assert "mb.mmd_bounds(X, Y, your_amount, " in recipe(make_result())


FLAGS = ["--group", "where", "--hidden", HIDDEN, "--among", GROUP, "--id", "id"]


@pytest.mark.parametrize(
    "flags",
    [
        *(
            ["bounds", "--epsilon", "0.21", "--method", method, "--rng", "3"]
            for method in ("sharp", "s-sd", "sd")
        ),
        *(
            ["bounds", "--epsilon", "0.21", "--method", method, "--rng", "3", "--exactly"]
            for method in ("sharp", "s-sd")
        ),
        ["bounds", "--n-moved", "2", "--method", "exhaustive", "--estimator", "biased"],
        ["bounds", "--epsilon", "0.21", "--exactly", "--method", "s-sd", "--schedule", "paper"],
        [
            "bounds",
            "--epsilon",
            "0.1",
            "--n-starts",
            "2",
            "--certify",
            "no",
            "--gap",
            "0",
            "--kernel",
            "matern52",
        ],
        ["bounds", "--epsilon", "0.1", "--certify", "yes", "--bandwidth", "2", "--scale", "rank"],
        [
            "bounds",
            "--epsilon",
            "0.1",
            "--y-in-x",
            "0.1",
            "--exactly",
            "--columns",
            "age",
            "--columns",
            "sex",
        ],
        ["bounds", "--n-moved", "1", "--n-moved-of-x", "1", "--kernel", "polynomial", "--exclude", "age"],
        ["bounds", "--share-of-y", "0.2", "--dtype", "float32", "--missing", "drop"],
        [
            "bounds",
            "--epsilon",
            "0.2",
            "--na",
            "n/a",
            "--na",
            "-",
            "--encoding",
            "cp1252",
        ],
        ["test", "--epsilon", "0.1", "--n-permutations", "19", "--exactly", "--beta", "0.01"],
        ["test", "--epsilon", "0.1", "--n-permutations", "19", "--rng", "7"],
        ["test", "--audit", "0/8", "--anytime", "--confidence", "0.9", "--n-permutations", "19"],
        ["test", "--prevalence", "0.3-0.6", "--n-permutations", "19"],
        ["sweep", "--epsilons", "0.1", "--epsilons", "0.3", "--n-permutations", "19", "--level", "0.1"],
        ["sweep", "--epsilons", "0.2", "--n-permutations", "19", "--value", "0.01", "--unit", "id"],
        ["sweep", "--epsilons", "0.1", "--epsilons", "0.3", "--n-permutations", "19", "--exactly"],
    ],
    ids=lambda flags: " ".join(flags[:1] + flags[3:]),
)
@pytest.mark.long
def test_a_command_gives_a_command_that_gives_the_same(
    flags: list[str],
    table: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    def printed(arguments: list[str]) -> Any:
        assert run([*arguments, "--json", "--quiet"]) == 0
        return json.loads(capsys.readouterr().out)

    name, *more = flags
    first = printed([name, str(table), *FLAGS, *more])
    result = getattr(mb.results, first["type"]).from_dict(first)
    text = recipe(result)
    program, *arguments = shlex.split(text)
    assert (program, arguments[:2]) == ("mmdbounds", [name, "patients.csv"])
    monkeypatch.chdir(table.parent)
    again = getattr(mb.results, first["type"]).from_dict(printed(arguments))
    assert compared(again) == compared(result)


EVIL = "$(touch evil); `touch evil`' \" && touch evil #"


def forged(result: Any, **changes: Any) -> Any:
    """A saved result in which somebody wrote, read back."""
    saved = result.to_dict()
    for name, value in changes.items():
        saved["provenance"][name] = value
    return type(result).from_dict(json.loads(json.dumps(saved)))


def test_a_forged_file_puts_no_text_of_its_own_there(bounded: mb.results.BoundsResult):
    data = {**bounded.provenance.data, "by_command": True, "command": EVIL}
    names = dict.fromkeys(("source", "group_column", "hidden", "among", "id_column", "scale"), EVIL)
    plain = recipe(forged(bounded, data=data))
    assert "evil" not in plain
    assert shlex.split(plain)[:3] == ["mmdbounds", "bounds", "patients.csv"]
    words = shlex.split(recipe(forged(bounded, data={**data, **names, "asked_columns": [EVIL, "--json"]})))
    assert words.count(EVIL) == 7
    assert words[words.index("--json") - 1] == "--columns"
    options = {"method": "sharp", "options": {EVIL: 1}, "kernel_options": {EVIL: 2}, "kernel": EVIL}
    for how in ({}, {"by_command": True}):
        assert "evil" not in recipe(forged(bounded, data=how, **options))
    for name in ("--json", "-"):
        words = shlex.split(recipe(forged(bounded, data={**data, "source": name})))
        assert words[2] == f"./{name}"


def test_names_that_cannot_stand_in_a_line_are_written_as_python(bounded: mb.results.BoundsResult):
    data = {**bounded.provenance.data, "by_command": True, "hidden": "a\nrm -rf ~ \u202e"}
    text = recipe(forged(bounded, data=data))
    first, groups, call = text.splitlines()
    assert (first, call.split("(")[0]) == ("import mmdbounds as mb", "mb.mmd_bounds")
    assert r"hidden='a\nrm -rf ~ \u202e'" in groups


def test_a_forged_amount_is_refused(bounded: mb.results.BoundsResult):
    with pytest.raises(MmdBoundsError, match=r"^`epsilon` must be "):
        recipe(forged(bounded, misfiling={"x_in_y": EVIL}))
    with pytest.raises(TypeError, match="unexpected keyword"):
        recipe(forged(bounded, misfiling={EVIL: 1}))


def test_a_table_that_was_piped_in_is_piped_in_again(bounded: mb.results.BoundsResult):
    data = {**bounded.provenance.data, "by_command": True, "source": "<stdin>"}
    assert shlex.split(recipe(forged(bounded, data=data)))[2] == "-"
