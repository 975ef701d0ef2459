"""The rounding model: what is claimed against long double, on rows made to hurt."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmdbounds as mb
from fuzzing.naive import IS_LONG, kernel_matrix
from mmdbounds import kernels
from mmdbounds.errors import DataError
from mmdbounds.sums import make_sums, rounding
from mmdbounds.sums.cpu.blocked import BlockedSums
from mmdbounds.sums.points import GOOD_PRODUCT, prepare

pytestmark = pytest.mark.skipif(not IS_LONG, reason="long double has no more digits than float64 here")

DISTANCE = ["rbf", "matern52", "laplacian"]
ENERGY = ["energy", "energy 0.1", "energy 1.9"]
EVERY = [*DISTANCE, *ENERGY, "linear", "polynomial"]


def kernel_of(name, bandwidth=1.0):
    if name in ENERGY:
        return kernels.Energy(float([*name.split(), "1"][1]))
    makers = {"linear": kernels.Linear, "polynomial": kernels.Polynomial}
    return makers[name]() if name in makers else kernels.kernel_class(name)(bandwidth)


def exact(Z, name, bandwidth=1.0):
    if name == "linear":  # about the mean as it was rounded: no squared MMD depends on the origin, values do
        Z = Z.astype(np.longdouble) - Z.mean(axis=0)
        return Z @ Z.T
    if name in ENERGY:
        return kernel_matrix(Z, "energy", exponent=kernel_of(name).exponent).values
    return kernel_matrix(Z, name, bandwidth=bandwidth).values


def errors(sums, K):
    """The largest error of a value and of a mean, relative to the largest value."""
    everyone = slice(0, len(K))
    largest = np.abs(K).max()
    signs = np.where(np.arange(len(K)) % 3 == 0, -1.0, 1.0)
    of_values = np.abs(sums.block(everyone, everyone) - K).max()
    of_sums = np.abs(sums.apply(everyone, everyone, signs[:, None])[:, 0] - K @ signs).max() / len(K)
    return float(of_values / largest), float(of_sums / largest)


def far(size, seed=0, n=24, d=3, several=1):
    """Ordinary rows, and some far out."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    Z[rng.choice(n, several, replace=False)] *= size
    return Z


@pytest.mark.parametrize("several", [1, 2, 5])
@pytest.mark.parametrize("size", [1e3, 1e6, 1e10, 1e14, 1e18, 1e100])
@pytest.mark.parametrize("name", [*DISTANCE, *ENERGY])
def test_rows_far_out_cost_no_other_row_a_digit(name, size, several):
    """Differences are exact, and a product is taken only where it is as good."""
    Z = far(size, several=several)
    K = exact(Z, name)
    for sums in (make_sums(Z, kernel_of(name)), BlockedSums(Z, kernel_of(name), block=(8, 8))):
        assert max(errors(sums, K)) <= sums.rounding <= rounding.claimed(GOOD_PRODUCT, 1e-13)


@pytest.mark.full
@pytest.mark.parametrize("size", [1e3, 1e10, 1e18, 1e100])
@pytest.mark.parametrize("name", [*DISTANCE, *ENERGY])
def test_rows_far_out_cost_no_other_row_a_digit_on_tensors(name, size):
    from mmdbounds.sums.torch.sums import TorchSums

    Z = far(size, several=3)
    sums = TorchSums(Z, kernel_of(name), device="cpu")
    assert max(errors(sums, exact(Z, name))) <= sums.rounding <= rounding.claimed(GOOD_PRODUCT, 1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["rbf", "matern52"])
