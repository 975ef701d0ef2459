"""How far apart two computations of the same number may be: from error bounds, not from what a machine gave.

With u = 2^-53 and to first order, in whatever order and with or without fused operations:

- a sum of n numbers is off by at most n u times the sum of their sizes;
- the squared distance of two rows, from a product of centred rows with d columns, is off by at most
  (d + 8) u (|a|^2 + |b|^2), and a kernel value of size 1 by no more than half of that in squared bandwidths
  times the formula's slope in half the squared distance: 1 for the Gaussian, at most 3 (Matern 3/2);
- a squared MMD is two means of kernel values and twice a third, so its weights have the sum of sizes 4;
  it is added up row by row, then over the rows: 2 N numbers deep. Where it is put together from sums
  over all rows, that of a small group is lifted by the squared ratio of half the rows to the group.

Everything here bounds the difference of two such computations, hence the factors of 2.
"""

from __future__ import annotations

UNIT = 2.0**-53

SPREAD = 30.0
"""Largest squared distance from the centre, in squared bandwidths, of the normal rows that tests draw."""


SLOPE = 3.0
"""Steepest formula of a distance."""


def of_a_sum(n: int, total: float = 1.0) -> float:
    """Two sums of the same `n` numbers, whose sizes have the sum `total`, in any two orders."""
    return 2 * n * UNIT * total


def of_values(columns: int = 5, spread: float = SPREAD) -> float:
    """Two computations of a kernel value of size 1."""
    return 2 * SLOPE * (columns + 8) * UNIT * (1 + spread)


def of_a_mean(n: int, size: float = 1.0, *, columns: int = 5, spread: float = SPREAD) -> float:
    """Two computations of a mean of `n` kernel values of at most `size`."""
    return size * (of_values(columns, spread) + of_a_sum(n))


def of_mmd2(
    n_rows: int,
    size: float = 1.0,
    *,
    smallest: int | None = None,
    columns: int = 5,
    spread: float = SPREAD,
) -> float:
    """Two computations of a squared MMD of `n_rows` rows in all, `smallest` of them in the smaller group."""
    lift = 1.0 if smallest is None else max(1.0, n_rows / (2 * smallest)) ** 2
    return 4 * lift * of_a_mean(2 * n_rows, size, columns=columns, spread=spread)
