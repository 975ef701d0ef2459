"""Ceilings of all pairs of counts against every labelling of each."""

import numpy as np
import pytest

from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.search.sharp import pair_ceilings
from mmdbounds.search.sharp.pair_ceilings import PairCeilings, PartnerSums, ThresholdsOfPartners
from mmdbounds.search.sharp.quota_problem import QuotaProblem
from mmdbounds.search.sharp.same_sizes import SameSizes, by_sizes, most_moves
from mmdbounds.search.sharp.squares import with_squares
from problems import all_labellings, naive_values, small_matrix, small_problem, totals_of

from .test_same_sizes import pairs_of


def posed(seed):
    """A two-way problem, its pairs by size, and the problem of its largest pair."""
    problem = small_problem(seed + 700, two_way=True, most=(9, 6))
    sizes, totals = by_sizes(pairs_of(problem)), totals_of(problem)
    largest = max((size.most for size in sizes), key=most_moves)
    f = Quadratic(totals, largest, problem.estimator)
    return problem, sizes, f, QuotaProblem.of(Labelling(f), "upper")


def antisymmetric(n, size, rng):
    upper = np.triu(rng.normal(size=(n, n)) * size, 1)
    return upper - upper.T


def check(problem, found, sizes):
    K = small_matrix(problem)
    for size, ceilings in zip(sizes, found.ceilings, strict=True):
        for n_moved, ceiling in zip(size.moved.tolist(), ceilings.tolist(), strict=True):
            marks = all_labellings(problem.p, problem.q, size.pair(n_moved))
            assert naive_values(K, marks, problem.estimator).max() <= ceiling


@pytest.mark.parametrize("most_split", [0, 2, 4000])
@pytest.mark.parametrize("block", range(3))
def test_no_labelling_is_above_whatever_the_multipliers_and_squares(block, most_split, monkeypatch):
    """135 problems, every kernel: chords over all pairs of a size, over some, and none."""
    monkeypatch.setattr(pair_ceilings, "MOST_SPLIT", most_split)
    for seed in range(15 * block, 15 * block + 15):
        (problem, sizes, f, quotas), rng = posed(seed), np.random.default_rng(seed)
        n, scale = len(quotas.rows), f.c * f.totals.scale
        raised = with_squares(quotas, rng.normal(size=(n, 2)) * np.sqrt(scale) * (seed % 2))
        multipliers = antisymmetric(n, scale * (seed % 3), rng)
        proof = raised.score_bound(0.0, raised.linear, np.zeros(n), multipliers)
        found = PairCeilings(f.totals, problem.estimator, sizes)
        found.lower(PartnerSums.of(quotas, proof, f.c), -np.inf)
        check(problem, found, sizes)


@pytest.mark.parametrize("block", range(3))
def test_no_labelling_is_above_whatever_the_thresholds(block):
    for seed in range(15 * block, 15 * block + 15):
        (problem, sizes, f, quotas), rng = posed(seed), np.random.default_rng(seed)
        n, scale = len(quotas.rows), f.totals.scale
        values = quotas.pairs / f.c + antisymmetric(n, scale * (seed % 3), rng)
        np.fill_diagonal(values, -np.inf)
        thresholds, excess = rng.normal(size=(2, n)) * scale, np.zeros(n)
        for threshold, part in zip(thresholds, np.split(values, [quotas.n_x], axis=1), strict=True):
            excess += np.maximum(part - threshold[:, None], 0.0).sum(axis=1)
        found = PairCeilings(f.totals, problem.estimator, sizes)
        found.lower(ThresholdsOfPartners(thresholds, excess, 1e-12 * scale), -np.inf)
        check(problem, found, sizes)


def test_a_single_pair_has_the_ceiling_by_its_definition():
    """Section 5: each row with its best partners, then the best rows; no multipliers."""
    for seed in range(20):
        problem, _, f, quotas = posed(seed)
        m, m_d = f.counts.n_moved, f.counts.n_moved_of_x
        proof = quotas.score_bound(0.0, quotas.linear, np.zeros(len(quotas.rows)), 0.0 * quotas.pairs)
        found = PairCeilings(f.totals, problem.estimator, [SameSizes(m, f.counts)])
        found.lower(PartnerSums.of(quotas, proof, f.c), -np.inf)
        scores = {True: [], False: []}
        for i in range(len(quotas.rows)):
            is_x = i < problem.p
            of_x, of_y = (
                sorted((quotas.pairs[i, j] for j in range(*ends) if j != i), reverse=True)
                for ends in ((0, problem.p), (problem.p, len(quotas.rows)))
            )
            partners = sum(of_x[: max(m_d - is_x, 0)]) + sum(of_y[: max(m - (not is_x), 0)])
            scores[is_x].append(quotas.linear[i] + partners)
        expected = quotas.constant + sum(sorted(scores[True])[-m_d:])
        expected += sum(sorted(scores[False])[-m:]) if m else 0.0
        near = 1e-9 * (abs(expected) + f.totals.scale)
        assert found.ceilings[0] == pytest.approx(expected, rel=0, abs=near)
