"""What every program of this folder does around its one function: read rows, warm up, time, report.

Runs in the environment of each peer, so it needs NumPy and nothing of mmdbounds.
"""

from __future__ import annotations

import importlib.metadata
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

WARM_UP_ROWS = 60
"""Rows of each group in a first call, which imports and compiles."""

SHORT, REPEATS = 10.0, 3
"""A call that takes less than so many seconds is made so many times, and the best counts."""


def main(compute, *packages):
    """Time ``compute(X, Y, bandwidth, n_moved)`` as a request in JSON (the first argument) asks for it."""
    request = json.loads(sys.argv[1])
    X = np.load(request["X"], mmap_mode="r")[: request["p"]].copy()
    Y = np.load(request["Y"], mmap_mode="r")[: request["q"]].copy()
    bandwidth, n_moved = request["bandwidth"], request["n_moved"]
    compute(X[:WARM_UP_ROWS], Y[:WARM_UP_ROWS], bandwidth, WARM_UP_ROWS // 4)
    before = peak_mib()
    Path(request["begun"]).touch()
    seconds = []
    while not seconds or (len(seconds) < REPEATS and seconds[-1] < SHORT):
        started = time.perf_counter()
        value = compute(X, Y, bandwidth, n_moved)
        seconds.append(time.perf_counter() - started)
    result = {
        "value": value,
        "seconds": min(seconds),
        "peak_mib": peak_mib(),
        "before_mib": before,
        "versions": {name: importlib.metadata.version(name) for name in (*packages, "numpy")},
    }
    Path(request["result"]).write_text(json.dumps(result, allow_nan=False), encoding="utf-8")


def peak_mib():
    """Return the most memory this process has held, in MiB; getrusage would count the parent's, too."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def unbiased(sum_xx, sum_yy, sum_xy, p, q):
    """Return the squared MMD, a U-statistic, from sums of all kernel values; k(z, z) is 1."""
    return float((sum_xx - p) / (p * (p - 1)) + (sum_yy - q) / (q * (q - 1)) - 2 * sum_xy / (p * q))
