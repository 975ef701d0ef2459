"""All of FOREST on a GPU: pair rate, accuracy, whole S-SD calls, and the same rows as without a GPU.

    python benchmarks/gpu.py --data FOLDER [--out FILE]

FOREST is complete: 226,641 + 268,500 rows after a fifth of Lodgepole Pine was hidden at random among
Spruce-Fir, 54 columns, raw or standardised. Times are the best of three after a warm-up, with the rows on
the device.
"""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import mmdbounds as mb
from mmdbounds.objective import group_sums
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.search.protocol import Task
from mmdbounds.sums import make_sums

EPSILON, ROUNDS, SMALLER = 0.2, 3, 6000
GAP, STARTS = 1e-5, 6
PROVED = (
    f"`mmd_bounds(..., method=Sharp(gap={GAP:g}, n_starts={STARTS}))` in float64, from arrays in the "
    "computer's memory to the result; the proof's last gradient is a fresh pass in float64:"
)
BUDGET = 8192


def standardised(X, Y):
    Z = np.concatenate([X, Y])
    spread = Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return Z[: len(X)], Z[len(X) :]


def best_of(call):
    """Return the shortest time of a call, and what it returned last."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - started)
    return min(times), result


def whole_forest(X, Y):
    """Return a line of the first table: one pass, S-SD, and how far float32 is from float64."""
    filed = mb.simulate(X, Y, EPSILON, mechanism="random", rng=0)
    sums, totals, found, seconds = {}, {}, {}, {}
    for dtype in ("float32", "float64"):
        problem = pose(
            filed.X,
            filed.Y,
            Comparison(
                kernel="rbf",
                bandwidth="median",
                estimator="unbiased",
                backend="torch",
                dtype=dtype,
                working_memory=BUDGET,
            ),
        )
        sums[dtype] = make_sums(
            problem.pooled, problem.kernel, backend="torch", dtype=dtype, working_memory=BUDGET, meter=Meter()
        )
        counts = filed.contamination.admissible(problem.p, problem.q)

        def one_pass(chosen=sums[dtype], p=problem.p, q=problem.q):
            return group_sums(chosen, p, q)

        one_pass()
        seconds[dtype, "pass"], totals[dtype] = best_of(one_pass)
        task = Task(totals[dtype], counts, "unbiased", 0, Meter(), problem)
        mb.StepwiseDominance().both_sides(task)
        seconds[dtype, "steps"], found[dtype] = best_of(
            lambda task=task: mb.StepwiseDominance().both_sides(task)
        )
    errors = [
        np.max(np.abs(getattr(totals["float32"], part) / getattr(totals["float64"], part) - 1))
        for part in ("to_x", "to_y")
    ]
    off = [abs(a.value - b.value) for a, b in zip(found["float32"], found["float64"], strict=True)]
    differ = [
        len(np.setxor1d(a.rows, b.rows)) for a, b in zip(found["float32"], found["float64"], strict=True)
    ]
    n = sums["float32"].n_rows
    cells = [f"{n:,}"]
    for dtype in ("float32", "float64"):
        cells += [
            f"{seconds[dtype, 'pass']:.3f}",
            f"{n * n / seconds[dtype, 'pass'] / 1e9:,.0f}",
            f"{seconds[dtype, 'pass'] + seconds[dtype, 'steps']:.3f}",
        ]
    return [
        *cells,
        f"{max(errors):.1e}",
        f"{max(off):.1e}",
        f"{differ[0]} and {differ[1]} of {len(found['float64'][0].rows):,}",
    ]


def proved_forest(X, Y):
    """Return a line of the second table: sharp bounds from the call to the result, float64 throughout."""
    filed = mb.simulate(X, Y, EPSILON, mechanism="random", rng=0)
    seconds, result = best_of(
        lambda: mb.mmd_bounds(
            filed.X,
            filed.Y,
            filed.contamination,
            method=mb.Sharp(gap=GAP, n_starts=STARTS),
            backend="torch",
            working_memory=BUDGET,
            rng=0,
            progress=False,
        )
    )
    stepwise = mb.mmd_bounds(
        filed.X, filed.Y, filed.contamination, method="s-sd", backend="torch", working_memory=BUDGET
    )
    lower, upper = result.lower, result.upper
    width = upper.value - lower.value
    return [
        f"{stepwise.lower.value:.6f} to {stepwise.upper.value:.6f}",
        f"{lower.value:.8f} to {upper.value:.6f}",
        f"{lower.certified:.8f}",
        f"{(lower.value - lower.certified) / width:.1e}",
        f"{seconds:.1f}",
    ]


def beside_the_cpu(name, X, Y):
    """Return lines of the second table: the same call with both backends."""
    lines = []
    for dtype in ("float64", "float32"):
        one, other = (
            mb.mmd_bounds(
                X, Y, 0.1, exactly=True, method="s-sd", backend=backend, dtype=dtype, working_memory=100
            )
            for backend in ("numpy", "torch")
        )
        sides = [(getattr(one, side), getattr(other, side)) for side in ("lower", "upper")]
        off = max(abs(a.value - b.value) for a, b in sides)
        differ = sum(len(np.setxor1d(a.rows, b.rows)) for a, b in sides)
        where = f"{one.provenance.backend}, {other.provenance.backend} on {other.provenance.device}"
        lines.append([f"{name}, {len(X):,} + {len(Y):,}", dtype, where, str(differ), f"{off:.1e}"])
    return lines


def table(heads, lines):
    return "\n".join(
        f"| {' | '.join(cells)} |" for cells in [heads, [":--", *["--:"] * (len(heads) - 1)], *lines]
    )


def machine():
    import torch
    import triton

    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return (
        f"{torch.cuda.get_device_name()}, driver {driver}; PyTorch {torch.__version__}, "
        f"Triton {triton.__version__}, NumPy {np.__version__}; mmdbounds {mb.__version__}; "
        f"{datetime.date.today().isoformat()}"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.environ.get("MMDBOUNDS_DATA"), help="folder with the data")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu.md")
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        sys.exit("error: no GPU that PyTorch can use.")
    forest = mb.datasets.load_forest(options.data)
    raw = forest.X.astype(np.float64), forest.Y.astype(np.float64)
    even = standardised(*raw)
    first = [[name, *whole_forest(*groups)] for name, groups in (("raw", raw), ("standardised", even))]
    proved = [[name, *proved_forest(*groups)] for name, groups in (("raw", raw), ("standardised", even))]
    rng = np.random.default_rng(1)
    few = [group[rng.choice(len(group), SMALLER, replace=False)] for group in even]
    compas = mb.datasets.load_standin("compas", options.data)
    second = beside_the_cpu("FOREST standardised", *few)
    second += beside_the_cpu("COMPAS logits (ties)", compas.X.astype(np.float64), compas.Y.astype(np.float64))
    heads = ["FOREST", "rows"]
    for dtype in ("float32", "float64"):
        heads += [f"{dtype}: pass, s", "G pairs/s", "S-SD both sides, s"]
    heads += ["float32 row sums: largest relative error", "mmd2 off by", "rows that differ (lower, upper)"]
    page = "\n\n".join(
        [
            "# FOREST on a GPU",
            table(heads, first),
            PROVED,
            table(["FOREST", "S-SD", "sharp, attained", "proved floor", "floor's gap / width", "s"], proved),
            "The same call on the CPU and on the GPU:",
            table(["data", "dtype", "backends", "rows that differ", "mmd2 off by at most"], second),
            f"{machine()}. Made by `python benchmarks/gpu.py`.",
        ]
    )
    print(page)
    options.out.write_text(page + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
