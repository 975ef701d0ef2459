"""S-SD against a version that computes everything anew in every step: the same rows, ties included."""

from dataclasses import replace

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.contamination import Contamination
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import group_sums
from mmdbounds.search import stepwise
from mmdbounds.search.protocol import Task, most_extreme
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.sums import make_sums
from mmdbounds.sums.cpu.blocked import BlockedSums
from problems import (
    KERNELS,
    TIES,
    naive_extreme,
    naive_matrix,
    naive_mmd2,
    naive_printed,
    naive_stepwise,
    random_problem,
)
from tolerances import of_mmd2

PROBLEMS = 300
CHUNK = 25


def search(problem, method, side, sums=None):
    totals = group_sums(sums or make_sums(problem.Z, problem.kernel), problem.p, problem.q)
    return method.search(totals, problem.counts, problem.estimator, side)


def check_even(seed, sums=None):
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    K = naive_matrix(problem)
    most = max(problem.counts.n_moved, problem.counts.n_moved_of_x)
    asked = [None, 1, int(rng.integers(1, 40)), 1000][seed % 4]
    steps = min(most, 10 if asked is None else asked)
    for side in ("lower", "upper"):
        found = search(problem, StepwiseDominance(n_steps=asked), side, sums(problem) if sums else None)
        rows, rows_of_x = naive_stepwise(K, problem, steps, side)
        assert found.rows.tolist() == rows, (seed, side)
        assert found.rows_of_x.tolist() == rows_of_x, (seed, side)
        in_x = np.arange(len(K)) < problem.p
        in_x[found.rows + problem.p] = True
        in_x[found.rows_of_x] = False
        value = naive_mmd2(K, in_x, problem.estimator)
        np.testing.assert_allclose(found.value, value, rtol=0, atol=1e-10 * np.abs(np.diag(K)).max())


@pytest.mark.parametrize("start", range(0, PROBLEMS, CHUNK))
def test_moved_rows_are_those_of_the_definition(start):
    for seed in range(start, start + CHUNK):
        check_even(seed)


def test_blocked_sums_move_the_same_rows():
    compared = set()
    for seed in range(4000, 4080):
        problem = random_problem(seed)
        # Where a product is less exact its ties are wider than the definition's.
        if BlockedSums(problem.Z, problem.kernel).rounding == 1e-12:
            check_even(seed, lambda p: BlockedSums(p.Z, p.kernel, block=(16, 8)))
            compared.add(problem.kernel.name)
    assert compared == set(KERNELS)


def of_count(problem, K, counts, steps, side):
    """The value of one count by the definition."""
    own = replace(problem, counts=counts)
    rows, rows_of_x = naive_stepwise(K, own, steps, side)
    in_x = np.arange(len(K)) < problem.p
    in_x[np.array(rows, dtype=int) + problem.p] = True
    in_x[rows_of_x] = False
    return naive_mmd2(K, in_x, problem.estimator)


def moved_of(counts):
    return counts.n_moved, counts.n_moved_of_x


@pytest.mark.parametrize("start", range(0, 24, 8))
def test_at_most_is_the_extreme_over_counts_each_by_the_definition(start, monkeypatch):
    monkeypatch.setattr(stepwise, "_n_together", lambda *_: 4)  # several batches
    for seed in range(start, start + 8):
        problem = random_problem(seed)
        most = min(problem.counts.n_moved, 9), min(problem.counts.n_moved_of_x, 1)
        admissible = Contamination(n_moved=most[0], n_moved_of_x=most[1]).admissible(problem.p, problem.q)
        admissible = [c for c in admissible if min(c.n_x, c.n_y) > 1]
        K, asked = naive_matrix(problem), [None, 1, 4, 1000][seed % 4]
        method, sums = StepwiseDominance(n_steps=asked), make_sums(problem.Z, problem.kernel)
        totals = group_sums(sums, problem.p, problem.q)
        margin = 1e-10 * np.abs(np.diag(K)).max()
        for side, outermost in (("lower", min), ("upper", max)):
            found = most_extreme(
                method.search_counts(Task(totals, admissible, problem.estimator), side), side
            )
            every = [of_count(problem, K, c, method.steps_for(c), side) for c in admissible]
            np.testing.assert_allclose(found.value, outermost(every), rtol=0, atol=margin)
            # Sums of several counts are added in another order, and rows far from 0 then differ in ties.
            in_x = np.arange(len(K)) < problem.p
            in_x[found.rows + problem.p], in_x[found.rows_of_x] = True, False
            assert (len(found.rows), len(found.rows_of_x)) == moved_of(found.labelling.quadratic.counts)
            np.testing.assert_allclose(
                found.value, naive_mmd2(K, in_x, problem.estimator), rtol=0, atol=margin
            )


