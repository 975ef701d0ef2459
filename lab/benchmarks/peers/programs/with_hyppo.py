"""hyppo's MMD: its statistic as it comes, the root of a correlation times a constant."""

from __future__ import annotations

from hyppo.ksample import MMD
from timed import main


def statistic(X, Y, bandwidth, n_moved):
    return float(MMD(compute_kernel="rbf", bias=True, gamma=1 / (2 * bandwidth**2)).statistic(X, Y))


if __name__ == "__main__":
    main(statistic, "hyppo")
