"""On real rows: FOREST (Covertype), Lodgepole Pine against Spruce-Fir."""

import os
from pathlib import Path

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.compiled import numba_is_there
from tolerances import of_mmd2

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def forest():
    """10,000 rows of each kind, standardised over the pooled rows."""
    folder = os.environ.get("MMDBOUNDS_DATA")
    if folder is None:
        pytest.skip("MMDBOUNDS_DATA does not name the folder with the data")
    with np.load(Path(folder) / "forest_covertype.npz") as data:
        X, y = data["X"], data["y"]
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.choice(np.flatnonzero(y == kind), 10_000, replace=False) for kind in (2, 1)])
    Z = X[rows].astype(np.float64)
    spread = Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return Z[:10_000], Z[10_000:]


def test_float32_is_good_to_seven_digits(forest):
    double, single = (mb.mmd2(*forest, dtype=dtype) for dtype in ("float64", "float32"))
    assert double != single
    np.testing.assert_allclose(single, double, rtol=0, atol=1e-7)


def test_kept_matrix_and_blocks_move_the_same_rows(forest, monkeypatch):
    X, Y = (group[:1000] for group in forest)
    kept = mb.mmd_bounds(X, Y, 0.2)
    monkeypatch.setattr("mmdbounds.sums.plan.SMALL_ROWS", 10)
    blocks = mb.mmd_bounds(X, Y, 0.2)
    assert (kept.provenance.backend, blocks.provenance.backend) == (
        "matrix",
        "numba" if numba_is_there() else "numpy",
    )
    assert kept.upper.rows.tolist() == blocks.upper.rows.tolist()
    assert kept.lower.rows.tolist() == blocks.lower.rows.tolist()
    rounding = of_mmd2(2000, columns=54, spread=1000.0)
    for side in ("lower", "upper"):
        one, other = getattr(kept, side), getattr(blocks, side)
        np.testing.assert_allclose(one.value, other.value, rtol=0, atol=rounding)
        # A proof ends when its gap is small enough, a step sooner or later as values are rounded.
        width = kept.upper.value - kept.lower.value
        np.testing.assert_allclose(one.certified, other.certified, rtol=0, atol=0.03 * width + rounding)


def test_more_steps_find_wider_bounds(forest):
    X, Y = (group[:1000] for group in forest)
    one, ten = (mb.mmd_bounds(X, Y, 0.2, method=mb.StepwiseDominance(n_steps=s)) for s in (1, 10))
    assert ten.lower.value < one.lower.value
    assert ten.upper.value > one.upper.value
