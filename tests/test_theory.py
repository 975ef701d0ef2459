"""Radii: numbers derived by hand, the formulas as they are printed, and laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from mmdbounds.errors import MmdBoundsError
from mmdbounds.theory import (
    deviation_radius,
    gretton_radius,
    proposition_1,
    proposition_3,
    rows_for_radius,
    variance_radius,
)
from problems import Signed

ROUNDING = 1e-12

sizes = st.integers(1, 5000)
shares = st.floats(0, 0.9)
chances = st.floats(1e-6, 0.9)
kappas = st.floats(0.01, 100)


def printed_1(n, m, e, kappa, delta):
    """b0, b1 and radius of Proposition 1, letter by letter."""
    b0 = 4 * kappa**0.5 * (n**-0.5 + e * m)
    b1 = 2 * kappa * ((1 - e) * (1 - e + e * m) ** 2 + (1 + e) * (1 + e + e * m) ** 2)
    return b0, b1, b0 + (b1 * math.log(2 / delta) / n) ** 0.5


def printed_3(n, e, kappa, delta):
    """b0, b1 and radius of Proposition 3, letter by letter."""
    b0 = 4 * (kappa / n) ** 0.5 * (1 + e)
    b1 = 2 * kappa * ((1 - e) ** 3 + (1 + e) * (1 + 3 * e) ** 2)
    return b0, b1, b0 + (b1 * math.log(2 / delta) / n) ** 0.5


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


def test_gretton_radius_by_hand():
    # 2 (1/10 + 1/10) + sqrt(2 (1/100 + 1/100) log 40)
    assert gretton_radius(100, 100, 1.0, 0.05) == pytest.approx(0.4 + 0.2 * 1.9206455, abs=1e-6)


@given(n_x=sizes, n_y=sizes, kappa=kappas, delta=chances)
def test_gretton_is_wider(n_x, n_y, kappa, delta):
    ratio = gretton_radius(n_x, n_y, kappa, delta) / deviation_radius(n_x, n_y, kappa, delta)
    assert math.sqrt(2) < ratio
    assert 2 < gretton_radius(n_x, n_x) / deviation_radius(n_x, n_x) < 2.1  # at delta = 0.05


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


def test_proposition_1_by_hand():
    stated = proposition_1(50, epsilon=0.2)
    assert stated.n_moved == 10
    assert stated.b0 == pytest.approx(4 * (1 / math.sqrt(50) + 2), abs=ROUNDING)  # 0.2 x 10 = 2
    assert stated.b1 == pytest.approx(37.12, abs=1e-10)  # 2 (0.8 x 2.8^2 + 1.2 x 3.2^2)
    assert stated.radius == pytest.approx(8.565685 + math.sqrt(37.12 * 3.688879 / 50), abs=1e-5)
    assert stated.radius > 10
    assert stated.is_vacuous
    assert "vacuous" in repr(stated)


def test_proposition_3_by_hand():
    stated = proposition_3(100, epsilon=0.1, kappa=4.0, delta=2 / math.e)
    assert stated.b0 == pytest.approx(0.88, abs=ROUNDING)  # 4 x 2 / 10 x 1.1
    assert stated.b1 == pytest.approx(20.704, abs=1e-10)  # 8 (0.729 + 1.1 x 1.69)
    assert stated.radius == pytest.approx(0.88 + math.sqrt(0.20704), abs=ROUNDING)
    assert not stated.is_vacuous
    assert "\n" not in repr(stated)
    assert "vacuous" not in repr(stated)


@given(n_x=sizes, n_y=sizes, e=shares, kappa=kappas, delta=chances, m=st.integers(0, 300))
def test_the_propositions_are_what_is_printed(n_x, n_y, e, kappa, delta, m):
    one = proposition_1(n_x, n_y, epsilon=e, n_moved=m, kappa=kappa, delta=delta)
    three = proposition_3(n_x, n_y, epsilon=e, kappa=kappa, delta=delta)
    n = min(n_x, n_y)  # they know one n
    assert (one.n, three.n) == (n, n)
    np.testing.assert_allclose((one.b0, one.b1, one.radius), printed_1(n, m, e, kappa, delta), rtol=ROUNDING)
    np.testing.assert_allclose(
        (three.b0, three.b1, three.radius), printed_3(n, e, kappa, delta), rtol=ROUNDING
    )


@given(n=sizes, kappa=kappas, delta=chances)
def test_without_misfiling_both_are_theorem_7_of_gretton(n, kappa, delta):
    expected = gretton_radius(n, n, kappa, delta)
    for proposition in (proposition_1, proposition_3):
        radius = proposition(n, epsilon=0.0, kappa=kappa, delta=delta).radius
        assert radius == pytest.approx(expected, rel=ROUNDING)


def radii(n_x, n_y, e, delta, m):
    """All radii at one point."""
    return (
        deviation_radius(n_x, n_y, 1.0, delta),
        gretton_radius(n_x, n_y, 1.0, delta),
        proposition_1(n_x, n_y, epsilon=e, n_moved=m, delta=delta).radius,
        proposition_3(n_x, n_y, epsilon=e, delta=delta).radius,
    )


@given(n_x=sizes, n_y=sizes, e=st.floats(0, 0.8), delta=chances, m=st.integers(0, 300))
def test_radii_fall_with_rows_and_rise_with_confidence_and_misfiling(n_x, n_y, e, delta, m):
    here = np.array(radii(n_x, n_y, e, delta, m))
    assert (np.array(radii(2 * n_x, 2 * n_y, e, delta, m)) < here).all()
    assert (np.array(radii(n_x, n_y, e, delta / 2, m)) > here).all()
    assert (np.array(radii(n_x, n_y, e + 0.1, delta, m + 1)) >= here).all()


@given(
    radius=st.floats(0.05, 60), e=shares, kappa=st.floats(0.1, 10), delta=st.floats(1e-3, 0.5), data=st.data()
)
def test_rows_for_a_radius_are_the_fewest(radius, e, kappa, delta, data):
    fixed = data.draw(st.none() | st.integers(0, 20))
    asked = {"epsilon": e, "kappa": kappa, "delta": delta}
    n = rows_for_radius(radius, proposition=1, n_moved=fixed, **asked)
    slack = 1 + 1e-9

    def reached(size):
        return proposition_1(size, n_moved=fixed, **asked).radius <= radius * slack

    least = max(1, fixed or 0)
    if n is None:
        assert not any(reached(size) for size in range(least, 400))
    else:
        assert reached(n)
        assert not any(
            proposition_1(s, n_moved=fixed, **asked).radius < radius / slack
            for s in range(max(least, n - 300), n)
        )
    n = rows_for_radius(radius, proposition=3, **asked)
    assert proposition_3(n, **asked).radius <= radius * slack
    assert n == 1 or proposition_3(n - 1, **asked).radius > radius / slack


def test_rows_for_a_radius_by_hand():
    # At epsilon = 0 the radius is (4 + sqrt(4 log(2/delta))) / sqrt(n), and 6 / sqrt(n) for this delta.
    asked = {"epsilon": 0.0, "delta": 2 / math.e}
    assert rows_for_radius(0.6, proposition=3, **asked) == 100
    assert rows_for_radius(0.5999, proposition=3, **asked) == 101
    assert rows_for_radius(0.6, proposition=1, **asked) == 100
    # 4 epsilon m = 1.6 > 1.4: b0 alone is too large, whatever n is.
    assert rows_for_radius(1.4, proposition=1, epsilon=0.1, n_moved=4) is None
    assert rows_for_radius(1.4, proposition=1, epsilon=0.1) is None
    assert rows_for_radius(1e-9, proposition=3, epsilon=0.1) is None
    # A fixed number of misfiled rows needs at least as many rows.
    assert rows_for_radius(1e6, proposition=1, epsilon=0.1, n_moved=50) == 50


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
        (
            lambda: gretton_radius(5, 5, Signed()),
            r"of a kernel that is never negative; got 'signed'\.",
        ),
        (lambda: gretton_radius(5, 5, 1.0, 0.0), r"`delta` must be a number between 0 and 1; got 0\."),
        (lambda: variance_radius(-1.0, 5, 5), r"`variance` must be a number from 0; got -1\."),
        (
            lambda: variance_radius(0.1, 5, 5, Signed()),
            r"`kappa` must be that of a kernel that is never negative; got 'signed'\.",
        ),
        (lambda: deviation_radius(5, 5, 1.0, 5), r"`delta` must be .*; got 5\. Did you mean 0\.05\?"),
        (lambda: proposition_1(50, epsilon=1.0), r"`epsilon` must be in \[0, 1\); got 1\."),
        (lambda: proposition_1(50, epsilon=0.1, n_moved=-1), r"`n_moved` must be a whole number from 0"),
        (lambda: proposition_3(50, 0, epsilon=0.1), r"`n_y` must be a whole number from 1; got 0\."),
        (
            lambda: rows_for_radius(0.0, proposition=3, epsilon=0.1),
            r"`radius` must be a positive finite number; got 0\.",
        ),
        (
            lambda: rows_for_radius(0.5, proposition=2, epsilon=0.1),
            r"`proposition` must be 1 or 3; got 2\.",
        ),
        (
            lambda: rows_for_radius(0.5, proposition=3, epsilon=0.1, n_moved=3),
            r"`proposition` must be 1 or 3, and 1 where `n_moved` is given; got 3\.",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(MmdBoundsError, match=message):
        call()
