"""Free points that snap to rows: each step, and the value at the end, against naive code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_points import SETTINGS, SLOPED_NAMES, ends_of, made, placed_by, posed, raw, scale_of, task_of
from mmdbounds.baselines.free_points import FreePoints, QuasiNewton, Weights, _Search
from mmdbounds.contamination import Contamination
from mmdbounds.progress import Meter
from problems import naive_mmd2, naive_value, random_problem

SNAP = {"start": "random", "objective": "means", "snap": True}


def nearest_rows(points, Y):
    """The rows of Y nearest to the points, one after the other, each once."""
    left, taken = list(range(len(Y))), []
    for point in points:
        nearest = min(left, key=lambda j: float(np.sum((Y[j] - point) ** 2)))
        left.remove(nearest)
        taken.append(nearest)
    return taken


def naive_snapped(problem, points, gone):
    """The statistic of X with the points against Y without the rows that left, as double sums."""
    Z = np.concatenate([problem.X, points, np.delete(problem.Y, gone, axis=0)])
    if problem.kernel.name == "linear":
        Z = Z - problem.Z.mean(axis=0)  # changes no MMD
    K = np.array([[naive_value(problem.kernel, a, b) for a in Z] for b in Z])
    return naive_mmd2(K, np.arange(len(Z)) < problem.p + len(points), problem.estimator)


@pytest.mark.parametrize("steps", [1, 3, 7])
@pytest.mark.parametrize(("kernel", "estimator"), SETTINGS)
def test_the_value_is_that_of_the_points_against_the_rows_that_are_left(
    kernel, estimator, steps, monkeypatch
):
    problem = made(kernel, estimator, m=7)
    found, sides = placed_by(QuasiNewton(n_steps=steps, **SNAP), problem, monkeypatch)
    for value, taken in zip((found.lower, found.upper), sides, strict=True):
        assert len(taken) == steps
        points = raw(np.concatenate([end for _, _, end in taken]), problem)
        gone = nearest_rows(points, problem.Y)
        assert len(set(gone)) == 7
        expected = naive_snapped(problem, points, gone)
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12 * scale_of(problem))


@given(seed=st.integers(0, 10**6), kernel=st.sampled_from(SLOPED_NAMES))
@settings(max_examples=20)
def test_any_problem_can_be_snapped(seed, kernel):
    problem = random_problem(seed, two_way=False, kernel=kernel)
    found = ends_of(QuasiNewton(n_steps=None, max_iterations=3, **SNAP), problem)
    assert np.isfinite([found.lower, found.upper]).all()


def test_each_step_begins_in_what_is_left_of_y(monkeypatch):
    problem = made("rbf", "unbiased", m=7)
    _, sides = placed_by(QuasiNewton(n_steps=7, **SNAP), problem, monkeypatch)
    for steps in sides:
        gone = []
        for begin, placed, end in steps:
            assert len(placed) == 0  # the rows that left stand for the points before
            apart = np.abs(problem.Y - raw(begin, problem)[0]).max(axis=1)
            assert apart.min() < 1e-12
            assert int(np.argmin(apart)) not in gone
            gone = nearest_rows([*problem.Y[gone], *raw(end, problem)], problem.Y)


def test_the_weights_of_a_step_are_those_of_its_groups(monkeypatch):
    problem = made("rbf", "unbiased", m=7)
    seen, climb = [], _Search._climb

    def recorded(search, space, begin, placed, weights):
        seen.append((int(space.is_x.sum()), weights))
        return climb(search, space, begin, placed, weights)

    monkeypatch.setattr(_Search, "_climb", recorded)
    ends_of(QuasiNewton(n_steps=3, **SNAP), problem)
    part, n = (7 / 13) / 3, 13
    expected = []
    for moved in (0, 2, 4):  # before steps of 2, 2 and 3
        x, y = (1 - part) / (6 + moved), (1 + part) / (9 - moved)
        expected.append((6 + moved, Weights(x, -y, x + y, -part / n, part / n)))
    for sizes_and_weights in (seen[:3], seen[3:]) if seen[1][0] != 6 else (seen[::2], seen[1::2]):
        for (size, weights), (wanted_size, wanted) in zip(sizes_and_weights, expected, strict=True):
            assert size == wanted_size
            np.testing.assert_allclose(list(vars(weights).values()), list(vars(wanted).values()), rtol=1e-12)


def test_two_points_at_one_row_take_it_and_the_next_nearest():
    problem = made("rbf", "unbiased", m=3)
    task = task_of(problem)
    space = FreePoints(posed(problem), Meter())
    search = _Search(QuasiNewton(**SNAP), task, space, "upper")
    of_y, gone = space.rows[space.p :], [5]
    search._snap(of_y[[2, 2, 5]], gone)
    others = np.sum((of_y - of_y[2]) ** 2, axis=1)
    others[[2, 5]] = np.inf
    second = int(np.argmin(others))
    third = np.sum((of_y - of_y[5]) ** 2, axis=1)
    third[[2, 5, second]] = np.inf
    assert gone == [5, 2, second, int(np.argmin(third))]


def test_a_seed_repeats_it_and_it_is_not_the_free_search():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(20, 2)), rng.normal(0.7, 1, size=(30, 2))
    five = Contamination(n_moved=5)
    snapped, again, other, free = (
        QuasiNewton(n_steps=None, **SNAP | change).interval(X, Y, five, rng=seed)
        for change, seed in (({}, 1), ({}, 1), ({}, 2), ({"snap": False}, 1))
    )
    assert snapped.upper == again.upper
    assert len({each.upper for each in (snapped, other, free)}) == 3
