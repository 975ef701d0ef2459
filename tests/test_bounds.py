"""The front door: laws that must hold, hand-derived numbers, independent code, bad input."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from mmdbounds.compiled import numba_is_there
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.problem import Problem
from mmdbounds.search.protocol import EachSide
from tolerances import of_mmd2

RNG = np.random.default_rng(0)
BLOCKS = "numba" if numba_is_there() else "numpy"
X, Y = RNG.normal(size=(40, 2)), RNG.normal(1, 1, size=(60, 2))


def test_a_number_derived_by_hand():
    # X = {0, 1}, Y = {2, 4}, bandwidth 1, k = exp(-d^2 / 2):
    # within X exp(-1/2), within Y exp(-2), between the mean of exp(-2), exp(-8), exp(-1/2), exp(-9/2).
    e = math.exp
    u = e(-0.5) + e(-2) - (e(-2) + e(-8) + e(-0.5) + e(-4.5)) / 2
    v = (2 + 2 * e(-0.5)) / 4 + (2 + 2 * e(-2)) / 4 - (e(-2) + e(-8) + e(-0.5) + e(-4.5)) / 2
    groups = [[0.0], [1.0]], [[2.0], [4.0]]
    np.testing.assert_allclose(mb.mmd2(*groups, bandwidth=1.0), u, rtol=0, atol=of_mmd2(4))
    np.testing.assert_allclose(
        mb.mmd2(*groups, bandwidth=1.0, estimator="biased"), v, rtol=0, atol=of_mmd2(4)
    )


def test_bounds_derived_by_hand():
    # X = {0}, Y = {0, 1, 3}, one row moves, biased, linear kernel: the squared distance of the means.
    # Moving 0: 0 against 2 -> 4; moving 1: 1/2 against 3/2 -> 1; moving 3: 3/2 against 1/2 -> 1.
    result = mb.mmd_bounds(
        [[0.0]],
        [[0.0], [1.0], [3.0]],
        mb.Contamination(n_moved=1),
        kernel="linear",
        estimator="biased",
        method="exhaustive",
    )
    np.testing.assert_allclose(
        (result.lower.value, result.upper.value), (1.0, 4.0), rtol=0, atol=of_mmd2(4, size=9.0)
    )
    assert result.is_certified
    assert result.interval[0] < 1.0
    assert result.interval[1] > 4.0
    np.testing.assert_allclose(result.interval, (1.0, 4.0), rtol=1e-10)
    np.testing.assert_allclose(result.observed, 16 / 9, rtol=0, atol=of_mmd2(4, size=9.0))
    assert result.upper.rows.tolist() == [0]
    assert result.lower.rows.tolist() == [1]


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize(
    ("name", "independent"),
    [
        ("rbf", lambda m, Z: m.rbf_kernel(Z, gamma=1 / (2 * 1.5**2))),
        ("laplacian", lambda m, Z: m.laplacian_kernel(Z, gamma=1 / 1.5)),
        ("linear", lambda m, Z: m.linear_kernel(Z)),
        ("polynomial", lambda m, Z: m.polynomial_kernel(Z, degree=3, gamma=1 / 2, coef0=1)),
    ],
)
def test_kernels_agree_with_scikit_learn(name, independent, estimator):
    from sklearn.metrics import pairwise

    K = independent(pairwise, np.concatenate([X, Y]))
    bandwidth = {"bandwidth": 1.5} if name in ("rbf", "laplacian") else {}
    ours = mb.mmd_bounds(X, Y, 0.2, kernel=name, estimator=estimator, **bandwidth, method="s-sd")
    theirs = mb.mmd_bounds(K[:40], K[40:], 0.2, kernel="precomputed", estimator=estimator, method="s-sd")
    np.testing.assert_allclose(ours.interval, theirs.interval, rtol=1e-11)
    np.testing.assert_allclose(ours.observed, theirs.observed, rtol=1e-11)
    assert ours.upper.rows.tolist() == theirs.upper.rows.tolist()
    assert ours.lower.rows.tolist() == theirs.lower.rows.tolist()


@given(seed=st.integers(0, 10**6), m=st.integers(1, 20))
def test_row_order_changes_names_only(seed, m):
    rng = np.random.default_rng(seed)
    a, b = rng.permutation(40), rng.permutation(60)
    how_much = mb.Contamination(n_moved=m)
    first, second = (
        mb.mmd_bounds(X, Y, how_much, method="s-sd"),
        mb.mmd_bounds(X[a], Y[b], how_much, method="s-sd"),
    )
    np.testing.assert_allclose(first.interval, second.interval, rtol=0, atol=of_mmd2(100))
    assert sorted(b[second.upper.rows].tolist()) == first.upper.rows.tolist()
    assert sorted(b[second.lower.rows].tolist()) == first.lower.rows.tolist()


@given(seed=st.integers(0, 10**6), shift=st.floats(-100, 100))
def test_shifting_all_rows_changes_nothing(seed, shift):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(9, 2)), rng.normal(size=(11, 2))
    for kernel in ("rbf", "linear", "laplacian"):
        near, far = (mb.mmd_bounds(A + s, B + s, 0.2, kernel=kernel, method="s-sd") for s in (0.0, shift))
        np.testing.assert_allclose(near.interval, far.interval, rtol=0, atol=1e-11)


@given(seed=st.integers(0, 10**6))
def test_at_most_is_the_union_over_counts(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(8, 2)), rng.normal(0.5, 1, size=(9, 2))
    each = [
        mb.mmd_bounds(A, B, mb.Contamination(n_moved=m), method="exhaustive", exactly=True) for m in range(4)
    ]
    union = mb.mmd_bounds(A, B, mb.Contamination(n_moved=3), method="exhaustive")
    assert union.lower.value == min(r.lower.value for r in each)
    assert union.upper.value == max(r.upper.value for r in each)
    assert union.lower.certified == min(r.lower.certified for r in each)
    assert union.upper.certified == max(r.upper.certified for r in each)
    assert not union.exactly
    assert union.lower.value <= union.observed <= union.upper.value
    smaller = mb.mmd_bounds(A, B, mb.Contamination(n_moved=2), method="exhaustive", exactly=False)
    assert union.lower.value <= smaller.lower.value <= smaller.upper.value <= union.upper.value


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("seed", range(6))
def test_intervals_are_nested_and_hold_the_value_as_filed(seed, estimator):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(14, 2)), rng.normal(rng.uniform(0, 1), 1, size=(17, 2))
    for method in ("sharp", "s-sd", "sd"):
        every = [
            mb.mmd_bounds(A, B, mb.Contamination(n_moved=m), method=method, estimator=estimator, rng=0)
            for m in (0, 1, 3, 5, 9)
        ]
        for found in every:
            low, high = found.interval
            assert low <= found.observed <= high
            assert found.lower.value <= found.observed <= found.upper.value
        for few, many in itertools.pairwise(every):
            # What is proved for more rows holds for fewer; what fewer rows reach can be reached.
            assert many.interval[0] <= few.lower.value
            assert few.upper.value <= many.interval[1]
            if method != "sharp":  # every count is searched in the same way
                rounding = of_mmd2(31, smallest=8)
                assert many.lower.value <= few.lower.value + rounding
                assert few.upper.value <= many.upper.value + rounding


def test_the_printed_schedule_needs_the_exact_number():
    method = mb.StepwiseDominance(schedule="paper")
    message = r"^`schedule='paper'` is defined for .* Pass `exactly=True`, or use schedule='even'\.$"
    with pytest.raises(MmdBoundsError, match=message):
        mb.mmd_bounds(X, Y, 0.2, method=method)
    assert mb.mmd_bounds(X, Y, 0.2, method=method, exactly=True).exactly


def test_two_way_at_most_reports_the_largest_counts_considered():
    result = mb.mmd_bounds(X[:20], Y[:12], mb.Contamination(0.2, y_in_x=0.2), exactly=False, method="sd")
    considered = mb.Contamination(0.2, y_in_x=0.2).admissible(20, 12)
    assert result.n_moved == max(c.n_moved for c in considered)
    assert result.n_moved_of_x == max(c.n_moved_of_x for c in considered)


def test_two_way_with_nothing_the_other_way_is_one_way():
    one = mb.mmd_bounds(X, Y, 0.2, rng=0)
    two = mb.mmd_bounds(X, Y, mb.Contamination(0.2, y_in_x=0.0), rng=0)
    assert one.interval == two.interval
    assert one.upper.rows.tolist() == two.upper.rows.tolist()


def test_two_way_is_symmetric_in_the_groups():
    there = mb.mmd_bounds(X, Y, mb.Contamination(n_moved=5, n_moved_of_x=3))
    back = mb.mmd_bounds(Y, X, mb.Contamination(n_moved=3, n_moved_of_x=5))
    np.testing.assert_allclose(there.interval, back.interval, rtol=0, atol=of_mmd2(100))
    assert there.upper.rows.tolist() == back.upper.rows_of_x.tolist()
    assert there.upper.rows_of_x.tolist() == back.upper.rows.tolist()


def test_large_and_small_problems_go_the_same_way(monkeypatch):
    # The same rows through kept matrix, compiled blocks, and NumPy blocks.
    small = mb.mmd_bounds(X, Y, 0.2, method="s-sd")
    blocks = mb.mmd_bounds(X, Y, 0.2, working_memory=1e-9 + 1, progress=False, method="s-sd")
    assert (small.provenance.backend, blocks.provenance.backend) == ("matrix", "matrix")
    monkeypatch.setattr("mmdbounds.sums.plan.SMALL_ROWS", 10)
    blocks = mb.mmd_bounds(X, Y, 0.2, method="s-sd")
    monkeypatch.setattr("mmdbounds.compiled.numba_is_there", lambda: False)
    plain = mb.mmd_bounds(X, Y, 0.2, method="s-sd")
    assert (blocks.provenance.backend, plain.provenance.backend) == (BLOCKS, "numpy")
    for other in (blocks, plain):
        np.testing.assert_allclose(other.interval, small.interval, rtol=0, atol=of_mmd2(100))
        assert other.upper.rows.tolist() == small.upper.rows.tolist()
        assert other.lower.rows.tolist() == small.lower.rows.tolist()


@pytest.mark.parametrize("outlier", [1e4, 1e8, 1e12])
def test_one_row_far_out_changes_nothing_for_the_others(monkeypatch, outlier):
    # Its kernel value to all others is 0, wherever it is.
    near, far = X.copy(), X.copy()
    near[0], far[0] = 1e3, outlier
    monkeypatch.setattr("mmdbounds.sums.plan.SMALL_ROWS", 10)
    expected, result = (mb.mmd_bounds(A, Y, 0.2, bandwidth=1.5, method="s-sd") for A in (near, far))
    assert result.provenance.backend == BLOCKS
    assert result.upper.rows.tolist() == expected.upper.rows.tolist()
    assert result.lower.rows.tolist() == expected.lower.rows.tolist()
    np.testing.assert_allclose(result.interval, expected.interval, rtol=0, atol=1e-9)


def test_refusals_come_before_the_pass_over_the_pairs(monkeypatch):
    def no_pass(*_, **__):
        pytest.fail("the pairs were visited")

    monkeypatch.setattr("mmdbounds.problem.make_sums", no_pass)
    with pytest.raises(MmdBoundsError, match="tries every labelling, at most 2,000,000"):
        mb.mmd_bounds(X, Y, 0.2, method="exhaustive", exactly=False)
    with pytest.raises(MmdBoundsError, match="takes groups of at most 2,000 rows; got 40 and 3,000"):
        mb.mmd_bounds(X, np.zeros((3000, 2)), mb.Contamination(n_moved=1), method="exhaustive", bandwidth=1.0)
    two_way = mb.Contamination(n_moved=2, n_moved_of_x=1)
    with pytest.raises(MmdBoundsError, match="is for one-way misfiling"):
        mb.mmd_bounds(X, Y, two_way, method=mb.StepwiseDominance(schedule="paper"), exactly=True)


@pytest.mark.parametrize("failing", ["lower", "upper"])
def test_when_one_side_fails_the_other_stops(monkeypatch, failing):
    # Both sides are searched at once; an error or Ctrl-C in one must not wait for minutes on the other.
    rounds = {"lower": 0, "upper": 0}

    class Endless(EachSide):
        name = "endless"

        def options(self):
            return {}

        def check(self, *_):
            pass

        def search(self, totals, counts, estimator, side):
            while True:
                rounds[side] += 1
                if side == failing and rounds[side] == 3:
                    raise KeyboardInterrupt
                totals.sums.block(slice(0, 5), slice(0, 5))

    monkeypatch.setattr("mmdbounds.sums.plan.SMALL_ROWS", 10)
    with pytest.raises(KeyboardInterrupt):
        mb.mmd_bounds(X, Y, 0.2, method=Endless())
    assert min(rounds.values()) >= 1


def test_warnings_point_at_the_caller():
    with pytest.warns(mb.errors.MmdBoundsWarning, match="duplicates") as caught:
        mb.mmd2(np.repeat([[0.0], [1.0]], [30, 1], axis=0), np.zeros((5, 1)))
    assert caught[0].filename == __file__


def test_the_kernel_can_be_made_again_from_the_record():
    made = mb.mmd_bounds(X, Y, 0.1, kernel="polynomial").provenance
    assert (made.kernel, made.kernel_options) == ("polynomial", {"degree": 3, "gamma": 0.5, "coef0": 1.0})
    same = mb.mmd_bounds(X, Y, 0.1, kernel=mb.kernels.Polynomial(**made.kernel_options), rng=0)
    assert same.interval == mb.mmd_bounds(X, Y, 0.1, kernel="polynomial", rng=0).interval


def test_what_the_result_says():
    result = mb.mmd_bounds(X, Y, 0.2, method=mb.StepwiseDominance(n_steps=5))
    assert (result.n_samples_X, result.n_samples_Y, result.n_moved, result.n_moved_of_x) == (40, 60, 10, 0)
    assert (result.epsilon, result.share_of_y) == (0.2, 10 / 60)
    assert result.lower.n_moved == result.upper.n_moved == 10
    assert not result.is_certified
    assert result.lower.gap is None
    assert result.observed == mb.mmd2(X, Y)
    made = result.provenance
    assert (made.method, made.options["n_steps"], made.kernel, made.estimator) == (
        "s-sd",
        5,
        "rbf",
        "unbiased",
    )
    assert (made.dtype, made.device, made.version) == ("float64", "cpu", mb.__version__)
    assert made.n_pairs == 100 * 101  # half of the pairs for the sums, and again for the matrix


def test_sd_is_one_step():
    named, said = (
        mb.mmd_bounds(X, Y, 0.2, method="sd"),
        mb.mmd_bounds(X, Y, 0.2, method=mb.StepwiseDominance(n_steps=1)),
    )
    assert named.interval == said.interval
    assert named.upper.rows.tolist() == said.upper.rows.tolist()


def test_names_of_rows_follow_the_rows():
    group = mb.Group(
        Y, name="healthy", ids=np.array([f"P{i}" for i in range(60)]), file_rows=np.arange(60) * 2 + 1
    )
    result = mb.mmd_bounds(X, group, 0.2)
    assert result.name_y == "healthy"
    assert result.upper.ids.tolist() == [f"P{i}" for i in result.upper.rows]
    assert result.lower.file_rows.tolist() == [2 * i + 1 for i in result.lower.rows]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": X[:0]}, DataError, "`X`.*no rows"),
        ({"X": X[:1]}, MmdBoundsError, "`X` has 1 row; the unbiased estimator needs at least 2"),
        ({"X": X[:, :1]}, DataError, r"`X` and `Y` must have the same columns; got 1 and 2\."),
        ({"X": np.where(X > 2, np.nan, X)}, DataError, "`X` has missing or infinite values"),
        ({"Y": np.where(Y > 2, np.inf, Y)}, DataError, "`Y` has missing or infinite values"),
        ({"X": X.astype(str)}, DataError, "`X`"),
        ({"X": X[:, 0]}, DataError, r"reshape\(-1, 1\)"),
        ({"epsilon": 20}, MmdBoundsError, r"Did you mean 0\.2\?"),
        ({"epsilon": 0.61}, MmdBoundsError, r"62 misfiled rows cannot be among the 60 rows of `Y`"),
        (
            {"epsilon": 0.6},
            MmdBoundsError,
            r"with 60 of the 60 rows of `Y` moved to `X`, the true `Y` would have 0 rows",
        ),
        (
            {"method": "s-sdd"},
            MmdBoundsError,
            r"`method` must be one of 'sharp', 's-sd', 'sd', 'exhaustive'.*Did you mean 's-sd'\?",
        ),
        ({"method": ["sd"]}, MmdBoundsError, r"`method` must be one of .*; got \['sd'\]\."),
        ({"method": mb.StepwiseDominance}, MmdBoundsError, r"Did you mean StepwiseDominance\(\)\?"),
        ({"method": 3}, MmdBoundsError, r"`method` must be one of .*; got 3\."),
        ({"estimator": "biasd"}, MmdBoundsError, r"`estimator` must be one of .*Did you mean 'biased'\?"),
        (
            {"backend": "jax"},
            MmdBoundsError,
            r"`backend` must be one of 'auto', 'numpy', 'torch', 'dask'; got 'jax'",
        ),
        ({"dtype": "float16"}, MmdBoundsError, r"`dtype` must be one of .*got 'float16'"),
        ({"working_memory": 0}, MmdBoundsError, r"`working_memory` must be a number of MiB from 1; got 0\."),
        ({"exactly": "yes"}, MmdBoundsError, r"`exactly` must be True or False; got 'yes'\."),
    ],
)
def test_bad_input_gets_one_clear_line(change, error, message):
    arguments = {"X": X, "Y": Y, "epsilon": 0.2} | change
    with pytest.raises(error, match=message) as caught:
        mb.mmd_bounds(**arguments)
    assert "\n" not in str(caught.value)


# Several shares.


def without_time(result):
    saved = result.to_dict()
    return {**saved, "provenance": {**saved["provenance"], "seconds": 0, "n_pairs": 0}}


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"exactly": True, "estimator": "biased"},
        {"method": "s-sd", "kernel": "laplacian"},
        {"verified": (None, ["Y"] * 3 + ["X"] + [""] * 8)},
        {"working_memory": 1, "dtype": "float32"},
    ],
)
def test_several_shares_are_the_single_ones_in_their_order(how, monkeypatch):
    passes = []
    plain = Problem.one_pass
    monkeypatch.setattr(Problem, "one_pass", lambda self, meter: passes.append(1) or plain(self, meter))
    shares = [0.2, 0.05, 0.1]
    together = mb.mmd_bounds(X[:25], Y[:12], shares, rng=0, **how)
    assert isinstance(together, list)
    assert len(passes) == 1
    assert [round(result.epsilon, 3) for result in together] != sorted(shares)
    single = [mb.mmd_bounds(X[:25], Y[:12], share, rng=0, **how) for share in shares]
    assert list(map(without_time, together)) == list(map(without_time, single))
    assert all(result.provenance.n_pairs > 0 for result in together)


def test_what_several_shares_can_be():
    for shares in ((0.1, 0.2), np.array([0.1, 0.2])):
        assert [r.n_moved for r in mb.mmd_bounds(X[:20], Y[:12], shares, method="sd")] == [2, 5]
    (one,) = mb.mmd_bounds(X[:20], Y[:12], [0.1], method="sd")
    assert one.n_moved == 2
    with pytest.raises(
        MmdBoundsError, match=r"^`epsilon` must have at least one share; got an empty list\.$"
    ):
        mb.mmd_bounds(X, Y, [])
    with pytest.raises(
        MmdBoundsError, match=r"^`epsilon` must be in \[0, 1\); got 20\. Did you mean 0\.2\?$"
    ):
        mb.mmd_bounds(X, Y, [0.1, 20])
    with pytest.raises(MmdBoundsError, match=r"^`epsilon` must be a number in \[0, 1\); got Contamination\("):
        mb.mmd_bounds(X, Y, [mb.Contamination(0.1), 0.2])
    for function in (mb.robust_test, mb.column_table, mb.confidence_interval):
        with pytest.raises(MmdBoundsError, match=r"^`epsilon` must be one share in \[0, 1\)"):
            function(X, Y, [0.1, 0.2])
    labels = ["a"] * len(X) + ["b"] * len(Y)
    with pytest.raises(MmdBoundsError, match=r"^`epsilon` must be one share in \[0, 1\)"):
        mb.MMDBounds([0.1, 0.2], hidden="a").fit(np.concatenate([X, Y]), labels)
