"""Several kernels at once: the naive loop, one kernel alone, type-I error, and what is refused."""

import dataclasses
import itertools
import json
from functools import partial

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.several_kernels import N_SCALING, STREAM
from mmdbounds.inference.worst_case import NEARLY, WorstCase
from mmdbounds.report.record import recipe
from mmdbounds.results import RobustTestResult
from mmdbounds.sums.bandwidth import canonical_order
from notebooks import page_of
from problems import all_labellings, naive_values
from tolerances import of_mmd2

pytestmark = pytest.mark.usefixtures("drawn")

TIED = 1e-12
ROUNDING = 1e-9
KERNELS = (mb.kernels.RBF(0.5), mb.kernels.RBF(2.0), mb.kernels.Laplacian(1.5))


def drawn(seed, p=9, q=10, shift=1.0, d=2):
    rng = np.random.default_rng([seed, 31])
    return rng.normal(size=(p, d)), rng.normal(shift, 1, size=(q, d))


def matrix(kernel, Z):
    gaps = Z[:, None] - Z[None]
    if kernel.name == "laplacian":
        return np.exp(-np.abs(gaps).sum(axis=2) / kernel.bandwidth)
    return np.exp(-(gaps**2).sum(axis=2) / (2 * kernel.bandwidth**2))


def naive_null(K, Z, n_x, n_permutations, seed, estimator):
    """The statistic on permutations of the rows in their own order, whose first n_x are X."""
    rng, order = np.random.default_rng(seed), canonical_order(Z)
    marks = np.zeros((n_permutations, len(Z)))
    for labels in marks:
        labels[order[rng.permutation(len(Z))][:n_x]] = 1.0
    return naive_values(K, marks, estimator)


def naive_pvalues(X, Y, every_count, kernels, seed, n_permutations, estimator="unbiased"):
    """The largest p-values over counts: of the least maximum over kernels, and of the largest least value."""
    Z, p, q = np.concatenate([X, Y]), len(X), len(Y)
    largest = np.zeros(2)
    for m, m_d in every_count:
        counts, sizes, every = Counts(m, m_d, p + m - m_d, q - m + m_d), [], []
        for kernel in kernels:
            K = matrix(kernel, Z)
            others = naive_null(K, Z, counts.n_x, N_SCALING, [seed, STREAM], estimator)
            null = naive_null(K, Z, counts.n_x, n_permutations, seed, estimator)
            values = naive_values(K, all_labellings(p, q, counts), estimator) - TIED
            sizes.append((null - others.mean()) / others.std())
            every.append((values - others.mean()) / others.std())
        for which, floor in enumerate([np.max(every, axis=0).min(), np.min(every, axis=1).max()]):
            count = np.count_nonzero(np.max(sizes, axis=0) >= floor)
            largest[which] = max(largest[which], (1 + count) / (1 + n_permutations))
    return largest


def check_pvalue(result, naive):
    """No less than that of the worst labelling, nor more than what the kernels prove each by itself."""
    attained, separate = naive
    assert attained <= result.pvalue <= separate / (1 - NEARLY) + ROUNDING
    assert result.is_valid


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_the_pvalue_is_that_of_a_naive_loop(seed, estimator):
    X, Y = drawn(seed, shift=(0.5, 1.0, 2.0)[seed % 3])
    amount = mb.Contamination(n_moved=3)
    options = {"kernel": KERNELS, "n_permutations": 39, "estimator": estimator, "rng": seed}
    result = mb.robust_test(X, Y, amount, **options)
    check_pvalue(result, naive_pvalues(X, Y, [(m, 0) for m in range(4)], KERNELS, seed, 39, estimator))
    exact = mb.robust_test(X, Y, amount, exactly=True, **options)
    check_pvalue(exact, naive_pvalues(X, Y, [(3, 0)], KERNELS, seed, 39, estimator))
    assert exact.pvalue <= result.pvalue


