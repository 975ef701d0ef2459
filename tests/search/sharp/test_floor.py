"""The floor against the definition, against an independent solver, and against every labelling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from mmdbounds.counts import Counts
from mmdbounds.objective import Labelling
from mmdbounds.search.sharp import pairwise_steps
from mmdbounds.search.sharp.floor import EXTRA, Floor, filled, raised, tightest
from mmdbounds.search.sharp.quota_problem import Effort, QuotaProblem
from mmdbounds.search.sharp.through_sums import Mixture, SharedRows
from mmdbounds.search.stepwise import StepwiseDominance
from mmdbounds.sums.cpu.blocked import BlockedSums
from problems import (
    Problem,
    naive_extension,
    naive_gradient,
    quadratic_of,
    small_choice,
    small_matrix,
    small_problem,
    sum_zero_basis,
)
from tolerances import of_a_sum, of_mmd2

seeds = st.integers(0, 2**32 - 1)
NO_END = 1e15
DEFINITE = ("rbf", "laplacian", "matern52", "polynomial", "linear", "function")
INDEFINITE = ("sigmoid", "indefinite matrix")


def definite(seed, **how):
    """A small problem whose kernel is definite, with something to choose in every group."""
    rng = np.random.default_rng(seed)
    problem = small_problem(seed, kernel=str(rng.choice(DEFINITE)), most=(9, 6), **how)
    return problem if problem.counts.n_moved else definite(seed + 1, **how)


def natural(quadratic, choice):
    """The diagonal with which a choice is the squared MMD over fractions."""
    return quadratic.c * quadratic.totals.diagonal[-len(choice.rows) :]


def random_shares(choice, rng):
    """Shares between 0 and 1 that add up to the quotas, some of them at the ends."""
    share = np.zeros(len(choice.rows))
    for part, quota in choice.parts():
        n = part.stop - part.start
        some = [np.isin(np.arange(n), rng.choice(n, quota, replace=False)) for _ in range(rng.integers(1, 4))]
        share[part] = rng.dirichlet(np.ones(len(some))) @ np.array(some)
    return share


def proof_at(choice, share, diagonal):
    """The proof at given shares: steps that change nothing, because any gap is small enough."""
    floor = Floor(diagonal, np.empty(0, dtype=np.intp), np.inf)
    return floor(choice, 0.0, 0.0, Effort(NO_END), (share, diagonal))


def as_labels(problem, share):
    """Shares of the movers as weights u of all pooled rows."""
    u = (np.arange(problem.p + problem.q) < problem.p).astype(float)
    first = len(u) - len(share)
    sign = np.where(np.arange(first, len(u)) < problem.p, -1.0, 1.0)
    u[first:] += sign * share
    return u


@given(seeds)
def test_at_any_shares_it_is_the_formula_and_below_every_labelling(seed):
    problem = definite(seed)
    K, counts = small_matrix(problem), problem.counts
    choice, ways, values = small_choice(problem, "lower")
    share = random_shares(choice, np.random.default_rng(seed))
    proof = proof_at(choice, share, natural(quadratic_of(problem), choice))
    # floor = f(u) - g'u + the m smallest g over Y + the p - m_D smallest g over X
    u = as_labels(problem, share)
    g = naive_gradient(K, u, counts, problem.estimator)
    g_x, g_y = np.sort(g[: problem.p]), np.sort(g[problem.p :])
    smallest = g_y[: counts.n_moved].sum() + g_x[: problem.p - counts.n_moved_of_x].sum()
    if not counts.n_moved_of_x:
        smallest = g_y[: counts.n_moved].sum() + g_x.sum()
    expected = naive_extension(K, u, counts, problem.estimator) - g @ u + smallest
    tolerance = 1e-11 * np.abs(K).max()
    np.testing.assert_allclose(-proof.bound, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(proof.share, share, rtol=0, atol=1e-12)
    for way, value in zip(ways, values, strict=True):
        assert -value <= proof.base + proof.scores[way].sum() + tolerance
    assert -proof.bound <= values.min() + tolerance


def floor_through_sums(shared, quadratic, tolerance):
    """The floor at shares that are the best to within `tolerance`."""
    shared.improve(tolerance, Effort(NO_END))
    return shared.floor(quadratic)


@given(seeds)
def test_through_sums_it_is_the_same_formula(seed):
    problem = definite(seed)
    choice, _, values = small_choice(problem, "lower")
    quadratic = quadratic_of(problem)
    shared = SharedRows(Labelling(quadratic))
    shared.share = random_shares(choice, np.random.default_rng(seed))
    floor = shared.floor(quadratic)
    expected = proof_at(choice, shared.share, natural(quadratic, choice)).bound
    tolerance = 1e-11 * np.abs(small_matrix(problem)).max()
    np.testing.assert_allclose(-floor, expected, rtol=0, atol=tolerance)
    assert floor <= values.min() + tolerance


@given(seeds, st.integers(0, 100))
def test_shares_are_brought_to_the_quotas(seed, more):
    problem = definite(seed)
    choice, _, _ = small_choice(problem, "lower")
    rng = np.random.default_rng([seed, more])
    share = np.clip(rng.normal(0.5, 0.6, size=len(choice.rows)), 0, 1)
    gradient = rng.normal(size=len(share))
    full = filled(choice, share, gradient)
    assert full.min() >= 0.0
    assert full.max() <= 1.0
    for part, quota in choice.parts():
        np.testing.assert_allclose(full[part].sum(), quota, rtol=0, atol=1e-13 * len(share))
        missing = quota - share[part].sum()
        change = (full[part] - share[part]) * np.sign(missing)
        assert change.min() >= -1e-15
        # Nobody changes while somebody who gains more (or loses less) has room.
        order = np.argsort(-gradient[part] * np.sign(missing))
        room = np.where(missing > 0, 1 - full[part], full[part])[order]
        last = np.flatnonzero(change[order] > 1e-12).max(initial=-1)
        assert (room[: max(last, 0)] <= 1e-12).all()


STEPS = {"compiled": pairwise_steps._compiled_pairwise, "NumPy": pairwise_steps._numpy_pairwise}


@pytest.mark.parametrize("form", STEPS)
def test_pairwise_steps_end_at_the_optimum_and_keep_their_gradient(form):
    steps = STEPS[form]
    for seed in range(30):
        problem = definite(seed)
        choice, _, _ = small_choice(problem, "lower")
        diagonal = natural(quadratic_of(problem), choice)
        linear = choice.linear + diagonal
        share = random_shares(choice, np.random.default_rng(seed))

        def value(t, choice=choice, linear=linear, diagonal=diagonal):
            return t @ linear + t @ choice.pairs @ t - diagonal @ t**2

        def slope(t, choice=choice, linear=linear, diagonal=diagonal):
            return linear + 2 * (choice.pairs @ t - diagonal * t)

        before, gradient, first = value(share), slope(share), share.copy()
        edges = np.array([0, *(part.stop for part, _ in choice.parts())])
        tolerance = 1e-9 * np.abs(choice.pairs).max()
        taken = steps(choice.pairs, diagonal, gradient, share, edges, tolerance, 10_000)
        assert 2 * taken >= np.count_nonzero(share != first)  # a step changes two rows
        assert taken < 10_000
        size = np.abs(linear).sum() + np.abs(choice.pairs).sum() + diagonal.sum()  # shares are at most 1
        assert value(share) >= before - of_a_sum(len(share) ** 2, size)
        np.testing.assert_allclose(gradient, slope(share), rtol=0, atol=1e-11 * np.abs(linear).max())
        for part, quota in choice.parts():
            np.testing.assert_allclose(share[part].sum(), quota, rtol=0, atol=1e-13 * len(share))
            taking, giving = gradient[part][share[part] < 1], gradient[part][share[part] > 0]
            assert taking.max() - giving.min() <= tolerance


def test_both_forms_make_the_same_step():
    for seed in range(30):
        problem = definite(seed)
        choice, _, _ = small_choice(problem, "lower")
        diagonal = natural(quadratic_of(problem), choice)
        edges = np.array([0, *(part.stop for part, _ in choice.parts())])
        start = random_shares(choice, np.random.default_rng(seed))
        slope = choice.linear + diagonal + 2 * (choice.pairs @ start - diagonal * start)
        share, gradient = ({form: values.copy() for form in STEPS} for values in (start, slope))
        for form, steps in STEPS.items():
            steps(choice.pairs, diagonal, gradient[form], share[form], edges, 0.0, 1)
        # From the same numbers, by the same operations: a handful of roundings, even if some are fused.
        eps = 8 * np.finfo(float).eps
        size = np.abs(slope).max() + 4 * np.abs(choice.pairs).max() + 2 * diagonal.max()
        np.testing.assert_allclose(share["NumPy"], share["compiled"], rtol=0, atol=eps)
        np.testing.assert_allclose(gradient["NumPy"], gradient["compiled"], rtol=0, atol=eps * size)


@pytest.mark.parametrize("form", STEPS)
def test_steps_that_run_out_are_counted(form):
    choice, _, _ = small_choice(definite(5), "lower")
    n = len(choice.rows)
    share = np.full(n, sum(choice.quotas) / n)
    gradient = np.arange(n, dtype=float)
    assert STEPS[form](choice.pairs, np.ones(n), gradient, share, np.array([0, n]), 1e-12, 2) == 2


def least_eigenvalue(choice, diagonal):
    """Of diag(D) - pairs on vectors that sum to zero in each group, in units of the largest pair."""
    basis = sum_zero_basis(choice)
    values = np.linalg.eigvalsh(basis.T @ (np.diag(diagonal) - choice.pairs) @ basis)
    return values[0] / np.abs(choice.pairs).max()


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_shifted_diagonals_leave_a_definite_matrix(side):
    worst = []
    for seed in range(60):
        problem = small_problem(seed)
        choice, _ = QuotaProblem.of(Labelling(quadratic_of(problem)), side).forced()
        n = len(choice.rows)
        if n == 0 or not np.abs(choice.pairs).max() > 0:
            continue
        rng = np.random.default_rng(seed)
        anything = rng.normal(size=n) * np.abs(choice.pairs).max()
        one_number = raised(choice, anything)
        np.testing.assert_allclose(np.ptp(one_number - anything), 0.0, rtol=0, atol=1e-12)
        best = tightest(choice, one_number, rng.uniform(1e-3, 0.25, size=n))
        # No less than 0, and (but for the sums of groups, of which 10 are added) no more than needed.
        group = np.arange(n) < choice.n_x
        sums = EXTRA * np.abs(choice.pairs).max() * (group[:, None] == group)
        for diagonal in (one_number, best):
            assert least_eigenvalue(choice, diagonal) >= 0.0, seed
            # Without the allowance for rounding this would be negative every other time.
            assert np.linalg.eigvalsh(np.diag(diagonal) - choice.pairs + sums)[0] > 0.0, seed
        worst.append(least_eigenvalue(choice, best))
    assert len(worst) > 40
    assert np.median(worst) < 1e-4


def test_the_tightest_diagonal_costs_no_more_than_one_number():
    for seed in range(40):
        choice, _ = QuotaProblem.of(Labelling(quadratic_of(small_problem(seed))), "lower").forced()
        n = len(choice.rows)
        if n == 0 or not np.abs(choice.pairs).max() > 0:
            continue
        weights = np.random.default_rng(seed).uniform(1e-3, 0.25, size=n)
        one_number = raised(choice, np.zeros(n))
        cost = weights @ tightest(choice, one_number, weights)
        assert cost <= weights @ one_number + 1e-4 * np.abs(weights).sum() * np.abs(choice.pairs).max(), seed


@pytest.mark.parametrize("two_way", [False, True])
def test_a_better_diagonal_never_loosens_and_often_tightens(two_way):
    plain, shifted, found = [], [], 0
    for seed in range(15):
        problem = definite(seed, two_way=two_way)
        choice, _, values = small_choice(problem, "lower")
        start = StepwiseDominance().from_quadratic(quadratic_of(problem), "lower")
        floor = Floor(natural(quadratic_of(problem), choice), np.flatnonzero(start.moved), 1e-12)
        first = floor.plain(choice, Effort(NO_END))
        best = floor(choice, -np.inf, -np.inf, Effort(NO_END))
        tolerance = 1e-11 * np.abs(small_matrix(problem)).max()
        assert best.bound <= first.bound
        assert -values.min() <= best.bound + tolerance
        width = np.ptp(values)
        if width > 1e-6 * np.abs(small_matrix(problem)).max():
            plain.append((first.bound + values.min()) / width)
            shifted.append((best.bound + values.min()) / width)
            found += 1
    assert found >= 10
    assert np.mean(shifted) < 0.5 * np.mean(plain)


def test_an_indefinite_kernel_is_repaired():
    wrong = 0
    for seed in range(40):
        problem = small_problem(seed, kernel=INDEFINITE[seed % 2], most=(9, 6))
        if problem.counts.n_moved == 0:
            continue
        choice, ways, values = small_choice(problem, "lower")
        start = ways[int(np.argmax(values))]  # far from the floor
        diagonal = natural(quadratic_of(problem), choice)
        tolerance = 1e-11 * np.abs(small_matrix(problem)).max()
        unrepaired = Floor(diagonal, start, 1e-12).plain(choice, Effort(NO_END))
        wrong += unrepaired.bound < -values.min() - tolerance
        repaired = Floor(raised(choice, diagonal), start, 1e-12).plain(choice, Effort(NO_END))
        assert -values.min() <= repaired.bound + tolerance, seed
        for way, value in zip(ways, values, strict=True):
            assert -value <= repaired.base + repaired.scores[way].sum() + tolerance
    assert wrong > 0  # without the repair some of these proofs are none


def test_the_state_goes_on_where_the_last_proof_ended():
    tightened = 0
    for seed in range(20):
        problem = definite(seed)
        choice, _, values = small_choice(problem, "lower")
        scale = np.abs(small_matrix(problem)).max()
        start = StepwiseDominance().from_quadratic(quadratic_of(problem), "lower")
        floor = Floor(natural(quadratic_of(problem), choice), np.flatnonzero(start.moved), 1e-11 * scale)
        best = floor(choice, -np.inf, -np.inf, Effort(NO_END))
        effort = Effort(NO_END)
        again = floor(choice, -np.inf, -np.inf, effort, best.state)
        np.testing.assert_allclose(again.bound, best.bound, rtol=0, atol=1e-10 * scale)
        assert effort.left > NO_END - 10 * len(choice.rows)  # hardly a step
        plain = floor.plain(choice, Effort(NO_END))
        tightened += plain.bound - best.bound > 1e-4 * np.ptp(values)
    assert tightened > 5


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("of_x", [0, 12])
def test_few_rows_at_a_time_find_the_same_floor(monkeypatch, estimator, of_x):
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(150, 3))
    Z[60:] += 0.7
    problem = Problem(Z[:60], Z[60:], mb.kernels.RBF(1.5), estimator, Counts(20, of_x, 80 - of_x, 70 + of_x))
    start = StepwiseDominance().from_quadratic(quadratic_of(problem), "lower")
    choice = QuotaProblem.of(Labelling(quadratic_of(problem)), "lower")
    dense = Floor(natural(quadratic_of(problem), choice), np.flatnonzero(start.moved), 1e-11)
    expected = -dense.plain(choice, Effort(NO_END)).bound
    assert start.value() > expected + 1e-4
    whole = floor_through_sums(SharedRows(start), start.quadratic, 1e-11)
    np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-9)
    monkeypatch.setattr("mmdbounds.search.sharp.through_sums.WORKING_ROWS", (40, 40))
    quadratic = quadratic_of(problem, BlockedSums(Z, problem.kernel, block=(32, 16)))
    few = SharedRows(StepwiseDominance().from_quadratic(quadratic, "lower"))
    found = floor_through_sums(few, quadratic, 1e-11)
    assert found <= expected + 1e-11
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(few.share[-90:].sum(), 20, rtol=0, atol=1e-12)
    np.testing.assert_allclose(few.share[:-90].sum(), of_x, rtol=0, atol=1e-12)


# -- against Clarabel, an interior-point solver that shares no code with this package


def clarabel_minimum(K, p, counts, estimator):
    """The smallest value over weights 0 <= u <= 1 with the sums fixed, from the definition's three means."""
    import clarabel
    from scipy import sparse

    o, n = (1 if estimator == "unbiased" else 0), len(K)
    x, y, xy = (
        1 / (counts.n_x * (counts.n_x - o)),
        1 / (counts.n_y * (counts.n_y - o)),
        1 / (counts.n_x * counts.n_y),
    )
    total, d = K.sum(axis=1), np.diag(K)
    linear = -2 * (y + xy) * total - o * (x - y) * d
    constant = y * (K.sum() - o * d.sum())
    unit = np.abs(linear).max()
    of_x = (np.arange(n) < p).astype(float)
    sums = sparse.csc_matrix(np.array([of_x, 1 - of_x]))
    A = sparse.vstack([sums, sparse.eye(n), -sparse.eye(n)]).tocsc()
    b = np.concatenate([[p - counts.n_moved_of_x, counts.n_moved], np.ones(n), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(2 * n)]
    P = sparse.csc_matrix(np.triu(2 * (x + y + 2 * xy) * K / unit))
    found = clarabel.DefaultSolver(P, linear / unit, A, b, cones, settings).solve()
    assert "Solved" in str(found.status)
    assert abs(found.obj_val - found.obj_val_dual) * unit < 1e-10
    return found.obj_val * unit + constant


def large_problem(estimator, p, m, m_d, d):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(p + 300, d))
    Z[p:] += 0.5
    counts = Counts(m, m_d, p + m - m_d, 300 - m + m_d)
    return Problem(Z[:p], Z[p:], mb.kernels.RBF(float(np.sqrt(d))), estimator, counts)


