"""Steps, memory and precision at N = 20,000, d = 54: what a whole call costs.

    python -m lab.benchmarks.steps_memory_precision [--data FOLDER] [--out FILE]

With ``--data`` (or ``MMDBOUNDS_DATA``) the rows are 10,000 + 10,000 of FOREST (Lodgepole Pine and Spruce-Fir
of the Covertype data, standardised), else made up. Each measurement runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

EPSILON = 0.2
WORKING_MEMORY = 256
ROUNDS = 12


def rows(folder):
    rng = np.random.default_rng(0)
    if folder is None:
        Z = rng.normal(size=(20_000, 54))
        Z[:10_000] += 0.1
        return "made-up rows", Z[:10_000], Z[10_000:]
    with np.load(Path(folder) / "forest_covertype.npz") as data:
        X, y = data["X"], data["y"]
    pick = np.concatenate([rng.choice(np.flatnonzero(y == kind), 10_000, replace=False) for kind in (2, 1)])
    Z = X[pick].astype(np.float64)
    spread = Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return "FOREST rows", Z[:10_000], Z[10_000:]


def resident():
    """Memory in use now, in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def measure(what, folder):
    """Run one measurement in this process and print it as JSON."""
    import mmdbounds as mb

    name, X, Y = rows(folder)
    if what == "precision":
        values = {dtype: mb.mmd2(X, Y, dtype=dtype) for dtype in ("float64", "float32")}
        print(json.dumps({"rows": name, **values}))
        return
    if what == "memory":
        mb.mmd2(X[:3000], Y[:3000])  # compiled code and libraries are loaded
        before = resident()
        mb.mmd_bounds(
            X,
            Y,
            EPSILON,
            exactly=True,
            method=mb.StepwiseDominance(n_steps=10**6),
            working_memory=WORKING_MEMORY,
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"rows": name, "before": before, "above": peak - before}))
        return
    best = {1: np.inf, 10: np.inf, "m": np.inf}
    for round_ in range(ROUNDS + 1):
        for steps, seconds in best.items():
            started = time.perf_counter()
            mb.mmd_bounds(
                X,
                Y,
                EPSILON,
                exactly=True,
                method=mb.StepwiseDominance(n_steps=10**6 if steps == "m" else steps),
            )
            if round_:  # the first round compiles
                best[steps] = min(seconds, time.perf_counter() - started)
    print(json.dumps({"rows": name, **best}))


def run(what, folder):
    command = [sys.executable, __file__, "--measure", what, *(["--data", folder] if folder else [])]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.environ.get("MMDBOUNDS_DATA"))
    parser.add_argument("--measure", choices=["steps", "memory", "precision"], help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.data)
        return
    steps, memory, precision = (run(what, options.data) for what in ("steps", "memory", "precision"))
    difference = abs(precision["float64"] - precision["float32"])
    lines = [
        f"# A whole call at N = 20,000, d = 54 ({steps['rows']}), epsilon = {EPSILON}, both sides",
        "",
        f"Best of {ROUNDS} rounds, in turn.",
        "",
        "| what | seen |",
        "|:--|--:|",
        f"| S = 1 | {steps['1']:.2f} s |",
        f"| S = 10 | {steps['10']:.2f} s |",
        f"| S = m | {steps['m']:.2f} s |",
        f"| S = m over S = 1 | {steps['m'] / steps['1']:.2f} |",
        f"| memory above that before the call, budget {WORKING_MEMORY} MiB | {memory['above']:.0f} MiB |",
        f"| mmd2 in float64 | {precision['float64']:.9f} |",
        f"| difference in float32 | {difference:.1e} |",
        "",
    ]
    print("\n".join(lines))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
