"""Ceilings of all pairs of counts against every labelling of each."""

import numpy as np
import pytest

from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.search.protocol import RowBounds
from mmdbounds.search.sharp import pair_ceilings
from mmdbounds.search.sharp.ceiling import with_squares
from mmdbounds.search.sharp.learned import lost_by_sums
from mmdbounds.search.sharp.pair_ceilings import PairCeilings, PartnerSums, ThresholdsOfPartners
from mmdbounds.search.sharp.quota_problem import QuotaProblem
from mmdbounds.search.sharp.same_sizes import SameSizes, by_sizes, most_moves
from problems import all_labellings, naive_values, small_matrix, small_problem, totals_of

from .test_same_sizes import BLOCKS, pairs_of


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
@pytest.mark.parametrize("block", BLOCKS)
def test_no_labelling_is_above_whatever_the_multipliers_and_squares(block, most_split, monkeypatch):
    """360 problems, every kernel: chords over all pairs of a size, over some, and none."""
    monkeypatch.setattr(pair_ceilings, "MOST_SPLIT", most_split)
    monkeypatch.setattr(pair_ceilings, "STRIP", 3)
    for seed in range(10 * block, 10 * block + 10):
        (problem, sizes, f, quotas), rng = posed(seed), np.random.default_rng(seed)
        n, scale = len(quotas.rows), f.c * f.totals.scale
        raised = with_squares(quotas, rng.normal(size=(n, 2)) * np.sqrt(scale) * (seed % 2))
        multipliers = antisymmetric(n, scale * (seed % 3), rng)
        proof = raised.score_bound(0.0, raised.linear, np.zeros(n), multipliers)
        found = PairCeilings(f.totals, problem.estimator, sizes)
        found.lower(PartnerSums.of(quotas, proof, f.c), -np.inf)
        check(problem, found, sizes)


@pytest.mark.parametrize("block", BLOCKS)
def test_no_labelling_is_above_whatever_the_thresholds(block):
    for seed in range(10 * block, 10 * block + 10):
        (problem, sizes, f, quotas), rng = posed(seed), np.random.default_rng(seed)
        n, scale = len(quotas.rows), f.totals.scale
        values = quotas.pairs / f.c + antisymmetric(n, scale * (seed % 3), rng)
        np.fill_diagonal(values, -np.inf)
        thresholds, parts = rng.normal(size=(2, n)) * scale, np.split(values, [quotas.n_x], axis=1)
        excess = np.array(
            [
                np.maximum(part - t[:, None], 0.0).sum(axis=1)
                for t, part in zip(thresholds, parts, strict=True)
            ]
        )
        found = PairCeilings(f.totals, problem.estimator, sizes)
        bounds = RowBounds(thresholds, excess, np.zeros(n), 1e-12 * scale)
        found.lower(ThresholdsOfPartners(bounds), -np.inf)
        check(problem, found, sizes)


def test_what_thresholds_lose_is_a_share_of_all_that_is_added_up():
    """Also where nothing is left of it: thresholds below 0 and what exceeds them cancel."""
    rng, n, c = np.random.default_rng(0), 12, 0.3
    thresholds, above, of_pair = -rng.exponential(size=(2, n)), n * rng.exponential(size=(2, n)), 1e-15
    alone, excess = n * rng.exponential(size=n), above.sum(axis=0)
    partners, excess = ThresholdsOfPartners(RowBounds(thresholds, above, alone, of_pair)), excess + alone
    for m, m_d in ((1, 0), (3, 2), (5, 4)):
        sizes = np.sort(m_d * -thresholds[0] + m * -thresholds[1] + excess)[n - m - m_d :].sum()
        least = c * ((m + m_d) ** 2 * of_pair + lost_by_sums(n) * sizes)
        assert (partners.margin(np.zeros(3), c, m + m_d) >= least).all()


def largest_partners(values, i, problem, counts):
    """The largest entries of row i that its partners in X and in Y can have, written down."""
    is_x, groups = i < problem.p, ((0, problem.p), (problem.p, len(values)))
    numbers = max(counts.n_moved_of_x - is_x, 0), max(counts.n_moved - (not is_x), 0)
    for ends, number in zip(groups, numbers, strict=True):
        yield sorted((values[i, j] for j in range(*ends) if j != i), reverse=True)[:number]


def test_a_single_pair_has_the_ceiling_by_its_definition():
    """Each row with its best partners, then the best rows; from sums, and from thresholds with an excess."""
    for seed in range(12):
        (problem, _, f, quotas), rng = posed(seed), np.random.default_rng(seed)
        n, scale, (m_d, m) = len(quotas.rows), f.c * f.totals.scale, quotas.quotas
        raised = with_squares(quotas, rng.normal(size=(n, 2)) * np.sqrt(scale))
        multipliers = antisymmetric(n, scale, rng)
        proof = raised.score_bound(0.0, raised.linear, np.zeros(n), multipliers)
        scores, thresholds, excess = raised.linear.copy(), np.zeros((2, n)), np.zeros((2, n))
        for i in range(n):
            for group, best in enumerate(largest_partners(raised.pairs + multipliers, i, problem, f.counts)):
                thresholds[group, i] = best[-1] if best else 0.0
                excess[group, i] = sum(best) - len(best) * thresholds[group, i]
                scores[i] += sum(best)
        expected = quotas.constant + sum(sorted(scores[: problem.p])[-m_d:])
        expected += sum(sorted(scores[problem.p :])[-m:]) if m else 0.0
        expected = min(expected, f.totals.ceiling)
        alone = (raised.linear - quotas.linear) / f.c
        for partners in (
            PartnerSums.of(quotas, proof, f.c),
            ThresholdsOfPartners(RowBounds(thresholds / f.c, excess / f.c, alone, 0.0)),
        ):
            found = PairCeilings(f.totals, problem.estimator, [SameSizes(m, f.counts)])
            found.lower(partners, -np.inf)
            near = 1e-9 * (abs(expected) + n * np.abs(scores).max())
            assert found.ceilings[0] == pytest.approx(expected, rel=0, abs=near)
