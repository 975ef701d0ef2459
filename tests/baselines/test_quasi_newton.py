"""QNO and S-QNO against signed measures written out pair by pair, difference quotients and a grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmdbounds as mb
from made_points import (
    SETTINGS,
    SIDES,
    SLOPED_NAMES,
    ends_of,
    made,
    naive_free,
    placed_by,
    posed,
    raw,
    scale_of,
)
from mmdbounds.baselines.free_points import FreePoints, QuasiNewton, _Search
from mmdbounds.contamination import Contamination
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.progress import Meter
from mmdbounds.search.exhaustive import Exhaustive
from mmdbounds.search.stepwise import StepwiseDominance
from problems import (
    Problem,
    make_kernel,
    naive_matrix,
    naive_value,
    quadratic_of,
    random_problem,
    small_problem,
    totals_of,
)


def check_not_behind(problem, value, labelling_value, side):
    """The value must be at least as extreme as that of the rows it began from, but for rounding."""
    ahead = (value - labelling_value) * (1 if side == "upper" else -1)
    assert ahead >= -1e-11 * scale_of(problem), (value, labelling_value, side)


@given(seed=st.integers(0, 10**6), kernel=st.sampled_from(SLOPED_NAMES))
@settings(max_examples=12)
def test_the_points_never_end_behind_the_rows_they_began_from(seed, kernel):
    problem = random_problem(seed, two_way=False, kernel=kernel)
    found = ends_of(QuasiNewton(max_iterations=20), problem)
    for side in SIDES:
        rows = StepwiseDominance().search(totals_of(problem), problem.counts, problem.estimator, side)
        check_not_behind(problem, getattr(found, side), rows.value, side)


@pytest.mark.parametrize("seed", range(6))
def test_begun_from_the_best_rows_no_labelling_is_beyond(seed, monkeypatch):
    problem = small_problem(seed, two_way=False, kernel=SLOPED_NAMES[seed % len(SLOPED_NAMES)])
    for side in SIDES:
        best = Exhaustive().search(totals_of(problem), problem.counts, problem.estimator, side)
        begin = lambda search, rows=best.rows: lambda placed, quota: rows  # noqa: E731
        monkeypatch.setattr(_Search, "_leading_rows", begin)
        found = ends_of(QuasiNewton(max_iterations=20), problem)
        check_not_behind(problem, getattr(found, side), best.value, side)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("kernel", "estimator"), SETTINGS)
def test_one_point_on_a_line_is_where_a_grid_finds_it(kernel, estimator, seed):
    rng = np.random.default_rng(seed)
    Z = np.concatenate([rng.normal(size=(7, 1)), rng.normal(1, 1, size=(8, 1))])
    one = make_kernel(kernel, Z, rng)
    if one.length is not None:
        one = type(one)(2.0)
    problem = Problem(Z[:7], Z[7:], one, estimator, Counts(1, 0, 8, 7))
    grid = np.linspace(Z.min(), Z.max(), 201)
    K = naive_matrix(problem)
    values = [naive_free(problem, np.array([[c]]), K) for c in grid]
    found = ends_of(QuasiNewton(), problem)
    width = max(values) - min(values)
    extremes = [min(values), max(values)]
    np.testing.assert_allclose([found.lower, found.upper], extremes, rtol=0, atol=2e-4 * width)


def test_a_linear_kernel_balances_the_means():
    # f(c) = ((0 + c) / 2 - (1 + 2 + 6 - c) / 2)^2 = (c - 4.5)^2 on the box [0, 6]: 0 at c = 4.5. Above, S-SD
    # begins at 1, the row with the largest gradient, and from there the value rises to 20.25 at c = 0.
    X, Y = np.array([[0.0]]), np.array([[1.0], [2.0], [6.0]])
    result = QuasiNewton().interval(X, Y, Contamination(n_moved=1), kernel="linear", estimator="biased")
    np.testing.assert_allclose([result.lower, result.upper], [0.0, 20.25], rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.points[0], [[4.5]], rtol=0, atol=1e-3)
    np.testing.assert_allclose(result.points[1], [[0.0]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("objective", ["exact", "printed"])
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_steps_place_their_share_and_the_value_is_exact(kernel, estimator, objective, monkeypatch):
    problem = made(kernel, estimator, m=7)
    method = QuasiNewton(n_steps=3, objective=objective)
    found, sides = placed_by(method, problem, monkeypatch)
    for value, kept, steps in zip((found.lower, found.upper), found.points, sides, strict=True):
        assert [len(begin) for begin, _, _ in steps] == [2, 2, 3]  # floor(7/3), floor(14/3), 7
        ends = np.concatenate([end for _, _, end in steps])
        for s, (_, placed, _) in enumerate(steps):
            np.testing.assert_array_equal(placed, ends[: [0, 2, 4][s]])
        points = raw(ends, problem)
        assert (points >= problem.Z.min(axis=0) - 1e-9).all()
        assert (points <= problem.Z.max(axis=0) + 1e-9).all()
        expected = naive_free(problem, points)
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12 * scale_of(problem))
        np.testing.assert_allclose(kept, points, rtol=1e-12)  # in the columns of the data


def test_the_printed_objective_finds_other_points(monkeypatch):
    problem = made("rbf", "biased", m=3)
    exact, printed = (ends_of(QuasiNewton(objective=o), problem) for o in ("exact", "printed"))
    assert printed.lower - exact.lower > 1e-6
    assert exact.upper - printed.upper > 1e-6


def test_the_points_begin_at_the_rows_of_s_sd(monkeypatch):
    compared = 0
    for seed in range(24):
        problem = random_problem(seed, two_way=False, kernel=SLOPED_NAMES[seed % len(SLOPED_NAMES)])
        if not problem.counts.n_moved or not np.ptp(problem.Z):
            continue
        _, sides = placed_by(QuasiNewton(max_iterations=1), problem, monkeypatch)
        rows_of = FreePoints(posed(problem), Meter()).rows
        for side, [(begin, _, _)] in zip(SIDES, sides, strict=True):
            rows = (
                StepwiseDominance().search(totals_of(problem), problem.counts, problem.estimator, side).rows
            )
            expected = rows_of[problem.p + rows]
            np.testing.assert_array_equal(begin[np.lexsort(begin.T)], expected[np.lexsort(expected.T)])
            compared += len(rows)
    assert compared > 100


def test_later_steps_begin_at_the_rows_that_lead_after_the_points_before(monkeypatch):
    problem = made("rbf", "unbiased", m=4)
    _, sides = placed_by(QuasiNewton(n_steps=4), problem, monkeypatch)
    f = quadratic_of(problem)
    for out, steps in zip((-1, 1), sides, strict=True):
        taken = []
        for begin, placed, _ in steps:
            near = raw(placed, problem)
            pull = [sum(naive_value(problem.kernel, c, y) for c in near) for y in problem.Y]
            g = out * (f.gradient_as_filed[problem.p :] + 2 * f.c * np.array(pull))
            g[taken] = -np.inf
            taken.append(int(np.argmax(g)))
            np.testing.assert_allclose(raw(begin, problem), problem.Y[taken[-1:]], rtol=1e-12)


X, Y = (np.random.default_rng(3).normal(s, 1, size=(n, 2)) for s, n in ((0.0, 20), (0.7, 30)))
M5 = Contamination(n_moved=5)


def ends(baseline=QuasiNewton(), X=X, Y=Y, epsilon=M5, **options):  # noqa: B008 -- it is frozen
    found = baseline.interval(X, Y, epsilon, **options)
    return found.lower, found.upper


def test_one_step_is_qno_and_names_follow_the_steps():
    one, stepwise = QuasiNewton(), QuasiNewton(n_steps=None)
    assert (one.name, stepwise.name, QuasiNewton(n_steps=4).name) == ("qno", "s-qno", "s-qno")
    single = Contamination(n_moved=1)
    assert ends(one, epsilon=single) == ends(stepwise, epsilon=single)
    assert ends(one) != ends(stepwise)
    counts = [Counts(m, 0, 20 + m, 30 - m) for m in (0, 1, 7, 12)]
    assert [stepwise.steps_for(c) for c in counts] == [0, 1, 7, 10]
    assert [one.steps_for(c) for c in counts] == [0, 1, 1, 1]


@pytest.mark.parametrize("n_steps", [1, None])
def test_no_rows_to_move_gives_the_observed_value(n_steps):
    result = QuasiNewton(n_steps=n_steps).interval(X, Y, 0.0)
    assert result.lower == result.upper == result.observed == mb.mmd2(X, Y)
    assert [points.shape for points in result.points] == [(0, 2), (0, 2)]


def test_a_seed_repeats_a_random_start():
    random = QuasiNewton(start="random", max_iterations=3)
    one, again, other = (ends(random, rng=seed) for seed in (1, 1, 2))
    assert one == again != other
    assert ends(rng=1) == ends(rng=2)


def width(pair):
    return pair[1] - pair[0]


def test_the_order_of_the_rows_does_not_matter():
    rng = np.random.default_rng(5)
    here = ends()
    there = ends(X=X[rng.permutation(20)], Y=Y[rng.permutation(30)])
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-5 * width(here))


def test_blocks_and_two_threads_change_nothing():
    rng = np.random.default_rng(6)
    A, B = rng.normal(size=(80, 2)), rng.normal(0.5, 1, size=(120, 2))
    whole, blocks = (ends(X=A, Y=B, epsilon=0.1, working_memory=memory) for memory in (1024, 1))
    np.testing.assert_allclose(blocks, whole, rtol=0, atol=1e-5 * width(whole))


def test_rows_far_from_the_origin_are_as_good_as_near_ones():
    near, far = (ends(X=X + s, Y=Y + s, bandwidth=1.5) for s in (0.0, 1e6))
    np.testing.assert_allclose(far, near, rtol=0, atol=1e-5 * width(near))


def test_every_kernel_value_is_counted():
    sizes = []

    class Counting(mb.kernels.RBF):
        def value(self, t):
            sizes.append(t.size if t.ndim == 2 else 0)  # the diagonal comes as a vector
            return super().value(t)

        def slope(self, t):
            return super().slope(t)

    result = QuasiNewton(n_steps=None).interval(X, Y, M5, kernel=Counting(1.0))
    assert result.n_pairs == sum(sizes) > 50**2


def test_more_iterations_get_further():
    done = ends()
    for worse in (QuasiNewton(max_iterations=2), QuasiNewton(n_steps=5, max_iterations=1, tolerance=1e-9)):
        low, high = ends(worse)
        assert done[0] < low < high < done[1]


def test_where_all_rows_are_one_the_points_stay():
    one = np.full((6, 3), 2.5)
    result = QuasiNewton().interval(one, one, Contamination(n_moved=2), bandwidth=1.0, estimator="biased")
    np.testing.assert_allclose([result.lower, result.upper], [0.0, 0.0], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(result.points[1], one[:2])


def test_a_search_that_goes_astray_keeps_its_rows(monkeypatch):
    import scipy.optimize

    def astray(descent, x, **_):
        worse = np.full_like(x, np.inf)
        return scipy.optimize.OptimizeResult(x=worse, fun=np.nan, nit=7, success=False)

    monkeypatch.setattr(scipy.optimize, "minimize", astray)
    rows = mb.mmd_bounds(X, Y, M5, method="s-sd", exactly=True)
    np.testing.assert_allclose(ends(), rows.interval, rtol=0, atol=1e-12)


SLOPED = "'rbf', 'matern52', 'polynomial', 'linear'"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"epsilon": Contamination(n_moved=2, n_moved_of_x=1)},
            r"^the baseline 'qno' is for rows of X labelled as Y; got rows of Y as well\.$",
        ),
        (
            {"kernel": "laplacian"},
            rf"which the laplacian kernel does not have\. Use one of {SLOPED}\.$",
        ),
        ({"kernel": lambda A, B: A @ B.T}, "which the function kernel does not have"),
        (
            {"X": np.eye(50)[:20], "Y": np.eye(50)[20:], "kernel": "precomputed"},
            "which the precomputed kernel does not have",
        ),
        (
            {"X": np.ones((20, 900)), "Y": np.eye(30, 900), "working_memory": 1},
            r"over 4,500 coordinates at once, which takes 2 MiB; `working_memory` is 1\. Raise it, or",
        ),
    ],
)
def test_what_it_cannot_do_is_said(change, message):
    arguments = {"X": X, "Y": Y, "epsilon": M5, **change}
    with pytest.raises(MmdBoundsError, match=message):
        QuasiNewton().interval(**arguments)


def test_more_steps_take_less_memory():
    baseline = QuasiNewton(n_steps=None)
    result = baseline.interval(np.ones((20, 900)), np.eye(30, 900), M5, working_memory=1)
    assert result.upper > result.observed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_steps": 0}, r"`n_steps` must be a whole number from 1; got 0\."),
        (
            {"start": "ssd"},
            r"`start` must be one of 's-sd', 'random'; got 'ssd'\. Did you mean 's-sd'\?",
        ),
        ({"objective": "print"}, r"`objective` must be one of 'exact', 'printed', 'means'; got 'print'\."),
        ({"snap": 1}, r"`snap` must be True or False; got 1\."),
        ({"snap": True}, r"`snap=True` needs start='random'; got 's-sd'\."),
        ({"max_iterations": 0}, r"`max_iterations` must be a whole number from 1; got 0\."),
        ({"tolerance": 0}, r"`tolerance` must be a number between 0 and 1; got 0\."),
        ({"tolerance": "small"}, r"`tolerance` must be a number between 0 and 1; got 'small'\."),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(MmdBoundsError, match=message):
        QuasiNewton(**options)
