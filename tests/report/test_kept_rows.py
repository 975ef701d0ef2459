"""The rows kept at each point of a curve: the labellings they name have the values that the curve shows."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.inference.curve import ROWS_KEPT

rng = np.random.default_rng(5)
X, Y = rng.normal(size=(15, 2)), rng.normal(0.7, 1, size=(20, 2))


@pytest.fixture(scope="module")
def curve() -> mb.results.SweepResult:
    return mb.sweep(X, Y, epsilons=[0, 0.1, 0.3, 0.5], n_permutations=19, bandwidth=1.5, rng=0)


def value_of(moved: np.ndarray) -> float:
    return mb.mmd2(np.concatenate([X, Y[moved]]), np.delete(Y, moved, axis=0), bandwidth=1.5)


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_rows_that_move_reach_the_value(side: str, curve: mb.results.SweepResult):
    for point in curve.points[1:]:
        moved = np.array(point.rows["row"])[np.array(point.rows[f"in_{side}"])]
        assert len(moved) == point.n_moved
        np.testing.assert_allclose(value_of(moved), getattr(point, side), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("side", "extreme"), [("lower", min), ("upper", max)])
def test_changes_are_those_of_the_best_exchange(side: str, extreme, curve: mb.results.SweepResult):
    point = curve.points[1]
    rows = np.array(point.rows["row"])
    moved = set(rows[np.array(point.rows[f"in_{side}"])].tolist())
    value = value_of(np.array(sorted(moved)))
    for row, change in zip(rows.tolist(), point.rows[f"{side}_change"], strict=True):
        others = moved if row not in moved else set(range(20)) - moved
        exchanged = [np.array(sorted(moved ^ {row, other})) for other in others]
        best = extreme(value_of(rows) for rows in exchanged)
        np.testing.assert_allclose(change, best - value, rtol=0, atol=1e-12)


def test_few_are_kept_those_to_be_checked_first(curve: mb.results.SweepResult):
    assert curve.points[0].rows == {}
    many = mb.sweep(X, np.concatenate([Y, Y + 0.1, Y + 0.2]), epsilons=[0.2], n_permutations=19, rng=0)
    [point] = many.points
    assert {len(column) for column in point.rows.values()} == {ROWS_KEPT}
    assert np.all(np.diff(np.abs(point.rows["lower_change"])) <= 1e-9)


def test_they_are_kept_in_json(curve: mb.results.SweepResult):
    again = mb.results.SweepResult.from_dict(json.loads(curve.to_json()))
    assert [point.rows for point in again.points] == [point.rows for point in curve.points]
    assert "id" not in curve.points[1].rows  # arrays have no names


def test_all_rows_may_move():
    curve = mb.sweep(X, Y[:4], epsilons=[0.16], n_permutations=19, estimator="biased", rng=0)
    assert curve.points[0].n_moved == 2
    assert len(curve.points[0].rows["row"]) == 4
