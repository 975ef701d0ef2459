"""Whole calls: rows, kernel, estimator, misfiling, method, backend, precision, budget and container."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from hypothesis import strategies as st

import mmdbounds as mb
from fuzzing import naive
from fuzzing.containers import FORMS, handed_in
from fuzzing.misfiling import Misfiling, misfilings
from fuzzing.rows import RowsSpec, row_specs

LENGTHS = ("rbf", "laplacian", "matern52")
FORMULAS = (*LENGTHS, "polynomial", "linear", "energy")
EXPONENTS = (1.0, 0.5, 1.5, 0.1)
KERNELS = (*FORMULAS, "function", "precomputed")
ATTAINED = ("s-sd", "sd", "paper")
"""Methods without a proof whose value is that of a labelling."""

METHODS = ("sharp", "exhaustive", "sharp to the end", *ATTAINED)
BACKENDS = ("auto", "numpy", *(("torch",) if importlib.util.find_spec("torch") else ()))
MOST_LABELLINGS = 20_000


def users_kernel(A, B):
    """A kernel of a user: a product of one-dimensional Laplacians and a constant."""
    return 0.5 + np.exp(-np.abs(A[:, None, :] - B[None, :, :]).mean(axis=2))


@dataclass(frozen=True)
class Call:
    """One call of a function of the package, with everything that it hangs on."""

    rows: RowsSpec
    misfiling: Misfiling
    kernel: str = "rbf"
    relative_bandwidth: float | None = 1.0
    estimator: str = "unbiased"
    method: str = "sharp"
    backend: str = "auto"
    dtype: str = "float64"
    working_memory: int = 1024
    form: str = "array"
    rng: int = 0
    n_permutations: int = 19

    @cached_property
    def pooled(self):
        """The pooled rows (or the kernel matrix that is given), exactly as they are meant."""
        Z = self.rows.pooled()
        if self.kernel != "precomputed":
            return Z
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            K = np.asarray(Z[:, :1] + Z[:, :1].T, dtype=np.float64) / 4 + np.eye(len(Z)) * self.rows.d
            return K if self.rows.seed % 2 else np.asarray(Z, np.float64) @ np.asarray(Z, np.float64).T

    @property
    def can_be_made(self):
        """Whether the rows are finite and the labellings few enough to write down."""
        if (self.backend, self.dtype) == ("torch", "float32") and os.environ.get("TRITON_INTERPRET") == "1":
            return False  # programs for a GPU are interpreted in tests, which takes one thread only
        p, q = self.rows.p, self.rows.q
        few = sum(naive.n_labellings(p, q, count) for count in self.counts) <= MOST_LABELLINGS
        return few and bool(np.isfinite(self.pooled).all())

    @cached_property
    def counts(self):
        p, q, fewest = self.rows.p, self.rows.q, 2 if self.estimator == "unbiased" else 1
        every = self.misfiling.counts(p, q)
        if self.misfiling.exactly or self.misfiling.form not in ("counts", "shares"):
            return every
        if not self.misfiling.numbers[1]:  # one-way
            return every
        # Of several pairs, those that leave no row in a group, or too few for the estimator, are none.
        fits = [(m, m_d) for m, m_d in every if m <= q and m_d <= p and 0 < p + m - m_d < p + q]
        if not any(m_d for _, m_d in fits):
            return fits
        return [(m, m_d) for m, m_d in fits if min(p + m - m_d, q - m + m_d) >= fewest]

    @property
    def bandwidth(self):
        if self.relative_bandwidth is None or self.kernel not in LENGTHS:
            return "median"
        with np.errstate(over="ignore", under="ignore"):
            return float(self.relative_bandwidth * 10.0**self.rows.magnitude)

    @property
    def exponent(self):
        return EXPONENTS[self.rng]

    @property
    def is_plain(self):
        """Whether everything is usual, so that a refusal would be wrong."""
        fewest = 2 if self.estimator == "unbiased" else 1
        p, q = self.rows.p, self.rows.q
        sizes = [(p + m - m_d, q - m + m_d) for m, m_d in [(0, 0), *self.counts]]
        return (
            self.rows.is_plain
            and bool(self.counts)
            and self.kernel in LENGTHS
            and self.relative_bandwidth in (None, 1.0)
            and self.method in ("sharp", "exhaustive", "sharp to the end", "sd")
            and min(min(pair) for pair in sizes) >= fewest
            and "other names" not in self.form
            and "groups" not in self.form
        )

    def options(self):
        """Return the keywords that every function takes."""
        made = {"function": users_kernel, "energy": mb.kernels.Energy(self.exponent)}
        return {
            "kernel": made.get(self.kernel, self.kernel),
            "bandwidth": self.bandwidth,
            "estimator": self.estimator,
            "backend": self.backend,
            "dtype": self.dtype,
            "working_memory": self.working_memory,
        }

    def searched(self):
        """Return the method as `method` takes it."""
        match self.method:
            case "paper":
                return mb.StepwiseDominance(schedule="paper")
            case "sharp to the end":
                return mb.Sharp(gap=0.0)
        return self.method

    def groups(self):
        """Return X and Y as they are handed in."""
        return handed_in(self.pooled, self.rows.p, self.form)

    def matrix(self, bandwidth):
        """Return the kernel matrix by definition; `bandwidth` is what the call took."""
        if self.kernel == "precomputed":
            K = self.pooled.astype(naive.Long)
            return naive.Matrix((K + K.T) / 2, naive.UNIT * np.abs(K).max())
        if self.kernel == "function":
            Z = np.asarray(self.pooled, dtype=np.float64)
            K = users_kernel(Z, Z).astype(naive.Long)
            return naive.Matrix((K + K.T) / 2, naive.UNIT * np.abs(K).max())
        Z = self.pooled
        if self.form.startswith("groups"):  # leaves out columns in which no two rows differ, and says so
            Z = Z[:, (Z[:1] != Z).any(axis=0)]
        return naive.kernel_matrix(Z, self.kernel, bandwidth=bandwidth, exponent=self.exponent)

    def with_bandwidth(self, bandwidth):
        """Return the options with a bandwidth that is known by now."""
        options = self.options()
        return options | {"bandwidth": bandwidth} if self.kernel in LENGTHS else options

    def simplest(self, **changes):
        return replace(self, **changes)


@st.composite
def settings_of(draw, kernels=KERNELS, methods=METHODS):
    """Draw the keywords of a call."""
    return {
        "kernel": draw(st.sampled_from(kernels)),
        "relative_bandwidth": draw(st.sampled_from((1.0, None, 0.1, 10.0, 1e-3, 1e3, 1e-8, 1e8))),
        "method": draw(st.sampled_from(methods)),
        "backend": draw(st.sampled_from(BACKENDS)),
        "dtype": draw(st.sampled_from(("float64", "float32"))),
        "rng": draw(st.integers(0, 3)),
    }


@st.composite
def small_calls(draw, *, most=9, methods=METHODS, kernels=KERNELS, two_way=True, forms=("array",), **options):
    """Draw calls with a handful of rows, all of whose labellings can be written down."""
    rows = draw(row_specs(st.integers(2, most), st.integers(2, most), **options))
    estimator = draw(st.sampled_from(("unbiased", "biased")))
    return Call(
        rows=rows,
        misfiling=draw(misfilings(rows.p, rows.q, estimator, two_way=two_way)),
        estimator=estimator,
        working_memory=draw(st.sampled_from((1024, 1))),
        form=draw(st.sampled_from(forms)),
        **draw(settings_of(kernels, methods)),
    )


@st.composite
def large_calls(draw):
    """Draw calls with many rows and few labellings: one row moves, or all but one or two do.

    A budget of 1 MiB holds the matrix of 128 rows, so that these take blocks.
    """
    several = st.sampled_from((130, 150, 200, 300, 400, 600, 2000))
    few = st.integers(2, 12)
    sides = draw(st.sampled_from(((few, several), (few, several), (st.sampled_from((130, 250)),) * 2)))
    rows = draw(row_specs(*sides, columns=(1, 2, 3)))
    estimator = draw(st.sampled_from(("biased", "unbiased")))
    leave = 1 if estimator == "biased" else 2
    moved = draw(st.sampled_from((rows.q - leave, 1))) if rows.q <= 200 or leave == 1 else 1
    return Call(
        rows=rows,
        misfiling=Misfiling("n_moved", (moved,)),
        estimator=estimator,
        working_memory=draw(st.sampled_from((1024, 1))),
        **draw(settings_of(FORMULAS, ("exhaustive", "sharp", "sd"))),
    )


def framed_calls():
    """Draw small calls that hand in tables; scales are everyday, the names are not."""
    methods = ("exhaustive", "sharp")
    kernels = ("rbf", "laplacian", "linear", "polynomial")
    return small_calls(most=6, methods=methods, kernels=kernels, forms=FORMS, columns=(2, 3, 5), scales=False)
