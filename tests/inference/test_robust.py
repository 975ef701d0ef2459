"""The test under misfiling: definition, ties, conditions, words, refusals, and code by others."""

import copy
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.contamination import Contamination
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.inference import worst_case
from mmdbounds.inference.worst_case import ROUGH, WorstCase
from mmdbounds.search import sharp
from mmdbounds.sums import plan
from mmdbounds.sums.bandwidth import canonical_order
from notebooks import page_of
from problems import sample_function
from tolerances import of_mmd2

pytestmark = pytest.mark.usefixtures("drawn")


def groups(p=25, q=35, shift=1.0, seed=0, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(p, d)), rng.normal(shift, 1.0, size=(q, d))


PROOF = 8e-12
"""Margin of a proof where nothing moves: two groups of at least ten rows, kernel values good to 1e-12."""


def words(result):
    return " ".join(result.summary().split())


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize(("seed", "shift"), [(0, 0.5), (1, 0.0), (2, 0.0), (3, 0.3)])
def test_without_misfiling_it_is_the_plain_permutation_loop(seed, shift, estimator):
    X, Y = groups(shift=shift, seed=seed)
    result = mb.robust_test(X, Y, 0, n_permutations=99, estimator=estimator, rng=seed)
    Z, kernel = np.concatenate([X, Y]), mb.kernels.RBF(result.provenance.bandwidth)
    observed = mb.mmd2(X, Y, estimator=estimator)
    order, rng, null = canonical_order(Z), np.random.default_rng(seed), []
    for _ in range(99):
        shuffled = Z[order[rng.permutation(len(Z))]]
        null.append(mb.mmd2(shuffled[:25], shuffled[25:], kernel=kernel, estimator=estimator))
    assert result.observed == observed
    np.testing.assert_allclose(result.statistic, observed, rtol=0, atol=PROOF)  # proved, so less its margin
    assert result.statistic < observed
    assert result.pvalue == result.pvalue_as_filed
    assert result.pvalue == (1 + sum(value >= observed for value in null)) / 100
    np.testing.assert_allclose(result.null, null, rtol=0, atol=of_mmd2(60, smallest=25))
    assert (result.n_moved, result.epsilon, result.is_valid, result.is_tight) == (0, 0.0, True, True)
    assert "Nothing is misfiled, so this is the ordinary permutation test" in words(result)


def test_the_statistic_is_that_of_other_peoples_kernel_matrices():
    from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

    X, Y = groups(d=3)
    for name, kernel, gamma in (
        ("rbf", rbf_kernel, 1 / (2 * 1.3**2)),
        ("laplacian", laplacian_kernel, 1 / 1.3),
    ):
        own = [kernel(A, gamma=gamma) for A in (X, Y)]
        unbiased = sum((K.sum() - np.trace(K)) / (len(K) * (len(K) - 1)) for K in own)
        expected = unbiased - 2 * kernel(X, Y, gamma=gamma).mean()
        result = mb.robust_test(X, Y, 0, kernel=name, bandwidth=1.3, n_permutations=1, rng=0)
        np.testing.assert_allclose(result.observed, expected, rtol=0, atol=of_mmd2(60))
        np.testing.assert_allclose(result.statistic, expected, rtol=0, atol=PROOF)


def exact_statistic(ones_x, n_x, ones, n, c):
    """The unbiased statistic of 0/1 rows whose kernel is 1 on equal and `c` on different ones, exactly."""

    def mean(a, b, same):
        """Of the kernel over pairs of a rows (of them a[1] ones) and b rows."""
        equal = a[1] * b[1] + (a[0] - a[1]) * (b[0] - b[1]) - (a[0] if same else 0)
        pairs = a[0] * (b[0] - (1 if same else 0))
        return (equal + c * (pairs - equal)) / Fraction(pairs)

    x, y = (n_x, ones_x), (n - n_x, ones - ones_x)
    return mean(x, x, True) + mean(y, y, True) - 2 * mean(x, y, False)


