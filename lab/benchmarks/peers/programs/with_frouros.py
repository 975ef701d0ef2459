"""frouros' MMD, in chunks of a thousand rows."""

from __future__ import annotations

from functools import partial

from frouros.detectors.data_drift import MMD
from frouros.utils.kernels import rbf_kernel
from timed import main

ROWS = 1000


def squared_mmd(X, Y, bandwidth, n_moved):
    detector = MMD(kernel=partial(rbf_kernel, sigma=bandwidth), chunk_size=ROWS)
    detector.fit(X=X)
    return float(detector.compare(X=Y)[0].distance)


if __name__ == "__main__":
    main(squared_mmd, "frouros")