def test_combinations_of_kernels_prove_more_than_each_by_itself():
    """Where the labellings that are small for one kernel are not for another."""
    gaps = []
    for seed in range(8):
        X, Y = drawn(seed, shift=0.8)
        amount = mb.Contamination(n_moved=3, exactly=True)
        result = mb.robust_test(X, Y, amount, kernel=KERNELS, n_permutations=199, rng=seed)
        attained, separate = naive_pvalues(X, Y, [(3, 0)], KERNELS, seed, 199)
        check_pvalue(result, (attained, separate))
        gaps.append([separate - attained, result.pvalue - attained])
    separate, joint = np.sum(gaps, axis=0)
    assert separate > 0.2
    assert joint < separate / 2


@pytest.mark.parametrize("seed", range(4))
def test_ties_count_against_a_rejection(seed):
    """Binary data: few values of the statistic, each taken by many labellings."""
    rng = np.random.default_rng([seed, 9])
    X, Y = ((rng.random(size=(9, 2)) < rate).astype(float) for rate in (0.2, 0.7))
    kernels = (mb.kernels.RBF(1.0), mb.kernels.Laplacian(1.0))
    for m in (0, 2):
        amount = mb.Contamination(n_moved=m)
        options = {"kernel": kernels, "n_permutations": 199, "rng": seed}
        result = mb.robust_test(X, Y, amount, exactly=True, **options)
        naive = naive_pvalues(X, Y, [(m, 0)], kernels, seed, 199)
        check_pvalue(result, naive)
        assert m or result.pvalue == naive[0]


def test_two_ways_by_a_naive_loop():
    X, Y = drawn(3, p=10, q=10, shift=3.0)
    amount = mb.Contamination(n_moved=2, n_moved_of_x=1)
    result = mb.robust_test(X, Y, amount, kernel=KERNELS, n_permutations=39, rng=5)
    naive = naive_pvalues(X, Y, itertools.product(range(3), range(2)), KERNELS, 5, 39)
    check_pvalue(result, naive)
    assert naive[0] < 0.3


@pytest.mark.parametrize("seed", range(4))
def test_one_kernel_alone_is_the_test_with_that_kernel(seed):
    X, Y = drawn(seed, p=25, q=30, shift=0.9)
    for options in (
        {"epsilon": 0.1},
        {"epsilon": 0.1, "exactly": True},
        {"epsilon": 0.15, "estimator": "biased"},
        {"epsilon": mb.Contamination(n_moved=2, n_moved_of_x=2)},
        {"epsilon": 0.1, "beta": 0.01},
        {"epsilon": 0.1, "level": 0.1},
    ):
        shared = {"n_permutations": 199, "rng": seed, **options}
        several = mb.robust_test(X, Y, kernel=["rbf"], **shared)
        alone = mb.robust_test(X, Y, **shared)
        assert (several.pvalue, several.pvalue_as_filed) == (alone.pvalue, alone.pvalue_as_filed)
        assert (several.is_valid, several.is_tight) == (alone.is_valid, alone.is_tight)
        assert (several.is_significant, several.level) == (alone.is_significant, alone.level)
        assert several.n_labellings == alone.n_labellings
        assert several.n_moved == alone.n_moved
        [part] = several.parts
        # A range of counts proves it by other sums.
        assert part.certified == pytest.approx(alone.statistic, rel=0, abs=of_mmd2(55))
        assert part.bandwidth == alone.provenance.bandwidth
        np.testing.assert_allclose(several.null * part.spread + part.centre, alone.null, rtol=0, atol=1e-12)


