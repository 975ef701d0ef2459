"""What each row does to a bound: every exchange by the definition, and what the numbers promise."""

import itertools

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.counts import Counts
from mmdbounds.objective import Labelling, Quadratic, group_sums
from mmdbounds.search import exchanges
from mmdbounds.search.exchanges import row_effects
from mmdbounds.sums import make_sums
from mmdbounds.sums.cpu.blocked import BlockedSums
from mmdbounds.sums.plan import MIB
from problems import (
    Problem,
    all_labellings,
    naive_extension,
    naive_matrix,
    naive_values,
    random_problem,
    small_problem,
)
from tolerances import of_mmd2

SIDES = ("lower", "upper")


def sums_of(problem, backend):
    if backend == "matrix":
        return make_sums(problem.Z, problem.kernel)
    return BlockedSums(problem.Z, problem.kernel, block=(7, 5), n_threads=2)


def labelled_at_random(problem, sums, seed):
    """Move random rows; return the labelling and its marks, 1 for the pooled rows in X after the move."""
    rng = np.random.default_rng(seed)
    counts, p, q = problem.counts, problem.p, problem.q
    labelling = Labelling(Quadratic(group_sums(sums, p, q), counts, problem.estimator))
    movers = np.concatenate(
        [rng.permutation(p)[: counts.n_moved_of_x], p + rng.permutation(q)[: counts.n_moved]]
    ).astype(np.intp)
    labelling.move(movers - labelling.active.start)
    u = (np.arange(p + q) < p).astype(float)
    u[movers] = 1 - u[movers]
    return labelling, u


def naive_effects(K, u, problem, side):
    """For each pooled row every exchange with a row of its group on the other side, computed anew."""
    best = max if side == "upper" else min
    filed = np.arange(len(K)) < problem.p
    value = naive_extension(K, u, problem.counts, problem.estimator)
    found = np.full(len(K), np.nan)
    for i in range(len(K)):
        changes = []
        for j in np.flatnonzero((filed == filed[i]) & (u != u[i])):
            v = u.copy()
            v[[i, j]] = v[[j, i]]
            changes.append(naive_extension(K, v, problem.counts, problem.estimator) - value)
        found[i] = best(changes, default=np.nan)
    return found


@pytest.mark.parametrize("backend", ["matrix", "blocked"])
@pytest.mark.parametrize("start", range(0, 100, 25))
def test_effects_are_those_of_the_definition(backend, start):
    ways = set()
    for seed in range(start, start + 25):
        problem = random_problem(seed)
        sums, K = sums_of(problem, backend), naive_matrix(problem)
        labelling, u = labelled_at_random(problem, sums, seed)
        # A product of far-away rows loses what `rounding` says; small problems take differences and do not.
        tolerance = 4 * max(1e-10, 0.0 if backend == "matrix" else sums.rounding) * np.abs(np.diag(K)).max()
        for side in SIDES:
            expected = naive_effects(K, u, problem, side)
            assert np.isnan(expected[: labelling.active.start]).all()
            np.testing.assert_allclose(
                row_effects(labelling, side), expected[labelling.active], rtol=0, atol=tolerance
            )
        ways.add((problem.counts.n_moved_of_x > 0, problem.estimator))
    assert len(ways) == 4


# The last: 12 rows stay and 8 move, so of 24 exchanges 2 are for each of the 12, and 3 for each of the 8.
LIMITS = [{"CANDIDATES": 2}, {"EXCHANGES": 0, "FEWEST_PARTNERS": 2}, {"EXCHANGES": 24, "FEWEST_PARTNERS": 1}]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize(
    "kernel", [mb.kernels.RBF(0.5), mb.kernels.Polynomial(2, 0.5, 1.0)], ids=lambda kernel: kernel.name
)
def test_few_partners_are_the_most_promising(kernel, limits, monkeypatch):
    rng = np.random.default_rng(6)
    X, Y = rng.normal(size=(9, 2)), rng.normal(1, 1, size=(20, 2))
    problem = Problem(X, Y, kernel, "unbiased", Counts(8, 0, 17, 12))
    labelling, u = labelled_at_random(problem, make_sums(problem.Z, problem.kernel), 6)
    exact = {side: row_effects(labelling, side) for side in SIDES}
    for name, value in limits.items():
        monkeypatch.setattr(exchanges, name, value)
    K, counts, p = naive_matrix(problem), problem.counts, problem.p

    def change(*rows):  # the value with these rows on the other side; one alone: its partner left out
        v = u.copy()
        v[list(rows)] = 1 - v[list(rows)]
        return naive_extension(K, v, counts, "unbiased") - naive_extension(K, u, counts, "unbiased")

    differ = 0
    for side, out in (("lower", -1.0), ("upper", 1.0)):
        few = row_effects(labelling, side)
        differ += np.count_nonzero(few != exact[side])
        for i in range(problem.q):
            others = np.flatnonzero(labelling.moved != labelling.moved[i])
            few_of = 3 if "EXCHANGES" in limits and limits["EXCHANGES"] and labelling.moved[i] else 2
            promising = sorted(others, key=lambda j: -out * change(p + j))[:few_of]
            expected = max(out * change(p + i, p + j) for j in promising)
            np.testing.assert_allclose(few[i], out * expected, rtol=0, atol=1e-12)
    assert differ > 0


