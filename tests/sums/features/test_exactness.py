"""What an approximate kernel says of the exact one: proofs for all labellings, and estimates."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import mmdbounds as mb
from mmdbounds.cli.main import run
from mmdbounds.progress import Meter
from mmdbounds.search.approximation_error import Residual
from mmdbounds.sums.bandwidth import resolve_kernel
from mmdbounds.sums.features import residual
from mmdbounds.sums.features.maps import make_map
from problems import all_labellings, naive_matrix, naive_mmd2, naive_values, small_problem

EXAMPLES = st.integers(0, 10_000)
ROUNDING = 1e-11
"""Of a squared MMD in float64 by another way of adding up, kernel values up to 1."""

SHIFTED = ("rbf", "laplacian", "imq", "matern32", "matern52", "polynomial", "cosine")


def approximated(problem, kernel):
    """The exact matrix and that of the features, both over the pooled rows."""
    fixed = resolve_kernel(kernel, "median", problem.Z)
    phi = make_map(fixed, problem.Z.shape[1])(problem.Z)
    return naive_matrix(problem), phi @ phi.T, fixed


def few_landmarks(seed):
    """A small problem, and its kernel by fewer landmarks than it has rows."""
    rng = np.random.default_rng([seed, 1])
    problem = small_problem(seed, kernel=str(rng.choice(SHIFTED)), most=(9, 6))
    return problem, mb.Nystrom(problem.kernel, int(rng.integers(1, 7)), seed=seed)


@example(451)  # rows so far out that what is left of them is rounding
@settings(max_examples=60)
@given(EXAMPLES)
def test_the_norm_of_the_residual_is_proved_and_below_its_trace(seed):
    problem, kernel = few_landmarks(seed)
    K, approximate, fixed = approximated(problem, kernel)
    R, scale = K - approximate, np.abs(K).max()
    made = make_map(fixed, problem.Z.shape[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(residual, "BLOCK_ROWS", 1 + seed % 7)
        norm = residual.residual_norm(problem.Z, fixed, made, np.diag(R), 1e-9 * scale, Meter())
    assert norm >= np.linalg.eigvalsh(R)[-1]
    assert norm <= np.trace(R) + 1e-6 * scale


@given(EXAMPLES)
@example(9824)  # values of 1e24
def test_every_labelling_is_within_the_proved_range(seed):
    problem, kernel = few_landmarks(seed)
    K, approximate, _ = approximated(problem, kernel)
    R = K - approximate
    norm = max(np.linalg.eigvalsh(R)[-1], 0.0)
    known = Residual(np.diag(R).copy(), norm, problem.p, problem.estimator == "unbiased", 1e-8)
    low, high = known.of_all(problem.counts)
    marks = all_labellings(problem.p, problem.q, problem.counts)
    differences = naive_values(K, marks, problem.estimator) - naive_values(
        approximate, marks, problem.estimator
    )
    slack = 1e-7 * np.abs(K).max()
    # Of all labellings and of one the same sums of up to N entries of the diagonal are added up in another
    # order, and divided by sizes: each sum is off by at most N eps times the sum of the sizes of its entries.
    n = problem.p + problem.q
    added = 8 * n * np.finfo(float).eps * (np.abs(np.diag(R)).sum() + norm + 1e-8)
    assert low - slack <= differences.min()
    assert differences.max() <= high + slack
    for in_x, difference in zip(marks, differences, strict=True):
        mine = known.of(in_x == 1.0)
        assert mine[0] - slack <= difference <= mine[1] + slack
        assert low - added <= mine[0]
        assert mine[1] <= high + added


@settings(max_examples=25)
@given(EXAMPLES)
def test_proofs_with_landmarks_hold_for_the_exact_kernel(seed):
    problem, kernel = few_landmarks(seed)
    counts, estimator = problem.counts, problem.estimator
    K, approximate, _ = approximated(problem, kernel)
    result = mb.mmd_bounds(
        problem.X,
        problem.Y,
        mb.Contamination(n_moved=counts.n_moved, n_moved_of_x=counts.n_moved_of_x),
        method=mb.Sharp(n_starts=2),
        kernel=kernel,
        estimator=estimator,
        rng=0,
        exactly=True,
    )
    found = result.approximation
    marks = all_labellings(problem.p, problem.q, counts)
    slack = 1e-7 * np.abs(K).max()
    tiny = 1e-12 * np.abs(K).max()  # of the naive sums; our own rounding is in the proofs
    mine, exact = (naive_values(M, marks, estimator) for M in (approximate, K))
    assert result.lower.certified <= mine.min() + slack  # the certificates speak of the approximate kernel
    assert mine.max() <= result.upper.certified + slack
    assert found.lower_certified <= exact.min() + tiny
    assert exact.max() <= found.upper_certified + tiny
    assert found.is_proved
    for bound, compared in ((result.lower, found.lower), (result.upper, found.upper)):
        u = np.arange(problem.p + problem.q) < problem.p
        u[bound.rows_of_x] = False
        u[problem.p + bound.rows] = True
        truth = naive_mmd2(K, u, estimator)
        assert compared.value == bound.value
        assert abs(compared.exact - truth) <= compared.margin + tiny  # of so few rows all pairs are taken
        assert compared.proved[0] - tiny <= truth <= compared.proved[1] + tiny
        assert abs(compared.value - truth) <= compared.error + tiny


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_at_most_and_random_features(estimator):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 2)), rng.normal(1, 1, size=(9, 2))
    kernel = mb.RandomFeatures("rbf", 16, bandwidth=1.5)
    result = mb.mmd_bounds(
        X, Y, mb.Contamination(n_moved=3), kernel=kernel, exactly=False, estimator=estimator
    )
    Z = np.concatenate([X, Y])
    phi = make_map(resolve_kernel(kernel, "median", Z), 2)(Z)
    values = [
        naive_values(phi @ phi.T, all_labellings(6, 9, counts), estimator)
        for counts in mb.Contamination(n_moved=3).admissible(6, 9)
    ]
    assert result.lower.value == pytest.approx(min(map(np.min, values)), abs=1e-9)
    assert result.upper.value == pytest.approx(max(map(np.max, values)), abs=1e-9)
    assert result.lower.certified <= result.lower.value
    found = result.approximation
    assert (found.lower_certified, found.upper_certified, found.is_proved) == (None, None, False)
    assert found.observed.proved is None
    assert found.observed.exact == pytest.approx(
        mb.mmd2(X, Y, kernel=mb.kernels.RBF(1.5), estimator=estimator), abs=1e-12
    )


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("kernel", [mb.RandomFeatures("matern52", 20), mb.Nystrom("laplacian", 4)], ids=str)
def test_drawn_rows_are_right_on_average_and_their_margin_holds(kernel, estimator, monkeypatch):
    monkeypatch.setattr(residual, "MOST_DRAWS", 80)
    rng = np.random.default_rng(0)
    Z, in_x = rng.normal(size=(70, 2)), np.arange(70) < 25
    Z[~in_x] += 0.7
    fixed = resolve_kernel(kernel, "median", Z)
    made = make_map(fixed, 2)
    R = naive_matrix(small_problem_like(Z, fixed.exact)) - made(Z) @ made(Z).T
    diagonal, o = np.diag(R), 1 if estimator == "unbiased" else 0
    roots = np.sqrt(diagonal) if isinstance(kernel, mb.Nystrom) else np.full(70, math.sqrt(np.abs(R).max()))
    groups = np.flatnonzero(in_x), np.flatnonzero(~in_x)
    sides = residual.Sides(groups, roots, (25 / (25 - o), 45 / (45 - o)))
    # What is drawn counts the diagonal; the unbiased estimator takes it out again.
    taken = o * (diagonal[in_x].mean() / 24 + diagonal[~in_x].mean() / 44)
    truth = naive_mmd2(R, in_x, estimator) + taken
    found = [
        residual.sampled_difference(Z, fixed, made, sides, 0.01, np.random.default_rng([1, i]))
        for i in range(300)
    ]
    values = np.array([each.value for each in found])
    assert abs(values.mean() - truth) < 4 * values.std() / math.sqrt(len(values))
    assert sum(abs(each.value - truth) > each.margin for each in found) <= binom.ppf(0.999, 300, 0.01)
    assert found[0].n_rows == 4 * (20 if isinstance(kernel, mb.Nystrom) else 80)


def test_the_margin_is_that_of_maurer_and_pontil():
    values, width, delta = np.array([0.1, 0.4, 0.2, 0.9, 0.4]), 2.0, 0.05
    n, pairs = 5, [(a - b) ** 2 for a in values for b in values]
    variance = sum(pairs) / 2 / (n * (n - 1))  # their definition
    one_sided = math.log(2 / (delta / 2))
    expected = math.sqrt(2 * variance * one_sided / n) + width * 7 * one_sided / (3 * (n - 1))
    assert residual._mean_error(values, width, delta) == pytest.approx(expected, rel=1e-12)


def test_rows_are_drawn_in_proportion_to_what_their_residuals_can_be():
    roots = np.array([1.0, 3.0, 0.0, 2.0, 2.0, 5.0])
    sides = residual.Sides((np.array([0, 1, 2]), np.array([3, 4, 5])), roots, (1.0, 1.0))
    drawn = sides.drawn(20_000, np.random.default_rng(0))
    for columns, rows in ((drawn[:, :2], sides.rows[0]), (drawn[:, 2:], sides.rows[1])):
        chances = roots[rows] / roots[rows].sum()
        shares = [(columns == row).mean() for row in rows]
        np.testing.assert_allclose(shares, chances, rtol=0, atol=5 * 0.5 / math.sqrt(40_000))
    a, b = 4 / 3, 3.0
    np.testing.assert_allclose(sides.weights, (a * a, b * b, a * b), rtol=1e-12)


def test_no_residual_of_random_features_exceeds_its_limit_more_often_than_it_says():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 3))
    K = naive_matrix(small_problem_like(Z, mb.kernels.RBF(1.0)))
    beyond = 0
    for seed in range(200):
        made = make_map(
            resolve_kernel(mb.RandomFeatures(mb.kernels.RBF(1.0), 200, seed=seed), "median", Z), 3
        )
        beyond += np.abs(K - made(Z) @ made(Z).T).max() > residual.largest_of_random_features(40, 200, 0.2)
    assert beyond <= binom.ppf(0.999, 200, 0.2)
    assert residual.largest_of_random_features(40, 4, 0.2) == 2.0  # nothing is larger


def few_far_away(seed, n):
    """Two groups with three equal rows far out, and landmarks none of which is near them."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, 2)), rng.normal(0.5, 1.0, size=(n, 2))
    X[:3] = 40.0
    return X, Y, mb.Nystrom("rbf", landmarks=rng.normal(0.25, 1.5, size=(60, 2)), bandwidth=2.0, seed=seed)