def binary(seed, p=15, q=17):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, size=(p, 1)).astype(float), rng.integers(0, 2, size=(q, 1)).astype(float)


def counted_exactly(X, Y, seed, n_permutations):
    """The permutations with a larger and with an equal statistic, in fractions."""
    Z, p = np.concatenate([X, Y]), len(X)
    c = Fraction(float(np.exp(-0.5)))
    order, rng, ones = canonical_order(Z), np.random.default_rng(seed), int(Z.sum())
    filed = exact_statistic(int(X.sum()), p, ones, len(Z), c)
    drawn = [
        exact_statistic(int(Z[order[rng.permutation(len(Z))[:p]]].sum()), p, ones, len(Z), c)
        for _ in range(n_permutations)
    ]
    return sum(value > filed for value in drawn), sum(value == filed for value in drawn)


@pytest.mark.parametrize("seed", range(10))
def test_exact_ties_count_against_a_rejection(seed):
    X, Y = binary(seed)
    larger, equal = counted_exactly(X, Y, seed, 99)
    result = mb.robust_test(X, Y, 0, bandwidth=1.0, n_permutations=99, rng=seed)
    assert equal > 0
    assert result.pvalue == (1 + larger + equal) / 100


def test_without_a_tolerance_ties_would_be_lost(monkeypatch):
    monkeypatch.setattr(WorstCase, "_alone", lambda self, counts: 0.0)
    lost = 0
    for seed in range(10):
        X, Y = binary(seed)
        larger, equal = counted_exactly(X, Y, seed, 99)
        p = mb.robust_test(X, Y, 0, bandwidth=1.0, n_permutations=99, rng=seed).pvalue_as_filed
        lost += p < (1 + larger + equal) / 100  # as filed: a proved floor has its margin
    assert lost > 0


def test_the_pvalue_is_never_zero_and_one_at_the_most():
    X, Y = groups(shift=20.0)
    assert mb.robust_test(X, Y, 0.05, n_permutations=19, rng=0).pvalue == 1 / 20
    X, Y = groups(shift=0.0)
    assert mb.robust_test(X, Y, 0.3, n_permutations=19, beta=0.99, rng=0).pvalue == 1.0


def test_the_error_of_an_audit_is_part_of_the_pvalue():
    X, Y = groups(shift=2.0)
    limit = Contamination.from_audit(20, 0, level=0.98)
    plain = mb.robust_test(
        X, Y, Contamination(n_moved=limit.counts(len(X), len(Y)).n_moved), n_permutations=99, rng=0
    )
    audited, more = (mb.robust_test(X, Y, limit, n_permutations=99, beta=beta, rng=0) for beta in (0.0, 0.03))
    assert audited.pvalue == plain.pvalue + 0.02
    assert more.pvalue == plain.pvalue + (0.03 + 0.02)
    assert audited.beta == 0.02
    assert audited.n_moved_range == (0, plain.n_moved_range[1])
    assert "This limit holds with 98 % confidence: of 20 rows drawn at random and checked, 0" in words(
        audited
    )
    assert "confidence" not in words(plain)


def test_beta_is_added():
    X, Y = groups()
    plain = mb.robust_test(X, Y, 0.1, n_permutations=99, rng=0)
    more = mb.robust_test(X, Y, 0.1, n_permutations=99, beta=0.02, rng=0)
    assert more.pvalue == plain.pvalue + 0.02
    assert [c.pvalue for c in more.counts] == [c.pvalue for c in plain.counts]
    assert (plain.beta, more.beta) == (0.0, 0.02)
    assert "(but for a probability of 0.02, which is part of the p-value)" in words(more)
    assert "and beta = 0.02 added" in words(more)
    assert "and epsilon was not tuned on them, or beta covers what that does;" in words(more)
    assert "and epsilon was not tuned on them;" in words(plain)
    assert "beta" not in words(plain)


