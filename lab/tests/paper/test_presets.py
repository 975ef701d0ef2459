"""Ready-made protocols for `evaluate`."""

import numpy as np
import pytest

import mmdbounds as mb
from lab.paper.presets import METHODS, PRESETS, preset_of

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 2)), RNG.normal(1, 1, size=(60, 2))
ASKED = {"epsilon": 0.2, "sizes": (10, 12), "n_trials": 2, "rng": 0}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_what_evaluate_takes(preset):
    chosen = preset_of(preset)
    found = mb.evaluate(X, Y, methods=chosen.methods, estimator=chosen.estimator, scale=chosen.scale, **ASKED)
    assert [each.label for each in found.methods] == [*METHODS, *(["Sharp"] if preset == "ours" else [])]


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


def test_an_unknown_preset_is_named():
    with pytest.raises(
        mb.MmdBoundsError, match="`preset` must be one of 'paper', 'paper-as-printed', 'paper-bio', 'ours'"
    ):
        preset_of("papr")
