"""Features against their definitions: random Fourier features, Nystrom, and the verbs made of them."""

import math
import tracemalloc
from collections import Counter

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds import kernels
from mmdbounds.progress import Meter
from mmdbounds.sums import make_sums
from mmdbounds.sums.bandwidth import median_distance, resolve_kernel
from mmdbounds.sums.cpu import MatrixSums
from mmdbounds.sums.features import sums as strips_of_features
from mmdbounds.sums.features.maps import FourierMap, frequencies, make_map
from mmdbounds.sums.features.residual import pivoted_rows
from mmdbounds.sums.features.sums import Features, FeatureSums, feature_sums
from problems import Problem, naive_matrix, naive_value
from sums.test_verbs import SELECTIONS, N, weights
from tolerances import of_a_sum, of_values

DISTANCE = kernels.kernel_names("bandwidth")
LANDMARKED = (*DISTANCE, "polynomial", "cosine")
KINDS = {"random features": mb.RandomFeatures("rbf", 30), "landmarks": mb.Nystrom("matern32", 12)}


def some_rows(n=N, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) + 5.0


def exact_matrix(Z, kernel):
    return naive_matrix(Problem(Z[:2], Z[2:], kernel, "biased", None))


@pytest.mark.parametrize("name", DISTANCE)
def test_random_features_are_cosines_of_differences(name):
    Z = some_rows(9)
    kernel = resolve_kernel(mb.RandomFeatures(name, 14, bandwidth=1.5, seed=3), "median", Z)
    w = make_map(kernel, 3).frequencies
    assert w.shape == (3, 7)
    naive = [[np.mean([math.cos((a - b) @ w[:, j]) for j in range(7)]) for b in Z] for a in Z]
    phi = make_map(kernel, 3)(Z)
    np.testing.assert_allclose(phi @ phi.T, naive, rtol=0, atol=of_values())


@pytest.mark.parametrize("name", DISTANCE)
@pytest.mark.parametrize("d", [1, 4])
def test_random_features_are_right_on_average(name, d):
    kernel, count = kernels.kernel_class(name)(1.7), 400_000
    w = frequencies(kernel, d, count, np.random.default_rng(0))
    for length in (0.3, 1.0, 3.0):
        a = np.full(d, length / d)
        waves = np.cos(a @ w)
        tolerance = 5 * waves.std() / math.sqrt(count)
        assert tolerance < 0.006
        assert abs(waves.mean() - naive_value(kernel, a, np.zeros(d))) < tolerance


def test_frequencies_follow_from_the_seed_alone():
    Z = some_rows()
    one, same, other = (
        make_map(resolve_kernel(mb.RandomFeatures("rbf", 8, bandwidth=1.0, seed=seed), "median", Z), 3)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one(Z), same(Z))
    assert not np.array_equal(one.frequencies, other.frequencies)


@pytest.mark.parametrize("name", LANDMARKED)
def test_landmarks_follow_the_formula(name):
    Z = some_rows(20)
    kernel = resolve_kernel(mb.Nystrom(name, landmarks=Z[:6]), "median", Z)
    K = exact_matrix(Z, kernel.exact)
    made = make_map(kernel, 3)
    jitter = 6 * made.jitter * np.diag(K)[:6].max()
    assert 6e-10 <= jitter / np.diag(K)[:6].max() < 1e-8
    naive = K[:, :6] @ np.linalg.solve(K[:6, :6] + jitter * np.eye(6), K[:6])
    phi = made(Z)
    np.testing.assert_allclose(phi @ phi.T, naive, rtol=0, atol=1e-6 * np.abs(K).max())
    assert np.linalg.eigvalsh(K - phi @ phi.T).min() > -1e-9 * np.abs(K).max()


@pytest.mark.parametrize("name", LANDMARKED)
def test_with_all_rows_as_landmarks_nothing_is_left(name):
    Z = some_rows(25)
    kernel = resolve_kernel(mb.Nystrom(name, 100), "median", Z)
    K = exact_matrix(Z, kernel.exact)
    phi = make_map(kernel, 3)(Z)
    np.testing.assert_allclose(phi @ phi.T, K, rtol=0, atol=1e-7 * np.abs(K).max())


def test_landmarks_are_rows_and_know_neither_label_nor_order():
    Z = some_rows(60)
    kernel = mb.Nystrom("rbf", 9, seed=4)
    found = resolve_kernel(kernel, "median", Z).landmarks
    shuffled = resolve_kernel(kernel, "median", np.random.default_rng(1).permutation(Z)).landmarks
    np.testing.assert_allclose(found, shuffled, rtol=0, atol=of_a_sum(60, np.abs(Z).max()))
    distances = np.linalg.norm(found[:, None] - Z, axis=2)
    assert (distances.min(axis=1) < of_a_sum(60, np.abs(Z).max())).all()
    assert len(set(distances.argmin(axis=1))) == 9
    other = resolve_kernel(mb.Nystrom("rbf", 9, seed=5), "median", Z).landmarks
    assert not np.allclose(found, other)


