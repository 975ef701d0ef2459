"""The lower side's relaxation as a quadratic programme, from the definition; for both solvers.

V-statistic, one-way: shares t of the rows of Y move, 0 <= t <= 1, m rows in all, and
s = (a + b) u - b with u = [1, t], a = 1 / (p + m), b = 1 / (q - m) has the value s'Ks.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist


def quadratic_programme(X, Y, bandwidth, n_moved):
    """Return H, h and c of t'Ht / 2 + h't + c; with the time of the kernel matrix, as ours has it."""
    p, q = len(X), len(Y)
    Z = np.concatenate([X, Y])
    K = np.exp(cdist(Z, Z, "sqeuclidean") / (-2 * bandwidth**2))
    a, b = 1 / (p + n_moved), 1 / (q - n_moved)
    from_x, from_all = K[:p].sum(axis=0), K.sum(axis=0)
    H = 2 * (a + b) ** 2 * K[p:, p:]
    h = 2 * (a + b) * ((a + b) * from_x - b * from_all)[p:]
    c = (a + b) ** 2 * from_x[:p].sum() - 2 * b * (a + b) * from_all[:p].sum() + b**2 * K.sum()
    return H, h, float(c)
