"""The verbs of every representation against a kernel matrix written out pair by pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmdbounds import kernels
from mmdbounds.progress import Meter
from mmdbounds.sums import make_sums, plan
from mmdbounds.sums.cpu import MatrixSums
from mmdbounds.sums.cpu.blocked import BlockedSums
from problems import KERNELS, Problem, make_kernel, naive_matrix
from tolerances import UNIT, of_a_mean, of_a_sum, of_values

N = 57


def rows_and_kernel(name, seed=0, d=3):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(N, d)) + 5.0
    kernel = make_kernel(name, Z, rng)
    if kernel.length is not None:
        kernel = type(kernel)(2.0)
    return Z, kernel, naive_matrix(Problem(Z[:20], Z[20:], kernel, "biased", None))


def blocked(Z, kernel, **options):
    return BlockedSums(Z, kernel, **({"block": (8, 5), "n_threads": 2} | options))


def without_numba(Z, kernel, monkeypatch):
    monkeypatch.setattr("mmdbounds.compiled.numba_is_there", lambda: False)
    sums = blocked(Z, kernel)
    assert sums.backend == "numpy"
    return sums


@pytest.fixture(params=["matrix", "blocked", "plain"])
def make(request, monkeypatch):
    """Make the sums in each of three ways: matrix kept, compiled blocks, NumPy blocks."""
    return {
        "matrix": make_sums,
        "blocked": blocked,
        "plain": lambda Z, kernel: without_numba(Z, kernel, monkeypatch),
    }[request.param]


SELECTIONS = {
    "all, all": (slice(0, N), slice(0, N)),
    "slice, slice": (slice(3, 41), slice(20, N)),
    "rows, slice": (np.array([50, 2, 2, 31]), slice(20, N)),
    "slice, rows": (slice(20, N), np.array([1, 0, 56])),
    "rows, rows": (np.array([9, 8, 7]), np.array([7, 30])),
    "steps, from the end": (slice(50, 3, -4), slice(-20, None)),
    "none, all": (np.array([], dtype=np.intp), slice(0, N)),
    "all, none": (slice(0, N), np.array([], dtype=np.intp)),
}


@pytest.mark.parametrize("selection", SELECTIONS.values(), ids=SELECTIONS)
@pytest.mark.parametrize("name", [*KERNELS, "energy"])
def test_verbs_follow_the_matrix(make, name, selection):
    Z, kernel, K = rows_and_kernel(name)
    A, B = selection
    expected = K[A][:, B]
    scale = np.abs(K).max()
    sums = make(Z, kernel)
    close = {"rtol": 0, "atol": 1e-12 * scale}
    np.testing.assert_allclose(sums.block(A, B), expected, **close)
    np.testing.assert_allclose(sums.diagonal(A), np.diag(K)[A], **close)
    for W in (weights(expected.shape[1], kind) for kind in ("ones", "group", "random", "many")):
        result = sums.apply(A, B, W)
        assert result.shape == (expected.shape[0], *W.shape[1:])
        assert result.dtype == np.float64
        np.testing.assert_allclose(result, expected @ W, rtol=0, atol=N * 1e-12 * scale)
    rows = np.unique(np.arange(N)[A])[::-1].copy()
    earlier = np.tril(K[rows][:, rows], -1).sum(axis=1)
    np.testing.assert_allclose(sums.earlier(rows), earlier, rtol=0, atol=N * 1e-12 * scale)
    terms = pair_terms(*expected.shape)
    naive, sizes = naive_excess(expected, *terms)
    found = sums.excess(A, B, *terms)
    np.testing.assert_allclose(found, naive, rtol=0, atol=(expected.shape[1] + 40) * 1e-12 * scale * sizes)
    collected = np.full(expected.shape, np.nan)

    def collect(i, j, block):
        assert np.isnan(collected[i : i + len(block), j : j + block.shape[1]]).all()
        collected[i : i + len(block), j : j + block.shape[1]] = block

    sums.fold(A, B, collect)
    np.testing.assert_allclose(collected, expected, **close)


def pair_terms(n, m, rank=5):
    """Factors whose products are added to kernel values, two thresholds a row, and a sign."""
    rng = np.random.default_rng(n + m)
    return *(rng.normal(size=(k, rank)) for k in (n, m)), rng.normal(size=(n, 2)), (-1.0) ** n


def naive_excess(K, left, right, thresholds, sign):
    """What the excess is by definition, and how large its numbers are."""
    sums, largest = np.zeros(thresholds.shape), 1.0
    for i, j in np.ndindex(K.shape):
        x = sign * K[i, j] + sum(left[i] * right[j])
        largest = max(largest, abs(x), abs(x - sign * K[i, j]))
        for k, threshold in enumerate(thresholds[i]):
            sums[i, k] += max(x - threshold, 0.0)
    return sums, largest


def weights(n, kind):
    rng = np.random.default_rng(n)
    if kind == "ones":
        return np.ones(n)
    if kind == "group":
        return np.stack([np.arange(n) < n // 3, np.arange(n) >= n // 3], axis=1).astype(float)
    return rng.normal(size=(n, 1 if kind == "random" else 90))


@pytest.mark.parametrize("name", ["rbf", "matern52", "polynomial", "linear"])
def test_float32_is_as_good_as_float32_can_be(name):
    Z, kernel, K = rows_and_kernel(name, d=20)
    scale = np.abs(np.diag(K)).max()
    sums = blocked(Z, kernel, dtype="float32")
    everyone = slice(0, N)
    block = sums.block(everyone, everyone)
    assert block.dtype == np.float64
    np.testing.assert_allclose(block, K, rtol=0, atol=sums.rounding * scale)
    assert np.abs(block - K).max() > 1e-12 * scale  # it really was float32
    labels = weights(N, "group")
    np.testing.assert_allclose(
        sums.apply(everyone, everyone, labels), K @ labels, rtol=0, atol=sums.rounding * N * scale / 4
    )


@given(
    seed=st.integers(0, 10**6), p=st.integers(1, 300), block=st.tuples(st.integers(1, 80), st.integers(1, 80))
)
def test_block_size_changes_the_last_digits_only(seed, p, block):
    Z = np.random.default_rng(seed).normal(size=(301, 2))
    labels = (np.arange(301) < p).astype(float)
    everyone = slice(0, 301)
    reference = BlockedSums(Z, kernels.RBF(1.0)).apply(everyone, everyone, labels)
    result = BlockedSums(Z, kernels.RBF(1.0), block=block).apply(everyone, everyone, labels)
    np.testing.assert_allclose(result, reference, rtol=0, atol=301 * of_a_mean(301))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["group", "random", "many"])
def test_any_number_of_threads_gives_the_same_bits(kind, dtype):
    Z = np.random.default_rng(1).normal(size=(700, 4))
    W = weights(700, kind)
    results = [
        BlockedSums(Z, kernels.RBF(1.5), dtype=dtype, block=(64, 32), n_threads=n).apply(
            slice(0, 700), slice(0, 700), W
        )
        for n in (1, 2, 5)
    ]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_threads_do_not_change_the_plan_of_a_tight_budget():
    Z = np.random.default_rng(1).normal(size=(3000, 2))
    results = [
        BlockedSums(Z, kernels.RBF(1.5), n_threads=n, working_memory=memory).apply(
            slice(0, 3000), slice(0, 3000), np.ones(3000)
        )
        for memory in (0.3, 1)
        for n in (1, 2, 40)
    ]
    assert not np.array_equal(results[0], results[3])  # half of the matrix, or all of it: other sums
    for start in (0, 3):
        assert np.array_equal(results[start], results[start + 1])
        assert np.array_equal(results[start], results[start + 2])


def test_half_of_a_symmetric_matrix_is_computed_once():
    Z = np.random.default_rng(0).normal(size=(400, 2))
    meter = Meter()
    sums = BlockedSums(Z, kernels.RBF(1.0), block=(50, 50), meter=meter)
    sums.apply(slice(0, 400), slice(0, 400), np.ones(400))
    assert meter.n_pairs == sum(50 * (400 - i) for i in range(0, 400, 50))  # 36 of 64 blocks
    meter.n_pairs = 0
    sums.apply(slice(0, 400), slice(0, 399), np.ones(399))
    assert meter.n_pairs == 400 * 399


@pytest.mark.parametrize("working_memory", [1024, 0.001])  # half of the matrix, or all of it
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_row_is_at_distance_zero_from_itself(monkeypatch, working_memory, dtype, compiled):
    # A product of rows far from the centre cannot see that.
    Z = np.random.default_rng(0).normal(size=(60, 3)) * (1e3 if dtype == "float64" else 5.0)
    length = 1e-5 if dtype == "float64" else 0.3
    if not compiled:
        monkeypatch.setattr("mmdbounds.compiled.numba_is_there", lambda: False)
    sums = BlockedSums(Z, kernels.RBF(length), dtype=dtype, block=(16, 7), working_memory=working_memory)
    everyone, some = slice(0, 60), np.array([50, 3, 17])
    K = sums.block(everyone, everyone)
    np.testing.assert_array_equal(np.diag(K), np.ones(60))
    np.testing.assert_array_equal(sums.block(some, everyone)[np.arange(3), some], np.ones(3))
    np.testing.assert_array_equal(sums.block(everyone, some)[some, np.arange(3)], np.ones(3))
    np.testing.assert_array_equal(np.diag(sums.apply(everyone, everyone, np.eye(60))), np.ones(60))
    tolerance = of_a_sum(60) if dtype == "float64" else 2 * 60 * 2.0**-24
    np.testing.assert_allclose(sums.apply(everyone, everyone, np.ones(60)), K.sum(axis=1), rtol=tolerance)
    np.testing.assert_allclose(sums.apply(everyone, some, np.ones(3)), K[:, some].sum(axis=1), rtol=tolerance)


def test_neighbours_far_out_never_have_a_value_above_one():
    Z = np.random.default_rng(0).normal(size=(500, 3)) * 1e3
    values = BlockedSums(Z, kernels.RBF(1e-6)).block(slice(0, 500), slice(0, 500))
    assert values.max() == 1.0


def test_laws_of_the_plan():
    for n, cuts, width, first in ((10, [0, 10], 3, None), (10, [0, 4, 10], 3, 2), (7, [0, 1, 2, 7], 100, 1)):
        for start in range(n):
            cut = plan.columns(cuts, start, width, first)
            assert cut.edges[0] == start
            assert cut.edges[-1] == n
            assert (np.diff(cut.edges) > 0).all()
            assert cut.widest <= max(width, first or 0)
            for low, high, segment in zip(cut.edges[:-1], cut.edges[1:], cut.segment, strict=True):
                assert cuts[segment] <= low < high <= cuts[segment + 1]
    assert plan.strips([0, 5, 12], 4) == [(0, 4), (4, 5), (5, 9), (9, 12)]
    assert plan.segments(np.array([[1.0], [1.0], [2.0], [1.0]])) == [0, 2, 3, 4]
    assert plan.segments(np.arange(20.0)[:, None]) is None
    one_of_20 = np.repeat(np.eye(20), plan.RUN_ROWS, axis=0)
    assert plan.segments(one_of_20) == list(range(0, len(one_of_20) + 1, plan.RUN_ROWS))
    assert plan.segments(one_of_20[1:]) is None  # short runs
    assert plan.segments(one_of_20 @ np.arange(20.0)[:, None]) is None  # one column is sooner multiplied


def test_small_problems_keep_the_matrix_and_large_ones_do_not():
    rng = np.random.default_rng(0)
    assert isinstance(make_sums(rng.normal(size=(50, 2)), kernels.RBF(1.0)), MatrixSums)
    assert isinstance(make_sums(rng.normal(size=(4097, 1)), kernels.RBF(1.0)), BlockedSums)
    # 1,000 rows need 7.6 MiB, more than a quarter of a budget of 20 MiB.
    assert isinstance(make_sums(rng.normal(size=(1000, 1)), kernels.RBF(1.0), working_memory=20), BlockedSums)


def test_small_problems_with_a_tiny_bandwidth_take_differences():
    # Two rows a hair apart, far from the centre: their product distance is all rounding.
    Z = np.array([[1e6], [1e6 + 1e-6], [-1e6], [-1e6 + 3e-6]])
    K = make_sums(Z, kernels.RBF(1e-6)).block(slice(0, 4), slice(0, 4))
    gap = Z[1, 0] - Z[0, 0]
    np.testing.assert_allclose(K[0, 1], np.exp(-((gap / 1e-6) ** 2) / 2), rtol=1e-12)


def test_blocked_centring_keeps_digits_far_from_the_origin():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 2))
    near, far = (BlockedSums(rows, kernels.RBF(1.0)) for rows in (Z, Z + 2.0**20))
    everyone = slice(0, 300)
    shifted = (Z + 2.0**20) - 2.0**20  # the rows that really were given
    np.testing.assert_allclose(
        far.block(everyone, everyone),
        BlockedSums(shifted, kernels.RBF(1.0)).block(everyone, everyone),
        rtol=0,
        atol=of_values(),
    )
    assert near.rounding == far.rounding == 1e-12


@pytest.mark.long
def test_the_exponential_is_right_to_the_last_bits():
    pytest.importorskip("numba")
    from mmdbounds.sums.cpu import fused

    # The last two steps of the polynomial, without fused operations, and the rounding of the reference.
    for dtype, tolerance in ((np.float64, 6 * UNIT), (np.float32, 6 * 2.0**-24)):
        x = -np.concatenate([np.linspace(0, 40, 100_001), [100.0, 125.9]]).astype(dtype)
        row = x.copy()
        fused._formula(row, 0, dtype(0), 1)
        np.testing.assert_allclose(row, np.exp2(x.astype(np.float64)), rtol=tolerance)
        assert row[0] == 1.0
        far = np.array([-1e4, -np.inf], dtype=dtype)
        fused._formula(far, 0, dtype(0), 1)
        assert (far <= 2 * np.finfo(dtype).tiny).all()
