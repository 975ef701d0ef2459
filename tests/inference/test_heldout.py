"""Rows held out: drawn without a look at the groups, whatever their order; counts that are left."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from mmdbounds.counts import Counts
from mmdbounds.errors import DataError
from mmdbounds.inference.confidence import confidence_interval
from mmdbounds.inference.holdout import Kept, drawn_rows, hold_out
from mmdbounds.tables import Group


def rows_of(Z, places):
    """The rows at these places, as a sorted list."""
    return sorted(map(tuple, Z[places].tolist()))


@given(
    seed=st.integers(0, 100), n=st.integers(4, 60), d=st.integers(1, 4), rounded=st.booleans(), data=st.data()
)
def test_the_order_of_the_rows_does_not_choose(seed, n, d, rounded, data):
    rng = np.random.default_rng([seed, n, d])
    Z = rng.normal(size=(n, d))
    if rounded:
        Z = np.round(Z)  # duplicates, and both zeros
    order = np.array(data.draw(st.permutations(range(n))))
    share = data.draw(st.floats(0.5, 0.9))
    assert rows_of(Z, drawn_rows(Z, share, seed)) == rows_of(Z[order], drawn_rows(Z[order], share, seed))


def test_the_filing_does_not_choose():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 3))
    kept = []
    for filed in (slice(0, 20), slice(5, 45), slice(0, 59)):
        under_x = np.zeros(60, dtype=bool)
        under_x[filed] = True
        kept.append(hold_out(Group(Z[under_x]), Group(Z[~under_x], name="Y"), 0.25, "rbf", seed=4))
    assert len({k.kernel.bandwidth for k in kept}) == 1
    left = [rows_of(np.concatenate([k.X.values, k.Y.values]), slice(None)) for k in kept]
    assert left[0] == left[1] == left[2]
    assert len(left[0]) == 45
    assert len({k.held_of_x for k in kept}) == 3


def test_every_set_of_rows_is_equally_likely_and_equal_rows_are_no_block():
    Z = np.array([[0.0], [0.0], [0.0], [1.0], [2.0]])
    drawn = [tuple(drawn_rows(Z, 0.4, seed)) for seed in range(4000)]
    counts = np.array([drawn.count(pair) for pair in itertools.combinations(range(5), 2)])
    assert counts.sum() == 4000
    # 10 pairs, 400 each: chi-squared with 9 degrees of freedom is below 27.9 in 99.9 % of cases.
    assert ((counts - 400) ** 2 / 400).sum() < 27.9


def test_the_number_of_rows_held_out():
    Z = np.arange(50.0)[:, None]
    assert [len(drawn_rows(Z, share, 0)) for share in (0.04, 0.2, 0.58, 0.99)] == [2, 10, 29, 49]
    assert len(set(drawn_rows(Z, 0.99, 0))) == 49
    with pytest.raises(DataError, match=r"`holdout` must set at least 2 of the 50 rows aside; got 0\.039\."):
        drawn_rows(Z, 0.039, 0)


def test_the_bandwidth_is_the_median_distance_of_the_rows_held_out():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(15, 2)), rng.normal(2, 1, size=(25, 2))
    Z = np.concatenate([X, Y])
    held = Z[drawn_rows(Z, 0.3, 11)]
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(held, 2)]
    made = confidence_interval(X, Y, 0.1, holdout=0.3, rng=11)
    assert made.provenance.bandwidth == pytest.approx(np.median(distances), rel=1e-12)
    assert made.n_held_out == 12
    assert made.n_samples_X + made.n_samples_Y == 28
    l1 = confidence_interval(X, Y, 0.1, holdout=0.3, rng=11, kernel="laplacian")
    distances = [np.abs(a - b).sum() for a, b in itertools.combinations(held, 2)]
    assert l1.provenance.bandwidth == pytest.approx(np.median(distances), rel=1e-12)


@pytest.mark.parametrize("m_and_m_d", [(0, 0), (2, 0), (4, 0), (1, 2), (3, 1)])
def test_the_counts_left_are_all_that_can_be_left(m_and_m_d):
    """Every way in which the misfiled rows can be spread over rows kept and rows held out."""
    (m, m_d), p, q, held_of_x, held_of_y = m_and_m_d, 4, 3, 2, 3
    possible = set()
    for of_y in itertools.combinations(range(q + held_of_y), m):
        for of_x in itertools.combinations(range(p + held_of_x), m_d):
            possible.add((sum(i < q for i in of_y), sum(i < p for i in of_x)))
    kept = Kept(Group(np.zeros((p, 1))), Group(np.zeros((q, 1))), "rbf", held_of_x, held_of_y)
    before = [Counts(m, m_d, p + held_of_x + m - m_d, q + held_of_y - m + m_d)]
    left = kept.counts(before)
    assert {(c.n_moved, c.n_moved_of_x) for c in left} == possible
    assert len(left) == len(possible)
    assert all(
        (c.n_x, c.n_y) == (p + c.n_moved - c.n_moved_of_x, q - c.n_moved + c.n_moved_of_x) for c in left
    )
    assert kept.n_before == (6, 6)
    assert [c.n_moved for c in left] == sorted(c.n_moved for c in left)


def test_an_exact_count_becomes_a_range_once_rows_are_held_out():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(60, 2))
    made = confidence_interval(X, Y, mb.Contamination(n_moved=9), exactly=True, holdout=0.1, rng=1)
    held_of_y = 60 - made.n_samples_Y
    assert 0 < held_of_y < 9
    assert made.n_moved_range == (9 - held_of_y, 9)
    assert made.epsilon == 9 / 49  # as stated, of all rows
    assert f"{9 - held_of_y} to 9 of the {made.n_samples_Y} rows" in made.summary()


def test_scaling_by_the_rows_held_out_forgets_the_scaling_before():
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(40, 3)) * [1.0, 50.0, 0.1] + [0.0, 1e3, -2.0]
    scaled = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    record = {"scale": "standard"}
    groups = [Group(scaled[:15], record=record), Group(scaled[15:], name="Y", record=record)]
    kept = hold_out(*groups, 0.25, "rbf", seed=2)
    held = raw[drawn_rows(scaled, 0.25, 2)]
    mask = np.ones(40, dtype=bool)
    mask[drawn_rows(scaled, 0.25, 2)] = False
    expected = ((raw - held.mean(axis=0)) / held.std(axis=0))[mask]
    np.testing.assert_allclose(np.concatenate([kept.X.values, kept.Y.values]), expected, rtol=0, atol=1e-9)
    assert kept.X.record["scale"] == "standard, by the rows held out"
    assert groups[0].record == {"scale": "standard"}
    plain = hold_out(Group(raw[:15]), Group(raw[15:]), 0.25, "rbf", seed=2)
    assert {tuple(row) for row in plain.X.values.tolist()} <= {tuple(row) for row in raw.tolist()}


def test_columns_that_are_constant_among_the_rows_held_out_have_no_scale():
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.normal(size=40), np.zeros(40)])
    Z[7, 1] = 1.0
    record = {"scale": "standard"}
    seed = next(s for s in range(50) if not Z[drawn_rows(Z, 0.25, s), 1].any())
    kept = hold_out(Group(Z[:15], record=record), Group(Z[15:], record=record), 0.25, "rbf", seed)
    assert kept.X.shape[1] == kept.Y.shape[1] == 1
    same = np.ones((10, 2))
    with pytest.raises(DataError, match=r"all rows held out are equal, so there is no scale"):
        hold_out(Group(same, record=record), Group(same, record=record), 0.5, "rbf", 0)


def test_refusals():
    with pytest.raises(
        DataError, match=r"`holdout` must leave rows in both groups; got 0\.9, which leaves none"
    ):
        hold_out(Group(np.zeros((1, 1))), Group(np.arange(9.0)[:, None]), 0.9, "rbf", 0)
    with pytest.raises(DataError, match=r"`X` and `Y` must have the same columns; got 1 and 2\."):
        mb.confidence_interval(np.zeros((5, 1)), np.zeros((5, 2)), 0.1, holdout=0.5)
