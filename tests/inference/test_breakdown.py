"""The curve and its breakdowns against a full scan over every count and every labelling."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import mmdbounds as mb
from inference import reference
from mmdbounds.contamination import Contamination
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.inference import count_range, worst_case
from mmdbounds.inference.breakdown import usual_counts
from mmdbounds.search import sharp
from notebooks import page_of
from problems import Problem, all_labellings, naive_values, sample_function, small_matrix, small_problem

pytestmark = pytest.mark.usefixtures("drawn")

N_PERMUTATIONS = 39
LEVELS = (0.05, 0.1, 0.2, 0.4)


def scanned(problem, most, level, value, seed):
    """The first count with a labelling whose p-value exceeds `level`, and whose statistic is no larger."""
    permutations = reference.drawn(problem, N_PERMUTATIONS, seed)
    counts = [Contamination(n_moved=m).counts(problem.p, problem.q) for m in range(most + 1)]
    pvalues = [max(reference.every_pvalue(problem, c, permutations)) for c in counts]
    lowest = [reference.smallest(problem, c) - reference.tolerance(small_matrix(problem), c) for c in counts]
    above = next((m for m, p in enumerate(pvalues) if p > level), None)
    below = next((m for m, low in enumerate(lowest) if low <= value), None)
    return above, below


def differing(seed):
    """A small problem whose groups differ, by a little or by much."""
    problem = small_problem(seed, two_way=False, most=(9, 5))
    if problem.kernel.name == "precomputed":
        return problem
    shift = np.random.default_rng([seed, 1]).choice([0.0, 1.0, 3.0])
    return Problem(problem.X, problem.Y + shift, problem.kernel, problem.estimator, problem.counts)


@pytest.mark.parametrize("block", range(10))
@pytest.mark.long
def test_breakdowns_equal_a_full_scan(block):
    for seed in range(10 * block, 10 * block + 10):
        problem = differing(seed)
        rng = np.random.default_rng([seed, 2])
        level = float(rng.choice(LEVELS))
        most = problem.q - 2
        half = 0.5 * reference.smallest(problem, problem.counts)
        value = float(rng.choice([0.0, half])) if abs(half) > 1e-6 else 0.0
        shares = [m / (problem.p + m) for m in {0, most // 2, most}]
        result = mb.sweep(
            problem.X,
            problem.Y,
            epsilons=shares,
            level=level,
            value=value,
            n_permutations=N_PERMUTATIONS,
            rng=seed,
            **reference.options(problem),
        )
        above, below = scanned(problem, most, level, value, seed)
        assert (result.breakdown_n_moved, result.breakdown_of_value) == (above, below), seed
        assert result.is_confirmed
        assert result.is_valid
        assert result.is_tight
        assert result.holds_n_moved == (most if above is None else above - 1 if above else None)
        assert result.breakdown_epsilon == (None if above is None else above / (problem.p + above))


def test_the_problems_above_break_down_everywhere():
    """At 0, in between and never: or the scan would show little."""
    firsts = []
    for seed in range(40):
        problem = differing(seed)
        level = float(np.random.default_rng([seed, 2]).choice(LEVELS))
        firsts.append((scanned(problem, problem.q - 2, level, 0.0, seed)[0], problem.q - 2))
    assert sum(first == 0 for first, _ in firsts) >= 3
    assert sum(first is None for first, _ in firsts) >= 3
    assert sum(first is not None and 0 < first < most for first, most in firsts) >= 5


def every_labelling(problem, admissible, permutations):
    """The statistics and the p-values of all labellings with one of these counts."""
    K, values, pvalues = small_matrix(problem), [], []
    for counts in admissible:
        marks = all_labellings(problem.p, problem.q, counts)
        values.extend(naive_values(K, marks, problem.estimator))
        pvalues.extend(reference.every_pvalue(problem, counts, permutations))
    return np.array(values), pvalues, max(reference.tolerance(K, counts) for counts in admissible)


@pytest.mark.parametrize("how", ["exactly", "at most", "at most, few points"])
@pytest.mark.parametrize("seed", range(8))
def test_no_labelling_is_outside_the_curve(seed, how):
    problem, exactly = differing(seed + 300), how == "exactly"
    most = problem.q - 2
    moved = sorted({most // 2, most}) if how.endswith("few points") else range(most + 1)
    result = mb.sweep(
        problem.X,
        problem.Y,
        epsilons=[m / (problem.p + m) for m in moved],
        exactly=exactly,
        n_permutations=N_PERMUTATIONS,
        rng=seed,
        **reference.options(problem),
    )
    permutations = reference.drawn(problem, N_PERMUTATIONS, seed)
    assert [point.n_moved for point in result.points] == list(moved)
    assert result.exactly == exactly
    for point in result.points:
        admissible = Contamination(n_moved=point.n_moved, exactly=exactly).admissible(problem.p, problem.q)
        values, pvalues, tie = every_labelling(problem, admissible, permutations)
        assert point.lower_certified - tie <= values.min() <= point.lower + tie
        assert point.upper - tie <= values.max() <= point.upper_certified + tie
        assert max(pvalues) <= point.pvalue
        assert point.epsilon == pytest.approx(point.n_moved / (problem.p + point.n_moved), rel=1e-12)


def ascending(values):
    return all(here <= there for here, there in pairwise(values))


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.long
def test_the_curve_is_monotone_and_holds_the_value_as_filed(seed, estimator):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(15, 2)), rng.normal(rng.uniform(0, 2), 1.0, size=(25, 2))
    result = mb.sweep(X, Y, n_permutations=39, estimator=estimator, rng=0)
    points = result.points
    for outwards in ("upper", "upper_certified", "pvalue"):
        assert ascending([getattr(point, outwards) for point in points]), outwards
    for inwards in ("lower", "lower_certified"):
        assert ascending([-getattr(point, inwards) for point in points]), inwards
    for point in points:
        assert point.lower_certified <= point.lower <= result.observed <= point.upper <= point.upper_certified
    # Each count by itself gives less: at most is never narrower than exactly.
    exact = mb.sweep(X, Y, exactly=True, n_permutations=39, estimator=estimator, rng=0).points
    for wide, narrow in zip(points, exact, strict=True):
        assert wide.lower_certified <= narrow.lower
        assert narrow.upper <= wide.upper_certified


def groups(p=20, q=24, shift=0.8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(p, 2)), rng.normal(shift, 1.0, size=(q, 2))


def words(result):
    return " ".join(result.summary().split())


def test_the_breakdown_is_where_the_test_stops_rejecting():
    X, Y = groups()
    result = mb.sweep(X, Y, epsilons=[0.0, 0.3], n_permutations=99, rng=0)
    first = result.breakdown_n_moved
    assert 0 < first < result.most_moved
    for moved, rejects in ((first - 1, True), (first, False)):
        tested = mb.robust_test(X, Y, Contamination(n_moved=moved), n_permutations=99, rng=0)
        assert (tested.pvalue <= 0.05) == rejects


def test_default_points_lie_at_whole_rows_up_to_a_half():
    X, Y = groups()
    result = mb.sweep(X, Y, n_permutations=19, rng=0)
    moved = [point.n_moved for point in result.points]
    assert moved == sorted(set(moved)) == list(range(21))
    assert result.points[-1].epsilon == 0.5
    assert result.points[0].pvalue == mb.robust_test(X, Y, 0, n_permutations=19, rng=0).pvalue
    assert result.points[0].lower == result.observed == mb.mmd2(X, Y)
    biased = mb.sweep(X, Y[:9], n_permutations=19, estimator="biased", rng=0)
    assert biased.most_moved == 8  # one row must stay


@pytest.mark.parametrize(
    ("sizes", "step"), [((191, 378), "0.025"), ((900, 200), "0.01"), ((5000, 400), "0.005")]
)
def test_many_points_are_at_round_shares(sizes, step):
    """As many whole rows as the share allows, by the definition of a share; and the last count."""
    p, q = sizes
    counts = usual_counts(p, q, unbiased=True)
    most = min(p, q - 2)
    shares = [Fraction(step) * i for i in range(100) if Fraction(step) * i <= Fraction(most, p + most)]
    expected = {max(m for m in range(most + 1) if m <= share * (p + m)) for share in shares}
    assert counts == sorted(expected | {most})
    assert len(counts) >= 10
    assert usual_counts(20, 60, unbiased=True) == list(range(21))
    assert usual_counts(20, 2, unbiased=True) == [0]


def test_goes_on_beyond_a_half_until_it_breaks_down():
    """With the documented recipe, a plan of an audit, which needs a breakdown."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(8, 1)), rng.normal(4, 1, size=(60, 1))
    result = mb.sweep(X, Y, n_permutations=99, rng=0)
    assert result.breakdown_epsilon > 0.5
    assert result.breakdown_n_moved <= result.most_moved == result.points[-1].n_moved
    mb.plan_audit(len(Y), result.breakdown_n_moved)
    named = mb.sweep(X, Y, epsilons=[0.5], n_permutations=99, rng=0)
    assert (named.most_moved, named.breakdown_n_moved) == (8, None)
    tested = [
        mb.robust_test(X, Y, mb.Contamination(n_moved=m), n_permutations=99, rng=0).pvalue <= 0.05
        for m in (result.holds_n_moved, result.breakdown_n_moved)
    ]
    assert tested == [True, False]


