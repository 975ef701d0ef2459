r"""Confidence intervals that hold at any sample size: proved bounds and a radius for chance.

Two sources of doubt add up: which rows are misfiled (the bounds), and that the true groups are but
samples (the radius).

How much the rows of the true groups can vary, whichever rows are misfiled, follows from the sums of one pass.
With S_X the sum of k over pairs of distinct rows of X, and k at most kappa and never negative, the variance
of the mean embeddings of true groups of n_X and n_Y rows is estimated by at most

.. math::
    \kappa \Big(\frac{1}{n_X} + \frac{1}{n_Y}\Big) - w_X S_X - w_Y S_Y, \qquad
    w = \frac{1}{n^2 (n - 1)} .

Rows B that move from Y to X add 2 sum_B k(b, X) + S_B to S_X, and take 2 sum_B k(b, Y - b) - S_B from S_Y.
So the least of what is subtracted is at least a sum of the smallest scores. Rows that move both ways share
pairs, each at most kappa.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from mmdbounds.checks import (
    check_chance,
    check_flag,
    check_progress,
    check_seed,
)
from mmdbounds.contamination import Contamination, as_contamination
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.holdout import Kept, hold_out
from mmdbounds.inference.radii import deviation_radius, kernel_bound, variance_radius
from mmdbounds.kernels import Kernel, kernel_names, takes_bandwidth
from mmdbounds.knowledge import refuse_known
from mmdbounds.objective import GroupSums
from mmdbounds.problem import Bandwidth, KernelLike, KernelOptions, compares, comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.results import ConfidenceInterval, CountedBounds
from mmdbounds.search import Method, Sharp, Task, as_method
from mmdbounds.search.protocol import check_exact_count
from mmdbounds.sums.bandwidth import median_factor
from mmdbounds.tables import Group, as_groups
from mmdbounds.words.phrases import rows

ENOUGH = Sharp(gap=0.02)  # proofs that end where what they leave open no longer matters beside the radius
ALIKE = 0.01  # counts whose radii differ by less, relatively, are searched together and share the largest

ON_THESE_ROWS = "The bandwidth was chosen on these rows, so the coverage is not proved."
NOT_SAID = "It was not stated that the kernel was fixed before these rows were seen (`fixed_kernel=True`)."
SCALED_HERE = "The columns were scaled by these rows, or filled in by them, so the coverage is not proved."
NOT_CERTIFIED = "The bounds are values that labellings reach; that none lies beyond is not proved."


@compares("estimator")
def confidence_interval(
    X: Any,
    Y: Any,
    epsilon: float | Contamination,
    *,
    level: float = 0.95,
    fixed_kernel: bool = False,
    holdout: float | None = None,
    exactly: bool | None = None,
    method: str | Method = ENOUGH,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[KernelOptions],
) -> ConfidenceInterval:
    r"""Interval for the root MMD of the two populations that holds at any sample size.

    .. math::
        \left[\max(0, \sqrt{L} - r),\ \sqrt{U} + r\right]

    with L and U proved bounds on the squared MMD (biased) of the true samples and r the radius of
    `variance_radius`, for the largest variance that any misfiling leaves; the union over all counts of
    misfiled rows, each with its own sizes.

    Parameters
    ----------
    X, Y, epsilon
        As in `mmd_bounds`.
    level : float, default=0.95
        The confidence, 1 - delta. Where an audit or a prevalence limits the number misfiled, its error is
        part of delta, so that its own confidence must be higher.
    kernel, bandwidth
        As in `mmd_bounds`; the kernel must be bounded.
    fixed_kernel : bool, default=False
        Your word that kernel, bandwidth and scaling of the columns were fixed before anybody looked at these
        rows. Goes with a number for `bandwidth` or a kernel object.
    holdout : float, optional
        Share of all rows to set aside, drawn at random without looking at the groups. The median
        bandwidth is that of these rows; the interval rests on the others. As it is unknown how many misfiled
        rows are among those set aside, every number is considered.
    exactly : bool, optional
        Whether exactly m rows are misfiled; by default at most m, as in `mmd_bounds`.
    method : str or method object, default=Sharp(gap=0.02)
        The search; one that proves nothing gives an approximate interval.
    rng : int or Generator, optional
        Seed of the search and of `holdout`, to be chosen before the result is seen.
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
    refuse_known(X, Y, "confidence_interval")
    how = comparison("confidence_interval", options, estimator="biased")
    _check_choice(how.kernel, how.bandwidth, fixed, holdout)
    seed, contamination = check_seed(rng), as_contamination(epsilon, exactly)
    delta = _left_to_chance(level, contamination)
    check_exact_count(search, contamination)
    kept = _kept(X, Y, how.kernel, holdout, seed, how.working_memory)
    problem = pose(kept.X, kept.Y, replace(how, kernel=kept.kernel))
    kernel_bound(problem.kernel)
    before = contamination.admissible(*kept.n_before)
    admissible = problem.checked_counts(kept.counts(before), search.check)
    with Meter("pass", "search", show=progress) as meter:
        totals = problem.one_pass(meter)
        meter.phase("search")
        task = Task(totals, admissible, "biased", seed, meter)
        parts, is_certified = _parts(search, task, problem.kernel, delta)
    missing = _missing(
        problem.X, _is_median(kept.kernel, how.bandwidth), fixed or kept.n_held > 0, is_certified
    )
    ends = _ends(parts, problem.kernel)
    return ConfidenceInterval(
        low=ends[0],
        high=ends[1],
        level=level,
        label="approximate" if missing else "proved",
        why=missing or (_ground(kept),),
        n_held_out=kept.n_held,
        parts=parts,
        **count_fields(before, admissible, contamination),
        **problem.group_fields(),
        provenance=problem.provenance(
            totals,
            method=search.name,
            options={**search.options(), "fixed_kernel": fixed, "holdout": holdout},
            seed=seed if search.is_random or kept.n_held else None,
            n_pairs=meter.n_pairs,
            seconds=time.perf_counter() - started,
            misfiling=contamination.stated(),
        ),
    )


