"""Our floor alone: the lower side's relaxation, which the solvers also solve, through sums and proved."""

from __future__ import annotations

from timed import main

import mmdbounds as mb
from mmdbounds.objective import Quadratic
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.search.sharp.quota_problem import Effort
from mmdbounds.search.sharp.through_sums import SharedRows
from mmdbounds.search.stepwise import StepwiseDominance

TOLERANCE = 1e-8
"""Gap at which the shares are good enough; the solvers end at about the same."""

ENOUGH = 1e18
"""No limit but the tolerance."""


def smallest_value(X, Y, bandwidth, n_moved):
    problem = pose(
        X,
        Y,
        Comparison(
            kernel="rbf",
            bandwidth=bandwidth,
            estimator="biased",
            backend="numpy",
            dtype="float64",
            working_memory=1024,
        ),
    )
    (counts,) = mb.Contamination(n_moved=n_moved, exactly=True).admissible(problem.p, problem.q)
    quadratic = Quadratic(problem.one_pass(Meter()), counts, "biased")
    shared = SharedRows(StepwiseDominance().from_quadratic(quadratic, "lower"))
    shared.improve(TOLERANCE, Effort(ENOUGH))
    return shared.floor(quadratic)


if __name__ == "__main__":
    main(smallest_value, "mmdbounds")
