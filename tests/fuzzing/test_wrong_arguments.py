"""A fixed slice of the wrong arguments that `make fuzz` tries, and those that once ended badly."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from fuzzing.wrong_arguments import NOT_HERE, RIGHT, X, Y, Z, public_callables, trouble, wrong_calls
from mmdbounds.errors import MmdBoundsError

EVERY = 131  # of some 30,000 calls


def test_everything_public_is_tried():
    assert set(public_callables()) == set(RIGHT)
    assert set(mb.__all__) >= NOT_HERE


@pytest.mark.parametrize("first", range(3))
def test_a_slice_of_wrong_arguments(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # checkpoints are written
    made = [(str(call), trouble(call)) for call in islice(wrong_calls(), first * EVERY // 3, None, EVERY)]
    assert [each for each in made if each[1]] == []


MASKED = np.ma.array([1.0, 2.0], mask=[True, False])
TWO = np.array([0.1, 0.2])
ONCE: dict[str, Callable[[], Any]] = {
    "3-D ids": lambda: mb.Group(Y, ids=np.full((9, 2, 2), "a")),
    "infinite file_rows": lambda: mb.Group(Y, file_rows=[float("inf")] * 9),
    "file_rows below 0": lambda: mb.Group(Y, file_rows=[-1] * 9),
    "may_move that is no mask": lambda: mb.Group(Y, may_move=["no"] * 9),
    "complex values": lambda: mb.Group(1j * Y),
    "a single name for all columns": lambda: mb.Group(Y, columns="ab"),
    "certify": lambda: mb.Sharp(certify=TWO),
    "estimator": lambda: mb.evaluate(X, Y, 0.2, estimator=TWO),
    "bandwidth": lambda: mb.confidence_interval(X, Y, 0.2, bandwidth=MASKED),
    "hidden": lambda: mb.MMDBounds(0.2, hidden=TWO).fit(Z, list("ab") * 8),
    "progress": lambda: mb.audit(X, Y, level=1e-320, progress=TWO),
    "n_found": lambda: mb.Contamination(0.1, n_found=TWO),
    "ragged epsilon": lambda: mb.Contamination([[1, 2], [3]]),
    "odds": lambda: mb.odds_sweep(X, Y, odds=None),
    "n_misfiled": lambda: mb.plan_audit(50, 5, n_misfiled=np.array(0.2)),
    "columns of numbers": lambda: mb.groups(
        {"g": ["a"], "b": [1]}, "g", hidden="a", among="b", columns=np.array(1)
    ),
    "sums that overflow": lambda: mb.column_table(np.full((3, 2), 1e308), Y, 0.2),
}


@pytest.mark.parametrize("name", ONCE)
def test_what_once_ended_badly(name: str):
    with pytest.raises(MmdBoundsError) as caught:
        ONCE[name]()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [np.zeros((4, 4)), "x" * 500, 10**5000], ids=["array", "text", "number"])
def test_what_came_is_shown_in_one_short_line(value: Any):
    with pytest.raises(MmdBoundsError) as caught:
        mb.Contamination(y_in_x=value, x_in_y=0.1)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200
