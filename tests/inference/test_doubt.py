"""The doubts of a classifier: those of a loop over the folds, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import MmdBoundsError

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(30, 3)) * [1, 5, 20] + 100, RNG.normal(1, 1, size=(40, 3)) * [1, 5, 20] + 100


def naive(X: np.ndarray, Y: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """For each fold: scale and fit to the other rows, predict these."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    rows, label = np.concatenate([X, Y]), np.repeat([1, 0], [len(X), len(Y)])
    found = np.full(len(rows), np.nan)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for seen, left_out in folds.split(rows, label):
        centre, spread = rows[seen].mean(axis=0), rows[seen].std(axis=0)
        model = LogisticRegression(class_weight="balanced", max_iter=1000)
        model.fit((rows[seen] - centre) / spread, label[seen])
        found[left_out] = model.predict_proba((rows[left_out] - centre) / spread)[:, 1]
    return np.concatenate([found[len(X) :], 1 - found[: len(X)]])


@pytest.mark.parametrize("n_folds", [2, 5])
def test_doubts_are_those_of_a_loop_over_folds(n_folds: int):
    expected = naive(A, B, n_folds, seed=3)
    # The optimiser of the fits stops at a gradient of 1e-4.
    found = mb.label_doubt(A, B, n_folds=n_folds, two_way=True, rng=3)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)
    np.testing.assert_array_equal(mb.label_doubt(A, B, n_folds=n_folds, rng=3), found[:40])
    assert not np.array_equal(mb.label_doubt(A, B, n_folds=n_folds, rng=4), found[:40])


def test_any_classifier_and_any_table():
    import polars as pl
    from sklearn.neighbors import KNeighborsClassifier

    nearest = KNeighborsClassifier(1)
    X, Y = np.array([[0.0], [0.1], [0.2], [0.3]]), np.array([[5.0], [0.15], [5.1], [5.2], [5.3]])
    assert mb.label_doubt(X, Y, classifier=nearest, n_folds=4, rng=0).tolist() == [0, 1, 0, 0, 0]
    frames = pl.DataFrame({"a": X[:, 0]}), pl.DataFrame({"a": Y[:, 0]})
    assert mb.label_doubt(*frames, classifier=nearest, n_folds=4, rng=0).tolist() == [0, 1, 0, 0, 0]


def test_as_an_order_of_rows():
    bounds = mb.mmd_bounds(A, B, 0.1, rng=0)
    doubts = mb.label_doubt(A, B, rng=0)
    table = bounds.row_table(scores=doubts)
    assert table["row"].tolist() == np.argsort(-doubts, kind="stable").tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_folds": 1}, "`n_folds` must be"),
        ({"n_folds": 31}, "`n_folds` must not exceed the rows of the smaller group, 30; got 31."),
        ({"classifier": object()}, "`classifier` must have `predict_proba`; got object."),
    ],
)
def test_refusals(options: dict[str, Any], message: str):
    with pytest.raises(MmdBoundsError, match=f"^{re.escape(message)}"):
        mb.label_doubt(A, B, **options)