def _left_to_chance(level: float, contamination: Contamination) -> float:
    """Return the error that is left once a limit on the number misfiled has had its share."""
    delta = 1 - level - contamination.beta
    if delta < 1e-12:  # nothing but rounding is left
        sure = contamination.confidence
        msg = f"`level` must be below the confidence of the number misfiled; got {level:g} and {sure:g}."
        raise MmdBoundsError(msg)
    return delta


def count_fields(
    before: list[Counts], admissible: list[Counts], contamination: Contamination
) -> dict[str, Any]:
    """Return the fields on how many rows are misfiled; `before` rows were held out, and after."""
    moved = [c.n_moved for c in admissible]
    return {
        "n_moved_range": (min(moved), max(moved)),
        "n_moved_of_x": max(c.n_moved_of_x for c in admissible),
        "exactly": bool(contamination.exactly),
        "epsilon": float(max(c.epsilon for c in before)),
    }


def _check_choice(kernel: KernelLike, bandwidth: Bandwidth, fixed: bool, holdout: float | None) -> None:
    """Refuse statements about the kernel that contradict each other."""
    is_median = _is_median(kernel, bandwidth)
    if holdout is not None and not (is_median and bandwidth == "median"):
        known = ", ".join(map(repr, kernel_names("bandwidth")))
        msg = f"`holdout` chooses a median bandwidth, so `kernel` must be one of {known} without a bandwidth."
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
    """Return whether these rows are to choose the bandwidth."""
    return takes_bandwidth(kernel) and median_factor(bandwidth) is not None


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
    for counts, radius in alike(task.totals, task.admissible, kernel, delta):
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


def alike(
    totals: GroupSums, admissible: list[Counts], kernel: Kernel, delta: float
) -> list[tuple[list[Counts], float]]:
    """Return counts of consecutive sizes with nearly the same radius, each run with its largest."""
    by_size: dict[int, list[Counts]] = {}
    for counts in sorted(admissible, key=lambda c: (c.n_x, c.n_moved)):
        by_size.setdefault(counts.n_x, []).append(counts)
    runs: list[tuple[list[Counts], list[float]]] = []
    for same_size in by_size.values():
        radius = _radius(totals, same_size, kernel, delta)
        if not runs or max(radius, *runs[-1][1]) > (1 + ALIKE) * min(radius, *runs[-1][1]):
            runs.append(([], []))
        runs[-1][0].extend(same_size)
        runs[-1][1].append(radius)
    return [(sorted(run, key=lambda c: (c.n_moved, c.n_moved_of_x)), max(radii)) for run, radii in runs]


def _radius(totals: GroupSums, same_size: list[Counts], kernel: Kernel, delta: float) -> float:
    """Return the radius for true groups of one size, whichever rows are misfiled."""
    (kappa, nonnegative), n_x, n_y = kernel_bound(kernel), same_size[0].n_x, same_size[0].n_y
    if not nonnegative or min(n_x, n_y) < 2:
        return deviation_radius(n_x, n_y, kernel, delta)
    return variance_radius(largest_variance(totals, same_size, kappa), n_x, n_y, kernel, delta)


def largest_variance(totals: GroupSums, same_size: list[Counts], kappa: float) -> float:
    """Return a number that the variance of the true samples, V_X / n_X + V_Y / n_Y, does not exceed.

    All counts leave true groups of the same sizes.
    """
    t, p, n_x, n_y = totals, totals.p, same_size[0].n_x, same_size[0].n_y
    w_x, w_y = (1 / (n**2 * (n - 1)) for n in (n_x, n_y))
    to_x, to_y = t.to_x.copy(), t.to_y.copy()
    to_x[:p] -= t.diagonal[:p]
    to_y[p:] -= t.diagonal[p:]
    scores = 2 * (w_x * to_x - w_y * to_y)  # of rows that enter X; rows that leave it have the opposite
    entering, leaving = (np.append(0.0, np.cumsum(np.sort(each))) for each in (scores[p:], -scores[:p]))
    m, m_d = (np.array(each) for each in zip(*((c.n_moved, c.n_moved_of_x) for c in same_size), strict=True))
    moved = float((entering[m] + leaving[m_d] - 2 * (w_x + w_y) * kappa * m * m_d).min())
    within = float(w_x * to_x[:p].sum() + w_y * to_y[p:].sum()) + moved
    # Nothing that is subtracted is negative in truth. A mean of kernel values is off by the margin.
    largest = kappa * (1 / n_x + 1 / n_y)
    lost = t.value_margin * (p + t.q) ** 2 * (w_x + w_y)
    return min(max(largest - within + lost, 0.0), largest)


def _ends(parts: tuple[CountedBounds, ...], kernel: Kernel) -> tuple[float, float]:
    """Return the union of the intervals of all counts, within what a root MMD can be."""
    kappa, nonnegative = kernel_bound(kernel)
    largest = math.sqrt((2 if nonnegative else 4) * kappa)
    low = min(math.sqrt(max(part.lower, 0.0)) - part.radius for part in parts)
    high = max(math.sqrt(max(part.upper, 0.0)) + part.radius for part in parts)
    return max(low, 0.0), min(high, largest)