def test_the_worst_count_has_its_own_null():
    X, Y = groups()
    options = {"n_permutations": 99, "rng": 0}
    result = mb.robust_test(X, Y, 0.2, **options)
    assert (result.n_moved, [c.n_moved for c in result.counts]) == (6, list(range(7)))
    exactly = mb.robust_test(X, Y, 0.2, exactly=True, **options)
    np.testing.assert_allclose(
        exactly.null, result.null, rtol=0, atol=of_mmd2(60, smallest=25)
    )  # sums in another order
    assert [c.n_moved for c in exactly.counts] == [6]
    assert result.pvalue == (1 + np.count_nonzero(result.null >= result.statistic)) / 100
    assert result.statistic == result.counts[6].certified


def test_of_equal_pvalues_the_nearest_to_a_larger_one_is_named():
    X, Y = groups(shift=4.0)
    result = mb.robust_test(X, Y, 0.1, n_permutations=19, rng=0)
    assert {count.pvalue for count in result.counts} == {1 / 20}
    assert result.n_moved == 2  # not 0, where the groups are furthest apart
    same = np.ones((6, 1))
    tied = mb.robust_test(same, same, 0.2, kernel="linear", n_permutations=9, rng=0)
    assert (tied.pvalue, tied.statistic) == (1.0, pytest.approx(0.0, abs=1e-10))


def test_two_way_misfiling_covers_every_pair_of_counts():
    X, Y = groups(8, 9, shift=3.0)
    both = Contamination(n_moved=2, n_moved_of_x=1)
    result = mb.robust_test(X, Y, both, n_permutations=19, rng=0)
    assert {(c.n_moved, c.n_moved_of_x) for c in result.counts} == {(m, d) for m in range(3) for d in (0, 1)}
    assert result.is_valid
    assert (
        "that is at most 2 of the 9 rows filed under Y; at most 1 of the 8 rows filed under X belongs to Y."
        in words(result)
    )
    assert "at most 2 of 9 rows of Y and at most 1 of 8 rows of X misfiled" in repr(result)
    assert f"with {result.n_moved} rows of Y and {result.n_moved_of_x} row" in words(result)


def test_row_order_does_not_matter():
    X, Y = groups()
    rng = np.random.default_rng(9)
    first = mb.robust_test(X, Y, 0.2, n_permutations=49, rng=0)
    again = mb.robust_test(X[rng.permutation(25)], Y[rng.permutation(35)], 0.2, n_permutations=49, rng=0)
    assert again.pvalue == first.pvalue
    np.testing.assert_allclose(again.statistic, first.statistic, rtol=0, atol=ROUGH * first.null.std())
    np.testing.assert_allclose(again.null, first.null, rtol=0, atol=of_mmd2(60, smallest=25))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_blocks_and_single_precision_give_no_smaller_pvalue(dtype, monkeypatch):
    X, Y = groups(60, 80, shift=0.6)
    kept = mb.robust_test(X, Y, 0.05, n_permutations=99, rng=0)
    monkeypatch.setattr(plan, "SMALL_ROWS", 0)
    blocked = mb.robust_test(X, Y, 0.05, n_permutations=99, dtype=dtype, rng=0)
    assert blocked.provenance.dtype == dtype
    assert kept.pvalue <= blocked.pvalue <= kept.pvalue + (0.02 if dtype == "float32" else 0.0)
    close = of_mmd2(140, smallest=60) if dtype == "float64" else 1e-6
    np.testing.assert_allclose(blocked.null, kept.null, rtol=0, atol=close)


def test_a_seed_is_recorded_and_gives_the_same_again():
    X, Y = groups()
    result = mb.robust_test(X, Y, 0.1, n_permutations=19)
    again = mb.robust_test(X, Y, 0.1, n_permutations=19, rng=result.provenance.seed)
    np.testing.assert_array_equal(again.null, result.null)
    assert f"19 permutations; seed {result.provenance.seed};" in words(result)
    other = mb.robust_test(X, Y, 0.1, n_permutations=19, rng=np.random.default_rng(3))
    assert (other.null != result.null).any()


