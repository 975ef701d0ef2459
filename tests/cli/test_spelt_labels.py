"""Rows in neither group are counted and their labels named; labels in two spellings stop every command."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.cli.main import run
from mmdbounds.report.record import recipe

GROUPS = ["--group", "dx", "--hidden", "MI", "--among", "Healthy"]
COMMANDS = {
    "bounds": ["--epsilon", "0.2", "--method", "s-sd"],
    "test": ["--epsilon", "0.2", "--n-permutations", "9"],
    "sweep": ["--n-permutations", "9", "--epsilons", "0,0.1"],
    "audit": ["--n-permutations", "9"],
    "columns": ["--epsilon", "0.2"],
    "report": ["--epsilon", "0.2", "--n-permutations", "9"],
    "odds": ["--epsilons", "0.1", "--odds", "2", "--n-permutations", "19"],
    "evaluate": ["--epsilon", "0.2", "--n-trials", "2"],
}
LABELS = ["MI"] * 8 + ["Healthy"] * 12 + ["Diabetes"] * 3 + ["stroke"] + [""] * 2
NOTES = [
    "mmdbounds: note: 4 rows of other groups left out: Diabetes (3), stroke (1).",
    "mmdbounds: note: 2 rows without a label in 'dx' left out.",
]


def written(labels: list[str], path: Path) -> str:
    rng = np.random.default_rng(0)
    lines = [
        f"{label},{a:.3f},{b:.3f}"
        for label, (a, b) in zip(labels, rng.normal(size=(len(labels), 2)), strict=True)
    ]
    path.write_text("\n".join(["dx,a,b", *lines]) + "\n")
    return str(path)


def arguments(command: str, file: str, folder: Path) -> list[str]:
    out = ["--out", str(folder / "page.html")] if command == "report" else []
    seed = [] if command == "columns" else ["--rng", "0"]
    return [command, file, *GROUPS, *COMMANDS[command], *seed, *out]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.filterwarnings("ignore::mmdbounds.errors.AmountWarning")  # of less than one row
def test_rows_in_neither_group_are_named(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = written(LABELS, tmp_path / "t.csv")
    assert run(arguments(command, file, tmp_path)) == 0
    assert capsys.readouterr().err.splitlines()[:2] == NOTES


@pytest.mark.parametrize("command", COMMANDS)
def test_labels_in_two_spellings_stop_it(command: str, tmp_path: Path, refused: Callable[..., str]):
    file = written([*LABELS, " mi ", "HEALTHY", "diabetes"], tmp_path / "t.csv")
    message = refused(*arguments(command, file, tmp_path))
    assert message == (
        "column 'dx' has 'MI' (8 rows), 'mi' (1 row); and 'Healthy' (12 rows), 'HEALTHY' (1 row): these "
        "differ only in case or blanks. Set `--fold-labels` to read such labels as one group, or rename them."
    )


@pytest.mark.filterwarnings("ignore::mmdbounds.errors.AmountWarning")  # of less than one row
def test_folded_labels_are_one_group_on_the_page_too(tmp_path: Path):
    plain = written([label for label in LABELS if label], tmp_path / "plain.csv")
    spelt = [label.upper() if i % 3 else f" {label.lower()} " for i, label in enumerate(LABELS) if label]
    file, page = written(spelt, tmp_path / "spelt.csv"), tmp_path / "page.html"
    how = ["--epsilon", "0.2", "--n-permutations", "9", "--rng", "0", "--out", str(page)]
    assert run(["report", file, *GROUPS, *how, "--fold-labels"]) == 0
    text = html.unescape(page.read_text())
    assert "4 rows of other groups (DIABETES (3), STROKE (1))" in text
    assert "--fold-labels" in text
    same = [
        mb.groups(each, "dx", hidden="MI", among="Healthy", fold_labels=folds)
        for each, folds in ((plain, False), (file, True))
    ]
    (X, Y), (X_spelt, Y_spelt) = same
    np.testing.assert_array_equal(X.values, X_spelt.values)
    np.testing.assert_array_equal(Y.values, Y_spelt.values)
    assert "fold_labels=True" in recipe(mb.mmd_bounds(X_spelt, Y_spelt, 0.2, method="s-sd"))


def test_several_groups(tmp_path: Path, refused: Callable[..., str], capsys: pytest.CaptureFixture[str]):
    file = written([*LABELS, "diabetes"], tmp_path / "t.csv")
    how = ["bounds", file, "--group", "dx", "--wrong", "any", "--n-moved", "1", "--rng", "0"]
    assert refused(*how).startswith(
        "column 'dx' has 'Diabetes' (3 rows), 'diabetes' (1 row): these differ only"
    )
    assert run([*how, "--fold-labels"]) == 0
    assert "4 Diabetes" in capsys.readouterr().out
    with pytest.raises(
        mb.MmdBoundsError, match=r"`labels` holds 'a' .*, 'A' .* differ only in case or blanks"
    ):
        mb.hsic(np.zeros((4, 1)), ["a", "A", "b", "b"])
