"""All pairs: each is what the functions of two groups say, and Holm's method is the textbook's."""

from __future__ import annotations

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import MmdBoundsError
from mmdbounds.results import PairwiseTable
from mmdbounds.several.pairwise import holm


def rows(shift=1.5):
    rng = np.random.default_rng(3)
    labels = np.repeat(["a", "b", "c"], [15, 18, 20])
    Z = rng.normal(size=(53, 2))
    Z[labels == "c"] += shift
    return Z, labels


def test_each_pair_is_that_of_two_groups():
    Z, labels = rows()
    table = mb.pairwise_bounds(Z, labels, 0.06, bandwidth=1.0, n_permutations=199, rng=0)
    assert [(row.name_x, row.name_y) for row in table.rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    both_ways = mb.Contamination(0.06, y_in_x=0.06)
    row = table.rows[2]
    X, Y = Z[labels == "b"], Z[labels == "c"]
    bounds = mb.mmd_bounds(X, Y, both_ways, bandwidth=1.0, rng=0)
    test = mb.robust_test(X, Y, both_ways, bandwidth=1.0, n_permutations=199, rng=0)
    assert (row.lower, row.upper_certified, row.pvalue) == (
        bounds.lower.value,
        bounds.upper.certified,
        test.pvalue,
    )
    assert (row.n_moved, row.n_moved_of_x) == (bounds.n_moved, bounds.n_moved_of_x) == (1, 1)
    assert table.different == (("a", "c"), ("b", "c"))
    assert table.is_valid
    assert PairwiseTable.from_dict(table.to_dict()).to_dict() == table.to_dict()
    text = " ".join(table.summary().split())
    assert "At the joint 5 % level 2 of 3 pairs of groups differ" in text
    assert "at most 6 % of the true rows of either group are filed under the other" in text


def test_all_pairs_have_the_bandwidth_of_all_rows():
    Z, labels = rows()
    table = mb.pairwise_bounds(Z, labels, 0.0, n_permutations=19, rng=0)
    gaps = np.sqrt(((Z[:, None] - Z[None]) ** 2).sum(axis=2))[np.triu_indices(len(Z), 1)]
    wanted = mb.mmd2(Z[labels == "a"], Z[labels == "b"], bandwidth=float(np.median(gaps)))
    np.testing.assert_allclose(table.rows[0].observed, wanted, rtol=1e-9)


def test_precomputed_matrix_gives_the_same_pairs():
    Z, labels = rows()
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2) / 2)
    how = {"n_permutations": 19, "rng": 0}
    one = mb.pairwise_bounds(Z, labels, mb.Contamination(n_moved=1), bandwidth=1.0, **how)
    other = mb.pairwise_bounds(K, labels, mb.Contamination(n_moved=1), kernel="precomputed", **how)
    for a, b in zip(one.rows, other.rows, strict=True):
        np.testing.assert_allclose(
            [a.observed, a.lower, a.upper], [b.observed, b.lower, b.upper], rtol=0, atol=1e-12
        )


def test_holm_by_hand():
    # 0.01 x 4, then 0.02 x 3, then 0.03 x 2 (not below the one before), then 0.2.
    np.testing.assert_allclose(holm([0.03, 0.01, 0.2, 0.02]), [0.06, 0.04, 0.2, 0.06], rtol=1e-12)
    np.testing.assert_allclose(holm([0.6, 0.7]), [1.0, 1.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 5}, r"`epsilon` must be in \[0, 1\); got 5\. Did you mean 0\.05\?"),
        ({"epsilon": 0.1, "level": 5}, r"`level` must be a number between 0 and 1; got 5"),
        ({"epsilon": mb.Contamination(n_moved=99)}, r"99"),
    ],
)
def test_bad_input(options, message):
    Z, labels = rows()
    with pytest.raises(MmdBoundsError, match=message):
        mb.pairwise_bounds(Z, labels, **options)
