"""All of FOREST on the CPU, in one process: S-SD on both sides, with its time and its memory.

    python -m lab.benchmarks.forest_cpu [--data FOLDER] [--floor] [--out FILE]

FOREST is complete: 226,641 + 268,500 rows after a fifth of Lodgepole Pine was hidden at random among
Spruce-Fir, 54 columns, standardised. One run on an idle machine; the memory is the largest that the process
ever had, with the data read and prepared in it. With ``--floor``, a second call refines both sides and proves
how small the squared MMD can be, to 1 % of the width. ``--rows 10000`` tries it all on a part.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import resource
import time
from pathlib import Path

import numpy as np

import mmdbounds as mb
from lab.datasets import load_forest

EPSILON, GAP = 0.2, 0.01


def filed_groups(folder, n_rows):
    """Return FOREST as filed and standardised, and how many rows are hidden."""
    forest = load_forest(folder)
    X, Y = forest.X, forest.Y
    if n_rows is not None:
        rng = np.random.default_rng(1)
        X, Y = (group[rng.choice(len(group), n_rows, replace=False)] for group in (X, Y))
    filed = mb.simulate(X, Y, EPSILON, mechanism="random", bandwidth=1.0, rng=0)
    Z = np.concatenate([filed.X, filed.Y])
    spread = Z.std(axis=0)
    Z -= Z.mean(axis=0)
    Z /= np.where(spread > 0, spread, 1.0)
    return Z[: len(filed.X)], Z[len(filed.X) :], filed.contamination


def timed(call):
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def peak():
    """Return the largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def machine():
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "numba"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{names[0] if names else platform.processor()}, {cores} cores; Python {platform.python_version()}, "
        f"{packages}; mmdbounds {mb.__version__}; {datetime.date.today().isoformat()}"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.environ.get("MMDBOUNDS_DATA"), help="folder with the data")
    parser.add_argument(
        "--floor", action="store_true", help="also prove the lower bound to 1 %% of the width"
    )
    parser.add_argument("--rows", type=int, help="rows of each true group, to try it; by default all")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "forest_cpu.md")
    options = parser.parse_args()
    loading, (X, Y, amount) = timed(lambda: filed_groups(options.data, options.rows))
    how = {"backend": "numpy", "progress": True, "rng": 0}
    seconds, steps = timed(lambda: mb.mmd_bounds(X, Y, amount, method="s-sd", **how))
    made, memory = steps.provenance, peak()
    lines = [
        ("rows, columns", f"{len(X):,} + {len(Y):,}, {X.shape[1]}"),
        ("rows that move on each side", f"{steps.n_moved:,}; {steps.lower.status}"),
        ("reading and preparing the data", f"{loading:.0f} s"),
        ("S-SD, both sides", f"{seconds:.0f} s ({seconds / 60:.1f} min)"),
        ("kernel values", f"{made.n_pairs:,}"),
        ("kernel values a second", f"{made.n_pairs / seconds / 1e6:,.0f} million"),
        ("largest memory of the process", f"{memory:,.0f} MiB"),
        ("squared MMD as filed", f"{steps.observed:.6f}"),
        ("smallest found", f"{steps.lower.value:.6f}"),
        ("largest found", f"{steps.upper.value:.6f}"),
    ]
    if options.floor:
        lines += floor_lines(X, Y, amount, how)
    page = [
        f"# {'All' if options.rows is None else 'A part'} of FOREST on the CPU, epsilon = {EPSILON}",
        "",
        "| what | seen |",
        "|:--|--:|",
        *(f"| {what} | {seen} |" for what, seen in lines),
        "",
        f"{made.backend}, {made.dtype}; {machine()}. Made by `python -m lab.benchmarks.forest_cpu`.",
    ]
    print("\n".join(page))
    if options.rows is None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join([*page, ""]), encoding="utf-8")


def floor_lines(X, Y, amount, how):
    """Refine both sides and prove the lower one; return what was seen."""
    seconds, sharp = timed(lambda: mb.mmd_bounds(X, Y, amount, method=mb.Sharp(n_starts=1, gap=GAP), **how))
    lower, width = sharp.lower, sharp.upper.value - sharp.lower.value
    return [
        ("refined, and the floor proved", f"{seconds:.0f} s ({seconds / 60:.1f} min)"),
        ("kernel values", f"{sharp.provenance.n_pairs:,}"),
        ("smallest found, refined", f"{lower.value:.7f}"),
        ("largest found, refined", f"{sharp.upper.value:.7f}"),
        ("no labelling is below", "nothing proved" if lower.certified is None else f"{lower.certified:.7f}"),
        ("gap, of the width", "" if lower.gap is None else f"{lower.gap / width:.3%}"),
        ("largest memory of the process", f"{peak():,.0f} MiB"),
    ]


if __name__ == "__main__":
    main()
