"""Confidence intervals that hold at any sample size: proved bounds and a radius for chance.

Two sources of doubt add up: which rows are misfiled (the bounds), and that the true groups are but
samples (the radius).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mmdbounds.checks import (
    check_chance,
    check_flag,
    check_memory,
    check_no_weights,
    check_progress,
    check_seed,
)
from mmdbounds.contamination import Contamination, Counts, as_contamination
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.concentration import deviation_radius, kernel_bound
from mmdbounds.inference.heldout import Kept, hold_out
from mmdbounds.inference.intervals import (
    ConfidenceInterval,
    CountedBounds,
    asked_fields,
    checked_counts,
    provenance_of,
)
from mmdbounds.kernels import Kernel, kernel_names, takes_bandwidth
from mmdbounds.phrases import rows
from mmdbounds.problem import Bandwidth, DType, KernelLike, pose
from mmdbounds.progress import Meter
from mmdbounds.search import Method, Sharp, Task, as_method
from mmdbounds.sums.features import ApproximateKernel
from mmdbounds.tables import Group, as_groups

ENOUGH = Sharp(gap=0.02)
"""Proofs that end where what they leave open no longer matters beside the radius."""

ALIKE = 0.01
"""Counts whose radii differ by less, relatively, are searched together and share the largest."""

ON_THESE_ROWS = "The bandwidth was chosen on these rows, so the coverage is not proved."
NOT_SAID = "Nobody said that the kernel was fixed before these rows were seen (`fixed_kernel=True`)."
SCALED_HERE = "The columns were scaled by these rows, or filled in by them, so the coverage is not proved."
NOT_CERTIFIED = "The bounds are values that labellings reach; that none lies beyond is not proved."


def confidence_interval(
    X: Any,
    Y: Any,
    epsilon: float | tuple[float, float] | Contamination,
    *,
    level: float = 0.95,
    kernel: KernelLike = "rbf",
    bandwidth: Bandwidth = "median",
    fixed_kernel: bool = False,
    holdout: float | None = None,
    at_most: bool = True,
    method: str | Method = ENOUGH,
    sample_weight: None = None,
    backend: str = "auto",
    dtype: DType = "float64",
    working_memory: float = 1024,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
) -> ConfidenceInterval:
    r"""Interval for the root MMD of the two populations that holds at any sample size.

    .. math::
        \left[\max(0, \sqrt{L} - r),\ \sqrt{U} + r\right]

    with L and U proved bounds on the squared MMD (biased) of the true samples and r the radius of
    `deviation_radius`; the union over all counts of misfiled rows, each with its own sizes.

    Parameters
    ----------
    X, Y, epsilon
        As in `mmd_bounds`.
    level : float, default=0.95
        The confidence, 1 - delta.
    kernel, bandwidth
        As in `mmd_bounds`; the kernel must be bounded.
    fixed_kernel : bool, default=False
        Your word that kernel, bandwidth and scaling of the columns were fixed before anybody looked at these
        rows. Goes with a number for `bandwidth` or a kernel object.
    holdout : float, optional
        Share of all rows to set aside, drawn at random without a look at the groups, from which the
        median bandwidth is taken; the interval rests on the other rows. As nobody knows how many misfiled
        rows are among those set aside, every number is considered.
    at_most : bool, default=True
        Whether any smaller number of rows may be misfiled too; else exactly m are.
    method : str or method object, default=Sharp(gap=0.02)
        The search; one that proves nothing gives an approximate interval.
    rng : int or Generator, optional
        Seed of the search and of `holdout`, to be chosen before the result is seen.
    sample_weight : None
        Weights of rows are refused, with the reason; see "Weights" in the documentation.
    backend, dtype, working_memory, progress
        As in `mmd2`.

    Returns
    -------
    ConfidenceInterval
        Labelled ``"proved"`` if the bounds are, and the kernel was fixed or chosen on held-out rows; else
        ``"approximate"``, with the reason.

    Notes
    -----
    The interval misses only if the root MMD of the true samples is further than r from that of the
    populations. Both are lengths, so one event, of probability at most delta, covers too far
    above and too far below: delta is not split between the ends. If the count is one of several, the
    event matters at the true one alone, so nothing is paid for considering the others.
    No root MMD exceeds :math:`\sqrt{2\kappa}`, and neither does the upper end.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(150, 2)), rng.normal(2, 1, size=(250, 2))
    >>> confidence_interval(X, Y, 0.02, bandwidth=2.0, fixed_kernel=True, rng=0).label
    'proved'
    """
    started = time.perf_counter()
    search, fixed = as_method(method), check_flag(fixed_kernel, "fixed_kernel")
    level = check_chance(level, "level")
    check_progress(progress)
    check_no_weights(sample_weight)
    _check_choice(kernel, bandwidth, fixed, holdout)
    seed, contamination = check_seed(rng), as_contamination(epsilon)
    kept = _kept(X, Y, kernel, holdout, seed, check_memory(working_memory))
    problem = pose(
        kept.X,
        kept.Y,
        kernel=kept.kernel,
        bandwidth=bandwidth,
        estimator="biased",
        backend=backend,
        dtype=dtype,
        working_memory=working_memory,
    )
    kernel_bound(problem.kernel)
    before = contamination.admissible(*kept.n_before, at_most=check_flag(at_most, "at_most"))
    admissible = checked_counts(kept.counts(before), search, problem)
    with Meter(problem.n_pairs, show=progress) as meter:
        totals = problem.one_pass(meter)
        task = Task(totals, admissible, "biased", seed, meter)
        parts, is_certified = _parts(search, task, problem.kernel, 1 - level)
    missing = _missing(problem.X, _is_median(kept.kernel, bandwidth), fixed or kept.n_held > 0, is_certified)
    ends = _ends(parts, problem.kernel)
    return ConfidenceInterval(
        low=ends[0],
        high=ends[1],
        level=level,
        label="approximate" if missing else "proved",
        why=missing or (_ground(kept),),
        n_held_out=kept.n_held,
        parts=parts,
        **asked_fields(problem, before, admissible, at_most),
        provenance=provenance_of(
            problem,
            totals,
            meter,
            method=search.name,
            options={**search.options(), "fixed_kernel": fixed, "holdout": holdout},
            seed=seed if search.is_random or kept.n_held else None,
            seconds=time.perf_counter() - started,
        ),
    )


def _check_choice(kernel: KernelLike, bandwidth: Bandwidth, fixed: bool, holdout: float | None) -> None:
    """Refuse statements about the kernel that contradict each other."""
    is_median = _is_median(kernel, bandwidth)
    if holdout is not None and not is_median:
        known = ", ".join(map(repr, kernel_names("bandwidth")))
        msg = f"`holdout` chooses a median bandwidth, so `kernel` must be one of {known} without a number."
        raise MmdBoundsError(msg)
    if holdout is not None and fixed:
        msg = "`fixed_kernel` must be False where `holdout` chooses the bandwidth; got True."
        raise MmdBoundsError(msg)
    if fixed and is_median:
        msg = (
            "`fixed_kernel` must go with a number for `bandwidth` or a kernel object; "
            "got bandwidth='median', which looks at these rows. Give `holdout`, a share of rows, instead."
        )
        raise MmdBoundsError(msg)


def _kept(
    X: Any, Y: Any, kernel: KernelLike, holdout: float | None, seed: int, working_memory: float
) -> Kept:
    """Return the rows that the interval rests on, and the kernel as far as it is known."""
    group_x, group_y = as_groups(X, Y)
    if holdout is None:
        return Kept(group_x, group_y, kernel)
    share = check_chance(holdout, "holdout")
    return hold_out(group_x, group_y, share, str(kernel), seed, working_memory)


def _is_median(kernel: KernelLike, bandwidth: Bandwidth) -> bool:
    """Return whether these rows are to choose the bandwidth, or the landmarks of an approximation."""
    if isinstance(kernel, ApproximateKernel):
        return kernel.follows_rows
    return takes_bandwidth(kernel) and bandwidth == "median"


def _missing(X: Group, from_rows: bool, fixed: bool, is_certified: bool) -> tuple[str, ...]:
    """Return what keeps the interval from being proved."""
    reasons = [
        (not fixed and from_rows, ON_THESE_ROWS),
        (not fixed and not from_rows, NOT_SAID),
        (_looked_at_here(X.record), SCALED_HERE),
        (not is_certified, NOT_CERTIFIED),
    ]
    return tuple(reason for holds, reason in reasons if holds)


def _looked_at_here(record: Mapping[str, Any]) -> bool:
    """Return whether scales or missing cells were taken from the very rows that are compared."""
    return record.get("scale") in ("standard", "robust", "rank") or record.get("missing") == "impute"


def _ground(kept: Kept) -> str:
    """Say what a proved interval rests on."""
    if not kept.n_held:
        return "The kernel was fixed before these rows were seen, as stated (`fixed_kernel=True`)."
    drawn = f"{rows(kept.n_held)}, drawn at random from both groups alike and set aside"
    return f"The bandwidth comes from {drawn}; the interval rests on the others."


def _parts(
    search: Method, task: Task, kernel: Kernel, delta: float
) -> tuple[tuple[CountedBounds, ...], bool]:
    """Return bounds and radius of each run of counts, and whether all bounds are proved."""
    parts, is_certified = [], True
    for counts, radius in alike(task.admissible, kernel, delta):
        lower, upper = search.both_sides(replace(task, admissible=counts))
        is_certified = is_certified and lower.certified is not None and upper.certified is not None
        moved, of_x = [c.n_moved for c in counts], [c.n_moved_of_x for c in counts]
        parts.append(
            CountedBounds(
                n_moved=(min(moved), max(moved)),
                n_moved_of_x=(min(of_x), max(of_x)),
                lower=lower.value if lower.certified is None else lower.certified,
                upper=upper.value if upper.certified is None else upper.certified,
                radius=radius,
            )
        )
    return tuple(parts), is_certified


def alike(admissible: list[Counts], kernel: Kernel, delta: float) -> list[tuple[list[Counts], float]]:
    """Return runs of counts with nearly the same radius, each with the largest of its radii."""
    radius = {c: deviation_radius(c.n_x, c.n_y, kernel, delta) for c in admissible}
    runs: list[list[Counts]] = []
    for counts in sorted(admissible, key=lambda c: (radius[c], c.n_moved)):
        if not runs or radius[counts] > (1 + ALIKE) * radius[runs[-1][0]]:
            runs.append([])
        runs[-1].append(counts)
    return [(sorted(run, key=lambda c: (c.n_moved, c.n_moved_of_x)), radius[run[-1]]) for run in runs]


def _ends(parts: tuple[CountedBounds, ...], kernel: Kernel) -> tuple[float, float]:
    """Return the union of the intervals of all counts, within what a root MMD can be."""
    kappa, nonnegative = kernel_bound(kernel)
    largest = math.sqrt((2 if nonnegative else 4) * kappa)
    low = min(math.sqrt(max(part.lower, 0.0)) - part.radius for part in parts)
    high = max(math.sqrt(max(part.upper, 0.0)) + part.radius for part in parts)
    return max(low, 0.0), min(high, largest)