def test_words_of_a_valid_test():
    X, Y = groups()
    result = mb.robust_test(X, Y, 0.2, n_permutations=99, rng=0)
    lines = result.summary().splitlines()
    assert " ".join(lines[:2]) == (
        "Assumed: at most 20 % of the true X rows are misfiled, that is at most 6 of the 35 rows filed "
        "under Y, or 19.4 %."
    )
    assert (
        "Whichever rows they are, the p-value for no difference between the true groups is at most "
        f"{result.pvalue:.4g} (proved). If more rows are misfiled, it can be larger."
    ) in words(result)
    worst, as_filed = lines[5:7]
    assert worst.startswith(f"  worst case  {result.pvalue:>8.4g}   with 6 rows misfiled, the squared MMD is")
    assert as_filed.startswith(f"  as filed    {result.pvalue_as_filed:>8.4g}   the squared MMD is ")
    for condition in (
        "Valid if - no more rows are misfiled than assumed, and rows were only relabelled",
        "- if the groups do not differ, their rows are exchangeable",
        "- kernel, bandwidth, scaling and columns were chosen without looking at the labels",
        "- the seed was not chosen by its result: the permutations are fresh, uniform draws.",
        "Ties, including differences due to rounding, count against rejection.",
    ):
        assert condition in words(result)
    assert "99 permutations; seed 0; kernel rbf, bandwidth" in words(result)
    assert repr(result).startswith(f"RobustTestResult(pvalue {result.pvalue:.4g} (valid), statistic 0.0")
    assert "at most 6 of 35 rows of Y misfiled" in repr(result)
    exactly = mb.robust_test(X, Y, 0.2, n_permutations=99, exactly=True, rng=0)
    assert exactly.summary().startswith("Assumed: exactly 20 % of the true X rows are misfiled")
    assert "If more or fewer rows are misfiled, it can be larger." in words(exactly)
    assert page_of(exactly).tables


def test_printed_floors_are_floors():
    """The squared MMD in print is rounded down: still proved."""
    X, Y = groups()
    for seed in range(5):
        result = mb.robust_test(X, Y, 0.2, n_permutations=9, rng=seed)
        printed = float(words(result).split("the squared MMD is at least ")[1].split()[0])
        assert printed <= result.statistic


def test_without_a_proof_it_says_so(monkeypatch):
    monkeypatch.setattr(sharp, "DENSE_ROWS", 10)
    X, Y = groups()
    result = mb.robust_test(X, Y, 0.1, kernel=sample_function, n_permutations=19, rng=0)
    assert not result.is_valid
    assert [c.certified is None for c in result.counts] == [False, True, True]
    assert "That no labelling has a larger one is not proved. Its validity is not guaranteed." in words(
        result
    )
    assert "Besides what is missing, it would be valid only if" in words(result)
    assert "(validity not guaranteed)" in repr(result)
    assert "the squared MMD of " in words(result)
    proved = mb.robust_test(X, Y, 0.1, kernel="rbf", n_permutations=19, rng=0)
    assert proved.is_valid  # without a matrix, but definite


def test_a_grid_of_counts_is_no_proof(monkeypatch):
    monkeypatch.setattr(worst_case, "MOST_COUNTS", 3)
    monkeypatch.setattr(worst_case, "FEWEST_COUNTS", 3)
    X, Y = groups()
    both_ways = Contamination(n_moved=2, n_moved_of_x=2)
    result = mb.robust_test(X, Y, both_ways, n_permutations=19, rng=0)
    assert [(c.n_moved, c.n_moved_of_x) for c in result.counts] == [(0, 0), (1, 1), (2, 2)]
    assert (result.is_valid, result.n_admissible) == (False, 9)
    assert "Only 3 of the 9 possible numbers of misfiled rows were tested" in words(result)
    assert "(validity not guaranteed)" in repr(result)
    assert mb.robust_test(X, Y, 0.1, n_permutations=19, rng=0).is_valid  # three are all


