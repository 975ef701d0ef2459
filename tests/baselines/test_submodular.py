"""SM against a greedy choice that computes every determinant anew."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.baselines.simple import Submodular
from mmdbounds.contamination import Contamination
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import group_sums
from mmdbounds.search.protocol import Task
from mmdbounds.sums.cpu import MatrixSums
from mmdbounds.sums.cpu.blocked import BlockedSums
from problems import (
    TIES,
    naive_extreme,
    naive_matrix,
    naive_mmd2,
    random_problem,
    small_matrix,
    small_problem,
    totals_of,
)

WEIGHTS = (0.01, 1.0, 0.1)
JITTERS = (1e-8, 1e-8, 1e-3, 0.3)
NEAR = 1e-6
"""Logarithms of determinants next to singular are good to so much: rounding beside a jitter of 1e-8."""


def naive_witness(K, p):
    """Mean kernel value to the rows of X less that to the rows of Y, for each row of Y."""
    return np.array([math.fsum(column[:p]) / p - math.fsum(column[p:]) / (len(K) - p) for column in K.T[p:]])


def log_determinants(K, taken, free):
    """Log-determinant of K on the rows taken and one more, for each free row."""
    sets = np.array([[*taken, row] for row in free])
    sign, log = np.linalg.slogdet(K[sets[:, :, None], sets[:, None, :]])
    assert (sign == 1).all()
    return log


def naive_steps(K, p, count, side, method):
    """Rows of Y one by one, the determinants of all sets anew in every step.

    Yields the gain of every free row, the row taken, and how close a tie is.
    """
    f = naive_witness(K, p)
    f = (1 if side == "upper" else -1) * (np.abs(f) if method.absolute else f)
    scale = np.abs(np.diag(K)).max() or 1.0
    K_y = K[p:, p:] + method.jitter * scale * np.eye(len(K) - p)
    taken = []
    for _ in range(count):
        free = [row for row in range(len(f)) if row not in taken]
        gain, near = f[free], TIES * scale
        logs = log_determinants(K_y, taken, free) - np.linalg.slogdet(K_y[np.ix_(taken, taken)])[1]
        gain += method.weight * logs
        # What is left of a row is good to TIES, and a logarithm makes that larger.
        near += method.weight * TIES * scale / math.exp(logs[np.argmax(gain)])
        row = free[np.flatnonzero(gain >= gain.max() - near)[0]]
        yield dict(zip(free, gain, strict=True)), row, near
        taken.append(row)


def agrees(problem, K, method, side, sums=None):
    """Return whether all rows are the same; if not, the first other one must be as good but for rounding."""
    order = method.order(totals_of(problem, sums), problem.counts.n_moved, side).tolist()
    assert len(set(order)) == len(order)
    for taken, (gain, row, near) in zip(
        order, naive_steps(K, problem.p, len(order), side, method), strict=True
    ):
        if taken != row:
            assert gain[taken] >= max(gain.values()) - 2 * near - NEAR * method.weight
            return False
    return True


def check_many(seeds, sums=lambda problem: None):
    same = []
    for seed in seeds:
        problem = random_problem(seed, two_way=False)
        K = naive_matrix(problem)
        method = Submodular(WEIGHTS[seed % 3], seed // 3 % 2 == 1, JITTERS[seed % 4])
        for side in ("lower", "upper"):
            same.append(agrees(problem, K, method, side, sums(problem)))
        check_values(method, problem, K)
    assert np.mean(same) >= 0.98


def check_values(method, problem, K):
    """Both values are those of the labellings that move the rows taken."""
    totals = totals_of(problem)
    found = method.ends(Task(totals, [problem.counts], problem.estimator), None)
    for side, value in zip(("lower", "upper"), (found.lower, found.upper), strict=True):
        rows = method.rows(totals, problem.counts.n_moved, side)
        in_x = np.arange(len(K)) < problem.p
        in_x[rows + problem.p] = True
        assert np.count_nonzero(in_x) == problem.counts.n_x
        expected = naive_mmd2(K, in_x, problem.estimator)
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-10 * np.abs(K).max())


def test_greedy_rows_are_those_of_the_definition():
    check_many(range(20))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(20, 220, 40))
def test_greedy_rows_are_those_of_the_definition_on_many_problems(start):
    check_many(range(start, start + 40))


def test_blocked_sums_take_the_same_rows():
    def blocked(problem):
        return BlockedSums(problem.Z, problem.kernel, block=(16, 8))

    # Where a product is less exact its ties are wider than the definition's.
    problems = ((seed, random_problem(seed, two_way=False)) for seed in range(1000, 1012))
    exact = [seed for seed, problem in problems if blocked(problem).rounding == 1e-12]
    assert len(exact) > 5
    check_many(exact, blocked)


@pytest.mark.parametrize("absolute", [False, True])
def test_without_the_determinant_rows_go_by_the_witness(absolute):
    for seed in range(30, 50):
        problem = random_problem(seed, two_way=False)
        K = naive_matrix(problem)
        f = naive_witness(K, problem.p)
        f = np.abs(f) if absolute else f
        method = Submodular(weight=0, absolute=absolute)
        for side, scores in (("upper", f), ("lower", -f)):
            found = method.rows(totals_of(problem), problem.counts.n_moved, side)
            width = TIES * np.abs(np.diag(K)).max()
            rows = naive_extreme(scores, problem.counts.n_moved, range(problem.q), width)
            assert found.tolist() == sorted(rows), (seed, side)


def taken(X, Y, count, bandwidth, side, **options):
    """The rows of Y that are taken for one side, ascending."""
    totals = group_sums(MatrixSums(rbf_matrix(X, Y, bandwidth)), len(X), len(Y))
    return sorted(Submodular(**options).rows(totals, count, side).tolist())


def rbf_matrix(X, Y, bandwidth):
    Z = np.concatenate([X, Y])
    return np.exp(-np.square(Z - Z.T) / (2 * bandwidth**2))


def test_copies_of_a_row_come_last():
    # X is at 0, and so are three rows of Y; far rows are worth less, but have something of their own.
    X, Y = np.zeros((4, 1)), np.array([[9.0], [0.0], [0.0], [5.0], [0.0]])
    upper = [taken(X, Y, 3, 1.0, "upper", weight=weight) for weight in (0.0, 1e-3, 1.0)]
    # The witness is 1 - 3/5 at 0 and -1/5 at 5 and 9; a copy is worth the logarithm of 2e-8 less, -17.7.
    assert upper == [[1, 2, 4], [1, 2, 4], [0, 1, 3]]


def test_size_of_the_witness():
    # Of Y, -3 is where X is not, 0 is where X is, too, and 4 is where nearly nobody is.
    X, Y = np.zeros((4, 1)), np.array([[-3.0], [-3.0], [-3.0], [-3.0], [0.0], [4.0]])
    signed, sized = (
        [taken(X, Y, 1, 0.5, side, weight=0, absolute=absolute) for side in ("lower", "upper")]
        for absolute in (False, True)
    )
    # f' = -4/6, 1 - 1/6 and -1/6
    assert signed == [[0], [4]]
    assert sized == [[5], [4]]


@pytest.mark.parametrize("weight", [0.0, 0.01])
def test_a_smaller_count_takes_the_first_rows(weight):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(20, 1)), rng.normal(0.5, 1, size=(25, 1))
    sets = [set(taken(X, Y, m, 1.0, "upper", weight=weight)) for m in range(9)]
    assert all(a < b for a, b in itertools.pairwise(sets))


@pytest.mark.parametrize("kernel", ["sigmoid", "minus distance", "indefinite matrix", "linear"])
def test_any_kernel_ends_in_a_labelling(kernel):
    # Where the logarithm does not exist a row is worth the jitter; nothing overflows.
    for seed in range(25):
        problem = small_problem(seed, two_way=False, kernel=kernel)
        K = small_matrix(problem)
        check_values(Submodular(), problem, K)


def test_a_row_whose_logarithm_does_not_exist_changes_no_other():
    # The first row's own kernel value is negative: it has no direction that the second could share with it.
    K = np.eye(4)  # one row of X, three of Y
    K[1, 1], K[1, 2], K[2, 1] = -1.0, 0.5, 0.5
    witness = np.array([100.0, 0.2, 0.1])
    K[0, 1:] = K[1:, 0] = witness + K[1:, 1:].mean(axis=0)
    totals = group_sums(MatrixSums(K), 1, 3)
    assert Submodular().order(totals, 3, "upper").tolist() == [0, 1, 2]


def test_all_kernel_values_zero():
    X, Y = np.zeros((3, 2)), np.zeros((5, 2))
    result = Submodular(jitter=0).interval(X, Y, Contamination(n_moved=2), kernel="linear")
    assert (result.lower, result.upper) == (0.0, 0.0)


def test_float32_is_no_finer_than_its_rounding():
    # A jitter of 0 is lifted to what a kernel value is good to, or the logarithms of copies were noise.
    rng = np.random.default_rng(4)
    Z = np.repeat(rng.normal(size=(40, 4)), 3, axis=0)
    totals = group_sums(BlockedSums(Z, mb.kernels.RBF(2.0), dtype="float32"), 40, 80)
    order = Submodular(jitter=0).order(totals, 40, "upper")
    copies = (order + 40) // 3
    assert len(set(copies[:27])) == 27  # all points of Y before any of them twice
    exact = group_sums(BlockedSums(Z, mb.kernels.RBF(2.0)), 40, 80)
    assert order[:20].tolist() == Submodular(jitter=0).order(exact, 20, "upper").tolist()


def test_nothing_to_move_gives_the_observed_value():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(8, 2)), rng.normal(size=(9, 2))
    result = Submodular().interval(X, Y, 0.0)
    assert result.lower == result.upper == result.observed == mb.mmd2(X, Y)


def test_a_factor_that_does_not_fit_is_refused():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 1)), rng.normal(size=(700, 1))
    refused = (
        r"^the baseline 'sm' stores 199 x 700 numbers per side, too many for `working_memory` = 1 MiB\. "
        r"Give working_memory=5\.$"
    )
    with pytest.raises(MmdBoundsError, match=refused):
        Submodular().interval(X, Y, Contamination(n_moved=200), working_memory=1)
    for method, memory in ((Submodular(), 5), (Submodular(weight=0), 1)):
        found = method.interval(X, Y, Contamination(n_moved=200), working_memory=memory)
        assert found.lower < found.upper


def test_recorded_options():
    method = Submodular(weight=0, jitter=np.float64(1e-6))
    assert method.options() == {"weight": 0.0, "absolute": False, "jitter": 1e-6}
    assert (method.name, Submodular().weight) == ("sm", 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": -1}, r"^`weight` must be a number from 0; got -1\.$"),
        ({"weight": float("nan")}, r"^`weight` must be a number from 0; got nan\.$"),
        ({"weight": float("inf")}, r"^`weight` must be a number from 0; got inf\.$"),
        ({"weight": "1"}, r"^`weight` must be a number from 0; got '1'\.$"),
        ({"jitter": 1.0}, r"^`jitter` must be a number in \[0, 1\); got 1\.$"),
        ({"jitter": True}, r"^`jitter` must be a number in \[0, 1\); got True\.$"),
        ({"absolute": 1}, r"^`absolute` must be True or False; got 1\.$"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(MmdBoundsError, match=message):
        Submodular(**options)
