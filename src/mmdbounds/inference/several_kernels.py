r"""The p-values of several kernels together, count by count.

A single bandwidth sees differences of its own scale only. Over several, each statistic is put on the scale of
its null and the largest counts,

.. math::
    T = \max_k (T_k - a_k) / s_k, \qquad L = \max_k (L_k - a_k) / s_k \le T,

on the same permutations for all kernels. Proved floors :math:`L_k \le T_k` give :math:`L`, and the share of
permutations whose :math:`T` is no smaller is a valid p-value: the maximum is one statistic, so nothing needs
correcting. Mean :math:`a_k` and standard deviation :math:`s_k` come from the pooled rows and permutations
of their own: taken from those that are counted, they would not treat the true labelling like the others.

The largest of the kernels' floors is a floor of the maximum. It need not be reached by any labelling even if
each of them is by one, because these labellings differ. Where that matters, a combination of the kernels
proves more (`joint_floor`); `is_tight` says whether a labelling comes near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.floor_pvalues import CountOutcome
from mmdbounds.inference.joint_floor import JointFloor, fits, joint_floor
from mmdbounds.inference.permutation import PermutationNull, blind_order
from mmdbounds.inference.worst_case import WorstCase, is_open, is_tight, tighten
from mmdbounds.kernels import Kernel, Precomputed
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.problem import Problem, is_list
from mmdbounds.progress import Meter
from mmdbounds.results import CountTest, KernelPart
from mmdbounds.search.protocol import Found
from mmdbounds.sums.bandwidth import resolve_kernel
from mmdbounds.sums.protocol import Float64s

N_SCALING, STREAM = 200, 13
"""Permutations for means and standard deviations, and what keeps them apart from those that are counted."""


def resolved_kernels(kernel: Any, bandwidth: Any, problem: Problem) -> list[Kernel]:
    """Return the kernels of a list of kernels or of bandwidths, each with its length, by the pooled rows."""
    kernels, bandwidths = (list(each) if is_list(each) else [each] for each in (kernel, bandwidth))
    if not (kernels and bandwidths):
        msg = f"`{'bandwidth' if kernels else 'kernel'}` must name at least one; got an empty list."
        raise MmdBoundsError(msg)
    if len(kernels) > 1 and len(bandwidths) > 1:
        msg = "`kernel` must be a single one beside several bandwidths; got two lists. Leave one of them out."
        raise MmdBoundsError(msg)
    every = [(one, length) for one in kernels for length in bandwidths]
    resolved = [resolve_kernel(*each, problem.pooled, problem.working_memory) for each in every]
    if any(isinstance(one, Precomputed) for one in resolved):
        msg = "`kernel` must be computed from the rows if there are several; got 'precomputed'. Name one."
        raise MmdBoundsError(msg)
    return resolved


def posed_for_each(problem: Problem, kernels: Sequence[Kernel]) -> list[Problem]:
    """Return the problem with each of the kernels, which share the memory."""
    memory = max(1.0, problem.working_memory / len(kernels))
    return [replace(problem, kernel=kernel, working_memory=memory) for kernel in kernels]


class Member:
    """One of the kernels: its floors, and its statistic on the scale of its null; see `WorstCase`."""

    def __init__(self, problem: Problem, worst: WorstCase, seed: int) -> None:
        self.problem, self.worst = problem, worst
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

    def part(self, outcome: CountOutcome) -> KernelPart:
        """Return what this kernel says of a count as plain numbers."""
        kernel, found, counts = self.problem.kernel, outcome.found, outcome.counts
        proved = found.certified
        return KernelPart(
            kernel=kernel.name,
            kernel_options=kernel.options(),
            bandwidth=kernel.length,
            lower=found.value,
            certified=proved,
            centre=self.centre[counts.n_x],
            spread=self.spread[counts.n_x],
            standardised=None if proved is None else float(self.standardised(proved, counts)),
        )

    def value(self, counts: Counts, found: Found) -> float:
        """Return this kernel's statistic for a labelling that was found with another kernel."""
        f = Quadratic(self.worst.totals, counts, self.problem.estimator)
        labelling = Labelling(f)
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
    joint: JointFloor | None = None  # what combinations of kernels prove, where that was looked for

    def as_test(self) -> CountTest:
        """Return this as plain numbers."""
        return CountTest(
            n_moved=self.counts.n_moved,
            n_moved_of_x=self.counts.n_moved_of_x,
            lower=self.value,
            certified=self.floor if self.is_proved else None,
            pvalue=self.pvalue,
            attained=self.attained,
        )