@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([1.0, 10.0, 25.0]),
    offset=st.sampled_from([0.0, 1e3, 1e8]),
    d=st.sampled_from([1, 3, 40]),
    near=st.sampled_from([0.0, 1e-9, 1e-3]),
)
@settings(max_examples=12)
def test_a_product_is_off_by_no_more_than_is_claimed(name, dtype, seed, size, offset, d, near):
    """Forced where differences would be taken: far rows together, near duplicates, a common offset."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(20, d))
    Z[:4] *= size
    Z[2], Z[3] = Z[0] + near, Z[1] * (1 + near)
    Z += offset
    kernel = kernel_of(name, 1.0 * np.sqrt(d))
    points = prepare(Z, kernel, dtype)
    left, right = points.left(slice(0, 20)), points.right
    squared = np.maximum(-2.0 * points.unit * np.asarray(left @ right.T, dtype=np.float64), 0.0)
    np.fill_diagonal(squared, 0.0)
    off = np.abs(kernel.value(squared) - exact(Z, name, kernel.bandwidth))
    assert 0 < off.max() <= points.value_error


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("scale", [1e-40, 1e-3, 1.0, 1e5, 1e40])
def test_every_kernel_keeps_what_is_claimed_at_every_scale(name, scale):
    Z = scale * np.random.default_rng(1).normal(size=(30, 5))
    bandwidth = 2.0 * scale
    sums = make_sums(Z, kernel_of(name, bandwidth))
    assert max(errors(sums, exact(Z, name, bandwidth))) <= sums.rounding < 2e-12


@pytest.mark.parametrize("name", EVERY)
def test_five_thousand_columns_are_allowed_for(name):
    """So many products lose more than a handful does, and the claim grows with them."""
    rng = np.random.default_rng(2)
    Z = rng.lognormal(sigma=2.0, size=(12, 5000))
    Z[1] = Z[0] * (1 + 1e-9)
    bandwidth = float(np.linalg.norm(Z[0] - Z[2]))
    for sums in (make_sums(Z, kernel_of(name, bandwidth)), BlockedSums(Z, kernel_of(name, bandwidth))):
        assert max(errors(sums, exact(Z, name, bandwidth))) <= sums.rounding
    assert rounding.inner_error(5000, kernels.Polynomial(), "float64") > rounding.ARITHMETIC
    assert rounding.pair_error(10_000, kernels.RBF(1.0)) > rounding.ARITHMETIC


@pytest.mark.parametrize(("bandwidth", "size"), [(1e-5, 1.0), (1e5, 1.0), (1e-3, 1e4)])
@pytest.mark.parametrize("name", DISTANCE)
def test_tiny_and_huge_lengths(name, bandwidth, size):
    rng = np.random.default_rng(3)
    Z = size * rng.normal(size=(20, 2))
    Z[10:] = Z[:10] + bandwidth * rng.normal(size=(10, 2))  # each row has a neighbour
    for sums in (
        make_sums(Z, kernel_of(name, bandwidth)),
        BlockedSums(Z, kernel_of(name, bandwidth), block=(4, 8)),
    ):
        assert max(errors(sums, exact(Z, name, bandwidth))) <= sums.rounding <= 2e-12


@pytest.mark.parametrize("name", ENERGY)
@pytest.mark.parametrize("near", [1e-9, 1e-100, 1e-155, 1e-160, 1e-200])
def test_rows_that_nearly_coincide_cost_the_energy_kernel_no_more_than_is_claimed(name, near):
    """Its slope at distance 0 is infinite, and squares of small differences vanish."""
    Z = np.random.default_rng(5).normal(size=(16, 3))
    Z[8:] = near * Z[:8]
    Z[:8] *= 0.01  # the largest distance is small, too
    for sums in (make_sums(Z, kernel_of(name)), BlockedSums(Z, kernel_of(name), block=(4, 8))):
        assert max(errors(sums, exact(Z, name))) <= sums.rounding <= 2e-12


def test_differences_that_vanish_move_the_energy_kernel_by_their_share_to_its_power():
    kernel, d = kernels.Energy(0.05), 2
    Z = np.array([[0.0, 0.0], [1e-163, 0.0], [1.0, 0.0], [0.3, 0.4]])
    sums = make_sums(Z, kernel)
    off = errors(sums, kernel_matrix(Z, "energy", exponent=0.05).values)[0]
    assert 1e-9 < off <= sums.rounding  # 1e-163 counts as 0
    np.testing.assert_allclose(rounding.vanishing_error(1.0, d, kernel), (d * 2.0**-537) ** 0.05, rtol=1e-12)


def test_one_far_row_costs_nothing_and_two_of_them_do():
    kernel = kernels.RBF(1.0)
    alone, together = np.array([1.0, 2.0, 1e12]), np.array([1.0, 1e12, 1e12])
    assert rounding.product_error(alone, 2, kernel, "float64") < 1e-14
    assert rounding.product_error(together, 2, kernel, "float64") > 1e-3


@pytest.mark.parametrize("name", ["rbf", "matern52"])
def test_the_bound_of_a_product_is_the_largest_of_all_pairs(name):
    """Only neighbours in the order of norms are looked at; the definition looks at all pairs."""
    rng = np.random.default_rng(4)
    kernel, d = kernel_of(name), 3
    for _ in range(50):
        norms = np.exp(rng.uniform(-5, 40, size=9))
        lost = (3 * d + 14) * 2.0**-53
        pairs = [
            lost * (a + b) * abs(kernel.slope(max(0.99 * (a**0.5 - b**0.5) ** 2 - lost * (a + b), 0.0)))
            for i, a in enumerate(norms)
            for b in np.delete(norms, i)
        ]
        claimed = rounding.product_error(norms, d, kernel, "float64")
        assert claimed >= min(max(pairs), 1.0)


def test_a_row_far_out_is_never_taken_for_another_kernel():
    """Held to distances of at least 0, a Gaussian takes another loop; the other kernels have it in theirs."""
    Z = np.full((4300, 2), 1e9)
    Z[:4100] = np.random.default_rng(5).normal(size=(4100, 2))
    Z[4100:, 0] += np.arange(200) * 1e-6
    some = np.r_[0:6, 4100:4106]
    for name in ("rbf", "matern52"):
        sums = BlockedSums(Z, kernel_of(name))
        values = sums.block(some, some)
        assert ((values >= 0) & (values <= 1)).all()
        near = exact(Z[:6], name)
        np.testing.assert_allclose(values[:6, :6], np.asarray(near, float), rtol=0, atol=1e-12)


class Steep(kernels.PairKernel):
    """Somebody's own kernel of the squared distance, steeper than any of ours, and 2 at distance 0."""

    name = "steep"
    geometry = "distance2"

    def value(self, t):
        return 2.0 / (1.0 + 1e6 * np.asarray(t))


