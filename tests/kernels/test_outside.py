"""Kernels from outside the package: every size, every backend, and no claim that is not true."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds import kernels
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import BandwidthKernel, PairKernel, register
from mmdbounds.sums import make_sums
from mmdbounds.sums.cpu.blocked import BlockedSums
from tolerances import of_mmd2


class Cauchy(BandwidthKernel):
    """Says nothing beyond its formula, and is 2 at distance 0."""

    name = "cauchy"
    spellings = ("rational_quadratic",)
    geometry = "distance2"

    def value(self, t):
        return 2 / (1 + t / self.bandwidth**2)


class WithTensor(Cauchy):
    """Says what it can, and has a form for PyTorch."""

    name = "cauchy with tensor"
    spellings = ()
    is_positive_definite = True
    sensitivity = 1.0

    def value(self, t):
        return super().value(t)

    def slope(self, t):
        return -2 / self.bandwidth**2 / (1 + t / self.bandwidth**2) ** 2

    def tensor(self, t):
        return 2 / (1 + t / self.bandwidth**2)


@dataclass(frozen=True)
class Wave(PairKernel):
    """A wave of the inner product: indefinite, bounded, without a bandwidth."""

    rate: float = 0.7
    name = "wave"
    geometry = "inner"

    def value(self, t):
        return np.cos(self.rate * t) + 0.1 * t


def naive_matrix(kernel, Z):
    """k of all pairs, from the definition."""
    if isinstance(kernel, Wave):
        inner = sum(np.multiply.outer(column, column) for column in Z.T)
        return np.cos(kernel.rate * inner) + 0.1 * inner
    squared = sum(np.subtract.outer(column, column) ** 2 for column in Z.T)
    return 2 / (1 + squared / kernel.bandwidth**2)


def naive_mmd2(K, in_x):
    """The unbiased squared MMD of a labelling, from the definition."""

    x, y = in_x.astype(float), (~in_x).astype(float)
    to_x, to_y, own = K @ x, K @ y, np.diag(K)
    within_x, within_y = ((to @ u - own @ u) / (u.sum() * (u.sum() - 1)) for to, u in ((to_x, x), (to_y, y)))
    return within_x + within_y - 2 * (to_x @ y) / (x.sum() * y.sum())


def observed(kernel, X, Y):
    """The same of two groups as filed."""
    return naive_mmd2(naive_matrix(kernel, np.vstack([X, Y])), np.arange(len(X) + len(Y)) < len(X))


def groups(n):
    rng = np.random.default_rng(n)
    return rng.normal(size=(n // 2, 2)), rng.normal(0.8, 1.0, size=(n - n // 2, 2))


KERNELS = {"plain": Cauchy(1.5), "with tensor": WithTensor(1.5), "inner": Wave()}
BACKENDS = ["numpy", pytest.param("torch", marks=pytest.mark.full)]


@pytest.mark.parametrize("n", [200, 6000])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.long
def test_bounds_follow_the_definition(kind, backend, n):
    X, Y = groups(n)
    kernel, scale = KERNELS[kind], 2.5
    options = {"kernel": kernel, "backend": backend}
    close = {"rtol": 0, "atol": 10 * scale * of_mmd2(n)}
    found = mb.mmd_bounds(X, Y, 0.05, method="s-sd", **options)
    K, filed = naive_matrix(kernel, np.vstack([X, Y])), np.arange(n) < len(X)
    np.testing.assert_allclose(found.observed, naive_mmd2(K, filed), **close)
    for bound in (found.lower, found.upper):
        in_x = filed.copy()
        in_x[len(X) + np.asarray(bound.rows)] = True
        np.testing.assert_allclose(bound.value, naive_mmd2(K, in_x), **close)
    uses_tensors = backend == "torch" and kind == "with tensor"
    assert found.provenance.backend == ("torch" if uses_tensors else "matrix" if n == 200 else "numpy")
    assert found.provenance.kernel == kernel.name


@pytest.mark.parametrize("n", [200, 6000])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.long
def test_tests_and_curves_take_its_name(backend, n):
    register(Cauchy)
    X, Y = groups(n)
    options = {"kernel": "Rational Quadratic", "bandwidth": 1.5, "backend": backend, "n_permutations": 19}
    expected = observed(KERNELS["plain"], X, Y)
    close = {"rtol": 0, "atol": 20 * of_mmd2(n)}
    tested = mb.robust_test(X, Y, 0.01, rng=0, **options)
    assert tested.pvalue == 1 / 20  # the groups are far apart
    assert tested.statistic < expected
    curve = mb.sweep(X, Y, epsilons=[0.0, 0.01], exactly=True, rng=0, **options)
    np.testing.assert_allclose(curve.observed, expected, **close)
    np.testing.assert_allclose(curve.points[0].lower, expected, **close)
    assert curve.points[1].lower < expected < curve.points[1].upper


def test_the_median_sets_its_bandwidth():
    register(Cauchy)
    X, Y = groups(40)
    Z = np.vstack([X, Y])
    median = np.median([np.linalg.norm(a - b) for a, b in itertools.combinations(Z, 2)])
    found = mb.mmd2(X, Y, kernel="cauchy")
    np.testing.assert_allclose(found, observed(Cauchy(float(median)), X, Y), rtol=0, atol=20 * of_mmd2(40))


@pytest.mark.full
@pytest.mark.parametrize("kind", KERNELS)
def test_a_cluster_computes_it_too(kind, client):
    X, Y = groups(300)
    options = {"kernel": KERNELS[kind], "working_memory": 1, "method": "s-sd", "backend": "dask"}
    with client.as_current():
        found = mb.mmd_bounds(X, Y, 0.05, **options)
    assert found.provenance.backend == "dask"
    expected = observed(KERNELS[kind], X, Y)
    np.testing.assert_allclose(found.observed, expected, rtol=0, atol=25 * of_mmd2(300))


@pytest.mark.parametrize("kind", KERNELS)
def test_no_labelling_beats_a_certificate(kind):
    """Of all labellings, with the matrix as computed and from the definition."""
    kernel, slack = KERNELS[kind], 25 * of_mmd2(13)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(6, 2)), rng.normal(0.5, 1, size=(7, 2))
        found = mb.mmd_bounds(X, Y, mb.Contamination(n_moved=2), kernel=kernel, rng=0)
        K = naive_matrix(kernel, np.vstack([X, Y]))
        values = []
        for rows in itertools.combinations(range(6, 13), 2):
            values.append(naive_mmd2(K, (np.arange(13) < 6) | np.isin(np.arange(13), rows)))
        assert found.lower.certified <= min(values) + slack
        assert found.upper.certified >= max(values) - slack


@pytest.mark.parametrize("kind", ["plain", "inner"])
@pytest.mark.parametrize("d", [1, 3, 17, 70])
def test_a_pair_has_one_value_in_every_block(kind, d):
    """What a certificate rests on where nobody knows how steep a kernel is."""
    rng = np.random.default_rng(d)
    Z = rng.normal(size=(90, d)) + 1e3
    sums = BlockedSums(Z, KERNELS[kind], block=(32, 32))
    assert sums.dtype == "float64"
    whole = sums.block(slice(0, 90), slice(0, 90))
    np.testing.assert_array_equal(whole, whole.T)
    for _ in range(5):
        A, B = (rng.choice(90, size=size, replace=False) for size in (7, 40))
        np.testing.assert_array_equal(sums.block(A, B), whole[np.ix_(A, B)])
        np.testing.assert_array_equal(BlockedSums(Z, KERNELS[kind]).block(A, B), whole[np.ix_(A, B)])


SHIPPED = [
    kernels.RBF(0.8),
    kernels.Laplacian(0.8),
    kernels.Matern52(0.8),
    kernels.Polynomial(1),
    kernels.Polynomial(5, coef0=0.3),
    kernels.Linear(),
]


@pytest.mark.parametrize("kernel", SHIPPED, ids=repr)
def test_the_kernels_of_the_package_follow_their_numbers_as_they_say(kernel):
    share, largest = 1e-7, 30.0
    if kernel.geometry == "inner":
        t = np.linspace(-largest, largest, 4001)
        moved, most = t + share * largest, kernel.value(np.array([largest]))[0]
    else:
        t = np.geomspace(1e-6, 1e4, 4001)
        moved, most = t * (1 + share), 1.0
    change = np.abs(kernel.value(moved) - kernel.value(t)).max()
    assert change <= kernel.sensitivity * share * most * (1 + 1e-5)


def test_a_subclass_of_a_kernel_of_the_package_is_computed_by_its_own_formula():
    """Compiled code for the old formula must not be used for the new one."""

    class Doubled(kernels.RBF):
        name = "doubled"

        def value(self, t):
            return 2 * super().value(t)

    Z = np.random.default_rng(0).normal(size=(60, 3))
    old, new = (
        BlockedSums(Z, kernel).block(slice(0, 60), slice(0, 60))
        for kernel in (kernels.RBF(1.0), Doubled(1.0))
    )
    np.testing.assert_allclose(new, 2 * old, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [30, 4200])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            lambda self, t: 1.0,
            r"^`value` of the kernel 'odd' must return real numbers of shape \(.*; got float64 of shape \(\)",
        ),
        (lambda self, t: t.astype(str), r"^`value` of the kernel 'odd' must return real numbers"),
        (lambda self, t: np.where(t > 1, np.nan, t), r"^the kernel gives values that are not finite"),
    ],
)
def test_a_formula_that_is_none_is_refused(value, message, n):
    cls = type("Odd", (PairKernel,), {"name": "odd", "geometry": "l1", "value": value})
    with pytest.raises(MmdBoundsError, match=message):
        mb.mmd2(*groups(n), kernel=cls())


def test_free_points_follow_its_slope():
    X, Y = groups(40)
    found = mb.baselines.QuasiNewton().interval(X, Y, 0.1, kernel=WithTensor(1.5))
    rows = mb.mmd_bounds(X, Y, 0.1, kernel=WithTensor(1.5), method="s-sd", exactly=True)
    assert found.upper >= rows.upper.value - 1e-9
    with pytest.raises(MmdBoundsError, match="which the cauchy kernel does not have"):
        mb.baselines.QuasiNewton().interval(X, Y, 0.1, kernel=Cauchy(1.5))


def test_a_kernel_without_sensitivity_claims_no_more_than_its_formula():
    Z = np.random.default_rng(0).normal(size=(50, 3))
    unknown, known = (make_sums(Z, kernel) for kernel in (Cauchy(1.0), WithTensor(1.0)))
    assert 0 < unknown.rounding <= known.rounding
    assert not unknown.is_positive_definite
    assert known.is_positive_definite
