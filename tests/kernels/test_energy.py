"""The energy distance: against other packages and loops, what proofs rely on, words, and what is refused."""

import itertools
import math
import re

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import energy_distance

import mmdbounds as mb
from inference.reference import admissible, tolerance
from mmdbounds.cli.app import app
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.kernels import Energy
from mmdbounds.objective import group_sums
from mmdbounds.sums import make_sums
from mmdbounds.sums.cpu.blocked import BlockedSums
from problems import all_labellings, naive_matrix, naive_values, small_problem

EXPONENTS = (1.0, 0.5, 1.5, 0.3, 1.9)
CLOSE = 1e-12  # three means of up to 30 x 40 values below 30, each good to a few units in the last place


def rows(n_columns=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(11, n_columns)), rng.normal(0.7, 1.5, size=(14, n_columns))


def mean_distance(A, B, exponent, *, distinct=False):
    pairs = [
        math.dist(a, b) ** exponent
        for i, a in enumerate(A)
        for j, b in enumerate(B)
        if not (distinct and i == j)
    ]
    return math.fsum(pairs) / len(pairs)


@pytest.mark.parametrize("n", [25, 700])
def test_of_one_column_it_is_the_square_of_scipys(n):
    rng = np.random.default_rng(n)
    X, Y = np.round(rng.normal(size=(n, 1)), 1), rng.normal(0.3, 2.0, size=(n + 7, 1))
    found = mb.mmd2(X, Y, kernel="energy", estimator="biased")
    np.testing.assert_allclose(found, energy_distance(X[:, 0], Y[:, 0]) ** 2, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_it_is_twice_the_mean_distance_between_the_groups_less_those_within(estimator, exponent):
    X, Y = rows()
    within = [mean_distance(G, G, exponent, distinct=estimator == "unbiased") for G in (X, Y)]
    expected = 2 * mean_distance(X, Y, exponent) - sum(within)
    found = mb.mmd2(X, Y, kernel=Energy(exponent), estimator=estimator)
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_compiled_blocks_have_the_distances_of_the_rows(exponent):
    Z = np.concatenate([rows(n_columns=d, seed=d)[0] for d in (7,) * 20])
    sums, everyone = BlockedSums(Z, Energy(exponent), block=(64, 32)), slice(0, len(Z))
    K = np.array([[-(math.dist(a, b) ** exponent) for b in Z] for a in Z])
    close = {"rtol": 0, "atol": sums.rounding * np.abs(K).max()}
    assert sums.backend == "numba" or not sums.is_compiled
    np.testing.assert_allclose(sums.block(everyone, everyone), K, **close)
    W = np.repeat(np.eye(2), len(Z) // 2, axis=0)
    np.testing.assert_allclose(sums.apply(everyone, everyone, W) / len(Z), K @ W / len(Z), **close)
    weights = np.random.default_rng(0).normal(size=(len(Z), 3))
    scaled = {"rtol": 0, "atol": close["atol"] * np.abs(weights).sum()}
    np.testing.assert_allclose(sums.apply(everyone, everyone, weights), K @ weights, **scaled)


drawn = st.tuples(st.integers(0, 10**6), st.sampled_from(EXPONENTS), st.sampled_from([0.0, 1.0, 4.0]))


@given(drawn)
@settings(max_examples=40)
def test_no_value_exceeds_its_reach_and_no_weights_of_sum_0_give_less_than_0(case):
    """What margins and proofs rely on, with some rows far out."""
    seed, exponent, tail = case
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(int(rng.integers(2, 30)), int(rng.integers(1, 5))))
    Z *= np.exp(tail * rng.normal(size=(len(Z), 1)))
    kernel = Energy(exponent)
    K = make_sums(Z, kernel).block(slice(0, len(Z)), slice(0, len(Z)))
    largest = np.abs(K).max()
    assert largest <= kernel.reach * np.abs(K).mean(axis=1).max() * (1 + 1e-12)
    weights = rng.normal(size=len(Z))
    weights -= weights.mean()
    assert weights @ K @ weights >= -1e-12 * largest * np.abs(weights).sum() ** 2


def test_the_scale_of_margins_is_the_largest_value_or_a_bound_of_it():
    Z = np.concatenate(rows(seed=4))
    K = np.array([[math.dist(a, b) for b in Z] for a in Z])
    kept, blocked = (group_sums(sums, 11, 14) for sums in (make_sums(Z, Energy()), BlockedSums(Z, Energy())))
    np.testing.assert_allclose(kept.scale, K.max(), rtol=1e-14)
    np.testing.assert_allclose(blocked.scale, 2 * K.mean(axis=1).max(), rtol=1e-14)
    assert K.max() <= blocked.scale <= 2 * K.max()
    assert kept.diagonal.max() == kept.diagonal.min() == 0.0


@pytest.mark.parametrize("two_way", [False, True])
@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_a_test_at_most_so_many_rows_is_proved_and_matches_the_sweep(estimator, two_way):
    X, Y = rows(n_columns=2, seed=3)
    misfiling = mb.Contamination(x_in_y=0.15, **({"y_in_x": 0.1} if two_way else {}))
    how = {"kernel": Energy(1.3), "estimator": estimator, "rng": 0}
    sharp = mb.mmd_bounds(X, Y, misfiling, **how)
    every = mb.mmd_bounds(X, Y, misfiling, method="exhaustive", **how)
    assert sharp.lower.certified <= every.lower.value <= sharp.lower.value + CLOSE
    assert sharp.upper.value - CLOSE <= every.upper.value <= sharp.upper.certified
    assert mb.robust_test(X, Y, misfiling, n_permutations=99, **how).is_valid


MANY = [pytest.param(range(first, first + 50), marks=pytest.mark.slow) for first in range(100, 600, 50)]


@pytest.mark.parametrize("seeds", [range(3), *MANY])
def test_bounds_are_those_of_every_labelling(seeds):
    for seed in seeds:
        problem, exactly = small_problem(seed, kernel="energy", most=(10, 6)), bool(seed % 2)
        m, m_d = problem.counts.n_moved, problem.counts.n_moved_of_x
        amount = mb.Contamination(n_moved=m, n_moved_of_x=m_d, exactly=exactly)
        how = {"kernel": problem.kernel, "estimator": problem.estimator, "method": mb.Sharp(gap=0), "rng": 0}
        found = mb.mmd_bounds(problem.X, problem.Y, amount, **how)
        K, possible = naive_matrix(problem), list(admissible(problem, exactly=exactly))
        every = [
            naive_values(K, all_labellings(problem.p, problem.q, counts), problem.estimator)
            for counts in possible
        ]
        least, largest = min(map(np.min, every)), max(map(np.max, every))
        close = max(tolerance(K, counts) for counts in possible)
        for bound, extreme, out in ((found.lower, least, -1), (found.upper, largest, 1)):
            np.testing.assert_allclose(bound.value, extreme, rtol=0, atol=close, err_msg=str(seed))
            assert out * (bound.certified - extreme) >= -close, seed
            np.testing.assert_allclose(bound.certified, extreme, rtol=0, atol=100 * close)  # but for margins


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_several_groups_are_bounded_as_two_are(estimator):
    """Every way to change two labels of nine, by the definition that two groups share."""
    Z = np.random.default_rng(1).normal(size=(9, 2))
    labels, how = [0, 0, 0, 1, 1, 1, 2, 2, 2], {"kernel": Energy(1.5), "estimator": estimator}
    Z[3:6] += 1
    found = mb.hsic_bounds(Z, labels, n_moved=2, rng=0, **how)
    every = []
    for (i, j), new in itertools.product(
        itertools.combinations(range(9), 2), itertools.product(range(3), repeat=2)
    ):
        changed = labels.copy()
        changed[i], changed[j] = new
        every.append(mb.hsic(Z, changed, **how))
    assert found.lower.certified <= min(every) <= found.lower.value + CLOSE
    assert found.upper.value - CLOSE <= max(every) <= found.upper.certified


def test_sentences_call_it_energy_distance():
    X, Y = rows()
    bounds = mb.mmd_bounds(X, Y, 0.1, kernel=Energy(1.5), rng=0)
    test = mb.robust_test(X, Y, 0.1, kernel="energy", n_permutations=19, rng=0)
    curve = mb.sweep(X, Y, kernel="energy", epsilons=[0.1], n_permutations=19, rng=0)
    labels = np.repeat(["a", "b"], [len(X), len(Y)])
    pairs = mb.pairwise_bounds(np.vstack([X, Y]), labels, 0.1, kernel="energy", n_permutations=19, rng=0)
    several = mb.robust_test(
        X, Y, 0.1, kernel=["energy", Energy(0.5)], n_permutations=19, rng=0, progress=False
    )
    for text in (bounds.summary(), test.summary(), curve.summary(), pairs.summary(), several.summary()):
        assert "energy distance" in " ".join(text.split())
        assert "MMD" not in text
    assert "kernel energy, exponent 1.5" in " ".join(bounds.summary().split())
    assert "squared MMD" in " ".join(mb.mmd_bounds(X, Y, 0.1, rng=0).summary().split())


def test_of_kernels_that_differ_none_lends_its_name():
    X, Y = rows()
    mixed = mb.robust_test(X, Y, 0.1, kernel=["rbf", "energy"], n_permutations=19, rng=0, progress=False)
    heading = next(line for line in mixed.summary().splitlines() if "bandwidth " in line)
    assert "   statistic at least" in heading


def test_a_page_calls_it_energy_distance(tmp_path):
    X, Y = rows()
    how = {"kernel": Energy(0.5), "rng": 0}
    curve = mb.sweep(X, Y, epsilons=[0.1], n_permutations=19, **how)
    test = mb.robust_test(X, Y, 0.1, n_permutations=19, **how)
    results = [curve, test, mb.mmd_bounds(X, Y, 0.1, **how), mb.column_table(X, Y, 0.1)]
    mb.write_report(results, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Energy distance between the true X and the true Y rows" in page
    assert "quared MMD" not in page
    assert "The energy distance (twice the mean distance between the groups" in page
    assert "by the energy distance (unbiased estimator, exponent 0.5" in page
    assert "mb.kernels.Energy(exponent=0.5)" in page


def test_the_command_line_takes_an_exponent(tmp_path):
    X, Y = rows()
    lines = [f"{g},{','.join(map(repr, row.tolist()))}" for g, G in (("a", X), ("b", Y)) for row in G]
    table = tmp_path / "rows.csv"
    table.write_text("\n".join(["group,u,v,w", *lines]), encoding="utf-8")
    asked = ["bounds", str(table), "--group", "group", "--hidden", "a", "--among", "b", "--epsilon", "0.1"]
    asked += ["--scale", "none", "--csv"]
    done = CliRunner().invoke(app, [*asked, "--kernel", "energy", "--exponent", "1.5"])
    assert done.exit_code == 0
    assert repr(mb.mmd2(X, Y, kernel=Energy(1.5)))[:12] in done.stdout
    for more, message in (
        (["--exponent", "1.5"], "`--exponent` goes with `--kernel energy`; got --kernel rbf."),
        (
            ["--kernel", "energy", "--exponent", "2"],
            "must be a number between 0 and 2, both excluded; got 2.0",
        ),
    ):
        with pytest.raises(MmdBoundsError, match=re.escape(message)):
            CliRunner().invoke(app, [*asked, *more], catch_exceptions=False, standalone_mode=False)


@pytest.mark.parametrize("exponent", [0, 2, -1.0, math.nan, math.inf, True, "1", None])
def test_an_exponent_is_between_0_and_2(exponent):
    message = r"^`exponent` must be a number between 0 and 2, both excluded; got .*\.$"
    with pytest.raises(MmdBoundsError, match=message):
        Energy(exponent)


REFUSED = {
    "a bandwidth": (
        lambda X, Y: mb.mmd2(X, Y, kernel="energy", bandwidth=2.0),
        r"`bandwidth` goes with .*; got bandwidth=2\.0 with the kernel 'energy'\.",
    ),
    "a finite-sample interval": (
        lambda X, Y: mb.confidence_interval(X, Y, 0.1, kernel="energy"),
        r"`kernel` must have a known bound, such as .*; got 'energy'\.",
    ),
    "SM": (
        lambda X, Y: mb.baselines.Submodular().interval(X, Y, 0.1, kernel="energy"),
        r"the baseline 'sm' needs a positive definite kernel; got 'energy'\.",
    ),
    "free points": (
        lambda X, Y: mb.baselines.QuasiNewton().interval(X, Y, 0.1, kernel="energy"),
        r"free points need the slope of the kernel, which the energy kernel does not have\. .*",
    ),
}


@pytest.mark.parametrize("asked", REFUSED)
def test_what_needs_a_positive_definite_bounded_kernel_is_refused_in_one_line(asked):
    call, message = REFUSED[asked]
    with pytest.raises(MmdBoundsError, match=f"^{message}$"):
        call(*rows())


@pytest.mark.parametrize("working_memory", [1024, 1])
def test_rows_whose_differences_have_no_squares_are_refused(working_memory):
    X, Y = (np.tile(G, (12, 1)) for G in rows())
    how = {"kernel": "energy", "working_memory": working_memory}
    with pytest.raises(
        DataError, match=r"the squares of differences of rows vanish: all are below .*Rescale"
    ):
        mb.mmd2(1e-200 * X, 1e-200 * Y, **how)
    with pytest.raises(DataError, match=r"not finite\. Rescale the columns"):
        mb.mmd2(1e200 * X, 1e200 * Y, **how)
    assert mb.mmd2(0 * X, 0 * Y, **how) == 0.0
