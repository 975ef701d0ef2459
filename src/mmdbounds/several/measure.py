"""HSIC between rows and their groups, as recorded and bounded over wrong labels."""

from __future__ import annotations

import time
from itertools import islice
from typing import Any, Unpack

import numpy as np

from mmdbounds.checks import check_progress, check_seed
from mmdbounds.errors import DataError
from mmdbounds.kernels import is_precomputed
from mmdbounds.objective import Mask
from mmdbounds.problem import Comparison, ComparisonOptions, Problem, compares, comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.results import Side
from mmdbounds.results.several import HsicResult, LabelBound
from mmdbounds.search.protocol import outwards
from mmdbounds.search.sharp.floor import EIGENVALUE_ROWS
from mmdbounds.several.dependence import Arrangement, Dependence
from mmdbounds.several.label_proofs import (
    Candidates,
    branched,
    by_norms,
    by_partners,
    by_steps,
    is_dense,
    n_candidates,
    partners_affordable,
)
from mmdbounds.several.label_search import refine, starts
from mmdbounds.several.labels import Labels, Moves, checked_labels, checked_moves
from mmdbounds.sums import make_sums
from mmdbounds.sums.threads import one_blas_thread
from mmdbounds.tables import Group, as_group

STARTS, FEW_STARTS = 12, 3  # of a side, where rows are few and where they are many
GAP = 1e-3  # gap at which a proof may stop, as a share of the width...
EXACT = 60  # ... where there are more candidates than this


@compares()
def hsic(Z: Any, labels: Any, *, progress: bool | None = None, **options: Unpack[ComparisonOptions]) -> float:
    r"""Dependence (HSIC) between rows and their groups as recorded.

    The kernel of the labels is 1 for two rows of the same group and 0 for all others. With two groups it is
    the squared MMD times a factor that depends on their sizes alone.

    Parameters
    ----------
    Z : array-like of shape (n, d)
        The rows of all groups. Never scaled here. With ``kernel="precomputed"`` their n x n matrix.
    labels : sequence of length n
        The group of each row.
    kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `mmd2`; ``estimator="unbiased"`` needs four rows.

    Returns
    -------
    float
        HSIC; the unbiased estimate may be negative and is never clipped.

    Examples
    --------
    >>> import mmdbounds as mb
    >>> round(mb.hsic([[0.0], [1.0], [2.0], [4.0]], ["a", "a", "b", "b"], bandwidth=1.0), 6)
    0.121737
    """
    problem, named, _ = posed(Z, labels, comparison("hsic", options))
    check_progress(progress)
    with Meter("pass", show=progress) as meter:
        return Arrangement.filed(dependence(problem, named, meter)).value()


