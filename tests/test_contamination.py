"""Counts and sizes from shares, one-way and two-way."""

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import mmdbounds as mb
from mmdbounds.contamination import Contamination, as_contamination
from mmdbounds.counts import Counts, check_sizes
from mmdbounds.errors import AmountWarning, MmdBoundsError


@pytest.mark.parametrize(
    ("how_much", "p", "q", "moved", "moved_of_x"),
    [
        (Contamination(0.2), 40, 60, 10, 0),
        (Contamination(0.2), 38, 34, 9, 0),  # 47 and 25 rows with 9 hidden
        (Contamination(0.1), 212, 357, 23, 0),
        (Contamination(0.2, y_in_x=0.2), 100, 40, 24, 4),
        (Contamination(0.2, y_in_x=0.0), 100, 40, 25, 0),
        (Contamination(n_moved=7), 5, 9, 7, 0),
        (Contamination(n_moved=7, n_moved_of_x=3), 5, 9, 7, 3),
        (Contamination(share_of_y=0.25), 5, 60, 15, 0),
        (Contamination(share_of_y=0.3), 5, 10, 3, 0),
        (Contamination(0.0), 40, 60, 0, 0),
    ],
)
def test_counts(how_much, p, q, moved, moved_of_x):
    expected = Counts(moved, moved_of_x, p + moved - moved_of_x, q - moved + moved_of_x)
    assert how_much.counts(p, q) == expected


@given(m=st.integers(0, 500), p=st.integers(1, 500))
def test_one_way_share_of_a_count_gives_the_count_back(m, p):
    assert Contamination(m / (p + m)).counts(p, q=1000).n_moved == m


@given(m=st.integers(0, 40), m_d=st.integers(1, 40), p=st.integers(45, 200), q=st.integers(45, 200))
def test_two_way_shares_of_counts_give_the_counts_back(m, m_d, p, q):
    shares = m / (p + m - m_d), m_d / (q - m + m_d)
    assume(sum(shares) < 0.99)
    counts = Contamination(shares[0], y_in_x=shares[1]).counts(p, q)
    assert (counts.n_moved, counts.n_moved_of_x) == (m, m_d)


@given(p=st.integers(1, 60), q=st.integers(1, 60), share=st.floats(0, 0.7))
def test_the_count_is_the_largest_with_a_share_of_at_most_epsilon(p, q, share):
    m = Contamination(n_moved=0).counts(p, q).n_moved
    limit = Fraction(share) + Fraction(1, 10**8)
    while Fraction(m + 1, p + m + 1) <= limit:
        m += 1
    assume(abs(Fraction(m, p + m) - Fraction(share)) > Fraction(1, 10**7) or m == 0)
    assume(m <= q)
    assert Contamination(share).counts(p, q).n_moved in (
        m,
        m - 1 if Fraction(m, p + m) > Fraction(share) else m,
    )


@given(p=st.integers(1, 10**6), q=st.integers(3, 10**6))
def test_the_share_that_is_advised_stands_for_its_rows(p, q):
    with pytest.raises(MmdBoundsError) as refused:
        Contamination(n_moved=q + 1).counts(p, q)
    share, rows = re.search(r" is ([0-9.]+) \(([0-9,]+) rows?\)\.$", str(refused.value)).groups()
    assert int(rows.replace(",", "")) == q - 2 == Contamination(float(share)).counts(p, q).n_moved


def test_admissible_counts():
    assert [c.n_moved for c in Contamination(0.2, exactly=True).admissible(40, 60)] == [10]
    for exactly in (None, False):
        assert [c.n_moved for c in Contamination(0.2, exactly=exactly).admissible(40, 60)] == list(range(11))


@given(st.integers(2, 60), st.integers(2, 60), st.floats(0, 0.9), st.floats(0, 0.9))
def test_at_most_is_nested_and_ends_with_exactly(p, q, share, other):
    small, large = sorted((share, other))
    assume(Contamination(large).n_moved_for(p) <= q)
    few, many = (Contamination(each).admissible(p, q) for each in (small, large))
    assert few == many[: len(few)]
    assert Contamination(large, exactly=True).admissible(p, q) == many[-1:]
    assert few[0] == Counts(0, 0, p, q)


