"""Learned multipliers: valid whatever was learned, on every path; and their bound is the formula's."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import mmdbounds as mb
from limited_problems import limited_problem
from mmdbounds.contamination import as_contamination
from mmdbounds.counts import Counts
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.problem import comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.search.exchanges import refine
from mmdbounds.search.protocol import top_sum
from mmdbounds.search.sharp import learned, multiplier_steps, pair_factors
from mmdbounds.search.sharp.learned import LearnedMultipliers
from mmdbounds.search.sharp.quota_problem import Effort
from mmdbounds.search.sharp.starting_points import sample, starts, upper_starts_from_sample
from mmdbounds.sums.cpu.blocked import BlockedSums
from problems import (
    KERNELS,
    Problem,
    quadratic_of,
    random_problem,
    small_choice,
    small_matrix,
    small_problem,
    totals_of,
    two_clouds,
)
from tolerances import of_mmd2

NO_END = 1e15
SIZES = (None, 0.0, 0.3, 30.0)  # of parameters; `None`: as they are learned
FEW = {"RANKED_COLUMNS": 2, "SAMPLED": 5, "LANDMARKS": 3}


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch):
    monkeypatch.setattr(learned, "STEPS", 40)
    monkeypatch.setattr(learned, "SAMPLED", 120)


def best_of(problem):
    """The labelling with the largest value, from all of them."""
    _, ways, values = small_choice(problem, "upper")
    return Labelling(quadratic_of(problem), ways[int(np.argmax(values))]), values.max()


def spoiled(multipliers, size, seed):
    """Parameters that nobody would learn."""
    rng = np.random.default_rng(seed)
    multipliers._parameters = size * rng.normal(size=multipliers._parameters.shape)
    return multipliers


def checked(problem, size, seed, *, few=False):
    """Compare the ceiling with the largest value of all labellings, and return the gap.

    With `few`, thresholds, steps and features see some of the rows, as they do where rows are many.
    """
    labelling, best = best_of(problem)
    quadratic = labelling.quadratic
    with pytest.MonkeyPatch.context() as patch:
        for name, value in FEW.items() if few else ():
            patch.setattr(learned, name, value)
        multipliers = LearnedMultipliers(labelling, seed)
        if size is None:
            multipliers.fit(best, 0.0, 1.0, Effort(NO_END))
        else:
            spoiled(multipliers, size, seed)
        bound = multipliers.ceiling(quadratic, Effort(NO_END)) + quadratic.margin
    assert best <= bound < np.inf, (seed, problem.kernel.name, problem.counts)
    return bound - best


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_no_labelling_exceeds_the_ceiling(kernel, size):
    for seed in range(6):
        problem = small_problem(seed, kernel=kernel, two_way=bool(seed % 2))
        checked(problem, size, seed, few=seed in (2, 3))


def nearly_all(problem):
    """The same with as many rows of Y moved as the estimator allows."""
    p, q, m_d = problem.p, problem.q, problem.counts.n_moved_of_x
    m = min(q, q - (2 if problem.estimator == "unbiased" else 1) + m_d)
    return replace(problem, counts=Counts(m, m_d, p + m - m_d, q - m + m_d))


@pytest.mark.parametrize("size", SIZES)
def test_no_labelling_exceeds_the_ceiling_where_nearly_all_rows_move(size):
    for seed in range(24):
        problem = nearly_all(small_problem(seed, two_way=bool(seed % 2)))
        checked(problem, size, seed, few=bool(seed // 2 % 2))


@pytest.mark.slow
def test_no_labelling_exceeds_the_ceiling_in_thousands_of_problems():
    for seed in range(4000):
        problem = small_problem(seed)
        if seed % 5 == 0:
            problem = nearly_all(problem)
        checked(problem, SIZES[seed % 4], seed, few=bool(seed // 4 % 2))


def all_checked(size):
    for seed in range(30):
        checked(small_problem(seed, kernel="rbf"), size, seed)


def naive_multipliers(multipliers):
    """The multipliers, pair by pair, and what the squares add to each pair, in units of c."""
    added = multipliers._factors()
    e, h, level, v = pair_factors.parted(added.multipliers(np.arange(len(added.squares))))
    result = np.empty((len(e), len(e)))
    for i, j in np.ndindex(len(e), len(e)):
        result[i, j] = e[i] @ h[j] - h[i] @ e[j] + (level[i] - level[j])[0]
    return result, v @ v.T


@pytest.mark.parametrize("two_way", [False, True])
def test_the_bound_is_that_of_the_formula(two_way):
    for seed in range(20):
        problem = small_problem(seed, two_way=two_way)
        labelling, _ = best_of(problem)
        multipliers = spoiled(LearnedMultipliers(labelling, seed), 0.2, seed)
        f, sign, start = labelling.quadratic, labelling.sign, labelling.active.start
        K = small_matrix(problem)[start:, start:]
        extra, squares = naive_multipliers(multipliers)
        np.testing.assert_array_equal(extra.T + extra, 0.0)
        x = sign[:, None] * sign * K + extra + squares
        size = np.abs(extra).max() + np.abs(K).max() + squares.max()
        scores, constant = sign * f.gradient_as_filed[labelling.active] / f.c + np.diag(K), f.value_as_filed
        parts, n = labelling.parts(), len(sign)
        if not two_way and 2 * f.counts.n_moved > n:  # those that stay are chosen
            among = K - np.diag(np.diag(K))
            constant += f.c * (scores.sum() + among.sum())
            scores, parts = -(scores + 2 * among.sum(axis=1)), [(slice(0, n), n - f.counts.n_moved)]
        scores += np.diag(squares)
        for i in range(len(sign)):
            for part, quota in parts:
                others = [x[i, j] for j in range(part.start, part.stop) if j != i]
                count = quota - (part.start <= i < part.stop)
                scores[i] += sum(sorted(others)[len(others) - count :]) if count else 0.0
        top = sum(np.sort(scores[part])[-quota:].sum() for part, quota in parts)
        # Thresholds come from all columns here, so nothing but rounding is lost.
        found = multipliers.ceiling(f, Effort(NO_END))
        tolerance = f.c * len(sign) ** 2 * (size + np.abs(scores).max()) * 1e-11
        np.testing.assert_allclose(found, constant + f.c * top, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("thresholds that are forgotten", lambda thresholds, excess: (0 * thresholds, excess)),
        ("an excess that is halved", lambda thresholds, excess: (thresholds, 0.5 * excess)),
    ],
)
def test_a_pass_that_is_wrong_is_noticed(name, broken, monkeypatch):
    honest = LearnedMultipliers._partners
    monkeypatch.setattr(LearnedMultipliers, "_partners", lambda *a: broken(*honest(*a)))
    with pytest.raises(AssertionError, match="rbf"):
        all_checked(0.0)


def test_multipliers_that_are_not_antisymmetric_are_noticed(monkeypatch):
    honest = pair_factors.factors

    def one_sided(multipliers):
        left, right = honest(multipliers)
        return left - 0.3, right

    for module in (learned, pair_factors):
        monkeypatch.setattr(module, "factors", one_sided)
    with pytest.raises(AssertionError, match="rbf"):
        all_checked(None)


def test_learning_takes_most_of_the_gap_away():
    X, Y = two_groups(200, 250)
    labelling, multipliers = of_the_best(X, Y)
    f, best = labelling.quadratic, labelling.value()
    before = multipliers.ceiling(f, Effort(NO_END)) - best
    multipliers.fit(best, 0.0, 1.0, Effort(NO_END))
    assert 0 < multipliers.ceiling(f, Effort(NO_END)) - best < 0.25 * before


def test_steps_end_once_the_samples_promise_enough(monkeypatch):
    monkeypatch.setattr(learned, "STEPS", 120)
    labelling, _ = of_the_best(*two_groups(200, 250))
    best, width = labelling.value(), labelling.value() - labelling.quadratic.value_as_filed
    spent = {}
    for slack in (0.0, 4 * width, 8 * width):
        multipliers, effort = LearnedMultipliers(labelling, 0), Effort(NO_END)
        multipliers.fit(best, slack, 1.0, effort)
        spent[slack] = effort.spent
        if slack:
            assert multipliers.ceiling(labelling.quadratic, Effort(NO_END)) <= best + slack
    every, some, few = spent.values()
    assert few < some < every


@pytest.mark.parametrize("two_way", [False, True])
def test_little_memory_gives_the_same_ceiling(two_way, monkeypatch):
    """Multipliers are then made again for each part of the rows, and the excess is added up part by part."""
    problem = random_problem(9, kernel="rbf", two_way=two_way)
    labelling = Labelling(quadratic_of(problem))
    f = labelling.quadratic
    bounds = []
    for memory, strip in ((1024, 1024), (1e-3, 4)):
        monkeypatch.setattr(pair_factors, "STRIP", strip)
        multipliers = spoiled(LearnedMultipliers(labelling, 0), 0.1, 0)
        monkeypatch.setattr(multipliers._sums, "working_memory", memory)
        added = multipliers._factors()
        assert (len(added.parts(slice(0, len(labelling.sign)))) > 1) == (memory < 1)
        bounds.append(multipliers.ceiling(f, Effort(NO_END)))
    np.testing.assert_allclose(bounds[1], bounds[0], rtol=1e-9, atol=of_mmd2(len(problem.Z)))


@pytest.mark.parametrize("seed", [8, 27])
def test_within_limits_it_learns_the_same_without_a_compiler(seed, monkeypatch):
    problem, [counts] = limited_problem(seed, at_most=False, kernel="rbf", two_way=False)
    labelling = Labelling(Quadratic(totals_of(problem), counts, problem.estimator))
    learnt = []
    for find in (multiplier_steps._compiled_capped, multiplier_steps._numpy_capped):
        monkeypatch.setattr(multiplier_steps, "find_capped", find)
        multipliers = LearnedMultipliers(labelling, 0)
        multipliers.fit(labelling.quadratic.value_as_filed, 0.0, 1.0, Effort(NO_END))
        learnt.append(multipliers.ceiling(labelling.quadratic, Effort(NO_END)))
    assert learnt[1] == pytest.approx(learnt[0], rel=1e-6)


def test_more_patience_and_more_rows_take_more_steps():
    few, many, patient = (learned.steps_and_rows(*case) for case in ((5000,), (10**6,), (5000, 20.0)))
    assert few == (40, 120)
    assert many == (56, 168)
    assert patient[0] > few[0]
    assert learned.steps_and_rows(50)[1] == 50


def test_a_sample_stands_for_all_rows():
    # The bound of a sample, blown up, is about that of all rows; without weights it would be a quarter of it.
    X, Y = two_groups(200, 250)
    labelling, multipliers = of_the_best(X, Y)
    f = labelling.quadratic
    blown_up, _ = multipliers._rises(multipliers._sample(120), 1e-4)
    width = labelling.value() - f.value_as_filed
    bound = f.value_as_filed + f.c * multipliers._unit * blown_up
    assert multipliers.ceiling(f, Effort(NO_END)) == pytest.approx(bound, rel=0, abs=0.5 * width)


@pytest.mark.long
def test_the_same_seed_learns_the_same_and_another_one_something_else():
    labelling, _ = of_the_best(*two_groups(150, 200))
    bounds = []
    for seed in (3, 3, 4):
        multipliers = LearnedMultipliers(labelling, seed)
        multipliers.fit(labelling.value(), 0.0, 1.0, Effort(NO_END))
        bounds.append(multipliers.ceiling(labelling.quadratic, Effort(NO_END)))
    assert bounds[0] == bounds[1]
    assert bounds[0] != bounds[2]


def spoiled_ceiling(problem, sums=None):
    labelling = Labelling(quadratic_of(problem, sums))
    multipliers = spoiled(LearnedMultipliers(labelling, 0), 0.1, 0)
    return multipliers.ceiling(labelling.quadratic, Effort(NO_END))


def blocks_of(problem):
    return BlockedSums(problem.Z, problem.kernel, block=(16, 8))


def torch_sums(problem):
    from mmdbounds.sums.torch.sums import TorchSums

    return TorchSums(problem.Z, problem.kernel, device="cpu")


@pytest.mark.parametrize("sums", [blocks_of, pytest.param(torch_sums, marks=pytest.mark.full)])
def test_blocks_and_a_matrix_give_the_same_ceiling(sums):
    problem = random_problem(9, kernel="rbf", two_way=True)
    bounds = [spoiled_ceiling(problem), spoiled_ceiling(problem, sums(problem))]
    np.testing.assert_allclose(bounds[1], bounds[0], rtol=1e-9, atol=of_mmd2(len(problem.Z)))


@pytest.mark.parametrize("of_x", [0, 10])
def test_what_sums_lose_is_a_share_of_all_that_they_add_up(of_x, monkeypatch):
    """Thresholds far below 0 are as valid as any, but scores are small beside what they are sums of."""

    def far_below(self, groups, *_):
        return np.full((groups[0].stop - groups[0].start, 1), -1e3)

    monkeypatch.setattr(LearnedMultipliers, "_thresholds", far_below)
    labelling = Labelling(quadratic_of(nearly_all(two_clouds(0, q=30, of_x=of_x))))
    f, multipliers = labelling.quadratic, LearnedMultipliers(labelling, 0)
    found = multipliers.ceiling(f, Effort(NO_END))
    above = multipliers.row_bounds.alone + multipliers.row_bounds.excess.sum(axis=0)
    linear = labelling.sign * f.gradient_as_filed[labelling.active] / f.c
    linear += f.totals.diagonal[labelling.active]
    n_partners = f.counts.n_moved + f.counts.n_moved_of_x - 1
    plain = f.value_as_filed + f.c * top_sum(linear - 1e3 * n_partners + above, labelling.parts())
    sizes = top_sum(np.abs(linear) + 1e3 * n_partners + above, labelling.parts())
    assert found - plain >= 0.9 * f.c * learned.lost_by_sums(len(linear)) * sizes


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("kernel", ["energy", "linear"])
def test_kernel_values_that_are_all_zero_have_one_bound(kernel, exactly, monkeypatch):
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", 0)
    alike = np.ones((30, 2))
    result = mb.mmd_bounds(alike, alike, 0.2, kernel=kernel, exactly=exactly, rng=0)
    assert result.is_certified
    assert result.lower.certified == result.upper.certified == 0.0


def two_groups(p, q):
    rng = np.random.default_rng(5)
    return rng.normal(size=(p, 3)), rng.normal(0.4, 1.0, size=(q, 3))


def of_the_best(X, Y):
    """The largest labelling that a search finds with a fifth misfiled, and multipliers for it."""
    result = mb.mmd_bounds(X, Y, 0.2, method=mb.Sharp(certify=False), bandwidth=1.5, rng=0)
    problem = pose(X, Y, comparison("mmd_bounds", {"bandwidth": 1.5}))
    [counts] = as_contamination(0.2, exactly=True).admissible(len(X), len(Y))
    totals = problem.one_pass(Meter())
    labelling = Labelling(Quadratic(totals, counts, "unbiased"), result.upper.rows)
    return labelling, LearnedMultipliers(labelling, 0)


@pytest.mark.parametrize("of_x", [0, 10])
def test_a_sample_holds_rows_of_each_group_with_the_weight_of_all(of_x):
    labelling = Labelling(quadratic_of(two_clouds(0, of_x=of_x)))
    some = sample(labelling, 30, np.random.default_rng(0))
    K = small_matrix(two_clouds(0, of_x=of_x))[labelling.active, labelling.active]
    sign = labelling.sign[some.rows]
    np.testing.assert_allclose(
        some.values, sign[:, None] * sign * K[np.ix_(some.rows, some.rows)], rtol=0, atol=1e-12
    )
    for (here, moved), (part, quota) in zip(some.parts, labelling.parts(), strict=True):
        assert np.all((some.rows[here] >= part.start) & (some.rows[here] < part.stop))
        assert some.weights[here].sum() == pytest.approx(part.stop - part.start, rel=1e-12)
        assert abs(moved * some.weights[here.start] - quota) <= 0.5 * some.weights[here.start]


def test_starts_from_a_sample_end_in_the_best_region(monkeypatch):
    monkeypatch.setattr("mmdbounds.search.sharp.starting_points.SAMPLED", 120)
    found = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)  # six clusters, each of which may be the best to move
        Z = 0.3 * rng.normal(size=(360, 2)) + 4 * rng.normal(size=(6, 2))[rng.integers(0, 6, size=360)]
        problem = Problem(Z[:120], Z[120:], mb.kernels.RBF(1.0), "unbiased", Counts(48, 0, 168, 192))
        f = quadratic_of(problem)
        few, many = upper_starts_from_sample(f, rng, 16), islice(starts(f, "upper", rng), 24)
        values = [max(refined(one) for one in some) for some in (few, many)]
        found += values[0] >= values[1] - 1e-9
    assert found >= 10


def refined(labelling):
    refine(labelling, "upper")
    return labelling.value()


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("amount", [{"n_moved": 38}, {"n_moved": 38, "n_moved_of_x": 1}])
def test_no_ceiling_exceeds_what_any_statistic_can_be(amount, exactly, monkeypatch):
    """Where two rows stay, what partners can add says nothing."""
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", 0)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(1, 1, size=(40, 2))
    upper = mb.mmd_bounds(X, Y, mb.Contamination(**amount), exactly=exactly, rng=0).upper
    assert upper.value <= upper.certified <= 4 + 1e-6  # the margin is large where two rows stay
