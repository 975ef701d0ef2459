"""What all baselines share: their names, what they refuse, and that `evaluate` takes them."""

from __future__ import annotations

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds import baselines
from mmdbounds.errors import MmdBoundsError

X, Y = (np.random.default_rng(3).normal(s, 1, size=(n, 2)) for s, n in ((0.0, 12), (0.7, 15)))


@pytest.mark.parametrize("name", baselines.NAMES)
def test_a_baseline_is_made_by_its_name_and_gives_an_interval(name):
    made = baselines.baseline(name)
    assert made.name == name
    found = made.interval(X, Y, 0.2, rng=0)
    assert isinstance(found, baselines.Interval)
    assert found.lower < found.upper
    assert found.observed == mb.mmd2(X, Y)
    assert (found.points is not None) == name.endswith("qno")


@pytest.mark.parametrize("name", baselines.NAMES)
@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        (
            mb.Contamination(n_moved=2, n_moved_of_x=1),
            "is for rows of X labelled as Y; got rows of Y as well",
        ),
        (
            mb.Contamination(n_moved=2, may_move=np.arange(15) < 9),
            r"does not know which rows may move \(verified rows, limits\)",
        ),
        (mb.Contamination(0.1, exactly=False), "`exactly` must not contradict the Contamination"),
    ],
)
def test_what_none_of_them_can_do_is_said(name, epsilon, message):
    with pytest.raises(MmdBoundsError, match=message):
        baselines.baseline(name).interval(X, Y, epsilon)


def test_evaluate_takes_them_beside_methods():
    clean = np.random.default_rng(0).normal(size=(40, 2))
    labelled = {"ours": "s-sd", "weighted": baselines.Submodular(weight=0.1)}
    for methods, names in (
        (["s-sd", *baselines.NAMES], ["s-sd", *baselines.NAMES]),
        (labelled, ["s-sd", "sm"]),
        (baselines.Bootstrap(n_resamples=9), ["bootstrap"]),
        ("qno", ["qno"]),
    ):
        found = mb.evaluate(clean[:20], clean[20:], 0.2, methods=methods, n_trials=1, rng=0)
        assert [each.method for each in found.methods] == names
        for each in found.methods:
            assert each.n_certified == 0
    (trial,) = found.trials
    assert trial.n_pairs > 0


def test_evaluate_gives_a_baseline_the_trial_s_seed_and_rows():
    clean, made = np.random.default_rng(0).normal(size=(40, 2)), baselines.Bootstrap(n_resamples=9)
    both = mb.evaluate(clean[:20], clean[20:], 0.2, methods={"one": made, "other": made}, n_trials=2, rng=0)
    for trial in both.trials:
        one, other = trial.bounds["one"], trial.bounds["other"]
        assert (one.lower, one.upper) == (other.lower, other.upper)
    assert both.trials[0].bounds["one"].lower != both.trials[1].bounds["one"].lower


def test_bounds_do_not_take_them():
    for method in ("qno", baselines.Bootstrap()):
        with pytest.raises(MmdBoundsError, match=r"`method` must be one of 'sharp', 's-sd'"):
            mb.mmd_bounds(X, Y, 0.1, method=method)