@pytest.mark.parametrize(
    ("runs", "n"), [(8, 3000), (4, 1100), pytest.param(60, 3000, marks=pytest.mark.slow)]
)
@pytest.mark.long
def test_a_few_rows_far_from_all_landmarks_are_not_overlooked(runs, n, monkeypatch):
    monkeypatch.setattr(residual, "MOST_DRAWS", 8000)
    for seed in range(runs):
        X, Y, kernel = few_far_away(seed, n)
        found = mb.mmd_bounds(X, Y, 0.0, kernel=kernel, method="sd", exactly=True).approximation
        truth = mb.mmd2(X, Y, kernel=mb.kernels.RBF(2.0))
        assert abs(found.observed.value - truth) <= found.observed.error + ROUNDING
        assert abs(found.observed.exact - truth) <= found.observed.margin + ROUNDING
        assert found.observed.error < 2e-5  # and that says something: six pairs of n (n - 1) are wrong by 1
        assert found.level == (None if 2 * n <= residual.FEW_ROWS else 0.99)


@pytest.mark.parametrize("kernel", [mb.RandomFeatures("rbf", 32), mb.Nystrom("rbf", 8)], ids=str)
@pytest.mark.parametrize("all_pairs", [True, False])
def test_the_rounding_of_float32_is_within_the_margin(kernel, all_pairs, monkeypatch):
    if not all_pairs:
        for name, value in (("FEW_ROWS", 0), ("ROWS_PER_FEATURE", 0), ("MOST_DRAWS", 4000)):
            monkeypatch.setattr(residual, name, value)
    Z = np.random.default_rng(4).normal(size=(200, 2))
    Z[100:] += 0.8
    # With so small a budget no matrix is kept, which would be in double precision.
    asked = {"dtype": "float32", "method": "s-sd", "working_memory": 1, "rng": 0}
    result = mb.mmd_bounds(Z[:100], Z[100:], 0.1, kernel=kernel, **asked, exactly=True)
    assert result.provenance.dtype == "float32"
    fixed = resolve_kernel(kernel, "median", Z)
    phi, K = make_map(fixed, 2)(Z), naive_matrix(small_problem_like(Z, fixed.exact))
    for each, bound in ((result.approximation.lower, result.lower), (result.approximation.observed, None)):
        in_x = np.arange(200) < 100
        if bound is not None:
            in_x[100 + bound.rows] = True
        truth = naive_mmd2(K, in_x, "unbiased")
        assert abs(each.value - truth) <= each.error
        assert abs(each.exact - truth) <= each.margin
        assert each.margin > 0
        # What single precision moved is part of what is stated.
        assert abs(each.value - naive_mmd2(phi @ phi.T, in_x, "unbiased")) <= each.error


