"""Kernel values that users computed: in single precision, as distances, positive definite by their word."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import FunctionKernel
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.sums.points import check_function
from mmdbounds.sums.rounding import handed_in, precision
from problems import naive_mmd2

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(14, 300))
SINGLE = Z.astype(np.float32)
P, MOVED = 6, 3


def single(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A kernel as a network computes it: features in float32, and products of them."""
    a, b = (np.tanh(rows.astype(np.float32) / 8) for rows in (A, B))
    return np.exp(a @ b.T / np.float32(16))


def unsymmetric(scale: float = 1e-6, dtype: type = np.float32) -> np.ndarray:
    K = single(Z, Z).astype(np.float64)
    noise = np.triu(RNG.uniform(-scale, scale, K.shape), 1)
    return (K + noise).astype(dtype)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_bounds_hold_whichever_of_two_values_a_pair_has(estimator: str):
    K = unsymmetric().astype(np.float64)
    assert np.abs(K - K.T).max() > 1e-7
    found = mb.mmd_bounds(
        K[:P], K[P:], mb.Contamination(n_moved=MOVED), kernel="precomputed", estimator=estimator, rng=0
    )
    low, high = found.interval
    lower, upper = np.minimum(K, K.T), np.maximum(K, K.T)
    for moved in itertools.chain.from_iterable(
        itertools.combinations(range(P, len(K)), m) for m in range(MOVED + 1)
    ):
        in_x = np.arange(len(K)) < P
        in_x[list(moved)] = True
        same = in_x[:, None] == in_x[None]
        # Whoever picks the values of single pairs makes the statistic as large, or as small, as this.
        assert low <= naive_mmd2(np.where(same, lower, upper), in_x, estimator)
        assert high >= naive_mmd2(np.where(same, upper, lower), in_x, estimator)


def test_a_gram_matrix_of_single_precision_is_taken():
    K = SINGLE @ SINGLE.T
    K[0, 1] += np.float32(4e-5)  # as another order of the terms leaves it
    found = mb.mmd_bounds(K[:P], K[P:], 0.2, kernel="precomputed", rng=0)
    expected = mb.mmd_bounds(Z[:P], Z[P:], 0.2, kernel="linear", rng=0)
    assert found.interval == pytest.approx(expected.interval, rel=1e-3)


@pytest.mark.parametrize("memory", [1024, 1], ids=["matrix", "blocks"])
def test_a_function_of_single_precision_is_taken(memory: float):
    rows = RNG.normal(size=(40 if memory > 1 else 700, 20))
    options = {"kernel": single, "working_memory": memory, "rng": 0}
    found = mb.mmd_bounds(rows[:20], rows[20:], 0.2, **options)
    K = single(rows, rows).astype(np.float64)
    observed = naive_mmd2((K + K.T) / 2, np.arange(len(rows)) < 20, "unbiased")
    assert found.observed == pytest.approx(observed, abs=1e-6)
    posed = pose(rows[:20], rows[20:], Comparison(kernel=single, working_memory=memory))
    rounding = posed.one_pass(Meter()).sums.rounding
    assert rounding >= (1e-12 if memory > 1 else handed_in(2.0**-24))
    assert rounding < 1e-3


