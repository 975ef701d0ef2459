"""The backend on a real cluster of two worker processes: the same numbers, also when one is killed."""

import os
import signal
import sys
import time
import types

import numpy as np
import pytest

import mmdbounds as mb
from lab.datasets import load_standin
from mmdbounds import kernels
from mmdbounds.errors import DataError
from mmdbounds.progress import Meter
from mmdbounds.sums import dask as cluster
from mmdbounds.sums import make_sums, plan
from mmdbounds.sums.bandwidth import canonical_order, median_distance
from mmdbounds.sums.cpu.blocked import BlockedSums
from mmdbounds.sums.dask import rows as dask_rows
from mmdbounds.sums.dask import sums as dask_sums
from problems import random_problem
from search.sharp.test_learned import spoiled_ceiling
from sums.test_verbs import SELECTIONS, N, naive_excess, pair_terms, rows_and_kernel, weights
from tolerances import of_mmd2, of_values

pytestmark = [
    pytest.mark.full,
    # A worker that was killed leaves its connections open, to be found by the collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

EVERYONE = slice(0, N)


@pytest.fixture
def small_blocks(monkeypatch):
    """Fifteen rows to a block, two blocks to a side of a tile, and nothing done here."""
    monkeypatch.setattr(dask_rows, "FEWEST", 15)
    monkeypatch.setattr(dask_sums, "TILE", 2)
    monkeypatch.setattr(dask_sums, "NEAR_PAIRS", 0)


def on_cluster(client, Z, kernel, *, at_hand=False, **options):
    """Make the sums over rows that are on the workers alone, unless they are `at_hand`."""
    rows = dask_rows.DaskRows.from_array(client, Z, 1024)
    rows.at_hand = Z if at_hand else None
    return dask_sums.DaskSums(rows, kernel, **options)


def sent_function(A, B):
    """A kernel of a user; the workers do not see this module, so it must be sent as code."""
    return 0.5 + (A @ B.T) ** 2


def rows_and_matrix(name):
    """Return rows, a kernel and its matrix, pair by pair."""
    if name != "function":
        return rows_and_kernel(name)
    kernel = kernels.FunctionKernel(types.FunctionType(sent_function.__code__, {}))
    Z = np.random.default_rng(0).normal(size=(N, 3))
    return Z, kernel, np.array([[0.5 + float(a @ b) ** 2 for b in Z] for a in Z])


CASES = [(name, "all, all") for name in ("laplacian", "linear", "function", "energy")]
CASES += [("rbf", selection) for selection in SELECTIONS]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("name", "selection"), CASES)
def test_verbs_follow_the_matrix(client, name, selection, monkeypatch):
    monkeypatch.setattr(dask_sums, "LEAST_PATCH", 8 * 10 * 15)  # patches of 10 x 15
    Z, kernel, K = rows_and_matrix(name)
    A, B = SELECTIONS[selection]
    expected, scale = K[A][:, B], np.abs(K).max()
    sums = on_cluster(client, Z, kernel, working_memory=1e-9)
    assert len(sums._rows.blocks) == 4
    np.testing.assert_allclose(sums.diagonal(A), np.diag(K)[A], rtol=0, atol=1e-12 * scale)
    for kind in ("group", "many"):
        W = weights(expected.shape[1], kind)
        result = sums.apply(A, B, W)
        assert result.dtype == np.float64
        np.testing.assert_allclose(result, expected @ W, rtol=0, atol=N * 1e-12 * scale)
    terms = pair_terms(*expected.shape)
    naive, largest = naive_excess(expected, *terms)
    excess = sums.excess(A, B, *terms)
    np.testing.assert_allclose(excess, naive, rtol=0, atol=(expected.shape[1] + 40) * 1e-12 * scale * largest)
    found = np.full(expected.shape, np.nan)
    sizes = []
    sums.fold(A, B, lambda i, j, block: (sizes.append(block.size), put(found, i, j, block)))
    assert max(sizes, default=0) <= 10 * 15
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


