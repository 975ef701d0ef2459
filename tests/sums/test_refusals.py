"""What the sums refuse, and how they say it."""

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds import kernels
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.sums import make_sums
from mmdbounds.sums.cpu.blocked import BlockedSums
from tolerances import of_mmd2

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 3)), RNG.normal(size=(30, 3))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda A, B: np.ones(len(A)),
            r"must return a block of shape \(7, 7\) for 7 and 7 rows; got shape \(7,\)",
        ),
        (lambda A, B: (A @ B.T)[:, :1], r"got shape \(7, 1\)"),
        (lambda A, B: A @ (B * [1.0, 2.0, 3.0]).T + A[:, :1], r"must be symmetric, k\(A, B\) = k\(B, A\)\.T"),
        (lambda A, B: A @ B.T + A.mean(), "the same value in every block"),
        (lambda A, B: np.full((len(A), len(B)), "a"), "must return real numbers; got dtype <U1"),
        (lambda A, B: (A @ B.T) / 0.0, "not finite"),
    ],
)
def test_functions_that_are_no_kernels(function, message):
    with np.errstate(all="ignore"), pytest.raises(MmdBoundsError, match=message):
        mb.mmd2(X, Y, kernel=function)


def test_float32_refuses_what_it_cannot_resolve():
    far = np.concatenate([X, [[1e4, 0.0, 0.0]]])
    with pytest.raises(DataError, match=r"float32 is too coarse here.*Use dtype=\"float64\""):
        mb.mmd2(far, Y, bandwidth=1.0, dtype="float32")
    with pytest.raises(DataError, match="float32 is too coarse here"):
        BlockedSums(far, kernels.RBF(1.0), dtype="float32")
    assert np.isfinite(mb.mmd2(far, Y, bandwidth=1.0))


def test_squared_norms_that_overflow_float32():
    with pytest.raises(
        DataError, match=r"the squared norms of the rows overflow float32.*Use dtype=\"float64\""
    ):
        mb.mmd2(X * 1e25, Y * 1e25, bandwidth=1.0, dtype="float32")


def test_values_that_overflow_float64():
    with pytest.raises(
        MmdBoundsError, match=r"between 1e-100 and 1e\+100; got .*e\+200\. Rescale the columns"
    ):
        mb.mmd2(X * 1e200, Y * 1e200)
    with pytest.raises(DataError, match="overflow float64"):
        mb.mmd2(X * 1e200, Y * 1e200, bandwidth=1.0)
    with pytest.raises(DataError, match="overflow float64"):
        mb.mmd2(X * 1e200, Y * 1e200, kernel="linear")


@pytest.mark.parametrize(
    ("factor", "options"),
    [
        (1e25, {"kernel": "linear", "dtype": "float32"}),
        (1e200, {"kernel": "linear"}),
        (1e8, {"kernel": mb.kernels.Polynomial(5), "dtype": "float32"}),
        (1e25, {"bandwidth": 1.0, "dtype": "float32"}),
        (1e200, {"bandwidth": 1.0}),
        (1e307, {"kernel": "energy"}),
    ],
)
@pytest.mark.parametrize("small_rows", [4096, 10])
def test_overflow_is_refused_for_few_rows_and_for_many(monkeypatch, small_rows, factor, options):
    monkeypatch.setattr("mmdbounds.sums.plan.SMALL_ROWS", small_rows)
    with pytest.raises(DataError, match=r"overflow float|not finite"):
        mb.mmd2(X * factor, Y * factor, **options)


@pytest.mark.parametrize("small_rows", [4096, 0])
def test_distances_that_overflow_in_units_of_the_bandwidth_are_far(monkeypatch, small_rows):
    monkeypatch.setattr("mmdbounds.sums.plan.SMALL_ROWS", small_rows)
    far, farther = ([[0.1], [0.2], [0.5], [distance]] for distance in (1e3, 1e305))
    values = [mb.mmd2(rows[:2], rows[2:], kernel="laplacian", bandwidth=1e-8) for rows in (far, farther)]
    assert values == [0.0, 0.0]


def test_tiny_values_are_not_taken_for_equal():
    np.testing.assert_allclose(mb.mmd2(X * 1e-90, Y * 1e-90), mb.mmd2(X, Y), rtol=1e-12)
    with pytest.raises(MmdBoundsError, match="Rescale the columns"):
        mb.mmd2(X * 1e-170, Y * 1e-170)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": mb.kernels.RBF}, r"got the class RBF\. Did you mean RBF\(\.\.\.\)\?"),
        ({"bandwidth": 1e-170}, "between 1e-100 and 1e"),
        ({"bandwidth": 1e155}, "between 1e-100 and 1e"),
        ({"bandwidth": True}, r"`bandwidth` must be a positive finite number; got True"),
        ({"bandwidth": np.array([1.0, 2.0])}, "`bandwidth` must be a single one here; got a list"),
        ({"progress": "no"}, r"`progress` must be True or False; got 'no'"),
    ],
)
def test_slips_that_would_raise_something_else(options, message):
    with pytest.raises(MmdBoundsError, match=message):
        mb.mmd2(X, Y, **options)


def test_kernel_options_are_checked():
    with pytest.raises(MmdBoundsError, match="`gamma` must be a positive finite number or None; got 'scale'"):
        mb.kernels.Polynomial(gamma="scale")
    with pytest.raises(MmdBoundsError, match=r"`degree` must be a whole number from 1; got 2\.5"):
        mb.kernels.Polynomial(degree=2.5)
    with pytest.raises(MmdBoundsError, match="`coef0` must be finite and at least 0"):
        mb.kernels.Polynomial(coef0=-1)


def test_precomputed_matrices_are_checked():
    K = np.exp(-((np.arange(6)[:, None] - np.arange(6)) ** 2) / 2.0)
    given = mb.mmd2(K[:2], K[2:], kernel="precomputed")
    computed = mb.mmd2([[0], [1]], [[2], [3], [4], [5]], bandwidth=1.0)
    np.testing.assert_allclose(given, computed, rtol=0, atol=of_mmd2(6, columns=1))
    with pytest.raises(MmdBoundsError, match=r"rows of one pooled N x N matrix.*5 x 5 in all; got 6 columns"):
        mb.mmd2(K[:2], K[2:5], kernel="precomputed")
    K[0, 5] = 0.5
    with pytest.raises(MmdBoundsError, match=r"must be symmetric; two entries differ by 0\.5"):
        mb.mmd2(K[:2], K[2:], kernel="precomputed")


def test_memory_stays_within_the_budget():
    import tracemalloc

    Z = RNG.normal(size=(6000, 3))
    sums = make_sums(Z, kernels.RBF(1.0), working_memory=16)
    W = RNG.normal(size=(6000, 4))
    sums.apply(slice(0, 10), slice(0, 6000), W)  # compiles
    tracemalloc.start()
    sums.apply(slice(0, 6000), slice(0, 6000), W)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 * 2**20  # the matrix would be 275 MiB
