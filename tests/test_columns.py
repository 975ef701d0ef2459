"""Each column's bounds against the definition, over all labellings of small problems."""

from itertools import combinations

import numpy as np
import pytest

import mmdbounds as mb

TOLERANCE = 1e-12  # sums of at most 14 numbers of size 10, each rounded once


def naive_auc(x, y):
    return np.mean([(a > b) + 0.5 * (a == b) for a in x for b in y])


def naive_extremes(x, y, pairs):
    """The smallest and largest difference of means and probability, over every set of rows of every count."""
    found = []
    for m, m_d in pairs:
        for C in combinations(range(len(y)), m):
            for D in combinations(range(len(x)), m_d):
                true_x = np.concatenate([np.delete(x, D), y[list(C)]])
                true_y = np.concatenate([np.delete(y, C), x[list(D)]])
                found.append((true_x.mean() - true_y.mean(), naive_auc(true_x, true_y)))
    return np.min(found, axis=0), np.max(found, axis=0)


def random_columns(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.integers(2, 5), rng.integers(3, 7)
    draw = (
        lambda n: rng.normal(size=(n, 2)) * 3,
        lambda n: rng.integers(0, 2, size=(n, 2)).astype(float),  # shares
        lambda n: rng.integers(-2, 3, size=(n, 2)).astype(float),  # ties
        lambda n: 5.0 + (rng.random((n, 2)) < 0.3),
    )[seed % 4]
    return draw(p), draw(q), rng


def check(seed):
    X, Y, rng = random_columns(seed)
    p, q = len(X), len(Y)
    m, m_d = int(rng.integers(0, q)), int(rng.integers(0, 2)) * int(rng.integers(0, p))
    m = min(m, q - 1) if m_d == 0 else min(m, q - 1, 3)
    at_most = bool(rng.integers(2))
    smaller = [(k, k_d) for k in range(m + 1) for k_d in range(m_d + 1)]
    pairs = smaller if at_most else [(m, m_d)]
    if any(p + k - k_d < 1 or q - k + k_d < 1 for k, k_d in pairs):
        return False
    table = mb.column_table(X, Y, mb.Contamination(n_moved=m, n_moved_of_x=m_d), exactly=not at_most)
    for j, row in enumerate(table.rows):
        x, y = X[:, j], Y[:, j]
        low, high = naive_extremes(x, y, pairs)
        np.testing.assert_allclose((row.difference_lower, row.auc_lower), low, atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose((row.difference_upper, row.auc_upper), high, atol=TOLERANCE, rtol=0)
        assert row.difference == pytest.approx(x.mean() - y.mean(), abs=TOLERANCE)
        assert row.auc == pytest.approx(naive_auc(x, y), abs=TOLERANCE)
        deviation = np.concatenate([x, y]).std()
        if deviation:
            assert row.standardised_upper == pytest.approx(high[0] / deviation, abs=1e-11)
        assert row.sign_lost == naive_sign_lost(x, y)
    return True


def naive_sign_lost(x, y):
    observed = x.mean() - y.mean()
    if abs(observed) < TOLERANCE:
        return 0
    for m in range(1, len(y)):
        low, high = naive_extremes(x, y, [(m, 0)])
        if (low[0] if observed > 0 else -high[0]) <= TOLERANCE:
            return m
    return None


@pytest.mark.parametrize("chunk", range(5))
def test_bounds_are_those_of_all_labellings(chunk):
    assert sum(check(seed) for seed in range(40 * chunk, 40 * chunk + 40)) >= 25


@pytest.mark.slow
def test_bounds_are_those_of_all_labellings_of_a_thousand_problems():
    assert sum(check(seed) for seed in range(1000, 2600)) >= 1000


TABLE = {
    "group": ["case"] * 4 + ["control"] * 6,
    "age": [70.0, 65, 80, 75, 50, 40, 60, 72, 45, None],
    "smoker": [True, True, False, True, False, False, True, False, False, False],
    "site": ["A", "B", "A", "A", "B", "B", "A", "B", "B", "B"],
}


def table_of(scale):
    X, Y = mb.groups(TABLE, "group", hidden="case", among="control", scale=scale, missing="impute")
    return mb.column_table(X, Y, mb.Contamination(n_moved=1))


@pytest.mark.parametrize("scale", ["standard", "robust"])
def test_scaled_columns_come_back_in_their_units(scale):
    plain, scaled = table_of("none"), table_of(scale)
    assert [row.name for row in plain.rows] == ["age", "smoker", "site=A", "site=B"]
    for a, b in zip(plain.rows, scaled.rows, strict=True):
        assert a.is_share == b.is_share == (a.name != "age")
        for name in ("mean_x", "mean_y", "difference", "difference_lower", "difference_upper"):
            assert getattr(a, name) == pytest.approx(getattr(b, name), abs=1e-12, rel=1e-12), (a.name, name)
        assert (a.auc_lower, a.auc_upper, a.sign_lost) == (b.auc_lower, b.auc_upper, b.sign_lost)
    age = plain.rows[0]
    assert (age.mean_x, age.n_missing) == (72.5, 1)


def test_ranks_have_no_units_and_the_summary_says_so():
    table = table_of("rank")
    assert [row.in_units for row in table.rows] == [False, True, True, True]
    assert "Columns were turned into ranks" in table.summary()
    assert table.rows[0].auc == table_of("none").rows[0].auc


def test_the_summary_names_the_surest_column_first():
    table = table_of("standard")
    text = table.summary()
    lines = text.split("\n\n")[1].splitlines()
    least = {row.name: max(row.standardised_lower, -row.standardised_upper, 0) for row in table.rows}
    assert text.startswith(
        "4 of 4 columns and categories differ between case and control in the same direction"
    )
    assert "most of all site=A, whose share is higher in case by at least" in " ".join(text.split())
    assert lines[0].split() == [
        "case",
        "control",
        "difference",
        "in",
        "deviations",
        "exceeds",
        "sign",
        "lost",
        "at",
    ]
    assert [line.split()[0] for line in lines[1:]] == sorted(least, key=least.get, reverse=True)
    assert lines[1].split()[:5] == ["site=A", "75", "%", "16.7", "%"]
    assert "Missing cells that were filled: age 1." in text


def test_one_column_that_differs_is_named_as_the_only_one():
    rows = [[1.0, 9.0], [2.0, 8.0], [3.0, 9.5]], [[1.0, 1.0], [2.0, 2.0], [3.0, 1.5], [2.0, 2.0]]
    text = " ".join(mb.column_table(*rows, mb.Contamination(n_moved=1)).summary().split())
    assert text.startswith(
        "1 of 2 columns differs between X and Y in the same direction whichever rows were misfiled: "
        "column 1, whose mean is higher in X by at least"
    )


def test_groups_that_differ_in_nothing():
    rows = [[1.0], [2.0], [3.0]]
    table = mb.column_table(rows, rows, 0.3)
    assert (table.rows[0].difference, table.rows[0].auc, table.rows[0].sign_lost) == (0.0, 0.5, 0)
    assert table.summary().startswith("The misfiling that was assumed could explain away the column's")


def test_it_is_saved_and_comes_back():
    table = table_of("standard")
    again = mb.results.ColumnTable.from_dict(table.to_dict())
    assert again.to_dict() == table.to_dict()
    assert repr(again) == repr(table) == "ColumnTable(4 columns, 4 keep the sign of their difference)"


@pytest.mark.full
def test_frames_of_the_library_that_is_asked_for():
    frame = table_of("standard").to_frame("polars")
    assert frame.columns[:3] == ["name", "mean_x", "mean_y"]
    assert frame["sign_lost_share"].to_list() == [
        None if m is None else m / (4 + m) for m in frame["sign_lost"].to_list()
    ]


def test_frames_of_another_library_are_refused():
    with pytest.raises(mb.MmdBoundsError, match="`library` must be 'pandas' or 'polars'; got 'R'"):
        table_of("standard").to_frame("R")


def test_as_many_misfiled_rows_as_there_are_is_refused():
    with pytest.raises(mb.MmdBoundsError, match="the true `Y` would have 0 rows"):
        mb.column_table([[1.0], [2.0]], [[3.0], [4.0]], mb.Contamination(n_moved=2))


def admissible_sets(m, *, free, strata, limits):
    """All sets of at most m rows that may move and keep within the limits."""
    rows = np.flatnonzero(free)
    for k in range(m + 1):
        for C in combinations(rows.tolist(), k):
            taken = [strata[i] for i in C]
            if all(taken.count(name) <= most for name, most in limits.items()):
                yield list(C)


@pytest.mark.parametrize("seed", range(40))
def test_rows_that_cannot_move_and_limits(seed):
    X, Y, rng = random_columns(seed)
    q = len(Y)
    free, strata = rng.random(q) < 0.8, rng.choice(["a", "b"], q)
    limits, m = {"a": int(rng.integers(0, 3)), "b": int(rng.integers(0, 3))}, int(rng.integers(1, q))
    limits = {name: most for name, most in limits.items() if name in strata}
    known = {"may_move": free, "strata": strata, "limits": limits}
    table = mb.column_table(X, Y, mb.Contamination(n_moved=m, **known))
    for j, row in enumerate(table.rows):
        x, y, found = X[:, j], Y[:, j], []
        for C in admissible_sets(m, free=free, strata=list(strata), limits=limits):
            true_x, true_y = np.append(x, y[C]), np.delete(y, C)
            found.append((true_x.mean() - true_y.mean(), naive_auc(true_x, true_y)))
        low, high = np.min(found, axis=0), np.max(found, axis=0)
        np.testing.assert_allclose((row.difference_lower, row.auc_lower), low, atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose((row.difference_upper, row.auc_upper), high, atol=TOLERANCE, rtol=0)


def test_verified_rows_are_refiled_and_stay():
    X, Y = np.array([[1.0], [2.0]]), np.array([[10.0], [3.0], [4.0], [5.0]])
    table = mb.column_table(X, Y, mb.Contamination(n_moved=1), verified=(None, ["X", "Y", "", ""]))
    row = table.rows[0]  # X is 1, 2, 10 and Y is 3, 4, 5, of which 3 stays
    assert (table.n_samples_X, table.n_samples_Y) == (3, 3)
    assert row.difference == pytest.approx(13 / 3 - 4, abs=TOLERANCE)
    assert row.difference_lower == pytest.approx(17 / 4 - 4, abs=TOLERANCE)
    assert row.difference_upper == pytest.approx(18 / 4 - 3.5, abs=TOLERANCE)
    assert "none of the 2 verified" in table.summary() or "not the one verified" in table.summary()


@pytest.mark.parametrize(
    ("of_x", "of_y", "is_share"),
    [
        ([0, 0], [0, 0, 0], True),
        ([1, 1], [1, 1, 1], True),
        ([0, 0], [1, 1, 1], True),
        ([0, 1], [1, 0, 0], True),
        ([0, 0.5], [1, 0, 0], False),
        ([2, 2], [2, 2, 2], False),
        ([-1, -1], [0, 1, 0], False),
        ([0.5, 0.5], [0.5, 0.5, 0.5], False),
    ],
)
def test_columns_of_zeros_and_ones_are_shares(of_x: list[float], of_y: list[float], is_share: bool):
    x, y = ([[float(value)] for value in values] for values in (of_x, of_y))
    assert mb.column_table(x, y, mb.Contamination(n_moved=1)).rows[0].is_share is is_share
