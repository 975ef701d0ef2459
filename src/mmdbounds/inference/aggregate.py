r"""One test over several kernels or bandwidths, valid under misfiling.

A single bandwidth sees differences of its own scale only. Over several, each statistic is put on the scale of
its null and the largest counts,

.. math::
    T = \max_k (T_k - a_k) / s_k, \qquad L = \max_k (L_k - a_k) / s_k \le T,

on the same permutations for all kernels. Proved floors :math:`L_k \le T_k` give :math:`L`, and the share of
permutations whose :math:`T` is no smaller is a valid p-value: the maximum is one statistic, so nothing needs
correcting. Mean :math:`a_k` and standard deviation :math:`s_k` come from the pooled rows and permutations
of their own: taken from those that are counted, they would not treat the true labelling like the others.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from mmdbounds.checks import (
    MOST_PERMUTATIONS,
    check_count,
    check_flag,
    check_no_weights,
    check_progress,
    check_seed,
    check_share,
)
from mmdbounds.contamination import Contamination, Counts, as_contamination
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.aggregated import AggregatedResult, KernelPart
from mmdbounds.inference.outcome import CountTest
from mmdbounds.inference.robust import checked_counts, provenance
from mmdbounds.inference.sentences import conditions
from mmdbounds.inference.several import Member, Several, Together, is_tight
from mmdbounds.inference.units import Units, by_units
from mmdbounds.inference.worst_case import CountOutcome
from mmdbounds.kernels import RBF, Kernel, Precomputed
from mmdbounds.problem import Bandwidth, DType, KernelLike, Problem, pose
from mmdbounds.progress import Meter
from mmdbounds.results import Estimator, Provenance
from mmdbounds.sums.bandwidth import median_distance, resolve_kernel
from mmdbounds.sums.protocol import Float64s

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Bandwidths by default, as multiples of the median distance."""


def aggregated_test(
    X: Any,
    Y: Any,
    epsilon: float | tuple[float, float] | Contamination,
    *,
    kernels: Sequence[KernelLike] | None = None,
    bandwidths: Sequence[Bandwidth] | None = None,
    n_permutations: int = 999,
    at_most: bool = True,
    beta: float = 0.0,
    unit: tuple[Units, Units] | None = None,
    sample_weight: None = None,
    estimator: Estimator = "unbiased",
    backend: str = "auto",
    dtype: DType = "float64",
    working_memory: float = 1024,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
) -> AggregatedResult:
    """Test with several kernels at once whether two groups differ, when rows of X were filed under Y.

    Parameters
    ----------
    X, Y, epsilon, estimator, backend, dtype, working_memory, progress
        As in `mmd_bounds`; all kernels share the memory.
    kernels : sequence, optional
        Names, kernel objects or functions, as `kernel` in `mmd_bounds`; a name has its median bandwidth.
        They must not have been chosen by the labels of these rows.
    bandwidths : sequence of float, optional
        Bandwidths of the RBF kernel, in place of `kernels`. By default the median distance times
        1/4, 1/2, 1, 2 and 4.
    n_permutations, at_most, beta, unit, sample_weight, rng
        As in `robust_test`.

    Returns
    -------
    AggregatedResult
        The worst-case p-value over all kernels together, and what each of them says.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(60, 2)), rng.normal(1, 1, size=(60, 2))
    >>> aggregated_test(X, Y, epsilon=0.05, rng=0).pvalue
    0.001
    """
    started = time.perf_counter()
    n_permutations = check_count(n_permutations, "n_permutations", least=1, most=MOST_PERMUTATIONS)
    at_most, beta, seed = check_flag(at_most, "at_most"), check_share(beta, "beta"), check_seed(rng)
    check_progress(progress)
    check_no_weights(sample_weight)
    contamination = as_contamination(epsilon)
    X, Y, units_note = by_units(X, Y, unit, None, seed)
    shared = {"estimator": estimator, "backend": backend, "dtype": dtype, "working_memory": working_memory}
    problem = pose(X, Y, kernel=RBF(1.0), bandwidth="median", **shared)  # type: ignore[arg-type]
    chosen = _resolved(kernels, bandwidths, problem.pooled, problem.working_memory)
    admissible = checked_counts(problem, contamination, at_most=at_most)
    memory = max(1.0, problem.working_memory / len(chosen))
    posed = [dataclasses.replace(problem, kernel=kernel, working_memory=memory) for kernel in chosen]
    with Meter(2 * len(posed) * problem.n_pairs, show=progress) as meter:
        several = Several([Member(one, admissible, n_permutations, seed, meter) for one in posed])
        outcomes = several.outcomes()
    made = provenance("aggregated test", posed[0], several.members[0].worst, meter, seed, 0.0)
    return _result(
        several,
        outcomes,
        problem=problem,
        admissible=admissible,
        beta=beta,
        at_most=at_most,
        units_note=units_note,
        made=_named(made, chosen, time.perf_counter() - started),
    )