class Several:
    """The p-values of all admissible counts, all kernels together."""

    def __init__(
        self,
        posed: Sequence[Problem],
        admissible: list[Counts],
        n_permutations: int,
        seed: int,
        meter: Meter,
    ) -> None:
        self.members, self._meter, self._seed = list[Member](), meter, seed
        for one in posed:
            meter.phase("kernel", len(self.members), len(posed))
            worst = WorstCase(one, admissible, n_permutations, seed, meter)
            self.members.append(Member(one, worst, seed))

    @property
    def first(self) -> WorstCase:
        """The floors and labellings of the first kernel; which labellings, is the same for all."""
        return self.members[0].worst

    def finding(self, outcomes: Sequence[Together], n_admissible: int) -> dict[str, Any]:
        """Return the fields of a result that say what was found at the worst count and as filed."""
        top = max(outcomes, key=lambda outcome: (outcome.pvalue, -outcome.floor))
        filed = Counts(0, 0, self.first.totals.p, self.first.totals.q)
        observed = self.at([member.worst.observed for member in self.members], filed)
        return {
            "statistic": top.floor,
            "null": self.null_of(top.counts),
            **self.first.null_fields(top.counts),
            "n_moved": top.counts.n_moved,
            "n_moved_of_x": top.counts.n_moved_of_x,
            "is_valid": all(each.is_proved for each in outcomes) and len(outcomes) == n_admissible,
            "is_tight": is_tight(outcomes),
            "n_admissible": n_admissible,
            "observed": observed,
            "pvalue_as_filed": self.pvalue(observed, filed, self.null_of(filed)),
            "parts": tuple(member.part(own) for member, own in zip(self.members, top.each, strict=True)),
        }

    def outcomes(self, level: float | None = None) -> list[Together]:
        """Return what is known of each count, tight where it matters; as `WorstCase.outcomes` does."""
        considered = self.first.considered
        found: list[Together] = []
        for counts in considered:
            self._meter.phase("count", len(found), len(considered))
            found.append(self.outcome(counts))

        def is_done(outcomes: list[Together]) -> bool:
            return is_tight(outcomes) and not is_open(outcomes, level)

        self._meter.phase("worst count")
        return tighten(found, self._tightened, is_done)

    def outcome(self, counts: Counts) -> Together:
        """Return what is known of one count from cheap proofs."""
        return self._together(counts, [member.worst.outcome(counts) for member in self.members])

    def null_of(self, counts: Counts) -> Float64s:
        """Return the maximum over the kernels on random labellings of these sizes."""
        nulls = [m.standardised(m.worst.null_of(counts), counts) for m in self.members]
        return np.asarray(np.max(nulls, axis=0))

    def each(self, values: Sequence[float], counts: Counts) -> Float64s:
        """Return the standardised statistics of the kernels, each lowered by what ties are worth."""
        pairs = zip(self.members, values, strict=True)
        return np.array([m.standardised(value - m.worst.tolerance(counts), counts) for m, value in pairs])

    def at(self, values: Sequence[float], counts: Counts) -> float:
        """Return the largest of them."""
        return float(self.each(values, counts).max())

    def pvalue(self, level: float, counts: Counts, null: Float64s) -> float:
        """Return the share of labellings, the true one included, for which `null` is no smaller."""
        return self.first.pvalue_of_another(level, counts, null)

    def _values(self, one: CountOutcome, each: list[CountOutcome]) -> list[float]:
        """Return every kernel's statistic for the labelling that one of them found."""
        pairs = zip(self.members, each, strict=True)
        return [own.found.value if own is one else m.value(one.counts, one.found) for m, own in pairs]

    def _tightened(self, known: Together) -> Together:
        """Prove more of this count where it raises the floor."""
        each = list(known.each)
        for k, member in enumerate(self.members):
            if float(member.standardised(each[k].found.value, known.counts)) > known.floor:
                each[k] = member.worst.tightened(each[k])
        new = self._together(known.counts, each, known.joint)
        if new.joint is not None or is_tight([new]) or not self._may_join(new):
            return new
        return self._together(known.counts, each, self._joined(new))

    def _may_join(self, known: Together) -> bool:
        """Return whether combinations of the kernels may prove more."""
        moves = known.counts.n_moved or known.counts.n_moved_of_x
        return bool(moves) and len(self.members) > 1 and fits(self.members[0].problem)

    def _joined(self, known: Together) -> JointFloor:
        """Return what combinations of the kernels prove of a count."""
        counts, scales = known.counts, []
        for member in self.members:
            tie, spread = member.worst.tolerance(counts), member.spread[counts.n_x]
            is_constant = spread <= tie
            # The combined matrix is proved as it is; its kernel values are off by what those of each are.
            off = max(tie, member.worst.totals.precise.margin)
            scales.append((member.centre[counts.n_x] + off, np.inf if is_constant else spread))
        return joint_floor(
            self.members[0].problem,
            counts,
            [member.worst.totals.precise.sums for member in self.members],
            scales,
            lambda found: self.each([member.value(counts, found) for member in self.members], counts),
            [one.found for one in known.each],
            self._seed,
            self._meter,
        )

    def _together(
        self, counts: Counts, each: list[CountOutcome], joint: JointFloor | None = None
    ) -> Together:
        is_proved = any(one.is_proved for one in each)
        floors = [one.floor if one.is_proved or not is_proved else -np.inf for one in each]
        floor = self.at(floors, counts)
        null = self.null_of(counts)
        value = min(self.at(self._values(one, each), counts) for one in each)
        if joint is not None:
            floor, value = max(floor, joint.floor), min(value, joint.value)
        return Together(
            counts=counts,
            each=tuple(each),
            floor=floor,
            value=value,
            pvalue=self.pvalue(floor, counts, null),
            attained=self.pvalue(value, counts, null),
            is_proved=is_proved,
            joint=joint,
        )
