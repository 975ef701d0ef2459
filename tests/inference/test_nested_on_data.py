"""On five sets of real rows: curves are monotone, intervals nested, and the value as filed lies inside."""

import os
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import mmdbounds as mb
from lab.datasets import load_bio, load_forest, load_standin

pytestmark = pytest.mark.data

SHARES = (0.03, 0.05, 0.1, 0.2, 0.3)
LOADERS = {
    "forest": load_forest,
    "bio": load_bio,
    **{name: partial(load_standin, name) for name in ("compas", "diabetes130", "nih_cxr14")},
}
ENOUGH = mb.Sharp(gap=0.02)  # FOREST and BIO are hard to prove


def drawn(name, n_rows=50):
    """Return up to 50 rows of each group, standardised over both."""
    if os.environ.get("MMDBOUNDS_DATA") is None:
        pytest.skip("MMDBOUNDS_DATA does not name the folder with the data")
    data, rng = LOADERS[name](), np.random.default_rng(0)
    X, Y = (
        np.asarray(each, dtype=float)[rng.choice(len(each), min(n_rows, len(each)), replace=False)]
        for each in (data.X, data.Y)
    )
    pooled = np.concatenate([X, Y])
    spread = np.where(pooled.std(axis=0) > 0, pooled.std(axis=0), 1.0)
    pooled = (pooled - pooled.mean(axis=0)) / spread
    return pooled[: len(X)], pooled[len(X) :]


def test_five_data_sets():
    assert len(LOADERS) == 5


@pytest.mark.parametrize("name", LOADERS)
def test_a_curve_is_monotone_and_holds_the_value_as_filed(name):
    X, Y = drawn(name)
    result = mb.sweep(X, Y, epsilons=SHARES, n_permutations=39, rng=0)
    for few, many in pairwise(result.points):
        assert many.lower_certified <= few.lower_certified
        assert many.lower <= few.lower
        assert few.upper <= many.upper
        assert few.upper_certified <= many.upper_certified
        assert few.pvalue <= many.pvalue
    for point in result.points:
        assert point.lower_certified <= point.lower <= result.observed <= point.upper <= point.upper_certified


@pytest.mark.parametrize("name", LOADERS)
def test_intervals_are_nested_and_no_narrower_than_for_the_exact_number(name):
    X, Y = drawn(name)
    every = [mb.mmd_bounds(X, Y, share, method=ENOUGH, rng=0) for share in SHARES]
    for few, many in pairwise(every):
        assert many.interval[0] <= few.lower.value
        assert few.upper.value <= many.interval[1]
    for share, limit in zip(SHARES, every, strict=True):
        exact = mb.mmd_bounds(X, Y, share, exactly=True, method=ENOUGH, rng=0)
        assert limit.interval[0] <= limit.observed <= limit.interval[1]
        assert limit.interval[0] <= exact.lower.value
        assert exact.upper.value <= limit.interval[1]
