"""Rates, widths and records against a single loop over `simulate` and `mmd_bounds`, and numbers by hand."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmdbounds as mb
from evaluation.made_methods import Drawn, Fixed, clean, last_rows, product
from mmdbounds.evaluation import Evaluation, Trial, TrialBounds, evaluate
from mmdbounds.evaluation.run import coverage_of
from problems import naive_mmd2
from tolerances import of_mmd2


def naive_scaled(X, Y):
    """Column by column, over the rows of both groups; a constant column becomes 0."""
    Z = np.concatenate([X, Y])
    for column in Z.T:
        mean = math.fsum(column) / len(column)
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in column) / len(column))
        column[:] = [(value - mean) / deviation if deviation else 0.0 for value in column]
    return Z[: len(X)], Z[len(X) :]


def naive_trial(X, Y, trial, *, seed, sizes, replace, epsilon, mechanism, scale, estimator, methods):
    """One trial from the public functions alone: truth, observed value and results by label."""
    streams = np.random.SeedSequence(seed, spawn_key=(trial,)).spawn(3)
    drawing = np.random.default_rng(streams[0])
    drawn = [
        group[drawing.choice(len(group), size or len(group), replace=replace)] if size or replace else group
        for group, size in zip((X, Y), sizes, strict=True)
    ]
    if scale == "standard":
        drawn = naive_scaled(*drawn)
    filed = mb.simulate(*drawn, epsilon, mechanism=mechanism, rng=np.random.default_rng(streams[1]))
    search_seed = int(streams[2].generate_state(1)[0])
    Z = np.concatenate(drawn)
    K = np.exp([[-((a - b) ** 2).sum() / (2 * filed.kernel.length**2) for b in Z] for a in Z])
    truth = naive_mmd2(K, np.arange(len(Z)) < len(drawn[0]), estimator)
    results = {
        label: mb.mmd_bounds(
            filed.X, filed.Y, filed.contamination, method=method, estimator=estimator, rng=search_seed
        )
        for label, method in methods.items()
    }
    return filed.n_moved, truth, results


SETTINGS = {
    "drawn": {"sizes": (12, 15)},
    "with replacement, one size left out": {"sizes": (None, 14), "replace": True, "estimator": "biased"},
    "all rows, at random": {"mechanism": "random", "scale": "standard"},
    "scaled, function": {"sizes": (10, 12), "scale": "standard", "mechanism": last_rows},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_against_a_single_loop(name):
    settings = {
        "sizes": (None, None),
        "replace": False,
        "epsilon": 0.2,
        "mechanism": "nonrandom",
        "scale": "none",
        "estimator": "unbiased",
        **SETTINGS[name],
    }
    X, Y = clean(1, n_x=15, n_y=16, d=3)
    X[:, 2] = Y[:, 2] = 7.0  # a constant column
    Y[:, 1] *= 30
    methods = {"s-sd": "s-sd", "all": mb.Exhaustive(), "one step": mb.StepwiseDominance(n_steps=1)}
    found = evaluate(X, Y, methods=methods, n_trials=7, rng=5, **settings)
    missed, widths = dict.fromkeys(methods, 0), {label: [] for label in methods}
    for trial, record in enumerate(found.trials):
        m, truth, results = naive_trial(X, Y, trial, seed=5, methods=methods, **settings)
        assert (record.trial, record.n_moved) == (trial, m)
        assert record.truth == pytest.approx(truth, rel=0, abs=of_mmd2(31, smallest=5))
        for label, result in results.items():
            said = record.bounds[label]
            low, high = result.interval
            assert said.lower == pytest.approx(result.lower.value, rel=0, abs=of_mmd2(31, smallest=5))
            assert said.upper == pytest.approx(result.upper.value, rel=0, abs=of_mmd2(31, smallest=5))
            assert said.is_certified == result.is_certified == (label == "all")
            assert record.observed == pytest.approx(result.observed, rel=0, abs=of_mmd2(31, smallest=5))
            missed[label] += not low - 1e-11 <= truth <= high + 1e-11
            widths[label].append(high - low)
    assert found.n_moved == math.floor(0.2 * found.n_x)
    for label in methods:
        rate = missed[label] / 7
        assert found[label].n_missed == missed[label]
        assert found[label].false_coverage_rate == rate
        assert found[label].coverage == 1 - rate
        assert found[label].false_coverage_rate_error == pytest.approx(math.sqrt(rate * (1 - rate) / 7))
        assert found[label].mean_interval_width == pytest.approx(sum(widths[label]) / 7, rel=1e-9)
        spread = math.sqrt(sum((w - sum(widths[label]) / 7) ** 2 for w in widths[label]) / 6 / 7)
        assert found[label].mean_interval_width_error == pytest.approx(spread, rel=1e-6)
    assert found["all"].n_missed == 0
    assert found.mean_truth == pytest.approx(sum(t.truth for t in found.trials) / 7)
    assert found.mean_observed == pytest.approx(sum(t.observed for t in found.trials) / 7)


def test_something_is_missed_in_these_settings():
    """Else the comparison above would not tell a rate of 0 from a rate that is never counted."""
    X, Y = clean(1, n_x=15, n_y=16)
    found = evaluate(X, Y, 0.3, methods=["sd"], n_trials=20, sizes=(10, 10), rng=1)
    assert 0 < found["sd"].n_missed < 20


def trial_with(truth=0.5, rounding=1e-9, **said):
    made = {"lower": 0.0, "upper": 1.0, "lower_certified": None, "upper_certified": None, "seconds": 2.0}
    return Trial(
        trial=0,
        n_moved=3,
        truth=truth,
        observed=0.1,
        rounding=rounding,
        bandwidth=1.0,
        bounds={"a": TrialBounds(**{**made, **said})},
        backend="matrix",
        device="cpu",
        dtype="float64",
        n_pairs=10,
        seconds=3.0,
    )


@pytest.mark.parametrize(
    ("said", "covers", "attained", "crossed", "width"),
    [
        ({}, True, True, False, 1.0),
        ({"lower": 0.5}, True, True, False, 0.5),
        ({"upper": 0.5}, True, True, False, 0.5),
        ({"lower": 0.5 + 1e-10}, True, True, False, 0.5),  # rounding
        ({"upper": 0.5 - 1e-10}, True, True, False, 0.5),
        ({"lower": 0.5 + 1e-8}, False, False, False, 0.5),
        ({"upper": 0.5 - 1e-8}, False, False, False, 0.5),
        ({"lower": 0.5 + 4e-10, "upper": 0.5 - 4e-10}, True, True, False, 0.0),
        ({"lower": 0.5 + 8e-10, "upper": 0.5 - 8e-10}, False, False, True, 0.0),
        ({"lower": 0.8, "upper": 0.2}, False, False, True, 0.6),
        ({"lower": 0.4, "lower_certified": 0.6}, True, True, False, 0.6),  # one side proved: as found
        ({"lower": 0.6, "lower_certified": 0.4, "upper_certified": 1.2}, True, False, False, 0.8),
        ({"lower_certified": 0.5, "upper_certified": 0.5}, True, True, False, 0.0),
        ({"lower_certified": 0.5 + 1e-10, "upper_certified": 2.0}, False, True, False, 1.5),  # no tolerance
        ({"lower_certified": -1.0, "upper_certified": 0.5 - 1e-10}, False, True, False, 1.5),
        ({"lower_certified": 0.5 + 1e-10, "upper_certified": 0.5}, False, True, True, 0.0),
    ],
)
def test_when_an_interval_covers(said, covers, attained, crossed, width):
    trial = trial_with(**said)
    assert trial.covers("a") is covers
    assert trial.attained_covers("a") is attained
    assert trial.is_crossed("a") is crossed
    assert trial.bounds["a"].width == pytest.approx(width, abs=2e-8)


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3), st.floats(0, 0.1))
def test_what_is_crossed_covers_nothing_and_more_rounding_never_uncovers(numbers, rounding):
    truth, lower, upper = numbers
    trial = trial_with(truth, rounding, lower=lower, upper=upper)
    assert not (trial.is_crossed("a") and trial.covers("a"))
    if lower <= truth <= upper:
        assert trial.covers("a")
    if trial.covers("a"):
        assert trial_with(truth, 2 * rounding, lower=lower, upper=upper).covers("a")


def test_rates_by_hand():
    trials = [
        trial_with(0.5),
        trial_with(1.5),
        trial_with(0.5, lower=0.9, upper=0.1),
        trial_with(0.5, lower=0.6, lower_certified=0.25, upper_certified=1.25),
    ]
    found = coverage_of("a", Fixed(), trials)
    assert (found.label, found.method, found.options) == ("a", "fixed", Fixed().options())
    assert (found.n_missed, found.n_crossed, found.n_certified) == (2, 1, 1)
    assert found.false_coverage_rate == found.coverage == 0.5
    assert found.false_coverage_rate_error == 0.25  # sqrt(0.5 * 0.5 / 4)
    assert found.mean_interval_width == pytest.approx((1 + 1 + 0.8 + 1) / 4)
    assert found.mean_interval_width_error == pytest.approx(0.05)  # sd 0.1 over sqrt(4)
    assert found.attained_false_coverage_rate == 0.75
    assert found.attained_false_coverage_rate_error == pytest.approx(math.sqrt(0.75 * 0.25 / 4))
    assert found.attained_mean_interval_width == pytest.approx((1 + 1 + 0.8 + 0.4) / 4)
    assert found.mean_seconds == 2.0
    alone = coverage_of("a", Fixed(), trials[:1])
    assert alone.mean_interval_width_error is None
    assert alone.attained_false_coverage_rate is alone.attained_mean_interval_width is None


def test_rounding_is_that_of_the_kernel_values():
    """A method that finds the very truth covers it, whatever the size of the kernel values."""
    X, Y = clean(3)
    for factor in (1e-3, 1.0, 1e3):
        found = evaluate(
            factor * X, factor * Y, 0.0, methods=["s-sd", "exhaustive"], kernel="linear", n_trials=1
        )
        (trial,) = found.trials
        centred = factor * (np.vstack([X, Y]) - np.vstack([X, Y]).mean(axis=0))
        largest = max(float(row @ row) for row in centred)
        assert trial.rounding == pytest.approx(4e-12 * largest, rel=1e-6)
        assert found["s-sd"].n_missed == found["exhaustive"].n_missed == 0


@pytest.mark.parametrize("sizes", [None, (9, 9)])
def test_a_constant_column_is_zero_once_it_is_standardised(sizes):
    """The kernel would see any other constant."""
    X, Y = clean(d=3)
    X[:, 1] = Y[:, 1] = 7.0
    kernel = mb.kernels.Polynomial(2, gamma=1.0)
    options = {"epsilon": 0.2, "methods": ["sd"], "sizes": sizes, "kernel": kernel, "n_trials": 2, "rng": 0}
    with_it, without = (
        [trial.truth for trial in evaluate(*groups, **options, scale="standard").trials]
        for groups in ((X, Y), (X[:, [0, 2]], Y[:, [0, 2]]))
    )
    assert with_it == pytest.approx(without, rel=1e-9)


def test_crossed_intervals_are_counted_and_never_turned_round():
    X, Y = clean()
    methods = {"crossed": Fixed(2.0, -2.0), "wide": Fixed(-2.0, 2.0), "proved": Fixed(0, 0, -3.0, 3.0)}
    found = evaluate(X, Y, 0.1, methods=methods, n_trials=3, rng=0)
    assert [found[label].n_crossed for label in methods] == [3, 0, 0]
    assert [found[label].false_coverage_rate for label in methods] == [1, 0, 0]
    assert [found[label].mean_interval_width for label in methods] == [4, 4, 6]
    assert found["proved"].attained_false_coverage_rate == 1.0
    table = found.trial_table()
    assert table["lower"].tolist() == [2, -2, 0] * 3
    assert table["is_crossed"].tolist() == [True, False, False] * 3


def test_a_trial_comes_out_the_same_alone_and_beside_other_methods():
    X, Y = clean()
    whole = evaluate(X, Y, 0.2, methods=["s-sd", Drawn()], sizes=(9, 9), n_trials=6, rng=4)
    alone = evaluate(X, Y, 0.2, methods=[Drawn()], sizes=(9, 9), n_trials=2, rng=4)
    assert [trial.trial for trial in alone.trials] == [0, 1]
    for trial in alone.trials:
        before = whole.trials[trial.trial]
        assert (trial.truth, trial.observed) == (before.truth, before.observed)
        assert (trial.bounds["drawn"].lower, trial.bounds["drawn"].upper) == (
            before.bounds["drawn"].lower,
            before.bounds["drawn"].upper,
        )
    assert len({trial.truth for trial in whole.trials}) == 6
    assert len({trial.bounds["drawn"].lower for trial in whole.trials}) == 6


def test_the_rows_drawn_do_not_hang_on_epsilon_or_mechanism():
    X, Y = clean()
    truths = [
        [t.truth for t in evaluate(X, Y, *how, methods=["sd"], sizes=(9, 9), n_trials=3, rng=4).trials]
        for how in [(0.1,), (0.4,)]
    ]
    random = evaluate(X, Y, 0.1, methods=["sd"], sizes=(9, 9), n_trials=3, rng=4, mechanism="random")
    assert truths[0] == truths[1] == [t.truth for t in random.trials]


def test_seeds():
    X, Y = clean()

    def truths(**options):
        return [
            t.truth for t in evaluate(X, Y, 0.2, methods="sd", sizes=(9, 9), n_trials=2, **options).trials
        ]

    assert truths(rng=1) == truths(rng=1) != truths(rng=2)
    drawn = evaluate(X, Y, 0.2, methods="sd", sizes=(9, 9), n_trials=2)
    assert truths(rng=drawn.provenance.seed) == [t.truth for t in drawn.trials]
    assert truths(rng=np.random.default_rng(3)) == truths(rng=np.random.default_rng(3))


def test_kernel_and_at_most_arrive():
    X, Y = clean()
    for kernel, same in ((product, mb.kernels.Linear()), (mb.kernels.RBF(0.7), mb.kernels.RBF(0.7))):
        (trial,) = evaluate(X, Y, 0.1, methods=["s-sd"], kernel=kernel, n_trials=1, rng=0).trials
        assert trial.truth == pytest.approx(mb.mmd2(X, Y, kernel=same), rel=1e-9)
    (trial,) = evaluate(
        X, Y, 0.1, methods=["s-sd"], kernel="matern52", bandwidth=3.0, n_trials=1, rng=0
    ).trials
    assert trial.bandwidth == 3.0
    (trial,) = evaluate(
        X, Y, 0.0, methods=["s-sd"], kernel="matern52", bandwidth=0.1, n_trials=1, rng=0
    ).trials
    unmoved = mb.mmd2(X, Y, kernel="matern52", bandwidth=0.1)
    for value in (trial.truth, trial.observed, trial.bounds["s-sd"].lower, trial.bounds["s-sd"].upper):
        assert value == pytest.approx(unmoved, rel=1e-12)
    few, many = (
        evaluate(X[:8], Y[:8], 0.4, methods=["exhaustive"], exactly=exactly, n_trials=4, rng=0)
        for exactly in (True, False)
    )
    for one, other in zip(few.trials, many.trials, strict=True):
        low, high = one.bounds["exhaustive"].interval
        wider = other.bounds["exhaustive"].interval
        assert wider[0] <= low <= high <= wider[1]
    assert few["exhaustive"].mean_interval_width < many["exhaustive"].mean_interval_width


def test_result_keeps_and_shows_itself():
    X, Y = clean()
    groups = mb.Group(X, name="ill", ids=[str(i) for i in range(30)]), mb.Group(Y, name="well")
    found = evaluate(*groups, 0.2, methods=["exhaustive", "s-sd"], sizes=(6, 7), n_trials=3, rng=11)
    again = Evaluation.from_dict(json.loads(found.to_json()))
    assert again.to_dict() == found.to_dict()
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()
    assert (again.name_x, again.name_y, again.n_x, again.n_y) == ("ill", "well", 6, 7)
    assert (again.n_samples_X, again.n_samples_Y, again.n_trials, again.n_moved) == (30, 40, 3, 1)
    assert again.provenance.seed == 11
    assert again.provenance.options["methods"]["s-sd"]["options"]["schedule"] == "even"
    assert again["s-sd"].false_coverage_rate == found["s-sd"].false_coverage_rate
    assert found.records == [trial.to_dict() for trial in found.trials]
    assert repr(found).startswith("Evaluation(3 trials, false coverage rate: exhaustive 0, s-sd ")
    with pytest.raises(
        mb.MmdBoundsError, match=r"no method 's-s' among 'exhaustive', 's-sd'\. Did you mean 's-sd'"
    ):
        found["s-s"]
    no_truth = {name: value for name, value in found.records[0].items() if name != "truth"}
    with pytest.raises(mb.MmdBoundsError, match=r"lacks `trials\.truth`"):
        Evaluation.from_dict({**found.to_dict(), "trials": [no_truth]})


def test_trial_table_has_a_row_for_each_trial_and_method():
    X, Y = clean()
    found = evaluate(X, Y, 0.2, methods=["exhaustive", "s-sd"], sizes=(6, 7), n_trials=2, rng=1)
    table = found.trial_table()
    assert table["trial"].tolist() == [0, 0, 1, 1]
    assert table["method"].tolist() == ["exhaustive", "s-sd"] * 2
    assert np.isnan(table["lower_certified"]).tolist() == [False, True] * 2
    for i, (trial, label) in enumerate((t, label) for t in found.trials for label in ("exhaustive", "s-sd")):
        said = trial.bounds[label]
        assert table["truth"][i] == trial.truth
        assert table["upper"][i] == said.upper
        assert table["width"][i] == said.width
        assert table["covers"][i] == trial.covers(label)


@pytest.mark.full
def test_trial_table_makes_a_dataframe():
    import pandas as pd
    import polars as pl

    found = evaluate(*clean(), 0.2, methods=["s-sd"], sizes=(6, 7), n_trials=2, rng=1)
    for frame in (pd.DataFrame(found.trial_table()), pl.DataFrame(found.trial_table())):
        assert frame.shape == (2, 14)


def test_sharp_is_judged_by_its_certified_interval():
    X, Y = clean(8)
    sharp = mb.Sharp(gap=0.5)  # a proof that stops early
    found = evaluate(X, Y, 0.2, methods=[sharp], sizes=(14, 14), n_trials=3, rng=2)
    assert found["sharp"].n_certified == 3
    assert found["sharp"].false_coverage_rate == 0.0
    assert found["sharp"].mean_interval_width > found["sharp"].attained_mean_interval_width
