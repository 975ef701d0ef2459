"""A test of independence that stays valid when labels are wrong."""

from __future__ import annotations

import time
from typing import Any, Unpack

import numpy as np

from mmdbounds.checks import MOST_PERMUTATIONS, check_count, check_progress, check_seed
from mmdbounds.inference.permutation import blind_order
from mmdbounds.problem import ComparisonOptions, compares, comparison
from mmdbounds.progress import Meter
from mmdbounds.results.several import IndependenceResult
from mmdbounds.search.sharp.floor import EIGENVALUE_ROWS
from mmdbounds.several.dependence import Arrangement, Dependence
from mmdbounds.several.label_proofs import Candidates, branched, is_dense, n_candidates
from mmdbounds.several.labels import Moves, checked_moves
from mmdbounds.several.measure import dependence, label_fields, posed, proved, searched
from mmdbounds.several.size_vectors import Sizes, considered, random_values, reachable_sizes
from mmdbounds.sums.protocol import Float64s
from mmdbounds.sums.threads import one_blas_thread
from mmdbounds.words.testing import conditions

MOST_TILTS = 12  # floors by sizes at the most
PATIENCE = 0.03  # of each: some hundredths of a second
ROUGH = 0.02  # what a floor may be off by, in standard deviations of the null
STEEPEST = 1.0  # a tilt is at most so many times the largest change that one row makes


@compares()
def independence_test(
    Z: Any,
    labels: Any,
    *,
    n_moved: int | None = None,
    epsilon: float | None = None,
    transitions: Any = None,
    exactly: bool = False,
    n_permutations: int = 999,
    rng: int | np.random.Generator | None = None,
    progress: bool | None = None,
    **options: Unpack[ComparisonOptions],
) -> IndependenceResult:
    r"""Test whether rows depend on their true groups, when some labels are wrong.

    Wrong labels change no row, so the rows are observed without error. If rows and true labels are
    independent, the true labels are a random arrangement of themselves, whatever was recorded afterwards. So
    the smallest HSIC that the wrong labels allow, compared with that of random labels, gives a p-value that
    is valid for every number of rows.

    Parameters
    ----------
    Z, labels, n_moved, epsilon, transitions, exactly
        As in `hsic_bounds`.
    kernel, bandwidth, estimator, backend, dtype, working_memory, progress
        As in `mmd2`.
    n_permutations : int, default=999
        Random labellings; the smallest p-value is 1 / (1 + n_permutations).
    rng : int or Generator, optional
        Seed; without it one is drawn, and the result records it.

    Returns
    -------
    IndependenceResult
        The worst-case p-value, whether it is valid, the sizes of the groups that give it, and the ordinary
        permutation test beside it.

    Notes
    -----
    The true sizes of the groups are not known either. For each vector n of sizes that the wrong labels allow,

    .. math::
        p_n = \frac{1 + \#\{b : T_b \ge L_n\}}{1 + B},

    where T_b is HSIC with random labels of these sizes, and L_n is proved to be no larger than HSIC with any
    admissible labels of these sizes. The largest p_n is a p-value whichever sizes are the true ones. Where
    the sizes are too many, only a grid of them is considered, and `IndependenceResult.is_valid` is false.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> Z, labels = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    >>> Z[labels == "c"] += 2
    >>> mb.independence_test(Z, labels, n_moved=3, rng=0).pvalue
    0.001
    """
    started = time.perf_counter()
    n_permutations = check_count(n_permutations, "n_permutations", least=1, most=MOST_PERMUTATIONS)
    problem, named, _ = posed(Z, labels, comparison("independence_test", options))
    moves, allowed = checked_moves(named, n_moved, epsilon, transitions, exactly)
    seed = check_seed(rng)
    check_progress(progress)
    with (
        Meter("pass", "permutation", "search", "proof", show=progress) as meter,
        one_blas_thread(),
    ):
        of = dependence(problem, named, meter)
        every, is_complete = reachable_sizes(named.sizes, allowed, moves)
        some = considered(every, named.sizes, of.n_rows, n_permutations)
        with_filed = np.concatenate([some, named.sizes[None]])
        meter.phase("permutation")
        order = blind_order(problem)
        null = np.array(list(random_values(of, with_filed, order, n_permutations, seed)))
        meter.phase("search")
        floors = Floors(of, moves, seed, meter, ROUGH * float(null[:, -1].std()))
        worst = floors.worst(some, null[:, :-1])
    observed = Arrangement.filed(of).value()
    stated = {"n_moved": n_moved, "epsilon": epsilon, "exactly": moves.exactly}
    return IndependenceResult(
        statistic=float(floors.at(some[[worst]])[0]),
        pvalue=float(floors.pvalues(some, null[:, :-1])[worst]),
        is_valid=floors.is_proved and is_complete and len(some) == len(every),
        worst_sizes=tuple(some[worst].tolist()),
        n_sizes=len(every) if is_complete else None,
        n_considered=len(some),
        null=null[:, worst],
        observed=observed,
        pvalue_as_filed=float(pvalues(np.array([observed]), null[:, -1:], of.tie_margin)[0]),
        n_permutations=n_permutations,
        conditions=conditions(at_most=not moves.exactly),
        **label_fields(named, moves, allowed),
        provenance=problem.provenance(
            of.totals,
            method="independence test",
            options={},
            seed=seed,
            n_pairs=meter.n_pairs,
            seconds=time.perf_counter() - started,
            misfiling={name: value for name, value in stated.items() if value is not None},
        ),
    )


