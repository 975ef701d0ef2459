"""Ready-made protocols of `evaluate`."""

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.evaluation.presets import METHODS, PRESETS, preset_of

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
    paper, printed, bio, ours = (preset_of(name) for name in PRESETS)
    every = (paper, printed, bio, ours)
    assert {(each.estimator, each.scale) for each in every} == {("unbiased", "none")}
    for row in ("S-SD", "SD"):
        assert [each.methods[row].weights for each in every] == ["plain", "sums", "plain", "sums"]
        assert {each.methods[row].schedule for each in every} == {"even"}
    for row in ("QNO", "S-QNO"):
        assert [each.methods[row].objective for each in every] == ["means", "printed", "means", "exact"]
        assert [each.methods[row].snap for each in every] == [True, False, True, False]
        assert [each.methods[row].max_iterations for each in every] == [200, 200, 1, 200]
    assert [each.methods["SM"].weight for each in every] == [0.001, 0.05, 0.05, 0.05]


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
        mb.MmdBoundsError, match="`preset` must be one of 'paper', 'paper-as-printed', 'paper-bio', 'ours'"
    ):
        mb.evaluate(X, Y, preset="papr", **ASKED)