def small_problem_like(Z, kernel):
    problem = small_problem(0)
    return type(problem)(Z[:2], Z[2:], kernel, "biased", problem.counts)


def test_one_row_a_group_has_no_pairs():
    X, Y = np.zeros((1, 2)), np.ones((3, 2))
    result = mb.mmd_bounds(
        X,
        Y,
        mb.Contamination(n_moved=1),
        kernel=mb.Nystrom("rbf", 2, bandwidth=1.0),
        estimator="biased",
        method="s-sd",
        exactly=True,
    )
    exact = mb.mmd2(X, Y, kernel=mb.kernels.RBF(1.0), estimator="biased")
    assert result.approximation.observed.exact == pytest.approx(exact, abs=1e-12)
    assert result.approximation.lower_certified is None  # s-sd proves nothing


GROUPS = np.random.default_rng(3).normal(size=(2, 30, 2))
GROUPS[1] += 0.8


@pytest.fixture(scope="module")
def bounded():
    """Bounds of the same groups by features, by landmarks, and without misfiling."""
    return {
        "features": mb.mmd_bounds(*GROUPS, 0.1, kernel=mb.RandomFeatures("rbf", 64), rng=0, exactly=True),
        "landmarks": mb.mmd_bounds(*GROUPS, 0.1, kernel=mb.Nystrom("rbf", 8), rng=0, exactly=True),
        "nothing": mb.mmd_bounds(*GROUPS, 0.0, kernel=mb.Nystrom("rbf", 8), rng=0, exactly=True),
        "bootstrap": mb.mmd_bounds(
            *GROUPS, 0.1, kernel=mb.Nystrom("rbf", 8), method="bootstrap", rng=0, exactly=True
        ),
    }


