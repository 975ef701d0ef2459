"""The minimax null: never below the exact one, valid by enumeration, never a larger p-value."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference import minimax, worst_case
from mmdbounds.inference.aggregate import aggregated_test
from mmdbounds.inference.minimax import STEPS, Minimax
from mmdbounds.objective import group_sums
from mmdbounds.sums import make_sums
from problems import naive_values, random_problem, small_matrix, small_problem, totals_of

ROUNDING = 1e-12
"""Of sums of at most a hundred kernel values, relative to the largest of them."""


def every_labelling(n, n_x):
    """All labellings of n rows with n_x in X, one row each."""
    chosen = np.array(list(itertools.combinations(range(n), n_x)), dtype=int)
    marks = np.zeros((len(chosen), n))
    np.put_along_axis(marks, chosen.reshape(len(chosen), n_x), 1.0, axis=1)
    return marks


def floors_and_reach(K, counts, estimator):
    """Every labelling u with its statistic, the floor of every filing z, and whether z may be filed of u."""
    m, m_d, n_x = counts.n_moved, counts.n_moved_of_x, counts.n_x
    true, filed = every_labelling(len(K), n_x), every_labelling(len(K), n_x - m + m_d)
    values, common = naive_values(K, true, estimator), true @ filed.T
    reach = (n_x - common <= m) & (filed.sum(axis=1) - common <= m_d)
    return true, values, np.where(reach, values[:, None], np.inf).min(axis=0), reach


def orders_of(marks):
    """The rows of X first, one order for each labelling."""
    return np.argsort(-marks, axis=1, kind="stable")


def bounds_of(problem, marks, values, **options):
    totals = group_sums(make_sums(problem.Z, problem.kernel, **options), problem.p, problem.q)
    bounds = Minimax(totals, problem.estimator, totals.value_margin)
    return values + bounds.lowered(orders_of(marks), [problem.counts])[:, 0]


def compared(seed):
    """How many labellings of a small problem were compared with the exact minimax, and how many lowered."""
    problem = small_problem(seed, most=(8, 6))
    if problem.p + problem.q > 12:
        return 0, 0
    K = small_matrix(problem)
    marks, values, floors, reach = floors_and_reach(K, problem.counts, problem.estimator)
    exact = np.where(reach, floors, -np.inf).max(axis=1)
    bounds, rounding = bounds_of(problem, marks, values), ROUNDING * np.abs(K).max()
    assert (bounds >= exact - rounding).all(), seed
    assert (bounds <= values).all(), seed
    return len(values), int(np.count_nonzero(bounds < values - rounding))


def test_is_never_below_the_exact_minimax():
    """Two-way: all pairs of counts up to the largest, of the same true sizes."""
    n, lowered = np.sum([compared(seed) for seed in range(25)], axis=0)
    assert n > 2000
    assert lowered > 0.3 * n


@pytest.mark.slow
def test_is_never_below_the_exact_minimax_on_many_labellings():
    n, lowered = np.sum([compared(seed) for seed in range(1000, 1600)], axis=0)
    assert n > 50_000
    assert lowered > 0.3 * n


@pytest.mark.parametrize("seed", range(8))
def test_where_the_nearest_rows_are_not_looked_for(seed, monkeypatch):
    monkeypatch.setattr(minimax, "MOST_NEAREST", 0)
    for kernel in ("rbf", "linear", "indefinite matrix"):
        problem = small_problem(seed, kernel=kernel, two_way=False, most=(6, 6))
        K = small_matrix(problem)
        marks, values, floors, reach = floors_and_reach(K, problem.counts, problem.estimator)
        exact = np.where(reach, floors, -np.inf).max(axis=1)
        assert (bounds_of(problem, marks, values) >= exact - ROUNDING * np.abs(K).max()).all()


def naive_bound(K, u, counts, estimator):
    """The formula of the module, with the gradient as a difference quotient; one-way."""
    n_x, n_y, m = counts.n_x, counts.n_y, counts.n_moved

    def three_sums(v):
        w, o = 1.0 - v, 1 if estimator == "unbiased" else 0
        d = np.diag(K)
        within = (v @ K @ v - o * d @ v) / (n_x * (n_x - o)) + (w @ K @ w - o * d @ w) / (n_y * (n_y - o))
        return within - 2 * (v @ K @ w) / (n_x * n_y)

    each = np.eye(len(K))
    gradient = np.array([three_sums(u + e) - three_sums(u - e) for e in each]) / 2
    c = (three_sums(u + each[0]) + three_sums(u - each[0]) - 2 * three_sums(u)) / (2 * K[0, 0])
    own, others = np.flatnonzero(u == 1), np.flatnonzero(u == 0)

    def enters(y):
        return gradient[y] + c * K[y, y]

    some = sorted(others, key=enters)[: STEPS[-1]]
    alone = sorted(max(gradient[a] - c * K[a, a] + 2 * c * K[a, y] - enters(y) for y in some) for a in own)
    found = [0.0, -alone[m - 1]]
    for k in (k for k in STEPS if k <= min(m, n_y)):
        D = some[:k]
        scores = []
        for a in own:
            near = sorted((K[a, b] for b in range(len(K)) if b != a), reverse=True)[: k - 1]
            scores.append(gradient[a] + 2 * c * K[a, D].sum() - c * (K[a, a] + sum(near)))
        leaving = sorted(scores)[m - k : m]
        found.append(gradient[D].sum() + c * K[np.ix_(D, D)].sum() - sum(leaving))
    return min(found)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("m", [1, 5, 17, 20])
def test_is_the_formula(m, estimator):
    rng = np.random.default_rng(m)
    Z = rng.normal(size=(44, 2))
    sums = make_sums(Z, mb.kernels.RBF(1.5))
    K = sums.block(slice(0, 44), slice(0, 44))
    counts, bounds = Counts(m, 0, 24, 20), Minimax(group_sums(sums, 24 - m, 20 + m), estimator, 1e-15)
    orders = np.array([rng.permutation(44) for _ in range(12)])
    expected = []
    for order in orders:
        u = np.zeros(44)
        u[order[:24]] = 1.0
        expected.append(naive_bound(K, u, counts, estimator))
    found = bounds.lowered(orders, [counts])[:, 0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)  # quotients lose a few digits
    assert min(expected) < -1e-4


def test_sizes_and_chunks_do_not_matter(monkeypatch):
    """Each size follows from the one before it, and labellings come in chunks: the same but for rounding."""
    problem = random_problem(3, two_way=False, kernel="rbf")
    n = problem.p + problem.q
    totals, rng = totals_of(problem), np.random.default_rng(0)
    orders = np.array([rng.permutation(n) for _ in range(9)])
    hidden = [Counts(m, 0, n // 2 + m, n - n // 2 - m) for m in (1, 2, 5)]
    bounds = Minimax(totals, "biased", totals.value_margin)
    together = bounds.lowered(orders, hidden)
    assert (together <= 0).all()
    for place, counts in enumerate(hidden):
        alone = Minimax(totals, "biased", totals.value_margin).lowered(orders, [counts])[:, 0]
        np.testing.assert_allclose(alone, together[:, place], rtol=0, atol=1e-12)
    for name in ("HELD", "SUMMED"):
        monkeypatch.setattr(minimax, name, 10**9)
        np.testing.assert_allclose(bounds.lowered(orders, hidden), together, rtol=0, atol=1e-12)


def test_less_precise_sums_do_not_lower_more():
    rng = np.random.default_rng(2)
    Z, counts = rng.normal(size=(60, 3)), Counts(8, 0, 30, 30)
    orders = np.array([rng.permutation(60) for _ in range(20)])
    found = []
    for dtype in ("float64", "float32"):
        totals = group_sums(make_sums(Z, mb.kernels.RBF(2.0), dtype=dtype), 22, 38)
        found.append(Minimax(totals, "unbiased", totals.value_margin).lowered(orders, [counts]))
    assert (found[1] >= found[0]).all()
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-4)  # a hundredth of the statistic


LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)


FEW_ROWS = [seed for seed in range(400, 440) if len(small_problem(seed, most=(7, 5)).Z) <= 12]


@pytest.mark.parametrize("seed", FEW_ROWS)
def test_is_valid_whatever_the_filing_does(seed):
    """All labellings are drawn, and of each the filing that gives the smallest p-value: an exact size."""
    problem = small_problem(seed, most=(7, 5))
    K = small_matrix(problem)
    marks, values, floors, reach = floors_and_reach(K, problem.counts, problem.estimator)
    bounds, tie = bounds_of(problem, marks, values), ROUNDING * np.abs(K).max()
    pvalues = (bounds[:, None] >= floors - tie).mean(axis=0)
    smallest = np.where(reach, pvalues, 1.0).min(axis=1)
    for level in LEVELS:
        assert np.mean(smallest <= level) <= level
    # The null by the statistic itself is valid, too, and its p-values are no smaller.
    assert (pvalues <= (values[:, None] >= floors - tie).mean(axis=0)).all()


def both(problem, seed, function=mb.robust_test, **more):
    """A test by both nulls."""
    amount = mb.Contamination(n_moved=problem.counts.n_moved, n_moved_of_x=problem.counts.n_moved_of_x)
    options = {"n_permutations": 39, "rng": seed, "estimator": problem.estimator, **more}
    return [
        function(problem.X, problem.Y, amount, null=null, **options) for null in ("labellings", "minimax")
    ]


def smaller_pvalues(seeds):
    """How many p-values are smaller by the minimax null; none may be larger."""
    n_smaller = 0
    for seed in seeds:
        problem = small_problem(seed, most=(16, 9))
        exactly = bool(seed % 3 == 0)
        old, new = both(problem, seed, kernel=problem.kernel, exactly=exactly)
        assert new.pvalue <= old.pvalue, seed
        assert (new.is_valid, new.pvalue_as_filed) == (old.is_valid, old.pvalue_as_filed)
        assert old.null_rule == "labellings"
        n_smaller += new.pvalue < old.pvalue
    return n_smaller


def test_no_pvalue_is_larger():
    assert smaller_pvalues(range(24)) >= 1


@pytest.mark.slow
def test_no_pvalue_is_larger_on_many_problems():
    assert smaller_pvalues(range(10_000, 15_000)) >= 250


def differing(seed, p=30, q=34, shift=0.75):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(p, 2)), rng.normal(shift, 1.0, size=(q, 2))


@pytest.mark.parametrize("seed", range(2))
def test_several_kernels_gain_as_well(seed):
    X, Y = differing(seed)
    old, new = (
        aggregated_test(X, Y, 0.2, n_permutations=199, rng=seed, null=null)
        for null in ("labellings", "minimax")
    )
    assert new.pvalue <= old.pvalue
    assert (old.null_rule, new.null_rule) == ("labellings", "minimax")
    np.testing.assert_array_equal(old.null, new.null)  # what is shown is the statistic


@pytest.mark.parametrize("seed", range(2))
def test_a_sweep_breaks_down_no_earlier_and_where_the_test_does(seed):
    X, Y = differing(seed)
    old, new = (
        mb.sweep(X, Y, epsilons=[0.0, 0.2, 0.4], n_permutations=199, rng=seed, null=null)
        for null in ("labellings", "minimax")
    )
    assert new.holds_n_moved >= old.holds_n_moved
    assert (old.null_rule, new.null_rule) == ("labellings", "minimax")
    for point, other in zip(new.points, old.points, strict=True):
        assert point.best_case <= point.pvalue <= other.pvalue
    for m in (new.holds_n_moved, new.breakdown_n_moved):
        tested = mb.robust_test(X, Y, mb.Contamination(n_moved=m), n_permutations=199, rng=seed)
        assert (tested.pvalue <= 0.05) == (m == new.holds_n_moved)


def test_a_frontier_reaches_as_far_and_where_the_test_does():
    X, Y = differing(0, shift=1.0)
    old, new = (
        mb.sweep(X, Y, epsilons=[0.0, 0.1], y_in_x=0.3, n_permutations=199, rng=0, null=null)
        for null in ("labellings", "minimax")
    )
    assert (old.null_rule, new.null_rule) == ("labellings", "minimax")
    assert any(a.y_in_x > b.y_in_x for a, b in zip(new.points, old.points, strict=True))
    for point, other in zip(new.points, old.points, strict=True):
        assert point.y_in_x >= other.y_in_x
        for share, rejects in ((point.y_in_x, True), (point.breakdown_y_in_x, False)):
            amount = mb.Contamination(x_in_y=point.epsilon, y_in_x=share)
            tested = mb.robust_test(X, Y, amount, n_permutations=199, rng=0)
            assert (tested.pvalue <= 0.05) == rejects


def test_where_its_argument_fails_the_statistic_is_compared():
    """With rows that are known, exactly so many both ways, or limits that may fail: the result says so."""
    X, Y = differing(1)
    known = None, np.array(["Y"] * 5 + [""] * 29, dtype=object)
    for amount, more in (
        (0.15, {"verified": known}),
        (mb.Contamination(n_moved=4, n_moved_of_x=2, exactly=True), {}),
        (mb.Contamination(n_moved=4, n_moved_of_x=2), {"beta": 0.01}),
        (0.0, {}),
    ):
        old, new = (
            mb.robust_test(X, Y, amount, n_permutations=99, rng=0, null=null, **more)
            for null in ("labellings", "minimax")
        )
        assert new.null_rule == "labellings"
        assert new.pvalue == old.pvalue
        assert "99 permutations; seed 0" in " ".join(new.summary().split())


def test_limits_that_may_fail_do_no_harm_one_way():
    X, Y = differing(1)
    assert mb.robust_test(X, Y, 0.15, beta=0.01, n_permutations=99, rng=0).null_rule == "minimax"
    both_ways = mb.Contamination(n_moved=2, n_moved_of_x=1)
    kernels = {"kernels": ["rbf"], "n_permutations": 39, "rng": 0}
    assert aggregated_test(X, Y, both_ways, beta=0.01, **kernels).null_rule == "labellings"
    assert aggregated_test(X, Y, both_ways, **kernels).null_rule == "minimax"


def test_the_best_case_is_never_above_the_worst():
    for seed in range(6):
        X, Y = differing(seed, shift=0.4)
        result = mb.robust_test(X, Y, 0.1, n_permutations=99, best_case=True, rng=seed)
        low, high = result.pvalue_range
        assert low <= high == result.pvalue
        assert all(count.best_case <= count.pvalue for count in result.counts)


def test_one_that_is_unknown_is_refused():
    X, Y = differing(0)
    for function, amount in ((mb.robust_test, (0.1,)), (mb.sweep, ()), (aggregated_test, (0.1,))):
        with pytest.raises(MmdBoundsError, match=r"`null` must be .*'minimax'.*'labellings'.*got 'exact'"):
            function(X, Y, *amount, null="exact")


@pytest.mark.parametrize("seed", range(4))
def test_counts_that_are_sharpened_a_few_at_a_time_have_the_same_largest_pvalue(seed, monkeypatch):
    rng, pvalues = np.random.default_rng(seed), []
    X, Y = rng.normal(size=(40, 2)), rng.normal(0.9, 1.0, size=(50, 2))
    for lowered, more in ((1e-9, 2), (1e9, 2), (1e9, 30)):
        monkeypatch.setattr(worst_case, "LOWERED", lowered)
        monkeypatch.setattr(worst_case, "MORE_AT_ONCE", more)
        curve = mb.sweep(X, Y, epsilons=[0.05, 0.1, 0.2, 0.3, 0.4], n_permutations=199, rng=seed)
        pvalues.append([curve.breakdown_n_moved, *(point.pvalue for point in curve.points)])
    assert pvalues[0] == pvalues[1] == pvalues[2]


@pytest.mark.parametrize(("n_rows", "calls"), [(200, [1, 30, 69]), (200_000, [20, 80])])
@pytest.mark.parametrize("keeps_it", [True, False])
def test_one_count_that_keeps_the_largest_pvalue_is_enough(keeps_it, n_rows, calls):
    """A hundred counts share p = 1: as many are sharpened first as take no longer than their sums."""
    sharpened = []
    known = [SimpleNamespace(counts=i, found=None, pvalue=1.0, attained=i / 100) for i in range(100)]

    def now(counts, found):
        is_lower = counts in set().union(*sharpened) and not keeps_it
        return SimpleNamespace(**{**vars(known[counts]), "pvalue": 0.2 if is_lower else 1.0})

    worst = SimpleNamespace(
        can_sharpen=lambda each: each.counts not in set().union(*sharpened),
        sharpen=lambda some: sharpened.append({each.counts for each in some}),
        _outcome=now,
        null=SimpleNamespace(n_labellings=100),
        totals=SimpleNamespace(sums=SimpleNamespace(n_rows=n_rows)),
    )
    outcomes = worst_case.WorstCase.settled(worst, known)
    assert max(each.pvalue for each in outcomes) == (1.0 if keeps_it else 0.2)
    assert [len(some) for some in sharpened] == (calls[:1] if keeps_it else calls)
    assert 99 in sharpened[0]  # a labelling has the largest p-value there
