"""All pairs of several groups: bounds on their squared MMD, and tests with a joint level."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from mmdbounds.bounds import mmd_bounds
from mmdbounds.checks import check_chance, check_progress, check_seed, check_share
from mmdbounds.contamination import Contamination, as_contamination
from mmdbounds.inference.robust import robust_test
from mmdbounds.kernels import is_precomputed
from mmdbounds.objective import Indices
from mmdbounds.problem import ComparisonOptions, compares, comparison
from mmdbounds.results import BoundsResult, RobustTestResult
from mmdbounds.results.several import PairRow, PairwiseTable
from mmdbounds.several.measure import posed
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import Group


@compares()
def pairwise_bounds(
    Z: Any,
    labels: Any,
    epsilon: float | Contamination,
    *,
    level: float = 0.05,
    exactly: bool | None = None,
    n_permutations: int = 999,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> PairwiseTable:
    """Compare all pairs of several groups when rows were filed under the wrong one of the two.

    Parameters
    ----------
    Z : array-like of shape (n, d)
        The rows of all groups. Never scaled here.
    labels : sequence of length n
        The group of each row.
    epsilon : float or Contamination
        Misfiling within each pair. A share is two-way: up to this share of the true rows of either group
        is filed under the other. A `Contamination` is about the pair in the order of the groups' names: X is
        the first, Y the second.
    level : float, default=0.05
        Joint level of all tests.
    exactly, n_permutations, rng
        As in `robust_test`.
    kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `mmd2`. The median bandwidth is that of all rows, so that all pairs are compared with the same
        kernel.

    Returns
    -------
    PairwiseTable
        For each pair the squared MMD as filed, its bounds, the p-value of `robust_test`, and the p-value
        adjusted for all pairs by Holm's method.

    Notes
    -----
    Each pair is compared as if rows were misfiled within the pair alone; rows that truly belong to a third
    group are not provided for. For these see `hsic_bounds`. The proved bounds hold for all pairs at once
    without any adjustment. Of the p-values, those adjusted may be compared with `level`: the probability
    that any pair is declared different whose groups are not is at most `level`.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> Z, labels = rng.normal(size=(90, 2)), np.repeat(["a", "b", "c"], 30)
    >>> Z[labels == "c"] += 2
    >>> mb.pairwise_bounds(Z, labels, 0.05, rng=0).different
    (('a', 'c'), ('b', 'c'))
    """
    how = comparison("pairwise_bounds", options)
    problem, named, group = posed(Z, labels, how)
    level, seed = check_chance(level, "level"), check_seed(rng)
    check_progress(progress)
    misfiled = _two_way(epsilon, exactly)
    is_matrix = is_precomputed(how.kernel)
    shared: dict[str, Any] = {**options, "rng": seed, "progress": progress}
    if not is_matrix:
        shared |= {"kernel": problem.kernel, "bandwidth": "median"}
    members = [np.flatnonzero(named.codes == code) for code in range(named.n_groups)]
    found = []
    for i, j in combinations(range(named.n_groups), 2):
        X, Y = _pair(group, members[i], members[j], is_matrix=is_matrix)
        bounds = mmd_bounds(X, Y, misfiled, **shared)
        test = robust_test(X, Y, misfiled, n_permutations=n_permutations, **shared)
        found.append(((named.names[i], named.names[j]), bounds, test))
    adjusted = holm([test.pvalue for _, _, test in found])
    return PairwiseTable(
        rows=tuple(_row(*each, float(p)) for each, p in zip(found, adjusted, strict=True)),
        level=level,
        exactly=bool(misfiled.exactly),
        misfiling=misfiled.stated(),
        n_permutations=n_permutations,
        seed=seed,
        kernel=found[0][1].provenance.kernel,
    )


def _two_way(epsilon: Any, exactly: bool | None) -> Contamination:
    """Return the misfiling within a pair; a single share is meant both ways."""
    if isinstance(epsilon, Contamination):
        return as_contamination(epsilon, exactly)
    share = check_share(epsilon, "epsilon")
    return as_contamination(Contamination(share, y_in_x=share), exactly)


def _pair(group: Group, of_x: Indices, of_y: Indices, *, is_matrix: bool) -> tuple[Group, Group]:
    """Return the rows of two groups; of a kernel matrix, their own part of it."""
    if not is_matrix:
        return group[of_x], group[of_y]
    both = np.concatenate([of_x, of_y])
    part = Group(group.values[np.ix_(both, both)])
    return part[: len(of_x)], part[len(of_x) :]


def holm(pvalues: Sequence[float]) -> Float64s:
    """Return p-values adjusted for their number by Holm's method, in their order."""
    order = np.argsort(pvalues, kind="stable")
    stepped = np.asarray(pvalues)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def _row(names: tuple[str, str], bounds: BoundsResult, test: RobustTestResult, adjusted: float) -> PairRow:
    return PairRow(
        name_x=names[0],
        name_y=names[1],
        n_samples_X=bounds.n_samples_X,
        n_samples_Y=bounds.n_samples_Y,
        n_moved=bounds.n_moved,
        n_moved_of_x=bounds.n_moved_of_x,
        observed=bounds.observed,
        lower=bounds.lower.value,
        upper=bounds.upper.value,
        lower_certified=bounds.lower.certified,
        upper_certified=bounds.upper.certified,
        pvalue=test.pvalue,
        is_valid=test.is_valid,
        adjusted=adjusted,
    )
