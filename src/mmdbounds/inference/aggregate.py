r"""One test over several kernels or bandwidths, valid under misfiling.

A single bandwidth sees differences of its own scale only. Over several, each statistic is put on the scale of
its null and the largest counts,

.. math::
    T = \max_k (T_k - a_k) / s_k, \qquad L = \max_k (L_k - a_k) / s_k \le T,

on the same permutations for all kernels. Proved floors :math:`L_k \le T_k` give :math:`L`, and the share of
permutations whose :math:`T` is no smaller is a valid p-value: the maximum is one statistic, so nothing needs
correcting. Mean :math:`a_k` and standard deviation :math:`s_k` come from the pooled rows and permutations
of their own: taken from those that are counted, they would not treat the true labelling like the others.

The largest of the kernels' floors is a floor of the maximum. It need not be reached by any labelling even if
each of them is by one, because these labellings differ; `is_tight` says whether one comes near.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np

from mmdbounds.checks import (
    check_labellings,
    check_level,
    check_option,
    check_progress,
    check_seed,
    check_share,
)
from mmdbounds.contamination import Contamination, as_contamination
from mmdbounds.costs import together
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.floor_pvalues import CountOutcome
from mmdbounds.inference.minimax import valid_rule
from mmdbounds.inference.permutation import PermutationNull, blind_order
from mmdbounds.inference.units import Units, known_units
from mmdbounds.inference.worst_case import WorstCase, expected_work, is_open, is_tight, tighten
from mmdbounds.kernels import RBF, Kernel, Precomputed
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.problem import Bandwidth, ComparisonOptions, KernelLike, Problem, compares, comparison, pose
from mmdbounds.progress import Meter, Phase
from mmdbounds.results import AggregatedResult, CountTest, KernelPart, Provenance
from mmdbounds.results.provenance import NULL_RULES, NullRule
from mmdbounds.sums.bandwidth import median_distance, resolve_kernel
from mmdbounds.sums.protocol import Float64s
from mmdbounds.words.testing import conditions

N_SCALING, STREAM = 200, 13
"""Permutations for means and standard deviations, and what keeps them apart from those that are counted."""


class Member:
    """One of the kernels: its floors, and its statistic on the scale of its null; see `WorstCase`."""

    def __init__(
        self,
        problem: Problem,
        admissible: list[Counts],
        n_permutations: int,
        seed: int,
        meter: Meter,
        null: NullRule = "labellings",
        stop_after: int | None = None,
    ) -> None:
        self.problem = problem
        which: dict[str, Any] = {"null": null, "stop_after": stop_after}
        self.worst = WorstCase(problem, admissible, n_permutations, seed, meter, **which)
        sizes = sorted({problem.p, *(counts.n_x for counts in self.worst.considered)})
        null_of, means, deviations = self.worst.null, self.worst.null.means, self.worst.null.deviations
        if not null_of.is_exact:  # all labellings together treat none of them differently
            order, others = blind_order(problem), np.random.default_rng([seed, STREAM])
            apart = PermutationNull(self.worst.totals, problem.estimator, order, N_SCALING, others)
            drawn, is_counted = apart.values(sizes), [*map(null_of.is_counted, range(len(sizes)))]
            means = np.where(is_counted, means, drawn.mean(axis=0))
            deviations = np.where(is_counted, deviations, drawn.std(axis=0))
        self.centre = dict(zip(sizes, means.tolist(), strict=True))
        self.spread = dict(zip(sizes, deviations.tolist(), strict=True))

    def standardised(self, values: Any, counts: Counts) -> Float64s:
        """Return statistics in standard deviations of the null."""
        spread = self.spread[counts.n_x]
        if spread <= self.worst.tolerance(counts):  # a constant kernel tells no two labellings apart
            return np.zeros(np.shape(values))
        return np.asarray((values - self.centre[counts.n_x]) / spread)

    def value(self, other: CountOutcome) -> float:
        """Return this kernel's statistic for a labelling that was found with another kernel."""
        f = Quadratic(self.worst.totals, other.counts, self.problem.estimator)
        labelling, found = Labelling(f), other.found
        of_x = found.rows_of_x - labelling.active.start
        labelling.move(np.concatenate([of_x, labelling.n_active_x + found.rows]))
        return labelling.value()


@dataclass(frozen=True, eq=False)
class Together:
    """What is known of one count, all kernels together; see `CountOutcome`."""

    counts: Counts
    each: tuple[CountOutcome, ...]  # what each kernel says by itself
    floor: float  # the largest standardised floor: no labelling has a smaller maximum
    value: float  # the smallest maximum over the labellings found
    pvalue: float
    attained: float
    is_proved: bool  # whether a kernel has a proof; others are left out of the floor