def test_the_level_is_decided_about_or_said_not_to_be():
    """The labelling that is small for one kernel is not for the other: a proof for each leaves a gap."""
    X, Y = drawn(2, p=12, q=14, shift=1.0)
    ask = partial(mb.robust_test, X, Y, mb.Contamination(n_moved=3), kernel=KERNELS, rng=0)
    found = ask(n_permutations=199, level=0.9)
    attained = max(count.attained for count in found.counts)
    assert attained < found.pvalue < 0.9
    for level, decision in ((0.9, True), (found.pvalue, True), (attained, None), (attained / 2, False)):
        result = ask(n_permutations=199, level=level)
        assert (result.pvalue, result.is_significant) == (found.pvalue, decision)
        assert ("this is undecided" in result.summary()) == (decision is None)


def test_what_is_tight_enough_for_a_pvalue_is_made_tighter_for_a_decision(monkeypatch):
    X, Y = drawn(9, p=12, q=14)
    ask = partial(mb.robust_test, X, Y, mb.Contamination(n_moved=3), kernel=["rbf"])
    attained = max(count.attained for count in ask(n_permutations=199, rng=0).counts)
    tight = ask(n_permutations=199, rng=0, level=attained)
    assert tight.pvalue == attained
    below = np.sort(tight.null[tight.null < tight.statistic])[-3]
    cheap = (tight.statistic - below) * tight.parts[0].spread  # by so much, three labellings more count
    searched = WorstCase._search

    def poor(self, counts, side, n_starts, slack, patience):
        found = searched(self, counts, side, n_starts, slack, patience)
        return dataclasses.replace(found, certified=found.certified - cheap) if slack else found

    monkeypatch.setattr(WorstCase, "_search", poor)
    loose, decided = (ask(n_permutations=199, rng=0, level=level) for level in (0.9, tight.pvalue))
    assert tight.pvalue < loose.pvalue <= tight.pvalue / (1 - NEARLY)
    assert (decided.pvalue, decided.is_significant) == (tight.pvalue, True)


def test_repeating_a_kernel_changes_nothing():
    X, Y = drawn(1, p=25, q=30)
    once, twice = (
        mb.robust_test(X, Y, 0.1, bandwidth=[1.0] * n, n_permutations=99, rng=1).pvalue for n in (1, 2)
    )
    assert once == twice


def test_means_and_deviations_come_from_other_permutations():
    X, Y = drawn(2)
    result = mb.robust_test(X, Y, 0.2, exactly=True, kernel=KERNELS, n_permutations=39, rng=2)
    Z, n_x = np.concatenate([X, Y]), len(X) + result.n_moved
    for part, kernel in zip(result.parts, KERNELS, strict=True):
        others = naive_null(matrix(kernel, Z), Z, n_x, N_SCALING, [2, STREAM], "unbiased")
        np.testing.assert_allclose((part.centre, part.spread), (others.mean(), others.std()), rtol=ROUNDING)
        assert part.certified <= part.lower
        assert part.standardised == pytest.approx((part.certified - part.centre) / part.spread, rel=ROUNDING)
    assert result.decisive is max(result.parts, key=lambda part: part.standardised)
    assert result.statistic >= result.decisive.standardised - 1e-6


def test_neither_the_order_of_the_rows_nor_of_the_kernels_matters():
    X, Y = drawn(4, p=20, q=25)
    rng = np.random.default_rng(0)
    first = mb.robust_test(X, Y, 0.1, kernel=KERNELS, n_permutations=99, rng=3)
    again = mb.robust_test(
        rng.permutation(X), rng.permutation(Y), 0.1, kernel=KERNELS[::-1], n_permutations=99, rng=3
    )
    assert first.pvalue == again.pvalue
    assert first.pvalue_as_filed == again.pvalue_as_filed


def test_the_result_names_the_bandwidths():
    X, Y = drawn(0, p=30, q=30, shift=1.5)
    result = mb.robust_test(X, Y, 0.05, bandwidth=[0.8, "median"], n_permutations=99, rng=0)
    median = mb.robust_test(X, Y, 0.0, n_permutations=1, rng=0).provenance.bandwidth
    assert [part.bandwidth for part in result.parts] == [0.8, median]
    named = result.provenance.options["kernels"]
    assert [one["bandwidth"] for one in named] == [part.bandwidth for part in result.parts]
    assert (result.provenance.kernel, result.provenance.bandwidth) == ("rbf", None)
    assert result.pvalue == 0.01


