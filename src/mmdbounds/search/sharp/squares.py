r"""Squares that tighten the ceiling (docs/sharp.md, "Squares: what pairs have in common").

For a choice t of rows and any numbers v, :math:`(v \cdot t)^2` is not negative. So a bound for the gain plus
such squares is a bound for the gain. It can be the lower one: the shares T of pairs on which a ceiling counts
need not be those of a choice (or of a mixture of choices), which form a positive semidefinite matrix. Where
:math:`v'Tv < 0`, the square of v lowers the bound.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mmdbounds.search.sharp.quota_problem import QuotaProblem
from mmdbounds.sums.protocol import Float64s

BLOCK, LARGEST_BLOCK, DEPTH = 8, 64, 4  # vectors at a time: one in so many rows, and at most; how many times
EPS = float(np.finfo(np.float64).eps)


def with_squares(problem: QuotaProblem, vectors: Float64s) -> QuotaProblem:
    """Return the problem with the squares of `vectors`, shape (n, r), added to the gain of every choice."""
    squares, rank = vectors @ vectors.T, vectors.shape[1]
    own = squares.diagonal().copy()
    pairs, linear = problem.pairs + squares, problem.linear + own
    np.fill_diagonal(pairs, 0.0)
    # Rounding must not take anything away. An entry is a sum of `rank` products, whose sizes add up to no
    # more than the largest entry of the diagonal; then it is added to what was there.
    n_chosen = sum(quota for _, quota in problem.parts())
    size = max(pairs.max(), -pairs.min()) + np.abs(linear).max() + abs(problem.constant)
    extra = EPS * n_chosen**2 * ((rank + 2) * own.max() + size)
    return replace(problem, constant=float(problem.constant + extra), linear=linear, pairs=pairs)


def most_negative(matrix: Float64s) -> tuple[Float64s, Float64s]:
    """Return approximate eigenvalues of a symmetric matrix below 0, the lowest ones, with their vectors.

    Ritz values of a block Krylov space: what they miss costs time and nothing else.
    """
    basis = np.eye(len(matrix)) if len(matrix) <= BLOCK * DEPTH else _krylov(matrix)
    inner = basis.T @ (matrix @ basis)
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    below = values < 0
    return values[below], basis @ vectors[:, below]


def _krylov(matrix: Float64s) -> Float64s:
    """Return an orthonormal basis of what a few vectors become when the matrix is applied again and again."""
    n = len(matrix)
    block = np.random.default_rng(0).standard_normal((n, min(-(-n // BLOCK), LARGEST_BLOCK)))
    basis = np.empty((n, 0))
    for _ in range(DEPTH):
        for _ in range(2):  # twice is enough
            block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        basis = np.concatenate([basis, block], axis=1)
        block = matrix @ block
    return basis
