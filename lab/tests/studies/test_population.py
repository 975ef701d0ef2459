"""The bounds of a population are exact: against the package on rows in exact proportions, and by chance."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import mmdbounds as mb
from lab.studies.population import POPULATION_A, POPULATIONS, Population, sharp_bounds

EPSILON = 0.2


def value(population, c, epsilon):
    """The squared MMD for a distribution c of the misfiled rows, from the true distributions."""
    alpha = epsilon / (1 + epsilon)
    true_x = (1 - epsilon) * population.share_x + epsilon * c
    true_y = (population.share_y - alpha * c) / (1 - alpha)
    total = 0.0
    for (i, a), (j, b) in itertools.product(enumerate(population.atoms), repeat=2):
        k = math.exp(-((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / (2 * population.bandwidth**2))
        total += (true_x[i] - true_y[i]) * (true_x[j] - true_y[j]) * k
    return total


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda p: p.name)
def test_against_the_package_on_rows_in_exact_proportions(population):
    X, Y = population.exact(80, 120)
    lower, upper = sharp_bounds(population, EPSILON)
    how = {"kernel": population.kernel, "estimator": "biased", "method": mb.Sharp(gap=0.01), "rng": 0}
    r = mb.mmd_bounds(X, Y, mb.Contamination(n_moved=20, exactly=True), **how)
    # Labellings are among the distributions that Claim 1 allows; a vertex of its set is a labelling.
    assert r.lower.value >= lower - 1e-12
    np.testing.assert_allclose(r.upper.value, upper, rtol=0, atol=1e-12)


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda p: p.name)
@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.5])
def test_no_distribution_lies_outside_and_the_largest_value_is_reached(population, epsilon):
    lower, upper = sharp_bounds(population, epsilon)
    cap = population.share_y * (1 + epsilon) / epsilon
    corners = []
    for order in itertools.permutations(range(len(cap))):  # fill one atom after the other: every vertex
        c = np.zeros(len(cap))
        for i in order:
            c[i] = min(cap[i], 1 - c.sum())
        corners.append(c)
    np.testing.assert_allclose(max(value(population, c, epsilon) for c in corners), upper, rtol=1e-12)
    rng = np.random.default_rng(0)
    for weights in rng.dirichlet(np.full(len(corners), 0.01), size=200):
        assert lower - 1e-12 <= value(population, weights @ np.array(corners), epsilon) <= upper + 1e-12


def test_rows_are_drawn_as_likely_as_they_should_be():
    X, Y = POPULATION_A.draw(20_000, 10_000, np.random.default_rng(0))
    for rows, share in ((X, POPULATION_A.share_x), (Y, POPULATION_A.share_y)):
        found = [np.mean((rows == atom).all(axis=1)) for atom in POPULATION_A.points]
        np.testing.assert_allclose(found, share, rtol=0, atol=0.015)


def test_one_atom_is_no_difference():
    same = Population("same", ((0, 0), (1, 1)), x=(1, 1), y=(1, 1))
    lower, upper = sharp_bounds(same, EPSILON)
    np.testing.assert_allclose(lower, 0.0, rtol=0, atol=1e-15)
    # All misfiled rows on one atom: w = (0.2, -0.2) after 2 epsilon c = (0.4, 0), fixed = (-0.2, -0.2).
    k = np.exp(-2 / (2 * 1.5**2))
    np.testing.assert_allclose(upper, 0.08 * (1 - k), rtol=1e-12)


def test_proportions_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="81 and 120 rows cannot have the proportions"):
        POPULATION_A.exact(81, 120)