def test_goes_on_until_nothing_is_left_to_move():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(8, 1)), rng.normal(4, 1, size=(60, 1))
    which = mb.Contamination(may_move=np.arange(60) < 12)
    result = mb.sweep(X, Y, which=which, n_permutations=99, rng=0)
    assert result.breakdown_n_moved is None
    assert result.most_moved == 12  # a share of 0.6


def poor_outcome(monkeypatch):
    """Let the scan's proofs, one by one, be far off."""
    monkeypatch.setattr(count_range, "FEW", 1000)
    search = worst_case.WorstCase._search

    def poor(self, counts, side, n_starts, slack, patience):
        found = search(self, counts, side, n_starts, slack, patience)
        far = patience == worst_case.CHEAP and counts.n_moved > 0
        return replace(found, certified=found.certified - 0.05) if far else found

    monkeypatch.setattr(worst_case.WorstCase, "_search", poor)


def test_a_point_knows_the_better_proof(monkeypatch):
    """The curve has a search of its own: the tighter floor of the two gives the p-value in the table."""
    beyond = {"epsilons": [0.4], "exactly": True, "value": 9.0, "n_permutations": 99, "rng": 0}
    good = mb.sweep(*groups(), **beyond).points[0]
    poor_outcome(monkeypatch)
    same = mb.sweep(*groups(), **beyond).points[0]
    assert same.lower_certified > good.lower_certified - 0.01
    assert same.pvalue < good.pvalue + 0.1
    monkeypatch.undo()
    monkeypatch.setattr("mmdbounds.inference.curve.CURVE_GAP", 0.9)
    rough = mb.sweep(*groups(), **beyond).points[0]
    assert rough.lower_certified > good.lower_certified - 0.01
    assert rough.upper_certified > good.upper_certified + 0.01