@pytest.mark.parametrize("n", [40, 4300])
def test_a_kernel_of_ones_own_works_at_every_size(n):
    """It took the compiled formula of a kernel that it is not, and ended in a KeyError."""
    rng = np.random.default_rng(6)
    Z = rng.normal(size=(n, 2)) + 1e4
    sums = make_sums(Z, Steep())
    some = np.arange(0, n, max(1, n // 40))
    difference = Z[some][:, None] - Z[some]
    K = 2.0 / (1.0 + 1e6 * (difference**2).sum(axis=-1))
    np.testing.assert_allclose(sums.block(some, some), K, rtol=0, atol=2 * sums.rounding)
    np.testing.assert_allclose(sums.diagonal(some), 2.0, rtol=0, atol=0)
    found = mb.mmd2(Z[: n // 2], Z[n // 2 :], kernel=Steep())
    assert np.isfinite(found)


def test_a_kernel_without_a_formula_says_so():
    class Nothing(kernels.Kernel):
        name = "nothing"
        geometry = "distance2"

    with pytest.raises(
        mb.MmdBoundsError, match=r"the kernel Nothing has no formula\. Derive it from PairKernel"
    ):
        mb.mmd2(np.zeros((3, 1)), np.ones((3, 1)), kernel=Nothing())


@pytest.mark.parametrize(("size", "dtype"), [(1e-30, "float32"), (1e-22, "float32"), (1e-160, "float64")])
@pytest.mark.parametrize("kernel", [kernels.Linear(), kernels.Polynomial(degree=2, coef0=0.0)])
def test_inner_products_that_vanish_are_refused(size, dtype, kernel):
    """They were 0, or lost their digits, and the certificate said nothing of it; one search never ended."""
    rng = np.random.default_rng(0)
    X, Y = size * rng.normal(size=(70, 2)), size * (rng.normal(size=(70, 2)) + 1)
    with pytest.raises(DataError, match=rf"the inner products of the rows vanish in {dtype}"):
        mb.mmd2(X, Y, kernel=kernel, dtype=dtype, working_memory=1)
    assert mb.mmd2(0 * X, 0 * Y, kernel=kernel, dtype=dtype, working_memory=1) == 0.0


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_kernel_values_whose_squares_are_no_numbers_are_refused(size):
    K = size * np.array([[2.0, 1, 0, 0], [1, 2, 0, 1], [0, 0, 2, 1], [0, 1, 1, 2]])
    with pytest.raises(DataError, match=r"kernel values must be between 1e-140 and 1e\+140 in size"):
        mb.sweep(K[:2], K[2:], kernel="precomputed", epsilons=[0.0], rng=0)


@pytest.mark.parametrize("size", [1e-30, 1e30])
@pytest.mark.parametrize("name", ["rbf", "matern52"])
def test_a_length_whose_square_is_outside_float32(size, name):
    """0 times infinity was NaN, which no check saw; the stepwise search then took no row for ever."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(250, 3)), rng.normal(size=(250, 3)) + 0.5
    options = {"kernel": name, "dtype": "float32", "working_memory": 1, "backend": "numpy"}
    misfiling = mb.Contamination(n_moved=1)
    scaled = mb.mmd_bounds(
        size * X, size * Y, misfiling, method="s-sd", bandwidth=size, **options, exactly=True
    )
    plain = mb.mmd_bounds(X, Y, misfiling, method="s-sd", bandwidth=1.0, **options, exactly=True)
    assert scaled.observed == pytest.approx(plain.observed, abs=4 * 3e-5)  # what float32 claims to lose
    assert scaled.upper.value == pytest.approx(plain.upper.value, abs=4 * 3e-5)
