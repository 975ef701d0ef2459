"""Made-up misfiling: who moves, how many, and that nothing else changes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from mmdbounds import kernels
from problems import naive_extreme, naive_value
from tolerances import of_mmd2


def clean(seed=0, n_x=20, n_y=30, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_x, d)), rng.normal(0.7, 1.0, size=(n_y, d))


def naive_witness(X, Y, kernel):
    """Mean kernel value to X less that to Y, for every row of X, pair by pair."""
    return np.array(
        [
            math.fsum(naive_value(kernel, a, x) for x in X) / len(X)
            - math.fsum(naive_value(kernel, a, y) for y in Y) / len(Y)
            for a in X
        ]
    )


def sorted_rows(*groups):
    return sorted(tuple(row) for group in groups for row in np.asarray(group).tolist())


def first_rows(X, Y, n_moved, rng):
    return np.arange(n_moved)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("n_moved", [1, 4, 9])
def test_nonrandom_takes_every_row_of_the_top_of_the_witness_and_no_other(name, n_moved):
    X, Y = clean(n_moved)
    order = 1 if name == "laplacian" else 2
    Z = np.concatenate([X, Y])
    median = np.median([np.linalg.norm(a - b, order) for i, a in enumerate(Z) for b in Z[:i]])
    witness = naive_witness(X, Y, kernels.kernel_class(name)(float(median)))
    top = naive_extreme(witness, 2 * n_moved, range(len(X)), 1e-12)
    runs = [mb.simulate(X, Y, n_moved=n_moved, kernel=name, rng=seed) for seed in range(60)]
    assert {row for run in runs for row in run.moved.tolist()} == set(top)
    np.testing.assert_allclose(runs[0].kernel.length, median, rtol=1e-12)


def test_a_given_bandwidth_is_used():
    X, Y = clean(3)
    tops = []
    for bandwidth in (0.05, 20.0):
        witness = naive_witness(X, Y, kernels.RBF(bandwidth))
        top = set(naive_extreme(witness, 6, range(len(X)), 1e-12))
        runs = [mb.simulate(X, Y, n_moved=3, bandwidth=bandwidth, rng=seed) for seed in range(60)]
        assert {row for run in runs for row in run.moved.tolist()} == top
        tops.append(top)
    assert tops[0] != tops[1]


def test_ties_of_the_witness_go_to_the_lowest_rows():
    X = np.repeat([[0.0], [1.0]], [8, 4], axis=0)[[0, 8, 1, 2, 9, 3, 4, 5, 10, 6, 7, 11]]
    Y = np.full((5, 1), 3.0)
    zeros = np.flatnonzero(X[:, 0] == 0)
    runs = [mb.simulate(X, Y, n_moved=2, bandwidth=1.0, rng=seed) for seed in range(60)]
    assert {row for run in runs for row in run.moved.tolist()} == set(zeros[:4].tolist())


def test_a_pool_of_more_than_all_rows_is_all_rows():
    X, Y = clean(n_x=6)
    runs = [mb.simulate(X, Y, n_moved=4, rng=seed) for seed in range(60)]
    assert {row for run in runs for row in run.moved.tolist()} == set(range(6))


def test_random_covers_all_rows_evenly():
    X, Y = clean(n_x=10)
    runs = [mb.simulate(X, Y, n_moved=3, mechanism="random", rng=seed) for seed in range(1000)]
    counts = np.bincount(np.concatenate([run.moved for run in runs]), minlength=10)
    # 300 expected of each row, standard deviation 14.5.
    assert counts.min() > 230
    assert counts.max() < 370


@pytest.mark.parametrize(
    ("epsilon", "n_x", "expected"),
    [
        (0.2, 50, 10),
        (0.2, 49, 9),
        (0.1, 30, 3),  # 3.0000000000000004 in floating point
        (0.29, 100, 29),  # 28.999999999999996
        (0.5, 47, 23),
        (0.05, 10, 0),
        (0.0, 10, 0),
        (0.999, 10, 9),
    ],
)
@pytest.mark.parametrize("mechanism", ["nonrandom", "random", first_rows])
def test_count_from_the_share_of_the_true_size(epsilon, n_x, expected, mechanism):
    X, Y = clean(n_x=n_x)
    run = mb.simulate(X, Y, epsilon, mechanism=mechanism, rng=0)
    assert run.n_moved == len(run.moved) == len(run.rows_of_y) == expected
    assert (len(run.X), len(run.Y)) == (n_x - expected, len(Y) + expected)
    assert (run.n_x, run.n_y, run.epsilon) == (n_x, len(Y), expected / n_x)
    assert run.contamination == mb.Contamination(n_moved=expected, exactly=True)


@given(
    seed=st.integers(0, 10**6),
    sizes=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    mechanism=st.sampled_from(["nonrandom", "random", first_rows]),
    data=st.data(),
)
def test_rows_are_relabelled_never_lost_added_or_altered(seed, sizes, mechanism, data):
    X, Y = clean(seed, *sizes)
    n_moved = data.draw(st.integers(0, len(X) - 1))
    run = mb.simulate(X, Y, n_moved=n_moved, mechanism=mechanism, rng=seed)
    assert sorted_rows(run.X, run.Y) == sorted_rows(X, Y)
    assert len(set(run.moved.tolist())) == run.n_moved == n_moved
    np.testing.assert_array_equal(run.Y[run.rows_of_y], X[run.moved])
    np.testing.assert_array_equal(run.X, X[sorted(set(range(len(X))) - set(run.moved.tolist()))])
    assert sorted_rows(np.delete(run.Y, run.rows_of_y, axis=0)) == sorted_rows(Y)


def test_moving_the_rows_back_gives_the_truth():
    X, Y = clean(5)
    run = mb.simulate(X, Y, 0.3, rng=1)
    back = np.concatenate([run.X, run.Y[run.rows_of_y]]), np.delete(run.Y, run.rows_of_y, axis=0)
    truth = mb.mmd2(X, Y)
    np.testing.assert_allclose(
        mb.mmd2(*back, kernel=run.kernel), truth, rtol=0, atol=of_mmd2(len(X) + len(Y))
    )
    assert abs(mb.mmd2(run.X, run.Y) - truth) > 1e-3


@pytest.mark.parametrize("seed", range(20))
def test_the_truth_is_one_of_all_labellings(seed):
    X, Y = clean(seed, n_x=6, n_y=5)
    run = mb.simulate(X, Y, 0.4, rng=seed)
    exact = mb.mmd_bounds(run.X, run.Y, run.contamination, method="exhaustive", kernel=run.kernel)
    assert exact.lower.certified <= mb.mmd2(X, Y, kernel=run.kernel) <= exact.upper.certified


def test_the_place_in_y_says_nothing():
    X, Y = clean(n_x=10, n_y=10)
    places = [mb.simulate(X, Y, n_moved=5, rng=seed).rows_of_y for seed in range(600)]
    # 200 expected at each of the 15 places, standard deviation 11.5.
    counts = np.bincount(np.concatenate(places), minlength=15)
    assert counts.min() > 150
    assert counts.max() < 250


@pytest.mark.parametrize("mechanism", ["nonrandom", "random"])
def test_seeds_reproduce(mechanism):
    X, Y = clean()
    first, again, generator, other = (
        mb.simulate(X, Y, 0.4, mechanism=mechanism, rng=rng) for rng in (7, 7, np.random.default_rng(7), 8)
    )
    assert (first.seed, generator.seed) == (7, None)
    for run in (again, generator):
        np.testing.assert_array_equal(run.moved, first.moved)
        np.testing.assert_array_equal(run.Y, first.Y)
    assert first.moved.tolist() != other.moved.tolist()


def test_without_a_seed_one_is_drawn_and_told():
    X, Y = clean()
    runs = [mb.simulate(X, Y, 0.4) for _ in range(2)]
    assert runs[0].seed != runs[1].seed
    np.testing.assert_array_equal(mb.simulate(X, Y, 0.4, rng=runs[0].seed).Y, runs[0].Y)


def test_a_function_gets_the_groups_the_count_and_the_generator():
    X, Y = clean()
    seen = {}

    def smallest(X_clean, Y_clean, n_moved, rng):
        seen.update(X=X_clean, Y=Y_clean, m=n_moved, draw=rng.random())
        return np.argsort(X_clean[:, 0])[:n_moved].tolist()

    run = mb.simulate(X.tolist(), Y, 0.2, mechanism=smallest, rng=3)
    assert sorted(run.moved.tolist()) == sorted(np.argsort(X[:, 0])[:4].tolist())
    assert run.mechanism == "smallest"
    assert (seen["m"], seen["draw"]) == (4, np.random.default_rng(3).random())
    np.testing.assert_array_equal(seen["X"], X)
    np.testing.assert_array_equal(seen["Y"], Y)


def test_a_function_cannot_alter_the_rows():
    X, Y = clean()

    def altering(X_clean, Y_clean, n_moved, rng):
        X_clean[0] = 0.0

    with pytest.raises(ValueError, match="read-only"):
        mb.simulate(X, Y, 0.2, mechanism=altering)


@pytest.mark.parametrize(
    ("returned", "came"),
    [
        ([0, 1], "2 rows"),
        ([], "0 rows"),
        ([0, 1, 1], "a row twice"),
        ([0, 1, 20], "row 20"),
        ([-1, 0, 1], "row -1"),
        (np.array([0, 1, 2**64 - 1], dtype=np.uint64), "row 18446744073709551615"),
        ([0.0, 1.0, 2.0], r"list of float64, shape \(3,\)"),
        ([True, True, True], r"list of bool, shape \(3,\)"),
        ([[0, 1, 2]], r"list of int64, shape \(1, 3\)"),
        ([[0], [1, 2]], r"list of float64, shape \(2, 0\)"),
        (None, r"NoneType of object, shape \(\)"),
    ],
)
def test_what_a_function_returns_is_checked(returned, came):
    expected = rf"^`mechanism` must return 3 different rows of `X_clean`, numbered 0 to 19; got {came}\.$"
    with pytest.raises(mb.MmdBoundsError, match=expected):
        mb.simulate(*clean(), n_moved=3, mechanism=lambda *_: returned)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of `epsilon` and `n_moved` must be given; got none."),
        ({"epsilon": 0.1, "n_moved": 2}, "exactly one of `epsilon` and `n_moved` must be given; got both."),
        ({"epsilon": 20}, r"`epsilon` must be in \[0, 1\); got 20. Did you mean 0.2\?"),
        ({"epsilon": "a lot"}, r"`epsilon` must be a number in \[0, 1\); got 'a lot'."),
        (
            {"epsilon": 1 - 1e-13},
            "`epsilon` must leave at least one of the 20 rows of `X_clean` in X; got 0.9999999999999.",
        ),
        ({"n_moved": 20}, "`n_moved` must leave at least one of the 20 rows of `X_clean` in X; got 20."),
        ({"n_moved": -1}, "`n_moved` must be a whole number from 0; got -1."),
        ({"n_moved": 2.0}, "`n_moved` must be a whole number from 0; got 2.0."),
        (
            {"epsilon": 0.1, "mechanism": "nonrandm"},
            r"must be one of 'nonrandom', 'random' or a function; got 'nonrandm'. Did you mean 'nonrandom'\?",
        ),
        (
            {"epsilon": 0.1, "mechanism": 3},
            "`mechanism` must be one of 'nonrandom', 'random' or a function; got 3.",
        ),
        (
            {"epsilon": 0.1, "rng": -1},
            "`rng` must be a whole number from 0, a NumPy Generator or None; got -1.",
        ),
        ({"epsilon": 0.1, "rng": 1.5}, "`rng` must be a whole number from 0, .*; got 1.5."),
        ({"epsilon": 0.1, "rng": True}, "`rng` must be a whole number from 0, .*; got True."),
        ({"epsilon": 0.1, "kernel": "rbff"}, r"Did you mean 'rbf'\?"),
        (
            {"epsilon": 0.1, "kernel": "precomputed"},
            "`kernel` must be computed from the rows, .*'precomputed'.",
        ),
    ],
)
def test_refusals(options, message):
    with pytest.raises(mb.MmdBoundsError, match=message):
        mb.simulate(*clean(), **options)


def test_refused_rows_are_called_by_the_name_of_the_argument():
    X, Y = clean()
    with pytest.raises(mb.MmdBoundsError, match=r"`Y_clean` has no rows"):
        mb.simulate(X, Y[:0], 0.1)
    with pytest.raises(mb.MmdBoundsError, match=r"`X_clean`"):
        mb.simulate([[np.nan]], [[1.0]], 0.1)


def test_arrays_are_read_only_and_the_result_prints_in_one_line():
    X, Y = clean()
    run = mb.simulate(X, Y, 0.2, mechanism="random", rng=0)
    assert repr(run) == "Simulated(4 of 20 rows of X filed under Y with its 30 rows, mechanism 'random')"
    for array in (run.X, run.Y, run.moved, run.rows_of_y):
        assert not array.flags.writeable
    X[0, 0] = 5.0  # the array handed in stays its owner's
    with pytest.raises(AttributeError, match="cannot assign"):
        run.seed = 1
