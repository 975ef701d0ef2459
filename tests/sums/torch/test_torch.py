"""The four verbs on PyTorch tensors, and the kernels of the GPU in Triton's interpreter.

The interpreter runs the same program on the CPU: indices, masks, formulas and the order of sums are tested.
What it cannot show, the precision of a GPU's matrix units, is measured by lab/benchmarks/gpu.py.
"""

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds import kernels
from mmdbounds.errors import DataError
from mmdbounds.progress import Meter
from mmdbounds.sums import make_sums, plan
from mmdbounds.sums.rounding import product_error
from mmdbounds.sums.torch import torch_pays
from problems import KERNELS
from sums.test_verbs import SELECTIONS, N, naive_excess, pair_terms, rows_and_kernel, weights
from tolerances import of_a_mean, of_mmd2

pytestmark = pytest.mark.full

BY_PRODUCT = ["rbf", "matern52", "polynomial", "linear"]
EVERYONE = slice(0, N)


def torch_sums(Z, kernel, **options):
    from mmdbounds.sums.torch.sums import TorchSums

    return TorchSums(Z, kernel, **({"device": "cpu"} | options))


@pytest.mark.parametrize("selection", SELECTIONS.values(), ids=SELECTIONS)
@pytest.mark.parametrize("name", [*(name for name in KERNELS if name != "function"), "energy"])
def test_verbs_follow_the_matrix(name, selection, monkeypatch):
    Z, kernel, K = rows_and_kernel(name)
    A, B = selection
    expected, scale = K[A][:, B], np.abs(K).max()
    monkeypatch.setitem(torch_module().WIDTH, 8, 11)
    sums = torch_sums(Z, kernel, working_memory=8 * 4 * 11 * 7 * 2 / plan.MIB)  # patches of 7 x 11
    close = {"rtol": 0, "atol": 1e-12 * scale}
    np.testing.assert_allclose(sums.block(A, B), expected, **close)
    np.testing.assert_allclose(sums.diagonal(A), np.diag(K)[A], **close)
    for kind in ("ones", "group", "random", "many"):
        W = weights(expected.shape[1], kind)
        result = sums.apply(A, B, W)
        assert result.dtype == np.float64
        np.testing.assert_allclose(result, expected @ W, rtol=0, atol=N * 1e-12 * scale)
    monkeypatch.setattr(torch_module(), "EARLIER_ROWS", 9)
    rows = np.unique(np.arange(N)[A])[::-1].copy()
    earlier = np.tril(K[rows][:, rows], -1).sum(axis=1)
    np.testing.assert_allclose(sums.earlier(rows), earlier, rtol=0, atol=N * 1e-12 * scale)
    terms = pair_terms(*expected.shape)
    naive, sizes = naive_excess(expected, *terms)
    found = sums.excess(A, B, *terms)
    np.testing.assert_allclose(found, naive, rtol=0, atol=(expected.shape[1] + 40) * 1e-12 * scale * sizes)
    collected = np.full(expected.shape, np.nan)

    def collect(i, j, block):
        assert block.size <= 7 * 11
        collected[i : i + len(block), j : j + block.shape[1]] = block

    sums.fold(A, B, collect)
    np.testing.assert_allclose(collected, expected, **close)


def torch_module():
    from mmdbounds.sums.torch import sums

    return sums


@pytest.fixture
def small_tiles(monkeypatch):
    """Several tiles for few rows; the interpreter is slow."""
    from mmdbounds.sums.torch import triton

    monkeypatch.setattr(triton, "ROWS", 32)
    monkeypatch.setattr(triton, "COLUMNS", 16)
    return monkeypatch