def test_landmarks_of_duplicates_are_different_rows():
    Z = np.repeat(some_rows(5), 8, axis=0)
    kernel = resolve_kernel(mb.Nystrom("rbf", 30, bandwidth=2.0), "median", Z)
    assert kernel.n_landmarks == len(kernel.landmarks) == 5


def test_chances_of_landmarks():
    """Draws one at a time, each in proportion to what is left of k(z, z), by the naive formula."""
    Z = np.array([[0.0], [0.4], [1.0], [5.0]])
    kernel = kernels.RBF(1.0)
    K = exact_matrix(Z, kernel)
    chances = Counter()
    for i in range(4):
        left = np.diag(K - np.outer(K[:, i], K[i]) / K[i, i])
        for j in set(range(4)) - {i}:
            chances[frozenset((i, j))] += left[j] / left.sum() / 4
    rng, n = np.random.default_rng(0), 1500
    drawn = Counter(
        frozenset(int(np.flatnonzero(Z[:, 0] == z)[0]) for z in pivoted_rows(Z, kernel, 2, rng)[:, 0])
        for _ in range(n)
    )
    for pair, chance in chances.items():
        assert abs(drawn[pair] / n - chance) < 4 * math.sqrt(chance * (1 - chance) / n), pair


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "strips"])
@pytest.mark.parametrize("selection", SELECTIONS.values(), ids=SELECTIONS)
def test_verbs_follow_the_features(kind, kept, selection, monkeypatch):
    monkeypatch.setattr(strips_of_features, "STRIP_ROWS", 16)
    Z = some_rows()
    kernel = resolve_kernel(KINDS[kind], "median", Z)
    phi = make_map(kernel, 3)(Z)
    K = phi @ phi.T
    A, B = selection
    expected = K[A][:, B]
    sums = FeatureSums(Features(Z, make_map(kernel, 3), "float64"), N, working_memory=1024 if kept else 0.01)
    close = {"rtol": 0, "atol": 1e-11}
    np.testing.assert_allclose(sums.block(A, B), expected, **close)
    np.testing.assert_allclose(sums.diagonal(A), np.diag(K)[A], **close)
    for kind_of_weights in ("ones", "group", "random", "many"):
        W = weights(expected.shape[1], kind_of_weights)
        result = sums.apply(A, B, W)
        assert result.shape == (expected.shape[0], *W.shape[1:])
        np.testing.assert_allclose(result, expected @ W, rtol=0, atol=N * 1e-11)
    rows = np.unique(np.arange(N)[A])[::-1].copy()
    earlier = np.tril(K[rows][:, rows], -1).sum(axis=1)
    np.testing.assert_allclose(sums.earlier(rows), earlier, rtol=0, atol=N * 1e-11)
    collected = np.full(expected.shape, np.nan)

    def collect(i, j, block):
        assert np.isnan(collected[i : i + len(block), j : j + block.shape[1]]).all()
        collected[i : i + len(block), j : j + block.shape[1]] = block

    sums.fold(A, B, collect)
    np.testing.assert_allclose(collected, expected, **close)
    assert sums.is_positive_definite


@pytest.mark.parametrize("kind", KINDS)
def test_float32_is_what_it_says(kind):
    Z = some_rows(300)
    made = make_map(resolve_kernel(KINDS[kind], "median", Z), 3)
    coarse = FeatureSums(Features(Z, made, "float32"), 300)
    everyone, W = slice(0, 300), np.random.default_rng(0).normal(size=300)
    phi = made(Z)
    K = phi @ phi.T
    assert np.abs(coarse.block(everyone, everyone) - K).max() <= coarse.rounding
    assert np.abs(coarse.apply(everyone, everyone, W) - K @ W).max() > 1e-9  # or it would not be float32
    np.testing.assert_allclose(coarse.precise.apply(everyone, everyone, W), K @ W, rtol=0, atol=1e-10)
    assert coarse.precise.precise is coarse.precise


def test_the_number_of_threads_does_not_show(monkeypatch):
    monkeypatch.setattr(strips_of_features, "STRIP_ROWS", 16)
    Z, W = some_rows(200), np.random.default_rng(0).normal(size=(200, 3))
    made = make_map(resolve_kernel(mb.RandomFeatures("rbf", 64), "median", Z), 3)
    everyone = slice(0, 200)
    one, three = (
        FeatureSums(Features(Z, made, "float64", n_threads=n), 200, working_memory=0.01).apply(
            everyone, everyone, W
        )
        for n in (1, 3)
    )
    assert np.array_equal(one, three)


