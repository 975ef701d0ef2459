"""Sums over free points against signed measures written out pair by pair, and difference quotients."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_points import SETTINGS, SLOPED_NAMES, in_box, made, naive_free, posed, raw, scale_of
from mmdbounds.baselines.free_points import BLOCKS, FreePoints, exact_weights, mean_weights, printed_weights
from mmdbounds.errors import DataError
from mmdbounds.objective import Labelling
from mmdbounds.progress import Meter
from mmdbounds.sums.plan import BLOCK_BYTES, MIB
from problems import naive_value, quadratic_of, random_problem
from tolerances import of_mmd2


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(("kernel", "estimator"), SETTINGS)
def test_the_value_is_that_of_the_signed_measures(kernel, estimator, narrow):
    problem = made(kernel, estimator, narrow=narrow)
    space, f = FreePoints(posed(problem), Meter()), quadratic_of(problem)
    weights = exact_weights(f, unbiased=estimator == "unbiased")
    points = in_box(space, 3, seed=1)
    if narrow:
        points = space.rows[[2, 8, 9]] + 0.01  # where a narrow kernel does not vanish
    expected = naive_free(problem, raw(points, problem))
    value = f.value_as_filed + space.value(points, weights)
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12 * scale_of(problem))
    placed, new = points[:1], points[1:]
    change = space.value_and_gradient(new, weights, placed)[0]
    np.testing.assert_allclose(
        space.value(points, weights) - space.value(placed, weights),
        change,
        rtol=0,
        atol=1e-12 * scale_of(problem),
    )


@pytest.mark.parametrize("steps", [1, 3])
def test_the_printed_weights_are_those_of_equation_6(steps):
    problem = made("rbf", "biased")
    x, y, c, new = problem.X, problem.Y, problem.Y[:1] + 0.3, problem.Y[4:6] - 0.2
    k = lambda A, B: sum(naive_value(problem.kernel, a, b) for a in A for b in B)  # noqa: E731
    part, n = (3 / 9) / steps, 9
    among = sum(naive_value(problem.kernel, a, b) for a in new for b in new if a is not b)
    # X holds c already, and Y no longer.
    expected = (1 - part) / n * (k(x, new) + k(c, new)) - (1 + part) / n * (k(y, new) - k(c, new))
    expected += part / n * (k(new, new) - len(new))
    space, centre = FreePoints(posed(problem), Meter()), problem.Z.mean(axis=0)
    value, _ = space.value_and_gradient(new - centre, printed_weights(problem.counts, steps), c - centre)
    assert among > 0
    np.testing.assert_allclose(value, expected, rtol=1e-12)


@pytest.mark.parametrize(("steps", "p", "q"), [(1, 6, 9), (3, 7, 8)])
def test_mean_weights_divide_each_sum_by_the_size_of_its_group(steps, p, q):
    problem = made("rbf", "biased")
    x, y, new = problem.X, problem.Y, problem.Y[4:6] - 0.2
    k = lambda A, B: sum(naive_value(problem.kernel, a, b) for a in A for b in B)  # noqa: E731
    part = (3 / 9) / steps
    expected = (1 - part) * k(x, new) / p - (1 + part) * k(y, new) / q + part / 9 * (k(new, new) - len(new))
    space, centre = FreePoints(posed(problem), Meter()), problem.Z.mean(axis=0)
    weights = mean_weights(problem.counts, steps, p, q)
    value, _ = space.value_and_gradient(new - centre, weights, new[:0])
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    # A point placed earlier has entered X and left Y.
    c = problem.Y[:1] + 0.3
    value_after, _ = space.value_and_gradient(new - centre, weights, c - centre)
    change = (1 - part) * k(c, new) / p + (1 + part) * k(c, new) / q
    np.testing.assert_allclose(value_after, expected + change, rtol=1e-12)


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("objective", ["exact", "printed", "means"])
@pytest.mark.parametrize(("kernel", "estimator"), SETTINGS)
def test_the_gradient_agrees_with_difference_quotients(kernel, estimator, objective, narrow):
    problem = made(kernel, estimator, narrow=narrow)
    space = FreePoints(posed(problem), Meter())
    weights = printed_weights(problem.counts, 2)
    if objective == "means":
        weights = mean_weights(problem.counts, 2, problem.p + 1, problem.q - 1)
    if objective == "exact":
        weights = exact_weights(quadratic_of(problem), unbiased=estimator == "unbiased")
    points, placed = in_box(space, 3, seed=2), in_box(space, 2, seed=3)
    if narrow:
        near = space.rows[[2, 8, 9]]
        points, placed = near + 0.01, near[:2] - 0.02
    h = 1e-5 * (problem.kernel.length or 1.0)
    quotient = np.empty_like(points)
    for i in np.ndindex(points.shape):
        ends = []
        for sign in (1, -1):
            moved = points.copy()
            moved[i] += sign * h
            ends.append(space.value_and_gradient(moved, weights, placed)[0])
        quotient[i] = (ends[0] - ends[1]) / (2 * h)
    _, gradient = space.value_and_gradient(points, weights, placed)
    assert np.abs(gradient).max() > 0
    np.testing.assert_allclose(gradient, quotient, rtol=0, atol=1e-6 * np.abs(gradient).max())


def test_strips_change_nothing():
    problem = made("rbf", "unbiased")
    weights = exact_weights(quadratic_of(problem), unbiased=True)
    whole, strips = (FreePoints(posed(problem, memory), Meter()) for memory in (1024.0, 1e-3))
    assert (whole._block, strips._block) == (BLOCK_BYTES, 1e-3 * MIB / BLOCKS)
    points = in_box(whole, 3, seed=4)
    for a, b in zip(
        *(s.value_and_gradient(points, weights, points[:1]) for s in (whole, strips)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=of_mmd2(len(problem.Z)))


@given(seed=st.integers(0, 10**6), kernel=st.sampled_from(SLOPED_NAMES))
@settings(max_examples=40)
def test_rows_as_points_have_the_value_of_their_labelling(seed, kernel):
    problem = random_problem(seed, two_way=False, kernel=kernel)
    f, space = quadratic_of(problem), FreePoints(posed(problem), Meter())
    rows = np.sort(np.random.default_rng(seed).choice(problem.q, problem.counts.n_moved, replace=False))
    labelling = Labelling(f, rows)
    value = f.value_as_filed + space.value(
        space.rows[problem.p + rows], exact_weights(f, unbiased=problem.estimator == "unbiased")
    )
    largest_weight = 1 + problem.counts.n_moved / problem.counts.n_y
    np.testing.assert_allclose(value, labelling.value(), rtol=0, atol=1e-12 * f.totals.scale * largest_weight)


def test_a_row_far_out_costs_no_digits():
    # It draws the centre away from all others: squared distances from a product would be off by 1e-5.
    problem = made("rbf", "unbiased")
    problem.X[0] += 1e6
    f, space = quadratic_of(problem), FreePoints(posed(problem), Meter())
    points = space.rows[[7, 8, 10]] + 0.1
    value = f.value_as_filed + space.value(points, exact_weights(f, unbiased=True))
    np.testing.assert_allclose(value, naive_free(problem, raw(points, problem)), rtol=0, atol=1e-9)


def test_inner_products_that_overflow_are_refused():
    """The mean of equal rows is rounded, and what is left of them has squares that are no numbers."""
    Z = np.full((12, 1), 1e178)
    problem = replace(posed(made("linear", "unbiased")), pooled=Z)
    with pytest.raises(DataError, match="overflow float64"):
        FreePoints(problem, Meter())


def test_rows_that_join_x_count_as_its_rows():
    problem = made("rbf", "unbiased")
    space, weights = FreePoints(posed(problem), Meter()), mean_weights(problem.counts, 2, 8, 7)
    points = in_box(space, 2, seed=5)
    x, y = np.concatenate([problem.X, problem.Y[[1, 4]]]), np.delete(problem.Y, [1, 4], axis=0)
    expected = [
        weights.to_x * sum(naive_value(problem.kernel, a, c) for a in x)
        + weights.to_y * sum(naive_value(problem.kernel, a, c) for a in y)
        for c in raw(points, problem)
    ]
    joined = space.joined(np.array([1, 4]))
    np.testing.assert_allclose(joined.to_rows(points, weights), expected, rtol=1e-12)
    assert space.is_x.sum() == problem.p  # the space itself is as before