def test_many_counts_are_thinned_to_an_even_grid_with_both_ends(monkeypatch):
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(30, 2)), rng.normal(1, 1, size=(40, 2))
    full = mb.mmd_bounds(X, Y, Contamination(n_moved=25), method="s-sd")
    assert full.upper.status == "10 steps"
    searched = []
    together = StepwiseDominance._together

    def remember(self, task, admissible, side):
        searched.append([counts.n_moved for counts in admissible])
        return together(self, task, admissible, side)

    monkeypatch.setattr(StepwiseDominance, "_together", remember)
    monkeypatch.setattr(stepwise, "MOST_COUNTS", 6)
    thinned = mb.mmd_bounds(X, Y, Contamination(n_moved=25), method="s-sd")
    assert searched == [[0, 5, 10, 15, 20, 25]] * 2
    assert thinned.upper.status == "10 steps; 6 of 26 counts searched"
    assert full.lower.value <= thinned.lower.value <= thinned.observed <= thinned.upper.value
    assert thinned.upper.value <= full.upper.value + of_mmd2(70, smallest=15)


def naive_plain(K, problem, n_steps, side):
    """S-SD by the plain witness: means over the groups of the step, each row itself included."""
    m, p, out = problem.counts.n_moved, problem.p, 1 if side == "upper" else -1
    x, y = list(range(p)), list(range(p, len(K)))
    for s in range(1, n_steps + 1):
        witness = {j: out * (sum(K[x, j]) / len(x) - sum(K[y, j]) / len(y)) for j in y}
        quota = m * s // n_steps - m * (s - 1) // n_steps
        batch = naive_extreme(witness, quota, set(y), TIES * np.abs(np.diag(K)).max())
        x, y = x + batch, [j for j in y if j not in batch]
    return sorted(j - p for j in x if j >= p)


@pytest.mark.parametrize("asked", [None, 1, 3, 1000])  # S-SD, SD, few steps, one row a step
def test_the_plain_witness_moves_the_rows_of_its_definition(asked):
    moved = 0
    for seed in range(40):
        problem = random_problem(seed, two_way=False)
        K = naive_matrix(problem)
        steps = min(problem.counts.n_moved, 10 if asked is None else asked)
        for side in ("lower", "upper"):
            found = search(problem, StepwiseDominance(n_steps=asked, weights="plain"), side)
            rows = naive_plain(K, problem, steps, side)
            assert found.rows.tolist() == rows, (seed, side)
            in_x = np.arange(len(K)) < problem.p
            in_x[found.rows + problem.p] = True
            value = naive_mmd2(K, in_x, problem.estimator)
            np.testing.assert_allclose(found.value, value, rtol=0, atol=1e-10 * np.abs(np.diag(K)).max())
            moved += len(rows)
    assert moved > 500


def test_the_plain_witness_can_move_other_rows_than_the_gradient():
    # Groups of different sizes: the pair of a row and itself weighs more in the smaller group.
    differ = 0
    for seed in range(40):
        problem = random_problem(seed, two_way=False)
        plain, exact = (
            search(problem, StepwiseDominance(n_steps=1, weights=weights), "upper").rows.tolist()
            for weights in ("plain", "sums")
        )
        differ += plain != exact
    assert differ > 5


