"""`--features` and `--landmarks`: the same kernel as from Python, in every command that compares."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.cli.main import run

GROUPS = ["--group", "g", "--hidden", "A", "--among", "B", "--bandwidth", "1.5", "--rng", "2"]
FLAGS = {
    "bounds": ["--epsilon", "0.1"],
    "test": ["--epsilon", "0.1", "--n-permutations", "39"],
    "sweep": ["--epsilons", "0.1", "--n-permutations", "39"],
    "evaluate": ["--epsilon", "0.1", "--n-trials", "2", "--n-processes", "1", "--scale", "none"],
}
KERNELS: dict[str, Callable[..., Any]] = {
    "--features": lambda: mb.RandomFeatures("laplacian", 20, bandwidth=1.5),
    "--landmarks": lambda: mb.Nystrom("laplacian", 20, bandwidth=1.5),
}
CHANGING = re.compile(r" in [^ ]+ s; mmdbounds [^ ]+\.$")
Refused = Callable[..., str]


def one_line(text: str) -> str:
    return CHANGING.sub("", " ".join(text.split()))


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """A table of 30 and 40 rows."""
    values = np.random.default_rng(5).normal(size=(70, 2)).round(3)
    lines = [f"{'A' if i < 30 else 'B'},{x},{y}" for i, (x, y) in enumerate(values)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["g,x,y", *lines, ""]))
    return str(path)


def expected(command: str, path: str, kernel: Any) -> str:
    scale = "none" if command == "evaluate" else "standard"
    X, Y = mb.groups(path, "g", hidden="A", among="B", scale=scale)
    if command == "bounds":
        return mb.mmd_bounds(X, Y, 0.1, kernel=kernel, rng=2).summary()
    if command == "test":
        return mb.robust_test(X, Y, 0.1, n_permutations=39, kernel=kernel, rng=2).summary()
    if command == "sweep":
        return mb.sweep(X, Y, epsilons=[0.1], n_permutations=39, kernel=kernel, rng=2).summary()
    return mb.evaluate(X, Y, 0.1, n_trials=2, scale="none", kernel=kernel, rng=2).summary()


@pytest.mark.parametrize("command", FLAGS)
@pytest.mark.parametrize("flag", KERNELS)
def test_summary_is_that_of_the_function(
    command: str, flag: str, rows: str, capsys: pytest.CaptureFixture[str]
):
    assert run([command, rows, *GROUPS, *FLAGS[command], "--kernel", "laplacian", flag, "20"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert one_line(out) == one_line(expected(command, rows, KERNELS[flag]()))


@pytest.mark.parametrize("command", FLAGS)
def test_refusals(command: str, rows: str, refused: Refused):
    start = [command, rows, *GROUPS, *FLAGS[command]]
    assert refused(*start, "--features", "9", "--landmarks", "8") == (
        "give --features or --landmarks, not both; got 9 and 8."
    )
    assert re.search(r"whole number", refused(*start, "--features", "0"))
