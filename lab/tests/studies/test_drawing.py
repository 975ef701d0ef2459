"""True groups from the real data: the right rows, without replacement, standardised as said."""

import os
from pathlib import Path

import numpy as np
import pytest

from lab.studies import drawing
from tolerances import of_a_sum


@pytest.fixture
def data():
    folder = os.environ.get("MMDBOUNDS_DATA")
    if folder is None:
        pytest.skip("MMDBOUNDS_DATA does not name the folder with the data")
    return folder


def rows_of(Z):
    return {tuple(row) for row in np.asarray(Z).tolist()}


def test_standardised_by_the_definition():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(3, 5, size=(4, 2)), rng.normal(size=(6, 2))
    X[:, 1] = Y[:, 1] = 7.0
    A, B = drawing.standardised(X, Y)
    both = np.concatenate([A, B])
    assert (A.shape, B.shape) == (X.shape, Y.shape)
    np.testing.assert_allclose(both.mean(axis=0), 0, rtol=0, atol=of_a_sum(len(both)))
    np.testing.assert_allclose(both.std(axis=0), [1, 0], rtol=0, atol=of_a_sum(len(both)))
    np.testing.assert_allclose(np.diff(A[:, 0]) / np.diff(A[:, 0])[0], np.diff(X[:, 0]) / np.diff(X[:, 0])[0])


@pytest.mark.data
def test_forest(data):
    X, Y = drawing.draw("FOREST raw", data, 100, np.random.default_rng(0))
    assert X.shape == Y.shape == (50, 54)
    with np.load(Path(data) / "forest_covertype.npz") as file:
        Z, y = file["X"], file["y"]
    for group, kind in ((X, 2), (Y, 1)):
        assert len(rows_of(group)) == 50  # no row of FOREST occurs twice
        places = np.flatnonzero(y == kind)
        near = places[np.isin(Z[places, 0], group[:, 0])]
        assert rows_of(group) <= rows_of(Z[near])
    again = drawing.draw("FOREST standardised", data, 100, np.random.default_rng(0))
    for group, expected in zip(again, drawing.standardised(X, Y), strict=True):
        np.testing.assert_array_equal(group, expected)


@pytest.mark.data
def test_chest(data):
    X, Y = drawing.draw("chest X-ray stand-in", data, 100, np.random.default_rng(0))
    assert X.shape == Y.shape == (50, 2)
    with np.load(Path(data) / "mimic_standin_nih_cxr14.npz") as file:
        logits, test, female = file["logits"], file["part"] == 2, file["female"] == 1
    assert (np.count_nonzero(test & female), np.count_nonzero(test & ~female)) == (2154, 2355)
    assert rows_of(X) <= rows_of(logits[test & female].astype(float))
    assert rows_of(Y) <= rows_of(logits[test & ~female].astype(float))


@pytest.mark.data
def test_bio(data):
    first, again = (drawing.draw("BIO", data, 72, np.random.default_rng(seed)) for seed in (0, 1))
    assert [group.shape for group in first] == [(47, 7128), (25, 7128)]
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(np.concatenate(first).std(axis=0), 1, rtol=1e-12)
    with pytest.raises(ValueError, match="BIO has 72 rows"):
        drawing.draw("BIO", data, 100, np.random.default_rng(0))
