"""A two-sample test that stays valid when labels are wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
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
from mmdbounds.counts import Counts
from mmdbounds.inference.count_range import all_counts
from mmdbounds.inference.floor_pvalues import CountOutcome
from mmdbounds.inference.several_kernels import (
    Several,
    posed_for_each,
    resolved_kernels,
)
from mmdbounds.inference.units import Units, known_units
from mmdbounds.inference.worst_case import WorstCase, is_tight
from mmdbounds.kernels import RBF, Kernel
from mmdbounds.problem import Problem, TestOptions, compares, comparison, is_list, pose
from mmdbounds.progress import Meter
from mmdbounds.results.provenance import Provenance
from mmdbounds.results.testing import CountTest, RobustTestResult
from mmdbounds.words.testing import conditions


@compares()
def robust_test(
    X: Any,
    Y: Any,
    epsilon: float | Contamination,
    *,
    n_permutations: int = 999,
    exactly: bool | None = None,
    level: float = 0.05,
    beta: float = 0.0,
    verified: tuple[Any, Any] | None = None,
    unit: tuple[Units, Units] | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[TestOptions],
) -> RobustTestResult:
    r"""Test whether two groups differ, when rows of X were filed under Y.

    Misfiling moves rows between the groups, so the pooled rows are observed without error. If the true
    groups do not differ, their labelling was one of all labellings of the pooled rows with equal
    chances, whatever the misfiling did afterwards. So the smallest squared MMD that the misfiling allows,
    compared with that of random labellings, gives a p-value that is valid for every sample size.

    Parameters
    ----------
    X, Y, epsilon, verified, kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `mmd_bounds`; a list of kernels, or of bandwidths of one kernel, gives one p-value for all of
        them together. The p-value is valid whichever rows were looked up, also if they were chosen after
        looking at the data.
    n_permutations : int, default=999
        Random labellings; the smallest p-value is 1 / (1 + n_permutations). If there are at most ten times as
        many labellings of a size that differ, all are counted instead: then the p-value is exact and depends
        on no seed.
    exactly : bool, optional
        Whether exactly m rows are misfiled; by default at most m, as in `mmd_bounds`.
    level : float, default=0.05
        Level of the decision (`RobustTestResult.is_significant`), for which more is proved if need be.
    beta : float, default=0
        Probability that the true count is outside the range (epsilon was estimated, or is a probability for
        each row); it is added to the p-value. That of a limit from an audit or a prevalence is added anyway.
    unit : pair of sequences, optional
        The unit (patient, household) of each row of `X`, and of each row of `Y`, where several rows share
        one: rows of one unit are not exchangeable. One row per unit is drawn at random, and `epsilon` and
        all counts then refer to units. All rows of a unit must be filed under the same group.
    rng : int or Generator, optional
        Seed; without it one is drawn, and the result records it.

    Returns
    -------
    RobustTestResult
        The worst-case p-value, whether it is valid, the count that gives it, the null distribution, and the
        ordinary permutation test beside it.

    Notes
    -----
    With T the squared MMD of the true groups, T_1 to T_B that of random labellings of the pooled rows
    with the true sizes, and L proved to be no larger than T,

    .. math::
        p = \frac{1 + \#\{b : T_b \ge L\}}{1 + B} \ \ge\ \frac{1 + \#\{b : T_b \ge T\}}{1 + B},

    and the right-hand side is a p-value: under the null T is one of 1 + B draws of the same kind. Values
    that differ by rounding only are ties, which count against a rejection. If the number of misfiled rows is
    one of several, the largest p over all of them is taken, each with its own L and its own null. Two-way,
    all pairs of counts with the same true sizes have one L and one null. Kernels that are not known to be
    positive semidefinite have no proof beyond 2,500 rows that may be misfiled: then
    `RobustTestResult.is_valid` is false.

    Several kernels or bandwidths: T is the largest of their statistics, each less its mean and divided by
    its standard deviation over random labellings other than those counted. That is one statistic, so that
    nothing has to be corrected; `RobustTestResult.parts` says what each of them contributes. Which ones they
    are must not depend on the labels. ``bandwidth=["0.5 median", "median"]`` is what we recommend so far: the
    median is good at shifts, and half of it where rows of the wider group hide in the narrower one, because
    a few rows move a wide kernel cheaply.

    Why one row per unit is drawn (`unit`) instead of permuting whole units: units have different
    numbers of rows, so the sizes in rows, and with them the function that L is a floor of, would
    depend on which units are misfiled. With one row each all sizes are numbers of units.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(60, 2)), rng.normal(1, 1, size=(60, 2))
    >>> mb.robust_test(X, Y, epsilon=0.05, rng=0).pvalue
    0.001
    """
    started = time.perf_counter()
    n_permutations = check_labellings(n_permutations)
    level, beta, seed = check_level(level), check_share(beta, "beta"), check_seed(rng)
    check_progress(progress)
    contamination = as_contamination(epsilon, exactly)
    beta += contamination.beta
    lists = options.get("kernel", "rbf"), options.get("bandwidth", "median")
    is_several = any(map(is_list, lists))
    single: Any = {**options, "kernel": RBF(1.0), "bandwidth": "median"} if is_several else options
    how = comparison("robust_test", single)
    X, Y, known, units_note = known_units(X, Y, contamination, verified, unit, how.kernel, seed)
    problem = pose(X, Y, how, known)
    kernels = resolved_kernels(*lists, problem) if is_several else [problem.kernel]
    problem = replace(problem, kernel=kernels[0])
    admissible = problem.checked_counts(problem.counts(contamination))
    asked = admissible, n_permutations, seed
    if is_several:
        posed = posed_for_each(problem, kernels)
        with Meter("kernel", "count", "worst count", show=progress) as meter:
            several = Several(posed, *asked, meter)
            together = several.outcomes(level - beta)
        worst, found = several.first, several.finding(together, len(admissible))
        tests = [each.as_test() for each in together]
    else:
        with Meter("pass", "permutation", "count", "worst count", show=progress) as meter:
            worst = all_counts(problem, *asked, meter)
            outcomes = worst.outcomes(level - beta)
        found = _finding(worst, outcomes, len(admissible))
        tests = list(map(_count_test, outcomes))
    made = problem.provenance(
        worst.totals,
        method="robust test",
        options={},
        seed=seed,
        n_pairs=meter.n_pairs,
        seconds=time.perf_counter() - started,
        misfiling=contamination.stated(),
    )
    return RobustTestResult(
        **found,
        **_pvalues(tests, beta),
        **_question(problem, admissible),
        **problem.knowledge_fields(contamination, admissible),
        exactly=bool(contamination.exactly),
        level=level,
        n_permutations=n_permutations,
        conditions=conditions(
            beta,
            of_units=bool(units_note),
            is_exact=worst.null.is_exact,
            at_most=not contamination.exactly,
            known=known.facts,
        ),
        units_note=units_note,
        provenance=_of_several(made, kernels) if is_several else made,
    )


def _of_several(made: Provenance, kernels: Sequence[Kernel]) -> Provenance:
    """Return how a result was made with several kernels."""
    each = [{"kernel": kernel.name, "bandwidth": kernel.length, **kernel.options()} for kernel in kernels]
    names = {kernel.name for kernel in kernels}
    name = names.pop() if len(names) == 1 else "several"
    return replace(made, options={"kernels": each}, kernel=name, kernel_options={}, bandwidth=None)


def _finding(worst: WorstCase, outcomes: list[CountOutcome], n_admissible: int) -> dict[str, Any]:
    """Return the fields that say what was found at the worst count and as filed."""
    top = max(outcomes, key=lambda outcome: (outcome.pvalue, -worst.standing(outcome)))
    filed = Counts(0, 0, worst.totals.p, worst.totals.q)
    return {
        "statistic": top.floor,
        "null": worst.null_of(top.counts),
        **worst.null_fields(top.counts),
        "null_quantile": worst.null_quantile(top.counts),
        "n_moved": top.counts.n_moved,
        "n_moved_of_x": top.counts.n_moved_of_x,
        "is_valid": all(outcome.is_proved for outcome in outcomes) and worst.n_covered == n_admissible,
        "is_tight": is_tight(outcomes),
        "n_admissible": n_admissible,
        "observed": worst.observed,
        "pvalue_as_filed": worst.pvalue_alone(worst.observed, filed),
        "null_quantile_as_filed": worst.null_quantile(filed),
    }


def _pvalues(tests: list[CountTest], beta: float) -> dict[str, Any]:
    """Return the fields that hold the p-values."""
    pvalue = min(1.0, max(test.pvalue for test in tests) + beta)
    return {"pvalue": pvalue, "beta": beta, "counts": tuple(tests)}


def _question(problem: Problem, admissible: list[Counts]) -> dict[str, Any]:
    """Return the fields that say what was asked about whom."""
    return {
        "epsilon": float(max(counts.epsilon for counts in admissible)),
        "share_of_y": max(counts.n_moved for counts in admissible) / problem.q,
        **problem.group_fields(),
    }


def _count_test(outcome: CountOutcome) -> CountTest:
    """Return what is known of a count as plain numbers."""
    return CountTest(
        n_moved=outcome.counts.n_moved,
        n_moved_of_x=outcome.counts.n_moved_of_x,
        lower=outcome.found.value,
        certified=outcome.found.certified,
        pvalue=outcome.pvalue,
        attained=outcome.attained,
    )
