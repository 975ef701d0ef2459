"""All of FOREST on a GPU: pair rate, accuracy, whole calls, and the same rows as without a GPU.

    python -m lab.benchmarks.gpu --data FOLDER [--out FILE]

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
from lab.datasets import load_forest, load_standin
from mmdbounds.objective import group_sums
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.search.protocol import Task
from mmdbounds.sums import make_sums

EPSILON, ROUNDS, SMALLER = 0.2, 3, 6000
SEEDS = (0, 1)
PROVED = (
    "The default call, `mmd_bounds(X, Y, 0.2, exactly=True, rng=seed)`, from arrays in the computer's memory "
    "to the result; the first one also compiles. Gaps are shares of the width:"
)
BUDGET, BESIDE = 8192, 100
TESTED, AT_MOST = 100_000, 0.1  # rows of the test, and the share that may be misfiled


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


def proved_forest(name, X, Y):
    """Return lines of the second table: the default call."""
    filed = mb.simulate(X, Y, EPSILON, mechanism="random", rng=0)
    lines = []
    for seed in SEEDS:
        started = time.perf_counter()
        result = mb.mmd_bounds(filed.X, filed.Y, filed.contamination, rng=seed, progress=False)
        seconds = time.perf_counter() - started
        lower, upper = result.lower, result.upper
        gaps = lower.value - lower.certified, upper.certified - upper.value
        attained = f"{lower.value:.6f} to {upper.value:.6f}"
        shown = [f"{result.provenance.bandwidth:.5g}", str(seed), attained]
        lines.append([name, *shown, *(f"{gap / result.width:.3%}" for gap in gaps), f"{seconds:.1f}"])
    return lines


def tested_forest(X, Y):
    """Return the line of the third table: the test with 999 permutations, at most a tenth misfiled."""
    filed, rng = mb.simulate(X, Y, EPSILON, mechanism="random", rng=0), np.random.default_rng(1)
    share = TESTED / (len(filed.X) + len(filed.Y))
    some = [Z[rng.choice(len(Z), round(share * len(Z)), replace=False)] for Z in (filed.X, filed.Y)]
    started = time.perf_counter()
    result = mb.robust_test(*some, AT_MOST, rng=0, progress=False)
    seconds = time.perf_counter() - started
    words = "valid" if result.is_valid else "not valid", "tight" if result.is_tight else "not tight"
    return [f"{len(some[0]) + len(some[1]):,}", f"{result.pvalue:.3f}", *words, f"{seconds:.1f}"]


def beside_the_cpu(name, X, Y, **how):
    """Return a line of the last table: the same call with both backends."""
    one, other = (
        mb.mmd_bounds(X, Y, 0.1, exactly=True, backend=backend, working_memory=BESIDE, rng=0, **how)
        for backend in ("numpy", "torch")
    )
    sides = [(getattr(one, side), getattr(other, side)) for side in ("lower", "upper")]
    off = max(abs(a.value - b.value) for a, b in sides)
    proofs = [abs(a.certified - b.certified) for a, b in sides if a.certified is not None]
    differ = sum(len(np.setxor1d(a.rows, b.rows)) for a, b in sides)
    where = f"{one.provenance.backend}, {other.provenance.backend} on {other.provenance.device}"
    words = f"{one.provenance.method}, {one.provenance.dtype}"
    found = [str(differ), f"{off:.1e}", f"{max(proofs):.1e}" if proofs else ""]
    return [f"{name}, {len(X):,} + {len(Y):,}", words, where, *found]


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
    forest = load_forest(options.data)
    raw = forest.X.astype(np.float64), forest.Y.astype(np.float64)
    even = standardised(*raw)
    first = [[name, *whole_forest(*groups)] for name, groups in (("raw", raw), ("standardised", even))]
    proved = [*proved_forest("raw", *raw), *proved_forest("standardised", *even)]
    tested = tested_forest(*even)
    rng = np.random.default_rng(1)
    few = [group[rng.choice(len(group), SMALLER, replace=False)] for group in even]
    compas = load_standin("compas", options.data)
    logits = compas.X.astype(np.float64), compas.Y.astype(np.float64)
    second = [
        beside_the_cpu(name, *groups, method=method, dtype=dtype)
        for name, groups in (("FOREST standardised", few), ("COMPAS logits (ties)", logits))
        for method, dtype in (("s-sd", "float64"), ("s-sd", "float32"), ("sharp", "float64"))
    ]
    heads = ["FOREST", "rows"]
    for dtype in ("float32", "float64"):
        heads += [f"{dtype}: pass, s", "G pairs/s", "S-SD both sides, s"]
    heads += ["float32 row sums: largest relative error", "mmd2 off by", "rows that differ (lower, upper)"]
    page = "\n\n".join(
        [
            "# FOREST on a GPU",
            table(heads, first),
            PROVED,
            table(["FOREST", "bandwidth", "seed", "attained", "gap below", "gap above", "s"], proved),
            f"`robust_test(X, Y, {AT_MOST:g}, rng=0)`, 999 permutations, standardised:",
            table(["rows", "p-value", "", "", "s"], [tested]),
            "The same call on the CPU and on the GPU:",
            table(["data", "call", "backends", "rows that differ", "values off by", "proofs off by"], second),
            f"{machine()}. Made by `python -m lab.benchmarks.gpu`.",
        ]
    )
    print(page)
    options.out.write_text(page + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
