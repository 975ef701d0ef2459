"""The long-double reference against exact fractions, by double loops."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from fuzzing import naive
from fuzzing.misfiling import Misfiling

pytestmark = pytest.mark.skipif(not naive.IS_LONG, reason="long double has no more digits than float64 here")


def exact_fraction(number):
    """A long double as a fraction: what float64 holds of it, and the rest."""
    high = float(number)
    return Fraction(high) + Fraction(float(number - naive.Long(high)))


def fraction_statistic(K, x, y, estimator):
    """The three means of the definition, in fractions."""
    if estimator == "unbiased":
        within_x = Fraction(sum(K[i][j] for i in x for j in x if i != j), len(x) * (len(x) - 1))
        within_y = Fraction(sum(K[i][j] for i in y for j in y if i != j), len(y) * (len(y) - 1))
    else:
        within_x = Fraction(sum(K[i][j] for i in x for j in x), len(x) ** 2)
        within_y = Fraction(sum(K[i][j] for i in y for j in y), len(y) ** 2)
    return within_x + within_y - Fraction(2 * sum(K[i][j] for i in x for j in y), len(x) * len(y))


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize(("kernel", "power"), [("linear", 1), ("polynomial", 3)])
@pytest.mark.parametrize("far", [0.0, 1e9])
def test_extremes_are_those_of_all_labellings_in_fractions(estimator, kernel, power, far):
    rng = np.random.default_rng(3)
    p, q, count = 4, 5, (2, 1)
    Z = rng.normal(size=(p + q, 2))
    Z[-1] += far
    rows = [[Fraction(value) for value in row] for row in Z.tolist()]
    add = 0 if kernel == "linear" else 1
    half = Fraction(1) if kernel == "linear" else Fraction(1, 2)
    K = [[(half * sum(a * b for a, b in zip(r, s, strict=True)) + add) ** power for s in rows] for r in rows]
    values = []
    for out in itertools.combinations(range(p), count[1]):
        for into in itertools.combinations(range(p, p + q), count[0]):
            x = (set(range(p)) - set(out)) | set(into)
            values.append(fraction_statistic(K, sorted(x), sorted(set(range(p + q)) - x), estimator))
    matrix = naive.kernel_matrix(Z, kernel)
    for found in (
        naive.extremes(matrix, p, q, count, estimator),
        naive.extremes_nearby(matrix, p, q, count, estimator),
    ):
        assert found.n_labellings == len(values) == math.comb(p, 1) * math.comb(q, 2)
        error = exact_fraction(found.error)
        assert abs(exact_fraction(found.lower) - min(values)) <= error
        assert abs(exact_fraction(found.upper) - max(values)) <= error


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern52"])
def test_distance_kernels_do_not_hang_on_the_origin(kernel):
    Z = np.random.default_rng(1).integers(-5, 6, size=(7, 3)).astype(float)
    near, far = (naive.kernel_matrix(Z + shift, kernel, bandwidth=3.0).values for shift in (0.0, 2.0**40))
    assert np.array_equal(near, far)


def test_kernel_values_by_hand():
    Z = np.array([[0.0, 0.0], [3.0, 4.0]])
    off = {
        "rbf": math.exp(-25 / 8),
        "laplacian": math.exp(-7 / 2),
        "matern52": (1 + math.sqrt(5) * 2.5 + 5 * 6.25 / 3) * math.exp(-math.sqrt(5) * 2.5),
        "polynomial": 1.0,
    }
    for kernel, value in off.items():
        found = naive.kernel_matrix(Z, kernel, bandwidth=2.0).values[0, 1]
        assert float(found) == pytest.approx(value, rel=1e-15)


def test_counts_of_the_documentation():
    assert Misfiling("share", (0.2,)).counts(40, 60) == [(10, 0)]
    assert Misfiling("shares", (0.2, 0.2)).counts(100, 40) == [(24, 4)]
    assert Misfiling("n_moved", (2,), exactly=False).counts(5, 5) == [(0, 0), (1, 0), (2, 0)]
