"""What a call costs, before it starts: how much work its sums are, and how fast this machine does it.

Whoever does the work states it: `Method.expected_work`, `bounds.expected_work` and `inference.worst_case`
return phases (`progress.Phase`) made of these sums. Times come from a short measurement on the rows at hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmdbounds.counts import Counts
from mmdbounds.kernels import Precomputed
from mmdbounds.objective import group_sums
from mmdbounds.problem import Problem
from mmdbounds.progress import Meter, Phase, Rates
from mmdbounds.sums import make_sums
from mmdbounds.sums.plan import MIB, matrix_fits
from mmdbounds.sums.protocol import KernelSums, RemoteRows

LOOKED_UP = 0.2  # units of a kernel value that is read from memory and added up
FIRST_ROWS, MOST_ROWS = 1000, 6000  # rows of the first pass that is timed, and of the last
LONG_ENOUGH = 0.2  # seconds of a pass that a clock measures well
ASKED = 50  # counts that are asked where there are more
COLUMNS = 64  # columns of the product that is timed
REFERENCE, UNIT = 512, 3.5  # rows of a matrix that is timed, and how many of its entries a unit is worth


def holds_matrix(problem: Problem) -> bool:
    """Return whether all kernel values are kept, so that asking for them again costs little."""
    if isinstance(problem.kernel, Precomputed):
        return True
    is_here = not isinstance(problem.pooled, RemoteRows)
    return is_here and matrix_fits(len(problem.pooled), problem.working_memory)


def one_pass(problem: Problem) -> Phase:
    """Return the pass over the pairs."""
    n_pairs = len(problem.pooled) ** 2 if holds_matrix(problem) else problem.n_pairs
    return Phase("pass", pairs=n_pairs)


def columns(name: str, problem: Problem, n: float, m: float, times: float = 1, again: float = 1) -> Phase:
    """Return a phase that adds up `m` columns of `n` kernel values in some steps, and does that `again`."""
    if holds_matrix(problem):
        return Phase(name, units=again * LOOKED_UP * n * m)
    return Phase(name, pairs=again * n * m)


def together(name: str, phases: Iterable[Phase]) -> Phase:
    """Return several phases as one."""
    every, now = list(phases), Rates()
    units = sum(each.units for each in every)
    whole = Phase(
        name,
        sum(each.pairs for each in every),
        sum(each.products for each in every),
        units,
        price=sum(each.units * each.price for each in every) / units if units else 1.0,
        is_open=any(each.is_open for each in every),
    )
    most = sum(each.most * each.seconds(now) for each in every)
    return replace(whole, most=max(1.0, most / whole.seconds(now))) if every and most else whole


def for_each(name: str, counts: Sequence[Counts], work: Callable[[Counts], Phase]) -> Phase:
    """Return the work for each of several counts as one phase; of many, some are asked."""
    some = counts[:: -(-len(counts) // ASKED)]
    return repeated(together(name, map(work, some)), len(counts) / max(len(some), 1))


def repeated(phase: Phase, times: float) -> Phase:
    """Return a phase with so many times the work."""
    pairs, products, units = (times * amount for amount in (phase.pairs, phase.products, phase.units))
    return replace(phase, pairs=pairs, products=products, units=units)


@dataclass(frozen=True)
class Estimate:
    """How long the phases of a call take on this machine."""

    phases: tuple[Phase, ...]
    rates: Rates
    preparing: float = 0.0  # seconds before the first phase: the bandwidth

    @property
    def seconds(self) -> float:
        """How long the call is likely to take."""
        return self.preparing + sum(each.seconds(self.rates) for each in self.phases)

    @property
    def most(self) -> float:
        """How long it takes if every proof spends its whole budget."""
        return self.preparing + sum(each.most * each.seconds(self.rates) for each in self.phases)

    @property
    def is_complete(self) -> bool:
        """Whether every phase is estimated."""
        return not any(each.is_open for each in self.phases)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data; a phase that is not estimated has no seconds."""
        return {
            "n_pairs": int(sum(each.pairs for each in self.phases)),
            "pairs_a_second": 1 / self.rates.pair,
            "seconds": self.seconds,
            "most_seconds": self.most,
            "phases": [
                {
                    "name": each.name,
                    "seconds": None if each.is_open else each.seconds(self.rates),
                    "most_seconds": None if each.is_open else each.most * each.seconds(self.rates),
                    "n_pairs": int(each.pairs),
                }
                for each in self.phases
            ],
        }