@pytest.mark.parametrize(
    ("m", "n_trials", "most"), [(0, 200, 20), pytest.param(2, 80, 10, marks=pytest.mark.slow)]
)
def test_type_one_error(m, n_trials, most):
    """No difference; the lowest m rows are misfiled. More rejections than `most`: one in 500 by chance."""
    n, rejected, as_filed = 14, 0, 0
    for trial in range(n_trials):
        rng = np.random.default_rng([trial, 77])
        X, Y = rng.normal(size=(n, 1)), rng.normal(size=(n, 1))
        X = X[np.argsort(X[:, 0])]
        X, Y = X[m:], np.concatenate([Y, X[:m]])
        result = mb.robust_test(
            X,
            Y,
            mb.Contamination(n_moved=m),
            bandwidth=[0.25, 1.0, 4.0],
            exactly=True,
            n_permutations=19,
            rng=trial,
        )
        rejected += result.pvalue <= 0.05
        as_filed += result.pvalue_as_filed <= 0.05
    assert rejected <= most
    if m:
        assert as_filed > rejected
    else:
        assert as_filed == rejected >= 2  # 1 or none in one of 2,000: the test is not just careful


def test_a_difference_that_one_bandwidth_does_not_see():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(80, 1))
    Y = np.round(rng.uniform(0, 1, size=(80, 1)) * 8) / 8 + rng.normal(0, 0.005, size=(80, 1))
    shared = {"epsilon": 0.02, "n_permutations": 199, "rng": 0}
    assert mb.robust_test(X, Y, **shared).pvalue > 0.1
    result = mb.robust_test(X, Y, bandwidth=["median", 0.02], **shared)
    assert result.pvalue <= 0.05
    assert result.decisive.bandwidth == 0.02


def test_a_constant_kernel_says_nothing():
    X, Y = drawn(0, p=20, q=20, shift=2.0)
    shared = {"epsilon": 0.05, "n_permutations": 99, "rng": 0}
    alone = mb.robust_test(X, Y, bandwidth=[1e50], **shared)
    assert (alone.pvalue, alone.pvalue_as_filed, alone.is_valid) == (1.0, 1.0, True)
    json.loads(alone.to_json())
    assert mb.robust_test(X, Y, bandwidth=[1e50, 1.0], **shared).pvalue == 0.01


def test_a_kernel_without_proof_is_left_out_of_the_floor(monkeypatch):
    X, Y = drawn(1, p=20, q=20, shift=1.2)
    shared = {"epsilon": 0.1, "n_permutations": 99, "rng": 0}
    original, unproved = WorstCase.outcome, []

    def outcome(self, counts, **options):
        known = original(self, counts, **options)
        if self._problem.kernel.length not in unproved:
            return known
        return dataclasses.replace(known, found=dataclasses.replace(known.found, certified=None))

    monkeypatch.setattr(WorstCase, "outcome", outcome)
    both = mb.robust_test(X, Y, bandwidth=[0.7, 3.0], **shared)
    unproved.append(3.0)
    one = mb.robust_test(X, Y, bandwidth=[0.7, 3.0], **shared)
    assert both.is_valid
    assert one.is_valid
    assert one.pvalue >= both.pvalue
    assert both.decisive is both.parts[1]
    assert one.decisive is one.parts[0]
    assert one.statistic == pytest.approx(one.parts[0].standardised, rel=1e-6)
    assert one.parts[1].standardised is one.parts[1].certified is None
    assert "not proved" in one.summary()
    unproved.append(0.7)
    none = mb.robust_test(X, Y, bandwidth=[0.7, 3.0], **shared)
    assert not none.is_valid
    assert none.decisive is None
    assert "Its validity is not guaranteed." in " ".join(none.summary().split())
    assert "validity not guaranteed" in repr(none)


