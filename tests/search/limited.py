"""Small problems in which some rows cannot move and strata have limits, and what is true of them by definition."""

import itertools

import numpy as np

from mmdbounds.contamination import Contamination, Movable, limited
from problems import small_problem


def random_strata(n, rng):
    """Strata of `n` rows, one after the other, each with a limit from 0 to more than it has; or none."""
    if n == 0 or rng.random() < 0.25:
        return ()
    edges = np.unique([0, n, *rng.integers(0, n + 1, size=rng.integers(0, 4))])
    return tuple((int(size), int(rng.integers(0, size + 2))) for size in np.diff(edges))


def random_movable(p, q, rng):
    """Rows that may move: any number of both groups, all of them now and then."""
    of_x, of_y = (n if rng.random() < 0.3 else int(rng.integers(n // 2, n + 1)) for n in (int(p), int(q)))
    return Movable(of_x, of_y, random_strata(of_x, rng), random_strata(of_y, rng))


def limited_problem(seed, **how):
    """A small problem with its counts: exactly so many, or (for every other seed) at most."""
    rng = np.random.default_rng([seed, 21])
    problem = small_problem(seed, **{"most": (11, 7), **how})
    p, q, counts = problem.p, problem.q, problem.counts
    while True:
        movable = random_movable(p, q, rng)
        m, m_d = min(counts.n_moved, movable.most_of_y), min(counts.n_moved_of_x, movable.most_of_x)
        if m + m_d:
            break
    how_much = Contamination(n_moved=m, n_moved_of_x=m_d)
    every = how_much.admissible(p, q, at_most=seed % 2 == 1)
    fewest = 2 if problem.estimator == "unbiased" else 1
    every = [each for each in every if min(each.n_x, each.n_y) >= fewest]
    return problem, limited(every, movable)


def is_admissible(moved, counts, p):
    """Whether a set of pooled rows may move, row by row and stratum by stratum."""
    rows = counts.movable
    for strata, first, last in (
        (rows.strata_of_x or ((rows.of_x, rows.of_x),), p - rows.of_x, p),
        (rows.strata_of_y or ((rows.of_y, rows.of_y),), p, p + rows.of_y),
    ):
        for size, most in strata:
            if sum(first <= i < first + size for i in moved) > most:
                return False
            first += size
        assert first == last
    return all(p - rows.of_x <= i < p + rows.of_y for i in moved)


def admissible_labellings(p, q, counts):
    """Every admissible labelling, one row each: 1.0 for the pooled rows that belong to X after the move."""
    marks = []
    for of_x, of_y in itertools.product(
        itertools.combinations(range(p), counts.n_moved_of_x),
        itertools.combinations(range(p, p + q), counts.n_moved),
    ):
        if is_admissible(of_x + of_y, counts, p):
            mark = np.arange(p + q) < p
            mark[list(of_x + of_y)] ^= True
            marks.append(mark.astype(float))
    return np.array(marks)
