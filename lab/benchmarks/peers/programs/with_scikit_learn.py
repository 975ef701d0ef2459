"""scikit-learn: ``pairwise_kernels`` in blocks of a thousand rows, on all cores."""

from __future__ import annotations

from sklearn.metrics import pairwise_kernels
from sklearn.utils import gen_batches
from timed import main, unbiased

ROWS = 1000


def squared_mmd(X, Y, bandwidth, n_moved):
    gamma = 1 / (2 * bandwidth**2)

    def total(A, B):
        blocks = gen_batches(len(A), ROWS)
        return sum(pairwise_kernels(A[i], B, metric="rbf", gamma=gamma, n_jobs=-1).sum() for i in blocks)

    return unbiased(total(X, X), total(Y, Y), total(X, Y), len(X), len(Y))


if __name__ == "__main__":
    main(squared_mmd, "scikit-learn")