def test_features_of_all_rows_are_never_held_where_they_do_not_fit():
    n, size = 20_000, 1024  # 160 MB of features
    Z = some_rows(n)
    meter = Meter()
    kernel = resolve_kernel(mb.RandomFeatures("rbf", size, bandwidth=2.0), "median", Z)
    sums = feature_sums(Z, kernel, dtype="float64", working_memory=32, meter=meter)
    assert isinstance(sums, FeatureSums)
    tracemalloc.start()
    sums.apply(slice(0, n), slice(0, n), np.ones((n, 2)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 * 2**20
    assert meter.n_pairs == 2 * n * size  # each row's features twice: linear in the rows


def test_a_small_matrix_is_kept():
    Z = some_rows()
    kernel = resolve_kernel(mb.RandomFeatures("rbf", 16), "median", Z)
    assert isinstance(make_sums(Z, kernel), MatrixSums)
    assert isinstance(make_sums(Z, kernel, working_memory=0.1), FeatureSums)
    assert make_sums(Z, kernel).is_positive_definite


def test_resolving_fills_in_what_the_rows_decide():
    Z = some_rows()
    kernel = resolve_kernel(mb.RandomFeatures("laplacian"), "median", Z)
    assert kernel.exact == mb.kernels.Laplacian(median_distance(Z, l1=True))
    assert kernel.length == kernel.exact.length
    assert kernel.options() == {"kernel": "laplacian", "n_features": 2048, "seed": 0}
    assert kernel.upper_bound == 1.0
    assert resolve_kernel(kernel, "median", Z + 1) is kernel
    assert isinstance(make_map(kernel, 3), FourierMap)
    assert mb.RandomFeatures("rbf").follows_rows
    assert not mb.RandomFeatures(mb.kernels.RBF(1.0)).follows_rows
    assert not mb.RandomFeatures("rbf", bandwidth=2.0).follows_rows
    assert mb.Nystrom(mb.kernels.RBF(1.0)).follows_rows
    polynomial = resolve_kernel(mb.Nystrom("polynomial", 5), "median", Z)
    assert polynomial.options() == {
        "kernel": "polynomial",
        "degree": 3,
        "gamma": 1 / 3,
        "coef0": 1.0,
        "n_features": 5,
        "seed": 0,
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.RandomFeatures("polynomial"), r"RandomFeatures takes .*; got 'polynomial'. Use Nystrom"),
        (lambda: mb.RandomFeatures("linear"), r"got 'linear'. The linear kernel compares the means"),
        (lambda: mb.Nystrom("precomputed"), r"Nystrom takes .*; got 'precomputed'.$"),
        (lambda: mb.Nystrom("rfb"), r"`kernel` must be one of .* Did you mean 'rbf'"),
        (lambda: mb.RandomFeatures(max), r"`kernel` must be a name or a kernel object; got builtin"),
        (lambda: mb.RandomFeatures(mb.RandomFeatures()), r"got 'random features'"),
        (
            lambda: mb.RandomFeatures(mb.kernels.RBF(1.0), bandwidth=2.0),
            r"`bandwidth` goes with a kernel given by na",
        ),
        (lambda: mb.RandomFeatures("rbf", bandwidth="mean"), r"'median' or a positive number; got 'mean'"),
        (lambda: mb.RandomFeatures("rbf", bandwidth=-1), r"'median' or a positive number; got -1"),
        (lambda: mb.RandomFeatures("rbf", 7), r"`n_features` must be even, .*; got 7. Use 8."),
        (lambda: mb.RandomFeatures("rbf", 2), r"`n_features` must be .* 4; got 2"),
        (lambda: mb.RandomFeatures("rbf", seed=-1), r"`seed` must be"),
        (lambda: mb.Nystrom("rbf", 0), r"`n_landmarks` must be .* 1; got 0"),
        (
            lambda: mb.Nystrom("rbf", landmarks=[1.0]),
            r"`landmarks` must be rows of finite numbers; got .*\(1,\)",
        ),
        (
            lambda: mb.mmd2(*ROWS, kernel=mb.Nystrom("rbf", landmarks=[[1.0]])),
            r"must have the 2 columns .*got 1",
        ),
        (
            lambda: mb.mmd2(*ROWS, kernel=mb.Nystrom("rbf"), bandwidth=2.0),
            r"`bandwidth` goes with a distance",
        ),
        (
            lambda: mb.mmd_bounds(*ROWS, 0.2, kernel=mb.Nystrom(), method="qno", exactly=True),
            r"free points need the slope",
        ),
        (lambda: mb.RandomFeatures("rbf").exact, r"has no bandwidth yet"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(mb.MmdBoundsError, match=message):
        make()


ROWS = some_rows(12, 2), some_rows(15, 2, seed=1)