def test_admissible_pairs_are_all_pairs_with_both_shares_small_enough():
    p, q = 12, 9
    pairs = {(c.n_moved, c.n_moved_of_x) for c in Contamination(0.25, y_in_x=0.2).admissible(p, q)}
    expected = {
        (m, m_d)
        for m in range(q + 1)
        for m_d in range(p + 1)
        if p + m - m_d > 0
        and q - m + m_d > 0
        and Fraction(m, p + m - m_d) <= Fraction(1, 4)
        and Fraction(m_d, q - m + m_d) <= Fraction(1, 5)
    }
    assert pairs == expected
    counted = Contamination(n_moved=2, n_moved_of_x=1).admissible(p, q)
    assert [(c.n_moved, c.n_moved_of_x) for c in counted] == [(a, b) for a in range(3) for b in range(2)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.2,), r"`epsilon` must be in \[0, 1\); got 1\.2\. Did you mean 0\.012\?"),
        ((20,), r"`epsilon` must be in \[0, 1\); got 20\. Did you mean 0\.2\?"),
        ((1.0,), r"`epsilon` must be in \[0, 1\); got 1\.$"),
        ((-0.1,), r"`epsilon` must be in \[0, 1\); got -0\.1\.$"),
        ((float("nan"),), r"`epsilon` must be in \[0, 1\); got nan\."),
        (("0.2",), r"`epsilon` must be a number in \[0, 1\); got '0\.2'\."),
        ((True,), r"`epsilon` must be a number in \[0, 1\); got True\."),
        (
            ((0.1, 0.2),),
            r"^`epsilon` must be one share in \[0, 1\), a limit that .*; got \(0\.1, 0\.2\)\.",
        ),
        (([0.1, 0.2, 0.3],), r"`epsilon` must be one share .*; got \[0\.1, 0\.2, 0\.3\]\."),
        ((np.array([0.1, 0.2]),), r"`epsilon` must be one share .*\. For several shares call this for each"),
        ((), r"exactly one of `x_in_y` \(epsilon\), .* and `prevalence` must be given; got none\."),
    ],
)
def test_wrong_shares(arguments, message):
    with pytest.raises(MmdBoundsError, match=message):
        Contamination(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x_in_y": 0.1, "n_moved": 3}, r"must be given; got `x_in_y` and `n_moved`\."),
        ({"n_moved": -1}, r"`n_moved` must be a whole number from 0; got -1\."),
        ({"n_moved": 2.0}, r"`n_moved` must be a whole number from 0; got 2\.0\."),
        ({"share_of_y": 1.5}, r"`share_of_y` must be in \[0, 1\); got 1\.5\."),
        (
            {"n_moved": 2, "y_in_x": 0.1},
            r"`y_in_x` is a share\. Give it together with the share `x_in_y`",
        ),
        (
            {"x_in_y": 0.1, "n_moved_of_x": 1},
            r"`n_moved_of_x` is a count\. Give it together with the count `n_moved`\.",
        ),
        ({"x_in_y": 0.6, "y_in_x": 0.4}, r"must add up to less than 1, .*; got 0\.6 and 0\.4\."),
        (
            {"n_moved": 2, "n_found": 1},
            r"`n_found` belongs to an audit\. Give it together with `n_checked`\.",
        ),
        ({"n_moved": 2, "anytime": True}, r"`anytime` belongs to an audit\. Give it together with"),
        ({"n_checked": 3, "n_found": 4}, r"at most `n_checked`; got 4 found among 3 checked rows\."),
        ({"n_checked": 3, "confidence": 95}, r"`confidence` must be .*; got 95\. Did you mean 0\.95\?"),
        ({"prevalence": 0.0}, r"`prevalence` must be a number between 0 and 1; got 0\."),
        ({"prevalence": (0.3, 0.2)}, r"with low <= high; got \(0\.3, 0\.2\)\."),
        ({"prevalence": (0.3,)}, r"a share or a pair \(low, high\); got 1 numbers\."),
        ({"prevalence": (0.2, 0.3), "prevalence_error": 0.1}, r"together with a single `prevalence`\."),
        ({"n_moved": 2, "prevalence_error": 0.1}, r"together with a single `prevalence`\."),
        ({"x_in_y": 0.1, "exactly": 1}, r"`exactly` must be True or False; got 1\."),
        (
            {"x_in_y": 0.1, "odds": 0.5},
            r"`odds` must be a number from 1 \(misfiled at random\) .*; got 0\.5\.",
        ),
        ({"x_in_y": 0.1, "odds": "2"}, r"`odds` must be a number from 1 .*; got '2'\."),
        ({"x_in_y": 0.1, "odds": 2, "y_in_x": 0.1}, r"`odds` cannot be combined with two-way misfiling: "),
        (
            {"x_in_y": 0.1, "odds": 2, "may_move": [True] * 5},
            r"`odds` cannot be combined with `may_move`, `strata` or `limits`: ",
        ),
    ],
)
def test_wrong_combinations(options, message):
    with pytest.raises(MmdBoundsError, match=message):
        Contamination(**options)