@pytest.mark.parametrize(
    ("name", "d"), [*((name, 20) for name in BY_PRODUCT), ("rbf", 1), ("rbf", 64), ("linear", 70)]
)
@pytest.mark.usefixtures("small_tiles")
def test_fused_sums_follow_the_matrix(name, d):
    Z, kernel, K = rows_and_kernel(name, d=d)
    sums, scale = torch_sums(Z, kernel, dtype="float32"), np.abs(K).max()
    assert sums._near is not None
    everyone, some = EVERYONE, np.array([50, 3, 17])
    for A, B, kind in (
        (everyone, everyone, "group"),
        (some, slice(5, 40), "random"),
        (slice(5, 40), some, "ones"),
    ):
        expected = K[A][:, B]
        W = weights(expected.shape[1], kind)
        atol = min(sums.rounding, 2e-6) * scale * np.abs(W).sum(axis=0).max()
        np.testing.assert_allclose(sums.apply(A, B, W), expected @ W, rtol=0, atol=atol)


def test_fused_sums_share_columns_out_and_count_them(small_tiles):
    Z = np.random.default_rng(0).normal(size=(N, 3))
    meter = Meter()
    sums = torch_sums(Z, kernels.RBF(1.0), dtype="float32", meter=meter)
    whole = sums.apply(EVERYONE, EVERYONE, np.ones(N))
    assert meter.n_pairs == N * N
    small_tiles.setattr("mmdbounds.sums.torch.triton.LEAST_COLUMNS", 1)
    shared = sums.apply(EVERYONE, EVERYONE, np.ones(N))  # 16, 16, 16 and 9 columns
    np.testing.assert_allclose(shared, whole, rtol=1e-12)


def test_many_sums_and_float64_take_blocks(monkeypatch):
    Z, kernel, K = rows_and_kernel("rbf")
    sums = torch_sums(Z, kernel, dtype="float32")
    monkeypatch.setattr(sums._near, "apply", None)  # would be called in vain
    W = weights(N, "many")
    np.testing.assert_allclose(sums.apply(EVERYONE, EVERYONE, W), K @ W, rtol=0, atol=1e-5 * N)
    assert torch_sums(Z, kernel)._near is None


def test_rows_far_from_the_centre_keep_their_digits_or_are_refused():
    Z = np.random.default_rng(0).normal(size=(60, 3)) * 5.0
    sums = torch_sums(Z, kernels.RBF(0.3), dtype="float32")
    np.testing.assert_array_equal(np.diag(sums.block(slice(0, 60), slice(0, 60))), np.ones(60))
    with pytest.raises(DataError, match="float32 is too coarse here"):
        torch_sums(Z, kernels.RBF(1e-3), dtype="float32")


@pytest.mark.usefixtures("small_tiles")
def test_rows_far_out_are_summed_in_float64():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(N, 2))
    Z[[3, 30]] += [40.0, 0.0]  # these two, near each other, are far from all others
    _, kernel, _ = rows_and_kernel("rbf")
    exact, sums = torch_sums(Z, kernel), torch_sums(Z, kernel, dtype="float32")
    np.testing.assert_array_equal(np.flatnonzero(sums._near._is_far), [3, 30])
    for A, B, kind in ((EVERYONE, EVERYONE, "group"), (slice(0, 40), np.array([3, 9, 30]), "random")):
        W = weights(N if B is EVERYONE else 3, kind)
        expected = exact.apply(A, B, W)
        found = sums.apply(A, B, W)
        np.testing.assert_allclose(found, expected, rtol=0, atol=3e-7 * np.abs(W).sum())
        close = np.abs(W).sum() * of_a_mean(N, spread=2000.0)
        np.testing.assert_allclose(found[[3, 30]], expected[[3, 30]], rtol=0, atol=close)
    # Blocks have no far rows set apart: what a proof allows for must hold for them too.
    errors = np.abs(sums.block(EVERYONE, EVERYONE) - exact.block(EVERYONE, EVERYONE))
    assert product_error(np.full(2, 8.0), 2, kernel, "float32") < sums.rounding
    assert errors.max() <= sums.rounding


