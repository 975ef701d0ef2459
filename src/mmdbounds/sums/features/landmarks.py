"""Landmarks for `Nystrom`: randomly pivoted Cholesky factorisation.

Each landmark is drawn with a chance in proportion to what the ones before leave of k(z, z), so that rows
unlike all others are found as well as dense regions. The method is that of Chen, Epperly, Tropp and Webber
(2023); candidates are drawn many at a time and accepted so that the chances are the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import Kernel
from mmdbounds.sums.features.kernels import ApproximateKernel, Nystrom
from mmdbounds.sums.features.maps import cross_values, own_values
from mmdbounds.sums.points import takes_differences
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.threads import one_blas_thread

Approximate = TypeVar("Approximate", bound=ApproximateKernel)
Places = NDArray[np.intp]

BATCH = 64
"""Candidates drawn at a time."""

NOTHING_LEFT = 1e-12
"""A share of k(z, z) that is rounding: no row with less is taken."""


def chosen_landmarks(kernel: Nystrom, exact: Kernel, pool: Float64s, rng: np.random.Generator) -> Nystrom:
    """Return the same with landmarks chosen from the rows `pool`, in whose order nothing may show."""
    fixed = fixed_features(kernel, exact, pool)
    centre = np.zeros(pool.shape[1]) if fixed.centre is None else fixed.centre
    landmarks = pivoted_rows(pool - centre, exact, kernel.n_landmarks, rng) + centre
    return replace(fixed, landmarks=landmarks)


def fixed_features(
    kernel: Approximate, exact: Kernel, rows: Float64s, n_columns: int | None = None
) -> Approximate:
    """Return the same with the kernel it stands for, and centred in the middle of some rows."""
    if n_columns is not None and rows.shape[1] != n_columns:
        msg = f"`landmarks` must have the {n_columns} columns of the rows; got {rows.shape[1]}."
        raise MmdBoundsError(msg)
    # The median stays with most rows, wherever a few far out may be.
    # Differences to landmarks are taken of rows as they are.
    keeps = isinstance(kernel, Nystrom) and takes_differences(exact)
    centre = np.median(rows, axis=0) if exact.shift_invariant and not keeps else np.zeros(rows.shape[1])
    return replace(kernel, kernel=exact, bandwidth="median", centre=centre)


def pivoted_rows(pool: Float64s, kernel: Kernel, count: int, rng: np.random.Generator) -> Float64s:
    """Return up to `count` different rows of `pool` (centred where the kernel allows) as landmarks."""
    left = own_values(pool, kernel)  # what the landmarks leave of k(z, z)
    floor = NOTHING_LEFT * float(left.max())
    factors = np.empty((len(pool), min(count, len(pool))))
    chosen: list[int] = []
    with one_blas_thread():
        while len(chosen) < factors.shape[1] and float(left.max()) > floor:
            drawn = rng.choice(len(pool), size=BATCH, p=left / left.sum())
            residual = _residual(pool, kernel, drawn, factors[:, : len(chosen)])
            # Afresh: what is left after many subtractions may be rounding, and would be drawn for ever.
            left[drawn] = _above(residual.diagonal(), floor)
            taken = drawn[_accepted(residual, left[drawn], floor, rng)][: factors.shape[1] - len(chosen)]
            _extend(pool, kernel, taken, factors, len(chosen))
            new = factors[:, len(chosen) : len(chosen) + len(taken)]
            left = _above(left - np.einsum("ij,ij->i", new, new), floor)
            chosen += taken.tolist()
            left[chosen] = 0.0
    return pool[chosen]


def _above(values: Float64s, floor: float) -> Float64s:
    """Return the values, 0 for those that are not above the floor."""
    return np.where(values > floor, values, 0.0)


def _residual(pool: Float64s, kernel: Kernel, rows: Places, factors: Float64s) -> Float64s:
    """Return what the landmarks so far leave of the kernel values between some rows."""
    some = pool[rows]
    return np.asarray(cross_values(some, some, kernel) - factors[rows] @ factors[rows].T)


def _accepted(residual: Float64s, left: Float64s, floor: float, rng: np.random.Generator) -> list[int]:
    """Return the candidates that would also have been drawn one at a time.

    The first is. Each of the others is with the share that those accepted before it leave of what it had.
    """
    accepted = []
    for i, chance in enumerate(rng.random(len(left))):
        here = residual[i, i]
        if here > floor and chance * left[i] < here:
            accepted.append(i)
            column = residual[:, i] / np.sqrt(here)
            residual = residual - np.outer(column, column)
    return accepted


def _extend(pool: Float64s, kernel: Kernel, taken: Places, factors: Float64s, start: int) -> None:
    """Write the columns of the Cholesky factor that belong to new landmarks."""
    before = factors[:, :start]
    columns = cross_values(pool, pool[taken], kernel) - before @ before[taken].T
    for i, row in enumerate(taken):
        own = columns[row, i]
        columns[:, i] = columns[:, i] / np.sqrt(own) if own > 0 else 0.0
        columns[:, i + 1 :] -= np.outer(columns[:, i], columns[taken[i + 1 :], i])
    factors[:, start : start + len(taken)] = columns
