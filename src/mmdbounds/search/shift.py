r"""The diagonal that makes a choice concave and leaves the tightest relaxation.

On whole rows t_i^2 = t_i, so any diagonal may be taken from the quadratic and put into the
linear part. The relaxation over fractions is a proof only if diag(D) - pairs is positive
semidefinite on vectors that sum to zero in each group, and it is the tighter the smaller D is where
rows are split: each costs D_i t_i (1 - t_i). So D solves a small semidefinite programme,

.. math::
    \min_D \sum_i \omega_i D_i \quad\text{with}\quad
    \mathrm{diag}(D) - \mathrm{pairs} + \tau \sum_g 1_g 1_g' \succ 0, \qquad \omega_i = t_i (1 - t_i),

here by Newton's steps on its logarithmic barrier. The last term vanishes on the vectors that matter.
"""

from __future__ import annotations

import numpy as np

from mmdbounds.search.choice import Choice
from mmdbounds.sums.protocol import Float64s

EXTRA = 10.0
"""How much of the sums of a group is added, in units of the largest pair."""

FIRST_BARRIER, LAST_BARRIER, CUT = 1e-2, 1e-6, 0.3
NEWTON_STEPS = 3

ROUNDING = 16 * np.finfo(np.float64).eps
"""Error of a computed eigenvalue, in units of the matrix's size and norm."""


def raised(choice: Choice, diagonal: Float64s) -> Float64s:
    """Raise (or lower) `diagonal` by one number on every row until the choice is just concave.

    This is the smallest eigenvalue on vectors that sum to zero, with an allowance for rounding.
    """
    matrix = _matrix(choice, diagonal)
    values = np.linalg.eigvalsh(matrix)
    allowance = ROUNDING * len(matrix) * max(values[-1], -values[0])
    return np.asarray(diagonal - values[0] + allowance)


def tightest(choice: Choice, diagonal: Float64s, weights: Float64s) -> Float64s:
    """Return the diagonal with the smallest weighted sum.

    Parameters
    ----------
    choice
        A few hundred rows at the most: each step inverts a matrix.
    diagonal
        One for which the choice is concave.
    weights
        Positive; how much each entry costs.
    """
    size = np.abs(choice.pairs).max()
    found = diagonal + max(float(np.abs(diagonal).max()), size) * 1e-2
    barrier = FIRST_BARRIER
    try:
        while barrier > LAST_BARRIER:
            for _ in range(NEWTON_STEPS):
                step = _newton(choice, found, weights / weights.max(), barrier * size)
                found = _inside(choice, found, step)
            barrier *= CUT
    except np.linalg.LinAlgError:  # rows that are all alike: what was found so far is as good
        pass
    return raised(choice, found)


def _matrix(choice: Choice, diagonal: Float64s) -> Float64s:
    matrix = np.diag(diagonal) - choice.pairs
    extra = EXTRA * float(np.abs(choice.pairs).max(initial=0.0))
    for part, _ in choice.parts():
        matrix[part, part] += extra
    return matrix


def _newton(choice: Choice, diagonal: Float64s, weights: Float64s, barrier: float) -> Float64s:
    """Return Newton's step for sum(weights * D) - barrier * log det."""
    inverse = np.linalg.inv(_matrix(choice, diagonal))
    hessian = barrier * inverse * inverse
    hessian.flat[:: len(hessian) + 1] *= 1 + 1e-12
    return np.asarray(np.linalg.solve(hessian, barrier * inverse.diagonal() - weights))


def _inside(choice: Choice, diagonal: Float64s, step: Float64s) -> Float64s:
    """Return the next point, on the way shortened so that the matrix stays definite."""
    length = 1.0
    while length > 1e-6:
        try:
            np.linalg.cholesky(_matrix(choice, diagonal + length * step))
        except np.linalg.LinAlgError:
            length /= 2
        else:
            return diagonal + (length if length == 1 else 0.9 * length) * step
    return diagonal
