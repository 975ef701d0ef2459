"""What the default call reaches: seconds, gaps and memory from 1,000 rows to all of FOREST.

    python -m lab.benchmarks.reach [--data FOLDER] [--only NAME ...] [--records FILE] [--list]

Each line of the table is a call in a process of its own on an otherwise idle machine, compiled code from the
cache. FOREST has a fifth of Lodgepole Pine hidden at random among Spruce-Fir, standardised unless a line says
raw; Gaussian groups have ten columns. epsilon = 0.2, exactly so many rows unless a line says at most.
gap = (proved - attained) / attained width. Ratio: seconds of at most / exactly, for the same rows, to be at
most 2.

One JSON line a call goes to FILE (default: results/reach.jsonl); what was stopped continues, and
calls already there are not made again: remove the file after a change of the method. After each call the
table is written to the file of the same name that ends in .md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mmdbounds as mb
from lab.benchmarks.forest_cpu import machine, peak
from lab.datasets import load_forest

RESULTS = Path(__file__).parent / "results" / "reach.jsonl"
EPSILON = 0.2
EVERYONE = 495_141
# Rows, seconds on two cores and the gap above (standardised columns) that the default call is to reach...
GOALS = (
    (1000, 1.5, 0.03),
    (2000, 4, 0.03),
    (5000, 10, 0.06),
    (10_000, 20, 0.08),
    (50_000, 90, 0.08),
    (EVERYONE, 1200, 0.08),
)
RAW_GAP, GAP_BELOW = 0.01, 0.002  # ... the gap above on raw columns, and the gap below
BOTH_WAYS, MOST_BOTH_WAYS, SECONDS_BOTH_WAYS = 0.1, 0.3, 180  # shares two-way, and what is to be reached
MOST_RATIO = 2.0  # seconds of at most, by those of exactly
MISSED = "*"


def forest(folder, n_rows, scaled):
    """Return FOREST, or some of its rows, as filed."""
    whole = load_forest(folder)
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


def bounds(X, Y, amount=EPSILON, exactly=True):
    """Return the bounds' gaps, `None` where nothing is proved, and the values attained."""
    result = mb.mmd_bounds(X, Y, amount, exactly=exactly, rng=0)
    low, high = result.lower, result.upper
    width = high.value - low.value
    return {
        "lower": low.value,
        "upper": high.value,
        "lower_gap": None if low.gap is None else low.gap / width,
        "upper_gap": None if high.gap is None else high.gap / width,
        "backend": result.provenance.backend,
    }


def robust_test(X, Y, amount=0.1):
    """Return the p-value of a test with at most a tenth misfiled, and whether it is valid."""
    result = mb.robust_test(X, Y, amount, rng=0)
    return {"pvalue": result.pvalue, "is_valid": result.is_valid, "backend": result.provenance.backend}


def sweep(X, Y):
    """Return the breakdown of ten shares, and whether it is valid."""
    result = mb.sweep(X, Y, epsilons=np.linspace(0.05, 0.5, 10), rng=0)
    return {"breakdown": result.breakdown_epsilon, "is_valid": result.is_valid}


def frontier(X, Y):
    """Return the shares of both groups up to which the difference is significant."""
    result = mb.sweep(X, Y, y_in_x=MOST_BOTH_WAYS, rng=0)
    return {"frontier": [[p.epsilon, p.y_in_x] for p in result.points], "is_valid": result.is_valid}


class Call(NamedTuple):
    """A line of the table: how its groups are made, what is computed, and what is to be reached."""

    groups: Callable
    compute: Callable
    seconds: float | None = None
    gap: float | None = None
    gap_below: float | None = None


def calls(folder):
    """Return the calls by name."""
    known = {}
    for n, seconds, gap in GOALS:
        scaled, raw = (partial(forest, folder, n, each) for each in (True, False))
        known[f"sharp, standardised, N = {n:,}"] = Call(scaled, bounds, seconds, gap, GAP_BELOW)
        known[f"sharp, raw columns, N = {n:,}"] = Call(raw, bounds, seconds, RAW_GAP)
    known["sharp, Gaussian groups, 3,000 + 3,000"] = Call(partial(gaussian, 3000), bounds, gap=0.07)
    for n in (300, 3000, 5000, 30_000):
        scaled = partial(forest, folder, n, True)
        for word, exactly in (("exactly", True), ("at most", False)):
            known[f"sharp, {word}, N = {n:,}"] = Call(scaled, partial(bounds, exactly=exactly))
    many, some = (partial(forest, folder, n, True) for n in (100_000, 20_000))
    known["robust_test, at most 10 %, N = 100,000"] = Call(many, robust_test, 900)
    known["sweep, 10 shares, N = 20,000"] = Call(some, sweep, 600)
    return known | both_ways(folder)


