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

BLOCK, DEPTH = 64, 4  # vectors at a time, and how often the matrix is applied to them
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
    each = (rank + 2) * float(own.max()) + float(np.abs(pairs).max()) + float(np.abs(linear).max())
    return replace(problem, constant=problem.constant + EPS * n_chosen**2 * each, linear=linear, pairs=pairs)


def most_negative(matrix: Float64s) -> tuple[Float64s, Float64s]:
    """Return approximate eigenvalues of a symmetric matrix below 0, the lowest ones, with their vectors.

    Ritz values of a block Krylov space: what they miss costs time and nothing else.
    """
    n = len(matrix)
    block = np.random.default_rng(0).standard_normal((n, min(BLOCK, -(-n // DEPTH))))
    basis = np.empty((n, 0))
    for _ in range(DEPTH):
        for _ in range(2):  # twice is enough
            block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        basis = np.concatenate([basis, block], axis=1)[:, :n]
        block = matrix @ block
    inner = basis.T @ (matrix @ basis)
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    below = values < 0
    return values[below], basis @ vectors[:, below]
