"""The test at N = 20,000, d = 54 with 999 permutations, beside one product with 999 columns.

    python -m lab.benchmarks.permutations [--out FILE]

Rows are made up. An exact count needs the null at the true sizes and, for the test as filed, at the sizes
as filed.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import resource
import time
from pathlib import Path

import numpy as np

import mmdbounds as mb
from mmdbounds.kernels import RBF
from mmdbounds.sums import make_sums

P, Q, D, N_PERMUTATIONS, BUDGET = 9000, 11_000, 54, 999, 1024
EPSILONS = (0.05, 0.17, 0.3)


def timed(call):
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "permutations.md")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(P, D)), rng.normal(0.05, 1.0, size=(Q, D))
    shared = {"n_permutations": N_PERMUTATIONS, "exactly": True, "working_memory": BUDGET, "rng": 0}
    mb.robust_test(X[:2500], Y[:2500], 0.05, **(shared | {"n_permutations": 9}))  # compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = []
    for epsilon in EPSILONS:
        seconds, result = timed(lambda epsilon=epsilon: mb.robust_test(X, Y, epsilon, **shared))
        lines.append((epsilon, result.n_moved, seconds))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    sums = make_sums(np.concatenate([X, Y]), RBF(10.0), working_memory=BUDGET)
    everyone, columns = slice(0, P + Q), (rng.random((P + Q, N_PERMUTATIONS)) < 0.5).astype(float)
    product = min(timed(lambda: sums.apply(everyone, everyone, columns))[0] for _ in range(2))
    page = ["# Permutations at N = 20,000", "", "| epsilon | rows misfiled | seconds | times one product |"]
    page += ["|--:|--:|--:|--:|"]
    page += [f"| {e:g} | {m:,} | {s:.1f} | {s / product:.2f} |" for e, m, s in lines]
    about = (
        f"One product with {N_PERMUTATIONS} columns: {product:.1f} s. Peak memory {memory:.0f} MiB above the "
        f"start, budget {BUDGET} MiB. {platform.machine()}; NumPy {np.__version__}; "
        f"{datetime.date.today().isoformat()}. Made by `python -m lab.benchmarks.permutations`."
    )
    text = "\n".join([*page, "", about]) + "\n"
    print(text)
    options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
