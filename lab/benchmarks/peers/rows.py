"""The rows that all programs see, and what our own package says about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mmdbounds as mb
from lab.datasets import load_forest
from lab.studies.drawing import standardised
from mmdbounds.kernels import RBF
from mmdbounds.objective import group_sums
from mmdbounds.sums import make_sums
from mmdbounds.sums.bandwidth import resolve_kernel

N_COLUMNS = 54
SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)
SHIFT = 0.1
EPSILON = 0.2


@dataclass(frozen=True)
class Source:
    """Two groups in random order, on disk; a measurement takes the first rows of each."""

    name: str
    X: Path
    Y: Path
    n_x: int
    n_y: int
    bandwidth: float

    def request(self, n):
        """Return what a program is told about `n` rows of both groups; at the most all there are."""
        whole = self.n_x + self.n_y
        n = min(n, whole)
        p = round(n * self.n_x / whole)
        moved = mb.Contamination(EPSILON).counts(p, n - p).n_moved
        return {
            "X": str(self.X),
            "Y": str(self.Y),
            "p": p,
            "q": n - p,
            "bandwidth": self.bandwidth,
            "n_moved": moved,
        }

    def rows(self, n):
        """Return these rows."""
        request = self.request(n)
        return tuple(
            np.load(path, mmap_mode="r")[: request[size]].copy()
            for path, size in ((self.X, "p"), (self.Y, "q"))
        )


def written(folder, cache):
    """Write the rows, of FOREST where there is a folder with it, else made up, unless they are there."""
    name = "made-up rows" if folder is None else "FOREST, standardised"
    files = [cache / f"{name.partition(',')[0].replace(' ', '-')}-{group}.npy" for group in "XY"]
    if not all(file.exists() for file in files):
        cache.mkdir(parents=True, exist_ok=True)
        for file, group in zip(files, made_up() if folder is None else forest(folder), strict=True):
            np.save(file, group)
    X, Y = (np.load(file, mmap_mode="r") for file in files)
    few = np.concatenate([X[: SIZES[0] // 2], Y[: SIZES[0] // 2]])
    kernel = resolve_kernel("rbf", "median", few)
    return Source(name, *files, len(X), len(Y), kernel.bandwidth)


def made_up():
    """Return two groups of normal rows, shifted against each other."""
    rng = np.random.default_rng(0)
    half = SIZES[-1] // 2
    return rng.normal(size=(half, N_COLUMNS)), rng.normal(SHIFT, 1.0, size=(half, N_COLUMNS))


def forest(folder):
    """Return all of FOREST, standardised and shuffled."""
    data = load_forest(folder)
    groups = standardised(data.X.astype(np.float64), data.Y.astype(np.float64))
    rng = np.random.default_rng(0)
    return tuple(group[rng.permutation(len(group))] for group in groups)


def mmd2_of_hyppo(statistic, X, Y, bandwidth):
    r"""Turn hyppo's statistic (``bias=True``) into the squared MMD, a V-statistic.

    It returns 2 p^2 q^2 / N^4 times the root of the distance correlation of rows and labels, which is
    p q / N times the squared MMD over the norm of the centred kernel matrix HKH. The square of an RBF kernel
    is an RBF kernel with a bandwidth shorter by the root of 2.
    """
    p, q = len(X), len(Y)
    n = p + q
    Z = np.concatenate([X, Y])
    sums = [
        group_sums(make_sums(Z, RBF(b), backend="numpy"), p, q) for b in (bandwidth, bandwidth / math.sqrt(2))
    ]
    (of_rows, squares) = (part.to_x + part.to_y for part in sums)
    norm = math.sqrt(squares.sum() - 2 / n * (of_rows @ of_rows) + of_rows.sum() ** 2 / n**2)
    correlation = (statistic * n**4 / (2 * p**2 * q**2)) ** 2
    return correlation * norm * n / (p * q)
