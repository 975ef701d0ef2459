"""From what a user hands in to what can be computed: checked groups, kernel, sums."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict, TypeVar

import numpy as np

from mmdbounds._version import __version__
from mmdbounds.checks import check_memory, check_option
from mmdbounds.contamination import Contamination
from mmdbounds.counts import Counts, check_sizes
from mmdbounds.errors import MmdBoundsError, did_you_mean
from mmdbounds.kernels import Kernel
from mmdbounds.knowledge import NOTHING_KNOWN, Known
from mmdbounds.objective import GroupSums, group_sums
from mmdbounds.progress import Meter
from mmdbounds.results import Estimator, Provenance
from mmdbounds.sums import backend_names, make_sums
from mmdbounds.sums.bandwidth import resolve_kernel
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.registry import pooled_groups
from mmdbounds.tables import Group
from mmdbounds.tables.group import group_fields

KernelLike = str | Kernel | Callable[[Any, Any], Any]
Bandwidth = float | str  # a number, "median", or a multiple of it such as "0.5 median"
Kernels = KernelLike | Sequence[KernelLike]  # several of them, or several bandwidths, in one test
Bandwidths = Bandwidth | Sequence[Bandwidth]
DType = Literal["float64", "float32"]
F = TypeVar("F", bound=Callable[..., Any])


# What other packages call an option of ours, and how it is ours.
ELSEWHERE = {
    "gamma": ("bandwidth", " = 1 / sqrt(2 gamma)"),
    "sigma": ("bandwidth", ", the sigma in exp(-d^2 / (2 sigma^2))"),
    "length_scale": ("bandwidth", ""),
    "metric": ("kernel", ""),
    "seed": ("rng", ""),
    "random_state": ("rng", ""),
    "alpha": ("level", ""),
}
_OPTIONS: dict[str, list[str]] = {}  # of the functions below, by their names


@dataclass(frozen=True, eq=False)
class Problem:
    """Two groups and how they are to be compared.

    Attributes
    ----------
    X, Y
        The groups as filed.
    pooled
        Their rows, X first.
    kernel
        With its bandwidth.
    known
        What is known of single rows; the groups are in the order that belongs to it.
    """

    X: Group
    Y: Group
    pooled: Float64s
    kernel: Kernel
    estimator: Estimator
    backend: str
    dtype: DType
    working_memory: float
    known: Known = NOTHING_KNOWN

    @property
    def p(self) -> int:
        """Rows filed under X."""
        return len(self.X)

    @property
    def q(self) -> int:
        """Rows filed under Y."""
        return len(self.Y)

    @property
    def n_pairs(self) -> int:
        """Kernel values that one pass over the pairs needs."""
        return len(self.pooled) * (len(self.pooled) + 1) // 2

    def one_pass(self, meter: Meter) -> GroupSums:
        """Make the one pass over the pairs."""
        meter.phase("pass", pairs=self.n_pairs)
        sums = make_sums(
            self.pooled,
            self.kernel,
            backend=self.backend,
            dtype=self.dtype,
            working_memory=self.working_memory,
            meter=meter,
        )
        return group_sums(sums, self.p, self.q)

    def group_fields(self) -> dict[str, Any]:
        """Return the fields of a result that name the groups and their sizes."""
        return group_fields(self.X, self.Y)

    def provenance(
        self,
        totals: GroupSums,
        *,
        method: str,
        options: Mapping[str, Any],
        seed: int | None,
        n_pairs: int,
        seconds: float,
        misfiling: Mapping[str, Any] | None = None,
    ) -> Provenance:
        """Return how a result of this problem was made."""
        return Provenance(
            method=method,
            options=options,
            kernel=self.kernel.name,
            kernel_options=self.kernel.options(),
            bandwidth=self.kernel.length,
            estimator=self.estimator,
            backend=totals.sums.backend,
            device=totals.sums.device,
            dtype=totals.sums.dtype,
            seed=seed,
            n_pairs=n_pairs,
            seconds=seconds,
            version=__version__,
            misfiling=misfiling or {},
            data=self.X.record,
        )

    def counts(self, contamination: Contamination) -> list[Counts]:
        """Return every pair of counts that is meant and possible, those that move the fewest rows first."""
        every = contamination.possible(self.p, self.q, self.known.movable)
        # A single row is another matter: the unbiased estimator refuses it.
        if self.p > 1 and not any(counts.n_moved or counts.n_moved_of_x for counts in every):
            contamination.warn_of_nothing(self.p, self.q)
        return every

    def knowledge_fields(self, contamination: Contamination, admissible: Sequence[Counts]) -> dict[str, Any]:
        """Return the field of a result that says what was known of the rows, if anything was."""
        most = max(counts.n_moved for counts in admissible)
        return self.known.fields_for(contamination, (self.p, self.q), most)

    def checked_counts(
        self, admissible: Sequence[Counts], check: Callable[[Counts, int, int], None] | None = None
    ) -> list[Counts]:
        """Return the counts, if all of them leave enough rows and pass the search's own `check`.

        Of several pairs of counts (two-way) those that leave too few rows are dropped: no statistic is
        defined for them.
        """
        unbiased = self.estimator == "unbiased"
        if len(admissible) > 1 and any(counts.n_moved_of_x for counts in admissible):
            fewest = 2 if unbiased else 1
            admissible = [counts for counts in admissible if min(counts.n_x, counts.n_y) >= fewest]
        for counts in (Counts(0, 0, self.p, self.q), *reversed(admissible)):  # the largest is refused first
            check_sizes(counts, self.p, self.q, unbiased=unbiased)
            if check is not None:
                check(counts, self.p, self.q)
        return list(admissible)


class KernelOptions(TypedDict, total=False):
    """Keywords of functions that fix the estimator; see `compares`."""

    kernel: KernelLike
    bandwidth: Bandwidth
    backend: str
    dtype: DType
    working_memory: float


class ComparisonOptions(KernelOptions, total=False):
    """Keywords of functions that take every option of a comparison; see `compares`."""

    estimator: Estimator


class TestOptions(TypedDict, total=False):
    """The same, with several kernels or several bandwidths."""

    kernel: Kernels
    bandwidth: Bandwidths
    backend: str
    dtype: DType
    working_memory: float
    estimator: Estimator


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How two groups are compared: the options that every function shares."""

    kernel: KernelLike = "rbf"
    bandwidth: Bandwidth = "median"
    estimator: Estimator = "unbiased"
    backend: str = "auto"
    dtype: DType = "float64"
    working_memory: float = 1024

    def __post_init__(self) -> None:
        check_option(self.estimator, "estimator", ("unbiased", "biased"))
        check_option(self.backend, "backend", backend_names())
        check_option(self.dtype, "dtype", ("float64", "float32"))
        object.__setattr__(self, "working_memory", check_memory(self.working_memory))


