"""The true sizes of the groups that wrong labels allow, and HSIC with random labels of these sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from mmdbounds.inference.permutation import chunk_width
from mmdbounds.objective import Indices, Mask
from mmdbounds.search.protocol import spread_evenly
from mmdbounds.several.dependence import Dependence
from mmdbounds.several.labels import Moves
from mmdbounds.sums import plan
from mmdbounds.sums.protocol import Float64s

MOST_SIZES = 10_000  # true sizes that are run through at the most
MOST_SUMMED = 1e10  # entries of a matrix, over all random labellings, up to which all sizes are taken at once
MOST_ROWS = 4096  # ... which needs the matrix in memory
MOST_PRODUCTS, FEWEST_SIZES = 4e11, 4  # products for sizes one by one, and how many are considered anyway
Sizes = NDArray[np.intp]  # shape (S, G): one row for each possibility


def reachable_sizes(sizes: Indices, allowed: Mask, moves: Moves) -> tuple[Sizes, bool]:
    """Return the true sizes that so many wrong labels allow, and whether these are all of them."""
    steps = np.array([_unit(to, sizes) - _unit(of, sizes) for of, to in np.argwhere(allowed)])
    level, every = sizes[None], sizes[None]
    for _ in range(moves.n_moved):
        grown = np.unique((level[:, None] + steps).reshape(-1, len(sizes)), axis=0)
        level = grown[(grown >= 0).all(axis=1)]
        every = level if moves.exactly else np.unique(np.concatenate([every, level]), axis=0)
        if len(every) > MOST_SIZES:
            break
    else:
        return every, True
    # Every allowed move is taken as often as it can be, alone and beside none: the ends of what is possible.
    most = [min(moves.n_moved, int(sizes[of])) for of, _ in np.argwhere(allowed)]
    grid = [sizes + k * step for step, m in zip(steps, most, strict=True) for k in (m // 2, m)]
    return np.unique([sizes, *grid], axis=0), False


def _unit(group: int, sizes: Indices) -> Indices:
    return np.asarray(np.arange(len(sizes)) == group, dtype=np.intp)


def considered(every: Sizes, filed: Indices, n_rows: int, n_permutations: int) -> Sizes:
    """Return the sizes that are affordable: all, or an even grid of them with those as recorded."""
    if at_once(n_rows, n_permutations):
        return every
    work = float(n_rows) ** 2 * len(filed) * n_permutations
    some = spread_evenly(list(every), max(FEWEST_SIZES, int(MOST_PRODUCTS / work)))
    return np.unique([filed, *some], axis=0) if len(some) < len(every) else every


def at_once(n_rows: int, n_permutations: int) -> bool:
    """Return whether a matrix is summed up once for each labelling, which serves all sizes."""
    return n_rows <= MOST_ROWS and float(n_rows) ** 2 * n_permutations <= MOST_SUMMED


def random_values(
    of: Dependence, sizes: Sizes, order: Indices, n_permutations: int, seed: int
) -> Iterator[Float64s]:
    """Yield HSIC with random labels, each time one value for each of the sizes.

    A permutation of the rows is cut into groups of these sizes, so one permutation serves them all.
    """
    edges = np.concatenate([np.zeros((len(sizes), 1), dtype=np.intp), np.cumsum(sizes, axis=1)], axis=1)
    every = _permutations(order, n_permutations, seed)
    if at_once(of.n_rows, n_permutations):
        everyone = np.arange(of.n_rows)
        matrix = of.values(everyone, everyone)
        within = (_by_sums(matrix, permutation, edges) for permutation in every)
    else:
        width = chunk_width(of.sums.working_memory, of.n_rows * sizes.size)
        chunks = iter(lambda: list(islice(every, width)), [])
        within = (each for some in chunks for each in _by_products(of, some, edges))
    whole = of.constant - of.w * float(of.diagonal.sum())
    for each in within:
        yield np.asarray(whole + of.w * each)


def _permutations(order: Indices, n_permutations: int, seed: int) -> Iterator[Indices]:
    """Yield the rows in random orders, those of the test of two groups."""
    rng = np.random.default_rng(seed)
    for start, stop in plan.strips([0, n_permutations], 16):
        some = np.tile(order, (stop - start, 1))
        yield from rng.permuted(some, axis=1, out=some)


def _by_sums(matrix: Float64s, permutation: Indices, edges: Sizes) -> Float64s:
    """Return the sums of M within the groups, from sums between rows that no sizes part."""
    cuts = np.unique(edges)
    pieces = np.add.reduceat(matrix[permutation], cuts[:-1], axis=0)[:, permutation]
    blocks = np.zeros((len(cuts), len(cuts)))
    np.cumsum(np.cumsum(np.add.reduceat(pieces, cuts[:-1], axis=1), axis=0), axis=1, out=blocks[1:, 1:])
    places = np.searchsorted(cuts, edges)
    first, last = places[:, :-1], places[:, 1:]
    return np.asarray((blocks[last, last] - 2 * blocks[first, last] + blocks[first, first]).sum(axis=1))


def _by_products(of: Dependence, permutations: list[Indices], edges: Sizes) -> Float64s:
    """Return the same from a product of the kernel matrix with labels, one row for each permutation."""
    n, n_groups = of.n_rows, edges.shape[1] - 1
    labels = np.empty((n, len(permutations), len(edges)), dtype=np.intp)
    for k, cuts in enumerate(edges):
        cut = np.repeat(np.arange(n_groups), np.diff(cuts))
        for b, permutation in enumerate(permutations):
            labels[permutation, b, k] = cut
    u = np.eye(n_groups)[labels].reshape(n, -1)
    within = of.sums.quadratic(u) - 2 * (of.a @ u) * u.sum(axis=0)
    return np.asarray(within.reshape(*labels.shape[1:], n_groups).sum(axis=2))
