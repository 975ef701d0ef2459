"""The test of independence: against enumeration, against the test of two groups, and its size."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import binomtest

import mmdbounds as mb
from labelled_problems import admissible_labels, naive_hsic, random_labelled
from mmdbounds.several import size_vectors
from mmdbounds.several.labels import checked_labels, checked_moves
from mmdbounds.several.size_vectors import reachable_sizes
from mmdbounds.sums.bandwidth import canonical_order
from mmdbounds.tables import Group


def sizes_of(labels, n_groups):
    return tuple(int(np.sum(labels == g)) for g in range(n_groups))


@pytest.mark.parametrize("seed", range(20))
def test_reachable_sizes_are_those_of_all_labellings(seed):
    p = random_labelled(200 + seed)
    named = checked_labels(p.labels, Group(np.zeros((len(p.labels), 1))))
    moves, allowed = checked_moves(named, p.n_moved, None, p.transitions, p.exactly)
    every, is_complete = reachable_sizes(named.sizes, allowed, moves)
    wanted = {sizes_of(labels, named.n_groups) for labels in admissible_labels(p)}
    assert is_complete
    assert wanted <= {tuple(each) for each in every.tolist()}
    if min(named.sizes) >= p.n_moved:  # else sizes may be listed that too few rows can reach
        assert len(every) == len(wanted)


@pytest.mark.parametrize("seed", range(5))
def test_pvalue_is_at_least_that_of_every_labelling(seed):
    p = random_labelled(300 + seed)
    n_groups = int(p.labels.max()) + 1
    result = mb.independence_test(p.Z, p.labels, n_permutations=49, **p.arguments)
    assert result.is_valid
    # The same permutations, cut by hand: rows sorted first, so that their order has no part.
    order = canonical_order(p.Z)
    rng = np.random.default_rng(0)
    some = [np.tile(order, (min(16, 49 - start), 1)) for start in range(0, 49, 16)]
    permutations = np.concatenate([rng.permuted(part, axis=1) for part in some])
    nulls = {}
    largest = 0.0
    for labels in admissible_labels(p):
        sizes = sizes_of(labels, n_groups)
        if sizes not in nulls:
            cut = np.repeat(np.arange(n_groups), sizes)
            drawn = [np.empty(len(cut), dtype=int) for _ in permutations]
            for each, permutation in zip(drawn, permutations, strict=True):
                each[permutation] = cut
            nulls[sizes] = np.array([naive_hsic(p.K, each, p.estimator) for each in drawn])
        value = naive_hsic(p.K, labels, p.estimator)
        largest = max(largest, (1 + np.sum(nulls[sizes] >= value - 1e-10)) / 50)
    assert result.pvalue >= largest - 1e-9
    # The floors of few sizes are nearly tight.
    assert result.pvalue <= largest + 0.25


@pytest.mark.parametrize("shift", [0.4, 0.7])
def test_two_groups_and_one_error_are_the_robust_test(shift):
    rng = np.random.default_rng(7)
    X, Y = rng.normal(size=(30, 2)), rng.normal(shift, 1, size=(36, 2))
    test = mb.robust_test(X, Y, mb.Contamination(n_moved=2), rng=0)
    Z, labels = np.concatenate([X, Y]), np.repeat(["x", "y"], [30, 36])
    found = mb.independence_test(Z, labels, n_moved=2, transitions=[("y", "x")], rng=0)
    # Given the sizes HSIC and the squared MMD are the same statistic, and the permutations are the same.
    assert found.pvalue_as_filed == test.pvalue_as_filed
    # Floors stop at 2 % of a standard deviation, and the test of two groups within 5 % of its p-value.
    assert abs(found.pvalue - test.pvalue) <= 0.05 * test.pvalue + 0.02
    assert found.n_sizes == found.n_considered == 3


def test_products_give_the_same_null_as_sums(monkeypatch):
    p = random_labelled(17)
    how = {**p.arguments, "n_moved": 2, "exactly": False, "transitions": None, "n_permutations": 50}
    by_sums = mb.independence_test(p.Z, p.labels, **how)
    monkeypatch.setattr(size_vectors, "at_once", lambda *_: False)
    by_products = mb.independence_test(p.Z, p.labels, **how)
    np.testing.assert_allclose(by_products.null, by_sums.null, rtol=0, atol=1e-12)
    assert by_products.pvalue == by_sums.pvalue


def test_a_grid_of_sizes_is_not_called_valid(monkeypatch):
    p = random_labelled(17)
    how = {**p.arguments, "n_moved": 2, "exactly": False, "transitions": None, "n_permutations": 50}
    monkeypatch.setattr(size_vectors, "MOST_SIZES", 3)
    result = mb.independence_test(p.Z, p.labels, **how)
    assert not result.is_valid
    assert result.n_sizes is None
    assert "of more than 10,000 possible true sizes" in " ".join(result.summary().split())
    assert "Its validity is not guaranteed." in result.summary()


NO_DEPENDENCE = {
    "three groups, any error": ((6, 6, 6), None, False, "normal"),
    "four groups, exactly two in a chain": ((5, 5, 5, 5), [(0, 1), (1, 2), (2, 3)], True, "normal"),
    "two groups of ties": ((9, 9), None, False, "binary"),
}
FEW_AND_MANY = [1, pytest.param(200, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n_trials", FEW_AND_MANY)
@pytest.mark.parametrize("setting", NO_DEPENDENCE)
def test_type_one_error_with_the_labels_that_mislead_most(setting, n_trials):
    """Labels are drawn independently of the rows; then two become those that make the groups differ most."""
    sizes, possible, exactly, kind = NO_DEPENDENCE[setting]
    wrong_ways = None if possible is None else [(true, recorded) for recorded, true in possible]
    how, rejected = {"n_moved": 2, "exactly": exactly, "bandwidth": 1.0}, Counter()
    for seed in range(n_trials):
        rng = np.random.default_rng([seed, sum(sizes)])
        Z = rng.normal(size=(sum(sizes), 1))
        if kind == "binary":
            Z = (rng.random(size=(sum(sizes), 2)) < 0.4).astype(float)
        labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        misleading = mb.hsic_bounds(Z, labels, transitions=wrong_ways, rng=seed, **how).upper
        labels[misleading.rows] = [int(label) for label in misleading.labels]
        test = mb.independence_test(Z, labels, transitions=possible, n_permutations=39, rng=seed, **how)
        assert test.is_valid
        rejected["robust"] += test.pvalue <= 0.05
        rejected["as filed"] += test.pvalue_as_filed <= 0.05
    # Never significantly above the level, in any of the settings together; the labels mislead indeed.
    assert binomtest(rejected["robust"], n_trials, 0.05, alternative="greater").pvalue > 0.01 / 3
    assert rejected["as filed"] >= 0.25 * n_trials or n_trials < 200
