"""Sharp bounds against every labelling written out: what is proved holds, what is attained is the extreme.

Proofs are compared with the exact extremes without any tolerance: a certificate that is beaten by a
rounding error is no certificate.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.counts import Counts
from mmdbounds.errors import DataError
from mmdbounds.kernels import Precomputed
from mmdbounds.search.protocol import Task
from mmdbounds.sums import make_sums
from problems import (
    KERNELS,
    Problem,
    all_labellings,
    naive_matrix,
    naive_values,
    small_matrix,
    small_problem,
    totals_of,
)

PROBLEMS = range(80)
MANY, CHUNK = range(10_000, 12_000), 50

EQUAL = 1e-11
"""Values that differ by less, in units of the largest kernel value, are equal but for rounding."""


VARIANTS = {
    "little work": (mb.Sharp(), {"EFFORT": 1e5, "EFFORT_OF_PAIR": 0.0}),
    "to the end": (mb.Sharp(certify=True, gap=0), {}),
    "a wide gap": (mb.Sharp(gap=0.2), {}),
    "one start": (mb.Sharp(n_starts=1), {}),
    "one start, little work": (mb.Sharp(n_starts=1, gap=0), {"EFFORT": 1.0, "EFFORT_OF_PAIR": 0.0}),
    "through sums": (mb.Sharp(), {"DENSE_ROWS": 0}),
    "through sums, little work": (
        mb.Sharp(n_starts=1),
        {"DENSE_ROWS": 0, "EFFORT_THROUGH_SUMS": (1000.0, 0.0)},
    ),
    "a matrix for the upper side only": (mb.Sharp(), {"DENSE_ROWS": 0.5, "MORE_ABOVE": 1e3}),
    "through blocks": (mb.Sharp(), {"DENSE_ROWS": 0, "SMALL_ROWS": 0}),
    "blocks, matrix of the movers": (mb.Sharp(), {"SMALL_ROWS": 0}),
}
"""Methods, and the constants that make them prove little or go another way."""


@dataclass(frozen=True)
class Exact:
    """A problem, and the value of each of its labellings."""

    problem: object
    values: np.ndarray
    place: dict
    scale: float

    @property
    def lowest(self):
        return self.values.min()

    @property
    def highest(self):
        return self.values.max()


@functools.lru_cache(maxsize=256)
def exact(seed, **how):
    problem = small_problem(seed, **how)
    K, marks = small_matrix(problem), all_labellings(problem.p, problem.q, problem.counts)
    return Exact(problem, naive_values(K, marks, problem.estimator), places_of(marks), np.abs(K).max())


def places_of(marks):
    return {u.tobytes(): i for i, u in enumerate(marks.astype(bool))}


def bounds(problem, method, *, seed=0, sums=None):
    """The two sides that a method finds."""
    task = Task(totals_of(problem, sums), [problem.counts], problem.estimator, seed)
    return method.both_sides(task)


def value_of(found, truth):
    """The value of the attained rows by definition; they must be a labelling with the stated counts."""
    in_x = np.arange(truth.problem.p + truth.problem.q) < truth.problem.p
    in_x[found.rows_of_x] = False
    in_x[found.rows + truth.problem.p] = True
    return truth.values[truth.place[in_x.tobytes()]]


def check(truth, lower, upper, *, proved=True, equal=EQUAL):
    """Certified, exact and attained in their order, without tolerance; return whether each side is exact."""
    low, high = value_of(lower, truth), value_of(upper, truth)
    assert truth.lowest <= low
    assert high <= truth.highest
    for found, is_proved in ((lower, proved), (upper, proved)):
        assert (found.certified is not None) == is_proved
    if proved:
        assert lower.certified <= truth.lowest
        assert truth.highest <= upper.certified
    # What is said of the rows is their value, as far as a certificate allows for rounding.
    equal *= truth.scale
    np.testing.assert_allclose([lower.value, upper.value], [low, high], rtol=0, atol=equal)
    return low - truth.lowest <= equal, truth.highest - high <= equal


@functools.cache
def share_found(seeds, method, *, proved=True):
    """Check many problems; return the share of those whose extremes were both found."""
    hits = []
    for seed in seeds:
        truth = exact(seed)
        try:
            hits.append(all(check(truth, *bounds(truth.problem, method, seed=seed), proved=proved)))
        except Exception as error:
            error.add_note(f"small_problem({seed})")
            raise
    return np.mean(hits)


def use(monkeypatch, constants):
    for name, value in constants.items():
        where = "mmdbounds.sums.plan" if name == "SMALL_ROWS" else "mmdbounds.search.sharp"
        monkeypatch.setattr(f"{where}.{name}", value)


def check_variant(seed, variant, **how):
    """Check a method that may prove little, or nothing below for kernels that it cannot look through."""
    truth, (method, constants) = exact(seed, **how), VARIANTS[variant]
    sums = make_sums(truth.problem.Z, truth.problem.kernel)
    lower, upper = bounds(truth.problem, method, seed=seed, sums=sums)
    if constants.get("DENSE_ROWS", 1) < 1 and not sums.is_positive_definite:
        assert lower.certified is None
        assert "positive definite" in lower.status
        lower = replace(lower, certified=-np.inf)
    check(truth, lower, upper, equal=max(EQUAL, 4 * sums.rounding))


def test_what_is_proved_holds_and_what_is_attained_is_the_extreme():
    assert share_found(PROBLEMS, mb.Sharp()) >= 0.99


def test_without_proofs_nearly_all_extremes_are_found():
    assert share_found(PROBLEMS[:100], mb.Sharp(certify=False), proved=False) >= 0.95


@pytest.mark.parametrize("variant", VARIANTS)
def test_proofs_hold_whatever_the_way(monkeypatch, variant):
    use(monkeypatch, VARIANTS[variant][1])
    for seed in range(1000, 1030):
        check_variant(seed, variant)


@pytest.mark.parametrize("variant", VARIANTS)
def test_proofs_hold_for_the_energy_distance(monkeypatch, variant):
    use(monkeypatch, VARIANTS[variant][1])
    for seed in range(3000, 3003):
        check_variant(seed, variant, kernel="energy")


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_proofs_hold_for_the_energy_distance_on_many_problems(monkeypatch, variant):
    use(monkeypatch, VARIANTS[variant][1])
    for seed in range(3003, 3053):
        check_variant(seed, variant, kernel="energy")


def margin_of(truth):
    """What a certificate allows for rounding, for kernel values good to 1e-12: see `objective.lost`."""
    counts, o = truth.problem.counts, int(truth.problem.estimator == "unbiased")
    moves = counts.n_moved + counts.n_moved_of_x
    filed = len(truth.problem.X) / (counts.n_x - o) + len(truth.problem.Y) / (counts.n_y - o)
    moved = moves / (counts.n_x - o) + moves / (counts.n_y - o)
    return 1e-12 * truth.scale * (filed + moved) * (filed + 5 * moved)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_without_a_gap_both_sides_are_proved_to_be_the_extremes(estimator):
    for seed in range(2000, 2020):
        truth = exact(seed, estimator=estimator, most=(11, 7))
        lower, upper = bounds(truth.problem, mb.Sharp(certify=True, gap=0), seed=seed)
        assert check(truth, lower, upper) == (True, True), seed
        # Twice: once for the proof, once for what the labelling's own value may be off.
        assert truth.lowest - lower.certified <= 2 * margin_of(truth), seed
        assert upper.certified - truth.highest <= 2 * margin_of(truth), seed


def test_a_gap_that_was_asked_for_is_kept():
    for seed in range(3000, 3030):
        truth, gap = exact(seed), [0.01, 0.1][seed % 2]
        lower, upper = bounds(truth.problem, mb.Sharp(certify=True, gap=gap), seed=seed)
        most = gap * (upper.value - lower.value) + 2 * margin_of(truth)
        assert lower.value - lower.certified <= most, seed
        assert upper.certified - upper.value <= most, seed


@pytest.mark.parametrize("dense_rows", [2500, 0])
def test_with_many_counts_the_proof_holds_for_each(monkeypatch, dense_rows):
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", dense_rows)
    for seed in range(4000, 4016):
        problem = small_problem(seed, kernel="rbf", most=(9, 6))
        n, n_of_x = problem.counts.n_moved, problem.counts.n_moved_of_x
        how_much = mb.Contamination(n_moved=n, n_moved_of_x=n_of_x)
        admissible = how_much.admissible(problem.p, problem.q)
        assert len(admissible) == (n + 1) * (n_of_x + 1)
        K = small_matrix(problem)
        every = [
            naive_values(K, all_labellings(problem.p, problem.q, counts), problem.estimator)
            for counts in admissible
        ]
        values = np.concatenate(every)
        task = Task(totals_of(problem), admissible, problem.estimator, seed)
        lower, upper = mb.Sharp().both_sides(task)
        assert lower.certified <= values.min(), seed
        assert values.max() <= upper.certified, seed
        slack = 1e-3 * (values.max() - values.min()) + EQUAL
        if dense_rows:
            assert lower.value - values.min() <= slack, seed
            assert values.max() - upper.value <= slack, seed


def test_the_same_seed_gives_the_same_bits_and_any_seed_a_proof():
    for seed in range(5000, 5005):
        truth = exact(seed)
        first, again = (bounds(truth.problem, mb.Sharp(), seed=seed) for _ in range(2))
        for one, other in zip(first, again, strict=True):
            assert one.rows.tolist() == other.rows.tolist()
            assert one.rows_of_x.tolist() == other.rows_of_x.tolist()
            assert (one.value, one.certified) == (
                other.value,
                other.certified,
            )
        check(truth, *bounds(truth.problem, mb.Sharp(n_starts=3), seed=seed + 1))


@pytest.mark.parametrize("method", [mb.Sharp(), mb.Sharp(gap=0)])
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("of_x", [0, 2])
def test_rows_that_are_all_alike_or_have_nothing_in_common(estimator, of_x, method):
    # A bandwidth so small that every pair of rows has k = 0, and rows that are all the same.
    for Z, kernel in (
        (np.arange(12.0)[:, None], mb.kernels.RBF(1e-3)),
        (np.ones((12, 2)), mb.kernels.RBF(1.0)),
    ):
        problem = Problem(Z[:5], Z[5:], kernel, estimator, Counts(3, of_x, 8 - of_x, 4 + of_x))
        marks = all_labellings(5, 7, problem.counts)
        truth = Exact(problem, naive_values(naive_matrix(problem), marks, estimator), places_of(marks), 1.0)
        lower, upper = bounds(problem, method)
        assert check(truth, lower, upper) == (True, True)
        assert upper.certified - lower.certified <= 2 * margin_of(truth) + EQUAL


def test_proofs_hold_for_matrices_whose_sums_cancel():
    # 0 on the diagonal and in every sum over a group: the size of the entries shows in none of them.
    for seed in range(12):
        K = cancelling_matrix(4, 8, np.random.default_rng(seed))
        m, estimator = 2 + seed % 4, ["unbiased", "biased"][seed % 2]
        problem = Problem(K[:4], K[4:], Precomputed(), estimator, Counts(m, 0, 4 + m, 8 - m))
        marks = all_labellings(4, 8, problem.counts)
        truth = Exact(problem, naive_values(K, marks, estimator), places_of(marks), np.abs(K).max())
        check(truth, *bounds(problem, mb.Sharp(gap=0)))


def cancelling_matrix(p, q, rng):
    """Entries in the thousands whose sums over X and over Y are 0 but for rounding, as is the diagonal."""
    K = 1e3 * rng.normal(size=(p + q, p + q))
    centre = np.eye(p + q)
    centre[:p, :p] -= 1 / p
    centre[p:, p:] -= 1 / q
    for _ in range(400):  # alternating projections
        K = centre @ (K + K.T) @ centre / 2
        np.fill_diagonal(K, 0.0)
    return (K + K.T) / 2


@pytest.mark.parametrize("dense_rows", [2500, 0])
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_counts_at_their_limits(monkeypatch, estimator, dense_rows):
    # All rows of a group but the last, all of them, none; as few rows in a group as the estimator takes.
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", dense_rows)
    least, tried = (2 if estimator == "unbiased" else 1), 0
    drawn = small_problem(7, kernel="matern52", estimator=estimator, two_way=True)
    p, q = 5, 6
    Z = np.concatenate([drawn.Z, drawn.Z + 0.5])[: p + q]
    for m in (0, 1, q - 1, q):
        for m_d in (0, 1, p - 1, p):
            counts = Counts(m, m_d, p + m - m_d, q - m + m_d)
            if min(counts.n_x, counts.n_y) < least:
                continue
            tried += 1
            problem = Problem(Z[:p], Z[p:], drawn.kernel, estimator, counts)
            marks = all_labellings(p, q, counts)
            truth = Exact(
                problem, naive_values(naive_matrix(problem), marks, estimator), places_of(marks), 1.0
            )
            hits = check(truth, *bounds(problem, mb.Sharp()))
            assert hits == (True, True), counts
    assert tried >= 10


def test_proofs_in_single_precision_hold_in_double(monkeypatch):
    monkeypatch.setattr("mmdbounds.sums.plan.SMALL_ROWS", 0)
    done = 0
    for seed in range(6000, 6018):
        truth = exact(seed, kernel=KERNELS[seed % len(KERNELS)], most=(10, 7))
        try:
            sums = make_sums(truth.problem.Z, truth.problem.kernel, dtype="float32")
        except DataError:  # too coarse, and said so
            continue
        assert sums.backend != "matrix"
        monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", [0, 2500][seed % 2])
        lower, upper = bounds(truth.problem, mb.Sharp(n_starts=4), seed=seed, sums=sums)
        done += 1
        if lower.certified is None:
            assert not sums.is_positive_definite
            lower = replace(lower, certified=-np.inf)
        check(truth, lower, upper, equal=4 * sums.rounding)
    assert done >= 12


@pytest.mark.slow
@pytest.mark.parametrize("start", MANY[::CHUNK])
def test_two_thousand_problems(start):
    assert share_found(range(start, start + CHUNK), mb.Sharp()) > 0.9


@pytest.mark.slow
def test_the_extremes_of_two_thousand_problems_are_found():
    shares = [share_found(range(start, start + CHUNK), mb.Sharp()) for start in MANY[::CHUNK]]
    assert np.mean(shares) >= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("start", MANY[::500])
def test_two_thousand_problems_whatever_the_way(monkeypatch, variant, start):
    use(monkeypatch, VARIANTS[variant][1])
    turn = list(VARIANTS).index(variant)
    for seed in range(start + turn, start + 500, len(VARIANTS)):
        check_variant(seed, variant)