def pvalues(statistics: Float64s, null: Float64s, tie_margin: float) -> Float64s:
    """Return the p-value of each statistic in its own null, a column each; ties count against a rejection."""
    n_larger = np.count_nonzero(null >= statistics - tie_margin, axis=0)
    return np.asarray((1 + n_larger) / (1 + len(null)))


class Floors:
    """Proved floors of HSIC for every vector of sizes.

    For any numbers mu, one for each group, the smallest value of HSIC + mu'n over all admissible labels (n
    their sizes) is a problem like that of HSIC alone. A floor h of it proves HSIC >= h - mu'n for labels of
    sizes n. So each solved problem, a tilt, is a floor for all sizes; the largest one counts.
    """

    def __init__(self, of: Dependence, moves: Moves, seed: int, meter: Meter, slack: float) -> None:
        self._of, self._moves, self._meter, self._slack = of.precise, moves, meter, slack
        self._tie_margin = of.tie_margin  # of the null, which may be in float32
        best, certified, _ = proved(searched(of, moves, "lower", seed), moves, "lower", slack, meter)
        self.is_proved = certified is not None
        self._heights = [best.value() if certified is None else certified]
        self._tilts = [np.zeros(of.n_groups)]
        self._known = [best]
        n = n_candidates(moves)
        definite = of.sums.is_positive_definite or n <= EIGENVALUE_ROWS
        self._can_tilt = self.is_proved and definite and is_dense(of, moves, "lower") and moves.n_moved > 0

    def at(self, sizes: Sizes) -> Float64s:
        """Return the floor for each of the sizes."""
        return np.asarray((np.array(self._heights) - sizes @ np.array(self._tilts).T).max(axis=1))

    def pvalues(self, sizes: Sizes, null: Float64s) -> Float64s:
        """Return the p-value at each of the sizes; `null` has a column for each."""
        return pvalues(self.at(sizes), null, self._tie_margin)

    def worst(self, sizes: Sizes, null: Float64s) -> int:
        """Return where the p-value is largest, after it was made as tight as is affordable."""
        centre, spread = null.mean(axis=0), np.maximum(null.std(axis=0), self._tie_margin)
        for last in range(MOST_TILTS + 1):
            found, floors = self.pvalues(sizes, null), self.at(sizes)
            standing = (floors - centre) / spread
            place = int(np.lexsort([standing, -found])[0])
            is_least = found[place] * (1 + len(null)) <= 1.5  # no p-value is smaller than that
            if last == MOST_TILTS or not self._can_tilt or is_least:
                break
            if self._is_reached(sizes[place], floors[place]) or not self._tilted(sizes[place]):
                break
        return place

    def _is_reached(self, sizes: Sizes, floor: float) -> bool:
        """Return whether known labels of these sizes reach the floor, or nearly."""
        values = [each.value() for each in self._known if np.array_equal(self._sizes(each), sizes)]
        return min(values, default=np.inf) <= floor + self._slack + self._of.margin(self._moves.n_moved)

    def _sizes(self, labels: Arrangement) -> Sizes:
        return np.bincount(labels.codes, minlength=self._of.n_groups)

    def _tilted(self, sizes: Sizes) -> bool:
        """Solve the tilt that may raise the floor of these sizes most; return whether it does."""
        of, before = self._of, self.at(sizes[None])[0]
        tilt = self._best_tilt(sizes)
        every = Candidates.make(of, self._moves, "lower", tilt)
        start = min(self._known, key=lambda each: each.value() + float(tilt @ self._sizes(each)))
        height, best, _ = branched(every, "lower", start, self._slack, self._meter, PATIENCE)
        self._tilts.append(tilt)
        self._heights.append(height - of.margin(self._moves.n_moved, by_gradient=True))
        is_new = best is not start
        if is_new:
            self._known.append(best)
        return is_new or bool(self.at(sizes[None])[0] > before)

    def _best_tilt(self, sizes: Sizes) -> Float64s:
        """Return the tilt with which none of the labels known so far is below as high a floor as possible."""
        from scipy.optimize import linprog

        most = float(np.abs(Arrangement.filed(self._of).changes()).max())
        beyond = np.array([self._sizes(each) - sizes for each in self._known])
        rows = np.column_stack([np.ones(len(beyond)), -beyond * most])
        values = np.array([each.value() for each in self._known])
        found = linprog(
            np.append(-1.0, np.zeros(of_groups := beyond.shape[1])),
            A_ub=rows,
            b_ub=values,
            bounds=[(None, None), *[(-STEEPEST, STEEPEST)] * of_groups],
        )
        return np.asarray(found.x[1:] * most)
