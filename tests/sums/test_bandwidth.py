"""The median heuristic: the definition, and blindness to labels and row order."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from mmdbounds.errors import BandwidthWarning, DataError, MmdBoundsError
from mmdbounds.sums import bandwidth as module
from mmdbounds.sums.bandwidth import canonical_order, median_distance, resolve_kernel


def naive_median(Z, order):
    return float(np.median([np.linalg.norm(a - b, order) for i, a in enumerate(Z) for b in Z[:i]]))


@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), d=st.integers(1, 6), l1=st.booleans())
def test_median_over_distinct_pairs(seed, n, d, l1):
    Z = np.random.default_rng(seed).normal(size=(n, d)) * 10 + 1000
    np.testing.assert_allclose(median_distance(Z, l1=l1), naive_median(Z, 1 if l1 else 2), rtol=1e-12)


@pytest.mark.parametrize("l1", [False, True])
def test_sampled_median_is_close_to_the_exact_one(monkeypatch, l1):
    Z = np.random.default_rng(0).normal(size=(3000, 5))
    exact = median_distance(Z, l1=l1)
    monkeypatch.setattr(module, "SMALL_ROWS", 100)
    sampled = median_distance(Z, l1=l1)
    assert sampled != exact
    np.testing.assert_allclose(sampled, exact, rtol=0.006)  # three standard errors


def test_sampled_pairs_do_not_see_labels_or_row_order(monkeypatch):
    monkeypatch.setattr(module, "SMALL_ROWS", 100)
    rng = np.random.default_rng(0)
    Z = np.round(rng.normal(size=(500, 3)), 1)  # with duplicates
    assert median_distance(Z) == median_distance(Z[rng.permutation(500)])


@pytest.mark.parametrize("l1", [False, True])
def test_the_median_of_many_rows_stays_within_the_budget_and_is_the_same(l1):
    Z = 1e5 * np.random.default_rng(0).normal(size=(30_000, 54))
    usual = median_distance(Z, l1=l1)
    tracemalloc.start()
    found = median_distance(Z, l1=l1, working_memory=16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 2**20  # the rows themselves are 12 MiB, their differences 82
    assert found == usual


def test_canonical_order_sorts_equal_values_alike():
    rng = np.random.default_rng(0)
    Z = rng.integers(-1, 2, size=(300, 4)).astype(float)
    shuffled = Z[rng.permutation(300)]
    shuffled[shuffled == 0] *= -1.0  # -0 is 0
    assert np.array_equal(Z[canonical_order(Z)], shuffled[canonical_order(shuffled)])


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_many_duplicates_fall_back_to_the_other_distances_with_a_warning(far):
    # One point nine times, and two others at distances 3 and 5 from it (4 from each other).
    Z = np.zeros((11, 7)) + np.linspace(0.1, 0.7, 7) + far
    Z[9, 0] += 3.0
    Z[10, 1] += 5.0
    with pytest.warns(BandwidthWarning, match="more than half of the pairs of rows are duplicates"):
        median = median_distance(Z)  # nine times 3, nine times 5 and once the root of 34
    np.testing.assert_allclose(median, 5.0, rtol=1e-9)


def test_duplicates_are_seen_with_many_columns_too(monkeypatch):
    monkeypatch.setattr("mmdbounds.sums.points.DIFFERENCES_LIMIT", 1e4)
    rng = np.random.default_rng(5)
    Z = np.tile(rng.normal(size=(1, 400)), (160, 1))
    Z[-30:] += rng.normal(size=(30, 400))
    with pytest.warns(BandwidthWarning, match="duplicates"):
        median = median_distance(Z)
    assert 15 < median < 25  # a duplicate and another row are about 20 apart


def test_equal_rows_are_an_error():
    with pytest.raises(DataError, match="all rows are equal, so there is no bandwidth"):
        mb.mmd2(np.ones((4, 2)), np.ones((5, 2)))
    assert mb.mmd2(np.ones((4, 2)), np.ones((5, 2)), bandwidth=1.0) == 0.0


@pytest.mark.parametrize(
    ("kernel", "value", "message"),
    [
        ("rbf", 0, r"`bandwidth` must be a positive finite number; got 0\."),
        ("rbf", float("nan"), r"`bandwidth` must be a positive finite number; got nan\."),
        (
            "rbf",
            "mean",
            r"`bandwidth` must be 'median', a multiple .*; got 'mean'\.",
        ),
        (
            "linear",
            2.0,
            r"`bandwidth` goes with a distance kernel given by name .*with the kernel 'linear'\.",
        ),
        (mb.kernels.RBF(1.0), 2.0, r"`bandwidth` goes with a distance kernel given by name"),
        ("gausian", "median", r"^`kernel` must be one of 'rbf', .*; got .* Did you mean 'gaussian'\?$"),
        ("laplacan", "median", r"Did you mean 'laplacian'\?"),
        (3, "median", r"`kernel` must be a name, a kernel object or a function k\(A, B\); got int\."),
    ],
)
def test_wrong_kernels_and_bandwidths(kernel, value, message):
    with pytest.raises(MmdBoundsError, match=message):
        resolve_kernel(kernel, value, np.eye(3))


def test_names_give_kernels_with_the_median():
    Z = np.random.default_rng(0).normal(size=(20, 3))
    assert resolve_kernel("rbf", "median", Z) == mb.kernels.RBF(median_distance(Z))
    assert resolve_kernel("laplacian", "median", Z) == mb.kernels.Laplacian(median_distance(Z, l1=True))
    assert resolve_kernel("matern52", 2, Z) == mb.kernels.Matern52(2.0)
    assert resolve_kernel("polynomial", "median", Z) == mb.kernels.Polynomial(3, 1 / 3, 1.0)


@pytest.mark.parametrize("near", [1e-101, 1e-40])
def test_distances_whose_squares_vanish_are_no_duplicates(near):
    """One stray value made all others look alike, and the bandwidth was taken from it."""
    Z = near * np.arange(1.0, 8.0)[:, None] ** 2
    Z[-1] = -1e120
    with pytest.raises(DataError, match="most distances between rows are below 1e-150 of the"):
        median_distance(Z)
    assert median_distance(Z, l1=True) == np.median(np.abs(Z - Z.T)[np.triu_indices(7, 1)])


def test_a_row_far_out_costs_the_median_no_digit():
    """Half of the pairs are near: from a product, their distances were off by what the far ones lose."""
    Z = np.random.default_rng(8).normal(size=(4, 200))
    Z[-1] *= 1e10
    exact = np.sqrt(((Z[:, None].astype(np.longdouble) - Z) ** 2).sum(axis=-1))[np.triu_indices(4, 1)]
    np.testing.assert_allclose(median_distance(Z), float(np.median(exact)), rtol=1e-13)


MULTIPLES = [("median", 1), ("0.5 median", 0.5), (" 2median ", 2), ("1e-1 median", 0.1)]
NO_MULTIPLES = ["-1 median", "0 median", "half median", "median 2", "nan median", "inf median"]


@pytest.mark.parametrize(("asked", "factor"), MULTIPLES)
def test_a_multiple_of_the_median(asked, factor):
    Z = np.random.default_rng(0).normal(size=(40, 3))
    for kernel in ("rbf", "laplacian"):
        median = resolve_kernel(kernel, "median", Z)
        assert resolve_kernel(kernel, asked, Z).bandwidth == factor * median.bandwidth


@pytest.mark.parametrize("asked", NO_MULTIPLES)
def test_what_is_no_multiple_of_the_median_is_refused(asked):
    with pytest.raises(MmdBoundsError, match="`bandwidth` must be 'median', a multiple such as"):
        resolve_kernel("rbf", asked, np.zeros((3, 1)))
