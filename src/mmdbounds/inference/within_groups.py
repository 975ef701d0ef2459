r"""How much the rows of the true groups can vary, whichever rows are misfiled: from the sums of one pass.

With S_X the sum of k over pairs of distinct rows of X, and k at most kappa and never negative, the variance
of the mean embeddings of true groups of n_X and n_Y rows is estimated by at most

.. math::
    \kappa \Big(\frac{1}{n_X} + \frac{1}{n_Y}\Big) - w_X S_X - w_Y S_Y, \qquad
    w = \frac{1}{n^2 (n - 1)} .

Rows B that move from Y to X add 2 sum_B k(b, X) + S_B to S_X, and take 2 sum_B k(b, Y - b) - S_B from S_Y.
So the least of what is subtracted is at least a sum of the smallest scores. Rows that move both ways share
pairs, each at most kappa.
"""

from __future__ import annotations

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.objective import GroupSums


def largest_variance(totals: GroupSums, same_size: list[Counts], kappa: float) -> float:
    """Return a number that the variance of the true samples, V_X / n_X + V_Y / n_Y, does not exceed.

    All counts leave true groups of the same sizes.
    """
    t, p, n_x, n_y = totals, totals.p, same_size[0].n_x, same_size[0].n_y
    w_x, w_y = (1 / (n**2 * (n - 1)) for n in (n_x, n_y))
    to_x, to_y = t.to_x.copy(), t.to_y.copy()
    to_x[:p] -= t.diagonal[:p]
    to_y[p:] -= t.diagonal[p:]
    scores = 2 * (w_x * to_x - w_y * to_y)  # of rows that enter X; rows that leave it have the opposite
    entering, leaving = (np.append(0.0, np.cumsum(np.sort(each))) for each in (scores[p:], -scores[:p]))
    m, m_d = (np.array(each) for each in zip(*((c.n_moved, c.n_moved_of_x) for c in same_size), strict=True))
    moved = float((entering[m] + leaving[m_d] - 2 * (w_x + w_y) * kappa * m * m_d).min())
    within = float(w_x * to_x[:p].sum() + w_y * to_y[p:].sum()) + moved
    # Nothing that is subtracted is negative in truth. A mean of kernel values is off by the margin.
    largest = kappa * (1 / n_x + 1 / n_y)
    lost = t.value_margin * (p + t.q) ** 2 * (w_x + w_y)
    return min(max(largest - within + lost, 0.0), largest)