def _resolved(kernels: Any, bandwidths: Any, pooled: Float64s, memory: float) -> list[Kernel]:
    """Return the kernels, each with its bandwidth, from the pooled rows alone."""
    if kernels is not None and bandwidths is not None:
        msg = "`kernels` must be given without `bandwidths`, which are those of the RBF kernel; got both."
        raise MmdBoundsError(msg)
    if kernels is None and bandwidths is None:
        median = median_distance(pooled, working_memory=memory)
        return [RBF(factor * median) for factor in FACTORS]
    name, given = ("bandwidths", bandwidths) if kernels is None else ("kernels", kernels)
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) == 0:
        msg = f"`{name}` must be a list with at least one entry; got {given!r}."
        raise MmdBoundsError(msg)
    if kernels is None:
        return [resolve_kernel("rbf", bandwidth, pooled, memory) for bandwidth in given]
    resolved = [resolve_kernel(kernel, "median", pooled, memory) for kernel in given]
    if any(isinstance(kernel, Precomputed) for kernel in resolved):
        msg = "`kernels` must be computed from the rows, which they share; got 'precomputed'."
        raise MmdBoundsError(msg)
    return resolved


def _named(made: Provenance, chosen: list[Kernel], seconds: float) -> Provenance:
    """Return the provenance with all kernels in its options."""
    about = [{"kernel": k.name, "bandwidth": k.length, **k.options()} for k in chosen]
    name = chosen[0].name if len({kernel.name for kernel in chosen}) == 1 else "several"
    length = chosen[0].length if len(chosen) == 1 else None
    return dataclasses.replace(
        made, options={"kernels": about}, kernel=name, kernel_options={}, bandwidth=length, seconds=seconds
    )


def _part(member: Member, outcome: CountOutcome) -> KernelPart:
    """Return what one kernel says of a count as plain numbers."""
    kernel, found, counts = member.problem.kernel, outcome.found, outcome.counts
    return KernelPart(
        kernel=kernel.name,
        kernel_options=kernel.options(),
        bandwidth=kernel.length,
        lower=found.value,
        certified=found.certified,
        centre=member.centre[counts.n_x],
        spread=member.spread[counts.n_x],
        standardised=(
            None if found.certified is None else float(member.standardised(found.certified, counts))
        ),
    )


def _result(
    several: Several,
    outcomes: list[Together],
    *,
    problem: Problem,
    admissible: list[Counts],
    beta: float,
    at_most: bool,
    units_note: str,
    made: Provenance,
) -> AggregatedResult:
    """Return what was found as plain numbers."""
    top = max(outcomes, key=lambda outcome: (outcome.pvalue, -outcome.floor))  # as `robust_test`
    filed = Counts(0, 0, problem.p, problem.q)
    observed = several.at([member.worst.observed for member in several.members], filed)
    null = several.null_of(top.counts)
    return AggregatedResult(
        statistic=top.floor,
        pvalue=min(1.0, top.pvalue + beta),
        is_valid=all(o.is_proved for o in outcomes) and len(outcomes) == len(admissible),
        is_tight=is_tight(outcomes),
        n_moved=top.counts.n_moved,
        n_moved_of_x=top.counts.n_moved_of_x,
        null=null,
        observed=observed,
        pvalue_as_filed=several.pvalue(observed, filed),
        counts=tuple(map(_count_test, outcomes)),
        n_admissible=len(admissible),
        parts=tuple(_part(m, own) for m, own in zip(several.members, top.each, strict=True)),
        n_permutations=len(null),
        beta=beta,
        at_most=at_most,
        epsilon=float(max(c.epsilon for c in admissible)),
        share_of_y=max(c.n_moved for c in admissible) / problem.q,
        n_samples_X=problem.p,
        n_samples_Y=problem.q,
        name_x=problem.X.name,
        name_y=problem.Y.name,
        conditions=conditions(beta, of_units=bool(units_note)),
        units_note=units_note,
        provenance=made,
    )


def _count_test(outcome: Together) -> CountTest:
    return CountTest(
        n_moved=outcome.counts.n_moved,
        n_moved_of_x=outcome.counts.n_moved_of_x,
        lower=outcome.value,
        certified=outcome.floor if outcome.is_proved else None,
        pvalue=outcome.pvalue,
        attained=outcome.attained,
    )