@pytest.mark.parametrize("weights", ["sums", "means"])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_paper_schedule_follows_its_definition(side, weights):
    outcomes = {"moved": 0, "emptied": 0, "too few": 0}
    for seed in range(150):
        problem = random_problem(seed, two_way=False)
        if problem.counts.n_moved == 0:
            continue
        steps = min(problem.counts.n_moved, [10, 1, 3, 25][seed % 4])
        method = StepwiseDominance(n_steps=steps, schedule="paper", weights=weights)
        rows = naive_printed(naive_matrix(problem), problem, steps, side, weights)
        if rows is None:
            outcomes["emptied"] += 1
            with pytest.raises(MmdBoundsError, match="would move all"):
                search(problem, method, side)
        elif problem.estimator == "unbiased" and problem.q - len(rows) < 2:
            outcomes["too few"] += 1
            with pytest.raises(MmdBoundsError, match="the unbiased estimator needs at least 2"):
                search(problem, method, side)
        else:
            outcomes["moved"] += 1
            assert search(problem, method, side).rows.tolist() == rows, seed
    assert outcomes["moved"] > 100
    assert outcomes["emptied"] > 0


def test_the_paper_schedule_moves_fifteen_rows_where_ten_are_misfiled():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(60, 2))
    result = mb.mmd_bounds(X, Y, 0.2, method=mb.StepwiseDominance(n_steps=10, schedule="paper"), exactly=True)
    assert result.n_moved == 10
    assert (result.lower.n_moved, result.upper.n_moved) == (15, 15)
    assert result.upper.kind == "resized labelling"
    assert "moved 15 rows instead of 10" in result.upper.status


def test_quantile_counts_are_computed_in_integers():
    # One sixth of 60 rows is 10; in floating point 60 * (0.2 / 1.2) is a little more, and 11 rows would move.
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(40, 1)), rng.normal(size=(60, 1))
    result = mb.mmd_bounds(X, Y, 0.2, method=mb.StepwiseDominance(n_steps=1, schedule="paper"), exactly=True)
    assert (result.lower.n_moved, result.upper.n_moved) == (11, 10)


def test_the_paper_schedule_keeps_the_share_as_stated():
    # Of 43 rows 0.2 makes 10 misfiled ones, a share of 10/53. As a share a sixth of 67 rows moves, 12;
    # as a count (10/53) / (1 + 10/53) of them, 11.
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(43, 1)), rng.normal(size=(67, 1))
    method = mb.StepwiseDominance(n_steps=1, schedule="paper")
    assert mb.mmd_bounds(X, Y, 0.2, method=method, exactly=True).upper.n_moved == 12
    assert mb.mmd_bounds(X, Y, Contamination(n_moved=10), method=method, exactly=True).upper.n_moved == 11


def test_ties_go_to_the_lowest_rows():
    # Y holds four copies of 1 and four of 0; X sits at 1, so that the copies of 1 look most like X.
    X = np.ones((6, 1))
    Y = np.array([[0.0], [1.0], [0.0], [1.0], [1.0], [0.0], [1.0], [0.0]])
    result = mb.mmd_bounds(X, Y, Contamination(n_moved=3), bandwidth=1.0, method="sd", exactly=True)
    assert result.upper.rows.tolist() == [1, 3, 4]
    assert result.lower.rows.tolist() == [0, 2, 5]


def test_one_row_a_step_in_compiled_code_and_in_numpy_agree():
    rng = np.random.default_rng(7)
    Z = np.round(rng.normal(size=(300, 2)), 1)  # duplicates
    kernel = mb.kernels.RBF(1.0)
    counts = Counts(60, 0, 160, 140)
    found = [
        StepwiseDominance(n_steps=60).search(group_sums(sums, 100, 200), counts, "unbiased", side)
        for side in ("lower", "upper")
        for sums in (make_sums(Z, kernel), BlockedSums(Z, kernel))
    ]
    for plain, compiled in (found[:2], found[2:]):
        assert plain.rows.tolist() == compiled.rows.tolist()
        np.testing.assert_allclose(plain.value, compiled.value, rtol=0, atol=of_mmd2(300, smallest=100))


