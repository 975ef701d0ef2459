"""The front door: check, one pass over the pairs, search on both sides, result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, overload

import numpy as np

from mmdbounds.checks import check_epsilon, check_progress, check_seed
from mmdbounds.contamination import Contamination, as_contamination
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import lists_kernels
from mmdbounds.knowledge import known_rows
from mmdbounds.objective import GroupSums, observed_mmd2
from mmdbounds.problem import ComparisonOptions, Problem, compares, comparison, is_list, pose
from mmdbounds.progress import Meter
from mmdbounds.results import Bound, BoundsResult, Side
from mmdbounds.search import Found, Method, Task, as_method
from mmdbounds.search.exchanges import effects_by_group
from mmdbounds.search.protocol import check_exact_count
from mmdbounds.sums.protocol import Float64s

SIDES: tuple[Side, Side] = ("lower", "upper")
Shares = Sequence[float] | np.ndarray[Any, Any]  # several, each with bounds of its own


@lists_kernels
@compares()
def mmd2(
    X: Any,
    Y: Any,
    *,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> float:
    r"""Squared MMD between two groups as filed.

    .. math::
        \frac{1}{p(p-1)} \sum_{i \ne j} k(x_i, x_j) + \frac{1}{q(q-1)} \sum_{i \ne j} k(y_i, y_j)
        - \frac{2}{pq} \sum_{i,j} k(x_i, y_j)

    for ``estimator="unbiased"`` (it may be negative and is never clipped);
    ``"biased"`` keeps the diagonal and divides by the squared sizes.

    Parameters
    ----------
    X, Y : array-like of shape (p, d) and (q, d)
        The groups: arrays, DataFrames, or what `groups` returns. Never scaled here.
    kernel : str, kernel object or callable, default="rbf"
        One of
        <kernels having formula>,
        an object such as `RBF`, a function ``k(A, B)`` that returns the
        block of kernel values, or ``"precomputed"``: then `X` and `Y` are the rows of the
        pooled N x N matrix, X first.
    bandwidth : float or str, default="median"
        Length of a distance kernel given by name; ``"median"`` is the median distance over pairs of pooled
        rows, and ``"0.5 median"`` half of it.
    estimator : {"unbiased", "biased"}, default="unbiased"
        U-statistic or V-statistic.
    backend : {"auto", "numpy", "torch", "dask"}, default="auto"
        Where the pairs are computed: ``"numpy"`` on all cores (compiled where numba is there), ``"torch"`` on
        a GPU if there is one, ``"dask"`` on a cluster, ``"auto"`` on a GPU where it pays, or on the cluster
        that has the rows where `X` or `Y` is a Dask collection and there is a client.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the kernel values; sums are always in float64.
    working_memory : float, default=1024
        Budget in MiB.
    progress : bool, optional
        Show how far the work is; by default if somebody is watching and it takes seconds.

    Returns
    -------
    float
        The squared MMD.

    Examples
    --------
    >>> import mmdbounds as mb
    >>> round(mb.mmd2([[0.0], [1.0]], [[2.0], [4.0]], bandwidth=1.0), 6)
    0.365211
    """
    problem = pose(X, Y, comparison("mmd2", options))
    check_progress(progress)
    problem.checked_counts([])
    with Meter("pass", show=progress) as meter:
        return observed_mmd2(problem.one_pass(meter), problem.estimator)


@overload
def mmd_bounds(
    X: Any,
    Y: Any,
    epsilon: float | Contamination,
    *,
    method: str | Method = "sharp",
    exactly: bool | None = None,
    verified: tuple[Any, Any] | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> BoundsResult: ...
@overload
def mmd_bounds(
    X: Any,
    Y: Any,
    epsilon: Shares,
    *,
    method: str | Method = "sharp",
    exactly: bool | None = None,
    verified: tuple[Any, Any] | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> list[BoundsResult]: ...
@compares()
def mmd_bounds(
    X: Any,
    Y: Any,
    epsilon: float | Contamination | Shares,
    *,
    method: str | Method = "sharp",
    exactly: bool | None = None,
    verified: tuple[Any, Any] | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> BoundsResult | list[BoundsResult]:
    """Bound the squared MMD between the true groups when rows of X were filed under Y.

    Search all sets C of m rows of `Y` that might be the misfiled ones for the smallest and the largest
    squared MMD between ``X + C`` and ``Y - C``.

    Parameters
    ----------
    X, Y : array-like of shape (p, d) and (q, d)
        The groups as filed; some rows of the true X are among the rows of `Y`.
    epsilon : float, Contamination or list of shares
        Share of the true X that was filed under Y, a limit: m = floor(epsilon p / (1 - epsilon)) rows.
        A `Contamination` says it in other ways (``n_moved=``, ``share_of_y=``, two-way), and which rows can
        be misfiled (``may_move=``, ``limits=``). Several shares in a list take one pass over the pairs.
        With ``Contamination(..., odds=2)``, misfiling is random up to a factor, and the bounds are an
        estimated range for the populations (see Notes).
    method : str or method object, default="sharp"
        ``"sharp"`` (the best labelling found and a proof of how far the extreme can lie beyond it),
        ``"s-sd"`` (the paper's stepwise stochastic dominance), ``"sd"`` (one step), ``"exhaustive"`` (every
        labelling, for a handful of rows), or an object such as ``Sharp(gap=0)`` or
        ``StepwiseDominance(n_steps=50)``. The paper's methods that bound nothing are in `baselines`.
    exactly : bool, optional
        Whether exactly m rows are misfiled, as the paper assumes. By default at most m are: any smaller
        number is possible too, the value as filed lies inside, and a larger `epsilon` gives a wider interval
        (what is proved is never narrower than what a smaller one reaches: by `Bound.gap` it may be; within a
        `sweep` it is nested).
    verified : pair, optional
        What was looked up of the rows of `X`, and of `Y`: an array with the true group of each row (its name,
        or ``"X"`` and ``"Y"``; `None`, NaN or ``""`` where nothing was looked up), a mask that is true for
        rows confirmed as filed, or `None`. Rows that belong to the other group are refiled first, `epsilon`
        is then about what is left, and verified rows cannot be misfiled. Tables: `groups` has `verified`.
    rng : int or Generator, optional
        Seed of the starts of ``"sharp"`` and of all else that is drawn; without it one is drawn, and the
        result records it.
    kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `mmd2`. Kernel and bandwidth look at the pooled rows only.

    Returns
    -------
    BoundsResult, or a list of them in the order of several shares
        Lower and upper bound with the rows that reach them, what each row does to them
        (`BoundsResult.row_table`), the observed value, the counts, and how it was made.

    Notes
    -----
    Each side has two numbers. `Bound.value` is reached by a labelling; `Bound.certified` is proved to lie
    beyond every labelling. The extreme is between them, and with N up to about 100 they are
    usually equal. S-SD and SD return the first number only: the extreme can lie beyond it.
    `BoundsResult.is_certified` says whether both sides are proved.

    The cost of S-SD is one pass over the pairs, N^2 / 2 kernel values, and m columns a side, whatever
    the number of steps. All counts up to m share the columns (beyond 256 counts, S-SD searches 256 of them).
    ``"sharp"`` searches the largest count, and proves the others with it, for at most about the same work
    again.

    With `odds` the misfiled rows are distributed like the rows filed under X, but for weights, and nothing
    ties them to single rows of Y. `Bound.value` is then reached by weights (`Bound.weights`), and
    `Bound.certified` is proved for all weights that the odds allow, above for up to 3,000 rows of X. Sampling
    error comes on top. With odds of 1 and ``exactly=True`` the range is one value, `BoundsResult.if_random`.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1, 1, size=(60, 2))
    >>> result = mb.mmd_bounds(X, Y, epsilon=0.2)
    >>> result.n_moved
    10
    >>> result.lower.value < result.observed < result.upper.value
    True
    """
    started = time.perf_counter()
    check_progress(progress)
    amounts = [as_contamination(each, exactly, takes_odds=True) for each in _each(epsilon)]
    first, is_several = amounts[0], is_list(epsilon)
    search = method_for(first, method)
    for amount in amounts:
        check_exact_count(search, amount)
    how = comparison("mmd_bounds", options)
    X, Y, known = known_rows(X, Y, first, verified, how.kernel)
    problem = pose(X, Y, how, known)
    if first.odds is not None:
        from mmdbounds.search.odds import LimitedOdds

        search = LimitedOdds.of(problem, first.odds)
    counts = [problem.checked_counts(problem.counts(amount), search.check) for amount in amounts]
    seed = check_seed(rng)
    phases = ("pass", "share") if is_several else ("pass", "search", "proof", "effects")
    results = []
    with Meter(*phases, show=progress) as meter:
        totals = problem.one_pass(meter)
        n_pairs, seconds = meter.n_pairs, time.perf_counter() - started
        for i, (amount, admissible) in enumerate(zip(amounts, counts, strict=True)):
            if is_several:
                meter.phase("share", i, len(amounts))
            began, counted = time.perf_counter(), meter.n_pairs
            result = _bounded(problem, totals, amount, admissible, search, seed, meter)
            made = replace(
                result.provenance,
                n_pairs=n_pairs + meter.n_pairs - counted,
                seconds=seconds + time.perf_counter() - began,
            )
            results.append(replace(result, provenance=made))
    return results if is_several else results[0]


def _each(epsilon: Any) -> list[Any]:
    """Return one amount, or each of several shares."""
    if not is_list(epsilon):
        return [epsilon]
    if not len(epsilon):
        msg = "`epsilon` must have at least one share; got an empty list."
        raise MmdBoundsError(msg)
    return [check_epsilon(each) for each in epsilon]


def _bounded(
    problem: Problem,
    totals: GroupSums,
    contamination: Contamination,
    admissible: list[Counts],
    search: Method,
    seed: int,
    meter: Meter,
) -> BoundsResult:
    """Return the bounds for one amount, from the sums over the pairs."""
    meter.phase("search")
    found = search.both_sides(Task(totals, admissible, problem.estimator, seed, meter))
    meter.phase("effects")
    most = max(c.n_moved for c in admissible), max(c.n_moved_of_x for c in admissible)
    sides = zip(found, SIDES, strict=True)
    lower, upper = (_named(each, side, problem, admissible) for each, side in sides)
    return BoundsResult(
        lower=lower,
        upper=upper,
        observed=observed_mmd2(totals, problem.estimator),
        **_count_fields(contamination, admissible),
        **_row_fields(problem, two_way=most[1] > 0),
        **problem.knowledge_fields(contamination, admissible),
        share_of_y=most[0] / problem.q,
        odds=contamination.odds,
        provenance=problem.provenance(
            totals,
            method=search.name,
            options=search.options(),
            seed=seed if search.is_random else None,
            n_pairs=0,
            seconds=0.0,
            misfiling=contamination.stated(),
        ),
    )


def method_for(contamination: Contamination, method: str | Method) -> Method:
    """Return the search that `method` names or is, or the one that limited odds need."""
    if contamination.odds is None:
        return as_method(method)
    from mmdbounds.search.odds import LimitedOdds

    return LimitedOdds.instead_of(method, contamination.odds)


def _count_fields(contamination: Contamination, admissible: list[Counts]) -> dict[str, Any]:
    """Return the fields of the result that say how much was assumed to be misfiled."""
    return {
        "n_moved": max(c.n_moved for c in admissible),
        "n_moved_of_x": max(c.n_moved_of_x for c in admissible),
        "exactly": bool(contamination.exactly),
        "epsilon": float(max(c.epsilon for c in admissible)),
    }


def _row_fields(problem: Problem, *, two_way: bool) -> dict[str, Any]:
    """Return the fields of the result that name the groups and the rows that may be misfiled."""
    fields, known = problem.group_fields(), problem.known
    for letter, group, places in (("x", problem.X, known.of_x), ("y", problem.Y, known.of_y)):
        if letter == "x" and not two_way:
            continue
        listed = places.listed()
        some = slice(None) if listed is None else listed
        fields |= {
            f"ids_of_{letter}": None if group.ids is None else group.ids[some],
            f"file_rows_of_{letter}": None if group.file_rows is None else group.file_rows[some],
            f"places_of_{letter}": None if listed is None else places.back(listed),
        }
    return fields


def _named(found: Found, side: Side, problem: Problem, admissible: list[Counts]) -> Bound:
    """Put the names of the rows to what a search found, and what each row does to it."""
    found = found.proved(found.certified, side)  # methods from elsewhere need not have asked
    X, Y, known = problem.X, problem.Y, problem.known
    rows, of_x = known.of_y.in_order(found.rows), known.of_x.in_order(found.rows_of_x)
    effects, effects_of_x = _effects(found, side, admissible)
    return Bound(
        side=side,
        value=found.value,
        certified=found.certified,
        rows=known.of_y.back(rows),
        rows_of_x=known.of_x.back(of_x),
        ids=None if Y.ids is None else Y.ids[rows],
        ids_of_x=None if X.ids is None else X.ids[of_x],
        file_rows=None if Y.file_rows is None else Y.file_rows[rows],
        file_rows_of_x=None if X.file_rows is None else X.file_rows[of_x],
        effects=known.of_y.some(effects),
        effects_of_x=known.of_x.some(effects_of_x),
        kind=found.kind,
        weights=found.weights,
        status=found.status,
    )


def _effects(found: Found, side: Side, admissible: list[Counts]) -> tuple[Float64s | None, Float64s | None]:
    """Return the effects of the rows of Y and, if rows of X may move, of X."""
    of_any, of_x = (any(getattr(c, name) for c in admissible) for name in ("n_moved", "n_moved_of_x"))
    if found.labelling is None or found.kind != "labelling" or not (of_any or of_x):
        return None, None
    for_y, for_x = effects_by_group(found.labelling, side, admissible)
    return for_y, for_x if of_x else None
