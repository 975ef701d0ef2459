"""Rows made ready for products."""

import numpy as np
import pytest

from mmdbounds.sums.points import OF_A_MEAN, tie_error, unit_rows


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_rows_have_length_1_and_rows_of_zeros_stay(size):
    rows = unit_rows(size * np.array([[0.0, 0.0], [3.0, -4.0], [0.0, 2.0]]))
    np.testing.assert_allclose(rows, [[0.0, 0.0], [0.6, -0.8], [0.0, 1.0]], rtol=4 * np.finfo(float).eps)


def test_no_rows_and_no_columns():
    assert unit_rows(np.empty((0, 3))).shape == (0, 3)
    assert unit_rows(np.empty((2, 0))).shape == (2, 0)


def test_ties_widen_with_the_spread():
    unit = float(np.finfo(np.float32).eps) * OF_A_MEAN
    assert [tie_error(spread, "float32") for spread in (0.0, 1.0, 7.0)] == [unit, 2 * unit, 8 * unit]
    assert tie_error(1e6, "float64") > tie_error(0.0, "float64") > 0
