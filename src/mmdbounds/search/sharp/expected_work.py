"""What sharp bounds cost, stated before the work: starts, refinement, and how much a proof takes.

Whoever changes a proof changes its numbers here. They were measured on FOREST and on Gaussian groups from 400
to 5,000 rows; `benchmarks.estimates` compares them with what calls take.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mmdbounds.contamination import Counts
from mmdbounds.costs import columns, for_each, holds_matrix, together
from mmdbounds.problem import Problem
from mmdbounds.progress import Phase
from mmdbounds.results import Side
from mmdbounds.search.exchanges import CANDIDATES
from mmdbounds.search.sharp import DENSE_ROWS, FIRST_STARTS, MATRICES, dense_effort, learned
from mmdbounds.search.sharp.through_sums import WORKING_ROWS
from mmdbounds.sums.plan import MIB

SIDES: tuple[Side, Side] = ("lower", "upper")
START_COLUMNS = 2  # columns that a start and its refinement add up, for each row that moves
EXCHANGED, EXCHANGE_ROUNDS = 8.0, 2  # work of an exchange that is considered, and rounds in which they are
RELAXED = 3.0, 2e5  # work of a floor that may not branch: for each pair of active rows, and fixed
OF_FLOOR = 0.3  # what a unit of a floor takes, compared with one of the machine...
OF_CEILING = 1.4, 12.0  # ... of a ceiling, and how it grows with the square of the share that moves...
OF_FIT, OF_EXCESS = 1.0, 0.5  # ... of a step on a sample, and of a ceiling's pass, beside the kernel value
RANKED, FEATURES = 1.0, 2e4  # work of a value that is ranked for a threshold, and of the features of a row
EASY = 1e6, 300.0  # work after which a ceiling is mostly proved: fixed, and for each pair of active rows...
LIKELY = 0.5  # ... but no more than this share of what it may spend
ROUNDS = 20  # rounds in which rows share, where no matrix of all pairs is held


def bounds_work(
    problem: Problem, admissible: Sequence[Counts], n_starts: int, patience: float | None
) -> list[Phase]:
    """Return the phases of `sharp_sides`: search, and proof unless `patience` is `None`."""
    first = FIRST_STARTS if patience is not None else {"lower": n_starts, "upper": n_starts}
    search = for_each("search", admissible, lambda counts: searching(problem, counts, sum(first.values())))
    if patience is None:
        return [search]
    each = patience / math.sqrt(len(admissible))

    def proofs(counts: Counts) -> Phase:
        return together("", (proving(problem, counts, side, each, n_starts) for side in SIDES))

    return [search, for_each("proof", admissible, proofs)]


def searching(problem: Problem, counts: Counts, n_starts: int) -> Phase:
    """Return what `n_starts` starts and their refinement cost for one count."""
    n, m = sizes(problem, counts)
    steps = columns("search", problem, n, START_COLUMNS * m, times=10, again=n_starts)
    candidates = min(m, CANDIDATES) + min(n - m, CANDIDATES)
    blocks = columns("", problem, candidates, EXCHANGE_ROUNDS * candidates, again=n_starts)
    exchanges = n_starts * EXCHANGED * min(m, CANDIDATES) * candidates
    return together("search", [steps, blocks, Phase("", units=exchanges)])


def proving(problem: Problem, counts: Counts, side: Side, patience: float, n_starts: int = 0) -> Phase:
    """Return what the proof of one side of one count is likely to cost, and its budget (`Phase.most`)."""
    n, m = sizes(problem, counts)
    if not m:
        return Phase("proof")
    if n > DENSE_ROWS or MATRICES * 8 * n * n > problem.working_memory * MIB:
        return _through_sums(problem, counts, side)
    budget, block = patience * dense_effort(n), 0.0 if holds_matrix(problem) else n * n
    if side == "lower":
        units = RELAXED[0] * n * n + RELAXED[1]
        return Phase("proof", block, units=units, price=OF_FLOOR, most=max(budget / units, 1.0))
    units = max(min(LIKELY * budget, EASY[0] + EASY[1] * n * n), RELAXED[1])
    price = OF_CEILING[0] + OF_CEILING[1] * (m / n) ** 2
    return Phase("proof", block, units=units, price=price, most=max(budget / units, 1.0))


def _through_sums(problem: Problem, counts: Counts, side: Side) -> Phase:
    """Return the same where no matrix of the active rows is held."""
    n, m = sizes(problem, counts)
    if side == "lower":
        shared = columns("proof", problem, n, ROUNDS * WORKING_ROWS[0])
        return together("proof", [shared, searching(problem, counts, 1)])
    rows = min(n, learned.SAMPLED)
    samples = columns("", problem, rows, rows, again=learned.SAMPLES)
    fit = Phase("", units=learned.STEPS * learned.FITTED * rows * rows, price=OF_FIT)
    thresholds = columns("", problem, n, learned.RANKED_COLUMNS)
    ranked = Phase("", units=n * (RANKED * learned.RANKED_COLUMNS + FEATURES))
    proof = columns("", problem, n, n)
    excess = Phase("", units=learned.PROVED * n * n, price=OF_EXCESS, passes=1)
    return together("proof", [samples, fit, thresholds, ranked, proof, excess])


def sizes(problem: Problem, counts: Counts) -> tuple[int, int]:
    """Return how many rows may move, and how many do."""
    two_way = counts.n_moved_of_x > 0
    return problem.p * two_way + problem.q, counts.n_moved + counts.n_moved_of_x
