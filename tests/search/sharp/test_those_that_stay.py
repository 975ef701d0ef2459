"""More than half moves: bounds by those that stay are as tight as bounds of few movers, and hold."""

import numpy as np
import pytest

import mmdbounds as mb


def groups(p, q, d=5, shift=1.0):
    rng = np.random.default_rng(0)
    return rng.normal(size=(p, d)), rng.normal(shift, 1, size=(q, d))


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize(("p", "q", "m"), [(60, 60, 50), (75, 60, 50)])
def test_where_more_than_half_moves_the_gap_is_small(p, q, m, exactly):
    """75 and 81 % of the width, before those that stay were counted."""
    result = mb.mmd_bounds(*groups(p, q), mb.Contamination(n_moved=m, exactly=exactly), rng=0)
    assert 0 <= result.upper.gap <= 0.03 * result.width


def test_where_nearly_all_rows_of_both_groups_move_the_gap_is_small():
    amount = mb.Contamination(n_moved=50, n_moved_of_x=45, exactly=True)
    result = mb.mmd_bounds(*groups(60, 60), amount, rng=0)
    assert 0 <= result.upper.gap <= 0.03 * result.width


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize(("q", "kernel"), [(200, "rbf"), (40, "rbf"), (40, "precomputed")])
def test_nothing_beyond_what_is_possible_is_said(q, kernel, exactly, estimator):
    """Two means of values from 0 to 1 are added up, two subtracted; 200 rows are too many for 1 MiB."""
    X, Y = groups(5, q, d=2)
    if kernel == "precomputed":
        Z = np.vstack([X, Y])
        X, Y = np.split(np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2)), [5])
    amount = mb.Contamination(n_moved=q - (1 if estimator == "biased" else 2), exactly=exactly)
    method, options = mb.Sharp(n_starts=2), {"kernel": kernel, "estimator": estimator, "working_memory": 1}
    result = mb.mmd_bounds(X, Y, amount, method=method, rng=0, **options)
    assert result.upper.value <= result.upper.certified <= 2 * (1 + 1e-9)
