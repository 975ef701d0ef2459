"""The statistic on random labellings against the definition, and permutations that know no labels."""

from itertools import combinations, islice

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.inference import permutation, random_orders
from mmdbounds.inference.permutation import PermutationNull, blind_order
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.sums import plan, protocol
from problems import minus_distance
from tolerances import of_mmd2


def near(sizes, n):
    """How close two computations of each statistic are."""
    return np.array([of_mmd2(n, smallest=min(size, n - size)) for size in sizes])


def assert_near(found, expected, sizes, n):
    assert (np.abs(found - expected) <= near(sizes, n)).all()


def posed(X, Y, **options):
    chosen = {
        "kernel": "rbf",
        "bandwidth": "median",
        "estimator": "unbiased",
        "backend": "auto",
        "dtype": "float64",
        "working_memory": 64,
    }
    return pose(X, Y, Comparison(**{**chosen, **options}))


def null_of(problem, n_permutations=12, seed=3):
    totals = problem.one_pass(Meter())
    rng = np.random.default_rng(seed)
    return PermutationNull(totals, problem.estimator, blind_order(problem), n_permutations, rng)


def groups(p=14, q=19, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(p, d)), rng.normal(0.5, 1.0, size=(q, d))


def naive(problem, null, sizes):
    """The statistic of each labelling by itself, through the front door."""
    Z, kernel = problem.pooled, problem.kernel
    return np.array(
        [
            [mb.mmd2(Z[order[:n]], Z[order[n:]], kernel=kernel, estimator=problem.estimator) for n in sizes]
            for order in null.orders
        ]
    )


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize(
    "sizes", [[14], [2], [31], [14, 16], [14, 15, 16, 20], [5, 14, 22], list(range(2, 32))]
)
def test_equals_the_statistic_of_each_labelling(estimator, sizes):
    problem = posed(*groups(), estimator=estimator)
    null = null_of(problem)
    assert (np.abs(null.values(sizes) - naive(problem, null, sizes)) < near(sizes, 33)).all()


def test_equals_the_statistic_with_a_single_row_in_a_group():
    problem = posed(*groups(), estimator="biased")
    null, sizes = null_of(problem), [1, 14, 32]
    assert (np.abs(null.values(sizes) - naive(problem, null, sizes)) < near(sizes, 33)).all()


@pytest.mark.parametrize("at_once", [1, 40 * 33, 1 << 15])
def test_permutations_are_the_same_kept_or_drawn_again(at_once, monkeypatch):
    monkeypatch.setattr(random_orders, "DRAWN_AT_ONCE", at_once)
    kept = null_of(posed(*groups()), n_permutations=50)
    first = np.array(list(islice(kept.orders, 45)))
    parts = list(kept.orders.parts([7, 40, 3]))
    monkeypatch.setattr(random_orders, "KEPT", 1e9)
    again = null_of(posed(*groups()), n_permutations=50).orders
    assert kept.orders.is_kept
    assert not again.is_kept
    drawn = np.array(list(again))
    np.testing.assert_array_equal(first, drawn[:45])
    for orders in (kept.orders, np.concatenate(parts), np.concatenate(list(again.parts([7, 40, 3])))):
        np.testing.assert_array_equal(list(orders), drawn)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "linear", minus_distance])
def test_blocks_equal_the_matrix(kernel, monkeypatch):
    X, Y = groups(40, 50)
    sizes = [31, 40, 41, 60]
    kept = null_of(posed(X, Y, kernel=kernel))
    monkeypatch.setattr(plan, "SMALL_ROWS", 0)
    blocked = null_of(posed(X, Y, kernel=kernel))
    assert kept._totals.sums.backend == "matrix"
    assert blocked._totals.sums.backend in ("numba", "numpy")
    np.testing.assert_array_equal(list(blocked.orders), list(kept.orders))
    scale = kept._totals.scale
    assert_near(blocked.values(sizes) / scale, kept.values(sizes) / scale, sizes, 90)


@pytest.mark.parametrize("small_rows", [0, 4096])
def test_a_small_budget_takes_more_chunks_and_changes_nothing(small_rows, monkeypatch):
    X, Y = groups(120, 180)
    sizes = [120, 121, 150, 250]
    monkeypatch.setattr(plan, "SMALL_ROWS", small_rows)
    monkeypatch.setattr(permutation, "REACH", 1.0)
    roomy = null_of(posed(X, Y, working_memory=64), n_permutations=150).values(sizes)
    null = null_of(posed(X, Y, working_memory=1), n_permutations=150)
    sums, products = null._totals.sums, []
    apply = sums.apply

    def counted(A, B, W):
        products.append(W.shape[1] if W.ndim == 2 else 0)
        return apply(A, B, W)

    monkeypatch.setattr(sums, "apply", counted)
    monkeypatch.setattr(protocol, "BLOCK_ROWS", 30)  # rows are added in five strips
    assert_near(null.values(sizes), roomy, sizes, 300)
    widths = [width for width in products if width]
    assert len(widths) > 1
    assert sum(widths) == 150
    assert max(widths) * 300 * 8 * permutation.LABELS <= plan.MIB / 2
    assert len(products) - len(widths) == 4 * 150  # what the first strip adds needs no sums to earlier ones