@pytest.mark.usefixtures("small_tiles")
def test_inner_products_of_any_size_fit_half_precision():
    rng = np.random.default_rng(0)
    some = (np.arange(40) < 13).astype(float)
    for size in (1e-6, 1e7):
        Z = rng.normal(size=(40, 5)) * size
        centred = Z - Z.mean(axis=0)  # as for every kernel that does not mind
        found = torch_sums(Z, kernels.Linear(), dtype="float32").apply(slice(0, 40), slice(0, 40), some)
        np.testing.assert_allclose(found, centred @ centred.T @ some, rtol=0, atol=1e-6 * 13 * size**2)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("method", ["s-sd", "sharp"])
def test_the_same_rows_and_values_as_without_torch(method, estimator):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(30, 2)), rng.normal(0.7, 1, size=(50, 2))
    one, other = (
        mb.mmd_bounds(
            X, Y, 0.2, method=exactly(method), estimator=estimator, backend=backend, rng=0, exactly=True
        )
        for backend in ("numpy", "torch")
    )
    assert other.provenance.backend == "torch"
    for side in ("lower", "upper"):
        a, b = getattr(one, side), getattr(other, side)
        np.testing.assert_array_equal(a.rows, b.rows)
        np.testing.assert_allclose(a.value, b.value, rtol=0, atol=1e-12)


def exactly(method):
    """The method, without a gap within which rounding may decide between labellings."""
    return mb.Sharp(gap=0) if method == "sharp" else method


def test_ties_fall_the_same_way():
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 2, size=(30, 2)).astype(float), rng.integers(0, 3, size=(40, 2)).astype(float)
    one, other = (
        mb.mmd_bounds(X, Y, 0.2, method="s-sd", backend=b, exactly=True) for b in ("numpy", "torch")
    )
    np.testing.assert_array_equal(one.upper.rows, other.upper.rows)
    np.testing.assert_array_equal(one.lower.rows, other.lower.rows)


def test_the_test_under_misfiling_runs_there_too():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(0.5, 1, size=(40, 2))
    one, other = (mb.robust_test(X, Y, 0.05, n_permutations=99, backend=b, rng=0) for b in ("numpy", "torch"))
    assert one.pvalue == other.pvalue
    np.testing.assert_allclose(one.null, other.null, rtol=0, atol=1e-12)


def test_what_torch_cannot_do_is_said():
    Z = np.eye(6)
    with pytest.raises(mb.MmdBoundsError, match="cannot take a precomputed matrix"):
        make_sums(Z, kernels.Precomputed(), backend="torch")
    with pytest.raises(mb.MmdBoundsError, match="cannot take a function of your own"):
        make_sums(Z, kernels.FunctionKernel(lambda A, B: A @ B.T), backend="torch")


def test_nobody_gets_torch_without_a_gpu_unless_asked():
    assert not torch_pays(10**6, kernels.RBF(1.0)) or has_gpu()
    assert not torch_pays(100, kernels.RBF(1.0))


def has_gpu():
    import torch

    return torch.cuda.is_available()


@pytest.fixture
def torch(monkeypatch):
    """PyTorch, with tensors on the CPU that are taken for tensors on a GPU."""
    import torch

    monkeypatch.setattr("mmdbounds.sums.torch.on_one_device", lambda X, Y: hasattr(X, "detach"))
    return torch


@pytest.mark.parametrize("name", ["rbf", "matern52", "laplacian", "polynomial", "energy"])
def test_tensors_stay_on_their_device(monkeypatch, torch, name):
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(40, 3)), rng.normal(0.5, 1, size=(60, 3))
    sharp = exactly("sharp")
    expected = mb.mmd_bounds(X, Y, 0.2, method=sharp, kernel=name, rng=0, backend="numpy", exactly=True)
    fetched = []
    monkeypatch.setattr("mmdbounds.sums.torch.TorchRows.__array__", lambda self, *_, **__: fetched.append(1))
    found = mb.mmd_bounds(
        torch.from_numpy(X), torch.from_numpy(Y), 0.2, method=sharp, kernel=name, rng=0, exactly=True
    )
    assert not fetched
    assert found.provenance.backend == "torch"
    for side in ("lower", "upper"):
        one, other = getattr(expected, side), getattr(found, side)
        np.testing.assert_array_equal(other.rows, one.rows)
        np.testing.assert_allclose(other.value, one.value, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        found.provenance.bandwidth or 0, expected.provenance.bandwidth or 0, rtol=1e-14
    )


