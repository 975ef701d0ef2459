"""What a worker computes, and how the work is cut: neither a cluster nor Dask is needed to see that."""

import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from mmdbounds.sums import dask as cluster
from mmdbounds.sums import plan
from mmdbounds.sums.dask.rows import FETCHED_SHARE, DaskRows, block_rows, can_be_fetched
from mmdbounds.sums.dask.sums import TILE, tiles
from mmdbounds.sums.dask.tasks import Chosen, Recipe, own_columns, own_values, pair_sums, pair_values, total
from problems import KERNELS
from sums.test_verbs import N, rows_and_kernel, weights

A = Chosen(slice(2, 20), slice(2, 20))
B = Chosen(np.array([40, 1, 56, 19, 33]), np.array([40, 1, 56, 19, 33]))


def recipe(Z, kernel, dtype="float64"):
    return Recipe(kernel, dtype, Z.mean(axis=0) if kernel.shift_invariant else None, 0.0)


@pytest.mark.parametrize("kind", ["group", "random", "many"])
@pytest.mark.parametrize("name", [*KERNELS, "energy"])
def test_a_pair_of_blocks_and_its_mirror_image(name, kind, monkeypatch):
    Z, kernel, K = rows_and_kernel(name)
    monkeypatch.setattr(plan, "BLOCK_ROWS", 7)
    made, W = recipe(Z, kernel), weights(N, kind)
    k = K[A.rows][:, B.rows]
    close = {"rtol": 0, "atol": N * 1e-12 * np.abs(K).max()}
    rows, columns = pair_sums(made, Z, A, W[A.places], Z, B, W[B.places], True)
    np.testing.assert_allclose(rows, k @ W[B.places], **close)
    np.testing.assert_allclose(columns, k.T @ W[A.places], **close)
    rows, columns = pair_sums(made, Z, A, W[:0], Z, B, W[B.places], False)
    np.testing.assert_allclose(rows, k @ W[B.places], **close)
    assert columns is None
    np.testing.assert_allclose(pair_values(made, Z, A, Z, B), k, **close)
    np.testing.assert_allclose(own_values(Z, made), np.diag(K), **close)


@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize("kind", ["group", "random"])
def test_a_square_on_the_diagonal(kind, mirrored, monkeypatch):
    Z, kernel, K = rows_and_kernel("rbf")
    monkeypatch.setattr(plan, "BLOCK_ROWS", 7)
    W = weights(N, kind)
    for chosen in (A, B):
        mine = W[chosen.places]
        rows, columns = pair_sums(recipe(Z, kernel), Z, chosen, mine, None, None, mine, mirrored)
        np.testing.assert_allclose(rows, K[chosen.rows][:, chosen.rows] @ mine, rtol=0, atol=N * 1e-12)
        assert columns is None
    # A row's distance to itself is 0, which a product would miss.
    np.testing.assert_array_equal(np.diag(pair_values(recipe(Z, kernel), Z, A, None, None)), np.ones(18))


@given(st.integers(0, 40), st.integers(0, 40), st.booleans())
def test_every_pair_of_blocks_is_in_one_tile(n_left, n_right, mirrored):
    n_right = n_left if mirrored else n_right
    found = list(tiles(n_left, n_right, mirrored=mirrored))
    pairs = [pair for tile in found for pair in tile]
    wanted = {(i, j) for i in range(n_left) for j in range(n_right) if j >= i or not mirrored}
    assert set(pairs) == wanted
    assert len(pairs) == len(wanted)
    for tile in found:
        assert 0 < len(tile) <= TILE**2
        for side in (0, 1):
            assert max(pair[side] for pair in tile) - min(pair[side] for pair in tile) < TILE


@given(
    st.lists(st.integers(0, 30), min_size=1, unique=True),
    st.lists(st.integers(0, 30), min_size=1, unique=True),
)
def test_own_columns(places, among):
    expected = [among.index(place) if place in among else -1 for place in places]
    np.testing.assert_array_equal(own_columns(np.array(places), np.array(among)), expected)
    start = min(among)
    spots = [place - start if place >= start else -1 for place in places]
    np.testing.assert_array_equal(own_columns(np.array(places), slice(start, 31)), spots)


@given(st.integers(1, 10**9), st.integers(1, 10**5), st.integers(1, 10**5))
def test_a_task_fits_its_budget(n_rows, n_columns, working_memory):
    rows = block_rows(n_rows, n_columns, working_memory)
    assert rows == 1 or 8 * 8 * rows * (n_columns + 2) <= working_memory * plan.MIB
    if 8 * 8 * 16_384 * (n_columns + 2) <= working_memory * plan.MIB and n_rows <= 16_384 * 128:
        assert rows == max(min(-(-n_rows // 16), 16_384), 1024)


def test_blocks_at_the_sizes_of_the_guide():
    assert [block_rows(n, 54, 1024) for n in (5_000, 100_000, 495_141, 10**7)] == [1024, 6250, 16_384, 78_125]
    assert block_rows(10**6, 10_000, 1024) == 1677


def test_halves_are_added_in_order():
    first, second = (np.array([[1e16]]), np.array([[5.0]])), (np.array([[1.0]]), None)
    third = (np.array([[-1e16]]), np.array([[2.0]]))
    assert total([first, second, third], [0, 0, 0])[0, 0] == (1e16 + 1.0) - 1e16
    assert total([first, third], [1, 1])[0, 0] == 7.0


def test_a_missing_cluster_is_said_before_the_work(monkeypatch):
    X = np.arange(8.0).reshape(4, 2)
    monkeypatch.setattr(cluster, "current_client", lambda: None)
    find = importlib.util.find_spec
    with monkeypatch.context() as without:
        without.setattr(importlib.util, "find_spec", lambda name: None if "dask" in name else find(name))
        with pytest.raises(mb.MmdBoundsError, match=r"pip install 'mmdbounds\[dask\]'"):
            mb.mmd2(X, X + 1, backend="dask")
    with pytest.raises(mb.MmdBoundsError, match="one of 'auto', 'numpy', 'torch', 'dask'; got 'dusk'"):
        mb.mmd2(X, X + 1, backend="dusk")


@pytest.mark.parametrize("none", [slice(2, 2), slice(4, 1), [], np.array([], dtype=np.intp)])
def test_no_rows_are_fetched_without_asking_anybody(none):
    rows = DaskRows(None, [None], [0, 5], 3, 100.0)  # no client, and nothing on a worker
    assert rows[none].shape == (0, 3)
    assert rows[none].dtype == np.float64


def test_rows_that_take_just_an_eighth_of_the_budget_are_fetched():
    n_rows, n_columns = 3 * 2**10, 2**7  # 3 MiB
    budget = 3 * FETCHED_SHARE
    assert can_be_fetched(n_rows, n_columns, budget)
    assert not can_be_fetched(n_rows + 1, n_columns, budget)
