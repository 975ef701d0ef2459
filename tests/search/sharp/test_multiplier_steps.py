"""The steps of the multipliers against their definition as loops; compiled and in NumPy they are the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmdbounds.search.sharp import multiplier_steps as steps
from tolerances import UNIT

seeds = st.integers(0, 2**32 - 1)
THRESHOLDS = {"compiled": steps._compiled_thresholds, "NumPy": steps._numpy_thresholds}
MOVES = {"compiled": steps._compiled_move, "NumPy": steps._numpy_move}


def drawn(seed, *, most=90):
    """Values without a diagonal, groups with their edges, and how many partners each row has in each."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, most))
    edges = np.array([0, n]) if seed % 2 else np.array([0, int(rng.integers(3, n - 2)), n])
    values = rng.choice([rng.normal(size=(n, n)), rng.integers(0, 3, size=(n, n)).astype(float)])  # ties too
    np.fill_diagonal(values, -np.inf)
    group = np.searchsorted(edges, np.arange(n), side="right") - 1
    quotas = rng.integers(1, np.diff(edges) + 1)  # all rows of a group, too
    return values, edges, quotas - (np.arange(len(quotas)) == group[:, None]), group, rng


def share(value, threshold, width):
    return min(max((value - threshold) / width + 0.5, 0.0), 1.0)


@pytest.mark.parametrize("how", THRESHOLDS)
@given(seeds, st.sampled_from([1e-3, 0.1, 3.0]))
def test_shares_add_up_to_the_count_and_sums_are_no_less_than_the_largest(how, seed, width):
    values, edges, counts, _, rng = drawn(seed)
    n, k = counts.shape
    thresholds, sums = rng.normal(size=(n, k)), np.empty(n)
    THRESHOLDS[how](values, edges, counts, width, thresholds, sums)
    for i in range(n):
        largest = 0.0
        for g in range(k):
            row, count = values[i, edges[g] : edges[g + 1]], counts[i, g]
            total = sum(share(x, thresholds[i, g], width) for x in row)
            assert abs(total - count) <= steps.NEARLY + 4 * n * UNIT * (
                1 + np.abs(row[np.isfinite(row)]).max() / width
            )
            largest += sum(sorted(row)[len(row) - count :])
        size = n * (np.abs(values[i][np.isfinite(values[i])]).max() + width)
        assert largest - 4 * n * UNIT * size <= sums[i] <= largest + n * width


@given(seeds)
def test_narrow_shares_give_the_sum_of_the_largest(seed):
    values, edges, counts, _, _ = drawn(seed)
    n, width = len(values), 1e-9
    sums = {how: np.empty(n) for how in THRESHOLDS}
    for how, find in THRESHOLDS.items():
        find(values, edges, counts, width, np.zeros(counts.shape), sums[how])
    for i in range(n):
        rows = [values[i, edges[g] : edges[g + 1]] for g in range(counts.shape[1])]
        largest = sum(
            sum(sorted(row)[len(row) - count :]) for row, count in zip(rows, counts[i], strict=True)
        )
        for how in THRESHOLDS:
            np.testing.assert_allclose(sums[how][i], largest, rtol=0, atol=n * width)


@given(seeds)
def test_a_step_is_what_the_rows_ask_of_each_other(seed):
    values, edges, counts, group, rng = drawn(seed, most=steps.TILE + 40)
    n, width, memory = len(values), 0.3, 0.9
    thresholds = rng.normal(size=counts.shape)
    thresholds[counts == 0] = steps.NOBODY
    weights = np.where(rng.random(n) < 0.5, rng.random(n), 0.0)
    trail = np.triu(rng.normal(size=(n, n)), 1)
    trail -= trail.T
    expected, last = values.copy(), trail.copy()
    for i in range(n):
        for j in range(n):
            if i != j:
                asks = weights[i] * share(values[i, j], thresholds[i, group[j]], width)
                asked = weights[j] * share(values[j, i], thresholds[j, group[i]], width)
                last[i, j] = memory * trail[i, j] - (asks - asked)
                expected[i, j] += memory * last[i, j] - (asks - asked)
    above = np.triu_indices(n, 1)
    for move in MOVES.values():
        moved, kept = values.copy(), trail.copy()
        for part in range(steps.SHARES):
            move(moved, kept, weights, thresholds, steps.tiles_of(edges), width, memory, part)
        tolerance = 64 * UNIT * (1 + np.abs(trail).max() + np.abs(expected[above]).max()) / width
        np.testing.assert_allclose(kept[above], last[above], rtol=0, atol=tolerance)
        np.testing.assert_allclose(moved, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("edges", [[0, 5], [0, 64, 130], [0, 1, 200]])
def test_tiles_cover_every_row_once_and_stay_within_a_group(edges):
    tiles = steps.tiles_of(np.array(edges))
    rows = np.concatenate([np.arange(start, stop) for start, stop, _ in tiles])
    np.testing.assert_array_equal(rows, np.arange(edges[-1]))
    for start, stop, k in tiles:
        assert edges[k] <= start < stop <= min(edges[k + 1], start + steps.TILE)
