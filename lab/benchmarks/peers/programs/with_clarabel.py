"""Clarabel, an interior-point solver, on the lower side's relaxation."""

from __future__ import annotations

import clarabel
import numpy as np
from relaxation import quadratic_programme
from scipy import sparse
from timed import main


def smallest_value(X, Y, bandwidth, n_moved):
    H, h, c = quadratic_programme(X, Y, bandwidth, n_moved)
    q = len(Y)
    unit = np.abs(h).max()
    A = sparse.vstack([np.ones((1, q)), sparse.eye(q), -sparse.eye(q)], format="csc")
    b = np.concatenate([[n_moved], np.ones(q), np.zeros(q)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * q)]
    P = sparse.csc_matrix(np.triu(H / unit))
    found = clarabel.DefaultSolver(P, h / unit, A, b, cones, settings).solve()
    if str(found.status) != "Solved":
        msg = f"Clarabel ended with {found.status}"
        raise RuntimeError(msg)
    return float(found.obj_val * unit + c)


if __name__ == "__main__":
    main(smallest_value, "clarabel", "scipy")