def test_sizes_far_from_each_other_take_a_product_each_and_nothing_is_different(monkeypatch):
    problem = posed(*groups(30, 70))
    sizes = [30, 31, 40, 41, 60, 80]
    monkeypatch.setattr(permutation, "REACH", 1.0)
    one_by_one = null_of(problem, n_permutations=20).values(sizes)
    monkeypatch.setattr(permutation, "REACH", 0.1)
    null = null_of(problem, n_permutations=20)
    sums = null._totals.sums
    applied, blocks, apply, block, quadratic = [], [], sums.apply, sums.block, sums.quadratic
    monkeypatch.setattr(sums, "apply", lambda A, B, W: applied.append(int(W[:, 0].sum())) or apply(A, B, W))
    monkeypatch.setattr(sums, "quadratic", lambda W: applied.append(int(W[:, 0].sum())) or quadratic(W))
    monkeypatch.setattr(sums, "block", lambda A, B: blocks.append(len(A)) or block(A, B))
    assert_near(null.values(sizes), one_by_one, sizes, 100)
    assert applied == [30, 41, 60, 80]  # 31 and 40 are within ten rows of 30
    assert blocks == [10] * 20


def test_every_labelling_is_equally_likely():
    problem = posed([[0.0], [1.0]], [[3.0], [7.0]], estimator="biased", bandwidth=1.0)
    null = null_of(problem, n_permutations=6000)
    assert all(sorted(order) == [0, 1, 2, 3] for order in np.array(list(null.orders)).tolist())
    drawn = [tuple(sorted(order[:2])) for order in np.array(list(null.orders)).tolist()]
    for pair in combinations(range(4), 2):
        assert abs(drawn.count(pair) - 1000) < 5 * np.sqrt(6000 * (1 / 6) * (5 / 6))


def labellings(problem, null, n):
    """The rows that each permutation puts into X, as values rather than places."""
    return [sorted(map(tuple, problem.pooled[order[:n]].tolist())) for order in null.orders]


def test_labels_and_places_have_no_part_in_the_permutations():
    X, Y = groups()
    Z = np.concatenate([X, Y])
    first = posed(X, Y)
    expected = labellings(first, null_of(first), 14)
    rng = np.random.default_rng(5)
    for p in (14, 14, 9, 25):
        shuffled = Z[rng.permutation(len(Z))]
        problem = posed(shuffled[:p], shuffled[p:])
        assert labellings(problem, null_of(problem), 14) == expected
    assert labellings(first, null_of(first, seed=4), 14) != expected


def test_neither_have_they_where_all_that_is_known_are_kernel_values():
    rng = np.random.default_rng(8)
    Z = rng.normal(size=(30, 2))
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    names = {float(row.sum().round(9)): i for i, row in enumerate(K)}

    def named(order):
        """Which rows of Z the permutations put first, for a matrix in another order."""
        problem = posed(*np.split(K[np.ix_(order, order)], [12]), kernel="precomputed")
        rows = [names[float(row.sum().round(9))] for row in problem.pooled]
        return [[rows[i] for i in permuted[:12]] for permuted in null_of(problem).orders]

    expected = named(np.arange(30))
    for _ in range(3):
        assert named(rng.permutation(30)) == expected


def test_rows_with_equal_sums_of_kernel_values_are_told_apart_by_them():
    """A sum over rows in another order has other last bits; sorted values have not."""
    rng = np.random.default_rng(0)
    K = rng.normal(size=(40, 40))
    K = K + K.T
    K -= K.mean(axis=1, keepdims=True) + K.mean(axis=0) - K.mean()  # every row sums to rounding error
    problem = posed(*np.split(K, [20]), kernel="precomputed")
    order = blind_order(problem)
    for _ in range(5):
        shuffle = rng.permutation(40)
        other = posed(*np.split(K[np.ix_(shuffle, shuffle)], [20]), kernel="precomputed")
        np.testing.assert_array_equal(shuffle[blind_order(other)], order)
