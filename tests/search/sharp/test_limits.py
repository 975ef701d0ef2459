"""Sharp bounds with rows that cannot move and limits, against every admissible labelling written out.

Proofs are compared with the exact extremes without any tolerance.
"""

import functools

import numpy as np
import pytest

import mmdbounds as mb
from limited_problems import admissible_values, is_admissible, limited_problem, pooled_rows
from mmdbounds.search.protocol import Task
from problems import naive_values, small_matrix, totals_of

MANY, CHUNK = range(20_000, 22_400), 100
EQUAL = 1e-11
"""Values that differ by less, in units of the largest kernel value, are equal but for rounding."""

VARIANTS = {
    "a matrix": (mb.Sharp(), {}),
    "to the end": (mb.Sharp(certify=True, gap=0), {}),
    "little work": (mb.Sharp(n_starts=1), {"EFFORT": 1.0, "EFFORT_OF_PAIR": 0.0}),
    "through sums": (mb.Sharp(), {"DENSE_ROWS": 0}),
    "through sums, little work": (
        mb.Sharp(n_starts=1),
        {"DENSE_ROWS": 0, "EFFORT_THROUGH_SUMS": (1000.0, 0.0)},
    ),
    "a matrix for the upper side only": (mb.Sharp(), {"DENSE_ROWS": 0.5, "MORE_ABOVE": 1e3}),
}
"""Methods, and the constants that make them go another way."""


@functools.lru_cache(maxsize=64)
def exact(seed, at_most=None):
    """A problem, its counts, and the smallest and the largest statistic over all admissible labellings."""
    problem, admissible = limited_problem(seed, at_most=at_most)
    every = [admissible_values(problem, counts) for counts in admissible]
    return problem, admissible, min(map(np.min, every)), max(map(np.max, every))


def value_of(found, problem, admissible):
    """The value of the rows found, by definition; they must be admissible with one of the counts."""
    p, q, rows = problem.p, problem.q, pooled_rows(found, problem.p)
    numbers = len(found.rows), len(found.rows_of_x)
    [counts] = [each for each in admissible if (each.n_moved, each.n_moved_of_x) == numbers]
    assert is_admissible(rows, counts, p, q)
    mark = (np.arange(p + q) < p).astype(float)
    mark[list(rows)] = 1.0 - mark[list(rows)]
    return naive_values(small_matrix(problem), mark[None], problem.estimator)[0]


def check(seed, method, *, at_most=None, through_sums=False):
    """Certified, exact and attained in their order; return whether each side is exact, and how tight."""
    problem, admissible, lowest, highest = exact(seed, at_most)
    totals = totals_of(problem)
    lower, upper = method.both_sides(Task(totals, admissible, problem.estimator, seed))
    low, high = (value_of(each, problem, admissible) for each in (lower, upper))
    assert highest <= upper.certified < np.inf
    if through_sums and not totals.sums.is_positive_definite:
        assert lower.certified is None
    else:
        assert -np.inf < lower.certified <= lowest
    equal = max(EQUAL, 4 * totals.sums.rounding) * np.abs(small_matrix(problem)).max()
    np.testing.assert_allclose([lower.value, upper.value], [low, high], rtol=0, atol=equal)
    slack = equal + 2 * method.gap * (highest - lowest)
    return low - lowest <= slack and highest - high <= slack


def check_many(seeds, variant, monkeypatch):
    method, constants = VARIANTS[variant]
    for name, value in constants.items():
        monkeypatch.setattr(f"mmdbounds.search.sharp.{name}", value)
    hits = []
    for seed in seeds:
        try:
            hits.append(check(seed, method, through_sums=constants.get("DENSE_ROWS", 1) < 1))
        except Exception as error:
            error.add_note(f"limited_problem({seed})")
            raise
    return np.mean(hits)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_proved_holds_and_what_is_attained_is_admissible(variant, monkeypatch):
    share = check_many([*range(11), 20_170], variant, monkeypatch)  # the last: rows without any partner
    assert share >= (0.9 if variant in ("a matrix", "to the end") else 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("start", MANY[::CHUNK])
def test_thousands_of_problems(start, variant, monkeypatch):
    turn = list(VARIANTS).index(variant)
    if variant == "a matrix":
        assert check_many(range(start, start + CHUNK), variant, monkeypatch) >= 0.9
    else:
        check_many(range(start + turn, start + CHUNK, len(VARIANTS)), variant, monkeypatch)