LARGE = {
    "one-way": (200, 75, 0, 2),
    "one-way, one column": (200, 75, 0, 1),
    "one-way, many columns": (150, 60, 0, 20),
    "two-way": (200, 30, 20, 2),
    "two-way, many rows": (200, 75, 40, 5),
}


@pytest.mark.full
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("name", LARGE)
def test_the_relaxation_agrees_with_clarabel_at_three_hundred_rows(estimator, name):
    problem = large_problem(estimator, *LARGE[name])
    K = naive_matrix_fast(problem)
    expected = clarabel_minimum(K, problem.p, problem.counts, estimator)
    quadratic = quadratic_of(problem)
    start = StepwiseDominance().from_quadratic(quadratic, "lower")
    width = StepwiseDominance().from_quadratic(quadratic, "upper").value() - start.value()
    tolerance = 1e-8 * min(width, 1.0)
    choice = QuotaProblem.of(Labelling(quadratic), "lower")
    floor = Floor(natural(quadratic, choice), np.flatnonzero(start.moved), 1e-10)
    np.testing.assert_allclose(-floor.plain(choice, Effort(NO_END)).bound, expected, rtol=0, atol=tolerance)
    through_sums = floor_through_sums(SharedRows(start), quadratic, 1e-10)
    np.testing.assert_allclose(through_sums, expected, rtol=0, atol=tolerance)
    blocks = Labelling(
        quadratic_of(problem, BlockedSums(problem.Z, problem.kernel)), np.flatnonzero(start.moved)
    )
    through_blocks = floor_through_sums(SharedRows(blocks), blocks.quadratic, 1e-10)
    np.testing.assert_allclose(through_blocks, expected, rtol=0, atol=tolerance)