def test_strips_stay_within_the_budget(monkeypatch):
    problem = random_problem(2, two_way=True)
    sums = make_sums(problem.Z, problem.kernel)
    labelling, _ = labelled_at_random(problem, sums, 2)
    whole = row_effects(labelling, "upper")
    room = 8 * 60  # bytes: a few rows of kernel values
    monkeypatch.setattr(exchanges, "SHARE_OF_MEMORY", room / (sums.working_memory * MIB))
    block, sizes = sums.block, []

    def watched(A, B, out=None):
        sizes.append((len(A), len(B)))
        return block(A, B, out)

    monkeypatch.setattr(sums, "block", watched)
    np.testing.assert_array_equal(row_effects(labelling, "upper"), whole)
    assert len(sizes) > 4
    assert all(8 * a * b <= room or a == 1 for a, b in sizes)


@pytest.mark.parametrize("seed", range(12))
def test_at_the_extreme_an_effect_limits_what_knowledge_is_worth(seed):
    # All labellings in which the row is on the other side: the best of them is no worse than the exchange.
    problem = small_problem(seed, kernel="rbf", most=(9, 6))
    K, counts, p = naive_matrix(problem), problem.counts, problem.p
    marks = all_labellings(p, problem.q, counts)
    values = naive_values(K, marks, problem.estimator)
    quadratic = Quadratic(
        group_sums(make_sums(problem.Z, problem.kernel), p, problem.q), counts, problem.estimator
    )
    for side, out in (("lower", -1.0), ("upper", 1.0)):
        extreme = marks[np.argmax(out * values)]
        labelling = Labelling(quadratic)
        filed = (np.arange(len(K)) < p).astype(float)
        labelling.move(np.flatnonzero(extreme != filed) - labelling.active.start)
        for place, effect in enumerate(row_effects(labelling, side)):
            if np.isnan(effect):
                continue
            row = labelling.active.start + place
            known = (out * values)[marks[:, row] != extreme[row]].max()
            assert out * effect <= 1e-12
            assert known >= (out * values).max() + out * effect - 1e-12


def test_groups_without_a_choice_have_no_effects():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    sums = make_sums(np.concatenate([X, Y]), mb.kernels.RBF(1.0))
    everything = Labelling(Quadratic(group_sums(sums, 6, 5), Counts(5, 2, 9, 2), "unbiased"))
    everything.move(np.array([0, 3, 6, 7, 8, 9, 10]))
    found = row_effects(everything, "upper")
    assert np.isnan(found).tolist() == [False] * 6 + [True] * 5
    nothing = Labelling(Quadratic(group_sums(sums, 6, 5), Counts(0, 0, 6, 5), "unbiased"))
    assert np.isnan(row_effects(nothing, "lower")).all()
    assert len(row_effects(nothing, "lower")) == 5


# In the result.

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(20, 2)), RNG.normal(1, 1, size=(15, 2))
ONE_WAY, TWO_WAY = mb.Contamination(n_moved=3), mb.Contamination(n_moved=3, n_moved_of_x=2)


