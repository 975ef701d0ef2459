"""Simulated misfiling of groups whose truth is known: at random, by the witness, or by a user's function.

A simulation starts from the true groups, moves m rows of X to Y and hides which ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import check_count, check_progress, check_rng, check_share
from mmdbounds.contamination import Contamination
from mmdbounds.counts import SLACK
from mmdbounds.errors import MmdBoundsError, did_you_mean, shown_value
from mmdbounds.kernels import Kernel, Precomputed
from mmdbounds.objective import Indices
from mmdbounds.problem import Bandwidth, Comparison, KernelLike, Problem, pose
from mmdbounds.progress import Meter
from mmdbounds.results.serialize import from_fields, read_only
from mmdbounds.search.protocol import largest
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import as_groups

MechanismLike = str | Callable[[Float64s, Float64s, int, np.random.Generator], Any]
MECHANISMS = ("nonrandom", "random")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Simulated:
    """Groups as filed, and the truth behind them.

    Attributes
    ----------
    X, Y
        The groups as filed. The rows of X keep their order, those of Y are shuffled.
    moved
        Rows of the true X, from 0, that are filed under Y.
    rows_of_y
        Where they stand in `Y`, in the same order: ``X_clean[moved]`` is ``Y[rows_of_y]``.
    n_x, n_y
        Sizes of the true groups.
    kernel
        With its bandwidth, from the pooled rows; the same for the true groups and the filed ones.
    mechanism
        ``"nonrandom"``, ``"random"``, or the name of the function that chose the rows.
    seed
        Gives the same again as `rng`; `None` if a generator was handed in.
    """

    X: NDArray[np.float64]
    Y: NDArray[np.float64]
    moved: NDArray[np.intp]
    rows_of_y: NDArray[np.intp]
    n_x: int
    n_y: int
    kernel: Kernel
    mechanism: str
    seed: int | None

    def __post_init__(self) -> None:
        for name in ("X", "Y", "moved", "rows_of_y"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __reduce__(self) -> tuple[Any, ...]:
        return from_fields(self)

    @property
    def n_moved(self) -> int:
        """Rows of the true X that are filed under Y."""
        return len(self.moved)

    @property
    def epsilon(self) -> float:
        """Their share of the true X; rounding down makes it a little less than the share requested."""
        return self.n_moved / self.n_x

    @property
    def contamination(self) -> Contamination:
        """The true amount, exactly, as `mmd_bounds` takes it."""
        return Contamination(n_moved=self.n_moved, exactly=True)

    def __repr__(self) -> str:
        filed = f"{self.n_moved} of {self.n_x} rows of X filed under Y with its {self.n_y} rows"
        return f"Simulated({filed}, mechanism {self.mechanism!r})"


def simulate(
    X_clean: Any,
    Y_clean: Any,
    epsilon: float | None = None,
    *,
    n_moved: int | None = None,
    mechanism: MechanismLike = "nonrandom",
    kernel: KernelLike = "rbf",
    bandwidth: Bandwidth = "median",
    working_memory: float = 1024,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
) -> Simulated:
    """File some rows of the true X under Y.

    Parameters
    ----------
    X_clean, Y_clean : array-like of shape (n_x, d) and (n_y, d)
        The true groups: arrays, DataFrames, or what `groups` returns. Never scaled here.
    epsilon : float, optional
        Share of `X_clean` to misfile: m = floor(epsilon n_x) rows.
    n_moved : int, optional
        The number m itself, in place of `epsilon`. At least one row must stay in X.
    mechanism : {"nonrandom", "random"} or callable, default="nonrandom"
        ``"nonrandom"``: m rows at random from the min(2m, n_x) rows of `X_clean` that are most
        typical of X, with the largest witness: their mean kernel value to the rows of X less that
        to the rows of Y. ``"random"``: m rows at random. A function
        ``f(X_clean, Y_clean, n_moved, rng)`` returns m different rows of `X_clean`, as positions.
    kernel, bandwidth, working_memory, progress
        As in `mmd2`, except that ``"precomputed"`` is refused.
    rng : int, numpy.random.Generator or None
        Seed or generator; `None` draws a seed, which the result records.

    Returns
    -------
    Simulated
        The groups as filed, which rows were moved, and the kernel with its bandwidth.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(50, 2)), rng.normal(1, 1, size=(50, 2))
    >>> filed = mb.simulate(X, Y, epsilon=0.2, rng=0)
    >>> filed
    Simulated(10 of 50 rows of X filed under Y with its 50 rows, mechanism 'nonrandom')
    >>> truth = mb.mmd2(X, Y, kernel=filed.kernel)
    >>> bounds = mb.mmd_bounds(filed.X, filed.Y, filed.contamination, kernel=filed.kernel)
    >>> bounds.lower.value < truth < bounds.upper.value
    True
    """
    generator, seed = check_rng(rng)
    check_mechanism(mechanism)
    check_progress(progress)
    # Biased, because the witness is a difference of plain means.
    how = Comparison(kernel=kernel, bandwidth=bandwidth, estimator="biased", working_memory=working_memory)
    problem = pose(*as_groups(X_clean, Y_clean, ("X_clean", "Y_clean")), how)
    check_from_rows(problem.kernel)
    n = problem.p
    moving = _choose(mechanism, problem, misfiled_count(epsilon, n_moved, n), generator, progress)
    # Shuffled, so that the place of a row in Y does not reveal where it came from.
    under_y = generator.permutation(np.concatenate([moving, np.arange(n, n + problem.q)]))
    rows_of_y = np.flatnonzero(under_y < n)
    return Simulated(
        X=np.delete(problem.X.values, moving, axis=0),
        Y=problem.pooled[under_y],
        moved=under_y[rows_of_y],
        rows_of_y=rows_of_y,
        n_x=n,
        n_y=problem.q,
        kernel=problem.kernel,
        mechanism=mechanism_name(mechanism),
        seed=seed,
    )


def check_mechanism(mechanism: MechanismLike) -> None:
    """Refuse what is neither the name of a mechanism nor a function."""
    if callable(mechanism) or (isinstance(mechanism, str) and mechanism in MECHANISMS):
        return
    hint = did_you_mean(mechanism, MECHANISMS) if isinstance(mechanism, str) else ""
    known = ", ".join(map(repr, MECHANISMS))
    msg = f"`mechanism` must be one of {known} or a function; got {shown_value(mechanism)}.{hint}"
    raise MmdBoundsError(msg)


def check_from_rows(kernel: Kernel) -> None:
    """Refuse a matrix of kernel values: rows change places here."""
    if isinstance(kernel, Precomputed):
        msg = "`kernel` must be computed from the rows, which change places here; got 'precomputed'."
        raise MmdBoundsError(msg)


def mechanism_name(mechanism: MechanismLike) -> str:
    """Return the name of a mechanism, or of the function that is one."""
    return mechanism if isinstance(mechanism, str) else getattr(mechanism, "__name__", "function")


def misfiled_count(epsilon: float | None, n_moved: int | None, n: int) -> int:
    """Return how many of the `n` rows of X are to be misfiled."""
    if (epsilon is None) == (n_moved is None):
        came = "none" if epsilon is None else "both"
        msg = f"exactly one of `epsilon` and `n_moved` must be given; got {came}."
        raise MmdBoundsError(msg)
    if epsilon is not None:
        name, m = "epsilon", math.floor(check_share(epsilon, "epsilon") * n + SLACK)
    else:
        name, m = "n_moved", check_count(n_moved, "n_moved")
    if m >= n:
        given = epsilon if n_moved is None else m
        msg = f"`{name}` must leave at least one of the {n} rows of `X_clean` in X; got {given}."
        raise MmdBoundsError(msg)
    return m


def _choose(
    mechanism: MechanismLike, problem: Problem, m: int, rng: np.random.Generator, progress: bool | None
) -> Indices:
    """Return the rows of X that are to be misfiled."""
    if not isinstance(mechanism, str):
        return _checked_rows(mechanism(problem.X.values, problem.Y.values, m, rng), m, problem.p)
    p, q, pool = problem.p, problem.q, np.arange(problem.p)
    if mechanism == "nonrandom":  # the rows with the largest witness, ties by the lowest row
        with Meter("pass", show=progress) as meter:
            totals = problem.one_pass(meter)
        witness = totals.to_x[:p] / p - totals.to_y[:p] / q
        pool = largest(witness, min(2 * m, p), np.ones(p, dtype=np.bool_), totals.tie_width)
    return np.asarray(rng.choice(pool, m, replace=False))


def _checked_rows(chosen: Any, m: int, n: int) -> Indices:
    """Return the rows that a user's function chose; refuse wrong ones."""
    try:
        rows = np.asarray(chosen)
    except ValueError:  # lists of different lengths
        rows = np.empty((len(chosen), 0))
    if rows.size == 0 and rows.ndim == 1:
        rows = rows.astype(np.intp)  # an empty list has no type of its own
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        came = f"{type(chosen).__name__} of {rows.dtype}, shape {rows.shape}"
    elif len(rows) != m:
        came = f"{len(rows)} rows"
    elif outside := [row for row in rows.tolist() if not 0 <= row < n]:
        came = f"row {outside[0]}"
    elif len(np.unique(rows)) != m:
        came = "a row twice"
    else:
        return rows.astype(np.intp)
    msg = f"`mechanism` must return {m} different rows of `X_clean`, numbered 0 to {n - 1}; got {came}."
    raise MmdBoundsError(msg)
