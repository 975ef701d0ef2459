"""What calls are expected to take, beside what they take: twelve calls from 1,000 to 100,000 rows.

    python -m lab.benchmarks.estimates [--data FOLDER] [--rows N] [--only WORDS] [--out FILE]

The estimate is that of ``--dry-run``: made before the call, with a pass that is timed. It is to be right
within a factor of four. A call runs after one on a few rows, which compiles; what both need, such as the
bandwidth, is part of both. Rows are of FOREST (Lodgepole Pine and Spruce-Fir), of which a fifth of the first
is filed under the second, or Gaussian.
``--rows`` leaves out larger calls. Leave the machine alone meanwhile. ``--out`` writes the page.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import mmdbounds as mb
from lab.benchmarks.forest_cpu import machine
from lab.datasets import load_forest
from mmdbounds import costs
from mmdbounds.inference.breakdown import count_points
from mmdbounds.problem import Comparison, Problem, pose
from mmdbounds.progress import duration
from mmdbounds.search import as_method

EPSILON, AT_MOST, N_PERMUTATIONS = 0.2, 0.1, 999
FACTOR = 4.0  # an estimate is good within this


@dataclass(frozen=True)
class Call:
    """One of the twelve."""

    what: str  # "bounds", "test" or "sweep"
    n_rows: int
    rows: str  # "standardised" or "raw" of FOREST, or the number of columns of Gaussian rows
    method: str = "sharp"
    how: dict[str, Any] = field(default_factory=dict)
    exactly: bool = True  # or at most, the default of all functions; a test always takes it so

    def work(self, problem: Problem) -> costs.Work | None:
        """Return what the command line shows."""
        if self.what == "sweep":
            return costs.of_sweep(problem.n_pairs, N_PERMUTATIONS, count_points(problem, None))
        if self.what == "test":
            return costs.of_test(problem.n_pairs, N_PERMUTATIONS)
        return costs.of_bounds(problem.n_pairs, as_method(self.method))

    def run(self, X, Y):
        """Make the call."""
        if self.what == "sweep":
            return mb.sweep(X, Y, exactly=self.exactly, n_permutations=N_PERMUTATIONS, rng=0, **self.how)
        if self.what == "test":
            return mb.robust_test(X, Y, AT_MOST, n_permutations=N_PERMUTATIONS, rng=0, **self.how)
        return mb.mmd_bounds(X, Y, EPSILON, exactly=self.exactly, method=self.method, rng=0, **self.how)

    @property
    def words(self) -> str:
        """Return it for the table."""
        options = ", ".join(f"{name} {value}" for name, value in self.how.items())
        amount = "" if self.exactly or self.what == "test" else "at most"
        rows = self.rows if self.rows in ("standardised", "raw") else f"Gaussian, {self.rows} columns"
        method = self.method if self.what == "bounds" else ""
        return ", ".join(filter(None, [self.what, method, amount, rows, options]))


CALLS = [
    Call("bounds", 1000, "standardised"),
    Call("bounds", 2000, "raw"),
    Call("bounds", 5000, "standardised"),
    Call("bounds", 10_000, "10"),
    Call("bounds", 20_000, "standardised", exactly=False),
    Call("bounds", 50_000, "10", exactly=False),
    Call("bounds", 100_000, "standardised", "sd"),
    Call("bounds", 5000, "20", "s-sd", {"kernel": "laplacian"}),
    Call("test", 1000, "standardised"),
    Call("test", 20_000, "10"),
    Call("sweep", 1000, "raw", exactly=False),
    Call("sweep", 2000, "4", how={"kernel": "matern52"}),
]


def groups(call: Call, folder: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the groups as filed."""
    rng, half = np.random.default_rng(1), call.n_rows // 2
    if call.rows not in ("standardised", "raw"):
        X, Y = rng.normal(size=(half, int(call.rows))), rng.normal(0.3, 1.0, size=(half, int(call.rows)))
    else:
        forest = load_forest(folder)
        X, Y = (np.asarray(g, float)[rng.choice(len(g), half, replace=False)] for g in (forest.X, forest.Y))
    moved = half // 5
    X, Y = X[moved:], np.concatenate([Y, X[:moved]])
    if call.rows == "standardised":
        Z = np.concatenate([X, Y])
        spread = Z.std(axis=0)
        X, Y = ((g - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0) for g in (X, Y))
    return X, Y


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def compared(call: Call, X: np.ndarray, Y: np.ndarray) -> tuple[float, float, float]:
    """Return the estimate in seconds, the seconds that it took, and those of the call."""
    preparing, problem = timed(lambda: pose(X, Y, Comparison(**call.how)))
    asking, expected = timed(lambda: preparing + costs.seconds(problem, call.work(problem)))
    seconds, _ = timed(lambda: call.run(X, Y))
    return expected, asking, seconds


def shown(seconds: float) -> str:
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:,.0f}"


def line(call: Call, expected: float, asking: float, seconds: float) -> str:
    """Return a line of the table."""
    ratio = expected / seconds
    mark = "" if 1 / FACTOR <= ratio <= FACTOR else " **!**"
    return (
        f"| {call.words} | {call.n_rows:,} | {shown(expected)} | {shown(seconds)} | {ratio:.2f}{mark} "
        f"| {asking:.1f} |"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.environ.get("MMDBOUNDS_DATA"), help="folder with the data")
    parser.add_argument("--rows", type=int, default=10**9, help="leave out calls with more rows")
    parser.add_argument("--only", default="", help="calls whose description has these words")
    parser.add_argument("--out", type=Path, help="write the page to this file")
    options = parser.parse_args()
    warm = np.random.default_rng(0).normal(size=(5000, 3))
    for method in ("sharp", "s-sd"):
        mb.mmd_bounds(warm[:60], warm[60:200], 0.2, exactly=True, method=method, rng=0)
    mb.mmd_bounds(warm[:2000], warm[2000:], 0.01, exactly=True, method="s-sd", rng=0)
    mb.robust_test(warm[:2000], warm[2000:], 0.001, n_permutations=9, rng=0)
    heads = ["call", "rows", "estimate, s", "took, s", "ratio", "asking, s"]
    page = [
        "# What calls are expected to take",
        "",
        f"| {' | '.join(heads)} |",
        "|---|" + "--:|" * 5,
    ]
    print("\n".join(page), flush=True)
    began = time.perf_counter()
    for call in CALLS:
        if call.n_rows <= options.rows and options.only in call.words:
            page.append(line(call, *compared(call, *groups(call, options.data))))
            print(page[-1], flush=True)
    text = (
        f"Exactly {EPSILON:.0%} misfiled, or at most that where a call says so; tests at most {AT_MOST:.0%}, "
        f"{N_PERMUTATIONS} permutations. Ratio: "
        f"estimate to seconds taken; **!** beyond a factor of {FACTOR:g}. "
        f"All in {duration(time.perf_counter() - began)}. {machine()}. "
        "Made by `python -m lab.benchmarks.estimates`."
    )
    print("\n" + text)
    if options.out is not None:
        options.out.write_text("\n".join([*page, "", text]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