def test_words_where_it_breaks_down():
    X, Y = groups()
    result = mb.sweep(X, Y, epsilons=[0, 0.1, 0.3], n_permutations=99, rng=0)
    holds = result.holds_n_moved
    lines = result.summary().splitlines()
    assert words(result).startswith(
        "Tried: from no misfiled rows up to 28.6 % of the true X rows, that is 8 of the 24 rows filed under "
        "Y."
    )
    assert (
        f"At the 5 % level the groups differ even if up to {100 * result.share(holds):.3g} % of the true X "
        f"rows ({holds} of the 24 filed under Y) were misfiled. If more were, the difference could be an "
        "artefact of the filing."
    ) in words(result)
    [head] = [line for line in lines if "worst p" in line]
    rows = lines[lines.index(head) + 1 :][:3]
    assert [row.split()[0] for row in rows] == ["0", "9.09", "28.6"]
    assert [row.split()[2] for row in rows] == ["0", "2", "8"]
    assert all(len(row) <= len(head) + 1 for row in rows)
    assert "Valid if - rows of one group are misfiled under the other, not both ways" in words(result)
    assert "*" not in result.summary()
    assert repr(result).startswith(
        f"SweepResult(breakdown epsilon {result.breakdown_epsilon:.4g} at level 0.05, 3 points up to 8 of 24"
    )
    assert page_of(result).tables


def test_words_where_it_never_does():
    result = mb.sweep(*groups(shift=9.0), epsilons=[0.1], n_permutations=39, rng=0)
    assert result.breakdown_n_moved is None
    assert result.breakdown_epsilon is None
    assert result.holds_n_moved == result.most_moved == 2
    assert "(2 of the 24 filed under Y) were misfiled. More were not tried." in words(result)
    assert "its lower bound stays above 0 for all of them." in words(result)
    assert "breakdown epsilon above 0.09091 at level 0.05" in repr(result)


def test_words_where_there_is_nothing_to_break():
    result = mb.sweep(*groups(shift=0.0), epsilons=[0.1], n_permutations=39, value=5.0, rng=0)
    assert (result.breakdown_n_moved, result.holds_n_moved) == (0, None)
    assert "At the 5 % level no difference is shown even if nothing is misfiled." in words(result)
    assert "which is not above 5." in words(result)


def test_words_where_a_single_row_suffices():
    for seed in range(60):
        result = mb.sweep(*groups(8, 9, shift=1.2, seed=seed), epsilons=[0.2], n_permutations=99, rng=0)
        if result.breakdown_n_moved == 1:
            break
    assert result.holds_n_moved == 0
    assert (
        "At the 5 % level the groups differ if nothing is misfiled. If a single row is, the difference could"
    ) in words(result)