def both_ways(folder):
    """Return the calls for rows misfiled both ways, at most a tenth of each group, by name."""
    amount, known = mb.Contamination(BOTH_WAYS, y_in_x=BOTH_WAYS), {}
    made = {"FOREST": partial(forest, folder, 2000, True), "Gaussian": partial(gaussian, 1000)}
    for name, groups in made.items():
        for what, compute in (
            ("sharp", partial(bounds, amount=amount, exactly=None)),
            ("robust_test", partial(robust_test, amount=amount)),
            ("frontier", frontier),
        ):
            known[f"{what}, two-way, at most, {name}, N = 2,000"] = Call(groups, compute, SECONDS_BOTH_WAYS)
    return known


def measure(name, folder):
    """Make one call in this process; return its record."""
    mb.mmd_bounds(*gaussian(30), EPSILON, rng=0)  # what is compiled comes from the cache
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
        "machine": machine(),
    }


def table(records, folder):
    """Return the records as a table, and what its marks mean."""
    heads = "what", "seconds", "to reach", "ratio", "gap above", "to reach", "gap below", "to reach"
    lines = [f"| {' | '.join(heads)} | attained | MiB |", f"|:--|{'--:|' * (len(heads) - 1)}:--|--:|"]
    for name, call in calls(folder).items():
        if (record := records.get(name)) is None:
            continue
        cells = [
            *beside(record["seconds"], call.seconds, "{:.1f}", "{:g}"),
            ratio(records, name),
            *beside(record.get("upper_gap"), call.gap, "{:.2%}", "{:.1%}"),
            *beside(record.get("lower_gap"), call.gap_below, "{:.3%}", "{:.1%}"),
            attained(record),
            f"{record['mib']:,}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    is_missed = any(f"{MISSED} |" in line for line in lines)
    said = f"Marked `{MISSED}`: misses what is to be reached." if is_missed else "Every goal is reached."
    return "\n".join([*lines, "", said])


def beside(value, goal, form, goal_form):
    """Return a value, marked where it misses its goal, and the goal."""
    missed = MISSED if value is not None and goal is not None and value > goal else ""
    shown = "" if value is None else form.format(value) + missed
    return shown, "" if goal is None else goal_form.format(goal)


def ratio(records, name):
    """Return the seconds of at most by those of exactly, where both are known, marked where too many."""
    exact = records.get(name.replace("at most", "exactly"))
    if "at most" not in name or exact is None:
        return ""
    return beside(records[name]["seconds"] / exact["seconds"], MOST_RATIO, "{:.2f}", "")[0]


def attained(record):
    """Return what a call found."""
    valid = "valid" if record.get("is_valid") else "not valid"
    if "lower" in record:
        return f"{record['lower']:.6f} to {record['upper']:.6f}"
    if "pvalue" in record:
        return f"p = {record['pvalue']:.3f}, {valid}"
    if "frontier" in record:
        shares = [f"{x:.3g} and {'none' if y is None else f'{y:.3g}'}" for x, y in record["frontier"]]
        return f"{len(shares)} points from {shares[0]} to {shares[-1]}, {valid}"
    where = "above all" if record["breakdown"] is None else f"{record['breakdown']:.4g}"
    return f"breakdown {where}, {valid}"


def page(records, folder):
    """Return the page: what was done, the table, and the machines."""
    machines = dict.fromkeys(record.get("machine") or machine() for record in records.values())
    head = __doc__.split("\n\n")[2]
    made = f"{'; '.join(machines)}. Made by `python -m lab.benchmarks.reach`."
    return f"# Reach\n\n{head}\n\n{table(records, folder)}\n\n{made}\n"


def read_records(path):
    """Return the records of a file by name."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {record["name"]: record for record in map(json.loads, lines)}


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
    records, written = read_records(given.records), given.records.with_suffix(".md")
    for name in names:
        if name in records:
            continue
        command = [sys.executable, "-m", "lab.benchmarks.reach", "--call", name]
        command += ["--data", given.data] if given.data else []
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        records[name] = json.loads(done.stdout.splitlines()[-1])
        with given.records.open("a", encoding="utf-8") as file:
            file.write(json.dumps(records[name]) + "\n")
        written.write_text(page(records, given.data), encoding="utf-8")
        print(json.dumps(records[name]), flush=True)
    written.write_text(page(records, given.data), encoding="utf-8")


if __name__ == "__main__":
    main()
