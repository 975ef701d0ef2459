"""Our sharp bounds, the default of `mmd_bounds`: both sides, refined and proved."""

from __future__ import annotations

from timed import main

import mmdbounds as mb


def both_sides(X, Y, bandwidth, n_moved):
    result = mb.mmd_bounds(
        X,
        Y,
        mb.Contamination(n_moved=n_moved, exactly=True),
        bandwidth=bandwidth,
        backend="numpy",
        rng=0,
        progress=False,
    )
    low, high = result.interval
    return {"lower": low, "upper": high, "is_certified": result.is_certified}


if __name__ == "__main__":
    main(both_sides, "mmdbounds")
