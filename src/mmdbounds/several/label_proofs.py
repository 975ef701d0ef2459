r"""Proofs: no labels that are allowed give less, or more (docs/several_groups.md, "Proofs").

To give row i the label g is a candidate. HSIC is exactly what each chosen candidate changes alone, and what
pairs of them add, so the branch and bound of two groups applies: candidates of one row are a stratum of which
at most one is chosen, and where fewer rows may move, candidates that change nothing fill the number. Where
the candidates are too many for a matrix, Frank-Wolfe steps prove the lower side and norms the upper one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from mmdbounds.objective import Indices
from mmdbounds.progress import Meter
from mmdbounds.results import Side
from mmdbounds.search.protocol import NO_ROWS, largest_sums, outwards
from mmdbounds.search.sharp import MATRICES, ROUGHLY, dense_effort, matrices_fit
from mmdbounds.search.sharp.ceiling import ceiling
from mmdbounds.search.sharp.floor import EIGENVALUE_ROWS, Floor, raised
from mmdbounds.search.sharp.quota_problem import BranchAndBound, Effort, QuotaProblem, Relaxation
from mmdbounds.several.dependence import Arrangement, Dependence
from mmdbounds.several.label_search import refine, together
from mmdbounds.several.labels import Moves
from mmdbounds.sums.plan import MIB, strips
from mmdbounds.sums.protocol import Float64s

FRANK_WOLFE_STEPS = 60
MOST_RANKED = 2e9  # pairs of rows and candidates that are ranked for a ceiling: some twenty seconds
STRIPS = 16  # strips of the matrix that the budget has room for


@dataclass(frozen=True, eq=False)
class Candidates:
    """The problem of one side in the form of `QuotaProblem`, from labels as recorded."""

    of: Dependence
    moves: Moves
    rows: Indices  # of each candidate, ascending...
    targets: Indices  # ... and its new label
    problem: QuotaProblem
    diagonal: Float64s  # of the matrix of pairs, with which it is the matrix of inner products

    @classmethod
    def make(cls, of: Dependence, moves: Moves, side: Side, tilt: Float64s | None = None) -> Candidates:
        """Return all candidates; with `tilt`, HSIC has its number added for every row of a group."""
        filed, out = Arrangement.filed(of), outwards(side)
        rows, targets = np.nonzero(moves.targets)
        old = moves.recorded[rows]
        n_idle = 0 if moves.exactly else moves.n_moved
        n = len(rows) + n_idle
        linear, pairs, diagonal = np.zeros(n), np.zeros((n, n)), np.zeros(n)
        linear[: len(rows)] = out * filed.changes()[rows, targets]
        constant = out * filed.value()
        if tilt is not None:
            linear[: len(rows)] += out * (tilt[targets] - tilt[old])
            constant += out * float(tilt[moves.recorded].sum())
        movable, place = np.unique(rows, return_inverse=True)
        entries = of.values(movable, movable)
        entries.flat[:: len(entries) + 1] += of.relief
        pairs[: len(rows), : len(rows)] = out * of.w * entries[np.ix_(place, place)]
        pairs[: len(rows), : len(rows)] *= together(targets, old, targets, old)
        diagonal[:] = out * pairs.diagonal()  # on the lower side; the upper one has no use for it
        np.fill_diagonal(pairs, 0.0)
        edges = np.append(np.flatnonzero(np.diff(rows, prepend=-1)), [len(rows), n]).tolist()
        strata = [(slice(i, j), 1) for i, j in pairwise(edges[:-1])]
        strata += [(slice(len(rows), n), n_idle)] if n_idle else []
        several = any(stratum.stop - stratum.start > 1 for stratum, _ in strata[: len(movable)])
        problem = QuotaProblem(
            constant=constant,
            linear=linear,
            pairs=pairs,
            rows=np.arange(n),
            settled=NO_ROWS,
            n_x=0,
            quotas=(0, moves.n_moved),
            limits=tuple(strata) if several else (),
        )
        return cls(of, moves, rows, targets, problem, diagonal)

    def chosen(self, found: Arrangement) -> Indices:
        """Return the candidates that make up labels, filled up with idle ones."""
        moved = found.moved()
        numbers = self.rows * self.of.n_groups + self.targets
        places = np.searchsorted(numbers, moved * self.of.n_groups + found.codes[moved])
        idle = np.arange(len(self.rows), len(self.rows) + self.moves.n_moved - len(moved))
        return np.concatenate([places, idle])

    def arrangement(self, chosen: Indices) -> Arrangement:
        """Return the labels that candidates make."""
        some = chosen[chosen < len(self.rows)]
        return Arrangement.of_moves(self.of, self.rows[some], self.targets[some])


def n_candidates(moves: Moves) -> int:
    """Return the size of the matrix that a proof by branch and bound holds."""
    return int(np.count_nonzero(moves.targets)) + (0 if moves.exactly else moves.n_moved)


def is_dense(of: Dependence, moves: Moves, side: Side) -> bool:
    """Return whether branch and bound has room for its matrices."""
    return matrices_fit(n_candidates(moves), side, of.sums.working_memory)


def branched(
    every: Candidates, side: Side, start: Arrangement, slack: float, meter: Meter, patience: float = 1.0
) -> tuple[float, Arrangement, str]:
    """Return what is proved, without the margin for rounding, the best labels, and how it went in words."""
    problem, out, of = every.problem, outwards(side), every.of
    memory, n = of.sums.working_memory, len(problem.rows)
    effort = Effort(patience * dense_effort(n), meter)
    relax: Relaxation = partial(ceiling, squares=matrices_fit(n, side, memory, MATRICES))
    chosen = every.chosen(start)
    if side == "lower":
        diagonal = every.diagonal
        if not of.sums.is_positive_definite and n <= EIGENVALUE_ROWS:
            diagonal = raised(problem, diagonal)
        relax = Floor(diagonal, chosen, max(ROUGHLY * slack, of.margin()))

    def improved(rows: Indices) -> tuple[float, Indices]:
        better = every.chosen(refine(every.arrangement(rows), every.moves, out))
        return problem.gain(better), better

    search = BranchAndBound(
        relax, problem.gain(chosen), slack, effort, improved, memory * MIB / 2, climbs=side == "upper"
    )
    proof = search.run(problem)
    best = start if proof.rows is None else every.arrangement(proof.rows)
    words = f"{proof.n_nodes:,} branch{'' if proof.n_nodes == 1 else 'es'}" if proof.n_nodes else ""
    return out * max(proof.bound, proof.gain), best, words


def partners_affordable(of: Dependence, moves: Moves) -> bool:
    """Return whether all pairs may be ranked, once for each group that a row may belong to."""
    return of.n_rows * float(np.count_nonzero(moves.targets)) <= MOST_RANKED


def by_partners(of: Dependence, moves: Moves) -> float:
    """Return a ceiling from strips of the matrix: a row that moves adds no more than with its best partners.

    For a partner's recorded label the factor of M is largest for one of its targets, smallest for another.
    """
    filed, m = Arrangement.filed(of), moves.n_moved
    scores = np.where(moves.targets, filed.changes(), -np.inf)
    columns = np.flatnonzero(moves.targets.any(axis=1))
    allowed = np.zeros((of.n_groups, of.n_groups), dtype=np.bool_)
    allowed[moves.recorded] = moves.targets
    old_of, new_of = np.nonzero(allowed)
    least = -np.inf if moves.exactly else 0.0
    height = max(1, int(of.sums.working_memory * MIB / (STRIPS * 8 * of.n_rows)))
    for start, stop in strips([0, len(columns)], height):
        values = of.values(columns[start:stop], columns)
        for old, new in zip(old_of, new_of, strict=True):
            here = np.flatnonzero(moves.recorded[columns[start:stop]] == old)
            factors = together(np.array([new]), np.array([old]), new_of, old_of)[0]
            by_group = [factors[old_of == group] for group in range(of.n_groups)]
            high, low = (
                np.array([end(some) if len(some) else 0.0 for some in by_group])[moves.recorded[columns]]
                for end in (np.max, np.min)
            )
            pairs = np.maximum(values[here] * high, values[here] * low)
            pairs[np.arange(len(here)), start + here] = -np.inf  # no row is its own partner
            rows = columns[start + here]
            scores[rows, new] += of.w * largest_sums(np.maximum(pairs, least), m - 1)
    return filed.value() + moves.top_sum(scores.max(axis=1))


def by_norms(of: Dependence, moves: Moves) -> float:
    """Return a ceiling without a matrix: no two rows have more in common than their norms allow.

    The squared norm of all changes together is at most the squared sum of the largest norms.
    """
    norms = np.sqrt(2 * np.maximum(of.diagonal + of.relief, 0.0))
    movable = moves.targets.any(axis=1)
    most = float(np.sort(norms[movable])[::-1][: moves.n_moved].sum())
    filed = Arrangement.filed(of)
    alone = np.where(moves.targets, filed.changes(), -np.inf).max(axis=1)
    return filed.value() + moves.top_sum(alone + of.w * (norms * most - norms**2))


def by_steps(of: Dependence, moves: Moves, start: Arrangement, enough: float) -> tuple[float, Arrangement]:
    """Return a floor by Frank-Wolfe steps over fractions of labels, and labels near their optimum.

    HSIC with a raised diagonal is convex, so the gradient at any fractions proves a floor.
    """
    share, sums = np.eye(of.n_groups)[start.codes], start.to_groups
    best, everyone = -np.inf, slice(0, of.n_rows)
    shift = of.constant - of.w * float((of.diagonal + of.relief).sum())
    for _ in range(FRANK_WOLFE_STEPS):
        slope = 2 * of.w * (sums - of.a[:, None] * share.sum(axis=0) - of.a @ share + of.relief * share)
        value = shift + float((slope * share).sum()) / 2
        rows, targets = moves.best(-slope)
        vertex = np.eye(of.n_groups)[moves.recorded]
        vertex[rows] = np.eye(of.n_groups)[targets]
        step = vertex - share
        gap = -float((slope * step).sum())
        best = max(best, value - gap)
        if best >= enough or gap <= of.margin():
            break
        change = np.eye(of.n_groups)[targets] - np.eye(of.n_groups)[moves.recorded[rows]]
        added = of.filed + of.sums.apply(everyone, rows, change) - sums
        bent = added - of.a[:, None] * step.sum(axis=0) - of.a @ step + of.relief * step
        curvature = 2 * of.w * float((step * bent).sum())
        length = 1.0 if curvature <= gap else gap / curvature
        share, sums = share + length * step, sums + length * added
    np.put_along_axis(share, moves.recorded[:, None], 0.0, axis=1)
    return best, Arrangement.of_moves(of, *moves.best(share))