@compares()
def hsic_bounds(
    Z: Any,
    labels: Any,
    *,
    n_moved: int | None = None,
    epsilon: float | None = None,
    transitions: Any = None,
    exactly: bool = False,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> HsicResult:
    """Bound the dependence (HSIC) between rows and their true groups when some labels are wrong.

    Search all ways to change the labels of at most m rows for the smallest and the largest HSIC.

    Parameters
    ----------
    Z, labels, kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `hsic`.
    n_moved : int, optional
        Number m of rows with a wrong label, a limit.
    epsilon : float, optional
        Instead: share of all rows, m = floor(epsilon n).
    transitions : "any" or list of pairs, optional
        Which errors are possible, as pairs (recorded group, true group); by default any.
    exactly : bool, default=False
        Whether exactly m labels are wrong; by default at most m.
    rng : int or Generator, optional
        Seed of the starts of the search; without it one is drawn, and the result records it.

    Returns
    -------
    HsicResult
        Lower and upper bound with the rows that reach them and their new labels, and the observed value.

    Notes
    -----
    Each side has two numbers, as in `mmd_bounds`: `LabelBound.value` is reached by labels,
    `LabelBound.certified` is proved to lie beyond all of them. Up to about 2,500 candidates (a row and a
    group that it may belong to) branch and bound makes them equal or nearly so. Beyond that the proofs are
    simpler: below they stay tight, above they do not.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> Z, labels = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    >>> Z[labels == "c"] += 2
    >>> result = mb.hsic_bounds(Z, labels, n_moved=3, rng=0)
    >>> result.lower.value < result.observed < result.upper.value
    True
    >>> result.upper.n_moved
    3
    """
    started = time.perf_counter()
    problem, named, group = posed(Z, labels, comparison("hsic_bounds", options))
    moves, allowed = checked_moves(named, n_moved, epsilon, transitions, exactly)
    seed = check_seed(rng)
    check_progress(progress)
    with Meter("pass", "search", "proof", show=progress) as meter, one_blas_thread():
        of = dependence(problem, named, meter)
        sides = both_sides(of, moves, seed, meter)
    stated = {"n_moved": n_moved, "epsilon": epsilon, "exactly": moves.exactly}
    return HsicResult(
        lower=_named(sides["lower"], named, group),
        upper=_named(sides["upper"], named, group),
        observed=Arrangement.filed(of).value(),
        **label_fields(named, moves, allowed),
        provenance=problem.provenance(
            of.totals,
            method="sharp",
            options={},
            seed=seed,
            n_pairs=meter.n_pairs,
            seconds=time.perf_counter() - started,
            misfiling={name: value for name, value in stated.items() if value is not None},
        ),
    )


def posed(Z: Any, labels: Any, how: Comparison) -> tuple[Problem, Labels, Group]:
    """Return the checked problem of all rows, their labels, and the rows with their names."""
    group = as_group(Z, "Z")
    least = 4 if how.estimator == "unbiased" else 2
    if len(group) < least:
        msg = f"the {how.estimator} HSIC needs at least {least} rows; got {len(group)}."
        raise DataError(msg)
    if is_precomputed(how.kernel) and group.shape[0] != group.shape[1]:
        msg = f"`Z` must be the square matrix of kernel values of all rows; got shape {group.shape}."
        raise DataError(msg)
    named = checked_labels(labels, group)
    return pose(group[:1], group[1:], how), named, group  # where the rows are cut makes no difference


def dependence(problem: Problem, named: Labels, meter: Meter) -> Dependence:
    """Make the one pass over the pairs."""
    meter.phase("pass", pairs=problem.n_pairs)
    sums = make_sums(
        problem.pooled,
        problem.kernel,
        backend=problem.backend,
        dtype=problem.dtype,
        working_memory=problem.working_memory,
        meter=meter,
    )
    return Dependence(sums, named.codes, named.n_groups, problem.estimator)


def label_fields(named: Labels, moves: Moves, allowed: Mask) -> dict[str, Any]:
    """Return the fields of a result that say what was recorded and what was taken as possible."""
    pairs = [(named.names[i], named.names[j]) for i, j in np.argwhere(allowed)]
    sizes = tuple(named.sizes.tolist())
    groups = {"groups": named.names, "sizes": sizes, "transitions": tuple(pairs)}
    return {**groups, "n_moved": moves.n_moved, "exactly": moves.exactly}


def both_sides(of: Dependence, moves: Moves, seed: int, meter: Meter) -> dict[Side, tuple[Any, ...]]:
    """Return for each side its name, the best labels, what is proved, and how it went in words."""
    meter.phase("search")
    both: tuple[Side, Side] = ("lower", "upper")
    best = {side: searched(of, moves, side, seed) for side in both}
    gap = GAP if n_candidates(moves) > EXACT else 0.0
    slack = max(gap * (best["upper"].value() - best["lower"].value()), of.margin())
    meter.phase("proof")
    return {side: (side, *proved(best[side], moves, side, slack, meter)) for side in both}


def searched(of: Dependence, moves: Moves, side: Side, seed: int) -> Arrangement:
    """Return the best labels found from several starts."""
    out, rng = outwards(side), np.random.default_rng([seed, side == "upper"])
    if not moves.n_moved:
        return Arrangement.filed(of)
    n_starts = STARTS if is_dense(of, moves, side) else FEW_STARTS
    every = islice(starts(of, moves, out, rng), n_starts)
    return max((refine(start, moves, out) for start in every), key=lambda found: out * found.value())


def proved(
    best: Arrangement, moves: Moves, side: Side, slack: float, meter: Meter
) -> tuple[Arrangement, float | None, str]:
    """Return labels, perhaps better ones, a proof that none lies further out, and how it went in words."""
    of, out, status = best.of.precise, outwards(side), ""
    best = Arrangement.of_moves(of, best.moved(), best.codes[best.moved()])
    is_definite, m = of.sums.is_positive_definite, moves.n_moved
    bound = best.value()
    if m and is_dense(of, moves, side):
        if side == "lower" and not is_definite and n_candidates(moves) > EIGENVALUE_ROWS:
            return best, None, "too many rows to check that the kernel is positive definite"
        bound, best, status = branched(Candidates.make(of, moves, side), side, best, slack, meter)
    elif m and side == "upper" and partners_affordable(of, moves):
        bound = by_partners(of, moves)
    elif m and not is_definite:
        return best, None, "too many rows to check that the kernel is positive definite"
    elif m and side == "upper":
        bound = by_norms(of, moves)
    elif m:
        bound, suggested = by_steps(of, moves, best, best.value() - slack)
        best = min(best, refine(suggested, moves, out), key=lambda found: found.value())
    margin = of.margin(m, by_gradient=side == "lower")
    furthest = out * max(out * bound, out * best.value())
    return best, furthest + out * margin, status


def _named(found: tuple[Any, ...], named: Labels, group: Group) -> LabelBound:
    """Return one side with the names of rows and groups."""
    side, best, certified, status = found
    rows = best.moved()
    return LabelBound(
        side=side,
        value=best.value(),
        certified=certified,
        rows=rows,
        labels=tuple(named.names[code] for code in best.codes[rows]),
        ids=None if group.ids is None else group.ids[rows],
        file_rows=None if group.file_rows is None else group.file_rows[rows],
        status=status,
    )