@pytest.mark.parametrize("which", ["features", "landmarks", "nothing", "bootstrap"])
def test_there_and_back(bounded, which):
    result = bounded[which]
    again = mb.results.BoundsResult.from_dict(json.loads(result.to_json()))
    assert again.approximation == result.approximation
    assert again.to_json() == result.to_json()
    broken = result.to_dict()
    del broken["approximation"]["observed"]["margin"]
    with pytest.raises(mb.MmdBoundsError, match=r"lacks `approximation\.observed\.margin`"):
        mb.results.BoundsResult.from_dict(broken)


def test_words_say_of_which_kernel_they_speak(bounded):
    text = " ".join(bounded["features"].summary().split())
    assert "All of this is about an approximate kernel, rbf by 64 random features (seed 0)." in text
    assert "its own extremes can only lie further out. " in text
    assert "Proved for rbf itself" not in text
    assert "kernel rbf by 64 random features (seed 0), bandwidth" in text
    text = " ".join(bounded["landmarks"].summary().split())
    assert "rbf by 8 Nystrom landmarks (seed 0)" in text
    found = bounded["landmarks"].approximation
    assert f"With rbf itself the same labellings give {found.lower.exact:.4g} (smallest), " in text
    assert "Proved for rbf itself: at least " in text
    assert "With rbf itself the groups as filed give" in " ".join(bounded["nothing"].summary().split())
    assert "of an approximate kernel" not in mb.mmd_bounds(*GROUPS, 0.1, method="sd", exactly=True).summary()