def recomputed(K, p, counts, steps, towards):
    """S-SD on a dense matrix: the gradient from scratch in every step, from the formula."""
    n = len(K)
    u = np.arange(n) < p
    sign = np.where(u, -1.0, 1.0)
    moved = np.zeros(n, dtype=bool)
    o = 1
    for s in range(1, steps + 1):
        g = 2 * (n - o) / (counts.n_x * counts.n_y) * (K @ u / (counts.n_x - o) - K @ ~u / (counts.n_y - o))
        g -= (1 / (counts.n_x * (counts.n_x - 1)) - 1 / (counts.n_y * (counts.n_y - 1))) * np.diag(K)
        batch = []
        for m, group in ((counts.n_moved, np.arange(n) >= p), (counts.n_moved_of_x, np.arange(n) < p)):
            quota = m * s // steps - m * (s - 1) // steps
            free = np.flatnonzero(group & ~moved)
            batch += free[np.argsort(-(towards * sign * g)[free], kind="stable")[:quota]].tolist()
        moved[batch] = True
        u[batch] = ~u[batch]
    return np.flatnonzero(moved[p:]).tolist(), np.flatnonzero(moved[:p]).tolist()


@pytest.mark.parametrize("steps", [40, 279, 280])  # seven rows a step, one or two, one
@pytest.mark.parametrize("moved_of_x", [0, 90])
@pytest.mark.long
def test_columns_that_come_and_go_change_nothing(monkeypatch, steps, moved_of_x):
    # Only 64 columns are kept, so that they are evicted and computed again many times.
    monkeypatch.setattr("mmdbounds.search.stepwise.kept_columns", lambda n, memory: 64)
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(900, 2))
    Z[:300] += 0.7
    kernel = mb.kernels.RBF(1.0)
    matrix = make_sums(Z, kernel)
    counts = Counts(280, moved_of_x, 580 - moved_of_x, 320 + moved_of_x)
    K = matrix.block(slice(0, 900), slice(0, 900))
    for side, towards in (("upper", 1.0), ("lower", -1.0)):
        expected = recomputed(K, 300, counts, steps, towards)
        for sums in (matrix, BlockedSums(Z, kernel, block=(128, 64))):
            totals = group_sums(sums, 300, 600)
            found = StepwiseDominance(n_steps=steps).search(totals, counts, "unbiased", side)
            assert (found.rows.tolist(), found.rows_of_x.tolist()) == expected


def test_no_rows_to_move_gives_the_observed_value():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(8, 2)), rng.normal(size=(9, 2))
    for method in ("s-sd", "sd", "exhaustive", StepwiseDominance(schedule="paper")):
        result = mb.mmd_bounds(X, Y, 0.0, method=method, exactly=True)
        assert result.lower.value == result.upper.value == result.observed == mb.mmd2(X, Y)


def test_paper_schedule_refuses_to_empty_y():
    with pytest.raises(MmdBoundsError, match="would move all 4 rows of `Y`"):
        mb.mmd_bounds(
            np.eye(8),
            np.ones((4, 8)),
            Contamination(n_moved=2),
            method=StepwiseDominance(schedule="paper"),
            exactly=True,
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_steps": 0}, r"`n_steps` must be a whole number from 1; got 0\."),
        ({"n_steps": 2.5}, r"`n_steps` must be a whole number from 1; got 2\.5\."),
        (
            {"schedule": "papr"},
            r"`schedule` must be one of 'even', 'paper'; got 'papr'\. Did you mean 'paper'\?",
        ),
        (
            {"weights": "mean"},
            r"`weights` must be one of 'sums', 'means', 'plain'; got 'mean'\. Did you mean 'means'\?",
        ),
        (
            {"schedule": "paper", "weights": "plain"},
            r"^`weights='plain'` is for schedule='even'; the paper's",
        ),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(MmdBoundsError, match=message):
        StepwiseDominance(**options)


def test_the_plain_witness_is_for_one_way_misfiling():
    both = Contamination(n_moved=2, n_moved_of_x=1)
    with pytest.raises(MmdBoundsError, match=r"^`weights='plain'` is for one-way misfiling\. Leave"):
        mb.mmd_bounds(np.eye(8), np.ones((6, 8)), both, method=StepwiseDominance(weights="plain"))