class Several:
    """The p-values of all admissible counts, all kernels together."""

    def __init__(self, members: list[Member], meter: Meter | None = None) -> None:
        self.members, self._meter = members, meter or Meter()

    def outcomes(self, level: float | None = None) -> list[Together]:
        """Return what is known of each count, tight where it matters; as `WorstCase.outcomes` does."""
        considered = self.members[0].worst.considered
        found: list[Together] = []
        for counts in considered:
            self._meter.phase("count", len(found), len(considered))
            found.append(self.outcome(counts))
        found = self._looked_at(found, level)
        while not self._is_drawn(max(found, key=lambda each: each.pvalue)):
            for member in self.members:
                member.worst.draw()
            found = self._looked_at([self._together(o.counts, list(o.each)) for o in found], level)
        return found

    def _looked_at(self, found: list[Together], level: float | None) -> list[Together]:
        """Make p-values tighter with the labellings drawn so far."""

        def is_done(outcomes: list[Together]) -> bool:
            return is_tight(outcomes) and not self._open(outcomes) and not is_open(outcomes, level)

        self._meter.phase("worst count")
        for may_sharpen in (False, True):  # as `WorstCase` does
            for member in self.members:
                member.worst.may_sharpen = may_sharpen
            found = tighten(found, self._tightened, max, is_done)
        return found

    def _is_drawn(self, known: Together) -> bool:
        """Return whether the p-value of a count needs no more labellings."""
        compared = self.compared_of(known.counts)
        return self.members[0].worst.is_drawn_for_another(known.floor, known.counts, compared)

    def _open(self, outcomes: Sequence[Together]) -> bool:
        """Return whether the count with the largest p-value may yet be compared with less."""
        top = max(outcomes, key=lambda each: each.pvalue)
        return all(member.worst.can_sharpen(top) for member in self.members)

    def outcome(self, counts: Counts) -> Together:
        """Return what is known of one count from cheap proofs."""
        return self._together(counts, [member.worst.outcome(counts) for member in self.members])

    def null_of(self, counts: Counts) -> Float64s:
        """Return the maximum over the kernels on random labellings of these sizes."""
        nulls = [m.standardised(m.worst.null_of(counts), counts) for m in self.members]
        return np.asarray(np.max(nulls, axis=0))

    def compared_of(self, counts: Counts) -> Float64s:
        """Return what a floor is compared with: the same, or less.

        The largest floor is that of some kernel, which does not exceed what filing leaves of that one.
        """
        nulls = [m.standardised(m.worst.compared_of(counts), counts) for m in self.members]
        return np.asarray(np.max(nulls, axis=0))

    def at(self, values: Sequence[float], counts: Counts) -> float:
        """Return the maximum for one statistic of each kernel, each lowered by what ties are worth."""
        pairs = zip(self.members, values, strict=True)
        return max(float(m.standardised(value - m.worst.tolerance(counts), counts)) for m, value in pairs)

    def pvalue(self, level: float, counts: Counts, null: Float64s) -> float:
        """Return the share of labellings, the true one included, for which `null` is no smaller."""
        return self.members[0].worst.pvalue_of_another(level, counts, null)

    def _values(self, one: CountOutcome, each: list[CountOutcome]) -> list[float]:
        """Return every kernel's statistic for the labelling that one of them found."""
        pairs = zip(self.members, each, strict=True)
        return [own.found.value if own is one else member.value(one) for member, own in pairs]

    def _tightened(self, known: Together) -> Together:
        """Compare this count with less or, if that does not help, prove more where it raises the floor."""
        if self._open([known]):
            which = self.null_of(known.counts) >= known.floor
            for member in self.members:
                member.worst.lower_null([known.counts.n_x], which)
            last, known = known, self._together(known.counts, list(known.each))
            if known.pvalue < last.pvalue or is_tight([known]):
                return known
        each = list(known.each)
        for k, member in enumerate(self.members):
            if float(member.standardised(each[k].found.value, known.counts)) > known.floor:
                each[k] = member.worst.tightened(each[k])
        return self._together(known.counts, each)

    def _together(self, counts: Counts, each: list[CountOutcome]) -> Together:
        is_proved = any(one.is_proved for one in each)
        floors = [one.floor if one.is_proved or not is_proved else -np.inf for one in each]
        floor = self.at(floors, counts)
        value = min(self.at(self._values(one, each), counts) for one in each)
        return Together(
            counts=counts,
            each=tuple(each),
            floor=floor,
            value=value,
            pvalue=self.pvalue(floor, counts, self.compared_of(counts)),
            attained=self.pvalue(value, counts, self.compared_of(counts)),
            is_proved=is_proved,
        )


FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # bandwidths by default, as multiples of the median distance


@compares("kernel", "bandwidth")
def aggregated_test(
    X: Any,
    Y: Any,
    epsilon: float | tuple[float, float] | Contamination,
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
    null: NullRule = "minimax",
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
    n_permutations, stop_after, exactly, level, beta, unit, null, rng
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
    check_option(null, "null", NULL_RULES)
    contamination = as_contamination(epsilon, exactly)
    beta += contamination.beta
    how = comparison("aggregated_test", options, kernel=RBF(1.0), bandwidth="median")
    X, Y, known, units_note = known_units(X, Y, contamination, verified, unit, None, seed)
    problem = pose(X, Y, how, known)
    chosen = _resolved(kernels, bandwidths, problem.pooled, problem.working_memory)
    admissible = problem.checked_counts(problem.counts(contamination))
    null = valid_rule(null, admissible, beta)
    memory = max(1.0, problem.working_memory / len(chosen))
    posed = [dataclasses.replace(problem, kernel=kernel, working_memory=memory) for kernel in chosen]
    with Meter(partial(_expected, posed, admissible, n_permutations), show=progress) as meter:
        members: list[Member] = []
        for one in posed:
            meter.phase("kernel", len(members), len(posed))
            members.append(Member(one, admissible, n_permutations, seed, meter, null, stop_after))
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
    )
    length = chosen[0].length if len(chosen) == 1 else None
    result = _result(
        several,
        outcomes,
        problem=problem,
        admissible=admissible,
        beta=beta,
        exactly=bool(contamination.exactly),
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
    exactly: bool,
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
        exactly=exactly,
        epsilon=float(max(c.epsilon for c in admissible)),
        share_of_y=max(c.n_moved for c in admissible) / problem.q,
        **problem.group_fields(),
        conditions=conditions(
            beta, of_units=bool(units_note), is_exact=several.members[0].worst.null.is_exact
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
