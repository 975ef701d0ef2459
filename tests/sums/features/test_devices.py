"""The same features, and sums of them, on PyTorch's tensors and on a cluster."""

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.progress import Meter
from mmdbounds.sums import make_sums
from mmdbounds.sums.bandwidth import resolve_kernel
from mmdbounds.sums.dask import rows as dask_rows
from mmdbounds.sums.dask import sums as dask_sums
from mmdbounds.sums.dask.sums import DaskFeatureSums
from mmdbounds.sums.features import residual
from mmdbounds.sums.features import sums as strips_of_features
from mmdbounds.sums.features.maps import make_map
from mmdbounds.sums.features.sums import FeatureSums, feature_sums
from mmdbounds.sums.torch.sums import TorchFeatures, torch_feature_sums
from sums.features.test_features import LANDMARKED, exact_matrix, some_rows
from sums.test_verbs import SELECTIONS, N, weights

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # connections of a cluster that ends
]

KERNELS = [mb.RandomFeatures("rbf", 30), *(mb.Nystrom(name, 12) for name in LANDMARKED)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{kernel.name} {kernel.kernel}")
def test_tensors_have_the_same_features(kernel):
    Z = some_rows()
    made = make_map(resolve_kernel(kernel, "median", Z), 3)
    phi = made(Z)
    for rows in (slice(0, N), slice(3, 20), np.array([5, 2, 50])):
        found = TorchFeatures(Z, made, "float64", "cpu").of(rows).numpy()
        # Landmarks that are nearly alike make features less certain than their products.
        np.testing.assert_allclose(found @ phi.T, phi[rows] @ phi.T, rtol=0, atol=1e-9 * np.abs(phi).max())
    coarse = TorchFeatures(Z, made, "float32", "cpu")
    assert str(coarse.of(slice(0, 3)).dtype) == "torch.float32"


def on_cluster(client, Z, kernel, **options):
    rows = dask_rows.DaskRows.from_array(client, Z, 1024)
    rows.at_hand = None  # on the workers alone
    return DaskFeatureSums(rows, kernel, **options)


@pytest.mark.parametrize("kernel", KERNELS[:3], ids=lambda kernel: f"{kernel.name} {kernel.kernel}")
@pytest.mark.parametrize("where", ["torch", "dask"])
def test_verbs_follow_the_features(client, kernel, where, monkeypatch):
    monkeypatch.setattr(strips_of_features, "STRIP_ROWS", 16)
    monkeypatch.setattr(dask_sums, "STRIP_ROWS", 16)
    monkeypatch.setattr(dask_rows, "FEWEST", 15)
    Z = some_rows()
    fixed = resolve_kernel(kernel, "median", Z)
    phi = make_map(fixed, 3)(Z)
    K = phi @ phi.T
    sums = torch_feature_sums(Z, fixed, device="cpu", working_memory=0.01)
    if where == "dask":
        sums = on_cluster(client, Z, fixed)
        assert len(sums._rows.blocks) == 4
    close = {"rtol": 0, "atol": 1e-9}
    for A, B in SELECTIONS.values():
        expected = K[A][:, B]
        np.testing.assert_allclose(sums.block(A, B), expected, **close)
        np.testing.assert_allclose(sums.diagonal(A), np.diag(K)[A], **close)
        for kind in ("ones", "many"):
            W = weights(expected.shape[1], kind)
            np.testing.assert_allclose(sums.apply(A, B, W), expected @ W, rtol=0, atol=N * 1e-9)
    assert sums.is_positive_definite
    assert 0 < sums.tie_width <= sums.rounding < 1e-6


def test_float32_on_tensors_and_on_a_cluster(client):
    Z, W = some_rows(), np.random.default_rng(0).normal(size=N)
    fixed = resolve_kernel(mb.RandomFeatures("rbf", 30), "median", Z)
    everyone = slice(0, N)
    exact = feature_sums(Z, fixed, dtype="float64", working_memory=0.01, meter=None).apply(
        everyone, everyone, W
    )
    for sums in (
        torch_feature_sums(Z, fixed, dtype="float32", device="cpu"),
        on_cluster(client, Z, fixed, dtype="float32"),
    ):
        assert sums.dtype == "float32"
        error = np.abs(sums.apply(everyone, everyone, W) - exact).max()
        assert 1e-12 < error < 1e-5
    torch = torch_feature_sums(Z, fixed, dtype="float32", device="cpu")
    np.testing.assert_allclose(torch.precise.apply(everyone, everyone, W), exact, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda kernel: kernel.name)
def test_the_same_rows_move_everywhere(client, kernel, monkeypatch):
    monkeypatch.setattr("mmdbounds.sums.plan.SMALL_ROWS", 10)  # or the matrix would be kept
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(150, 2)), rng.normal(0.8, 1, size=(200, 2))
    here, torch, dask = (
        mb.mmd_bounds(X, Y, 0.2, kernel=kernel, method="s-sd", backend=backend, exactly=True)
        for backend in ("numpy", "torch", "dask")
    )
    assert [r.provenance.backend for r in (here, torch, dask)] == ["numpy", "torch", "dask"]
    for other in (torch, dask):
        for mine, theirs in ((here.lower, other.lower), (here.upper, other.upper)):
            assert np.array_equal(mine.rows, theirs.rows)
            assert abs(mine.value - theirs.value) < 1e-12
        assert other.approximation.lower.exact == pytest.approx(here.approximation.lower.exact, abs=1e-12)


@pytest.mark.parametrize("name", ["rbf", "polynomial"])
def test_a_proof_needs_no_rows_here(client, name, monkeypatch):
    monkeypatch.setattr(dask_rows, "FEWEST", 15)
    Z = some_rows()
    fixed = resolve_kernel(mb.Nystrom(name, 5), "median", Z)
    made = make_map(fixed, 3)
    R = exact_matrix(Z, fixed.exact) - made(Z) @ made(Z).T
    rows = dask_rows.DaskRows.from_array(client, Z, 1024)
    rows.at_hand = None
    own = residual.own_residuals(rows, fixed, made.diagonal(Z))
    np.testing.assert_allclose(own, np.diag(R), rtol=0, atol=1e-9 * np.abs(R).max() + 1e-9)
    norm = residual.residual_norm(rows, fixed, made, own, 1e-9, Meter())
    assert np.linalg.eigvalsh(R)[-1] <= norm <= np.trace(R) + 1e-6


def test_torch_is_taken_where_it_is_asked_for():
    Z = some_rows()
    sums = make_sums(Z, resolve_kernel(KERNELS[0], "median", Z), backend="torch")
    assert isinstance(sums, FeatureSums)
    assert sums.backend == "torch"
