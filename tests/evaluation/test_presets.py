"""Ready-made protocols of `evaluate`."""

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.evaluation.run import METHODS, PRESETS, preset_of

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 2)), RNG.normal(1, 1, size=(60, 2))
ASKED = {"epsilon": 0.2, "sizes": (10, 12), "n_trials": 2, "rng": 0}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_what_its_parts_are(preset):
    chosen = preset_of(preset)
    by_name = mb.evaluate(X, Y, preset=preset, **ASKED)
    by_parts = mb.evaluate(
        X, Y, methods=dict(chosen.methods), estimator=chosen.estimator, scale=chosen.scale, **ASKED
    )
    labels = [coverage.label for coverage in by_name.methods]
    assert labels == [*METHODS, *(["Sharp"] if preset == "ours" else [])]
    for one, other in zip(by_name.trials, by_parts.trials, strict=True):
        assert one.truth == other.truth
        assert [(b.lower, b.upper) for b in one.bounds.values()] == [
            (b.lower, b.upper) for b in other.bounds.values()
        ]


def test_presets_differ_where_the_paper_does():
    paper, bio, ours = (preset_of(name) for name in PRESETS)
    assert (paper.estimator, bio.estimator, ours.estimator) == ("unbiased", "biased", "unbiased")
    schedules = [chosen.methods["S-SD"].schedule for chosen in (paper, bio, ours)]
    assert schedules == ["even", "paper", "even"]
    assert [chosen.methods["QNO"].objective for chosen in (paper, bio, ours)] == [
        "printed",
        "printed",
        "exact",
    ]


@pytest.mark.parametrize(
    ("also", "named"),
    [
        ({"methods": "s-sd"}, "`methods`"),
        ({"scale": "none"}, "`scale`"),
        ({"estimator": "biased", "methods": ["sd"]}, "`methods`, `estimator`"),
    ],
)
def test_a_preset_takes_nothing_beside_it(also, named):
    with pytest.raises(mb.MmdBoundsError, match=f"^`preset` replaces .*; got {named} as well. Leave one out"):
        mb.evaluate(X, Y, preset="ours", **also, **ASKED)


def test_an_unknown_preset_is_named():
    with pytest.raises(
        mb.MmdBoundsError, match="`preset` must be one of 'paper', 'paper-bio', 'ours'; got 'papr'"
    ):
        mb.evaluate(X, Y, preset="papr", **ASKED)
