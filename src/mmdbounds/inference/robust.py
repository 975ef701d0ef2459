"""A two-sample test that stays valid when labels are wrong."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mmdbounds._version import __version__
from mmdbounds.checks import check_count, check_flag, check_progress, check_seed, check_share
from mmdbounds.contamination import Contamination, Counts, as_contamination, check_sizes
from mmdbounds.inference.outcome import CountTest, TestResult
from mmdbounds.inference.worst_case import CountOutcome, WorstCase, is_tight
from mmdbounds.problem import Bandwidth, DType, KernelLike, Problem, pose
from mmdbounds.progress import Meter
from mmdbounds.results import Estimator, Provenance

CONDITIONS = (
    "the number of misfiled rows is within the range assumed, and rows were only relabelled;",
    "if there is no difference, the true labels are exchangeable: no clusters, pairs or time order;",
    "kernel, bandwidth and scaling do not look at the labels (true of everything that is done here);",
    "the seed was not chosen after seeing the result.",
)


def robust_test(
    X: Any,
    Y: Any,
    epsilon: float | tuple[float, float] | Contamination,
    *,
    n_permutations: int = 999,
    at_most: bool = True,
    best_case: bool = False,
    beta: float = 0.0,
    kernel: KernelLike = "rbf",
    bandwidth: Bandwidth = "median",
    estimator: Estimator = "unbiased",
    backend: str = "auto",
    dtype: DType = "float64",
    working_memory: float = 1024,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
) -> TestResult:
    """Test whether two groups differ, when rows of X were filed under Y.

    Misfiling moves rows between the groups, so the pooled rows are observed without error. If the true
    groups do not differ, their labelling was one of all labellings of the pooled rows with equal
    chances, whatever the misfiling did afterwards. So the smallest squared MMD that the misfiling allows,
    compared with that of random labellings, gives a p-value that is valid for every sample size.

    Parameters
    ----------
    X, Y, epsilon, kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `mmd_bounds`.
    n_permutations : int, default=999
        Random labellings; the smallest p-value is 1 / (1 + n_permutations).
    at_most : bool, default=True
        Whether any smaller number of rows may be misfiled too; else exactly m are.
    best_case : bool, default=False
        Whether to compute the smallest p-value that a labelling might have as well, which takes a
        proof from above for each count.
    beta : float, default=0
        Probability that the true count is outside the range (epsilon was estimated, or is a probability for
        each row); it is added to the p-value.
    rng : int or Generator, optional
        Seed; without it one is drawn, and the result records it.

    Returns
    -------
    TestResult
        The worst-case p-value, whether it is valid, the count that gives it, and the null distribution.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(60, 2)), rng.normal(1, 1, size=(60, 2))
    >>> mb.robust_test(X, Y, epsilon=0.05, rng=0).pvalue
    0.001
    """
    started = time.perf_counter()
    n_permutations = check_count(n_permutations, "n_permutations", least=1)
    at_most, best_case = check_flag(at_most, "at_most"), check_flag(best_case, "best_case")
    beta, seed = check_share(beta, "beta"), check_seed(rng)
    check_progress(progress)
    contamination = as_contamination(epsilon)
    problem = pose(
        X,
        Y,
        kernel=kernel,
        bandwidth=bandwidth,
        estimator=estimator,
        backend=backend,
        dtype=dtype,
        working_memory=working_memory,
    )
    admissible = checked_counts(problem, contamination, at_most=at_most)
    with Meter(2 * problem.n_pairs, show=progress) as meter:
        worst = WorstCase(problem, admissible, n_permutations, seed, meter)
        outcomes = worst.outcomes()
        best = [worst.best_case(o.counts) if best_case else None for o in outcomes]
    tests = tuple(count_test(o, b) for o, b in zip(outcomes, best, strict=True))
    top = max(outcomes, key=lambda outcome: outcome.pvalue)
    return TestResult(
        statistic=top.found.value if top.found.certified is None else top.found.certified,
        pvalue=min(1.0, top.pvalue + beta),
        pvalue_range=_range(tests, beta),
        is_valid=all(o.is_proved for o in outcomes) and len(outcomes) == len(admissible),
        is_tight=is_tight(outcomes),
        n_moved=top.counts.n_moved,
        n_moved_of_x=top.counts.n_moved_of_x,
        null=worst.null_of(top.counts),
        observed=worst.observed,
        pvalue_as_filed=worst.pvalue(worst.observed, Counts(0, 0, problem.p, problem.q)),
        counts=tests,
        n_permutations=n_permutations,
        beta=beta,
        at_most=at_most,
        epsilon=float(max(c.epsilon for c in admissible)),
        share_of_y=max(c.n_moved for c in admissible) / problem.q,
        n_samples_X=problem.p,
        n_samples_Y=problem.q,
        name_x=problem.X.name,
        name_y=problem.Y.name,
        conditions=CONDITIONS,
        provenance=provenance("robust test", problem, worst, meter, seed, time.perf_counter() - started),
    )


def checked_counts(problem: Problem, contamination: Contamination, *, at_most: bool) -> list[Counts]:
    """Return the admissible counts, or say which of them leaves too few rows."""
    p, q = problem.p, problem.q
    admissible = contamination.admissible(p, q, at_most=at_most)
    for counts in (Counts(0, 0, p, q), *admissible):
        check_sizes(counts, p, q, unbiased=problem.estimator == "unbiased")
    return admissible


def count_test(outcome: CountOutcome, best_case: float | None) -> CountTest:
    """Return what is known of a count as plain numbers."""
    return CountTest(
        n_moved=outcome.counts.n_moved,
        n_moved_of_x=outcome.counts.n_moved_of_x,
        lower=outcome.found.value,
        certified=outcome.found.certified,
        pvalue=outcome.pvalue,
        attained=outcome.attained,
        best_case=best_case,
    )


def _range(tests: tuple[CountTest, ...], beta: float) -> tuple[float, float] | None:
    known = [test.best_case for test in tests if test.best_case is not None]
    if len(known) < len(tests):
        return None
    return min(known), min(1.0, max(test.pvalue for test in tests) + beta)


def provenance(
    method: str, problem: Problem, worst: WorstCase, meter: Meter, seed: int, seconds: float
) -> Provenance:
    """Say how a result was made."""
    sums = worst.totals.sums
    return Provenance(
        method=method,
        options={},
        kernel=problem.kernel.name,
        kernel_options=problem.kernel.options(),
        bandwidth=problem.kernel.length,
        estimator=problem.estimator,
        backend=sums.backend,
        device=sums.device,
        dtype=sums.dtype,
        seed=seed,
        n_pairs=meter.n_pairs,
        seconds=seconds,
        version=__version__,
        data=problem.X.record,
    )