@pytest.mark.parametrize("method", ["sharp", "s-sd", "sd", "exhaustive"])
def test_every_method_that_labels_says_what_rows_do(method):
    result = mb.mmd_bounds(A, B, ONE_WAY, method=method, bandwidth=1.5, rng=0)
    sums = make_sums(np.concatenate([A, B]), mb.kernels.RBF(1.5))
    for bound in (result.lower, result.upper):
        labelling = Labelling(Quadratic(group_sums(sums, 20, 15), Counts(3, 0, 23, 12), "unbiased"))
        labelling.move(bound.rows)
        np.testing.assert_allclose(
            bound.effects, row_effects(labelling, bound.side), rtol=0, atol=of_mmd2(35, smallest=12)
        )
        assert bound.effects_of_x is None
        assert not bound.effects.flags.writeable
    if method in ("sharp", "exhaustive"):
        assert result.lower.effects.min() >= -1e-12
        assert result.upper.effects.max() <= 1e-12


def test_two_way_rows_of_both_groups():
    result = mb.mmd_bounds(A, B, TWO_WAY, rng=0)
    back = mb.mmd_bounds(B, A, mb.Contamination(n_moved=2, n_moved_of_x=3), rng=0)
    for bound, other in ((result.lower, back.lower), (result.upper, back.upper)):
        assert (len(bound.effects), len(bound.effects_of_x)) == (15, 20)
        np.testing.assert_allclose(bound.effects, other.effects_of_x, rtol=0, atol=of_mmd2(35, smallest=15))
        np.testing.assert_allclose(bound.effects_of_x, other.effects, rtol=0, atol=of_mmd2(35, smallest=15))


def test_where_there_is_nothing_to_say():
    nothing = mb.mmd_bounds(A, B, 0.0, exactly=True)
    printed = mb.mmd_bounds(A, B, 0.3, method=mb.StepwiseDominance(schedule="paper", n_steps=2), exactly=True)
    assert printed.upper.kind == "resized labelling"
    for bound in (nothing.lower, nothing.upper, printed.upper):
        assert bound.effects is None
        assert bound.effects_of_x is None


def test_without_an_exchange_a_row_changes_sides_alone():
    # Groups that are equal as filed: nothing moved is smallest, so no exchange is possible there.
    how = {"bandwidth": 1.5, "estimator": "biased"}
    same = mb.mmd_bounds(A[:15], A[:15], TWO_WAY, method="s-sd", **how)
    assert (same.lower.n_moved, same.lower.n_moved_of_x) == (0, 0)
    for i in range(15):
        one, other = np.concatenate([A[:15], A[[i]]]), np.delete(A[:15], i, axis=0)
        alone = mb.mmd2(one, other, **how) - same.lower.value
        for effect in (same.lower.effects[i], same.lower.effects_of_x[i]):
            np.testing.assert_allclose(effect, alone, rtol=0, atol=of_mmd2(30, smallest=14))
    assert not np.isnan(same.upper.effects).any()


def test_rows_that_cannot_be_on_the_other_side_have_no_effect():
    free = [True] * 4 + [False] * 2
    every = mb.mmd_bounds(A, B[:6], mb.Contamination(n_moved=4, exactly=True, may_move=free), rng=0)
    assert len(every.lower.effects) == 4
    assert np.isnan(every.lower.effects).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_bounds_rise_by_no_more_once_a_row_is_known(seed, estimator):
    """Of all labellings of at most so many rows, those with the row on the other side reach what is said."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(6, 2)), rng.normal(0.5 * (seed % 3), 1, size=(7, 2))
    most = 2 + seed % 2
    limits = {"strata": list("aabbbbb"), "limits": {"a": 1}} if seed % 4 == 3 else {}
    amount = mb.Contamination(n_moved=most, **limits)
    result = mb.mmd_bounds(X, Y, amount, estimator=estimator, bandwidth=1.0, rng=0)
    values = {}
    for m in range(most + 1):
        for rows in map(list, itertools.combinations(range(7), m)):
            if not limits or not {0, 1} <= set(rows):
                moved = np.concatenate([X, Y[rows]]), np.delete(Y, rows, axis=0)
                values[tuple(rows)] = mb.mmd2(*moved, estimator=estimator, bandwidth=1.0)
    for bound, best, sign in ((result.lower, min, 1), (result.upper, max, -1)):
        assert not np.isnan(bound.effects).any()
        for i, effect in enumerate(bound.effects):
            known = best(v for rows, v in values.items() if (i in rows) != (i in bound.rows))
            assert sign * known <= sign * (bound.value + effect) + 1e-12
            rise = sign * (known - bound.certified)
            assert rise <= sign * effect + abs(bound.value - bound.certified) + 1e-12
