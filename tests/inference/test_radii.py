"""Radii: numbers derived by hand, and laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.radii import deviation_radius, variance_radius
from problems import Signed

ROUNDING = 1e-12

sizes = st.integers(1, 5000)
chances = st.floats(1e-6, 0.9)
kappas = st.floats(0.01, 100)


def test_deviation_radius_by_hand():
    # sqrt(1/100 + 1/100) (1 + sqrt(log 20)), and 2 log 20 for kernels with negative values
    assert deviation_radius(100, 100, 1.0, 0.05) == pytest.approx(0.1414214 * (1 + 1.7308184), abs=1e-6)
    assert deviation_radius(25, 100, 4.0, math.exp(-1)) == pytest.approx(math.sqrt(0.2) * 2, abs=ROUNDING)
    wide = deviation_radius(25, 100, 4.0, math.exp(-2), nonnegative=False)
    assert wide == pytest.approx(math.sqrt(0.2) * 3, abs=ROUNDING)


def test_variance_radius_by_hand():
    # s^2 = 0.0016 with q = log(200) / (500 * 499) = 2.1236e-5: s = 0.040265 + 0.0046082, b = sqrt(2) / 500;
    # Bennett's bound lies above that of a sub-Gaussian variable, sqrt(2 s^2 log(2 / 0.045)) = 0.12359 ...
    found, s, b = variance_radius(0.0016, 500, 500), 0.0448728, 2**0.5 / 500
    assert 0.12359 < found < 0.12359 + b * math.log(2 / 0.045) / 3  # ... and below Bernstein's
    # With many rows and all the variance there can be, McDiarmid at nine tenths of delta is the smaller one.
    full = variance_radius(0.004, 500, 500)
    assert full == pytest.approx(0.0632456 * (1 + math.sqrt(math.log(1 / 0.045))), abs=1e-6)
    least = min(
        b / u * (math.log(2 / 0.045) + s**2 / b**2 * (math.expm1(u) - u)) for u in np.linspace(0.01, 2, 9999)
    )
    assert found == pytest.approx(least, abs=1e-6)


@given(sizes, sizes, kappas, chances, st.floats(0, 1), st.floats(0, 1))
def test_a_variance_costs_little_and_more_of_it_costs_more(n_x, n_y, kappa, delta, one, other):
    low, high = sorted((one, other))
    total = kappa * (1 / n_x + 1 / n_y)
    less, more = (variance_radius(share * total, n_x, n_y, kappa, delta) for share in (low, high))
    assert less <= more * (1 + ROUNDING)
    without = deviation_radius(n_x, n_y, kappa, delta)
    at_nine_tenths = deviation_radius(n_x, n_y, kappa, 0.9 * delta)
    assert more <= at_nine_tenths * (1 + ROUNDING)
    if min(n_x, n_y) < 2:
        assert more == without


ATOMS = (0.0, 0.01, 0.03, 0.1, 0.3, 0.5, 0.97, 1.0)


@pytest.mark.parametrize(("n_x", "n_y"), [(5, 5), (12, 30), (40, 40), (90, 15), (120, 120)])
@pytest.mark.parametrize("similarity", [0.0, 0.9])
@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_populations_of_two_atoms_are_covered_as_promised(n_x, n_y, similarity, delta):
    """Exactly, by sums over binomial numbers of rows at one atom; k is 1 at an atom, else `similarity`."""
    from scipy.stats import binom

    i, j = np.arange(n_x + 1), np.arange(n_y + 1)
    x, y = (2 * k * (n - k) * (1 - similarity) / (n * (n - 1)) / n for k, n in ((i, n_x), (j, n_y)))
    variances, places = np.unique(np.round(x[:, None] + y, 15), return_inverse=True)
    radii = np.array([variance_radius(v, n_x, n_y, 1.0, delta) for v in variances])
    radius = radii[places.reshape(n_x + 1, n_y + 1)]
    length = math.sqrt(2 - 2 * similarity)
    roots = length * np.abs(i[:, None] / n_x - j / n_y)
    for a in ATOMS:
        for b in ATOMS:
            is_covered = np.abs(roots - length * abs(a - b)) <= radius
            chance = binom.pmf(i, n_x, a) @ is_covered @ binom.pmf(j, n_y, b)
            assert chance >= 1 - delta, (a, b)


def test_a_kernel_knows_its_bound_and_its_sign():
    assert deviation_radius(30, 40, mb.kernels.RBF(2.0), 0.1) == deviation_radius(30, 40, 1.0, 0.1)
    signed = deviation_radius(30, 40, Signed(), 0.1)
    assert (
        signed == deviation_radius(30, 40, 1.0, 0.1, nonnegative=False) > deviation_radius(30, 40, 1.0, 0.1)
    )


def test_the_norm_of_the_errors_stays_within_the_radius():
    """The inequality behind the radius, on a kernel whose features can be written down."""
    rng, n_x, n_y, delta = np.random.default_rng(0), 8, 12, 0.2
    chances_of_a_value = np.array([0.5, 0.3, 0.2])
    # k(a, b) = [a == b]: features are unit vectors, mean embeddings the frequencies.
    errors = [
        rng.multinomial(n_x, chances_of_a_value) / n_x - rng.multinomial(n_y, chances_of_a_value) / n_y
        for _ in range(4000)
    ]
    beyond = np.mean(np.linalg.norm(errors, axis=1) > deviation_radius(n_x, n_y, 1.0, delta))
    assert beyond <= delta


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: deviation_radius(0, 5), r"`n_x` must be a whole number from 1; got 0\."),
        (lambda: deviation_radius(5, 2.5), r"`n_y` must be a whole number from 1; got 2\.5\."),
        (lambda: deviation_radius(5, 5, -1.0), r"`kappa` must be a positive finite number; got -1\."),
        (lambda: deviation_radius(5, 5, "rbf"), r"`kappa` must be a positive finite number; got 'rbf'\."),
        (
            lambda: deviation_radius(5, 5, mb.kernels.Linear()),
            r"`kernel` must have a known bound.*; got 'linear'\.",
        ),
        (lambda: variance_radius(-1.0, 5, 5), r"`variance` must be a number from 0; got -1\."),
        (
            lambda: variance_radius(0.1, 5, 5, Signed()),
            r"`kappa` must be that of a kernel that is never negative; got 'signed'\.",
        ),
        (lambda: deviation_radius(5, 5, 1.0, 5), r"`delta` must be .*; got 5\. Did you mean 0\.05\?"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(MmdBoundsError, match=message):
        call()


@given(n_x=sizes, n_y=sizes, delta=chances)
def test_radii_fall_with_rows_and_rise_with_confidence(n_x, n_y, delta):
    here = deviation_radius(n_x, n_y, 1.0, delta)
    assert deviation_radius(2 * n_x, 2 * n_y, 1.0, delta) < here < deviation_radius(n_x, n_y, 1.0, delta / 2)
