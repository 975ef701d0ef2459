"""Bounds on HSIC against every labelling, their laws, and the proofs without a matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmdbounds as mb
from labelled_problems import LabelledProblem, admissible_labels, naive_hsic, random_labelled
from mmdbounds.progress import Meter
from mmdbounds.results import HsicResult
from mmdbounds.several import label_proofs, measure
from mmdbounds.several.dependence import Arrangement
from tolerances import of_a_mean

WITHIN = 40 * of_a_mean(12)
MARGIN = 1e-9  # certificates of a dozen rows with kernel values up to 1 are widened by far less than this


def check_against_enumeration(p, result, *, is_tight=True):
    values = [naive_hsic(p.K, labels, p.estimator) for labels in admissible_labels(p)]
    low, high = min(values), max(values)
    assert result.lower.certified <= low + WITHIN
    assert result.upper.certified >= high - WITHIN
    for bound, extreme in ((result.lower, low), (result.upper, high)):
        labels = p.labels.copy()
        labels[bound.rows] = [int(label) for label in bound.labels]
        np.testing.assert_allclose(bound.value, naive_hsic(p.K, labels, p.estimator), rtol=0, atol=WITHIN)
        assert (labels != p.labels).sum() == bound.n_moved <= p.n_moved
        assert bound.n_moved == p.n_moved or not p.exactly
        if is_tight:
            np.testing.assert_allclose(bound.value, extreme, rtol=0, atol=WITHIN)
            np.testing.assert_allclose(bound.certified, extreme, rtol=0, atol=MARGIN)


@pytest.mark.parametrize("seed", range(40))
def test_small_problems_are_exact(seed):
    p = random_labelled(seed)
    check_against_enumeration(p, mb.hsic_bounds(p.Z, p.labels, **p.arguments))


@pytest.mark.slow
def test_a_thousand_small_problems_are_exact():
    for seed in range(1000):
        p = random_labelled(10_000 + seed)
        check_against_enumeration(p, mb.hsic_bounds(p.Z, p.labels, **p.arguments))


def pieces(p):
    """Return the function of the labels, what may change, and labels that no search has improved."""
    options = {"bandwidth": p.bandwidth, "estimator": p.estimator}
    problem, named, _ = measure.posed(p.Z, p.labels, measure.comparison("hsic", options))
    of = measure.dependence(problem, named, Meter())
    moves, _ = measure.checked_moves(named, p.n_moved, None, p.transitions, p.exactly)
    worst = next(iter(admissible_labels(p)))
    rows = np.flatnonzero(worst != p.labels)
    return of, moves, Arrangement.of_moves(of, rows, worst[rows])


# A search that finds the extreme would hide a proof that is wrong: here proofs stand alone.
@pytest.mark.parametrize("seed", range(30))
def test_proofs_alone_hold(seed, monkeypatch):
    monkeypatch.setattr(label_proofs, "refine", lambda found, *_: found)
    p = random_labelled(100 + seed)
    if not p.n_moved:
        return
    of, moves, start = pieces(p)
    tilt = np.random.default_rng(seed).normal(size=of.n_groups) * 0.01 * (seed % 3)
    every = list(admissible_labels(p))
    values = np.array([naive_hsic(p.K, labels, p.estimator) for labels in every])
    tilted = values + [tilt[labels].sum() for labels in every]
    for patience in (1e-9, 1.0):
        for side, extreme, out in (("lower", tilted.min(), -1), ("upper", tilted.max(), 1)):
            candidates = label_proofs.Candidates.make(of, moves, side, tilt)
            bound, *_ = label_proofs.branched(candidates, side, start, 1e-12, Meter(), patience)
            assert out * (bound - extreme) >= -WITHIN
            if patience == 1.0:
                np.testing.assert_allclose(bound, extreme, rtol=0, atol=MARGIN)
    assert label_proofs.by_norms(of, moves) >= values.max() - WITHIN
    assert label_proofs.by_partners(of, moves) >= values.max() - WITHIN
    if p.n_moved == 1:  # without partners it is exact
        np.testing.assert_allclose(label_proofs.by_partners(of, moves), values.max(), rtol=0, atol=WITHIN)
    floor, _ = label_proofs.by_steps(of, moves, start, np.inf)
    assert floor <= values.min() + WITHIN


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("seed", range(5))
def test_the_first_floor_by_steps_is_the_tangent_at_the_labels(seed, estimator):
    """HSIC plus its slope times the change, least over all labellings; pairs are centred by hand."""
    p = replace(random_labelled(130 + seed), estimator=estimator, n_moved=2)
    of, moves, start = pieces(p)
    n, K = len(p.Z), p.K - np.eye(len(p.Z)) * (estimator == "unbiased")
    rows = K.sum(axis=1)
    a = rows / n - K.sum() / (2 * n**2)
    if estimator == "unbiased":
        a = rows / (n - 2) - K.sum() / (2 * (n - 1) * (n - 2))
    M, w = p.K - a[:, None] - a, 1 / n**2 if estimator == "biased" else 1 / (n * (n - 3))
    one_hot = np.eye(of.n_groups)
    slope = 2 * w * (M + of.relief * np.eye(n)) @ one_hot[start.codes]
    change = min((slope * (one_hot[labels] - one_hot[start.codes])).sum() for labels in admissible_labels(p))
    floor, _ = label_proofs.by_steps(of, moves, start, -np.inf)
    wanted = naive_hsic(p.K, start.codes, estimator) + change
    np.testing.assert_allclose(floor, wanted, rtol=0, atol=2 * WITHIN)
    assert (of.relief > 0) == (estimator == "unbiased")


@pytest.mark.parametrize("seed", range(10))
def test_without_a_matrix(seed, monkeypatch):
    monkeypatch.setattr(measure, "is_dense", lambda *_: False)
    p = random_labelled(100 + seed)
    check_against_enumeration(p, mb.hsic_bounds(p.Z, p.labels, **p.arguments), is_tight=False)


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), m=st.integers(0, 3))
def test_more_wrong_labels_widen_the_interval(seed, m):
    p = replace(random_labelled(seed), n_moved=m, exactly=False, transitions=None)
    less = mb.hsic_bounds(p.Z, p.labels, **p.arguments)
    more = mb.hsic_bounds(p.Z, p.labels, **{**p.arguments, "n_moved": m + 1})
    # Branch and bound stops within the margin for rounding.
    assert more.lower.value <= less.lower.value + MARGIN
    assert more.upper.value >= less.upper.value - MARGIN
    assert less.lower.certified <= less.observed <= less.upper.certified
    if m == 0:
        assert less.lower.value == less.observed == less.upper.value


def test_two_groups_with_one_error_are_the_bounds_of_mmd():
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(12, 2)), rng.normal(1, 1, size=(15, 2))
    sizes = 12 + 3, 15 - 3, 27
    of_mmd = mb.mmd_bounds(X, Y, mb.Contamination(n_moved=3), exactly=True, method=mb.Sharp(gap=0), rng=0)
    labels = np.repeat(["x", "y"], [12, 15])
    how = {"n_moved": 3, "exactly": True, "transitions": [("y", "x")], "rng": 0}
    found = mb.hsic_bounds(np.concatenate([X, Y]), labels, **how)
    p, q, n = sizes
    factor = 2 * p * (p - 1) * q * (q - 1) / (n * (n - 1) * (n - 2) * (n - 3))
    for side in ("lower", "upper"):
        bound, wanted = getattr(found, side), getattr(of_mmd, side)
        np.testing.assert_allclose(bound.value, factor * wanted.value, rtol=0, atol=1e-12)
        assert set(bound.labels) == {"x"}


def test_proofs_through_sums_of_400_rows(monkeypatch):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 400)
    Z = rng.normal(size=(400, 2)) + 0.5 * labels[:, None]
    how = {"epsilon": 0.05, "rng": 0, "transitions": [(0, 1), (1, 2)]}
    dense = mb.hsic_bounds(Z, labels, **how)
    monkeypatch.setattr(measure, "is_dense", lambda *_: False)
    found = mb.hsic_bounds(Z, labels, **how)
    assert found.n_moved == 20
    assert found.lower.certified <= dense.lower.value
    assert dense.upper.value <= found.upper.certified
    assert found.lower.gap <= 0.05 * dense.width
    assert dense.lower.gap <= 0.01 * dense.width
    assert dense.upper.gap <= 0.01 * dense.width


def test_a_kernel_that_is_not_definite_is_still_proved():
    rng = np.random.default_rng(4)
    p = replace(random_labelled(8), estimator="biased", n_moved=2, exactly=False, transitions=None)
    noise = rng.normal(size=p.K.shape)
    K = p.K - 0.4 * np.eye(len(p.Z)) + 0.01 * (noise + noise.T)
    how = {**p.arguments, "kernel": "precomputed", "bandwidth": "median"}
    result = mb.hsic_bounds(K, p.labels, **how)
    values = [naive_hsic(K, labels, "biased") for labels in admissible_labels(p)]
    np.testing.assert_allclose(result.interval, (min(values), max(values)), rtol=0, atol=MARGIN)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_energy_distance_is_bounded_too(estimator):
    p = replace(random_labelled(12), n_moved=2, exactly=False, transitions=None)
    K = -np.sqrt(((p.Z[:, None, :] - p.Z[None, :, :]) ** 2).sum(axis=2))
    result = mb.hsic_bounds(p.Z, p.labels, n_moved=2, kernel="energy", estimator=estimator, rng=0)
    values = [naive_hsic(K, labels, estimator) for labels in admissible_labels(p)]
    np.testing.assert_allclose(result.interval, (min(values), max(values)), rtol=0, atol=MARGIN)


def test_what_is_not_proved_is_not_called_proved(monkeypatch):
    monkeypatch.setattr(measure, "is_dense", lambda *_: False)
    p = replace(random_labelled(8), n_moved=2)
    how = {**p.arguments, "kernel": lambda A, B: A @ B.T, "bandwidth": "median"}
    result = mb.hsic_bounds(p.Z, p.labels, **how)
    assert result.lower.certified is None
    assert not result.is_certified
    assert result.interval == (result.lower.value, result.upper.value)
    assert "not proved: the smallest value (too many rows" in " ".join(result.summary().split())


def test_ceiling_by_norms_is_reached_by_rows_that_are_alike():
    # All rows that may move are alike, so their norms add up: the bound is exact.
    Z = np.concatenate([np.zeros((4, 1)), np.full((5, 1), 3.0)])
    labels = np.repeat([0, 1], [4, 5])
    of, moves, _ = pieces(LabelledProblem(Z, labels, 2, [(1, 0)], True, "biased", 1.0))
    moved = Arrangement.of_moves(of, np.array([4, 5]), np.array([0, 0]))
    np.testing.assert_allclose(label_proofs.by_norms(of, moves), moved.value(), rtol=0, atol=WITHIN)


def test_result_comes_back_from_json_and_speaks():
    p = random_labelled(2)
    result = mb.hsic_bounds(p.Z, p.labels, **{**p.arguments, "n_moved": 2, "exactly": False})
    assert HsicResult.from_dict(result.to_dict()).to_dict() == result.to_dict()
    text = " ".join(result.summary().split())
    assert f"Assumed: at most 2 rows of {len(p.Z)}" in text
    assert "(proved); as recorded it is" in text
    assert "HsicResult(" in repr(result)
