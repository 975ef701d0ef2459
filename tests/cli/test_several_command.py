"""With `--wrong`, `bounds` and `test` say what the functions return for the rows of all groups of a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.cli.main import run
from mmdbounds.results import HsicResult, IndependenceResult
from mmdbounds.tables.grouped_table import labelled_table

TABLE = """\
name,g,x,y
a,A,1,2
b,A,2,1
c,A,2,2.5
d,B,5,4
e,B,6,6
f,B,5,7
g,B,4,5
h,B,1.5,2
i,C,9,1
j,C,8,2
k,C,9,2
l,C,5,5
m,,5,5
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "groups.csv"
    file.write_text(TABLE)
    return str(file)


def by_hand() -> tuple[np.ndarray, list[str]]:
    cells = [line.split(",") for line in TABLE.splitlines()[1:13]]
    values = np.array([[float(cell) for cell in row[2:]] for row in cells])
    return (values - values.mean(axis=0)) / values.std(axis=0), [row[1] for row in cells]


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (["--wrong", "any", "--n-moved", "2"], {"n_moved": 2}),
        (
            ["--wrong", "B>A, C>B", "--epsilon", "0.1", "--exactly", "--estimator", "biased"],
            {"epsilon": 0.1, "exactly": True, "transitions": [("B", "A"), ("C", "B")], "estimator": "biased"},
        ),
    ],
)
def test_numbers_are_those_of_the_function(path, flags, options, capsys):
    assert run(["bounds", path, "--group", "g", "--id", "name", "--json", *flags]) == 0
    found = HsicResult.from_dict(json.loads(capsys.readouterr().out))
    Z, labels = by_hand()
    wanted = mb.hsic_bounds(Z, labels, rng=0, **options)
    # Scaled by other code: the last digits of the rows may differ.
    np.testing.assert_allclose(found.interval, wanted.interval, rtol=0, atol=1e-9)
    assert found.upper.rows.tolist() == wanted.upper.rows.tolist()
    assert found.upper.labels == wanted.upper.labels
    assert found.transitions == wanted.transitions
    assert found.upper.ids.tolist() == ["abcdefghijkl"[row] for row in found.upper.rows]
    assert found.upper.file_rows.tolist() == [row + 1 for row in found.upper.rows]


def test_the_test_is_that_of_the_function(path, capsys):
    how = [
        "test",
        path,
        "--group",
        "g",
        "--id",
        "name",
        "--wrong",
        "B>A, C>B",
        "--n-moved",
        "2",
        "--rng",
        "7",
    ]
    how += ["--n-permutations", "49"]
    assert run([*how, "--json"]) == 0
    found = IndependenceResult.from_dict(json.loads(capsys.readouterr().out))
    # Not scaled by hand: the random labels depend on every digit of the rows.
    Z, labels = labelled_table(path, "g", id="name")
    np.testing.assert_allclose(Z.values, by_hand()[0], rtol=0, atol=1e-12)
    possible = [("B", "A"), ("C", "B")]
    wanted = mb.independence_test(Z, labels, n_moved=2, transitions=possible, n_permutations=49, rng=7)
    assert (found.pvalue, found.worst_sizes, found.is_valid) == (wanted.pvalue, wanted.worst_sizes, True)
    assert (found.transitions, found.n_permutations, found.provenance.seed) == (wanted.transitions, 49, 7)
    np.testing.assert_array_equal(found.null, wanted.null)
    assert run(how) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "possible errors: B recorded, A true; C recorded, B true. Recorded: 3 A, 5 B and 4 C." in text
    assert "Whichever labels are wrong, the p-value of independence is at most" in text
    assert "49 permutations; seed 7" in text
    assert run([*how, "--quiet"]) == 0
    assert float(capsys.readouterr().out) == wanted.pvalue
    assert run([*how, "--csv"]) == 0
    heading, cells = capsys.readouterr().out.splitlines()
    numbers = dict(zip(heading.split(","), cells.split(","), strict=True))
    assert (float(numbers["pvalue"]), numbers["is_valid"]) == (wanted.pvalue, "true")
    assert run([*how, "--dry-run"]) == 0
    assert "Groups: A (3), B (5), C (4)." in capsys.readouterr().out


