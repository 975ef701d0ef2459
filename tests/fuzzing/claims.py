"""What the package itself claims about its rounding; the one place that asks it."""

from __future__ import annotations

from mmdbounds.counts import Counts
from mmdbounds.objective import Quadratic
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter


class Claims:
    """The rounding that the package claims for the values of one call."""

    def __init__(self, X, Y, options):
        problem = pose(X, Y, Comparison(**options))
        self._totals = problem.one_pass(Meter())
        self._estimator = problem.estimator
        self._p, self._q = problem.p, problem.q

    def margin(self, n_moved=0, n_moved_of_x=0):
        """Return how far the value of a labelling with these counts may be off."""
        n_x, n_y = self._p + n_moved - n_moved_of_x, self._q - n_moved + n_moved_of_x
        return float(Quadratic(self._totals, Counts(n_moved, n_moved_of_x, n_x, n_y), self._estimator).margin)
