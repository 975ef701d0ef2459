"""On real rows: the rates and widths of the coverage study, found again with other draws."""

import os
from pathlib import Path

import numpy as np
import pytest

from mmdbounds.evaluation import evaluate

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def forest():
    folder = os.environ.get("MMDBOUNDS_DATA")
    if folder is None:
        pytest.skip("MMDBOUNDS_DATA does not name the folder with the data")
    with np.load(Path(folder) / "forest_covertype.npz") as data:
        X, y = data["X"], data["y"]
    return X[y == 2], X[y == 1]


@pytest.mark.parametrize(
    ("scale", "epsilon", "rate", "width"),
    [("none", 0.2, 0.0, 0.0962), ("standard", 0.1, 0.62, 0.0201), ("standard", 0.2, 0.385, 0.0279)],
)
def test_rates_of_the_coverage_study(forest, scale, epsilon, rate, width):
    """Its 200 trials have other rows; four standard errors of the difference is hardly ever exceeded."""
    found = evaluate(*forest, epsilon, methods=["s-sd"], sizes=(50, 50), scale=scale, n_trials=60, rng=0)
    spread = np.sqrt((rate * (1 - rate) or 0.01) * (1 / 60 + 1 / 200))
    assert abs(found["s-sd"].false_coverage_rate - rate) < 4 * spread
    error = found["s-sd"].mean_interval_width_error
    assert error is not None
    assert abs(found["s-sd"].mean_interval_width - width) < 4 * error * np.sqrt(1 + 60 / 200)


def test_a_certified_interval_never_misses(forest):
    found = evaluate(*forest, 0.1, methods=["sharp"], sizes=(50, 50), scale="standard", n_trials=8, rng=0)
    assert found["sharp"].n_certified == 8
    assert found["sharp"].n_missed == 0