def naive_matrix_fast(problem):
    """The Gaussian kernel matrix from differences, one row at a time."""
    Z = problem.Z
    return np.array([np.exp(-((Z - z) ** 2).sum(axis=1) / (2 * problem.kernel.bandwidth**2)) for z in Z])


@pytest.mark.full
def test_the_diagonal_is_nearly_that_of_a_semidefinite_solver():
    left = []  # of the distance between one number for all rows and the optimum
    for seed in range(30):
        choice, _ = QuotaProblem.of(Labelling(quadratic_of(small_problem(seed))), "lower").forced()
        n = len(choice.rows)
        if n < 3 or not np.abs(choice.pairs).max() > 0:
            continue
        weights = np.random.default_rng(seed).uniform(1e-3, 0.25, size=n)
        optimum = semidefinite_optimum(choice, weights)
        one_number = raised(choice, np.zeros(n))
        cost, most = weights @ tightest(choice, one_number, weights), weights @ one_number
        rounding = 1e-5 * weights.sum() * np.abs(choice.pairs).max()
        assert cost >= optimum - rounding  # it is feasible
        left.append(max(cost - optimum - rounding, 0.0) / (most - optimum))
    assert len(left) > 20
    assert max(left) < 0.5
    assert np.median(left) < 0.05


def semidefinite_optimum(choice, weights):
    """The smallest weights'D with diag(D) - pairs + tau (sums of each group) semidefinite, by Clarabel."""
    import clarabel
    from scipy import sparse

    n, size = len(weights), np.abs(choice.pairs).max()
    group = np.arange(n) < choice.n_x
    given = -choice.pairs / size + EXTRA * (group[:, None] == group)
    upper = np.triu_indices(n)
    order = np.lexsort(upper)  # column by column
    root = np.where(upper[0] == upper[1], 1.0, np.sqrt(2))

    def packed(matrix):
        return (matrix[upper] * root)[order]

    A = -np.array([packed(np.diag(row)) for row in np.eye(n)]).T
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    found = clarabel.DefaultSolver(
        sparse.csc_matrix((n, n)),
        weights,
        sparse.csc_matrix(A),
        packed(given),
        [clarabel.PSDTriangleConeT(n)],
        settings,
    ).solve()
    assert "Solved" in str(found.status)
    return found.obj_val * size


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("of_x", [0, 12])
def test_mixed_labellings_find_the_same_floor(monkeypatch, estimator, of_x):
    monkeypatch.setattr("mmdbounds.search.sharp.through_sums.WORKING_ROWS", (40, 40))
    monkeypatch.setattr("mmdbounds.search.sharp.through_sums.MIXED_ROWS", 2)
    monkeypatch.setattr("mmdbounds.search.sharp.through_sums.MANY", 0)
    added, add = [], Mixture.add
    monkeypatch.setattr(Mixture, "add", lambda self, *point: added.append(point) or add(self, *point))
    rng = np.random.default_rng(8)
    Z = rng.normal(size=(150, 3))
    Z[60:] += 0.7
    problem = Problem(Z[:60], Z[60:], mb.kernels.RBF(1.5), estimator, Counts(20, of_x, 80 - of_x, 70 + of_x))
    floors = []
    for device in ("cpu", "cuda"):
        assert not added
        quadratic = quadratic_of(problem)
        quadratic.totals.sums.device = device  # where pairs are cheap, labellings are mixed
        shared = SharedRows(StepwiseDominance().from_quadratic(quadratic, "lower"))
        floors.append(floor_through_sums(shared, quadratic, 1e-11))
        np.testing.assert_allclose(shared.share[-90:].sum(), 20, rtol=0, atol=1e-12)
    assert added
    np.testing.assert_allclose(floors[1], floors[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_last_digits_of_kernel_values_do_not_decide_which_rows_share(monkeypatch, seed):
    monkeypatch.setattr("mmdbounds.search.sharp.through_sums.WORKING_ROWS", (40, 40))
    rng = np.random.default_rng(seed)
    Z = np.repeat(rng.normal(size=(100, 3)), 3, axis=0)  # equal rows: only their last digits differ
    Z[120:] += 0.7
    problem = Problem(Z[:120], Z[120:], mb.kernels.RBF(1.5), "unbiased", Counts(40, 0, 160, 140))
    shares = []
    for off in (0.0, 4 * np.finfo(float).eps):
        sums = BlockedSums(Z, problem.kernel, block=(32, 16))
        for name in ("block", "apply"):
            exact = getattr(sums, name)
            setattr(sums, name, lambda *rows, exact=exact, off=off: _off_by(exact(*rows), off, rng))
        shared = SharedRows(StepwiseDominance().from_quadratic(quadratic_of(problem, sums), "lower"))
        shared.improve(1e-6, Effort(NO_END))
        shares.append(shared.share)
    assert shares[0][shares[0] < 1].max() > 0  # some rows do share
    np.testing.assert_allclose(shares[1], shares[0], rtol=0, atol=1e-6)


def _off_by(values, part, rng):
    return values * (1 + part * rng.uniform(-1, 1, size=values.shape))


def test_a_mixture_is_the_best_one_and_knows_its_product():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(12, 12))
    K, sign, slope = A @ A.T, np.repeat([-1.0, 1.0], 6), rng.normal(size=12)
    points = [rng.permutation(np.repeat([0.0, 1.0], 6)) for _ in range(4)]
    mixture = Mixture(0.7, slope, sign, points[0], K @ (sign * points[0]))
    for point in points[1:]:
        k, rows = mixture.nearest(point)
        change = mixture.change(k, point)
        assert set(np.flatnonzero(change)) == set(rows)
        share, shift = mixture.add(k, point, K @ (sign * change))
    np.testing.assert_allclose(shift, K @ (sign * share), rtol=0, atol=1e-9)
    value = slope @ (sign * share) + 0.7 * (sign * share) @ shift
    grid = rng.dirichlet(np.full(4, 0.5), size=3000) @ np.array(points)
    others = (sign * grid) @ slope + 0.7 * np.einsum("ij,ij->i", (sign * grid) @ K, sign * grid)
    assert value <= others.min() + 1e-9
    assert others.min() < value + 0.5


def test_a_proof_is_in_float64_whatever_the_search_used(monkeypatch):
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", 0)
    monkeypatch.setattr("mmdbounds.sums.plan.SMALL_ROWS", 0)
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(80, 3)), rng.normal(0.6, 1, size=(120, 3))
    found = {
        dtype: mb.mmd_bounds(X, Y, 0.2, dtype=dtype, rng=0, backend="numpy").lower
        for dtype in ("float32", "float64")
    }
    width = 0.1
    assert found["float32"].certified <= found["float64"].value
    np.testing.assert_allclose(
        found["float32"].certified, found["float64"].certified, rtol=0, atol=2e-3 * width
    )
    moved = found["float32"].rows
    rest = np.setdiff1d(np.arange(len(Y)), moved)
    exact = mb.mmd2(
        np.concatenate([X, Y[moved]]),
        Y[rest],
        bandwidth=mb.mmd_bounds(X, Y, 0.2, method="sd").provenance.bandwidth,
    )
    np.testing.assert_allclose(found["float32"].value, exact, rtol=0, atol=of_mmd2(len(X) + len(Y)))
