"""OSQP, a first-order solver, on the lower side's relaxation."""

from __future__ import annotations

import numpy as np
import osqp
from relaxation import quadratic_programme
from scipy import sparse
from timed import main

PRECISION = {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iter": 50_000}


def smallest_value(X, Y, bandwidth, n_moved):
    H, h, c = quadratic_programme(X, Y, bandwidth, n_moved)
    q = len(Y)
    unit = np.abs(h).max()
    A = sparse.vstack([np.ones((1, q)), sparse.eye(q)], format="csc")
    low, high = np.concatenate([[n_moved], np.zeros(q)]), np.concatenate([[n_moved], np.ones(q)])
    solver = osqp.OSQP()
    P = sparse.csc_matrix(np.triu(H / unit))
    solver.setup(P, h / unit, A, low, high, verbose=False, **PRECISION)
    found = solver.solve(raise_error=False)
    if found.info.status != "solved":
        msg = f"OSQP ended with {found.info.status}"
        raise RuntimeError(msg)
    return float(found.info.obj_val * unit + c)


if __name__ == "__main__":
    main(smallest_value, "osqp", "scipy")
