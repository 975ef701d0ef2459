"""Small problems: mmdbounds beside the few lines of NumPy or PyTorch that give the same number.

    python -m lab.benchmarks.small [--out FILE] [--rows 200 1000] [--columns 2 54] [--calls mmd2]

All three are timed in turn, the best of several counts. Warm calls are timed in this process, each after a
pause, in which the threads of the program before stop spinning, and after the same call untimed. First calls
are whole processes, from start to number: interpreter, imports and all. Rows are made up. Each program uses
as many threads as it chooses to. The peers keep one kernel matrix, as a short program would; beyond 4,096
rows their median bandwidth is that of 200,000 drawn pairs, as ours is. With misfiling they give the p-value
of S-SD's labelling, which is not valid; ours proves a floor.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import math
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROWS, COLUMNS, REPEATS = (200, 1000, 2000, 5000), (2, 10, 54), 7
WHO = ("mmdbounds", "PyTorch", "NumPy")
N_PERMUTATIONS, SHARE, N_STEPS, DRAWN, ALL_PAIRS = 999, 0.1, 10, 200_000, 4096
PAUSE = 0.06  # seconds until OpenBLAS's threads (2^26 clock ticks) and OpenMP's no longer spin
AGREES = 1e-6  # squared MMDs that differ by less are the same: PyTorch takes roots of distances


def two_groups(n_rows, n_columns):
    rng = np.random.default_rng(0)
    p = n_rows // 2
    return rng.normal(size=(p, n_columns)), rng.normal(0.3, 1.0, size=(n_rows - p, n_columns))


class WithNumpy:
    """What a short program in NumPy does."""

    def kernel_matrix(self, X, Y, bandwidth):
        """Return the kernel matrix of all rows."""
        Z = np.concatenate([X, Y])
        squares = (Z * Z).sum(axis=1)
        squared = np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0)
        if bandwidth is None and len(Z) > ALL_PAIRS:
            i, j = np.random.default_rng(0).integers(len(Z), size=(2, DRAWN))
            bandwidth = np.sqrt(np.median(squared[i, j]))
        elif bandwidth is None:
            bandwidth = np.sqrt(np.median(squared[np.triu_indices(len(Z), 1)]))
        return np.exp(-squared / (2 * bandwidth**2))

    def columns(self, K, rows):
        """Return the sum of some columns."""
        return K[:, rows].sum(axis=1)

    def extreme(self, scores, count):
        """Return the places of the smallest scores."""
        return np.argpartition(scores, count)[:count]

    def labels(self, n, n_x):
        """Return random labels, a column for each permutation."""
        rng = np.random.default_rng(0)
        return np.array([rng.permutation(n) < n_x for _ in range(N_PERMUTATIONS)], dtype=float).T

    def copy(self, array):
        """Return a copy."""
        return array.copy()


class WithTorch:
    """The same in PyTorch."""

    def __init__(self):
        import torch

        self.torch = torch

    def kernel_matrix(self, X, Y, bandwidth):
        """Return the kernel matrix of all rows."""
        torch = self.torch
        Z = torch.from_numpy(np.concatenate([X, Y]))
        distances = torch.cdist(Z, Z)
        if bandwidth is None and len(Z) > ALL_PAIRS:
            i, j = torch.randint(len(Z), (2, DRAWN))
            bandwidth = distances[i, j].median()
        elif bandwidth is None:
            bandwidth = torch.pdist(Z).median()
        return torch.exp(-(distances**2) / (2 * bandwidth**2))

    def columns(self, K, rows):
        """Return the sum of some columns."""
        return K[:, rows].sum(dim=1)

    def extreme(self, scores, count):
        """Return the places of the smallest scores."""
        return self.torch.topk(scores, count, largest=False).indices

    def labels(self, n, n_x):
        """Return random labels, a column for each permutation."""
        drawn = [self.torch.randperm(n) < n_x for _ in range(N_PERMUTATIONS)]
        return self.torch.stack(drawn).double().T

    def copy(self, array):
        """Return a copy."""
        return array.clone()


def squared_mmd(within_x, within_y, between, n_x, n_y):
    """Return the U-statistic from sums over all pairs of rows, a row with itself included."""
    within = (within_x - n_x) / (n_x * (n_x - 1)) + (within_y - n_y) / (n_y * (n_y - 1))
    return within - 2 * between / (n_x * n_y)


def mmd2(tools, X, Y, bandwidth):
    K, p = tools.kernel_matrix(X, Y, bandwidth), len(X)
    return float(squared_mmd(K[:p, :p].sum(), K[p:, p:].sum(), K[:p, p:].sum(), p, len(Y)))


def stepwise(tools, K, p, m, towards):
    """Return the squared MMD once m rows of Y have moved, those with the most extreme gradient first."""
    n_x, n_y = p + m, len(K) - p - m
    to_x, to_y = K[:, :p].sum(1), K[:, p:].sum(1)
    moved = []
    for step in range(1, N_STEPS + 1):
        quota = m * step // N_STEPS - m * (step - 1) // N_STEPS
        if not quota:
            continue
        scores = tools.copy(-towards * (to_x / (n_x - 1) - to_y / (n_y - 1))[p:])
        scores[moved] = math.inf
        rows = tools.extreme(scores, quota)
        change = tools.columns(K, rows + p)
        to_x, to_y = to_x + change, to_y - change
        moved += rows.tolist()
    in_x = np.arange(len(K)) < p
    in_x[np.array(moved, dtype=int) + p] = True
    return float(squared_mmd(to_x[in_x].sum(), to_y[~in_x].sum(), to_y[in_x].sum(), n_x, n_y))


def pvalue(tools, K, n_x, value):
    n_y, labels = len(K) - n_x, tools.labels(len(K), n_x)
    to_x = K @ labels
    within_x, linear = (labels * to_x).sum(0), to_x.sum(0)
    within_y = K.sum() - 2 * linear + within_x
    null = squared_mmd(within_x, within_y, linear - within_x, n_x, n_y)
    return (1 + int((null >= value - 1e-12).sum())) / (1 + N_PERMUTATIONS)


def peer(name, tools):
    """Return a call as a short program in NumPy or PyTorch makes it, a function of X, Y and bandwidth."""

    def bounds(X, Y, bandwidth):
        K, m = tools.kernel_matrix(X, Y, bandwidth), n_moved(2 * SHARE, len(X))
        return [stepwise(tools, K, len(X), m, towards) for towards in (-1, 1)]

    def test(X, Y, bandwidth, share):
        K, p, m = tools.kernel_matrix(X, Y, bandwidth), len(X), n_moved(share, len(X))
        filed = squared_mmd(K[:p, :p].sum(), K[p:, p:].sum(), K[:p, p:].sum(), p, len(Y))
        as_filed = pvalue(tools, K, p, filed)
        return pvalue(tools, K, p + m, stepwise(tools, K, p, m, -1)) if m else as_filed

    return {
        "mmd2": lambda X, Y, bandwidth: mmd2(tools, X, Y, bandwidth),
        "s-sd": bounds,
        "robust_test, epsilon 0": lambda X, Y, bandwidth: test(X, Y, bandwidth, 0.0),
        f"robust_test, epsilon {SHARE:g}": lambda X, Y, bandwidth: test(X, Y, bandwidth, SHARE),
    }[name]


def n_moved(share, p):
    return math.floor(share * p / (1 - share) + 1e-9)


def ours(name):
    import mmdbounds as mb

    def test(X, Y, share, options):
        return mb.robust_test(X, Y, share, exactly=True, n_permutations=N_PERMUTATIONS, rng=0, **options)

    calls = {
        "mmd2": lambda X, Y, options: mb.mmd2(X, Y, **options),
        "s-sd": lambda X, Y, options: mb.mmd_bounds(X, Y, 2 * SHARE, exactly=True, method="s-sd", **options),
        "robust_test, epsilon 0": lambda X, Y, options: test(X, Y, 0.0, options),
        f"robust_test, epsilon {SHARE:g}": lambda X, Y, options: test(X, Y, SHARE, options),
    }
    return lambda X, Y, bandwidth: calls[name](X, Y, {} if bandwidth is None else {"bandwidth": bandwidth})


CALLS = ("mmd2", "s-sd", "robust_test, epsilon 0", f"robust_test, epsilon {SHARE:g}")


def call_of(who, name):
    if who == "mmdbounds":
        return ours(name)
    return peer(name, WithTorch() if who == "PyTorch" else WithNumpy())


def bandwidth_of(how, n_columns):
    return math.sqrt(2 * n_columns) if how == "given" else None


def warm(name, n_rows, n_columns, how, repeats, clock):
    """Return the least seconds of each program in this process, and check that they agree."""
    X, Y = two_groups(n_rows, n_columns)
    calls = [call_of(who, name) for who in WHO]
    found = [call(X, Y, bandwidth_of(how, n_columns)) for call in calls]
    if name == "mmd2" and (how == "given" or n_rows <= ALL_PAIRS):
        np.testing.assert_allclose(found[1:], found[0], rtol=0, atol=AGREES)

    def seconds(call):
        time.sleep(PAUSE)
        call(X, Y, bandwidth_of(how, n_columns))
        started = clock()
        call(X, Y, bandwidth_of(how, n_columns))
        return clock() - started

    return best_in_turn([lambda call=call: seconds(call) for call in calls], repeats)


def first(name, n_rows, n_columns, how, repeats, clock):
    """Return the least seconds of a whole process that makes one call, for each program."""

    def seconds(who):
        arguments = ["--one", who, name, str(n_rows), str(n_columns), how]
        started = clock()
        subprocess.run([sys.executable, __file__, *arguments], check=True)
        return clock() - started

    return best_in_turn([lambda who=who: seconds(who) for who in WHO], min(repeats, 5))


def processor_seconds():
    """Return the processor time of this process and of those it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def best_in_turn(timers, repeats):
    least = [math.inf] * len(timers)
    for _ in range(repeats):
        least = [min(best, timer()) for best, timer in zip(least, timers, strict=True)]
    return least