def test_words_csv_quiet_and_dry_run(path, capsys):
    how = ["bounds", path, "--group", "g", "--id", "name", "--wrong", "any", "--n-moved", "1"]
    assert run(how) == 0
    text = capsys.readouterr().out
    assert text.startswith("Assumed: at most 1 row of 12 (8.33 %) carries a wrong label; any group can")
    assert "Recorded: 3 A, 5 B and 4 C." in text
    assert "relabels 1 row: h (row 8) to A" in text
    assert run([*how, "--quiet"]) == 0
    low, high = map(float, capsys.readouterr().out.split())
    assert run([*how, "--csv"]) == 0
    heading, cells = capsys.readouterr().out.splitlines()
    numbers = dict(zip(heading.split(","), cells.split(","), strict=True))
    assert (float(numbers["lower_certified"]), float(numbers["upper_certified"])) == (low, high)
    assert run([*how, "--dry-run"]) == 0
    plan = capsys.readouterr().out
    assert "Groups: A (3), B (5), C (4)." in plan
    assert "1 row without a label in 'g' left out." in plan


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--wrong", "A>Q", "--n-moved", "1"], "`--wrong` names 'Q', which no row is labelled with."),
        (["--wrong", "A", "--n-moved", "1"], "`--wrong` must be 'any' or errors as recorded>true, such as"),
        (["--wrong", "A>B"], "give `--n-moved` (a number of rows) or `--epsilon` (a share of all rows); got"),
        (["--wrong", "any", "--hidden", "A", "--n-moved", "1"], "`--wrong` is about all groups; leave out"),
        (["--wrong", "any", "--share-of-y", "0.1"], "`--share-of-y` cannot be used with --wrong. Leave it"),
        (["--wrong", "any", "--n-moved", "1", "--method", "sd"], "`--method` cannot be used with --wrong."),
        (["--wrong", "any", "--n-moved", "1", "--unit", "name"], "`--unit` cannot be used with --wrong."),
        (["--n-moved", "1"], "`--hidden` is missing. Name two groups with --hidden and --among, or use"),
        (["--hidden", "A", "--n-moved", "1"], "`--among` is missing. Name two groups"),
    ],
)
def test_refused_in_one_line(path: str, flags: list[str], message: str, refused: Callable[..., str]):
    assert refused("bounds", path, "--group", "g", "--id", "name", *flags).startswith(message)
    if "--method" not in flags:
        assert refused("test", path, "--group", "g", "--id", "name", *flags).startswith(message)


@pytest.mark.parametrize("flags", [["--level", "0.1"], ["--beta", "0.1"], ["--report", "page.html"]])
def test_what_only_the_test_of_two_groups_has_is_refused(path: str, flags: list[str], refused):
    asked = ("test", path, "--group", "g", "--id", "name", "--wrong", "any", "--n-moved", "1", *flags)
    assert refused(*asked) == f"`{flags[0]}` cannot be used with --wrong. Leave it out."


def test_all_problems_of_a_table_are_listed(
    path: str, refused: Callable[..., str], capsys: pytest.CaptureFixture[str]
):
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("a,A,1,2", "a,A,unknown,")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    command = ["bounds", path, "--group", "g", "--id", "name", "--wrong", "any", "--n-moved", "2"]
    how = "Add --dry-run to see all problems at once, and the flags that solve them."
    assert refused(*command).endswith(how)
    assert run([*command, "--dry-run"]) == 2
    out, err = capsys.readouterr()
    assert "  1. 1 column cannot be compared: 'x' (numbers and text, 1 word: 'unknown')." in out
    flags = err.rstrip("\n").split("For example, add: ")[1]
    assert flags == "--na unknown --missing impute"
    assert run([*command, *flags.split()]) == 0