def put(found, i, j, block):
    assert np.isnan(found[i : i + len(block), j : j + block.shape[1]]).all()
    found[i : i + len(block), j : j + block.shape[1]] = block


@pytest.mark.usefixtures("small_blocks")
def test_learned_ceilings_are_those_of_a_matrix(client):
    problem = random_problem(9, kernel="rbf", two_way=True)
    on_workers = spoiled_ceiling(problem, on_cluster(client, problem.Z, problem.kernel))
    np.testing.assert_allclose(on_workers, spoiled_ceiling(problem), rtol=1e-9, atol=of_mmd2(len(problem.Z)))


@pytest.mark.parametrize("at_hand", [True, False])
def test_small_sums_are_computed_here(client, at_hand, monkeypatch):
    monkeypatch.setattr(dask_rows, "FEWEST", 8)
    Z, kernel, K = rows_and_kernel("rbf")
    sums = on_cluster(client, Z, kernel, at_hand=at_hand)

    def refuse(*_):
        raise AssertionError("a task was sent")

    monkeypatch.setattr(dask_sums, "submit", refuse)
    for A, B in SELECTIONS.values():
        W = weights(K[A][:, B].shape[1], "random")
        np.testing.assert_allclose(sums.apply(A, B, W), K[A][:, B] @ W, rtol=0, atol=N * 1e-12)
        np.testing.assert_allclose(sums.block(A, B), K[A][:, B], rtol=0, atol=1e-12)


@pytest.mark.usefixtures("small_blocks")
def test_each_pair_is_computed_once(client):
    Z, kernel, _ = rows_and_kernel("rbf")
    meter = Meter()
    on_cluster(client, Z, kernel, meter=meter).apply(EVERYONE, EVERYONE, weights(N, "group"))
    assert meter.n_pairs == N * (N + 1) // 2


@pytest.mark.usefixtures("small_blocks")
def test_rows_far_out_move_the_centre_as_elsewhere(client):
    Z = np.random.default_rng(0).normal(size=(60, 3))
    Z[7] = 1e6
    here, there = BlockedSums(Z, kernels.RBF(1.0)), on_cluster(client, Z, kernels.RBF(1.0))
    assert (there.rounding, there.tie_width) == (here.rounding, here.tie_width)
    everyone = slice(0, 60)
    np.testing.assert_allclose(
        there.block(everyone, everyone), here.block(everyone, everyone), rtol=0, atol=of_values()
    )
    with pytest.raises(DataError, match="float32 is too coarse here"):
        on_cluster(client, Z, kernels.RBF(1.0), dtype="float32")


@pytest.mark.usefixtures("small_blocks")
def test_float32_is_float32(client):
    Z, kernel, K = rows_and_kernel("rbf", d=20)
    sums = on_cluster(client, Z, kernel, dtype="float32")
    errors = np.abs(sums.block(EVERYONE, EVERYONE) - K)
    assert 1e-12 < errors.max() <= sums.rounding


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("l1", [True, False])
@pytest.mark.parametrize("small", [True, False])
def test_the_median_and_the_blind_order_are_the_same_to_the_last_bit(client, l1, small, monkeypatch):
    if not small:  # pairs are drawn
        monkeypatch.setattr("mmdbounds.sums.bandwidth.SMALL_ROWS", 10)
    Z = np.random.default_rng(0).normal(size=(300, 3)) * 1e5
    rows = on_cluster(client, Z, kernels.RBF(1.0))._rows
    assert median_distance(rows, l1=l1) == median_distance(Z, l1=l1)
    np.testing.assert_array_equal(canonical_order(rows), canonical_order(Z))
    same = on_cluster(client, np.ones((300, 3)), kernels.RBF(1.0))._rows
    with pytest.raises(DataError, match="all rows are equal"):
        median_distance(same)


