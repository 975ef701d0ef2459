"""The short programs of `lab/benchmarks/small.py` compute what the package computes."""

from __future__ import annotations

import numpy as np
import pytest

import mmdbounds as mb
from lab.benchmarks import small
from tolerances import of_mmd2

ROWS, COLUMNS = 90, 3


def programs():
    return [small.WithNumpy(), small.WithTorch()]


@pytest.mark.full
@pytest.mark.programs
def test_the_same_squared_mmd():
    X, Y = small.two_groups(ROWS, COLUMNS)
    for tools in programs():
        # PyTorch takes the square of a root of a distance.
        near = 100 * of_mmd2(ROWS, columns=COLUMNS)
        np.testing.assert_allclose(
            small.mmd2(tools, X, Y, 2.0), mb.mmd2(X, Y, bandwidth=2.0), rtol=0, atol=near
        )
    median = small.mmd2(small.WithNumpy(), X, Y, None)
    np.testing.assert_allclose(median, mb.mmd2(X, Y), rtol=0, atol=of_mmd2(ROWS, columns=COLUMNS))


@pytest.mark.full
@pytest.mark.programs
def test_the_same_stepwise_bounds_and_nearly_the_same_pvalues():
    X, Y = small.two_groups(ROWS, COLUMNS)
    ours = mb.mmd_bounds(X, Y, 2 * small.SHARE, method="s-sd", bandwidth=2.0)
    tested = mb.robust_test(X, Y, 0.0, bandwidth=2.0, rng=0)
    for tools in programs():
        found = small.peer("s-sd", tools)(X, Y, 2.0)
        np.testing.assert_allclose(found, [ours.lower.value, ours.upper.value], rtol=0, atol=1e-9)
        pvalue = small.peer("robust_test, epsilon 0", tools)(X, Y, 2.0)
        assert abs(pvalue - tested.pvalue) < 0.08  # five standard errors of the difference, at the most
