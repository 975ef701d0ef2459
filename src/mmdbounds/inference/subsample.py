"""What a random part of the rows says of all of them: the hypergeometric distribution, turned around."""

from __future__ import annotations

import numpy as np

from mmdbounds.sums.protocol import Float64s

ROUNDING = 1e-6
"""Relative error of a probability that comes from log-gamma functions of up to 1e7 rows; far above it."""


def most_marked(n_rows: int, n_drawn: int, n_seen: int, delta: float) -> int:
    """Return how many of all rows are marked at most, where up to `n_seen` of those drawn are.

    The rows drawn are a random part without replacement. The answer is too low with probability at most
    `delta`, whatever the number of marked rows is: it is the largest number with which `n_seen` or fewer of
    the rows drawn would be marked with more than that probability (Clopper and Pearson's limit).

    Parameters
    ----------
    n_rows, n_drawn
        All rows, and those drawn.
    n_seen
        At most so many of the rows drawn are marked.
    delta
        The chance of an error.
    """
    possible, too_many = n_seen, n_rows - (n_drawn - n_seen) + 1
    while too_many - possible > 1:
        marked = (possible + too_many) // 2
        if _chance_of_at_most(n_seen, n_rows, marked, n_drawn) > (1 - ROUNDING) * delta:
            possible = marked
        else:
            too_many = marked
    return possible


def _chance_of_at_most(n_seen: int, n_rows: int, marked: int, n_drawn: int) -> float:
    """Return P(H <= n_seen) for the number H of marked rows among those drawn."""
    least = max(0, n_drawn - (n_rows - marked))
    k = np.arange(least, min(n_seen, marked) + 1, dtype=np.float64)
    found = _log_choose(marked, k) + _log_choose(n_rows - marked, n_drawn - k)
    return float(np.exp(found - _log_choose(n_rows, np.array(float(n_drawn)))).sum())


def _log_choose(n: int, k: Float64s) -> Float64s:
    from scipy.special import gammaln

    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
