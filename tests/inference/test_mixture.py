"""The ceiling for the share misfiled: distances by definition, laws, made-up groups whose share is known."""

import dataclasses
import functools
import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, hypergeom

import mmdbounds as mb
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference import mixture
from mmdbounds.inference.mixture import (
    Chance,
    MixtureCeiling,
    Nearness,
    mixture_ceiling,
    most_alike,
    most_marked,
)
from mmdbounds.problem import Comparison, pose
from mmdbounds.progress import Meter
from mmdbounds.theory import deviation_radius
from notebooks import page_of

EXACT = 1e-7


def sums_of(X, Y, bandwidth=1.0):
    options = {"estimator": "biased", "backend": "auto", "dtype": "float64", "working_memory": 64}
    return pose(X, Y, Comparison(kernel="rbf", bandwidth=bandwidth, **options)).one_pass(Meter())


def gaussian(A, B, bandwidth=1.0):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / (2 * bandwidth**2))


def mixed(n, share, shift=4.0, seed=0, d=2):
    """X, and a Y of which a share is drawn like X."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    Y[round(share * n) :, 0] += shift
    return X, Y


def naive_distance2(X, Y, m):
    """The smallest squared distance over weights up to 1 / m, by a general solver."""
    K, near, own = gaussian(Y, Y), gaussian(Y, X).mean(axis=1), gaussian(X, X).mean()
    found = minimize(
        lambda w: w @ K @ w - 2 * near @ w + own,
        np.full(len(Y), 1 / len(Y)),
        jac=lambda w: 2 * (K @ w - near),
        bounds=[(0, 1 / m)] * len(Y),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.fun


@pytest.mark.parametrize("seed", range(4))
def test_the_distance_is_that_of_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(11, 2)), rng.normal(0.7, 1, size=(14, 2))
    nearness = Nearness(sums_of(X, Y))
    for m in (1, 2, 5, 9, 13):
        value, floor = nearness.distance2(m, 1e-10)
        expected = naive_distance2(X, Y, m)
        assert floor - EXACT <= expected <= value + EXACT
        assert value - floor <= EXACT


def test_the_distance_by_hand():
    # One row of X at 0; rows of Y at 0 and far away: with m = 1 the distance is 0, with both rows 1/2 and 1/2
    # on unit vectors, of which one is X's: |(-1/2, 1/2)|^2.
    nearness = Nearness(sums_of(np.array([[0.0]]), np.array([[0.0], [100.0]])))
    np.testing.assert_allclose(nearness.distance2(1, 1e-12), (0.0, 0.0), rtol=0, atol=EXACT)
    np.testing.assert_allclose(nearness.distance2(2, 1e-12), (0.5, 0.5), rtol=0, atol=EXACT)


def test_all_rows_of_y_are_as_far_as_the_mmd():
    X, Y = mixed(20, 0.3)
    value, floor = Nearness(sums_of(X, Y)).distance2(20, 1e-10)
    expected = mb.mmd2(X, Y, bandwidth=1.0, estimator="biased")
    np.testing.assert_allclose((value, floor), expected, rtol=0, atol=1e-12)


def test_a_rough_search_still_proves_what_it_says():
    X, Y = mixed(40, 0.3, shift=1.0)
    nearness = Nearness(sums_of(X, Y))
    for m in (3, 12, 30):
        exact = nearness.distance2(m, 1e-12)[0]
        for close in (1e-1, 1e-3):
            value, floor = nearness.distance2(m, close)
            assert floor - EXACT <= exact <= value + EXACT
            assert value - floor <= close + EXACT


def test_the_distance_rises_with_the_number_of_rows_and_chance_falls():
    X, Y = mixed(30, 0.3, shift=2.0)
    totals = sums_of(X, Y)
    nearness = Nearness(totals)
    distances = [nearness.distance2(m, 1e-9)[0] for m in range(1, 31)]
    assert (np.diff(distances) > -EXACT).all()
    deviation = Chance(totals, mb.kernels.RBF(1.0), 0.9, "deviation", 19, 0)
    allowed = [deviation.distance2(m) for m in range(1, 31)]
    assert (np.diff(allowed) < 0).all()
    assert allowed[6] == deviation_radius(7, 30, 1.0, 1 - 0.9) ** 2
    resampled = Chance(totals, mb.kernels.RBF(1.0), 0.9, "resampled", 499, 0)
    assert resampled.distance2(2) > resampled.distance2(8) > resampled.distance2(30)


def test_chance_is_the_quantile_of_samples_of_x():
    X, Y = mixed(25, 0.0)
    K, n = gaussian(X, X), 4000
    rng = np.random.default_rng(5)
    values = []
    for _ in range(n):
        first, second = rng.integers(25, size=6), rng.integers(25, size=25)
        values.append(
            K[np.ix_(first, first)].mean()
            + K[np.ix_(second, second)].mean()
            - 2 * K[np.ix_(first, second)].mean()
        )
    chance = Chance(sums_of(X, Y), mb.kernels.RBF(1.0), 0.9, "resampled", n, 1).distance2(6)
    assert chance == pytest.approx(np.quantile(values, 0.9), rel=0.06)


def test_bisection_finds_what_a_scan_finds():
    for seed in range(5):
        X, Y = mixed(24, 0.25, shift=2.5, seed=seed)
        totals = sums_of(X, Y)
        nearness, chance = Nearness(totals), Chance(totals, mb.kernels.RBF(1.0), 0.5, "deviation", 19, 0)
        fits = [m for m in range(1, 25) if nearness.distance2(m, 1e-9)[1] <= chance.distance2(m)]
        assert most_alike(nearness, chance) == max(fits, default=0)
        assert fits == list(range(1, len(fits) + 1))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_the_ceiling_is_above_the_share_and_not_far_above_where_groups_are_apart(share):
    made = [mixture_ceiling(*mixed(150, share, seed=seed), rng=seed) for seed in range(6)]
    shares = np.array([each.share_of_y for each in made])
    assert (shares >= share).all()
    assert (shares <= share + 0.12).all()


def test_more_rows_bring_the_ceiling_down_to_the_share():
    excess = [
        np.mean([mixture_ceiling(*mixed(n, 0.2, 3.0, seed), rng=0).share_of_y - 0.2 for seed in range(4)])
        for n in (50, 400)
    ]
    assert excess[0] > 1.5 * excess[1] > 0


def test_where_there_is_no_difference_all_of_y_could_be_x():
    rng = np.random.default_rng(0)
    made = mixture_ceiling(rng.normal(size=(60, 3)), rng.normal(size=(40, 3)), rng=0)
    assert (made.share_of_y, made.n_moved, made.epsilon) == (1.0, 40, 0.4)


def test_what_the_deviation_promises_holds_if_misfiling_is_random_and_need_not_if_not():
    settings = {"noise": "deviation", "bandwidth": 1.0, "level": 0.5, "rng": 0}
    rng = np.random.default_rng(0)
    kept = 0
    for seed in range(40):
        X, Y = mixed(40, 0.2, 6.0, seed)
        kept += mixture_ceiling(X, Y, **settings).n_moved >= 8
    assert kept >= 20
    # Misfiled by what they look like: the rows of X beyond its other end. Far more rows than the ceiling.
    X, Y = rng.normal(size=(60, 1)), rng.normal(6.0, 1.0, size=(40, 1))
    Y[:20] = -6.0 + 0.1 * rng.normal(size=(20, 1))
    assert mixture_ceiling(X, Y, rng=0).n_moved < 20


def test_a_more_demanding_level_gives_a_higher_ceiling():
    X, Y = mixed(80, 0.2, 2.0)
    for noise in ("resampled", "deviation"):
        by_level = [
            mixture_ceiling(X, Y, level=level, noise=noise, rng=0).share_of_y for level in (0.5, 0.99)
        ]
        assert by_level[0] < by_level[1]
    both = [mixture_ceiling(X, Y, noise=noise, rng=0).share_of_y for noise in ("resampled", "deviation")]
    assert both[0] < both[1]


def test_of_many_rows_a_part_is_used():
    X, Y = mixed(400, 0.25, 5.0)
    Y = np.concatenate([Y, Y])
    made = mixture_ceiling(X, Y, most_rows=100, rng=0)
    assert made.n_used == (100, 100)
    assert (made.n_samples_X, made.n_samples_Y) == (400, 800)
    assert made.n_moved == round(made.share_of_y * 800) > 8 * made.n_moved_used
    assert made.epsilon == made.n_moved / (400 + made.n_moved)
    assert 0.25 <= made.share_of_y < 0.55
    whole = mixture_ceiling(X, Y, most_rows=100, rng=0)
    assert whole.share_of_y == made.share_of_y
    assert {mixture_ceiling(X, Y, most_rows=60, rng=seed).share_of_y for seed in range(5)} != {
        made.share_of_y
    }


def failing(made_for, n_rows, n_drawn, marked):
    """The chance that a ceiling is below the number of misfiled rows: summed over the draws of rows."""
    chances = hypergeom(n_rows, marked, n_drawn).pmf(np.arange(n_drawn + 1))
    return sum(chance for h, chance in enumerate(chances) if chance > 1e-9 and made_for(h) < marked)


@pytest.mark.parametrize("level", [0.999, 0.9999])
def test_the_ceiling_for_all_rows_fails_no_more_often_than_it_says(monkeypatch, level):
    # X is one point, the others of Y another far away: what is found depends only on how many misfiled rows
    # are drawn, so the chance of an error is a sum, not a simulation. This is where the ceiling is tightest.
    p, n, q, marked = 100, 100, 4000, 410

    @functools.cache
    def made_for(h):
        def drawn(problem, most, seed):
            X, Y = mb.Group(np.zeros((p, 1))), mb.Group(atoms(h, n))
            return dataclasses.replace(problem, X=X, Y=Y, pooled=np.concatenate([X.values, Y.values]))

        monkeypatch.setattr(mixture, "_drawn", drawn)
        asked = {"level": level, "noise": "deviation", "bandwidth": 1.0, "rng": 0}
        return mixture_ceiling(np.zeros((q, 1)), atoms(marked, q), **asked).n_moved

    assert failing(made_for, q, n, marked) <= 1 - level


def atoms(h, n):
    """Rows at 0, h of them, and far away."""
    return np.where(np.arange(n) < h, 0.0, 1e3)[:, None]


@pytest.mark.parametrize(
    ("n_rows", "n_drawn", "delta"), [(9, 4, 0.2), (30, 12, 0.05), (25, 25, 0.01), (40, 1, 0.3)]
)
def test_the_most_rows_that_a_part_leaves_are_those_of_the_definition(n_rows, n_drawn, delta):
    for seen in range(n_drawn + 1):
        possible = [
            marked
            for marked in range(seen, n_rows - (n_drawn - seen) + 1)
            if hypergeom(n_rows, marked, n_drawn).cdf(seen) > delta
        ]
        assert most_marked(n_rows, n_drawn, seen, delta) == max(possible)


def test_the_most_rows_of_millions():
    found = most_marked(5_000_000, 2000, 100, 0.005)
    assert hypergeom(5_000_000, found, 2000).cdf(100) == pytest.approx(0.005, rel=1e-3)


@pytest.mark.slow
def test_the_ceiling_holds_as_often_as_it_says_with_drawn_rows():
    level, failed, n = 0.99, 0, 4000
    for seed in range(n):
        rng = np.random.default_rng([7, seed])
        X, Y = 0.01 * rng.normal(size=(400, 1)), atoms(60, 1200) + 0.01 * rng.normal(size=(1200, 1))
        made = mixture_ceiling(X, Y, level=level, noise="deviation", bandwidth=1.0, most_rows=80, rng=seed)
        failed += made.n_moved < 60
    assert failed <= binom.ppf(0.9999, n, 1 - level)


def test_a_budget_without_room_for_the_pairs_is_refused():
    X, Y = mixed(1000, 0.2)
    with pytest.raises(
        MmdBoundsError, match=r"`working_memory` must be at least 16 MiB for 1,000 rows of Y; got 15\."
    ):
        mixture_ceiling(X, Y, rng=0, working_memory=15)
    assert mixture_ceiling(X, Y, rng=0, working_memory=16, n_resamples=19).n_moved >= 200


def test_a_result_is_saved_and_says_that_it_is_an_estimate():
    X, Y = mixed(50, 0.2)
    made = mixture_ceiling(X, Y, rng=3)
    back = MixtureCeiling.from_dict(json.loads(made.to_json()))
    assert back.to_dict() == made.to_dict()
    assert back.assumptions == made.assumptions
    assert made.label == "estimate"
    assert made.distance <= made.chance * 1.01
    assert made.contamination == mb.Contamination(n_moved=made.n_moved, exactly=False)
    assert "\n" not in repr(made)
    assert repr(made).startswith("MixtureCeiling(estimate: at most ")
    summary = made.summary()
    assert summary.startswith("An estimate, not a bound: at most ")
    assert "Misfiling is random" in summary
    assert max(map(len, summary.splitlines())) <= 100
    page_of(made)
    assert made.provenance.seed == 3
    assert made.provenance.options == {
        "level": 0.95,
        "noise": "resampled",
        "n_resamples": 199,
        "most_rows": 2000,
    }
    with pytest.raises(AttributeError, match="cannot assign"):
        made.epsilon = 0.1
    with pytest.raises(MmdBoundsError, match=r"the saved result lacks `epsilon`\."):
        MixtureCeiling.from_dict({k: v for k, v in made.to_dict().items() if k != "epsilon"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "linear", "noise": "deviation"}, r"`kernel` must have a known bound.*; got 'linear'\."),
        (
            {"kernel": lambda A, B: A @ B.T},
            r"`kernel` must be known to be positive definite; got 'function'\.",
        ),
        ({"level": 95}, r"`level` must be a number between 0 and 1; got 95\. Did you mean 0\.95\?"),
        ({"noise": "sampled"}, r"`noise` must be one of 'resampled', 'deviation'; got 'sampled'\."),
        ({"n_resamples": 5}, r"`n_resamples` must be a whole number from 19; got 5\."),
        ({"most_rows": 1}, r"`most_rows` must be a whole number from 2; got 1\."),
        ({"rng": "a"}, r"`rng` must be a whole number from 0"),
    ],
)
def test_refusals(options, message):
    X, Y = mixed(10, 0.2)
    with pytest.raises(MmdBoundsError, match=message):
        mixture_ceiling(X, Y, **options)


def test_an_unbounded_kernel_will_do_where_chance_is_resampled():
    X, Y = mixed(60, 0.3)
    assert mixture_ceiling(X, Y, kernel="linear", rng=0).share_of_y >= 0.3
