"""What the default call reaches: seconds, gaps and memory from 1,000 rows to all of FOREST.

    python -m benchmarks.reach [--data FOLDER] [--only NAME ...] [--records FILE] [--list]

Each line of the table is a call in a process of its own on an otherwise idle machine, compiled code from the
cache. FOREST has a fifth of Lodgepole Pine hidden at random among Spruce-Fir, epsilon = 0.2, exactly so many
rows unless a line says at most. gap = (proved - attained) / attained width. One JSON line a call goes to FILE
(default: benchmarks/results/reach.jsonl); what was stopped continues, and calls already there are not made
again: remove the file after a change of the method. The table goes to the file of the same name that ends in
.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mmdbounds as mb

RESULTS = Path(__file__).parent / "results" / "reach.jsonl"
EPSILON = 0.2
EVERYONE = 495_141
# Rows, seconds on two cores and the gap above (standardised columns) that the default call is to reach.
GOALS = (
    (1000, 1.5, 0.03),
    (2000, 4, 0.03),
    (5000, 10, 0.06),
    (10_000, 20, 0.08),
    (50_000, 90, 0.08),
    (EVERYONE, 1200, 0.08),
)


def forest(folder, n_rows, scaled):
    """Return FOREST, or some of its rows, as filed."""
    whole = mb.datasets.load_forest(folder)
    X, Y = whole.X, whole.Y
    if n_rows < EVERYONE:
        rng = np.random.default_rng(1)
        of_x = round(n_rows * len(X) / (len(X) + len(Y)))
        X, Y = (Z[rng.choice(len(Z), n, replace=False)] for Z, n in ((X, of_x), (Y, n_rows - of_x)))
    filed = mb.simulate(X, Y, EPSILON, mechanism="random", bandwidth=1.0, rng=0)
    Z = np.concatenate([filed.X, filed.Y]).astype(np.float64)
    if scaled:
        spread = Z.std(axis=0)
        Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return Z[: len(filed.X)], Z[len(filed.X) :]


def gaussian(n_rows):
    """Return two groups of ten columns with a shift of 1 in the first."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_rows, 10)) + np.eye(10)[0], rng.normal(size=(n_rows, 10))


def bounds(X, Y, exactly=True):
    """Return the bounds' gaps, and the values attained."""
    result = mb.mmd_bounds(X, Y, EPSILON, exactly=exactly, rng=0)
    low, high = result.lower, result.upper
    width = high.value - low.value
    return {
        "lower": low.value,
        "upper": high.value,
        "lower_gap": (low.value - low.certified) / width,
        "upper_gap": (high.certified - high.value) / width,
        "backend": result.provenance.backend,
    }


def test(X, Y):
    """Return the p-value of a test with at most a tenth misfiled, and whether it is valid."""
    result = mb.robust_test(X, Y, 0.1, rng=0)
    return {"pvalue": result.pvalue, "is_valid": result.is_valid, "backend": result.provenance.backend}


def sweep(X, Y):
    """Return the breakdown of ten shares, and whether it is valid."""
    result = mb.sweep(X, Y, np.linspace(0.05, 0.5, 10), rng=0)
    return {"breakdown": result.breakdown, "is_valid": result.is_valid}


class Call(NamedTuple):
    """A line of the table: how its groups are made, what is computed, and what is to be reached."""

    groups: Callable
    compute: Callable
    seconds: float | None = None
    gap: float | None = None


def calls(folder):
    """Return the calls by name."""
    known = {}
    for n, seconds, gap in GOALS:
        scaled, raw = (partial(forest, folder, n, each) for each in (True, False))
        known[f"sharp, standardised, N = {n:,}"] = Call(scaled, bounds, seconds, gap)
        known[f"sharp, raw columns, N = {n:,}"] = Call(raw, bounds, seconds, 0.01)
    known["sharp, Gaussian groups, 3,000 + 3,000"] = Call(partial(gaussian, 3000), bounds, gap=0.07)
    for n in (300, 3000, 30_000):
        scaled = partial(forest, folder, n, True)
        for word, exactly in (("exactly", True), ("at most", False)):
            known[f"sharp, {word}, N = {n:,}"] = Call(scaled, partial(bounds, exactly=exactly))
    many, some = (partial(forest, folder, n, True) for n in (100_000, 20_000))
    known["robust_test, at most 10 %, N = 100,000"] = Call(many, test, 900)
    known["sweep, 10 shares, N = 20,000"] = Call(some, sweep, 600)
    return known


def measure(name, folder):
    """Make one call in this process; return its record."""
    mb.mmd_bounds(np.eye(30), np.eye(30)[:25] + 1.0, EPSILON, rng=0)  # what is compiled comes from the cache
    call = calls(folder)[name]
    X, Y = call.groups()
    before, started = peak(), time.perf_counter()
    found = call.compute(X, Y)
    seconds = time.perf_counter() - started
    return {
        "name": name,
        "seconds": round(seconds, 2),
        "mib": round(peak()),
        "before": round(before),
        **found,
    }


def peak():
    """Return the largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(records, folder):
    """Return the records as a table."""
    lines = [
        "| what | seconds | to reach | gap above | to reach | gap below | attained | MiB |",
        "|:--|--:|--:|--:|--:|--:|:--|--:|",
    ]
    for name, call in calls(folder).items():
        if (record := records.get(name)) is None:
            continue
        attained = ""
        if "lower" in record:
            attained = f"{record['lower']:.6f} to {record['upper']:.6f}"
        elif "pvalue" in record:
            attained = f"p = {record['pvalue']:.3f}, {'valid' if record['is_valid'] else 'not valid'}"
        elif "breakdown" in record:
            attained = f"breakdown {record['breakdown']}, {'valid' if record['is_valid'] else 'not valid'}"
        gaps = [f"{record[key]:.2%}" if key in record else "" for key in ("upper_gap", "lower_gap")]
        goal = [f"{call.seconds:g}" if call.seconds else "", f"{call.gap:.0%}" if call.gap else ""]
        cells = f"{record['seconds']:.1f}", goal[0], gaps[0], goal[1], gaps[1], attained, f"{record['mib']:,}"
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.environ.get("MMDBOUNDS_DATA"), help="folder with FOREST")
    parser.add_argument("--only", nargs="+", help="parts of the names of the calls to make")
    parser.add_argument("--records", type=Path, default=RESULTS)
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--call", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.call:
        print(json.dumps(measure(given.call, given.data)))
        return
    names = [name for name in calls(given.data) if any(part in name for part in given.only or [""])]
    if given.list:
        print("\n".join(names))
        return
    records = {}
    if given.records.exists():
        for line in given.records.read_text().splitlines():
            records[json.loads(line)["name"]] = json.loads(line)
    for name in names:
        if name in records:
            continue
        command = [sys.executable, "-m", "benchmarks.reach", "--call", name]
        command += ["--data", given.data] if given.data else []
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        records[name] = json.loads(done.stdout.splitlines()[-1])
        with given.records.open("a") as file:
            file.write(json.dumps(records[name]) + "\n")
        print(json.dumps(records[name]), flush=True)
    head = __doc__.split("\n\n")
    text = f"# Reach\n\n{head[2]}\n\n{table(records, given.data)}\n\nMade by `python -m benchmarks.reach`.\n"
    given.records.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