def test_the_result_is_plain_data_and_back():
    X, Y = drawn(0, p=15, q=15)
    result = mb.robust_test(
        X, Y, 0.1, kernel=["rbf", mb.kernels.Polynomial(2), "linear"], n_permutations=19, rng=0
    )
    again = RobustTestResult.from_dict(json.loads(result.to_json()))
    assert again.to_dict() == result.to_dict()
    assert isinstance(again.parts, tuple)
    with pytest.raises(ValueError, match="read-only"):
        again.null[0] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError, match="pvalue"):
        result.pvalue = 0.0
    assert "\n" not in repr(result)
    assert result.provenance.kernel == "several"
    assert result.provenance.options["kernels"][1]["degree"] == 2
    assert page_of(result).tables
    assert max(map(len, result.summary().splitlines())) <= 100
    assert "over 3 kernels together, is at most 0.05 (proved)" in " ".join(result.summary().split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"kernel": ["rbf", "laplacian"], "bandwidth": [1.0, 2.0]},
            r"`kernel` must be a single one beside several bandwidths; got two lists\.",
        ),
        ({"kernel": []}, r"`kernel` must name at least one; got an empty list\."),
        ({"bandwidth": ()}, r"`bandwidth` must name at least one; got an empty list\."),
        ({"bandwidth": [1.0, -2.0]}, r"`bandwidth` must be a positive finite number; got -2\.0\."),
        (
            {"bandwidth": ["mean"]},
            r"`bandwidth` must be 'median', a multiple .*; got 'mean'\.",
        ),
        ({"kernel": ["rbf", "rbff"]}, r"got 'rbff'\. Did you mean 'rbf'\?"),
        ({"kernel": ["precomputed"]}, r"`kernel` must be computed from the rows.*; got 'precomputed'\."),
        ({"level": 0}, r"`level` must be larger than 0"),
        ({"n_permutations": 0}, r"`n_permutations` must be a whole number from 1; got 0\."),
        ({"beta": 2}, r"`beta` must be in \[0, 1\); got 2\."),
        ({"exactly": 1}, r"`exactly` must be True or False; got 1\."),
        ({"rng": -1}, r"`rng` must be a whole number from 0"),
        ({"epsilon": 20}, r"`epsilon` must be in \[0, 1\); got 20\. Did you mean 0\.2\?"),
        ({"epsilon": mb.Contamination(n_moved=9)}, r"the true `Y` would have 1 row"),
    ],
)
def test_refusals(options, message):
    X, Y = drawn(0)
    with pytest.raises(MmdBoundsError, match=message):
        mb.robust_test(X, Y, **{"epsilon": 0.1, "rng": 0, "n_permutations": 9, **options})


@pytest.mark.parametrize("options", [{"kernel": ["rbf", "linear"]}, {"bandwidth": [1.0, 2.0]}])
def test_a_list_is_refused_elsewhere(options):
    X, Y = drawn(0)
    for function in (partial(mb.mmd_bounds, epsilon=0.1), mb.sweep, mb.audit):
        with pytest.raises(MmdBoundsError, match="must be a single one here; got a list"):
            function(X, Y, **options)


def test_a_page_and_its_recipe(tmp_path):
    X, Y = drawn(0, p=15, q=15)
    result = mb.robust_test(X, Y, 0.1, bandwidth=[0.5, 1.0], n_permutations=19, rng=0)
    assert "kernel=[mb.kernels.RBF(bandwidth=0.5), mb.kernels.RBF(bandwidth=1.0)]" in recipe(result)
    mb.write_report([result], tmp_path / "page.html")
    assert "the largest standardised squared MMD" in (tmp_path / "page.html").read_text("utf-8")