def problem_with(kind, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "ties":
        return rng.integers(0, 3, size=(250, 3)).astype(float), rng.integers(0, 4, size=(350, 3)).astype(
            float
        )
    return rng.normal(size=(250, 3)), rng.normal(0.4, 1.2, size=(350, 3))


@pytest.fixture
def forced(monkeypatch):
    """Make 600 rows a problem for a cluster: no matrix is kept, and nothing is near."""
    monkeypatch.setattr(dask_rows, "FEWEST", 150)
    monkeypatch.setattr(dask_sums, "NEAR_PAIRS", 0)
    monkeypatch.setattr(plan, "SMALL_ROWS", 100)


def assert_same_bounds(one, other, tolerance=1e-12):
    assert other.provenance.backend == "dask"
    assert other.provenance.device == "2 workers"
    for side in ("lower", "upper"):
        a, b = getattr(one, side), getattr(other, side)
        np.testing.assert_array_equal(a.rows, b.rows)
        np.testing.assert_allclose(b.value, a.value, rtol=0, atol=tolerance)
    np.testing.assert_allclose(other.observed, one.observed, rtol=0, atol=tolerance)


@pytest.mark.usefixtures("client", "forced")
@pytest.mark.parametrize(("kind", "estimator"), [("plain", "biased"), ("ties", "unbiased")])
def test_the_same_rows_and_values_as_without_a_cluster(kind, estimator):
    X, Y = problem_with(kind)
    one, other = (
        mb.mmd_bounds(X, Y, 0.2, method="s-sd", estimator=estimator, backend=b) for b in ("numpy", "dask")
    )
    assert_same_bounds(one, other)
    assert abs(mb.mmd2(X, Y, backend="dask") - mb.mmd2(X, Y, backend="numpy")) < 1e-12


@pytest.mark.data
@pytest.mark.usefixtures("client", "forced")
def test_logits_with_exact_ties_move_the_same_rows():
    compas = load_standin("compas", os.environ["MMDBOUNDS_DATA"])
    one, other = (mb.mmd_bounds(compas.X, compas.Y, 0.2, method="s-sd", backend=b) for b in ("numpy", "dask"))
    assert len(np.unique(np.concatenate([compas.X, compas.Y]), axis=0)) < len(compas.X)  # many duplicates
    assert_same_bounds(one, other)


@pytest.mark.usefixtures("client", "forced")
def test_sharp_bounds_are_the_same(monkeypatch):
    monkeypatch.setattr(dask_sums, "NEAR_PAIRS", 150_000)  # columns and passes there, small blocks here
    X, Y = problem_with("plain", seed=2)
    one, other = (mb.mmd_bounds(X, Y, 0.05, rng=0, backend=backend) for backend in ("numpy", "dask"))
    assert_same_bounds(one, other)
    assert other.is_certified
    # Proofs end when they are good enough, after other steps where the last bits differ.
    width = one.upper.value - one.lower.value
    np.testing.assert_allclose(other.interval, one.interval, rtol=0, atol=0.01 * width)


@pytest.mark.usefixtures("client", "forced")
def test_the_test_under_misfiling_runs_there_too(monkeypatch):
    monkeypatch.setattr(dask_sums, "NEAR_PAIRS", 150_000)
    X, Y = problem_with("plain")
    one, other = (mb.robust_test(X, Y, 0.02, n_permutations=19, backend=b, rng=0) for b in ("numpy", "dask"))
    assert one.pvalue == other.pvalue
    np.testing.assert_allclose(one.null, other.null, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("client")
def test_a_small_problem_keeps_the_matrix_here():
    X, Y = problem_with("plain")
    assert mb.mmd_bounds(X, Y, 0.1, method="sd", backend="dask").provenance.backend == "matrix"


def test_what_a_cluster_cannot_do_is_said(client):
    with pytest.raises(mb.MmdBoundsError, match="it cannot take a matrix"):
        make_sums(np.eye(6), kernels.Precomputed(), backend="dask", working_memory=1e-6)
    rows = on_cluster(client, np.ones((50, 4)), kernels.RBF(1.0))._rows
    with pytest.raises(mb.MmdBoundsError, match=r"needs 50 rows in one process.*`working_memory` to 1 "):
        np.asarray(rows)


def test_a_kernel_that_workers_cannot_import_is_refused_at_once(client, monkeypatch):
    module = types.ModuleType("only_here")
    exec("def kernel(A, B):\n    return A @ B.T", module.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", module)
    with pytest.raises(
        mb.MmdBoundsError, match="not ready: ModuleNotFoundError: No module named 'only_here'"
    ):
        on_cluster(client, np.ones((50, 4)), kernels.FunctionKernel(module.kernel))
    monkeypatch.setattr(cluster, "__version__", "0.0")
    with pytest.raises(mb.MmdBoundsError, match=r"it has mmdbounds .* Install mmdbounds 0\.0 there"):
        on_cluster(client, np.ones((50, 4)), kernels.RBF(1.0))


class Killer(Meter):
    """Kills a worker when so many pairs are done."""

    def __init__(self, client, after):
        super().__init__()
        self._pid, self._after = next(iter(client.run(os.getpid).values())), after
        self.has_killed = False

    def add(self, pairs):
        super().add(pairs)
        if not self.has_killed and self.n_pairs > self._after:
            os.kill(self._pid, signal.SIGKILL)
            self.has_killed = True


def test_a_worker_killed_in_the_middle_changes_nothing(client, monkeypatch):
    monkeypatch.setattr(dask_rows, "FEWEST", 32)
    monkeypatch.setattr(dask_sums, "NEAR_PAIRS", 0)
    Z = np.random.default_rng(0).normal(size=(500, 4))
    W, everyone = weights(500, "group"), slice(0, 500)
    undisturbed = on_cluster(client, Z, kernels.RBF(2.0), at_hand=True).apply(everyone, everyone, W)
    meter = Killer(client, after=500 * 500 // 6)
    sums = on_cluster(client, Z, kernels.RBF(2.0), at_hand=True, meter=meter)
    disturbed = sums.apply(everyone, everyone, W)
    assert meter.has_killed
    np.testing.assert_array_equal(disturbed, undisturbed)
    assert meter.n_pairs == 500 * 501 // 2
    client.wait_for_workers(2, timeout=60)  # its nanny starts another one
    np.testing.assert_array_equal(sums.apply(everyone, everyone, W), undisturbed)


def test_what_a_cluster_gives_up_is_said_in_a_line():
    from distributed import CancelledError
    from distributed.scheduler import KilledWorker

    class Client:
        def __init__(self, error):
            self.error = error

        def gather(self, _):
            raise self.error

    def future_that(error):
        return types.SimpleNamespace(client=Client(error))

    with pytest.raises(mb.MmdBoundsError, match="4 workers died at the same piece of work"):
        cluster.result_of(future_that(KilledWorker("task", None, 3)))
    with pytest.raises(mb.MmdBoundsError, match=r"the Dask cluster dropped the work \(gone\)"):
        cluster.result_of([future_that(CancelledError("gone"))])


@pytest.mark.usefixtures("client")
def test_work_that_is_cancelled_ends_the_wait(client):
    waiting = cluster.submit(client, time.sleep, 1)
    client.cancel([waiting])
    with pytest.raises(mb.MmdBoundsError, match="the Dask cluster dropped the work"):
        cluster.wait(waiting)


def test_differences_that_vanish_are_refused_on_a_cluster(client):
    Z = 1e-200 * np.random.default_rng(0).normal(size=(N, 3))
    with pytest.raises(
        DataError, match=r"the squares of differences of rows vanish: all are below .*Rescale"
    ):
        on_cluster(client, Z, kernels.Energy())
