"""Rows made ready for products."""

import numpy as np

from mmdbounds.sums.points import OF_A_MEAN, tie_error


def test_ties_widen_with_the_spread():
    unit = float(np.finfo(np.float32).eps) * OF_A_MEAN
    assert [tie_error(spread, "float32") for spread in (0.0, 1.0, 7.0)] == [unit, 2 * unit, 8 * unit]
    assert tie_error(1e6, "float64") > tie_error(0.0, "float64") > 0
