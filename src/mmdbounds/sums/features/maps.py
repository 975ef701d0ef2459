"""Maps from rows to features, as pure functions of rows that can be sent to other processes.

In float64 always: a phase w . z, or the inverse of a nearly singular matrix, loses too much in float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmdbounds.kernels import Kernel
from mmdbounds.sums.features import ApproximateKernel, Nystrom
from mmdbounds.sums.points import by_product, check_finite, kernel_rows, pair_numbers, with_formula
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.rounding import FORMULA, inner_error, pair_error, product_error

JITTER = 1e-10  # added to the diagonal of K_LL for each landmark, relative to its largest entry
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class FourierMap:
    """Random Fourier features: cosines and sines of w . z, divided by the root of their number."""

    centre: Float64s  # is subtracted from the rows, which changes no product of features but its rounding
    frequencies: Float64s  # one column w each

    @property
    def size(self) -> int:
        """Features of a row."""
        return 2 * int(self.frequencies.shape[1])

    def __call__(self, rows: Float64s) -> Float64s:
        """Return the features, one row each."""
        return np.asarray(waves(rows - self.centre, self.frequencies, np))

    def diagonal(self, rows: Float64s) -> Float64s:
        """Return phi(z) . phi(z), which is 1."""
        return np.ones(len(rows))

    def rounding(self, norm: float) -> float:
        """Return the error of a product of features of rows with norms up to `norm`."""
        # Two phases are off by (d + 3) u |w| |z| each, and there are as many products as features.
        phases = float(np.linalg.norm(self.frequencies, axis=0).mean()) * norm
        return EPS * ((len(self.frequencies) + 3) * phases + self.size + FORMULA)


@dataclass(frozen=True, eq=False)
class LandmarkMap:
    """Nystrom features: kernel values to the landmarks, times the inverse root of their own matrix.

    The jitter is more than the rounding of K_LL, so that K - K~ is positive semidefinite in spite of it.
    """

    kernel: Kernel  # the kernel itself
    centre: Float64s  # is subtracted from the rows
    landmarks: Float64s  # less the centre too
    root: Float64s  # M with M M' = (K_LL + jitter)^-1
    jitter: float  # for each landmark, relative to the largest entry of K_LL

    @property
    def size(self) -> int:
        """Features of a row."""
        return len(self.landmarks)

    def __call__(self, rows: Float64s) -> Float64s:
        """Return the features, one row each."""
        return np.asarray(cross_values(rows - self.centre, self.landmarks, self.kernel) @ self.root)

    def diagonal(self, rows: Float64s) -> Float64s:
        """Return phi(z) . phi(z)."""
        features = self(rows)
        return np.asarray(np.einsum("ij,ij->i", features, features))

    def rounding(self, norm: float) -> float:
        """Return the error of a product of features of rows with norms up to `norm`, relative to k(z, z)."""
        # An error in k(z, L), or in the product with M, grows by the norm of M, at most jitter^(-1/2).
        error = value_error(np.array([norm**2]), self.landmarks.shape[1], self.kernel)
        return 2 * (error + self.size * EPS) / math.sqrt(self.jitter)


FeatureMap = FourierMap | LandmarkMap


def make_map(kernel: ApproximateKernel, n_columns: int) -> FeatureMap:
    """Return the map of a kernel whose bandwidth, centre and landmarks are known."""
    centre = np.zeros(n_columns) if kernel.centre is None else kernel.centre
    if not isinstance(kernel, Nystrom):
        rng = np.random.default_rng(kernel.seed)
        return FourierMap(centre, frequencies(kernel.exact, n_columns, kernel.size // 2, rng))
    exact = kernel.exact
    if kernel.landmarks is None:
        msg = "the landmarks follow from the rows, and are not chosen yet"
        raise TypeError(msg)
    landmarks = kernel.landmarks - centre
    K = cross_values(landmarks, landmarks, exact)
    K = (K + K.T) / 2
    norms = np.einsum("ij,ij->i", landmarks, landmarks)
    jitter = max(JITTER, 4 * value_error(norms, landmarks.shape[1], exact))
    K.flat[:: len(K) + 1] += len(K) * float(K.diagonal().max()) * jitter
    return LandmarkMap(exact, centre, landmarks, np.linalg.inv(np.linalg.cholesky(K)).T, jitter)


def frequencies(kernel: Kernel, n_columns: int, count: int, rng: np.random.Generator) -> Float64s:
    """Draw frequencies from the spectral distribution of a distance kernel, one column each."""
    return np.asarray(kernel.frequencies(n_columns, count, rng) / (kernel.length or 1.0))


def waves(rows: Any, frequencies: Any, xp: Any) -> Any:
    """Return the cosines and sines of all phases; `xp` is the library of the arrays, NumPy or PyTorch."""
    phases = rows @ frequencies
    return xp.concatenate([xp.cos(phases), xp.sin(phases)], axis=1) / math.sqrt(phases.shape[1])


def cross_values(A: Float64s, B: Float64s, kernel: Kernel) -> Float64s:
    """Return the kernel values between the rows of `A` and of `B`, both centred where that is allowed."""
    kernel = with_formula(kernel)
    if not by_product(kernel):
        return np.asarray(kernel.value(pair_numbers(A, B, kernel.geometry)))
    with np.errstate(over="ignore", invalid="ignore"):
        if kernel.geometry == "distance2":
            values = kernel.value(_squared(A, B))
        else:
            values = kernel.value(kernel_rows(A, kernel) @ kernel_rows(B, kernel).T)
    check_finite(values, "float64")
    return np.asarray(values)


def value_error(norms: Float64s, n_columns: int, kernel: Kernel) -> float:
    """Return how far a kernel value can be off between centred rows with these squared norms."""
    if not by_product(kernel):
        return pair_error(n_columns, kernel)
    if kernel.geometry == "distance2":
        return product_error(norms / (kernel.length or 1.0) ** 2, n_columns, kernel, "float64")
    return inner_error(n_columns, kernel, "float64")


def paired_values(A: Float64s, B: Float64s, kernel: Kernel) -> Float64s:
    """Return the kernel values of each row of `A` with the same row of `B`."""
    kernel = with_formula(kernel)
    with np.errstate(over="ignore", invalid="ignore"):
        if kernel.geometry == "l1":
            between = np.abs(A - B).sum(axis=1)
        elif kernel.geometry == "distance2":
            between = np.einsum("ij,ij->i", A - B, A - B)
        else:
            between = np.einsum("ij,ij->i", kernel_rows(A, kernel), kernel_rows(B, kernel))
        values = kernel.value(between)
    check_finite(values, "float64")
    return np.asarray(values)


def _squared(A: Float64s, B: Float64s) -> Float64s:
    squared = A @ B.T
    squared *= -2.0
    squared += np.einsum("ij,ij->i", A, A)[:, None]
    squared += np.einsum("ij,ij->i", B, B)
    return np.maximum(squared, 0.0, out=squared)