def test_tensors_on_a_device_are_checked_there(torch):
    good = torch.ones((4, 2))
    bad = good.clone()
    bad[2, 1] = torch.nan
    with pytest.raises(DataError, match=r"`Y` .*missing"):
        mb.mmd2(good, bad)
    with pytest.raises(DataError, match="`X` must be 2-D"):
        mb.mmd2(good[:, 0], good)
    with pytest.raises(DataError, match="`Y` has no rows"):
        mb.mmd2(good, good[:0])
    with pytest.raises(ValueError, match="columns"):
        mb.mmd2(good, good[:, :1])


def test_the_median_of_many_rows_on_a_device_is_that_of_their_values(monkeypatch, torch):
    monkeypatch.setattr("mmdbounds.sums.bandwidth.SMALL_ROWS", 50)
    monkeypatch.setattr("mmdbounds.sums.torch.STRIP", 17)
    Z = np.random.default_rng(3).normal(size=(120, 3))
    expected = mb.mmd2(Z[:50], Z[50:], backend="numpy")
    found = mb.mmd2(torch.from_numpy(Z[:50]), torch.from_numpy(Z[50:]))
    np.testing.assert_allclose(found, expected, rtol=0, atol=of_mmd2(120))


def test_the_same_sums_rough_and_precise():
    Z, kernel, _ = rows_and_kernel("rbf")
    exact = torch_sums(Z, kernel)
    assert exact.rough is exact is exact.precise  # a CPU gains nothing
    single = torch_sums(Z, kernel, dtype="float32")
    assert single.rough is single
    assert (single.precise.dtype, single.precise.rounding) == ("float64", exact.rounding)
    W = weights(N, "random")
    np.testing.assert_array_equal(
        single.precise.apply(EVERYONE, EVERYONE, W), exact.apply(EVERYONE, EVERYONE, W)
    )
    exact = torch_sums(Z, kernel)
    exact.device = "cuda"  # where float32 is far faster
    assert exact.rough.dtype == "float32"
    assert exact.dtype == "float64"
    np.testing.assert_array_equal(
        exact.rough.apply(EVERYONE, EVERYONE, W), single.apply(EVERYONE, EVERYONE, W)
    )


def test_inner_products_beyond_float32_are_refused():
    """They were infinite, and so was the statistic."""
    Z = np.array([[0.1], [-0.2], [0.3], [1e13]])
    with pytest.raises(DataError, match="overflow float32"):
        torch_sums(Z, kernels.Polynomial(), dtype="float32")
    assert np.isfinite(torch_sums(Z, kernels.Polynomial()).block(slice(0, 4), slice(0, 4))).all()


@pytest.mark.usefixtures("small_tiles")
def test_rows_too_wide_for_the_fast_memory_of_a_gpu_take_blocks(monkeypatch):
    """With 200 columns a GPU has no room for the tiles, and the call ended there."""
    from mmdbounds.sums.torch.triton import FusedRows, OutOfResources

    Z, kernel, K = rows_and_kernel("rbf", d=3)
    sums = torch_sums(Z, kernel, dtype="float32")

    def refuses(*_):
        raise OutOfResources(393_728, 232_448, "shared memory")

    monkeypatch.setattr(FusedRows, "sums", refuses)
    found = sums.apply(EVERYONE, EVERYONE, np.ones(N))
    np.testing.assert_allclose(found, K.sum(axis=1), rtol=0, atol=sums.rounding * N)
