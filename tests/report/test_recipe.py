"""What the page shows under "Make it again" does that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from made import make_provenance, make_result
from mmdbounds.report.recipe import recipe

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


rng = np.random.default_rng(0)
X, Y = rng.normal(size=(9, 2)), rng.normal(size=(12, 2))


@pytest.mark.parametrize(
    ("function", "amount", "options"),
    [
        (mb.mmd_bounds, (0.1, 0.3), {"rng": 2, "kernel": "laplacian", "estimator": "biased"}),
        (mb.mmd_bounds, mb.Contamination(n_moved=2, n_moved_of_x=1), {"at_most": True, "rng": 0}),
        (mb.mmd_bounds, 0.3, {"method": "s-qno", "rng": 1, "dtype": "float32"}),
        (mb.mmd_bounds, 0.3, {"method": "qno", "rng": 1, "kernel": mb.Polynomial(degree=2)}),
        (mb.mmd_bounds, 0.3, {"method": "sd", "kernel": mb.RandomFeatures("rbf", n_features=64, seed=5)}),
        (mb.robust_test, 0.2, {"n_permutations": 19, "rng": 3, "at_most": False, "beta": 0.01}),
    ],
)
def test_from_arrays(function: Any, amount: Any, options: dict[str, Any]):
    result = function(X, Y, amount, **options)
    assert compared(made_again(recipe(result), X=X, Y=Y)) == compared(result)


def test_what_only_its_author_has_is_named():
    mine = mb.mmd_bounds(X, Y, 0.2, kernel=lambda A, B: A @ B.T, method="s-sd")
    assert "kernel=your_kernel" in recipe(mine)
    units = mb.sweep(X, Y, unit=(range(9), range(20, 32)), epsilons=[0.1], n_permutations=19, rng=0)
    assert "unit=(units_of_x, units_of_y)" in recipe(units)
    assert "method=your_method" in recipe(make_result(provenance=make_provenance(method="mine")))


def test_a_command_is_shown_as_it_was_typed():
    data = {"source": "a.csv", "command": "mmdbounds sweep a.csv --group 'a b'"}
    assert recipe(make_result(provenance=make_provenance(data=data))) == data["command"]
