"""Sizes in multiples of what chance makes: the quantile by counting, its link to the p-value, and words."""

import json

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.contamination import Contamination
from tolerances import of_mmd2


def groups(p=25, q=35, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(p, 2)), rng.normal(shift, 1.0, size=(q, 2))


def words(result):
    return " ".join(result.summary().split())


@pytest.mark.parametrize("n_permutations", [19, 39, 99, 100, 118, 119, 199])
def test_as_many_labellings_lie_above_it_as_a_rejection_allows(n_permutations):
    result = mb.robust_test(*groups(), 0.1, n_permutations=n_permutations, rng=0)
    above = sum(value > result.null_quantile for value in result.null)
    assert result.null_quantile in result.null
    assert (1 + above) / (1 + n_permutations) <= 0.05 < (2 + above) / (1 + n_permutations)


@pytest.mark.parametrize("seed", range(12))
def test_more_than_one_is_significant_at_the_level(seed):
    shift = (0.0, 0.4, 0.6, 0.8)[seed % 4]
    result = mb.robust_test(*groups(shift=shift, seed=seed), 0.05, n_permutations=59, rng=seed)
    assert result.in_null_quantiles == result.statistic / result.null_quantile
    assert (result.in_null_quantiles > 1) == (result.pvalue <= 0.05)
    assert result.as_filed_in_null_quantiles == result.observed / result.null_quantile_as_filed
    assert (result.as_filed_in_null_quantiles > 1) == (result.pvalue_as_filed <= 0.05)


def test_each_statistic_has_the_null_of_its_own_sizes():
    X, Y = groups()
    result = mb.robust_test(X, Y, 0.2, n_permutations=59, rng=0)
    filed = mb.robust_test(X, Y, 0.0, n_permutations=59, rng=0)
    near = of_mmd2(len(X) + len(Y), smallest=len(X))  # other sizes beside it, other sums
    assert filed.null_quantile == filed.null_quantile_as_filed
    assert result.null_quantile_as_filed == pytest.approx(filed.null_quantile, rel=0, abs=near)
    assert abs(result.null_quantile - result.null_quantile_as_filed) > near
    curve = mb.sweep(X, Y, epsilons=[0, 0.2], n_permutations=59, rng=0)
    expected = [filed.null_quantile, result.null_quantile]
    assert [point.null_quantile for point in curve.points] == pytest.approx(expected, rel=0, abs=near)
    point = curve.points[1]
    assert point.in_null_quantiles == (
        point.lower_certified / result.null_quantile,
        point.upper_certified / result.null_quantile,
    )


def test_words_say_the_multiples_and_round_proved_ones_down():
    result = mb.robust_test(*groups(), 0.2, n_permutations=99, rng=0)
    said = words(result).split("Squared MMD in multiples of the 95 % quantile of its null: ")[1]
    worst, filed = said.split(" in the worst case, ")
    assert float(worst) <= result.in_null_quantiles < float(worst) * 1.001
    assert float(filed.split()[0]) == pytest.approx(result.as_filed_in_null_quantiles, rel=1e-3)
    assert filed.split()[1:3] == ["as", "filed."]


def test_of_values_below_zero_nothing_is_said():
    X, Y = groups(shift=0.9)
    result = mb.robust_test(X, Y, 0.35, n_permutations=99, rng=0)
    assert result.statistic < 0 < result.observed
    assert result.in_null_quantiles < 0
    assert "of its null: " in words(result)
    assert "in the worst case" not in words(result)
    for seed in range(20):
        same = mb.robust_test(*groups(shift=0.0, seed=seed), 0.0, n_permutations=19, rng=0)
        assert ("quantile of its null" in words(same)) == (same.observed > 0)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_there_is_none_where_no_labelling_differs_from_another(estimator):
    same = np.ones((6, 2))
    result = mb.robust_test(same, same, 0.2, bandwidth=1.0, estimator=estimator, n_permutations=39, rng=0)
    assert result.null_quantile is result.null_quantile_as_filed is None
    assert result.in_null_quantiles is result.as_filed_in_null_quantiles is None
    assert "quantile" not in result.summary()
    curve = mb.sweep(same, same, epsilons=[0.2], bandwidth=1.0, estimator=estimator, n_permutations=39, rng=0)
    assert curve.points[0].null_quantile is curve.points[0].in_null_quantiles is None
    assert "null 95 %:" not in curve.summary()


def test_there_is_none_below_zero():
    """Two rows repel each other: only if they are filed apart, which is rare, is the statistic positive."""
    K = np.eye(152)
    K[0, 1] = K[1, 0] = -1.0
    result = mb.robust_test(K[:2], K[2:], 0.0, kernel="precomputed", n_permutations=199, rng=0)
    assert np.sort(result.null)[-10] < 0 < result.null.max()
    assert result.null_quantile is result.in_null_quantiles is None
    assert "quantile" not in result.summary()


def test_there_is_none_with_so_few_labellings_that_nothing_is_significant():
    assert mb.robust_test(*groups(), 0.1, n_permutations=18, rng=0).null_quantile is None
    assert mb.robust_test(*groups(), 0.1, n_permutations=19, rng=0).null_quantile is not None


def test_the_curve_has_a_column_for_it():
    curve = mb.sweep(*groups(), epsilons=[0, 0.1], n_permutations=59, rng=0)
    lines = curve.summary().splitlines()
    [head] = [line for line in lines if "worst p" in line]
    assert head.split()[-5:] == ["null", "95", "%", "worst", "p"]
    for line, point in zip(lines[lines.index(head) + 1 :], curve.points, strict=False):
        assert float(line.split()[5]) == pytest.approx(point.null_quantile, rel=1e-3)
    assert "null 95 %: without a difference, the squared MMD exceeds it in 5 % of the cases" in words(curve)


def test_results_saved_before_there_was_one_still_load():
    result = mb.robust_test(*groups(), Contamination(n_moved=2), n_permutations=19, rng=0)
    saved = json.loads(result.to_json())
    assert saved["null_quantile"] == result.null_quantile
    for name in ("null_quantile", "null_quantile_as_filed", "units_note"):
        del saved[name]
    old = mb.results.RobustTestResult.from_dict(saved)
    assert old.in_null_quantiles is old.as_filed_in_null_quantiles is None
    assert old.units_note == ""
    assert "quantile" not in old.summary()
    curve = mb.sweep(*groups(), epsilons=[0.1], n_permutations=19, rng=0).to_dict()
    del curve["units_note"], curve["points"][0]["null_quantile"]
    assert mb.results.SweepResult.from_dict(curve).points[0].in_null_quantiles is None