def test_what_differs_by_more_than_rounding_is_refused():
    for K in (unsymmetric(1e-3), unsymmetric(1e-7, np.float64)):
        with pytest.raises(
            MmdBoundsError, match="precomputed kernel matrix must be symmetric; two entries differ"
        ):
            mb.mmd2(K[:P], K[P:], kernel="precomputed")

    def by_block(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return single(A, B) * np.float32(1 + 1e-3 * len(A))

    with pytest.raises(MmdBoundsError, match="must give each pair the same value in every block"):
        mb.mmd2(Z[:P], Z[P:], kernel=by_block)


def test_the_error_of_a_function_is_what_its_check_lets_pass():
    exact = FunctionKernel(lambda A, B: np.exp(-np.abs(A[:, None] - B[None]).sum(axis=-1)))
    assert check_function(exact, Z[:, :3]) == 0.0
    assert check_function(FunctionKernel(single), Z) == handed_in(2.0**-24)
    # The same numbers, converted since.
    assert check_function(FunctionKernel(lambda A, B: single(A, B).astype(float)), Z) == handed_in(2.0**-24)
    equal = FunctionKernel(lambda A, B: (A[:, None, 0] > 0) == (B[None, :, 0] > 0.0) + 0.0)
    assert check_function(FunctionKernel(lambda A, B: np.asarray(equal.function(A, B), float)), Z) == 0.0


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        (np.array([0.1]), 2.0**-53),
        (np.array([0.1], np.float32), 2.0**-24),
        (np.array([np.float32(0.1)], float), 2.0**-24),
        (np.array([0.1], np.float16), 2.0**-11),
        (np.array([0.0, 0.5, 1.0]), 2.0**-53),
        (np.array([1, 2, 3]), 2.0**-53),
        (np.array([1e300]), 2.0**-53),
    ],
)
def test_the_precision_is_that_of_the_digits(values: np.ndarray, unit: float):
    assert precision(values) == unit


D = np.abs(Z[:, None] - Z[None]).sum(axis=-1)


def test_distances_are_no_kernel():
    for given in (D, D + 1e-9 * D.max() * np.eye(len(D)), D**2):
        with pytest.raises(
            MmdBoundsError, match=r"holds distances D: 0 on the diagonal .* or `-D` for the energy"
        ):
            mb.mmd2(given[:P], given[P:], kernel="precomputed")
    with pytest.raises(MmdBoundsError, match=r"^`kernel` gives distances D: 0 on the diagonal and positive"):
        mb.mmd2(Z[:P], Z[P:], kernel=lambda A, B: np.abs(A[:, None] - B[None]).sum(axis=-1))


def test_negative_distances_and_a_matrix_of_zeros_are_taken():
    energy = mb.mmd2(-D[:P], -D[P:], kernel="precomputed")
    assert energy == pytest.approx(naive_mmd2(-D, np.arange(len(D)) < P, "unbiased"), rel=1e-12)
    zeros = np.zeros((5, 5))
    assert mb.mmd2(zeros[:2], zeros[2:], kernel="precomputed") == 0.0


def rbf(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=-1) / 2)


def test_a_function_that_the_user_says_is_positive_definite_is_proved_like_one_that_is():
    rows = RNG.normal(size=(1700, 2))  # more than are tried by eigenvalues
    X, Y = rows[:100], rows[100:]
    options = {"rng": 0, "working_memory": 1024}
    unsaid = mb.robust_test(X, Y, 0.05, kernel=rbf, n_permutations=19, **options)
    said = mb.robust_test(
        X, Y, 0.05, kernel=FunctionKernel(rbf, is_positive_definite=True), n_permutations=19, **options
    )
    known = mb.robust_test(X, Y, 0.05, kernel="rbf", bandwidth=1.0, n_permutations=19, **options)
    assert said.statistic == pytest.approx(known.statistic, rel=1e-3)
    assert (said.is_valid, known.is_valid) == (True, True)
    assert said.provenance.kernel_options["is_positive_definite"] is True
    assert "which proofs take as positive definite because you said so" in " ".join(said.summary().split())
    assert "because you said so" not in unsaid.summary()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FunctionKernel(3), r"`function` must be a function k\(A, B\); got 3"),
        (
            lambda: FunctionKernel(rbf, is_positive_definite="yes"),
            "`is_positive_definite` must be True or False",
        ),
        (
            lambda: mb.mmd2(
                Z[:P], Z[P:], kernel=FunctionKernel(lambda A, B: -rbf(A, B), is_positive_definite=True)
            ),
            "of a few rows already have a negative eigenvalue. Leave `is_positive_definite` out",
        ),
    ],
)
def test_what_is_said_must_be_possible(make: Callable[[], object], message: str):
    with pytest.raises(MmdBoundsError, match=message):
        make()