@pytest.mark.parametrize(
    ("sensitivity", "specificity", "expected"),
    [
        (0.9, 1.0, Contamination(0.1)),
        (1, 1, Contamination(0.0)),
        (0.9, 0.98, Contamination(0.1, y_in_x=0.02)),
        (0.8, 0.8, Contamination(0.2, y_in_x=0.2)),
    ],
)
def test_error_rates_of_the_filing(sensitivity, specificity, expected):
    said = Contamination.from_sensitivity(sensitivity, specificity=specificity)
    assert said == expected  # to the last bit: 1 - 0.9 is one tenth
    assert said.counts(100, 150) == expected.counts(100, 150)


def test_the_specificity_is_1_unless_it_is_said():
    assert Contamination.from_sensitivity(0.75) == Contamination(0.25)
    # 45 of 50 rows of X and 147 of 150 rows of Y filed where they belong: 5 and 3 rows move back.
    counts = Contamination.from_sensitivity(45 / 50, specificity=147 / 150).counts(48, 152)
    assert counts == Counts(5, 3, 50, 150)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ((90, 1.0), r"`sensitivity` must be a number in \(0, 1\]; got 90\. Did you mean 0\.9\?"),
        ((0.0, 1.0), r"`sensitivity` must be a number in \(0, 1\]; got 0\.$"),
        ((True, 1.0), r"`sensitivity` must be a number in \(0, 1\]; got True\.$"),
        ((float("nan"), 1.0), r"`sensitivity` must be a number in \(0, 1\]; got nan\.$"),
        ((0.9, 1.01), r"`specificity` must be a number in \(0, 1\]; got 1\.01\.$"),
        ((0.4, 0.6), r"must add up to more than 1, or the labels carry no information; got 0\.4 and 0\.6\."),
    ],
)
def test_wrong_error_rates(rates, message):
    with pytest.raises(MmdBoundsError, match=message):
        Contamination.from_sensitivity(rates[0], specificity=rates[1])


def test_counts_that_do_not_fit():
    with pytest.raises(MmdBoundsError, match=r"25 misfiled rows cannot be among the 20 rows of `Y`\."):
        Contamination(0.2).counts(100, 20)
    with pytest.raises(MmdBoundsError, match=r"4 misfiled rows cannot be among the 3 rows of `X`\."):
        Contamination(n_moved=1, n_moved_of_x=4).counts(3, 20)
    with pytest.raises(MmdBoundsError, match=r"shares of 0\.4 and 0\.4 do not fit groups of 100 and 20 rows"):
        Contamination(0.4, y_in_x=0.4).counts(100, 20)


def test_sizes_that_are_too_small_for_the_estimator():
    left_one = Counts(9, 0, 14, 1)
    with pytest.raises(
        MmdBoundsError,
        match=r"with 9 of the 10 rows of `Y` moved to `X`, the true `Y` would have 1 row; the unbiased",
    ):
        check_sizes(left_one, 5, 10, unbiased=True)
    check_sizes(left_one, 5, 10, unbiased=False)
    with pytest.raises(
        MmdBoundsError, match=r"the true `Y` would have 0 rows; the biased estimator needs at least 1"
    ):
        check_sizes(Counts(10, 0, 15, 0), 5, 10, unbiased=False)
    with pytest.raises(MmdBoundsError, match=r"`X` has 1 row"):
        check_sizes(Counts(0, 0, 1, 10), 1, 10, unbiased=True)


def test_wherever_a_share_is_taken_a_contamination_is_taken():
    said = Contamination(n_moved=3)
    assert as_contamination(said) == Contamination(n_moved=3, exactly=False)
    assert as_contamination(0.2) == Contamination(0.2, exactly=False)


@pytest.mark.parametrize(
    ("inside", "beside", "decided"),
    [
        (None, None, False),
        (None, True, True),
        (None, False, False),
        (True, None, True),
        (False, None, False),
        (True, True, True),
        (False, np.False_, False),
    ],
)
def test_exactly_is_said_inside_or_beside(inside, beside, decided):
    assert as_contamination(Contamination(0.2, exactly=inside), beside).exactly is decided
    if inside is None:
        assert as_contamination(0.2, beside).exactly is decided


def test_odds_are_refused_unless_they_are_asked_for():
    amount = Contamination(0.2, odds=2)
    with pytest.raises(MmdBoundsError, match=r"^`odds` is for `mmd_bounds`; got 2 here\."):
        as_contamination(amount)
    assert as_contamination(amount, takes_odds=True).odds == 2