def estimate(problem: Problem, phases: Iterable[Phase], preparing: float = 0.0) -> Estimate:
    """Return how long phases take on this machine; measured for up to about a second."""
    every = tuple(phases)
    return Estimate(every, measured(problem, every), preparing)


def measured(problem: Problem, phases: Iterable[Phase]) -> Rates:
    """Return how fast this machine computes what the phases need, from rows of the problem."""
    every = list(phases)
    rates, n = Rates(), min(FIRST_ROWS, len(problem.pooled))
    if any(each.pairs or each.products for each in every):
        seconds, rates = _timed_pass(problem, n, rates)
        most = min(MOST_ROWS, len(problem.pooled))
        wanted = n * (LONG_ENOUGH / max(seconds, 1e-6)) ** 0.5
        if wanted > 1.2 * n and n < most:
            _, rates = _timed_pass(problem, int(min(wanted, most)), rates)
    if any(each.products for each in every):
        rates = replace(rates, product=_timed_product(problem, min(2 * n, len(problem.pooled)), rates))
    if any(each.units for each in every):
        rates = replace(rates, unit=_timed_unit())
    return rates


def _sums_of_some(problem: Problem, n: int, meter: Meter | None = None) -> KernelSums:
    """Return sums over `n` of the pooled rows, made as those over all of them are."""
    places = np.sort(np.random.default_rng(0).choice(len(problem.pooled), n, replace=False))
    rows, memory = np.asarray(problem.pooled[places]), problem.working_memory
    if isinstance(problem.kernel, Precomputed):
        rows = rows[:, places]
    elif not holds_matrix(problem):
        memory = min(memory, max(1.0, 60.0 * n * n / MIB))  # too little for a matrix of so few
    return make_sums(
        rows,
        problem.kernel,
        backend=problem.backend,
        dtype=problem.dtype,
        working_memory=memory,
        meter=meter,
    )


def _timed_pass(problem: Problem, n: int, rates: Rates) -> tuple[float, Rates]:
    counted = Meter()
    group_sums(_sums_of_some(problem, n, counted), n // 2, n - n // 2)  # compiles, and counts
    n_pairs = counted.n_pairs
    seconds = _mean_seconds(lambda: group_sums(_sums_of_some(problem, n), n // 2, n - n // 2))
    return seconds, replace(rates, pair=seconds / n_pairs)


def _timed_product(problem: Problem, n: int, rates: Rates) -> float:
    sums, everyone = _sums_of_some(problem, n), slice(0, n)
    weights = np.random.default_rng(0).integers(2, size=(n, COLUMNS)).astype(np.float64)
    sums.apply(everyone, everyone, weights)
    seconds = _mean_seconds(lambda: sums.apply(everyone, everyone, weights))
    values = 0.0 if sums.holds_matrix else rates.pair * n * n
    return max(seconds - values, 0.1 * seconds) / (n * n * COLUMNS)


def _timed_unit() -> float:
    n = REFERENCE
    values = np.random.default_rng(0).random((n, n))
    other, place, x = values.T.copy(), 4 * n // 5, np.empty((n, n))  # fresh memory would take longer

    def sort() -> None:
        np.multiply(values, 0.5, out=x)
        np.add(x, other, out=x)
        x.partition(place, axis=1)
        x[:, place:].sum(axis=1)

    sort()
    return UNIT * _mean_seconds(sort, LONG_ENOUGH) / (n * n)


def _mean_seconds(work: Callable[[], object], least: float = LONG_ENOUGH / 4) -> float:
    """Return how long some work takes, repeated for at least so many seconds."""
    started, times = time.perf_counter(), 0
    while True:
        work()
        times += 1
        seconds = time.perf_counter() - started
        if seconds >= least:
            return seconds / times
