"""Slopes of the kernels: difference quotients of their formulas, hand-derived numbers at 0, and refusals."""

import numpy as np
import pytest

from mmdbounds import kernels, mmd2
from mmdbounds.errors import MmdBoundsError

SLOPED = {
    "rbf": kernels.RBF(0.7),
    "matern52": kernels.Matern52(0.7),
    "polynomial": kernels.Polynomial(3, 0.5, 0.25),
    "polynomial of degree 1": kernels.Polynomial(1, 0.5, 0.0),
    "linear": kernels.Linear(),
}
WITHOUT = (
    kernels.Laplacian(1.0),
    kernels.FunctionKernel(lambda A, B: A @ B.T),
    kernels.Precomputed(),
)


@pytest.mark.parametrize("kernel", SLOPED.values(), ids=SLOPED)
def test_a_slope_is_the_derivative_of_the_formula(kernel):
    t = np.array([1e-3, 0.1, 0.5, 1.0, 2.0, 7.0])
    if kernel.geometry == "inner":
        t = np.concatenate([-t, [0.0], t])
    h = 1e-6 * np.maximum(np.abs(t), 1e-2)
    quotient = (kernel.value(t + h) - kernel.value(t - h)) / (2 * h)
    slope = kernel.slope(t)
    assert kernel.has_slope
    assert slope.shape == t.shape
    np.testing.assert_allclose(slope, quotient, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("name", "at_zero"), [("rbf", 1 / 2), ("matern52", 5 / 6)])
def test_a_slope_at_distance_zero_is_finite(name, at_zero):
    # k = 1 - a t / bandwidth^2 + ... near t = 0, with a from the power series of each formula.
    np.testing.assert_allclose(SLOPED[name].slope(np.zeros(2)), -at_zero / 0.7**2, rtol=1e-14)


@pytest.mark.parametrize("kernel", WITHOUT, ids=lambda k: k.name)
def test_a_kernel_without_a_slope_says_so_and_names_those_with_one(kernel):
    assert not kernel.has_slope
    message = (
        rf"^the {kernel.name} kernel has no slope\. "
        "Use one of 'rbf', 'matern52', 'polynomial', 'linear'\\.$"
    )
    with pytest.raises(MmdBoundsError, match=message):
        kernel.slope(np.zeros(1))


@pytest.mark.parametrize("gamma", [None, 0.25])
def test_the_polynomial_kernel_is_the_cubic_one_with_the_gamma_that_was_given(gamma):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    xx, yy, xy = ((A @ B.T * (gamma or 1 / 3) + 1) ** 3 for A, B in ((X, X), (Y, Y), (X, Y)))
    expected = xx.mean() + yy.mean() - 2 * xy.mean()
    # Twelve roundings of values no larger than the largest one.
    close = {"rtol": 0, "atol": 1e-13 * max(each.max() for each in (xx, yy))}
    for kernel in (kernels.Polynomial(gamma=gamma), "polynomial")[: 1 if gamma else 2]:
        np.testing.assert_allclose(mmd2(X, Y, kernel=kernel, estimator="biased"), expected, **close)
