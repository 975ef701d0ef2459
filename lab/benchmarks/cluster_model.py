"""What a pass over the pairs costs on a cluster: measured on one of this machine, extrapolated to others.

    python -m lab.benchmarks.cluster_model [--rounds 3] [--quick] [--out FILE]

Starts a LocalCluster with one worker process a core, bound to 127.0.0.1, and times passes at several numbers
of rows and several block sizes. Each gives seconds, kernel values and tasks; non-negative least squares on
relative errors fit

    seconds = a + b * values / cores + c * tasks

a: what a pass costs however small, b: one core's work, c: what client and scheduler need for a task, one
after the other. The second table puts in other numbers of rows and cores: an extrapolation, for cores like
these and a network that is no bottleneck.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import time
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

import mmdbounds as mb
from mmdbounds.objective import group_sums
from mmdbounds.sums import make_sums, plan
from mmdbounds.sums.dask import send
from mmdbounds.sums.dask.rows import DaskRows, block_rows
from mmdbounds.sums.dask.sums import TILE

N_COLUMNS, EPSILON = 54, 0.2

# Rows and rows of a block; the last ones of each N are what the package would choose.
CASES = [(12_000, 3_000), (12_000, 1_024), (25_000, 5_000), (25_000, 1_563), (50_000, 3_125)]

TARGETS = [10**6, 10**7]
CORES = [16, 64, 256]


def rows_on(client, n_rows, height):
    """Send made-up rows in blocks of a given height."""
    Z = np.random.default_rng(0).normal(size=(n_rows, N_COLUMNS))
    spans = plan.strips([0, n_rows], height)
    blocks = [send(client, Z[i:j]) for i, j in spans]
    rows = DaskRows(client, blocks, [0, *(j for _, j in spans)], N_COLUMNS, 1024)
    rows.each(len)  # they have arrived
    return rows


def n_tasks(n_blocks):
    """Return the tasks of one pass: the rows, the pairs of each tile and their sums."""
    tiles = -(-n_blocks // TILE)
    return n_blocks + n_blocks * (n_blocks + 1) // 2 + n_blocks * tiles


def n_values(n_rows, *, bounds=False):
    """Return the kernel values of a pass, or of S-SD on both sides: those of the rows that move as well."""
    of_y = n_rows / 2
    moved = EPSILON / (1 - EPSILON) * of_y
    return n_rows * (n_rows + 1) / 2 + (2 * moved * of_y if bounds else 0)


def measured(client, cases, rounds):
    """Return for each case rows, block rows, values, tasks and the seconds of the best round."""
    found = []
    kernel = mb.kernels.RBF(float(np.sqrt(2 * N_COLUMNS)))  # about the median distance
    for n_rows, height in cases:
        rows = rows_on(client, n_rows, height)
        sums = make_sums(rows, kernel)
        seconds = min(
            timed(lambda sums=sums, n=n_rows: group_sums(sums, n // 2, n - n // 2)) for _ in range(rounds + 1)
        )
        found.append((n_rows, height, n_values(n_rows), n_tasks(len(rows.blocks)), seconds))
        print(f"{n_rows:,} rows in blocks of {height:,}: {seconds:.2f} s", flush=True)
    return found


def timed(call):
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def fitted(found, cores):
    """Return a, b and c, and the largest relative error of the fit."""
    values, tasks, seconds = (np.array([case[k] for case in found], dtype=float) for k in (2, 3, 4))
    columns = np.stack([np.ones(len(found)), values / cores, tasks], axis=1)
    scale = columns.max(axis=0)
    weights, _ = nnls(columns / scale / seconds[:, None], np.ones(len(found)))
    model = weights / scale
    return model, float(np.abs(columns @ model / seconds - 1).max())


def predicted(model, n_rows, cores, *, bounds=False):
    n_blocks = -(-n_rows // block_rows(n_rows, N_COLUMNS, 1024))
    a, b, c = model
    values = n_values(n_rows, bounds=bounds)
    return a + b * values / cores + c * values / n_values(n_rows) * n_tasks(n_blocks)


def in_words(seconds):
    for unit, length in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.3g} {unit}"
    return f"{seconds:.0f} s"


def tables(cases, model, error, cores):
    lines = ["## Measured", ""]
    lines += [f"{cores} worker processes, one thread each; best of several rounds; {N_COLUMNS} columns.", ""]
    lines += ["| rows | rows of a block | tasks | seconds | model |", "|--:|--:|--:|--:|--:|"]
    a, b, c = model
    for n_rows, height, values, tasks, seconds in cases:
        shown = f"{a + b * values / cores + c * tasks:.2f}"
        lines.append(f"| {n_rows:,} | {height:,} | {tasks:,} | {seconds:.2f} | {shown} |")
    per_second = f"{1 / b / 1e6:,.0f} million values per second and core" if b else "no measurable work"
    lines += ["", "seconds = a + b * values / cores + c * tasks, where"]
    lines += [f"a = {a:.2g} s, 1/b = {per_second}, c = {1e3 * c:.2g} ms; off by at most {error:.0%} above."]
    lines += ["", "## Extrapolated, not measured", ""]
    lines += [f"S-SD: both sides, epsilon = {EPSILON}, groups of equal size.", ""]
    head = " | ".join(f"{n} cores" for n in CORES)
    lines += [f"| what | rows | memory for the rows | {head} |", "|:--|--:|--:|" + "--:|" * len(CORES)]
    for n_rows in TARGETS:
        for bounds, name in ((False, "one pass"), (True, "S-SD")):
            times = [in_words(predicted(model, n_rows, n, bounds=bounds)) for n in CORES]
            memory = f"{8 * n_rows * N_COLUMNS / 2**30:,.1f} GiB"
            lines.append(f"| {name} | {n_rows:,} | {memory} | {' | '.join(times)} |")
    return lines


def head(cores):
    packages = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "numba", "distributed")
    )
    load, today = os.getloadavg()[0], datetime.datetime.now(tz=datetime.UTC)
    lines = ["# What a pass costs on a cluster", ""]
    lines += [f"mmdbounds {mb.__version__}, {today:%Y-%m-%d}. {platform.machine()}, {cores} cores;"]
    lines += [f"Python {platform.python_version()}, {packages}."]
    lines += ["Made by `python -m lab.benchmarks.cluster_model`.", ""]
    if load > cores / 2:
        lines += [f"**The machine was busy (load {load:.1f}); on an idle one the figures are smaller.**", ""]
    return lines


def main():
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only the smaller cases")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    text = head(cores)
    shape = {"n_workers": cores, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(host="127.0.0.1", **shape) as cluster, Client(cluster) as client:
        cases = measured(client, CASES[:4] if options.quick else CASES, options.rounds)
    text += tables(cases, *fitted(cases, cores), cores)
    print("\n".join(text))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join([*text, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
