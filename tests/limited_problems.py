"""Small problems with rows that cannot move and limits, and what is true of them by definition."""

import itertools

import numpy as np

from mmdbounds.contamination import Contamination
from mmdbounds.counts import Movable, limited
from problems import naive_values, small_matrix, small_problem


def random_strata(n, rng):
    """Strata of `n` rows, one after the other, each with a limit from 0 to more than it has; or none."""
    if n == 0 or rng.random() < 0.25:
        return ()
    edges = np.unique([0, n, *rng.integers(0, n + 1, size=rng.integers(0, 4))])
    return tuple((int(size), int(rng.integers(0, size + 2))) for size in np.diff(edges))


def random_movable(p, q, rng):
    """Rows that may move: half of each group or more, all of them now and then."""
    of_x, of_y = (n if rng.random() < 0.3 else int(rng.integers(n // 2, n + 1)) for n in (int(p), int(q)))
    return Movable(of_x, of_y, random_strata(of_x, rng), random_strata(of_y, rng))


def limited_problem(seed, *, at_most=None, **how):
    """A small problem, and its counts: exactly so many or at most, for every other seed."""
    rng = np.random.default_rng([seed, 21])
    problem = small_problem(seed, **{"most": (11, 7), **how})
    p, q, counts, fits = problem.p, problem.q, problem.counts, 0
    while not fits:
        movable = random_movable(p, q, rng)
        m, m_d = min(counts.n_moved, movable.most_of_y), min(counts.n_moved_of_x, movable.most_of_x)
        fewest = 2 if problem.estimator == "unbiased" else 1
        fits = (m or m_d) and min(p + m - m_d, q - m + m_d) >= fewest
    at_most = seed % 2 == 1 if at_most is None else at_most
    every = Contamination(n_moved=m, n_moved_of_x=m_d, exactly=not at_most).admissible(p, q)
    return problem, limited([each for each in every if min(each.n_x, each.n_y) >= fewest], movable)


def stated(movable, p, q):
    """The rows that may move as `Contamination` takes them, for groups that have them in the right order."""
    may_move = np.arange(p) >= p - movable.of_x, np.arange(q) < movable.of_y
    if not (movable.strata_of_x or movable.strata_of_y):
        return {"may_move": may_move}
    limits, strata = {}, []
    for name, n, rows, first in (
        ("x", p, movable.strata_of_x, p - movable.of_x),
        ("y", q, movable.strata_of_y, 0),
    ):
        names = np.full(n, f"other {name}", dtype=object)
        edges = np.cumsum([first, *(size for size, _ in rows)]).tolist()
        for i, (_, most) in enumerate(rows):
            names[edges[i] : edges[i + 1]], limits[f"{name} {i}"] = f"{name} {i}", most
        strata.append(names)
    return {"may_move": may_move, "strata": tuple(strata), "limits": limits}


def strata_by_row(counts, p, q):
    """For each pooled row its stratum, -1 if it cannot move; and the limit of each stratum."""
    rows, stratum, limits = counts.movable, np.full(p + q, -1), []
    for first, n, strata in ((p - rows.of_x, rows.of_x, rows.strata_of_x), (p, rows.of_y, rows.strata_of_y)):
        place = first
        for size, most in strata or ((n, n),):
            stratum[place : place + size] = len(limits)
            limits.append(most)
            place += size
    return stratum, limits


def is_admissible(moved, counts, p, q):
    """Whether a set of pooled rows may move."""
    stratum, limits = strata_by_row(counts, p, q)
    used = [int(stratum[i]) for i in moved]
    return -1 not in used and all(used.count(h) <= most for h, most in enumerate(limits))


def admissible_labellings(p, q, counts):
    """Every admissible labelling, one row each: 1.0 for the pooled rows that belong to X after the move."""
    marks = []
    for of_x, of_y in itertools.product(
        itertools.combinations(range(p), counts.n_moved_of_x),
        itertools.combinations(range(p, p + q), counts.n_moved),
    ):
        if is_admissible(of_x + of_y, counts, p, q):
            mark = np.arange(p + q) < p
            mark[list(of_x + of_y)] ^= True
            marks.append(mark.astype(float))
    return np.array(marks)


def admissible_values(problem, counts):
    """The statistic of every admissible labelling."""
    marks = admissible_labellings(problem.p, problem.q, counts)
    return naive_values(small_matrix(problem), marks, problem.estimator)


def pooled_rows(found, p):
    """The pooled rows that a search moves."""
    return (*found.rows_of_x.tolist(), *(p + found.rows).tolist())