def test_a_proof_that_is_not_tight_is_not_called_an_artefact(monkeypatch):
    X, Y = groups()
    tight = mb.sweep(X, Y, epsilons=[0.3], n_permutations=99, rng=0)
    poor_outcome(monkeypatch)
    tightened = mb.sweep(X, Y, epsilons=[0.3], n_permutations=99, rng=0)
    assert tightened.breakdown_n_moved == tight.breakdown_n_moved
    assert tight.is_tight
    assert tightened.is_tight
    monkeypatch.setattr(worst_case.WorstCase, "tightened", lambda self, known, patience: known)
    loose = mb.sweep(X, Y, epsilons=[0.3], n_permutations=99, rng=0)
    assert 0 < loose.breakdown_n_moved < tight.breakdown_n_moved
    assert not loose.is_tight
    assert "were misfiled. For more that could not be proved." in words(loose)


def test_a_grid_of_counts_is_not_a_scan(monkeypatch):
    monkeypatch.setattr(worst_case, "MOST_COUNTS", 3)
    monkeypatch.setattr(worst_case, "FEWEST_COUNTS", 3)
    monkeypatch.setattr(count_range, "FEW", 1000)  # as if nothing could be proved for many at once
    X, Y = groups()
    result = mb.sweep(X, Y, epsilons=[0, 0.1, 0.25, 0.5], n_permutations=99, rng=0)
    assert [point.n_moved for point in result.points] == [0, 2, 6, 20]
    assert (result.holds_n_moved, result.breakdown_n_moved) == (0, 10)
    assert not result.is_confirmed
    assert result.is_valid
    assert "differ if nothing is misfiled. That is not proved. Not every number was tested: 10" in words(
        result
    )
    assert "(not proved)" in repr(result)
    never = mb.sweep(*groups(shift=9.0), epsilons=[0.2], n_permutations=39, rng=0)
    assert "That is not proved. Not every number was tested. More were not tried." in words(never)


def test_without_proofs_it_says_so(monkeypatch):
    monkeypatch.setattr(sharp, "DENSE_ROWS", 10)
    result = mb.sweep(*groups(), epsilons=[0, 0.1], kernel=sample_function, n_permutations=19, rng=0)
    assert not result.is_valid
    assert [point.lower_certified is None for point in result.points] == [False, True]
    assert "That is not proved." in words(result)
    assert "* reached by a labelling, not proved" in words(result)


def test_json_there_and_back():
    result = mb.sweep(*groups(), epsilons=[0, 0.2], n_permutations=19, rng=0)
    saved = json.loads(result.to_json())
    assert (saved["schema"], saved["type"]) == (2, "SweepResult")
    back = mb.results.SweepResult.from_dict(saved)
    assert back.to_dict() == result.to_dict()
    assert back.summary() == result.summary()
    assert isinstance(back.points[0], mb.results.SweepPoint)
    saved["points"][0]["colour"] = "red"
    with pytest.raises(DataError, match=r"has the unknown field `points\.colour`"):
        mb.results.SweepResult.from_dict(saved)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 0}, r"^`level` must be larger than 0, or nothing is ever rejected; got 0\.$"),
        ({"level": 5}, r"^`level` must be in \[0, 1\); got 5\. Did you mean 0\.05\?$"),
        ({"value": "x"}, r"^`value` must be a number; got 'x'\.$"),
        ({"value": float("nan")}, r"^`value` must be a number; got nan\.$"),
        ({"epsilons": 0.2}, r"^`epsilons` must be a list of shares; got 0\.2\.$"),
        ({"epsilons": "0.2"}, r"^`epsilons` must be a list of shares; got '0\.2'\.$"),
        ({"epsilons": []}, r"^`epsilons` must name at least one share; got none\.$"),
        (
            {"epsilons": [Contamination(0.1, y_in_x=0.1)]},
            r"^`epsilons` must be shares of the true X; got a Contamination\. For rows",
        ),
        ({"epsilons": Contamination(0.1)}, r"^`epsilons` must be shares of the true X; got a Contam"),
        ({"epsilons": [0.1, 20]}, r"^`epsilons` must be in \[0, 1\); got 20\. Did you mean 0\.2\?$"),
        ({"epsilons": [0.9]}, r"^180 misfiled rows cannot be among the 24 rows of `Y`\."),
        ({"epsilons": [23 / 43]}, r"the true `Y` would have 1 row; the unbiased estimator needs at least 2"),
        ({"n_permutations": 0}, r"^`n_permutations` must be a whole number from 1; got 0\.$"),
        ({"rng": "x"}, r"^`rng` must be a whole number from 0, .*; got 'x'\.$"),
        ({"progress": "no"}, r"^`progress` must be True or False; got 'no'\.$"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(MmdBoundsError, match=message):
        mb.sweep(*groups(), **options)
