"""A test or a sweep that was stopped, and continues: the same bits, for fewer kernel values."""

import numpy as np
import pytest

import mmdbounds as mb
from interrupted import stopped_after, told
from mmdbounds.inference import permutation
from mmdbounds.sums import checkpoint, plan

RNG = np.random.default_rng(8)
X, Y = RNG.normal(size=(150, 3)), RNG.normal(0.5, 1.0, size=(200, 3))
SHARED = {"n_permutations": 120, "rng": 5, "working_memory": 1}  # two chunks
CALLS = {
    "test": lambda **more: mb.robust_test(X, Y, 0.1, **SHARED, **more),
    "sweep": lambda **more: mb.sweep(X, Y, epsilons=[0.0, 0.1], **SHARED, **more),
}


@pytest.fixture(autouse=True)
def _short_sums_count(monkeypatch):
    """Keep every sum, write after every strip, and cut the sums into many strips."""
    monkeypatch.setattr(checkpoint, "WORTH", 0)
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    monkeypatch.setattr(plan, "SMALL_ROWS", 0)
    monkeypatch.setattr(plan, "block_shape", lambda dtype: (64, 32))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("n_times", [3, 20, 150])
@pytest.mark.long
def test_stopped_and_continued_it_has_the_same_bits(name, n_times, tmp_path):
    call, path = CALLS[name], tmp_path / "sums.journal"
    whole = call()
    stopped_after(n_times, lambda: call(checkpoint=path))
    continued = call(checkpoint=path)
    assert told(continued) == told(whole)
    assert continued.provenance.n_pairs < whole.provenance.n_pairs


def test_finished_labellings_are_not_computed_again(tmp_path, monkeypatch):
    path = tmp_path / "sums.journal"
    whole = CALLS["test"](checkpoint=path)
    monkeypatch.setattr(permutation.PermutationNull, "_values", None)
    assert told(CALLS["test"](checkpoint=path)) == told(whole)


def test_other_labellings_and_sizes_are_not_taken_for_these(tmp_path):
    path = tmp_path / "sums.journal"
    CALLS["test"](checkpoint=path)
    for changed in ({"rng": 6}, {"n_permutations": 40}, {"estimator": "biased"}):
        asked = {**SHARED, **changed}
        kept = mb.robust_test(X, Y, 0.1, **asked, checkpoint=path)
        assert told(kept) == told(mb.robust_test(X, Y, 0.1, **asked))
    kept = mb.robust_test(X, Y, 0.15, **SHARED, checkpoint=path)
    assert told(kept) == told(mb.robust_test(X, Y, 0.15, **SHARED))
