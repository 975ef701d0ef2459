"""About how long a call takes, before it starts: right within a factor of four, mostly.

What a question computes is in plain numbers below: passes over all pairs of rows, and seconds of all else.
They come from calls of 1,000 to 100,000 rows on two cores (`lab.benchmarks.estimates`). How long a pass takes
is measured on some of the rows at hand.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mmdbounds.kernels import Precomputed
from mmdbounds.objective import group_sums
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter
from mmdbounds.sums import make_sums

FIRST_ROWS, MOST_ROWS = 1000, 4000  # rows of the first pass that is timed, and of the last
LONG_ENOUGH = 0.1  # seconds of a pass that a clock measures well
PASSES = {"sharp": 5.0, "s-sd": 2.0, "sd": 1.5}  # of bounds; those of sharp have proofs, too
TEST = 2.0  # passes of a test, an odds sweep or a sweep; each point of a sweep takes one more
PROOF, MOST_PROOF = 4e-7, 4.0  # seconds of proofs: for each pair of rows, and at most...
CERTIFY: dict[Any, float] = {"auto": 1.0, True: 5.0, False: 0.0}  # ... for what is asked of them
PERMUTATION, SIZES = 5e-11, 3.0  # seconds of a permutation for each pair, and more for all sizes of a sweep
TRIAL = 2e-3  # seconds of a trial beside its bounds


class Work(NamedTuple):
    """What a question computes: kernel values, and seconds of all else."""

    values: float
    seconds: float = 0.0


def together(*parts: Work | None, times: float = 1.0) -> Work | None:
    """Return several questions as one, asked so many times; `None` where one of them is not known."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return Work(times * sum(part.values for part in known), times * sum(part.seconds for part in known))


def of_bounds(n_pairs: float, method: Any) -> Work | None:
    """Return what bounds by a method take; `None` for a method that is not in the table."""
    name = getattr(method, "name", None)
    if name not in PASSES:
        return None
    proofs = CERTIFY.get(getattr(method, "certify", False), 0.0)
    return Work(PASSES[name] * n_pairs, proofs * min(PROOF * n_pairs, MOST_PROOF))


def of_test(n_pairs: float, n_permutations: int, n_kernels: int = 1) -> Work:
    """Return what a test takes, or an odds sweep."""
    one = Work(TEST * n_pairs, PERMUTATION * n_permutations * n_pairs)
    return Work(n_kernels * one.values, n_kernels * one.seconds)


def of_sweep(n_pairs: float, n_permutations: int, n_points: int) -> Work:
    """Return what a sweep takes."""
    permutations = SIZES * PERMUTATION * n_permutations * n_pairs
    proofs = n_points * min(PROOF * n_pairs, MOST_PROOF)
    return Work((TEST + n_points) * n_pairs, permutations + proofs)


def of_trials(n_pairs: float, methods: Iterable[Any], n_trials: float) -> Work | None:
    """Return what trials take, one after the other."""
    return together(Work(n_pairs, TRIAL), *(of_bounds(n_pairs, each) for each in methods), times=n_trials)


def seconds(problem: Problem, work: Work) -> float:
    """Return about how long some work takes on this machine; a pass is measured, for about a second."""
    return work.values / values_a_second(problem) + work.seconds


def values_a_second(problem: Problem) -> float:
    """Return how many kernel values this machine computes in a second, from rows of the problem."""
    n, most = min(FIRST_ROWS, len(problem.pooled)), min(MOST_ROWS, len(problem.pooled))
    _timed_pass(problem, n)  # compiles
    took, rate = _timed_pass(problem, n)
    if took < LONG_ENOUGH and n < most:
        _, rate = _timed_pass(problem, int(min(most, n * (LONG_ENOUGH / max(took, 1e-6)) ** 0.5)))
    return rate


def _timed_pass(problem: Problem, n: int) -> tuple[float, float]:
    """Return how long a pass over `n` of the rows takes, and how many values it computes in a second."""
    places = np.sort(np.random.default_rng(0).choice(len(problem.pooled), n, replace=False))
    rows, counted = np.asarray(problem.pooled[places]), Meter()
    if isinstance(problem.kernel, Precomputed):
        rows = rows[:, places]
    started = time.perf_counter()
    sums = make_sums(
        rows,
        problem.kernel,
        backend=problem.backend,
        dtype=problem.dtype,
        working_memory=problem.working_memory,
        meter=counted,
    )
    group_sums(sums, n // 2, n - n // 2)
    took = max(time.perf_counter() - started, 1e-9)
    return took, max(counted.n_pairs, 1) / took
