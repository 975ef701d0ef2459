"""Pair rates of the sums: kernel values computed a second, against the machine and against peers.

One table, all in one run on one machine: our sums of both groups (RBF, group sums of all rows), the
matrix product alone on the same blocks and threads, scikit-learn's ``rbf_kernel(...).sum()``, and
where they are installed torch blocks and KeOps on the CPU. Each number is the best of several
rounds, and the programs take turns, so that a busy moment of the machine hits all of them.

    python -m lab.benchmarks.pair_rates [--rounds 7] [--out lab/benchmarks/results/pair_rates.md]
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import platform
import time
from pathlib import Path

import numpy as np
from numba import njit

import mmdbounds
from mmdbounds.kernels import RBF
from mmdbounds.objective import group_sums
from mmdbounds.progress import Meter
from mmdbounds.sums.cpu.blocked import BlockedSums
from mmdbounds.sums.cpu.engines import FusedEngine
from mmdbounds.sums.points import prepare

ROWS = {2: 20_000, 54: 20_000, 512: 8_000}
KEOPS_ROWS = 5_000  # its rate does not depend on the number of rows


@njit(nogil=True)
def _products_only(left, right, edges, buffer):
    for k in range(len(edges) - 1):
        part = right[edges[k] : edges[k + 1]]
        block = buffer[: len(left) * len(part)].reshape(len(left), len(part))
        np.dot(left, part.T, block)


class ProductsOnly(FusedEngine):
    """The same strips, blocks and threads, but nothing is done with a product."""

    def sums(self, strip, n_segments):
        """Multiply, and return zeros."""
        buffer = np.empty(len(strip.left) * strip.columns.widest, dtype=self.dtype)
        _products_only(strip.left, strip.right, strip.columns.edges, buffer)
        return np.zeros((len(strip.left), n_segments)), np.zeros(len(strip.right))


def ours(Z, bandwidth, dtype, engine=None):
    meter = Meter()
    sums = BlockedSums(Z, RBF(bandwidth), dtype=dtype, meter=meter)
    if engine is not None:
        sums._engine = engine(prepare(Z, RBF(bandwidth), dtype), RBF(bandwidth), dtype)

    def run():
        meter.n_pairs = 0
        group_sums(sums, len(Z) // 2, len(Z) - len(Z) // 2)
        return meter.n_pairs

    return run


def scikit_learn(Z, bandwidth, dtype):
    from sklearn.metrics.pairwise import rbf_kernel

    A = Z.astype(dtype)

    def run():
        rbf_kernel(A, gamma=1 / (2 * bandwidth**2)).sum()
        return len(A) ** 2

    return run


def torch_blocks(Z, bandwidth, dtype):
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    A = torch.from_numpy(Z.astype(dtype))
    squares = (A * A).sum(1)

    def run():
        for i in range(0, len(A), 1024):
            for j in range(0, len(A), 1024):
                distances = squares[i : i + 1024, None] + squares[None, j : j + 1024]
                distances.addmm_(A[i : i + 1024], A[j : j + 1024].T, alpha=-2)
                distances.mul_(-0.5 / bandwidth**2).exp_().sum(1, dtype=torch.float64)
        return len(A) ** 2

    return run


def keops(Z, bandwidth, dtype):
    if importlib.util.find_spec("pykeops") is None:
        return None
    from pykeops.numpy import LazyTensor

    A = Z[:KEOPS_ROWS].astype(dtype)
    rows, columns = LazyTensor(A[:, None, :]), LazyTensor(A[None, :, :])

    def run():
        (-((rows - columns) ** 2).sum(-1) / (2 * bandwidth**2)).exp().sum(1)
        return len(A) ** 2

    return run


def best_rates(programs, rounds):
    """Run the programs in turn; return the best rate of each, in millions a second."""
    best = dict.fromkeys(programs, 0.0)
    for program in filter(None, programs.values()):
        program()  # compiles, warms up
    for _ in range(rounds):
        for name, program in programs.items():
            if program is not None:
                started = time.perf_counter()
                pairs = program()
                best[name] = max(best[name], pairs / (time.perf_counter() - started) / 1e6)
    return best


def table(rounds):
    names = ["ours", "product alone", "scikit-learn", "torch", "KeOps"]
    lines = [
        "| d | dtype | " + " | ".join(names) + " | of product alone | times scikit-learn |",
        "|--:|:--|" + "--:|" * (len(names) + 2),
    ]
    for d, n in ROWS.items():
        Z = np.random.default_rng(0).normal(size=(n, d))
        bandwidth = float(np.sqrt(2 * d))  # about the median distance
        for dtype in ("float32", "float64"):
            rates = best_rates(
                {
                    "ours": ours(Z, bandwidth, dtype),
                    "product alone": ours(Z, bandwidth, dtype, ProductsOnly),
                    "scikit-learn": scikit_learn(Z, bandwidth, dtype),
                    "torch": torch_blocks(Z, bandwidth, dtype),
                    "KeOps": keops(Z, bandwidth, dtype),
                },
                rounds,
            )
            shown = " | ".join(f"{rates[name]:,.0f}" if rates[name] else "not installed" for name in names)
            of_product, times = (rates["ours"] / rates[name] for name in ("product alone", "scikit-learn"))
            lines.append(f"| {d} | {dtype} | {shown} | {of_product:.2f} | {times:.1f} |")
            print(lines[-1], flush=True)
    return lines


def machine():
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":")[1].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}, NumPy {np.__version__}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    head = [
        "# Pair rates: millions of kernel values a second",
        "",
        f"mmdbounds {mmdbounds.__version__}, {datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}. {machine()}.",
        (
            f"Best of {options.rounds} rounds, all programs in turn. "
            "Made by `python -m lab.benchmarks.pair_rates`."
        ),
        "",
    ]
    print("\n".join(head))
    lines = table(options.rounds)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join([*head, *lines, ""]))


if __name__ == "__main__":
    main()