def test_what_was_stated_makes_the_same_again():
    for said in (Contamination(0.2, y_in_x=0.1, exactly=True), Contamination(0.2)):
        assert as_contamination(Contamination(**as_contamination(said).stated())) == as_contamination(said)
    assert as_contamination(0.2).stated() == {"x_in_y": 0.2}  # a limit goes without saying
    assert as_contamination(0.2, exactly=True).stated() == {"x_in_y": 0.2, "exactly": True}


@pytest.mark.parametrize(
    ("amount", "exactly", "message"),
    [
        (
            Contamination(0.1, exactly=True),
            False,
            (
                r"`exactly` must not contradict the Contamination; got False, and Contamination\(\.\.\., "
                r"exactly=True\)\. Leave one of them out\.$"
            ),
        ),
        (
            Contamination(n_moved=1, exactly=False),
            True,
            r"got True, and Contamination\(\.\.\., exactly=False\)",
        ),
        (0.1, "yes", r"^`exactly` must be True or False; got 'yes'\.$"),
    ],
)
def test_contradictions_about_exactly(amount, exactly, message):
    with pytest.raises(MmdBoundsError, match=message):
        as_contamination(amount, exactly)


def test_an_audit_is_a_limit_that_depends_on_the_rows_of_y():
    said = Contamination.from_audit(60, 2)
    assert [said.counts(100, q).n_moved for q in (60, 357)] == [2, 34]
    # By hand: one row is left, and with three misfiled rows it is one of them with chance 3/41.
    assert [c.n_moved for c in Contamination.from_audit(40, 2).admissible(100, 41)] == [0, 1, 2, 3]
    assert said == Contamination(**said.stated())
    assert said.stated() == {"n_checked": 60, "n_found": 2}
    assert repr(Contamination.from_audit(9, 0, 0.9, anytime=True)) == (
        "Contamination(n_checked=9, confidence=0.9, anytime=True)"
    )
    assert (said.beta, Contamination(0.1).beta) == (0.05, 0.0)


def test_an_audit_of_more_rows_than_there_are():
    with pytest.raises(MmdBoundsError, match=r"`n_checked` must be at most the 59 rows of `Y`; got 60\."):
        Contamination.from_audit(60, 2).counts(100, 59)
    with pytest.raises(MmdBoundsError, match="`level` must be a number between 0 and 1; got 1"):
        Contamination.from_audit(60, 2, level=1.0)


def test_a_prevalence_is_a_limit():
    # By hand: of 3 rows, all belong to X with chance 1/8 and two or more with 1/2.
    assert Contamination.from_prevalence(0.5, level=0.8).counts(p=1, q=2).n_moved == 1
    assert Contamination.from_prevalence(0.5, level=0.9).counts(p=1, q=2).n_moved == 2
    assert Contamination.from_prevalence((0.1, 0.5), level=0.8).counts(p=1, q=2).n_moved == 1
    said = Contamination.from_prevalence(0.373, 0.01, level=0.99)
    assert said == Contamination(**said.stated())
    assert said.beta == 0.01
    with pytest.raises(MmdBoundsError, match=r"at most 14 of the 100 rows to belong to `X`, but 20 "):
        Contamination.from_prevalence(0.09).counts(p=20, q=80)


@pytest.mark.parametrize(
    ("name", "called", "share", "of_one"),
    [("x_in_y", "epsilon", 0.1, 0.167), ("share_of_y", "share_of_y", 0.01, 0.0167)],
)
def test_a_share_of_less_than_one_row_is_noted(name: str, called: str, share: float, of_one: float):
    X, Y = np.arange(5.0)[:, None], np.arange(60.0)[:, None]
    said = f"`{called}` of {share} is less than one row in groups of 5 and 60 rows, .* One row is {of_one}"
    with pytest.warns(AmountWarning, match=said):
        result = mb.mmd_bounds(X, Y, Contamination(**{name: share}), rng=0)
    assert result.n_moved == 0
    assert Contamination(**{name: of_one}).counts(5, 60).n_moved == 1


@pytest.mark.parametrize("amount", [{"x_in_y": 0.0}, {"n_moved": 0}, {"share_of_y": 0.0}, {"x_in_y": 0.1667}])
def test_nothing_is_noted_where_it_is_meant(amount: dict):
    assert Contamination(**amount).possible(5, 60, None)


@pytest.mark.parametrize(("p", "q"), [(2, 3), (5, 7), (40, 60), (999, 1001), (3, 40_000), (40_000, 3)])
def test_the_largest_share_that_a_message_names_is_that_many_rows(p: int, q: int):
    with pytest.raises(MmdBoundsError, match="The largest `epsilon` for groups of") as caught:
        Contamination(0.9999999).counts(p, q)
    share = float(str(caught.value).split(" rows is ")[1].split(" ")[0])
    assert Contamination(share).counts(p, q).n_moved == q - 2
