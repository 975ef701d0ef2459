"""One test over several kernels or bandwidths, valid under misfiling."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Unpack

import numpy as np

from mmdbounds.checks import (
    check_labellings,
    check_level,
    check_progress,
    check_seed,
    check_share,
)
from mmdbounds.contamination import Contamination, as_contamination
from mmdbounds.costs import together
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.floor_pvalues import CountOutcome
from mmdbounds.inference.several_kernels import N_SCALING, Member, Several, Together
from mmdbounds.inference.units import Units, known_units
from mmdbounds.inference.worst_case import WorstCase, expected_work, is_tight
from mmdbounds.kernels import RBF, Kernel, Precomputed
from mmdbounds.problem import Bandwidth, ComparisonOptions, KernelLike, Problem, compares, comparison, pose
from mmdbounds.progress import Meter, Phase
from mmdbounds.results import AggregatedResult, CountTest, KernelPart, Provenance
from mmdbounds.sums.bandwidth import median_distance, resolve_kernel
from mmdbounds.sums.protocol import Float64s
from mmdbounds.words.testing import conditions

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # bandwidths by default, as multiples of the median distance


@compares("kernel", "bandwidth")
def aggregated_test(
    X: Any,
    Y: Any,
    epsilon: float | Contamination,
    *,
    kernels: Sequence[KernelLike] | None = None,
    bandwidths: Sequence[Bandwidth] | None = None,
    n_permutations: int = 999,
    stop_after: int | None = None,
    exactly: bool | None = None,
    level: float = 0.05,
    beta: float = 0.0,
    verified: tuple[Any, Any] | None = None,
    unit: tuple[Units, Units] | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> AggregatedResult:
    """Test with several kernels at once whether two groups differ, when rows of X were filed under Y.

    Parameters
    ----------
    X, Y, epsilon, verified, estimator, backend, dtype, working_memory, progress
        As in `mmd_bounds`; all kernels share the memory.
    kernels : sequence, optional
        Names, kernel objects or functions, as `kernel` in `mmd_bounds`; a name has its median bandwidth.
        They must not have been chosen by the labels of these rows.
    bandwidths : sequence of float, optional
        Bandwidths of the RBF kernel, in place of `kernels`. By default the median distance times
        1/4, 1/2, 1, 2 and 4.
    n_permutations, stop_after, exactly, level, beta, unit, rng
        As in `robust_test`. The decision at the level stays open more often, because proofs take one kernel
        at a time.

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
    n_permutations, stop_after = check_labellings(n_permutations, stop_after)
    level = check_level(level)
    beta, seed = check_share(beta, "beta"), check_seed(rng)
    check_progress(progress)
    contamination = as_contamination(epsilon, exactly)
    beta += contamination.beta
    how = comparison("aggregated_test", options, kernel=RBF(1.0), bandwidth="median")
    X, Y, known, units_note = known_units(X, Y, contamination, verified, unit, None, seed)
    problem = pose(X, Y, how, known)
    chosen = _resolved(kernels, bandwidths, problem.pooled, problem.working_memory)
    admissible = problem.checked_counts(problem.counts(contamination))
    memory = max(1.0, problem.working_memory / len(chosen))
    posed = [dataclasses.replace(problem, kernel=kernel, working_memory=memory) for kernel in chosen]
    with Meter(partial(_expected, posed, admissible, n_permutations), show=progress) as meter:
        members: list[Member] = []
        for one in posed:
            meter.phase("kernel", len(members), len(posed))
            worst = WorstCase(one, admissible, n_permutations, seed, meter, stop_after=stop_after)
            members.append(Member(one, worst, seed))
        several = Several(members, meter)
        outcomes = several.outcomes(level - beta)
    name = chosen[0].name if len({kernel.name for kernel in chosen}) == 1 else "several"
    made = posed[0].provenance(
        several.members[0].worst.totals,
        method="aggregated test",
        options={"kernels": [{"kernel": k.name, "bandwidth": k.length, **k.options()} for k in chosen]},
        seed=seed,
        n_pairs=meter.n_pairs,
        seconds=time.perf_counter() - started,
        misfiling=contamination.stated(),
    )
    length = chosen[0].length if len(chosen) == 1 else None
    result = _result(
        several,
        outcomes,
        problem=problem,
        admissible=admissible,
        beta=beta,
        contamination=contamination,
        n_permutations=n_permutations,
        units_note=units_note,
        made=dataclasses.replace(made, kernel=name, kernel_options={}, bandwidth=length),
    )
    asked: dict[str, Any] = {"level": level, "stop_after": stop_after}
    return dataclasses.replace(result, **asked, **problem.knowledge_fields(contamination, admissible))


def _expected(posed: list[Problem], admissible: list[Counts], n_permutations: int) -> list[Phase]:
    """Return the phases of the test, with what each is expected to take."""
    every = [expected_work(one, admissible, n_permutations + N_SCALING) for one in posed]
    nulls = together("kernel", (phase for *null, _, _ in every for phase in null))
    return [nulls, *(together(each[0].name, each) for each in zip(*(e[-2:] for e in every), strict=True))]


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
    contamination: Contamination,
    n_permutations: int,
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
        pvalue_as_filed=several.pvalue(observed, filed, several.null_of(filed)),
        counts=tuple(map(_count_test, outcomes)),
        n_admissible=len(admissible),
        parts=tuple(_part(m, own) for m, own in zip(several.members, top.each, strict=True)),
        **several.members[0].worst.null_fields(top.counts),
        n_permutations=n_permutations,
        beta=beta,
        exactly=bool(contamination.exactly),
        epsilon=float(max(c.epsilon for c in admissible)),
        share_of_y=max(c.n_moved for c in admissible) / problem.q,
        **problem.group_fields(),
        conditions=conditions(
            beta,
            of_units=bool(units_note),
            is_exact=several.members[0].worst.null.is_exact,
            at_most=not contamination.exactly,
            known=problem.known.facts,
        ),
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
