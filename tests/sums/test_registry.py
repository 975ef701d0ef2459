"""Backends are found by their registration; one from outside of the package works everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds import kernels
from mmdbounds.sums import (
    Backend,
    KernelSums,
    backend_names,
    make_sums,
    register_backend,
    unregister_backend,
)
from mmdbounds.sums.cpu.blocked import BlockedSums
from mmdbounds.sums.registry import Rate, automatic, backend_called, backends, pooled_groups
from tolerances import of_mmd2

BLOCK = 1000

# 20 products of a kernel value and a weight below 6: at most 20 eps times the sum of their sizes.
CLOSE = {"rtol": 0, "atol": 1e-12}


class PlainSums(KernelSums):
    """Blocks of a formula of distances, in NumPy, with nothing but the two verbs without a default."""

    backend = "plain"
    rounding = 1e-9
    tie_width = 1e-9

    def __init__(self, Z, kernel, working_memory):
        self.n_rows, self.working_memory = len(Z), working_memory
        self.reach = kernel.reach
        self._Z, self._kernel = Z, kernel

    def diagonal(self, A):
        return np.ones(len(self._Z[A]))

    def fold(self, A, B, f):
        left, right = self._Z[A], self._Z[B]
        for i in range(0, len(left), BLOCK):
            for j in range(0, len(right), BLOCK):
                a, b = left[i : i + BLOCK], right[j : j + BLOCK]
                squared = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
                f(i, j, self._kernel.value(np.maximum(squared, 0.0)))


class PlainBackend(Backend):
    name, package = "plain", "NumPy"

    def make(self, rows, kernel, *, dtype, working_memory, meter):
        return PlainSums(np.asarray(rows), kernel, working_memory)


@pytest.fixture
def _plain():
    register_backend(PlainBackend())
    yield
    unregister_backend("plain")


def problem(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n // 2, 2)), rng.normal(0.3, 1.0, size=(n - n // 2, 2))


SIZES = pytest.mark.parametrize("n", [200, 6000])


@SIZES
@pytest.mark.usefixtures("_plain")
def test_bounds_with_a_backend_from_outside(n):
    X, Y = problem(n)
    options = {"method": "s-sd", "rng": 0, "bandwidth": 1.5}
    ours, plain = (
        mb.mmd_bounds(X, Y, 0.05, backend=name, **options, exactly=True) for name in ("numpy", "plain")
    )
    np.testing.assert_allclose(plain.interval, ours.interval, rtol=0, atol=of_mmd2(n))
    assert plain.provenance.backend == "plain"
    assert set(plain.lower.rows) == set(ours.lower.rows)


@SIZES
@pytest.mark.usefixtures("_plain")
def test_robust_test_with_a_backend_from_outside(n):
    X, Y = problem(n)
    options = {"n_permutations": 19, "rng": 0, "bandwidth": 1.5}
    ours, plain = (mb.robust_test(X, Y, 0.02, backend=name, **options) for name in ("numpy", "plain"))
    assert plain.pvalue == ours.pvalue
    assert plain.n_moved == ours.n_moved


@SIZES
@pytest.mark.usefixtures("_plain")
@pytest.mark.long
def test_sweep_with_a_backend_from_outside(n):
    X, Y = problem(n)
    options = {"epsilons": [0.0, 0.02], "n_permutations": 19, "rng": 0, "bandwidth": 1.5}
    ours, plain = (mb.sweep(X, Y, backend=name, **options) for name in ("numpy", "plain"))
    for point, other in zip(plain.points, ours.points, strict=True):
        assert point.pvalue == other.pvalue
        assert point.lower == pytest.approx(other.lower, rel=0, abs=of_mmd2(n))


@pytest.mark.usefixtures("_plain")
def test_what_has_a_default_is_what_the_matrix_gives():
    (X, Y), kernel = problem(50), kernels.RBF(1.5)
    Z = np.concatenate([X, Y])
    K = np.exp(-((Z[:, None] - Z[None, :]) ** 2).sum(2) / (2 * 1.5**2))
    sums = make_sums(Z, kernel, backend="plain")
    W, some = np.random.default_rng(1).normal(size=(20, 3)), np.array([3, 1, 40])
    np.testing.assert_allclose(sums.apply(some, slice(5, 25), W), K[some, 5:25] @ W, **CLOSE)
    np.testing.assert_allclose(sums.apply(some, slice(5, 25), W[:, 0]), K[some, 5:25] @ W[:, 0], **CLOSE)
    np.testing.assert_allclose(sums.block(some, slice(5, 25)), K[some, 5:25], **CLOSE)
    assert sums.apply(slice(0, 0), slice(5, 25), W).shape == (0, 3)
    assert sums.rough is sums.precise is sums
    assert (sums.holds_matrix, sums.is_compiled) == (False, False)


@pytest.mark.usefixtures("_plain")
def test_a_backend_from_outside_is_listed_and_named_in_messages(monkeypatch):
    monkeypatch.setattr("mmdbounds.sums.registry.measured_rate", lambda *_: Rate(1.0, 1.0))
    assert backend_names() == ("auto", "numpy", "torch", "dask", "plain")
    found = backends()
    assert [status.name for status in found] == ["numpy", "torch", "dask", "plain"]
    assert automatic(found)[0] in ("numpy", "torch")  # it has to be asked for
    X, Y = problem(20)
    with pytest.raises(mb.MmdBoundsError, match=r"'dask'.*'plain'"):
        mb.mmd2(X, Y, backend="plaim")


class Greedy(Backend):
    """Takes groups of its own, and all problems."""

    name = "greedy"

    def groups(self, X, Y, backend, working_memory):
        return backend_called("numpy").groups(X, Y, backend, working_memory) or pooled_of_words(X, Y)

    def wants(self, rows, kernel, backend, working_memory):
        return backend in ("auto", self.name)

    def make(self, rows, kernel, *, dtype, working_memory, meter):
        return BlockedSums(rows, kernel)


def pooled_of_words(X, Y):
    """Rows that come as text, a thing no other backend knows."""
    if not isinstance(X, str):
        return None
    rows = [np.array([[float(number)] for number in text.split()]) for text in (X, Y)]
    return pooled_groups(*rows, "numpy", 1024)._replace(backend="greedy")


def test_a_backend_can_take_groups_and_problems_by_itself():
    register_backend(Greedy())
    try:
        found = mb.mmd2("1 2 3", "2 3 5 7", bandwidth=1.0)
        assert isinstance(make_sums(np.eye(3), kernels.RBF(1.0)), BlockedSums)
    finally:
        unregister_backend("greedy")
    X, Y = np.array([[1.0], [2], [3]]), np.array([[2.0], [3], [5], [7]])
    assert found == pytest.approx(mb.mmd2(X, Y, bandwidth=1.0), abs=1e-12)
    assert "greedy" not in backend_names()


def test_refusals():
    with pytest.raises(mb.MmdBoundsError, match=r"derived from Backend, with a name; got Backend\."):
        register_backend(Backend())
    with pytest.raises(mb.MmdBoundsError, match=r"derived from Backend.*got str\."):
        register_backend("numpy")
    with pytest.raises(mb.MmdBoundsError, match=r"there is a backend 'numpy' already"):
        register_backend(backend_called("numpy"))
    with pytest.raises(mb.MmdBoundsError, match=r"no backend 'abacus'; there are 'numpy', 'torch', 'dask'"):
        unregister_backend("abacus")
