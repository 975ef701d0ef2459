"""Our bounds by S-SD: both sides, attained."""

from __future__ import annotations

from timed import main

import mmdbounds as mb


def both_sides(X, Y, bandwidth, n_moved):
    result = mb.mmd_bounds(
        X,
        Y,
        mb.Contamination(n_moved=n_moved, exactly=True),
        method="s-sd",
        bandwidth=bandwidth,
        backend="numpy",
        progress=False,
    )
    return {"lower": result.lower.value, "upper": result.upper.value}


if __name__ == "__main__":
    main(both_sides, "mmdbounds")
