"""The worst-case p-value against every labelling, written down."""

from dataclasses import replace

import numpy as np
import pytest

import mmdbounds as mb
from inference import reference
from mmdbounds.contamination import Contamination
from mmdbounds.counts import Counts
from mmdbounds.inference import worst_case
from mmdbounds.inference.worst_case import WorstCase, thinned
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.search import sharp
from mmdbounds.search.protocol import Found
from mmdbounds.search.sharp import quota_problem
from mmdbounds.sums import plan
from problems import small_problem

pytestmark = pytest.mark.usefixtures("drawn")

N_PERMUTATIONS = 59


def asked(problem, *, exactly, seed, **more):
    counts = Contamination(n_moved=problem.counts.n_moved, n_moved_of_x=problem.counts.n_moved_of_x)
    return mb.robust_test(
        problem.X,
        problem.Y,
        counts,
        exactly=exactly,
        n_permutations=N_PERMUTATIONS,
        rng=seed,
        **reference.options(problem),
        **more,
    )


def every(problem, *, exactly, seed):
    """For each admissible count the p-values of all its labellings."""
    permutations = reference.drawn(problem, N_PERMUTATIONS, seed)
    admissible = reference.admissible(problem, exactly=exactly)
    return {(c.n_moved, c.n_moved_of_x): reference.every_pvalue(problem, c, permutations) for c in admissible}


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("two_way", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_is_the_largest_over_every_labelling(seed, two_way, exactly, monkeypatch):
    monkeypatch.setattr(worst_case, "NEARLY", 0.0)  # tight is equal
    problem = small_problem(seed, two_way=two_way, most=(10, 6))
    result = asked(problem, exactly=exactly, seed=seed)
    pvalues = every(problem, exactly=exactly, seed=seed)
    largest = max(map(max, pvalues.values()))
    assert result.is_valid
    assert result.is_tight
    assert result.pvalue == largest
    assert {(c.n_moved, c.n_moved_of_x) for c in result.counts} == set(pvalues)
    assert result.pvalue == max(c.pvalue for c in result.counts)
    for count in result.counts:
        own = max(pvalues[count.n_moved, count.n_moved_of_x])
        assert count.attained <= own <= count.pvalue
        assert count.certified is not None
        assert count.certified <= count.lower


@pytest.mark.parametrize("seed", range(25))
def test_no_labelling_has_a_larger_pvalue(seed):
    problem = small_problem(seed + 100, most=(9, 5))
    result = asked(problem, exactly=False, seed=seed)
    assert max(map(max, every(problem, exactly=False, seed=seed).values())) <= result.pvalue


def test_the_pvalue_is_reached(monkeypatch):
    """By labellings of most small problems: it is no larger than it must be."""
    monkeypatch.setattr(worst_case, "NEARLY", 0.0)
    reached = 0
    for seed in range(25):
        problem = small_problem(seed + 100, most=(9, 5))
        result = asked(problem, exactly=False, seed=seed)
        reached += result.pvalue == max(map(max, every(problem, exactly=False, seed=seed).values()))
    # All but a few: a proof's margin can exceed the width of ties, and then the extreme labelling is no tie.
    assert reached >= 20


@pytest.mark.parametrize("seed", range(12))
def test_a_loose_proof_errs_on_the_safe_side(seed, monkeypatch):
    problem = small_problem(seed + 200, two_way=False, most=(10, 6))
    tight = asked(problem, exactly=False, seed=seed)
    monkeypatch.setattr(worst_case, "ROUGH", 3.0)
    monkeypatch.setattr(worst_case, "MOST_TIGHTENED", 0)
    loose = asked(problem, exactly=False, seed=seed)
    largest = max(map(max, every(problem, exactly=False, seed=seed).values()))
    assert loose.pvalue >= tight.pvalue >= largest
    assert loose.is_valid
    assert loose.is_tight == (0.95 * loose.pvalue <= max(c.attained for c in loose.counts))


def test_some_loose_proofs_are_loose(monkeypatch):
    monkeypatch.setattr(worst_case, "ROUGH", 3.0)
    problems = [small_problem(seed + 200, two_way=False, most=(10, 6)) for seed in range(12)]
    tight = [asked(problem, exactly=False, seed=0) for problem in problems]
    monkeypatch.setattr(worst_case, "MOST_TIGHTENED", 0)
    loose = [asked(problem, exactly=False, seed=0) for problem in problems]
    assert all(result.is_tight for result in tight)
    assert not all(result.is_tight for result in loose)
    assert any("The proof is not tight" in " ".join(r.summary().split()) for r in loose)


@pytest.mark.parametrize("seed", range(6))
def test_more_may_be_misfiled_less_is_certain(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(12, 2)), rng.normal(1.5, 1.0, size=(14, 2))
    pvalues = [
        mb.robust_test(X, Y, Contamination(n_moved=m), n_permutations=99, rng=seed).pvalue for m in range(9)
    ]
    assert pvalues == sorted(pvalues)
    assert pvalues[0] < pvalues[-1]


def posed(X, Y):
    return pose(
        X,
        Y,
        Comparison(
            kernel="rbf",
            bandwidth="median",
            estimator="unbiased",
            backend="auto",
            dtype="float64",
            working_memory=64,
        ),
    )


def worst_of(**more):
    """The machinery itself on a small problem."""
    X, Y = np.random.default_rng(0).normal(size=(6, 2)), np.random.default_rng(1).normal(size=(10, 2))
    admissible = Contamination(n_moved=5).admissible(6, 10)
    return WorstCase(posed(X, Y), admissible, N_PERMUTATIONS, 0, Meter(), **more), admissible


def test_the_better_of_two_searches_counts():
    worst, admissible = worst_of()
    found = worst.outcome(admissible[-1]).found
    found = replace(found, certified=found.certified - 2.0)  # there is room for a labelling not found yet
    known = worst._outcome(admissible[-1], found)
    worse = Found(found.value + 1.0, found.labelling, certified=found.certified - 1.0)
    unproved = Found(found.value - 1.0, found.labelling)
    assert worst.improved(known, worse).found.value == found.value
    assert worst.improved(known, worse).floor == known.floor
    assert worst.improved(known, worse).pvalue == known.pvalue
    assert worst.improved(known, unproved).found.value == found.value - 1.0
    assert worst.improved(known, unproved).floor == known.floor
    never = worst.improved(worst.improved(known, unproved), worse)
    assert never.floor == known.floor
    assert never.attained >= known.attained


def test_nothing_is_searched_where_nothing_moves(monkeypatch):
    worst, admissible = worst_of()
    monkeypatch.setattr("mmdbounds.search.sharp.SideSearch", None)
    for side in (worst.outcome(admissible[0]), worst.tightened(worst.outcome(admissible[0]))):
        assert side.found.value == worst.observed
        assert 0 < worst.observed - side.floor <= 8e-12  # proved, so less its margin
        assert side.pvalue == side.attained


def test_tolerance_is_no_less_than_what_sums_lose():
    worst, admissible = worst_of()
    n = admissible[0].n_x + admissible[0].n_y
    for counts in (*admissible, Counts(0, 0, 2, n - 2)):
        lost = (n / (2 * min(counts.n_x, counts.n_y))) ** 2
        assert worst.tolerance(counts) >= 1e-12 * worst.totals.scale * max(lost, 1.0)
        assert worst.tolerance(counts) >= worst.totals.margin * lost
        assert worst.tolerance(counts) < 1e-9 * lost  # far below any difference that means something


def test_a_grid_keeps_both_ends(monkeypatch):
    counts = [Counts(m, 0, 50 + m, 90 - m) for m in range(60)]
    assert thinned(counts, 90) == counts
    monkeypatch.setattr(worst_case, "MOST_COUNTS", 25)
    few = thinned(counts, 90)
    assert len(few) == 25
    assert (few[0], few[-1]) == (counts[0], counts[-1])
    assert set(np.diff([c.n_moved for c in few])) <= {2, 3}
    monkeypatch.setattr(worst_case, "MOST_COUNTS", 2000)
    assert len(thinned(counts, 7000)) == 40  # 2e9 pairs of rows
    assert len(thinned(counts, 10**6)) == worst_case.FEWEST_COUNTS


def test_counts_beside_those_considered_can_be_asked_for(monkeypatch):
    monkeypatch.setattr(worst_case, "FEWEST_COUNTS", 2)
    monkeypatch.setattr(worst_case, "MOST_COUNTS", 2)
    thin, admissible = worst_of()
    between = admissible[2]
    assert thin.considered == [admissible[0], admissible[-1]]
    with pytest.raises(KeyError, match="8"):
        thin.null_of(between)
    worst, _ = worst_of(also=[between])
    assert worst.considered == thin.considered
    assert worst.null_of(between).shape == (N_PERMUTATIONS,)


class Known:
    """A count whose p-values are known; each look lowers the proved one by `gain`, down to `attained`."""

    def __init__(self, pvalue, attained, gain):
        self.pvalue, self.attained, self.gain = pvalue, attained, gain

    def looked_at(self):
        return Known(max(self.attained, self.pvalue - self.gain), self.attained, self.gain)


def test_tightening_goes_to_the_worst_count_and_ends_where_nothing_is_gained():
    looked = []

    def tightened(known):
        looked.append(known.pvalue)
        return known.looked_at()

    found = worst_case.tighten([Known(0.2, 0.1, 0.05), Known(0.5, 0.1, 0.2)], tightened, worst_case.is_tight)
    assert [round(known.pvalue, 10) for known in found] == [0.1, 0.1]
    assert [round(pvalue, 10) for pvalue in looked] == [0.5, 0.3, 0.2, 0.15, 0.1][: len(looked)]
    looked.clear()
    stuck = worst_case.tighten([Known(0.5, 0.1, 0.0)], tightened, worst_case.is_tight)
    assert (len(looked), stuck[0].pvalue) == (1, 0.5)  # once in vain is enough


def test_at_most_costs_at_most_twice_exactly(monkeypatch):
    """In kernel values and in the work of proofs; a column of a product is a hundredth of a kernel value."""
    monkeypatch.setattr(plan, "SMALL_ROWS", 0)
    spent, original = [0.0], quota_problem.Effort.spend

    def spend(self, units):
        spent[0] += units
        original(self, units)

    monkeypatch.setattr(quota_problem.Effort, "spend", spend)
    rng = np.random.default_rng(0)
    for n, dense_rows in ((300, 2500), (300, 0), (1200, 0)):
        monkeypatch.setattr(sharp, "DENSE_ROWS", dense_rows)
        X, Y = rng.normal(size=(n // 2, 3)), rng.normal(0.6, 1.0, size=(n // 2, 3))
        costs = []
        for exactly in (True, False):
            spent[0] = 0.0
            result = mb.robust_test(X, Y, 0.1, exactly=exactly, n_permutations=199, rng=0)
            assert result.is_valid
            assert len(result.counts) == (1 if exactly else int(n / 18) + 1)
            costs.append(spent[0] + result.provenance.n_pairs + 199 * n * n / 100)
        assert costs[1] <= 2 * costs[0]


@pytest.mark.parametrize("block", range(5))
def test_no_labelling_of_any_count_has_a_larger_pvalue(block):
    """200 more problems, every kernel; with a proof that may be loose."""
    for seed in range(40 * block + 1000, 40 * block + 1040):
        problem = small_problem(seed, two_way=False, most=(9, 6))
        result = asked(problem, exactly=False, seed=seed)
        pvalues = every(problem, exactly=False, seed=seed)
        assert result.is_valid
        assert result.pvalue >= max(map(max, pvalues.values()))
        assert all(c.pvalue >= max(pvalues[c.n_moved, c.n_moved_of_x]) for c in result.counts)
