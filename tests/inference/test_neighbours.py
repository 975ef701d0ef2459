"""Rows of one count as a start for the next: grown, shrunk, never a loss, and a find where starts are few."""

from dataclasses import replace

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.counts import Counts
from mmdbounds.inference import curve
from mmdbounds.inference.curve import along, from_neighbour, resized
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.search.exchanges import refine
from mmdbounds.search.protocol import Found
from problems import (
    Problem,
    all_labellings,
    naive_gradient,
    naive_matrix,
    naive_values,
    small_matrix,
    small_problem,
    totals_of,
)

pytestmark = pytest.mark.usefixtures("drawn")

SIDES = ("lower", "upper")
EXACT, SAME_REGION = 1e-12, 1e-6


def quadratic(problem, m):
    counts = Counts(m, 0, problem.p + m, problem.q - m)
    return Quadratic(totals_of(problem), counts, problem.estimator)


def extreme(problem, m, side):
    """The most extreme value over all labellings with m rows moved."""
    counts = Counts(m, 0, problem.p + m, problem.q - m)
    values = naive_values(
        small_matrix(problem), all_labellings(problem.p, problem.q, counts), problem.estimator
    )
    return values.min() if side == "lower" else values.max()


def mask(q, rows):
    moved = np.zeros(q, dtype=bool)
    moved[list(rows)] = True
    return moved


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("seed", range(6))
def test_rows_are_added_and_given_back_by_their_gradient(seed, side):
    problem = small_problem(seed, two_way=False, kernel="rbf", most=(9, 5))
    rng, q = np.random.default_rng(seed), problem.q
    out = -1 if side == "lower" else 1
    for before, after in ((1, q - 2), (q - 2, 1), (2, 2)):
        rows = rng.choice(q, before, replace=False)
        marks = np.concatenate([np.ones(problem.p), mask(q, rows)])
        counts = Counts(after, 0, problem.p + after, q - after)
        slope = out * naive_gradient(naive_matrix(problem), marks, counts, problem.estimator)[problem.p :]
        new = set(np.flatnonzero(resized(quadratic(problem, after), mask(q, rows), side).moved))
        assert len(new) == after
        if before < after:
            assert set(rows) < new
            added, others = new - set(rows), set(range(q)) - new
            assert min(slope[list(added)]) >= max(slope[list(others)], default=-np.inf) - EXACT
        elif before > after:
            assert new < set(rows)
            assert min(slope[list(new)]) >= max(slope[list(set(rows) - new)]) - EXACT
        else:
            assert new == set(rows)


def two_regions():
    """Two far places where rows of Y lie together, closer at the first: rows of it are a local optimum."""
    Y = np.concatenate([8 + np.linspace(0, 0.3, 6), -8 + np.linspace(0, 1.5, 6)])[:, None]
    return Problem(
        np.linspace(-0.2, 0.2, 6)[:, None], Y, mb.kernels.RBF(1.0), "unbiased", Counts(4, 0, 10, 8)
    )


def local(problem, m, first):
    """The local optimum of the upper side that m rows from `first` on lead to."""
    labelling = Labelling(quadratic(problem, m), np.arange(first, first + m))
    refine(labelling, "upper")
    return Found(labelling.value(), labelling)


@pytest.mark.parametrize(("m", "m_there"), [(4, 3), (3, 4), (4, 1)])
def test_a_neighbour_leads_out_of_a_local_optimum(m, m_there):
    problem = two_regions()
    stuck = replace(local(problem, m, 0), certified=9.0, status="refined")
    found = from_neighbour(stuck, local(problem, m_there, 6), "upper")
    assert found.value == pytest.approx(extreme(problem, m, "upper"), abs=SAME_REGION)
    assert found.value > stuck.value + 1e-3
    assert found.value == found.labelling.value()
    assert (len(found.rows), found.certified, found.status) == (m, 9.0, "refined")


def test_nothing_is_lost_and_nothing_proved_is_searched_again(monkeypatch):
    problem = two_regions()
    best, worse = local(problem, 3, 6), local(problem, 4, 0)
    assert from_neighbour(best, worse, "upper") is best
    tried = []
    monkeypatch.setattr(curve, "resized", lambda *_: tried.append(1))
    proved = replace(worse, certified=worse.value)
    assert from_neighbour(proved, best, "upper") is proved
    free = Found(0.3, None, kind="weights")
    assert from_neighbour(free, best, "upper") is free
    assert from_neighbour(best, free, "upper") is best
    filed = local(problem, 0, 0)
    assert from_neighbour(filed, best, "upper") is filed
    assert tried == []


@pytest.mark.parametrize("knows", range(3))
def test_what_one_count_knows_goes_up_and_down_the_curve(knows):
    problem, counts = two_regions(), (2, 3, 4)
    before = [local(problem, m, 6 if place == knows else 0) for place, m in enumerate(counts)]
    learnt = along([(one, one) for one in before])
    for m, (_, upper), own in zip(counts, learnt, before, strict=True):
        assert upper.value >= own.value
        assert upper.value == pytest.approx(extreme(problem, m, "upper"), abs=SAME_REGION)


@pytest.mark.parametrize("seed", range(6))
def test_no_point_of_a_curve_is_worse_than_without(seed, monkeypatch):
    """And some are better, where there are few starts."""
    problem = small_problem(seed + 40, two_way=False, kernel="rbf", most=(12, 5))
    monkeypatch.setattr(curve, "CURVE_STARTS", 1)
    monkeypatch.setattr(curve, "CURVE_PATIENCE", 1e-9)
    options = {"kernel": problem.kernel, "estimator": problem.estimator, "n_permutations": 19, "rng": seed}
    warm = mb.sweep(problem.X, problem.Y, **options, exactly=True)
    monkeypatch.setattr(curve, "along", lambda ends: ends)
    cold = mb.sweep(problem.X, problem.Y, **options, exactly=True)
    assert warm.breakdown_n_moved == cold.breakdown_n_moved
    for after, before in zip(warm.points, cold.points, strict=True):
        assert after.lower <= before.lower
        assert after.upper >= before.upper
        assert after.lower_certified == before.lower_certified
        assert after.upper_certified == before.upper_certified
        assert after.pvalue == before.pvalue
        tie = 1e-9
        assert after.lower_certified - tie <= extreme(problem, after.n_moved, "lower") <= after.lower + tie
        assert after.upper - tie <= extreme(problem, after.n_moved, "upper") <= after.upper_certified + tie


def test_a_curve_asks_every_neighbour_once_each_way(monkeypatch):
    asked = []

    def remember(found, neighbour, side):
        asked.append((len(found.rows), len(neighbour.rows), side))
        return found

    monkeypatch.setattr(curve, "from_neighbour", remember)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), rng.normal(1, 1, size=(12, 2))
    mb.sweep(X, Y, epsilons=[0, 0.2, 0.3], n_permutations=19, rng=0)
    pairs = [(3, 0), (5, 3), (3, 5), (0, 3)]
    assert asked == [(here, there, side) for here, there in pairs for side in SIDES]
