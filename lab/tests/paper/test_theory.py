"""The paper's propositions: numbers derived by hand, the formulas as they are printed, and laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.paper.theory import gretton_radius, proposition_1, proposition_3
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.radii import deviation_radius

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


def test_gretton_radius_by_hand():
    # 2 (1/10 + 1/10) + sqrt(2 (1/100 + 1/100) log 40)
    assert gretton_radius(100, 100, 1.0, 0.05) == pytest.approx(0.4 + 0.2 * 1.9206455, abs=1e-6)


@given(n_x=sizes, n_y=sizes, kappa=kappas, delta=chances)
def test_gretton_is_wider(n_x, n_y, kappa, delta):
    ratio = gretton_radius(n_x, n_y, kappa, delta) / deviation_radius(n_x, n_y, kappa, delta)
    assert math.sqrt(2) < ratio
    assert 2 < gretton_radius(n_x, n_x) / deviation_radius(n_x, n_x) < 2.1  # at delta = 0.05


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gretton_radius(5, 5, 1.0, 0.0), r"`delta` must be a number between 0 and 1; got 0\."),
        (lambda: proposition_1(50, epsilon=1.0), r"`epsilon` must be in \[0, 1\); got 1\."),
        (lambda: proposition_1(50, epsilon=0.1, n_moved=-1), r"`n_moved` must be a whole number from 0"),
        (lambda: proposition_3(50, 0, epsilon=0.1), r"`n_y` must be a whole number from 1; got 0\."),
    ],
)
def test_refusals(call, message):
    with pytest.raises(MmdBoundsError, match=message):
        call()