def compares(*fixed: str) -> Callable[[F], F]:
    """Return a decorator for functions that take `ComparisonOptions` as ``**options``, except those `fixed`.

    The function's signature names the options one by one, for `help`, editors and the documentation.
    """

    def named(function: F) -> F:
        own = inspect.signature(function)
        before = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        shared = [
            inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
            for f in fields(Comparison)
            if f.name not in fixed
        ]
        _OPTIONS[function.__name__] = [p.name for p in (*before, *shared)]
        function.__signature__ = own.replace(parameters=[*before, *shared])  # type: ignore[attr-defined]
        return function

    return named


def comparison(caller: str, options: KernelOptions, **fixed: Any) -> Comparison:
    """Return the options of a call; one that `caller` does not take, or fixes itself, is refused."""
    known = [f.name for f in fields(Comparison) if f.name not in fixed]
    for name in options:
        if name not in known:
            own = _OPTIONS.get(caller, known)
            option, how = ELSEWHERE.get(name, ("", ""))
            hint = f" Did you mean {option!r}{how}?" if option in own else did_you_mean(name, own)
            msg = f"{caller}() got an unexpected keyword argument {name!r}.{hint}"
            raise TypeError(msg)
    for name, value in options.items():
        if name in ("kernel", "bandwidth") and is_list(value):
            msg = f"`{name}` must be a single one here; got a list. Several together are for a test."
            raise MmdBoundsError(msg)
    return Comparison(**options, **fixed)


def is_list(value: object) -> bool:
    """Return whether several kernels or bandwidths were handed in."""
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1)


def pose(X: Any, Y: Any, how: Comparison, known: Known | None = None) -> Problem:
    """Return the problem of comparing two groups; with `known`, of groups in the order of a search."""
    groups = pooled_groups(X, Y, how.backend, how.working_memory)
    kernel = resolve_kernel(how.kernel, how.bandwidth, groups.rows, how.working_memory)
    return Problem(
        groups.X,
        groups.Y,
        groups.rows,
        kernel,
        how.estimator,
        groups.backend,
        how.dtype,
        how.working_memory,
        known or NOTHING_KNOWN,
    )