def test_a_margin_is_said_with_its_level(monkeypatch):
    for name, value in (("FEW_ROWS", 0), ("ROWS_PER_FEATURE", 0), ("MOST_DRAWS", 4000)):
        monkeypatch.setattr(residual, name, value)
    result = mb.mmd_bounds(*GROUPS, 0.1, kernel=mb.RandomFeatures("rbf", 64), method="s-sd", exactly=True)
    each = result.approximation.lower
    said = f"give {each.exact - each.margin:.4g} to {each.exact + each.margin:.4g} (smallest)"
    text = " ".join(result.summary().split())
    assert said in text
    assert "(largest), each with at least 99 % confidence; its own" in text
    assert each.error == abs(each.value - each.exact) + each.margin > each.margin > 0


def test_nothing_is_said_of_a_level_where_all_pairs_were_computed(bounded):
    assert bounded["features"].approximation.level is None
    assert bounded["features"].approximation.n_sampled == 60
    assert "confidence" not in bounded["features"].summary()


def test_a_test_with_landmarks_is_label_blind():
    plain, by_landmarks = (
        mb.robust_test(*GROUPS, 0.05, kernel=kernel, n_permutations=99, rng=0)
        for kernel in ("rbf", mb.Nystrom("rbf", 200))
    )
    assert by_landmarks.pvalue == plain.pvalue  # with all rows as landmarks it is the same test
    assert by_landmarks.statistic == pytest.approx(plain.statistic, abs=1e-6)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    lines = [f"{g},{x},{y}" for g, rows in zip("AB", GROUPS, strict=True) for x, y in rows]
    path.write_text("\n".join(["g,x,y", *lines]) + "\n")
    return str(path)


FLAGS = ["--group", "g", "--hidden", "A", "--among", "B", "--epsilon", "0.1", "--scale", "none"]


@pytest.mark.parametrize(
    ("flags", "kernel"),
    [
        (["--features", "64"], mb.RandomFeatures("rbf", 64)),
        (["--landmarks", "8", "--kernel", "imq", "--bandwidth", "2"], mb.Nystrom("imq", 8, bandwidth=2.0)),
    ],
)
def test_flags(table, capsys, flags, kernel):
    assert run(["bounds", table, *FLAGS, *flags, "--method", "s-sd", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    expected = mb.mmd_bounds(*GROUPS, 0.1, kernel=kernel, method="s-sd", exactly=True).to_dict()
    for name in ("kernel", "kernel_options", "bandwidth"):
        assert printed["provenance"][name] == expected["provenance"][name]
    assert printed["upper"]["value"] == pytest.approx(expected["upper"]["value"], abs=1e-12)
    assert printed["approximation"]["kernel"] == kernel.kernel


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--features", "64", "--landmarks", "8"], "give --features or --landmarks, not both; got 64 and 8."),
        (["--features", "0"], "`n_features` must be a whole number from 4; got 0."),
        (["--features", "8", "--kernel", "cosine"], "got 'cosine'. Use Nystrom('cosine')."),
    ],
)
def test_refused_flags(table, capsys, flags, message):
    assert run(["bounds", table, *FLAGS, *flags]) == 2
    assert message in capsys.readouterr().err