def test_json_there_and_back():
    X, Y = groups()
    made = [
        mb.robust_test(X, Y, 0.1, n_permutations=19, rng=0),
        mb.robust_test(X, Y, Contamination(n_moved=1, n_moved_of_x=1), n_permutations=19, beta=0.1, rng=0),
    ]
    for result in made:
        saved = json.loads(result.to_json())
        assert (saved["schema"], saved["type"]) == (2, "RobustTestResult")
        back = mb.results.RobustTestResult.from_dict(saved)
        assert back.to_dict() == result.to_dict()
        assert back.summary() == result.summary()
        assert isinstance(back.counts[0], mb.results.CountTest)
        assert isinstance(back.provenance, mb.results.Provenance)
    del saved["null"]
    with pytest.raises(DataError, match="the saved result lacks `null`"):
        mb.results.RobustTestResult.from_dict(saved)
    with pytest.raises(DataError, match=r"expected a saved RobustTestResult .* got type 'BoundsResult'"):
        mb.results.RobustTestResult.from_dict({"schema": 2, "type": "BoundsResult"})


def test_a_result_cannot_be_changed():
    result = mb.robust_test(*groups(), 0.1, n_permutations=19, rng=0)
    for each in (result, pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        with pytest.raises(ValueError, match="read-only"):
            each.null[0] = 0.0
        with pytest.raises(AttributeError, match="pvalue"):
            each.pvalue = 0.0
        assert each.to_dict() == result.to_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_permutations": 0}, r"^`n_permutations` must be a whole number from 1; got 0\.$"),
        ({"n_permutations": 9.5}, r"^`n_permutations` must be a whole number from 1; got 9\.5\.$"),
        ({"beta": 1.0}, r"^`beta` must be in \[0, 1\); got 1\.$"),
        ({"beta": "x"}, r"^`beta` must be a number in \[0, 1\); got 'x'\.$"),
        ({"exactly": "yes"}, r"^`exactly` must be True or False; got 'yes'\.$"),
        ({"progress": 1}, r"^`progress` must be True or False; got 1\.$"),
        ({"rng": -1}, r"^`rng` must be a whole number from 0, .*; got -1\.$"),
        ({"epsilon": 20}, r"^`epsilon` must be in \[0, 1\); got 20\. Did you mean 0\.2\?$"),
        ({"epsilon": 0.9}, r"^225 misfiled rows cannot be among the 35 rows of `Y`\."),
        ({"epsilon": Contamination(n_moved=34)}, r"the true `Y` would have 1 row; the unbiased estimator"),
        ({"estimator": "u"}, r"^`estimator` must be one of "),
        ({"kernel": "rbd"}, r"^`kernel` must be one of "),
        ({"working_memory": 0}, r"^`working_memory` must be a number of MiB from 1; got 0\.$"),
    ],
)
def test_refusals(options, message):
    X, Y = groups()
    with pytest.raises(MmdBoundsError, match=message):
        mb.robust_test(X, Y, **{"epsilon": 0.1, **options})


def test_groups_that_are_too_small_as_filed():
    with pytest.raises(MmdBoundsError, match="`X` has 1 row"):
        mb.robust_test([[0.0]], [[1.0], [2.0], [3.0]], Contamination(n_moved=1), exactly=True, bandwidth=1.0)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("seed", "shift"), [(0, 0.0), (1, 0.3), (2, 0.45)])
def test_the_pvalue_agrees_with_hyppo(seed, shift):
    MMD = pytest.importorskip("hyppo.ksample").MMD
    n_permutations = 2000
    X, Y = groups(30, 40, shift=shift, seed=seed)
    # hyppo's statistic is a rescaled HSIC of rows and labels: increasing in the biased squared MMD.
    ours = mb.robust_test(X, Y, 0, estimator="biased", bandwidth=1.5, n_permutations=n_permutations, rng=seed)
    theirs = MMD(compute_kernel="gaussian", bias=True, gamma=1 / (2 * 1.5**2)).test(
        X, Y, reps=n_permutations, workers=1, auto=False
    )
    p = (ours.pvalue + theirs.pvalue) / 2
    assert abs(ours.pvalue - theirs.pvalue) < 5 * np.sqrt(2 * p * (1 - p) / n_permutations)
