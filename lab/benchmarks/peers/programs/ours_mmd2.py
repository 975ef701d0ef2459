"""Our squared MMD as filed."""

from __future__ import annotations

from timed import main

import mmdbounds as mb


def squared_mmd(X, Y, bandwidth, n_moved):
    return mb.mmd2(X, Y, bandwidth=bandwidth, backend="numpy", progress=False)


if __name__ == "__main__":
    main(squared_mmd, "mmdbounds")
