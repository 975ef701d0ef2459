"""What sharp bounds cost, stated before the work: starts, refinement, and how much a proof takes.

Whoever changes a proof changes its numbers here. They were measured on FOREST and on Gaussian groups from 150
to 20,000 rows; `lab.benchmarks.estimates` compares them with what calls take.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from mmdbounds.costs import columns, for_each, holds_matrix, repeated, together
from mmdbounds.counts import Counts
from mmdbounds.problem import Problem
from mmdbounds.progress import Phase
from mmdbounds.results import Side
from mmdbounds.search.exchanges import CANDIDATES
from mmdbounds.search.sharp import (
    DENSE_ROWS,
    FIRST_STARTS,
    dense_effort,
    learned,
    matrices_fit,
)
from mmdbounds.search.sharp.at_most import AGAIN, FEW
from mmdbounds.search.sharp.same_sizes import most_moves
from mmdbounds.search.sharp.starting_points import CONTINUED, SAMPLED
from mmdbounds.search.sharp.through_sums import WORKING_ROWS

SIDES: tuple[Side, Side] = ("lower", "upper")
START_COLUMNS = 2  # columns that a start and its refinement add up, for each row that moves
EXCHANGED = {"lower": 20.0, "upper": 4.0}  # work of an exchange that is considered...
EXCHANGE_ROUNDS, MOST_EXCHANGES = 2, 4.0  # ... rounds in which they are, and how much more there may be
WAITED = 0.3  # how often the starts that wait for a proof are needed
SAMPLE_ROUNDS = 20  # rounds until the starts of a sample stand still
RELAXED = 3.0, 2e5  # work of a floor that may not branch: for each pair of active rows, and fixed
OF_FLOOR = 0.3  # what a unit of a floor takes, compared with one of the machine...
OF_CEILING = 1.0, 1e-4  # ... of a ceiling, and how it grows with the rows, which fill the cache...
OF_FIT, OF_EXCESS = 0.7, 0.5  # ... of a step on a sample, and of a ceiling's pass, beside the kernel value
RANKED, FEATURES = 1.0, 2e4  # work of a value that is ranked for a threshold, and of the features of a row
EASY = 20.0  # work of a ceiling: for each pair of active rows if its first relaxation is enough...
LIKELY = 0.3  # ... or else a share of its budget: three times as much, or a quarter, is as likely
BEYOND = 1.25  # what a proof may spend beyond its budget: a step that has begun is finished
ROUNDS, MORE_ROUNDS = 8, 10.0  # rounds in which rows share through sums, and how many times as many it may be
OTHER_COUNTS = 1.4  # what many counts take, compared with the largest of them


def bounds_work(
    problem: Problem, admissible: Sequence[Counts], n_starts: int, patience: float | None, gap: float
) -> list[Phase]:
    """Return the phases of `sharp_sides`: search, and proof unless `patience` is `None`."""
    if patience is None:
        one_way = not any(counts.n_moved_of_x for counts in admissible)
        some = [admissible[0], admissible[-1]] if one_way and len(admissible) > FEW else admissible
        return [for_each("search", some, partial(_from_starts, problem, (n_starts, n_starts)))]
    searched, mostly, at_most = _others(admissible, gap)
    each = patience / math.sqrt(len(searched))

    def proofs(counts: Counts) -> Phase:
        return together("", (proving(problem, counts, side, each, n_starts) for side in SIDES))

    search = for_each("search", searched, partial(first_search, problem, n_starts))
    proof = repeated(for_each("proof", searched, proofs), mostly)
    return [search, replace(proof, most=proof.most * at_most)]


def _others(admissible: Sequence[Counts], gap: float) -> tuple[Sequence[Counts], float, float]:
    """Return the counts to be searched, and how much more all take: mostly and, beyond that, at most."""
    if len(admissible) <= FEW:  # as in `sharp_sides`
        return admissible, 1.0, 1.0
    return (
        [max(admissible, key=most_moves)],
        OTHER_COUNTS,
        (1 + (AGAIN if gap else len(admissible))) / OTHER_COUNTS,
    )


def first_search(problem: Problem, n_starts: int, counts: Counts) -> Phase:
    """Return what is searched before a proof is tried."""
    n, _ = sizes(problem, counts)
    if n <= DENSE_ROWS:
        return _from_starts(problem, [FIRST_STARTS[side] for side in SIDES], counts)
    sample = columns("", problem, SAMPLED, SAMPLED)
    optima = Phase("", products=SAMPLE_ROUNDS * n_starts * SAMPLED**2)
    return together("search", [_from_starts(problem, (1, 1 + CONTINUED), counts), sample, optima])


def _from_starts(problem: Problem, n_starts: Sequence[int], counts: Counts) -> Phase:
    both = zip(SIDES, n_starts, strict=True)
    return together("search", [searching(problem, counts, side, some) for side, some in both])


def searching(problem: Problem, counts: Counts, side: Side, n_starts: float) -> Phase:
    """Return what `n_starts` starts and their refinement cost on one side of one count."""
    n, m = sizes(problem, counts)
    steps = columns("search", problem, n, START_COLUMNS * m, times=10, again=n_starts)
    candidates = min(m, CANDIDATES) + min(n - m, CANDIDATES)
    blocks = columns("", problem, candidates, EXCHANGE_ROUNDS * candidates, again=n_starts)
    units = n_starts * EXCHANGED[side] * min(m, CANDIDATES) * candidates
    return together("search", [steps, blocks, Phase("", units=units, most=MOST_EXCHANGES)])


def _waiting(problem: Problem, counts: Counts, side: Side, often: float, n_starts: int) -> Phase:
    """Return the starts that wait for a proof, and are needed so often."""
    rest = searching(problem, counts, side, max(n_starts - FIRST_STARTS[side], 0))
    return replace(repeated(rest, often), most=rest.most / often)


def proving(problem: Problem, counts: Counts, side: Side, patience: float, n_starts: int = 0) -> Phase:
    """Return what the proof of one side of one count is likely to cost, and at most (`Phase.most`)."""
    n, m = sizes(problem, counts)
    if not m:
        return Phase("proof")
    proof = _relaxing(problem, counts, side, patience)
    if n > DENSE_ROWS:
        return proof
    return together("proof", [proof, _waiting(problem, counts, side, WAITED, n_starts)])


def _relaxing(problem: Problem, counts: Counts, side: Side, patience: float) -> Phase:
    """Return the proof alone."""
    n, _ = sizes(problem, counts)
    if not matrices_fit(n, side, problem.working_memory):
        return _through_sums(problem, counts, side, patience)
    budget, block = BEYOND * patience * dense_effort(n), 0.0 if holds_matrix(problem) else n * n
    if side == "lower":
        units = RELAXED[0] * n * n + RELAXED[1]
        return Phase("proof", block, units=units, price=OF_FLOOR, most=max(budget / units, 1.0))
    units, (fixed, each) = max(EASY * n * n, LIKELY / BEYOND * budget), OF_CEILING
    return Phase("proof", block, units=units, price=fixed + each * n, most=max(budget / units, 1.0))


def _through_sums(problem: Problem, counts: Counts, side: Side, patience: float) -> Phase:
    """Return the same where no matrix of the active rows is held."""
    n, _ = sizes(problem, counts)
    if side == "lower":
        shared = replace(columns("proof", problem, n, ROUNDS * WORKING_ROWS[0]), most=MORE_ROUNDS)
        return together("proof", [shared, searching(problem, counts, side, 1)])
    steps, rows = learned.steps_and_rows(n, patience)
    samples = columns("", problem, rows, rows, again=learned.SAMPLES)
    fit = Phase("", units=steps * learned.FITTED * rows * rows, price=OF_FIT)
    thresholds = columns("", problem, n, learned.RANKED_COLUMNS)
    ranked = Phase("", units=n * (RANKED * learned.RANKED_COLUMNS + FEATURES))
    proof = columns("", problem, n, n)
    excess = Phase("", units=learned.PROVED * n * n, price=OF_EXCESS)
    return together("proof", [samples, fit, thresholds, ranked, proof, excess])


def sizes(problem: Problem, counts: Counts) -> tuple[int, int]:
    """Return how many rows may move, and how many do."""
    active = counts.may_move(problem.p, problem.q)
    return active.stop - active.start, counts.n_moved + counts.n_moved_of_x
