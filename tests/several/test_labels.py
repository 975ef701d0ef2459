"""Bad input is one clear line; epsilon is a share of all rows."""

from __future__ import annotations

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import MmdBoundsError
from mmdbounds.several.labels import checked_labels, checked_moves
from mmdbounds.tables import Group

Z = np.random.default_rng(0).normal(size=(10, 2))
LABELS = ["a"] * 4 + ["b"] * 3 + ["c"] * 3


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (LABELS[:9], {"n_moved": 1}, r"`labels` must have one entry for each of the 10 rows of `Z`; got 9\."),
        (["a"] * 10, {"n_moved": 1}, r"at least two groups; got only 'a' \(10 rows\)\."),
        ([None, *LABELS[1:]], {"n_moved": 1}, r"name the group of every row; 1 label missing\."),
        ("aaaabbbccc", {"n_moved": 1}, r"`labels` must be a list or 1-D array"),
        (
            np.array(LABELS)[:, None],
            {"n_moved": 1},
            r"`labels` must be a list or 1-D array with .*; got ndarray of shape \(10, 1\)",
        ),
        (LABELS, {}, r"give `n_moved=`.*or `epsilon=`.*; got neither\."),
        (LABELS, {"n_moved": 1, "epsilon": 0.1}, r"got both\."),
        (LABELS, {"epsilon": 20}, r"`epsilon` must be in \[0, 1\); got 20\. Did you mean 0\.2\?"),
        (LABELS, {"n_moved": -1}, r"`n_moved` must be a whole number from 0; got -1\."),
        (LABELS, {"n_moved": 11}, r"at most 10 rows can carry a wrong label; got 11\."),
        (LABELS, {"n_moved": 1, "exactly": 1}, r"`exactly` must be True or False; got 1\."),
        (
            LABELS,
            {"n_moved": 4, "transitions": [("b", "c")]},
            r"at most 3 rows can carry a wrong label; got 4\. .*`transitions=`",
        ),
        (
            LABELS,
            {"n_moved": 1, "transitions": [("a", "d")]},
            r"`transitions=` names 'd', which no row is labelled with\..*'a', 'b', 'c'\.",
        ),
        (
            LABELS,
            {"n_moved": 1, "transitions": [("a", "a")]},
            r"must lead to another group; got 'a' to itself\.",
        ),
        (LABELS, {"n_moved": 1, "transitions": "a>b"}, r"`transitions` must be 'any' or pairs"),
        (LABELS, {"n_moved": 1, "transitions": []}, r"`transitions` must be 'any' or pairs"),
        (LABELS, {"n_moved": 1, "transitions": [("a", "b", "c")]}, r"`transitions` must be 'any' or pairs"),
        (
            LABELS,
            {"n_moved": 1, "kernl": "rbf"},
            r"unexpected keyword argument 'kernl'\. Did you mean 'kernel'",
        ),
    ],
)
def test_bad_input_is_one_line(labels, options, message):
    with pytest.raises((MmdBoundsError, TypeError), match=message) as raised:
        mb.hsic_bounds(Z, labels, **options)
    assert "\n" not in str(raised.value)


def test_too_few_rows_and_too_many_groups():
    with pytest.raises(MmdBoundsError, match=r"the unbiased HSIC needs at least 4 rows; got 3\."):
        mb.hsic(Z[:3], ["a", "b", "b"])
    with pytest.raises(MmdBoundsError, match=r"at most 100 groups; got 101\. Are they groups\?"):
        mb.hsic(np.zeros((101, 1)), range(101))
    as_many_as_may_be = mb.hsic(np.zeros((100, 1)), range(100), bandwidth=1.0)
    np.testing.assert_allclose(as_many_as_may_be, 0.0, rtol=0, atol=1e-12)  # sums of 10,000 ones, divided
    with pytest.raises(MmdBoundsError, match=r"`Z` must be the square matrix .*; got shape \(10, 2\)"):
        mb.hsic(Z, LABELS, kernel="precomputed")
    with pytest.raises(MmdBoundsError, match=r"`n_permutations` must be a whole number from 1; got 0"):
        mb.independence_test(Z, LABELS, n_moved=1, n_permutations=0)


@pytest.mark.parametrize(("epsilon", "wanted"), [(0.3, 3), (0.1, 1), (0.19, 1), (0.0, 0)])
def test_epsilon_is_a_share_of_all_rows(epsilon, wanted):
    moves, _ = checked_moves(checked_labels(LABELS, Group(Z)), None, epsilon, None, False)
    assert moves.n_moved == wanted


def test_groups_are_matched_as_they_are_printed():
    named = checked_labels([1, 1.0, "1", 2, " 2 ", 10], Group(Z[:6]))
    assert named.names == ("1", "2", "10")
    assert named.codes.tolist() == [0, 0, 0, 1, 1, 2]
    _, allowed = checked_moves(named, 1, None, [(1, "2"), ("10", 1.0)], False)
    assert np.argwhere(allowed).tolist() == [[0, 1], [2, 0]]
