"""Weights of rows are refused with the reason, and what the documentation says to do instead is valid."""

import inspect

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.checks import check_no_weights
from mmdbounds.errors import MmdBoundsError

REFUSED = (
    r"^`sample_weight` must be None; got {}\. With weights, the sizes of the groups hang on which rows are "
    r"misfiled, so neither bounds nor permutations hold\. Instead keep each row with probability weight / "
    r"largest weight\.$"
)
FUNCTIONS = {
    "robust_test": (mb.robust_test, (0.1,)),
    "aggregated_test": (mb.aggregated_test, (0.1,)),
    "confidence_interval": (mb.confidence_interval, (0.1,)),
    "resampling_interval": (mb.resampling_interval, (0.1,)),
    "mixture_ceiling": (mb.mixture_ceiling, ()),
    "sweep": (mb.sweep, ()),
    "mmd2": (mb.mmd2, ()),
    "mmd_bounds": (mb.mmd_bounds, (0.1,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("weights", "came"), [(np.ones(8), "ndarray"), ([1.0] * 8, "list"), (1, "int")])
def test_they_are_refused_before_any_work(name, weights, came):
    function, arguments = FUNCTIONS[name]
    with pytest.raises(MmdBoundsError, match=REFUSED.format(came)):
        function(None, None, *arguments, sample_weight=weights)  # no groups: nothing is looked at before


@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_them_nothing_changes(name):
    parameter = inspect.signature(FUNCTIONS[name][0]).parameters["sample_weight"]
    assert (parameter.default, parameter.kind) == (None, parameter.KEYWORD_ONLY)
    check_no_weights(None)


def test_thinned_rows_have_the_weighted_distribution_and_no_false_alarm():
    """Of 1 and 0: ones are half of X and 80 % of Y, but half of Y if zeros weigh four times as much."""
    rejected = np.zeros(2)
    for trial in range(60):
        rng = np.random.default_rng([trial, 3])
        X, Y = (rng.random((n, 1)) < rate for n, rate in ((60, 0.5), (150, 0.8)))
        kept = rng.random(150) < np.where(Y[:, 0], 1.0, 4.0) / 4.0
        for place, rows in enumerate((Y, Y[kept])):
            p = mb.robust_test(X, rows, 0.0, bandwidth=1.0, n_permutations=39, rng=trial).pvalue
            rejected[place] += p <= 0.05
    assert rejected[0] > 40
    assert rejected[1] <= 8  # binomial(60, 0.05): 9 or more in one of 400