def table(measure, options):
    heads = ["call", "bandwidth", "rows", "columns", *(f"{who}, ms" for who in WHO)]
    yield f"| {' | '.join(heads)} | PyTorch / ours | NumPy / ours |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    every = itertools.product(options.calls, ("given", "median"), options.columns, options.rows)
    for name, how, d, n in every:
        clock = processor_seconds if options.processor_time else time.perf_counter
        seconds = measure(name, n, d, how, options.repeats, clock)
        cells = [f"{1e3 * each:.3g}" for each in seconds]
        cells += [f"{each / seconds[0]:.2f}" for each in seconds[1:]]
        yield f"| {name} | {how} | {n:,} | {d} | {' | '.join(cells)} |"


def page(options):
    yield "# Small problems"
    for title, measure in (("Warm calls", warm), ("First call of a process", first)):
        yield from ("", f"## {title}", "")
        yield from table(measure, options)
    yield ""
    yield (
        f"{N_PERMUTATIONS} permutations. {os.cpu_count()} cores, {platform.machine()}; "
        f"NumPy {np.__version__}; {datetime.date.today().isoformat()}. "
        "Made by `python -m lab.benchmarks.small`."
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write the tables there, too")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS)
    parser.add_argument("--calls", nargs="+", default=CALLS, choices=CALLS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument(
        "--processor-time", action="store_true", help="for a busy machine; hold all libraries to one thread"
    )
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        who, name, n_rows, n_columns, how = options.one
        X, Y = two_groups(int(n_rows), int(n_columns))
        call_of(who, name)(X, Y, bandwidth_of(how, int(n_columns)))
        return
    lines = []
    for line in page(options):
        print(line, flush=True)
        lines.append(line)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
