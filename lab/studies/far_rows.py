"""Do certificates hold where rows lie far out? Bounds against all labellings in long double.

    python -m lab.studies.far_rows [--problems 1000] [--sizes 1e6 1e10] [--processes 2] [--out FILE]

For each size and each way of computing (matrix, blocks, PyTorch if it is installed), problems are drawn with
5 to 7 rows in X and 6 to 8 in Y. One to three of these rows have that size, alone or together. Kernel,
estimator and count are drawn too. A violation is a certified interval that does not contain the exact
extremes, a value whose error is larger than claimed, or an error that is not a refusal.

The table goes to results/far_rows.md, after half an hour on two cores. It needs a long double with
more digits than float64.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import time
from collections import Counter
from pathlib import Path
from unittest import mock

import numpy as np

import mmdbounds as mb
from lab.studies import records
from mmdbounds.evaluation.process_pool import run_in_processes
from mmdbounds.sums import plan

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from fuzzing import naive  # the independent reference

SIZES = (1e6, 1e7, 1e8, 1e10, 1e12, 1e14, 1e16, 1e18, 1e100, 1e300)
KERNELS = ("rbf", "laplacian", "matern52", "energy")


def ways():
    """Return how kernel values can be computed here: name, backend, rows up to which a matrix is kept."""
    found = [("matrix", "numpy", plan.SMALL_ROWS), ("blocks", "numpy", 0)]
    if importlib.util.find_spec("torch") is not None:
        found.append(("torch", "torch", plan.SMALL_ROWS))
    return found


def drawn(size, number):
    """Return one problem: groups, kernel, estimator, how many rows move."""
    rng = np.random.default_rng(records.seed_of("far rows", f"{size:g}", number))
    p, q, d = int(rng.integers(5, 8)), int(rng.integers(6, 9)), int(rng.integers(1, 5))
    Z = rng.normal(size=(p + q, d)) * 10.0 ** rng.uniform(-2, 2)
    length = float(np.median(np.abs(Z))) * d
    far = rng.choice(p + q, int(rng.integers(1, 4)), replace=False)
    with np.errstate(over="ignore"):
        Z[far] = size * length * (1.0 if rng.random() < 0.5 else rng.normal(size=(len(far), d)))
        if len(far) > 1 and rng.random() < 0.5:  # together, a bandwidth apart as far as float64 can tell
            Z[far[1]] = Z[far[0]] + length
    kernel = KERNELS[number % len(KERNELS)]
    estimator = ("unbiased", "biased")[int(rng.integers(2))]
    return Z[:p], Z[p:], kernel, length, estimator, int(rng.integers(1, 4))


def outcome(size, number, backend):
    """Return "held", "refused" or what was violated."""
    X, Y, kernel, length, estimator, n_moved = drawn(size, number)
    Z, p, q = np.concatenate([X, Y]), len(X), len(Y)
    scaled = {} if kernel == "energy" else {"bandwidth": length}
    if not np.isfinite(Z).all():
        return "refused"  # no number any more
    try:
        found = mb.mmd_bounds(
            X, Y, mb.Contamination(n_moved=n_moved, exactly=True), kernel=kernel,
            estimator=estimator, rng=0, backend=backend, **scaled,
        )  # fmt: skip
    except mb.MmdBoundsError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__} in {kernel}"
    K = naive.kernel_matrix(Z, kernel, **scaled)
    exact = naive.extremes(K, p, q, (n_moved, 0), estimator)
    if found.lower.certified > exact.lower + exact.error or found.upper.certified < exact.upper - exact.error:
        return f"certificate of {kernel}"
    for side in (found.lower, found.upper):
        value, error = naive.value_at(K, p, q, side.rows, [], estimator)
        if abs(value - side.value) > 2 * abs(side.certified - side.value) + 1e-10 + error:
            return f"value of {kernel}"
    return "held"


def table(rows):
    """Return the table as Markdown."""
    lines = ["| far rows | computed by | held | refused | violated | seconds |", "|---|---|---|---|---|---|"]
    for size, way, counts, seconds in rows:
        wrong = {what: n for what, n in counts.items() if what not in ("held", "refused")}
        violated = "; ".join(f"{n} {what}" for what, n in wrong.items()) or "0"
        lines.append(
            f"| {size:.0e} | {way} | {counts['held']} | {counts['refused']} | {violated} | {seconds:.0f} |"
        )
    return "\n".join(lines) + "\n"


def run(task):
    """Return a line of the table: one size, one way of computing."""
    size, (way, backend, most_kept), n_problems = task
    start = time.perf_counter()
    with mock.patch.object(plan, "SMALL_ROWS", most_kept):
        counts = Counter(outcome(size, number, backend) for number in range(n_problems))
    return size, way, counts, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--sizes", type=float, nargs="+", default=list(SIZES))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=records.RESULTS / "far_rows.md")
    arguments = parser.parse_args()
    if not naive.IS_LONG:
        records.fail("long double has no more digits than float64 here.")
    tasks = [(size, way, arguments.problems) for size in arguments.sizes for way in ways()]
    rows = []
    with contextlib.closing(run_in_processes(run, tasks, arguments.processes)) as running:
        for row in running:
            rows.append(row)
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    order = [(size, way) for size, (way, _, _), _ in tasks]
    rows.sort(key=lambda row: order.index(row[:2]))
    about = " ".join(__doc__.split("\n\n")[2].split())
    text = f"# Rows far out\n\n{about}\n\n{records.machine()}\n\n{table(rows)}"
    arguments.out.write_text(text, encoding="utf-8")
    return 1 if any(set(counts) - {"held", "refused"} for _, _, counts, _ in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
